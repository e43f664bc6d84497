"""Attention with a bias, a factor or nothing by a second route: 60 digits, quotients of exponentials of what becomes of the products."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from second_route import V, X, Y, golden, mp, real, rounded, whole

from conformance.oracle import Tensor, answer

exp, fdot, log, mpf, sqrt = mp.exp, mp.fdot, mp.log, mp.mpf, mp.sqrt
QUERIES, KEYS = (4, 1), (1, 4, 5)
#: Two heads of two queries share one head of three keys; all are two wide.
Q, K, VALUES = X, Y[:6], V[:6]
STEPS = {
    "row": lambda m, n: n - m,
    "column": lambda _, n: n,
    "reversed": lambda _, n: n - KEYS[-1],
    "symmetric": lambda m, n: -abs(m - n),
}
#: Of two heads: slopes, learned numbers, and eight rows of a table.
SLOPES = (mpf(2) ** -4, mpf(2) ** -8)
FIRST, SECOND, RATES = (0.75, 1.5), (0.625, 1.25), (-0.25, 0.5)
TABLE = [(row / 8 - 0.5, 0.375 - row / 16) for row in range(9)]


@dataclass(frozen=True)
class Met:
    """Weights and averages of a scheme; the logit of a product, a head, a query and a key; what it takes, and the name of its values."""

    operations: tuple[str, str]
    logit: Callable[[mpf, int, int, int], mpf]
    learned: dict[str, Tensor] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    values: str = "v"


def biased(bias: Callable[[int, int, int], mpf]) -> Callable[[mpf, int, int, int], mpf]:
    """Return a scaled product plus a bias."""
    return lambda product, head, m, n: product / sqrt(2) + bias(head, m, n)


def sloped(form: str) -> Met:
    """Return a slope times steps."""
    given = {"num_heads": 2, "max_bias": 8.0, "slopes": "code", "form": form}
    return Met(("alibi.weights", "alibi.attend"), biased(lambda head, m, n: SLOPES[head] * STEPS[form](m, n)), parameters=given)


def grown(form: str, function: Callable[[mpf, int], mpf]) -> Met:
    """Return a learned number times what grows with the distance."""
    learned = {"first": real(*FIRST), "second": real(*SECOND)}
    bias = biased(lambda head, m, n: -mpf(FIRST[head]) * function(mpf(SECOND[head]), abs(m - n)))
    return Met(("kerple.weights", "kerple.attend"), bias, learned, {"form": form})


def rescaled(product: mpf, head: int, m: int, n: int) -> mpf:
    """Return what is left of a product above 0, times the quotient of sigmoids as it is printed."""
    away = exp(mpf(SECOND[head]) - mpf(RATES[head]) * abs(m - n))
    return max(product, mpf(0)) / sqrt(2) * (1 + exp(mpf(SECOND[head]))) / (1 + away)


def table(count: int) -> dict[str, Tensor]:
    """Return so many rows of the table."""
    return {"table": real(*(entry for row in TABLE[:count] for entry in row), shape=(count, 2))}


#: The offsets are 0, 1, 3 and 4 to later keys, and 0 and 3 to earlier ones: of 8 buckets a direction has two exact ones, a third up to the
#: distance ``2 sqrt(8)``, and all beyond.
BUCKETS = {-3: 2, 0: 0, 1: 5, 3: 6, 4: 6}
WAYS = {
    **{f"alibi-{form}": sloped(form) for form in STEPS},
    "alibi-falcon": replace(sloped("column"), logit=lambda product, head, _, n: (product + SLOPES[head] * n) / sqrt(2),
                            parameters={"num_heads": 2, "max_bias": 8.0, "slopes": "code", "form": "falcon"}),
    "kerple-log": grown("log", lambda rate, far: log(1 + rate * far)),
    "kerple-power": grown("power", lambda rate, far: mpf(far) ** rate if far else mpf(0)),
    "relative_bias": Met(("relative_bias.weights", "relative_bias.attend"),
                         biased(lambda head, m, n: mpf(TABLE[3 + min(n - m, 3)][head])), table(7),
                         {"max_distance": 3, "sign": "key_minus_query"}),
    "t5": Met(("t5.weights", "t5.attend"), lambda product, head, m, n: product + TABLE[BUCKETS[n - m]][head], table(8),
              {"bidirectional": True, "num_buckets": 8, "max_distance": 16, "convention": "t5"}),
    "da_transformer": Met(("da_transformer.weights", "da_transformer.attend"), rescaled,
                          {"distance_weight": real(*RATES), "saturation": real(*SECOND)}, values="values"),
    "none": Met(("none.weights", "none.attend"), biased(lambda *_: mpf(0))),
}


def inputs(way: Met, *names: str) -> dict[str, Tensor]:
    """Return queries and keys, what is learned, and positions."""
    given = {"q": real(*Q, shape=(1, 2, 2, 2)), "k": real(*K, shape=(1, 1, 3, 2)), way.values: real(*VALUES, shape=(1, 1, 3, 2))}
    places = {"query_positions": whole(*QUERIES), "key_positions": whole(*KEYS)}
    return {name: given[name] for name in names} | way.learned | places


def pairs(numbers: Sequence[float]) -> list[tuple[float, float]]:
    """Return vectors of two."""
    return list(zip(numbers[0::2], numbers[1::2], strict=True))


def shares(way: Met, *, causal: bool, among: Sequence[Sequence[int]] = (KEYS, KEYS)) -> Iterator[list[mpf]]:
    """Yield the weights of every query of every head; a key that isn't seen, or is none of those of its query, counts nothing."""
    for index, query in enumerate(pairs(Q)):
        head, m = index // 2, QUERIES[index % 2]
        powers = [
            exp(way.logit(fdot(query, key), head, m, n)) if n in among[index % 2] and (not causal or n <= m) else mpf(0)
            for n, key in zip(KEYS, pairs(K), strict=True)
        ]
        yield [power / sum(powers) for power in powers]


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("causal", [False, True])
def test_weights_with_a_bias_are_quotients_of_exponentials(name: str, causal: bool) -> None:  # noqa: FBT001 - parametrized
    way = WAYS[name]
    result = golden(way.operations[0], inputs(way, "q", "k"), **way.parameters, causal=causal)
    assert result == rounded([share for row in shares(way, causal=causal) for share in row])


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("causal", [False, True])
def test_averages_with_a_bias_are_sums_of_weighed_values(name: str, causal: bool) -> None:  # noqa: FBT001 - parametrized
    way = WAYS[name]
    result = golden(way.operations[1], inputs(way, "q", "k", way.values), **way.parameters, causal=causal)
    columns = list(zip(*pairs(VALUES), strict=True))
    assert result == rounded([fdot(row, column) for row in shares(way, causal=causal) for column in columns])


#: What either query scores the keys at 1, 4 and 5; the second one gives two keys one score.
SCORES, ALIKE = (0.5, -2.0, 1.0, 1.0, 2.0, -0.5), (0.5, -2.0, 1.0, 1.0, 2.0, 1.0)


@pytest.mark.parametrize(
    ("top_k", "causal", "among"),
    [
        (1, False, ((5,), (4,))), (1, True, ((1,), (1,))), (2, False, ((1, 5), (1, 4))), (2, True, ((1, 4), (1,))),
        (3, False, (KEYS, KEYS)), (9, True, (KEYS, KEYS)),
    ],
)  # fmt: skip
def test_the_values_of_keys_that_score_highest_are_averaged(top_k: int, causal: bool, among: Sequence[Sequence[int]]) -> None:  # noqa: FBT001 - parametrized
    given = inputs(WAYS["none"], "q", "k", "v") | {"scores": real(*SCORES, shape=(1, 2, 3))}
    columns = list(zip(*pairs(VALUES), strict=True))
    assert golden("none.attend_selected", given, top_k=top_k, causal=causal) == rounded(
        [fdot(row, column) for row in shares(WAYS["none"], causal=causal, among=among) for column in columns]
    )


def test_nothing_is_judged_of_a_query_whose_last_key_could_be_another_that_scores_alike() -> None:
    given = inputs(WAYS["none"], "q", "k", "v") | {"scores": real(*ALIKE, shape=(1, 2, 3))}
    allowed = answer("none.attend_selected", given, {"top_k": 2, "causal": False}).allowed["float32"]["result"]
    assert [each is None for each in allowed] == [False, False, True, True] * 2


def test_a_query_before_all_keys_has_no_golden_value() -> None:
    arrays = inputs(WAYS["none"], "q", "k")
    with pytest.raises(ValueError, match="every query must see a key"):
        golden("none.weights", arrays | {"query_positions": whole(0, 4)}, causal=True)


def test_vectors_that_do_not_turn_stay_as_they_are_wherever_they_stand() -> None:
    arrays = {"x": real(*X, shape=(1, 2, 2, 2)), "positions": whole(-1, 131_071)}

    assert golden("none.rotate", arrays, head_dim=2) == X
