"""Attention without an encoding by a second route: quotients of exponentials at 60 digits."""

from collections.abc import Sequence

import pytest
from mpmath import exp, fdot, mpf, sqrt
from second_route import V, X, Y, golden, real, rounded, sixty_digits, whole

from conformance.oracle import Tensor

__all__ = ["sixty_digits"]

QUERIES, KEYS = (4, 1), (1, 4, 5)
#: Two query heads of two queries share one head of three keys; all are two wide.
Q, K, VALUES = X, Y[:6], V[:6]


def inputs() -> dict[str, Tensor]:
    return {
        "q": real(*Q, shape=(1, 2, 2, 2)),
        "k": real(*K, shape=(1, 1, 3, 2)),
        "query_positions": whole(*QUERIES),
        "key_positions": whole(*KEYS),
    }


def pairs(numbers: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(numbers[0::2], numbers[1::2], strict=True))


def shares(*, causal: bool) -> list[list[mpf]]:
    """Return the weights of every query of every head; a key that isn't seen counts nothing."""
    rows = []
    for index, query in enumerate(pairs(Q)):
        seen = [not causal or key <= QUERIES[index % 2] for key in KEYS]
        powers = [exp(fdot(query, key) / sqrt(mpf(2))) if here else mpf(0) for key, here in zip(pairs(K), seen, strict=True)]
        rows.append([power / sum(powers) for power in powers])
    return rows


@pytest.mark.parametrize("causal", [False, True])
def test_weights_are_quotients_of_exponentials(causal: bool) -> None:  # noqa: FBT001 - parametrized
    assert golden("none.weights", inputs(), causal=causal) == rounded([share for row in shares(causal=causal) for share in row])


@pytest.mark.parametrize("causal", [False, True])
def test_averages_are_sums_of_weighed_values(causal: bool) -> None:  # noqa: FBT001 - parametrized
    queries, keys = (inputs()[name] for name in ("query_positions", "key_positions"))
    arrays = {"q": inputs()["q"], "k": inputs()["k"], "v": real(*VALUES, shape=(1, 1, 3, 2))}

    result = golden("none.attend", {**arrays, "query_positions": queries, "key_positions": keys}, causal=causal)

    columns = list(zip(*pairs(VALUES), strict=True))
    assert result == rounded([fdot(row, column) for row in shares(causal=causal) for column in columns])


def test_a_query_before_all_keys_has_no_golden_value() -> None:
    with pytest.raises(ValueError, match="every query must see a key"):
        golden("none.weights", inputs() | {"query_positions": whole(0, 4)}, causal=True)


def test_vectors_stay_as_they_are_wherever_they_stand() -> None:
    arrays = {"x": real(*X, shape=(1, 2, 2, 2)), "positions": whole(-1, 131_071)}

    assert golden("none.rotate", arrays, head_dim=2) == rounded([mpf(number) for number in X])
