"""DeBERTa's and the clamped buckets a third time: ceilings of logarithms with 60 digits, and counting."""

import pytest
from second_route import golden, mp, real, whole

ceil, log, mpf = mp.ceil, mp.log, mp.mpf
#: Decides exact ties: 60 digits leave an error below it, and no other value is as near to an integer.
TIE = mpf(10) ** -50


def signed_row(relative: int, buckets: int, farthest: int) -> int:
    """Return ``make_log_bucket_position`` of query minus key, moved to the middle and clamped to the table."""
    span = buckets // 2
    middle, distance = span // 2, abs(relative)
    bucket = distance
    if distance > middle:
        bucket = middle + int(ceil(log(mpf(distance) / middle) / log(mpf(farthest - 1) / middle) * (middle - 1) - TIE))
    return max(0, min(buckets - 1, span + (bucket if relative < 0 else -bucket)))


@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (512, 512), (16, 33), (8, 100), (64, 200)])
def test_deberta_buckets_are_ceilings_of_logarithms(buckets: int, farthest: int) -> None:
    distances = range(-2 * farthest, 2 * farthest + 1)
    inputs = {"relative_positions": whole(*distances)}
    result = golden("t5.bucket", inputs, bidirectional=True, num_buckets=buckets, max_distance=farthest, convention="deberta")
    assert result == tuple(signed_row(distance, buckets, farthest) for distance in distances)


@pytest.mark.parametrize(("bidirectional", "expected"), [(True, (0, 0, 0, 1, 3, 4, 5, 7, 7, 7)), (False, (7, 5, 4, 3, 1, 0, 0, 0, 0, 0))])
def test_clamped_buckets_count_offsets(bidirectional: bool, expected: tuple[int, ...]) -> None:  # noqa: FBT001 - parametrized
    inputs = {"relative_positions": whole(-99, -5, -4, -3, -1, 0, 1, 3, 4, 99)}
    result = golden("t5.bucket", inputs, bidirectional=bidirectional, num_buckets=8, max_distance=128, convention="clamped")
    assert result == expected


def test_a_bias_reads_the_row_of_its_convention() -> None:
    table = [[row + head / 16 for head in range(2)] for row in range(32)]
    inputs = {
        "table": real(*(entry for row in table for entry in row), shape=(32, 2)),
        "query_positions": whole(100),
        "key_positions": whole(100, 98, 60, 191),
    }
    rows = {"t5": (0, 2, 12, 31), "deberta": tuple(signed_row(n - 100, 32, 128) for n in (100, 98, 60, 191)), "clamped": (16, 14, 0, 31)}
    for convention, chosen in rows.items():
        result = golden("t5.bias", inputs, bidirectional=True, num_buckets=32, max_distance=128, convention=convention)
        assert result == tuple(table[row][head] for head in range(2) for row in chosen)
