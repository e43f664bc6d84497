"""The plain relative bias: offsets, edges, and the schemes that it is a case of."""

import numpy as np
import pytest

from refimpl.schemes import relative_bias, t5

POSITIONS = np.arange(12)
TABLE = np.arange(34, dtype=np.float32).reshape(17, 2)


def test_every_offset_has_its_own_row_and_those_beyond_the_outermost() -> None:
    bias = relative_bias.bias(TABLE, np.array([10]), np.array([0, 2, 3, 9, 10, 11, 18, 19]), max_distance=8)
    assert bias.dtype == np.float32
    assert bias[0, 0].tolist() == [0, 0, 2, 14, 16, 18, 32, 32]


def test_the_other_sign_mirrors_the_table() -> None:
    one = relative_bias.bias(TABLE, POSITIONS, POSITIONS, max_distance=8)
    other = relative_bias.bias(TABLE[::-1].copy(), POSITIONS, POSITIONS, max_distance=8, sign="query_minus_key")
    assert np.array_equal(one, other)


def test_t5_with_a_bucket_for_every_offset_is_this_table_without_its_last_row() -> None:
    keys = np.arange(-20, 20)
    plain = relative_bias.bias(TABLE, np.array([0]), keys, max_distance=8)
    clamped = t5.bias(TABLE[:-1].copy(), np.array([0]), keys, bidirectional=True, num_buckets=16, convention="clamped")
    assert np.array_equal(plain[..., keys < 8], clamped[..., keys < 8])
    assert not np.array_equal(plain, clamped)


def test_t5_causal_buckets_without_a_logarithm_are_this_table_read_backwards() -> None:
    keys = np.arange(-20, 1)
    plain = relative_bias.bias(TABLE, np.array([0]), keys, max_distance=8)
    clamped = t5.bias(TABLE[8::-1].copy(), np.array([0]), keys, bidirectional=False, num_buckets=9, convention="clamped")
    assert np.array_equal(plain, clamped)


@pytest.mark.parametrize("batched", [False, True])
def test_the_layer_adds_the_bias_of_either_kind_of_positions(batched: bool) -> None:  # noqa: FBT001 - parametrized
    layer = relative_bias.layer(num_heads=2, head_dim=4, like=np.zeros(1))
    queries, keys = np.array([[3, 9], [20, 5]]), np.array([[0, 3, 9], [5, 6, 7]])
    zeros = np.zeros((2, 2, 2, 4)), np.zeros((2, 2, 3, 4))
    assert layer.logits is not None
    got = layer.logits(*zeros, *((queries, keys) if batched else (queries[0], keys[0])))
    table = relative_bias.numbers(17, 2, like=np.zeros(1))
    for row in range(2):
        own = (queries[row], keys[row]) if batched else (queries[0], keys[0])
        assert np.array_equal(got[row], relative_bias.bias(table, *own, max_distance=8))
