"""Proportional rope by a second route: 60 digits, a geometric series that is cut, complex numbers."""

import pytest
from mpmath import expj, mp, mpf, root
from second_route import X, golden, real, rounded, sixty_digits, whole

__all__ = ["sixty_digits"]


def series(width: int, base: float, pairs: int, factor: float) -> list[mpf]:
    """Return so many terms of a series that falls by a root of the base, and zeros."""
    ratio = 1 / root(mpf(base), width // 2)
    return [ratio**pair / mpf(factor) for pair in range(pairs)] + [mpf(0)] * (width // 2 - pairs)


@pytest.mark.parametrize(
    ("width", "base", "pairs", "factor"), [(8, 10_000.0, 2, 4.0), (6, 10_000.7, 1, 3.3), (512, 1_000_000.0, 64, 1.0), (4, 100.0, 2, 1.0)]
)
def test_frequencies_are_a_series_that_is_cut(width: int, base: float, pairs: int, factor: float) -> None:
    result = golden("proportional_rope.frequencies", {}, head_dim=width, base=base, turned_pairs=pairs, factor=factor)

    assert result == rounded(series(width, base, pairs, factor))


@pytest.mark.parametrize("sign", [1, -1])
def test_rotate_is_a_complex_product(sign: int) -> None:
    turned = [mp.mpc(X[j], X[j + 4]) * expj(sign * 1_000 * theta) for j, theta in enumerate(series(8, 10_000.0, 3, 2.0))]

    result = golden(
        "proportional_rope.rotate",
        {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(1_000)},
        head_dim=8,
        base=10_000.0,
        layout="half",
        direction="positive" if sign == 1 else "negative",
        turned_pairs=3,
        factor=2.0,
    )

    assert result == rounded([*(z.real for z in turned), *(z.imag for z in turned)])
