"""NTK-aware scaling by a second route: 60 digits, the ratio to plain rope in the place of another base, complex numbers."""

import pytest
from mpmath import expj, mp, mpf
from second_route import X, golden, real, rounded, sixty_digits, whole

__all__ = ["sixty_digits"]


def slowed(width: int, base: float, factor: float) -> list[mpf]:
    """Return rope's frequencies over ``factor^(2 j / (width - 2))``."""
    plain = [mpf(base) ** (mpf(-2 * pair) / width) for pair in range(width // 2)]
    return [theta / mpf(factor) ** (mpf(2 * pair) / (width - 2)) for pair, theta in enumerate(plain)]


@pytest.mark.parametrize(("width", "base", "factor"), [(8, 10_000.0, 4.0), (4, 10_000.7, 3.3), (128, 10_000.0, 1_000.0)])
def test_frequencies_are_slowed_by_a_power_of_the_factor(width: int, base: float, factor: float) -> None:
    result = golden("ntk_aware.frequencies", {}, head_dim=width, base=base, factor=factor)

    assert result == rounded(slowed(width, base, factor))


@pytest.mark.parametrize("sign", [1, -1])
def test_rotate_is_a_complex_product(sign: int) -> None:
    turned = [mp.mpc(X[j], X[j + 4]) * expj(sign * 1_000 * theta) for j, theta in enumerate(slowed(8, 10_000.0, 4.0))]

    result = golden(
        "ntk_aware.rotate",
        {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(1_000)},
        head_dim=8,
        base=10_000.0,
        layout="half",
        direction="positive" if sign == 1 else "negative",
        factor=4.0,
    )

    assert result == rounded([*(z.real for z in turned), *(z.imag for z in turned)])
