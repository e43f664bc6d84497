"""Where one bias per bucket, one bias per offset, and one edge per offset are the same thing."""

import numpy as np

from refimpl.schemes import alibi, kerple, relative_bias, shaw, t5

HEADS, REACH = 3, 5
TABLE = np.random.default_rng(2).integers(-32, 33, (2 * REACH + 1, HEADS)) / 16
QUERIES, KEYS = np.array([0, 3, 9, 4]), np.array([2, 0, 4, 30, 9])


def offsets(*, sign: str = "key_minus_query") -> np.ndarray:
    """Return one bias per offset, clipped."""
    return relative_bias.bias(TABLE, QUERIES, KEYS, max_distance=REACH, sign=sign)


def test_one_bias_per_offset_is_a_row_of_the_table() -> None:
    for query, key in np.ndindex(QUERIES.size, KEYS.size):
        row = max(-REACH, min(REACH, KEYS[key] - QUERIES[query])) + REACH

        assert np.array_equal(offsets()[:, query, key], TABLE[row])


def test_t5_where_every_distance_has_a_bucket_is_one_bias_per_offset() -> None:
    """Of 4 (reach + 1) buckets both ways the first half of each side holds one distance each."""
    exact = REACH + 1
    buckets = np.zeros((4 * exact, HEADS))
    buckets[:exact] = TABLE[REACH::-1]
    buckets[2 * exact + 1 : 3 * exact] = TABLE[REACH + 1 :]
    near = np.array([7, 5, 2, 6, 3])

    by_bucket = t5.bias(buckets, np.array([5, 7, 2]), near, bidirectional=True, num_buckets=4 * exact, max_distance=128)

    assert np.array_equal(by_bucket, relative_bias.bias(TABLE, np.array([5, 7, 2]), near, max_distance=REACH, sign="key_minus_query"))


def test_one_bias_per_offset_is_an_edge_seen_by_a_query_of_one_channel() -> None:
    q, k = np.ones((1, 1, QUERIES.size, 1)), np.zeros((1, 1, KEYS.size, 1))

    for head in range(HEADS):
        edges = shaw.logits(q, k, TABLE[:, head : head + 1], QUERIES, KEYS, max_distance=REACH, sign="key_minus_query", clip="symmetric")

        assert np.array_equal(edges[0, 0], offsets()[head])


def test_a_power_with_exponent_one_is_alibi_with_learned_slopes() -> None:
    slopes = alibi.slopes(num_heads=HEADS, like=np.zeros(1))

    power = kerple.bias(QUERIES, KEYS, slopes, np.ones(HEADS), form="power")

    assert np.array_equal(power, alibi.bias(QUERIES, KEYS, num_heads=HEADS, form="symmetric"))


def test_a_logarithm_of_a_vanishing_rate_is_alibi_with_their_product_as_slope() -> None:
    """``ln(1 + x) = x - x^2 / 2 + ...``: relatively the limit is off by half of ``x``, the rate times a distance, here at most 30."""
    rate = 2.0**-40
    slopes = alibi.slopes(num_heads=HEADS, like=np.zeros(1))

    logarithm = kerple.bias(QUERIES, KEYS, slopes / rate, np.full(HEADS, rate), form="log")

    assert np.allclose(logarithm, alibi.bias(QUERIES, KEYS, num_heads=HEADS, form="symmetric"), rtol=16 * rate, atol=0.0)
