"""Attention whose distances are kept within a window only, by a second route: complex numbers turned by the distance, in 60 digits."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from second_route import golden, mp, real, rounded, whole

mpc, exp = mp.mpc, mp.exp
QUERY, KEYS = (1.5, -0.25, 0.75, 1.0), [(0.5, 1.0, -1.25, 0.25), (1.0, -0.5, 0.5, 1.75), (-0.75, 1.25, 1.0, -0.5), (0.25, 0.5, -1.5, 1.0)]
VALUES = [(1.0, -2.0, 0.5, 0.25), (0.5, 1.5, -1.0, 2.0), (-1.5, 0.25, 0.75, 1.0), (2.0, -0.5, 1.0, -1.25)]
AT, PLACES = 29, (3, 24, 25, 27)

def between_chunks(m: int, n: int) -> int:
    """Return the distance as the authors' code has it for chunks of 5 tokens: of three kinds of queries the one for a key's chunk."""
    query = {0: m % 5, 1: min(m % 5 + 5, 8)}.get(m // 5 - n // 5, min(5 - 1 + 5, 8))
    return query - n % 5


DISTANCES: dict[tuple[str, str], tuple[dict[str, int], Callable[[int, int], int]]] = {
    ("rerope.weights", "rerope.attend"): ({"window": 5}, lambda m, n: min(m - n, 5)),
    ("self_extend.weights", "self_extend.attend"): (
        {"window": 5, "group_size": 3},
        lambda m, n: m - n if m - n < 5 else math.floor(m / 3) - math.floor(n / 3) + 5 - math.floor(5 / 3),
    ),
    ("dual_chunk.weights", "dual_chunk.attend"): ({"chunk_size": 8, "local_size": 3}, between_chunks),
}


def weights(distance: Callable[[int, int], int]) -> list[Any]:
    """Return the softmax of ``Re(sum_j q_j conj(k_j) e^(i distance theta_j)) / 2``, channels ``j`` and ``j + 2`` a complex number."""
    powers = []
    for key, place in zip(KEYS, PLACES, strict=True):
        products = [mpc(QUERY[j], QUERY[j + 2]) * mp.conj(mpc(key[j], key[j + 2])) for j in range(2)]
        turned = [products[j] * mp.expj(distance(AT, place) * mp.mpf(100) ** (-mp.mpf(j) / 2)) for j in range(2)]
        powers.append(exp(mp.re(sum(turned)) / 2))
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("operations", DISTANCES)
def test_keys_are_weighed_by_the_distance_that_is_meant(operations: tuple[str, str]) -> None:
    parameters, distance = DISTANCES[operations]
    inputs = {
        "q": real(*QUERY, shape=(1, 1, 1, 4)),
        "k": real(*sum(KEYS, ()), shape=(1, 1, 4, 4)),
        "query_positions": whole(AT),
        "key_positions": whole(*PLACES),
    }
    asked = {"head_dim": 4, "base": 100.0, "layout": "half", "direction": "positive", "causal": True, **parameters}
    shares = weights(distance)

    assert golden(operations[0], inputs, **asked) == rounded(shares)
    values = {**inputs, "v": real(*sum(VALUES, ()), shape=(1, 1, 4, 4))}
    mean = [sum(share * value[channel] for share, value in zip(shares, VALUES, strict=True)) for channel in range(4)]
    assert golden(operations[1], values, **asked) == rounded(mean)
