"""Position interpolation by a second route: complex numbers at 60 digits, positions divided instead of frequencies."""

import pytest
from mpmath import expj, mp, mpf
from second_route import X, golden, real, rounded, sixty_digits, whole

__all__ = ["sixty_digits"]


@pytest.mark.parametrize(("factor", "base"), [(4.0, 10_000.0), (3.3, 10_000.7), (1.0, 100.0)])
def test_frequencies_are_one_turn_over_a_longer_wavelength(factor: float, base: float) -> None:
    wavelengths = [2 * mp.pi * mp.root(mpf(base), 4) ** j * mpf(factor) for j in range(4)]

    result = golden("position_interpolation.frequencies", {}, head_dim=8, base=base, factor=factor)

    assert result == rounded([2 * mp.pi / wavelength for wavelength in wavelengths])


@pytest.mark.parametrize("sign", [1, -1])
def test_rotate_is_a_complex_product_at_the_divided_position(sign: int) -> None:
    place = mpf(1_000) / mpf(3.3) * sign
    turned = [mp.mpc(X[j], X[j + 4]) * expj(place / mp.root(mpf(500_000), 4) ** j) for j in range(4)]

    result = golden(
        "position_interpolation.rotate",
        {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(1_000)},
        head_dim=8,
        base=500_000.0,
        layout="half",
        direction="positive" if sign == 1 else "negative",
        factor=3.3,
    )

    assert result == rounded([*(z.real for z in turned), *(z.imag for z in turned)])
