"""Attention over turned queries and keys, and scores of an indexer, by a second route: complex numbers at 60 digits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from second_route import V, X, Y, golden, mp, real, rounded, whole
from test_oracle_second_route_slowed import FREQUENCIES, grown

from conformance.oracle import Tensor

conj, exp, expj, fdot, log, mpc, mpf, sqrt = mp.conj, mp.exp, mp.expj, mp.fdot, mp.log, mp.mpc, mp.mpf, mp.sqrt
#: Two heads of one query share one head of two keys; all are four wide.
QUERIES, KEYS = [X[:4], X[4:]], [Y[:4], Y[4:]]
AT, PLACES = 301, (7, 301)
LENGTH = 64


@dataclass(frozen=True)
class Turned:
    """Weights and averages of a scheme; the frequencies of both pairs, halves of a head; the factor, and what else it takes."""

    operations: tuple[str, str]
    thetas: Sequence[mpf]
    factor: Any = 1
    learned: dict[str, Tensor] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)


def slowed(weights: str, attend: str, **parameters: Any) -> Turned:
    """Return attention whose frequencies another second route gives, of four channels and base 100."""
    thetas = FREQUENCIES[weights.partition(".")[0]](head_dim=4, base=100.0, **parameters)
    return Turned((weights, attend), thetas, grown(factor=4.0) if "mscale" in parameters else 1, parameters=parameters)


STRETCH = {"factor": 4.0, "original_length": LENGTH}
UNSET = {"mscale": None, "mscale_all_dim": None, "attention_factor": None}
YARN = {"beta_fast": 8.0, "beta_slow": 1.0, "truncate": False, **UNSET, "slope": 0.1}
LISTS = {"short_factors": real(1.0, 1.5), "long_factors": real(1.25, 12.0)}
WAYS = [
    slowed("rope.weights", "rope.attend"),
    slowed("position_interpolation.weights", "position_interpolation.attend", factor=4.0),
    slowed("ntk_aware.weights", "ntk_aware.attend", factor=4.0, fastest="kept", power=1.0),
    slowed("dynamic_ntk.weights", "dynamic_ntk.attend", **STRETCH, length=3 * LENGTH, growth="doublings"),
    slowed("proportional_rope.weights", "proportional_rope.attend", factor=4.0, turned_pairs=1),
    slowed("ntk_by_parts.weights", "ntk_by_parts.attend", **STRETCH, alpha=0.5, beta=8.0),
    slowed("llama3.weights", "llama3.attend", **STRETCH, low_freq_factor=1.0, high_freq_factor=8.0),
    slowed("yarn.weights", "yarn.attend", **STRETCH, **YARN),
    slowed("resonance_rope.weights", "resonance_rope.attend"),
    slowed("resonance_yarn.weights", "resonance_yarn.attend", **STRETCH, **YARN),
    Turned(("longrope.weights", "longrope.attend"), [1 / mpf(1.25), 1 / mpf(120)], sqrt(log(mpf(8_192)) / log(mpf(LENGTH))), LISTS,
           {"original_length": LENGTH, "max_length": 8_192, "length": 302, "short_mscale": None, "long_mscale": None}),
    Turned(("longrope.weights", "longrope.attend"), [1 / mpf(1.25), 1 / mpf(120)], mpf(1.1), LISTS,
           {"original_length": LENGTH, "max_length": 8_192, "length": 302, "short_mscale": 0.75, "long_mscale": 1.1}),
    Turned(("partial_rope.weights", "partial_rope.attend"), [mpf(1), mpf(0)], parameters={"rotary_dim": 2, "placement": "first"}),
]


def members(way: Turned) -> tuple[tuple[int, int], ...]:
    """Return which channels are pairs in the layout of halves: in a part of two channels, its own two and those that rest."""
    return ((0, 1), (2, 3)) if "rotary_dim" in way.parameters else ((0, 2), (1, 3))


def turned(way: Turned, x: Sequence[float], position: int) -> list[mpc]:
    """Return the pairs of a vector, each turned and grown."""
    return [way.factor * mpc(x[i], x[j]) * expj(theta * position) for (i, j), theta in zip(members(way), way.thetas, strict=True)]


def shares(way: Turned, *, causal: bool) -> Iterator[list[mpf]]:
    """Yield the weights of both heads; only the first key stands before the query where a mask hides the one that follows."""
    for query in QUERIES:
        q, powers = turned(way, query, AT - causal), []
        for key, n in zip(KEYS, PLACES, strict=True):
            product = sum((a * conj(b)).real for a, b in zip(q, turned(way, key, n), strict=True))
            powers.append(exp(product / 2) if n <= AT - causal else mpf(0))
        yield [power / sum(powers) for power in powers]


def inputs(way: Turned, *names: str, causal: bool) -> dict[str, Tensor]:
    """Return queries and keys, positions, and arrays of the scheme."""
    given = {"q": real(*X, shape=(1, 2, 1, 4)), "k": real(*Y, shape=(1, 1, 2, 4)), "v": real(*V, shape=(1, 1, 2, 4))}
    places = {"query_positions": whole(AT - causal), "key_positions": whole(*PLACES)}
    return {name: given[name] for name in names} | places | way.learned


def parameters(way: Turned, *, causal: bool) -> dict[str, Any]:
    """Return everything that is no array."""
    return {"head_dim": 4, "base": 100.0, "layout": "half", "direction": "positive", **way.parameters, "causal": causal}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.operations[0])
@pytest.mark.parametrize("causal", [False, True])
def test_weights_are_quotients_of_exponentials(way: Turned, causal: bool) -> None:  # noqa: FBT001 - parametrized
    result = golden(way.operations[0], inputs(way, "q", "k", causal=causal), **parameters(way, causal=causal))
    assert result == rounded([share for row in shares(way, causal=causal) for share in row])


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.operations[0])
@pytest.mark.parametrize("causal", [False, True])
def test_averages_are_sums_of_weighed_values(way: Turned, causal: bool) -> None:  # noqa: FBT001 - parametrized
    result = golden(way.operations[1], inputs(way, "q", "k", "v", causal=causal), **parameters(way, causal=causal))
    columns = list(zip(V[:4], V[4:], strict=True))
    assert result == rounded([fdot(row, column) for row in shares(way, causal=causal) for column in columns])


@pytest.mark.parametrize("causal", [False, True])
def test_averages_of_turned_values_are_sums_of_weighed_complex_numbers_over_that_of_the_query_or_alone(causal: bool) -> None:  # noqa: FBT001 - parametrized
    way = next(way for way in WAYS if way.operations[1] == "partial_rope.attend")
    given = inputs(way, "q", "k", "v", causal=causal), parameters(way, causal=causal)
    back, kept = (golden("partial_rope.attend_turned", given[0], **given[1], outputs=outputs) for outputs in ("turned_back", "kept"))
    expected: tuple[list[mpf], list[mpf]] = [], []
    for row in shares(way, causal=causal):
        values = [turned(way, x, n) for x, n in zip((V[:4], V[4:]), PLACES, strict=True)]
        means = [fdot(row, column) for column in zip(*values, strict=True)]
        over = [mean / expj(theta * (AT - causal)) for mean, theta in zip(means, way.thetas, strict=True)]
        for each, pairs in zip(expected, (over, means), strict=True):
            each += [part for pair in pairs for part in (pair.real, pair.imag)]
    assert (back, kept) == tuple(map(rounded, expected))


@pytest.mark.parametrize(("divisor", "root"), [("roots", sqrt(mpf(8))), ("one", mpf(1))])
def test_scores_of_an_indexer_are_weighed_sums_of_products_that_are_clipped_at_0(divisor: str, root: mpf) -> None:
    way = next(way for way in WAYS if way.operations[1] == "partial_rope.attend")
    head_weights = (mpf(1.5), mpf(-0.25))
    given = inputs(way, causal=False) | {
        "q": real(*X, shape=(1, 2, 1, 4)), "k": real(*Y, shape=(1, 2, 4)), "head_weights": real(*head_weights, shape=(1, 2, 1)),
    }  # fmt: skip
    products = [
        [sum((a * conj(b)).real for a, b in zip(turned(way, q, AT), turned(way, k, n), strict=True)) for q in QUERIES]
        for k, n in zip(KEYS, PLACES, strict=True)
    ]
    rule = {name: value for name, value in parameters(way, causal=False).items() if name != "causal"}

    assert {product > 0 for row in products for product in row} == {True, False}
    assert golden("partial_rope.index_scores", given, **rule, divisor=divisor) == rounded(
        [fdot(head_weights, [max(product, mpf(0)) for product in row]) / root for row in products]
    )
