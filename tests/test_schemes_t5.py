"""T5's buckets in all conventions, and the KV cache that the lecture notes say it can't have."""

import numpy as np
import pytest

from refimpl import attention
from refimpl.schemes import t5

#: Averages of values up to 2 over a few keys, computed twice in float64: 32 units of 2^-53.
AVERAGED = 2.0**-48


@pytest.mark.parametrize(("relative", "bucket"), [(128, 128), (129, 129), (130, 130), (511, 255)])
def test_the_signed_buckets_of_a_released_deberta_are_as_read(relative: int, bucket: int) -> None:
    rows = t5.bucket(np.array([-relative, relative]), bidirectional=True, num_buckets=512, max_distance=512, convention="deberta")
    assert rows.tolist() == [256 + bucket, 256 - bucket]


def test_a_row_beyond_the_last_is_clamped_on_the_upper_side_only() -> None:
    rows = t5.bucket(np.array([-512, 512]), bidirectional=True, num_buckets=512, max_distance=512, convention="deberta")
    assert rows.tolist() == [511, 0]


def test_all_conventions_agree_on_nothing_but_the_order_of_distances() -> None:
    earlier = -np.arange(300)
    rows = {c: t5.bucket(earlier, bidirectional=True, convention=c) for c in ("t5", "deberta", "clamped")}
    assert np.all(np.diff(rows["t5"]) >= 0)
    assert np.all(np.diff(rows["deberta"]) >= 0)
    assert np.all(np.diff(rows["clamped"]) <= 0)
    assert [int(row[0]) for row in rows.values()] == [0, 16, 16]


def test_one_bucket_of_the_bidirectional_table_is_never_read() -> None:
    read = set(t5.bucket(np.arange(-1_000, 1_001), bidirectional=True).tolist())
    assert set(range(32)) - read == {16}


def test_cached_keys_and_values_stay_valid_under_a_relative_bias() -> None:
    tokens, layer = np.arange(9), t5.layer(num_heads=2, head_dim=4, like=np.zeros(1))
    q, k, v = (np.random.default_rng(seed).standard_normal((1, 2, 9, 4)) for seed in range(3))
    whole = attention.attend(layer, q, k, v, tokens, tokens, causal=True)

    cache, steps = None, []
    for t in range(9):
        here = slice(t, t + 1)
        cache = attention.append(layer, cache, k[:, :, here], v[:, :, here], tokens[here])
        steps.append(attention.decode(layer, cache, q[:, :, here], tokens[here]))

    assert cache is not None
    assert np.array_equal(cache.keys, k)
    assert np.array_equal(cache.values, v)
    assert np.allclose(np.concatenate(steps, axis=2), whole, rtol=0.0, atol=AVERAGED)


def test_logits_are_not_divided_by_the_root_of_the_width() -> None:
    layer = t5.layer(num_heads=1, head_dim=4, like=np.zeros(1))
    assert layer.logits is not None
    one = np.ones((1, 1, 1, 4))
    here = np.array([7])
    difference = layer.logits(one, one, here, here) - layer.logits(0 * one, one, here, here)
    assert difference.item() == 4.0
