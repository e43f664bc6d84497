"""LongRoPE by a second route: complex numbers at 60 digits, periods instead of frequencies, powers instead of logarithms."""

from collections.abc import Sequence
from typing import Any

import pytest
from second_route import X, golden, members, mp, real, rounded, turned, whole

log, mpf, sqrt = mp.log, mp.mpf, mp.sqrt
SHORT, LONG = (1.0, 1.0625, 1.25, 1.5), (1.125, 2.0, 12.5, 48.0)
UNSET: dict[str, Any] = {"short_mscale": None, "long_mscale": None}
ROTATION: dict[str, Any] = {"head_dim": 8, "base": 500_000.0, "direction": "positive"}


def periods(factors: Sequence[float], base: float) -> list[mpf]:
    """Return how many positions one radian takes, pair by pair."""
    return [mp.root(mpf(base), 4) ** j * mpf(factor) for j, factor in enumerate(factors)]


@pytest.mark.parametrize(("length", "factors"), [(1, SHORT), (4_095, SHORT), (4_096, SHORT), (4_097, LONG), (131_072, LONG)])
def test_frequencies_are_reciprocal_periods_of_the_list_that_the_length_chooses(length: int, factors: Sequence[float]) -> None:
    lists = {"short_factors": real(*SHORT), "long_factors": real(*LONG)}

    result = golden("longrope.frequencies", lists, head_dim=8, base=10_000.7, original_length=4_096, length=length)

    assert result == rounded([1 / period for period in periods(factors, 10_000.7)])


@pytest.mark.parametrize(("original", "longest"), [(4_096, 131_072), (1_000, 2_500), (2, 1_048_576), (65_535, 131_071)])
def test_attention_factor_squared_is_the_ratio_of_logarithms(original: int, longest: int) -> None:
    result = golden("longrope.attention_factor", {}, original_length=original, max_length=longest, length=1, **UNSET)

    assert result == rounded([sqrt(log(mpf(longest)) / log(mpf(original)))])


@pytest.mark.parametrize("longest", [1, 4_095, 4_096])
def test_nothing_is_stretched_up_to_the_original_length(longest: int) -> None:
    assert golden("longrope.attention_factor", {}, original_length=4_096, max_length=longest, length=1, **UNSET) == (1.0,)


@pytest.mark.parametrize(
    ("length", "short", "long", "expected"),
    [
        (1, 1.2, 1.1, mpf(1.2)),
        (4_096, 1.2, 1.1, mpf(1.2)),
        (4_097, 1.2, 1.1, mpf(1.1)),
        (4_096, None, 1.1, sqrt(mpf(17) / 12)),
        (4_097, None, 1.1, mpf(1.1)),
        (4_097, 1.2, None, sqrt(mpf(17) / 12)),
    ],
)
def test_a_factor_that_is_given_replaces_the_ratio_on_its_side_of_the_original_length(
    length: int, short: float | None, long: float | None, expected: Any
) -> None:
    lengths = {"original_length": 4_096, "max_length": 131_072, "length": length}

    assert golden("longrope.attention_factor", {}, **lengths, short_mscale=short, long_mscale=long) == rounded([expected])


@pytest.mark.parametrize(("length", "factors"), [(256, SHORT), (257, LONG)])
def test_rotate_is_a_complex_product_that_grows(length: int, factors: Sequence[float]) -> None:
    inputs = {
        "x": real(*X, shape=(1, 1, 1, 8)),
        "positions": whole(200),
        "short_factors": real(*SHORT),
        "long_factors": real(*LONG),
    }
    places, size = [200 / period for period in periods(factors, 500_000.0)], sqrt(log(mpf(8_192)) / log(mpf(256)))

    lengths = {"original_length": 256, "length": length, "max_length": 8_192}

    result = golden("longrope.rotate", inputs, **ROTATION, layout="interleaved", **lengths, **UNSET)

    assert result == turned(X, members("interleaved", 4), places, size)


@pytest.mark.parametrize(("length", "factors", "size"), [(256, SHORT, 0.75), (257, LONG, 1.1)])
def test_rotate_grows_by_the_factor_that_is_given_for_its_list(length: int, factors: Sequence[float], size: float) -> None:
    inputs = {
        "x": real(*X, shape=(1, 1, 1, 8)),
        "positions": whole(200),
        "short_factors": real(*SHORT),
        "long_factors": real(*LONG),
    }
    places = [200 / period for period in periods(factors, 500_000.0)]
    given = {"original_length": 256, "length": length, "max_length": 8_192, "short_mscale": 0.75, "long_mscale": 1.1}

    result = golden("longrope.rotate", inputs, **ROTATION, layout="half", **given)

    assert result == turned(X, members("half", 4), places, mpf(size))


@pytest.mark.parametrize(("position", "factors"), [(3, (1.0,) * 4), (4, LONG), (-7, (1.0,) * 4)])
def test_rotate_searched_leaves_the_start_to_rope(position: int, factors: Sequence[float]) -> None:
    inputs = {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(position), "factors": real(*LONG)}
    places = [position / period for period in periods(factors, 500_000.0)]

    result = golden("longrope.rotate_searched", inputs, **ROTATION, layout="interleaved_to_half", start_tokens=4)

    assert result == turned(X, members("interleaved_to_half", 4), places)
