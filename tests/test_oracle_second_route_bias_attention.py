"""Attention with a bias by a second route: the products plus the bias that stands alone, as quotients of exponentials, 60 digits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from mpmath import exp, fdot, log, mpf, sqrt
from second_route import V, X, Y, golden, real, rounded, sixty_digits, whole

from conformance.oracle import Tensor

__all__ = ["sixty_digits"]

QUERIES, KEYS = (4, 1), (1, 4, 5)
#: Two heads of two queries share one head of three keys; all are two wide.
Q, K, VALUES = X, Y[:6], V[:6]
STEPS = {
    "row": lambda m, n: n - m,
    "column": lambda _, n: n,
    "reversed": lambda _, n: n - KEYS[-1],
    "symmetric": lambda m, n: -abs(m - n),
}
#: Of two heads: slopes, two learned numbers, and eight rows of a table.
SLOPES = (mpf(2) ** -4, mpf(2) ** -8)
FIRST, SECOND = (0.75, 1.5), (0.625, 1.25)
TABLE = [(row / 8 - 0.5, 0.375 - row / 16) for row in range(9)]


@dataclass(frozen=True)
class Biased:
    """Weights and averages of a scheme, its bias of a head, query and key, what it takes, and what products are divided by."""

    operations: tuple[str, str]
    bias: Callable[[int, int, int], mpf]
    learned: dict[str, Tensor] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    root: Callable[[], mpf] = lambda: sqrt(mpf(2))


def sloped(form: str) -> Biased:
    """Return a slope times steps."""
    given = {"num_heads": 2, "max_bias": 8.0, "slopes": "code", "form": form}
    return Biased(("alibi.weights", "alibi.attend"), lambda head, m, n: SLOPES[head] * STEPS[form](m, n), parameters=given)


def grown(form: str, function: Callable[[mpf, int], mpf]) -> Biased:
    """Return a learned number times what grows with the distance."""
    learned = {"first": real(*FIRST), "second": real(*SECOND)}
    operations = ("kerple.weights", "kerple.attend")
    return Biased(operations, lambda head, m, n: -mpf(FIRST[head]) * function(mpf(SECOND[head]), abs(m - n)), learned, {"form": form})


def looked_up(operations: tuple[str, str], count: int, row: Callable[[int], int], root: Callable[[], mpf], **parameters: Any) -> Biased:
    """Return the row of a table that an offset has."""
    table = {"table": real(*(entry for row in TABLE[:count] for entry in row), shape=(count, 2))}
    return Biased(operations, lambda head, m, n: mpf(TABLE[row(n - m)][head]), table, parameters, root)


#: The offsets are 0, 1, 3 and 4 to later keys, and 0 and 3 to earlier ones: of 8 buckets a direction has two exact ones, a third up to the
#: distance ``2 sqrt(8)``, and all beyond.
WAYS = {
    **{f"alibi-{form}": sloped(form) for form in STEPS},
    "kerple-log": grown("log", lambda rate, far: log(1 + rate * far)),
    "kerple-power": grown("power", lambda rate, far: mpf(far) ** rate if far else mpf(0)),
    "relative_bias": looked_up(("relative_bias.weights", "relative_bias.attend"), 7, lambda offset: 3 + min(offset, 3),
                               lambda: sqrt(mpf(2)), max_distance=3, sign="key_minus_query"),
    "t5": looked_up(("t5.weights", "t5.attend"), 8, {-3: 2, 0: 0, 1: 5, 3: 6, 4: 6}.__getitem__, lambda: mpf(1), bidirectional=True,
                    num_buckets=8, max_distance=16, convention="t5"),
}


def inputs(way: Biased, *names: str) -> dict[str, Tensor]:
    """Return queries and keys, what is learned, and positions."""
    given = {"q": real(*Q, shape=(1, 2, 2, 2)), "k": real(*K, shape=(1, 1, 3, 2)), "v": real(*VALUES, shape=(1, 1, 3, 2))}
    return {name: given[name] for name in names} | way.learned | {"query_positions": whole(*QUERIES), "key_positions": whole(*KEYS)}


def pairs(numbers: Sequence[float]) -> list[tuple[float, float]]:
    """Return vectors of two."""
    return list(zip(numbers[0::2], numbers[1::2], strict=True))


def shares(way: Biased, *, causal: bool) -> Iterator[list[mpf]]:
    """Yield the weights of every query of every head; a key that isn't seen counts nothing."""
    for index, query in enumerate(pairs(Q)):
        head, m = index // 2, QUERIES[index % 2]
        powers = [
            exp(fdot(query, key) / way.root() + way.bias(head, m, n)) if not causal or n <= m else mpf(0)
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
    result = golden(way.operations[1], inputs(way, "q", "k", "v"), **way.parameters, causal=causal)
    columns = list(zip(*pairs(VALUES), strict=True))
    assert result == rounded([fdot(row, column) for row in shares(way, causal=causal) for column in columns])
