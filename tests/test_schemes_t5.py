"""T5's buckets in all conventions, and its logits."""

import numpy as np
import pytest

from refimpl.schemes import t5


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


def test_logits_are_not_divided_by_the_root_of_the_width() -> None:
    layer = t5.layer(num_heads=1, head_dim=4, like=np.zeros(1))
    assert layer.logits is not None
    one = np.ones((1, 1, 1, 4))
    here = np.array([7])
    difference = layer.logits(one, one, here, here) - layer.logits(0 * one, one, here, here)
    assert difference.item() == 4.0
