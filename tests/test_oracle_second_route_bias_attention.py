"""Attention with a bias by a second route: the scaled products plus the bias that stands alone, as quotients of exponentials, 60 digits."""

from collections.abc import Iterator, Sequence

import pytest
from mpmath import exp, fdot, mpf, sqrt
from second_route import V, X, Y, golden, real, rounded, sixty_digits, whole

from conformance.oracle import Tensor

__all__ = ["sixty_digits"]

QUERIES, KEYS = (4, 1), (1, 4, 5)
#: Two heads of two queries share one head of three keys; all are two wide.
Q, K, VALUES = X, Y[:6], V[:6]
SLOPES = (mpf(2) ** -4, mpf(2) ** -8)
STEPS = {
    "row": lambda m, n: n - m,
    "column": lambda _, n: n,
    "reversed": lambda _, n: n - KEYS[-1],
    "symmetric": lambda m, n: -abs(m - n),
}


def inputs(*names: str) -> dict[str, Tensor]:
    given = {"q": real(*Q, shape=(1, 2, 2, 2)), "k": real(*K, shape=(1, 1, 3, 2)), "v": real(*VALUES, shape=(1, 1, 3, 2))}
    return {name: given[name] for name in names} | {"query_positions": whole(*QUERIES), "key_positions": whole(*KEYS)}


def pairs(numbers: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(numbers[0::2], numbers[1::2], strict=True))


def shares(form: str, *, causal: bool) -> Iterator[list[mpf]]:
    """Yield the weights of every query of every head; a key that isn't seen counts nothing."""
    for index, query in enumerate(pairs(Q)):
        slope, m = SLOPES[index // 2], QUERIES[index % 2]
        powers = [
            exp(fdot(query, key) / sqrt(mpf(2)) + slope * STEPS[form](m, n)) if not causal or n <= m else mpf(0)
            for n, key in zip(KEYS, pairs(K), strict=True)
        ]
        yield [power / sum(powers) for power in powers]


@pytest.mark.parametrize("form", STEPS)
@pytest.mark.parametrize("causal", [False, True])
def test_weights_with_alibi_are_quotients_of_exponentials(form: str, causal: bool) -> None:  # noqa: FBT001 - parametrized
    result = golden("alibi.weights", inputs("q", "k"), num_heads=2, max_bias=8.0, form=form, causal=causal)
    assert result == rounded([share for row in shares(form, causal=causal) for share in row])


@pytest.mark.parametrize("form", STEPS)
@pytest.mark.parametrize("causal", [False, True])
def test_averages_with_alibi_are_sums_of_weighed_values(form: str, causal: bool) -> None:  # noqa: FBT001 - parametrized
    result = golden("alibi.attend", inputs("q", "k", "v"), num_heads=2, max_bias=8.0, form=form, causal=causal)
    columns = list(zip(*pairs(VALUES), strict=True))
    assert result == rounded([fdot(row, column) for row in shares(form, causal=causal) for column in columns])
