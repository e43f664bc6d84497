"""NTK-by-parts and Llama 3's rule by a second route: 60 digits, wavelengths compared in the place of turns, complex numbers."""

import pytest
from mpmath import expj, mp, mpf
from second_route import X, golden, real, rounded, sixty_digits, whole

__all__ = ["sixty_digits"]

#: The names of the ends of the blend, by operation.
FREQUENCIES = {"ntk_by_parts.frequencies": ("alpha", "beta"), "llama3.frequencies": ("low_freq_factor", "high_freq_factor")}
ROTATE = {"ntk_by_parts.rotate": ("alpha", "beta"), "llama3.rotate": ("low_freq_factor", "high_freq_factor")}


def wavelengths(width: int, base: float, factor: float, length: int, low: float, high: float) -> list[mpf]:
    """Return every pair's tokens per turn: its own, the longer one, or one between, as ``apply_scaling`` tells them apart."""
    found = []
    for pair in range(width // 2):
        own = 2 * mp.pi * mpf(base) ** (mpf(2 * pair) / width)
        smooth = (mpf(length) / own - mpf(low)) / (mpf(high) - mpf(low))
        between = 1 / ((1 - smooth) / (own * mpf(factor)) + smooth / own) if 0 < smooth < 1 else own
        found.append(own * mpf(factor) if own > mpf(length) / mpf(low) else between)
    return found


@pytest.mark.parametrize("operation", FREQUENCIES)
@pytest.mark.parametrize(
    ("width", "base", "factor", "length", "ends"),
    [(16, 10_000.0, 4.0, 4_096, (1.0, 32.0)), (64, 500_000.0, 32.0, 8_192, (1.0, 4.0)), (10, 10_000.7, 3.3, 777, (0.7, 9.1))],
)
def test_frequencies_are_one_turn_over_a_longer_wavelength(
    operation: str, width: int, base: float, factor: float, length: int, ends: tuple[float, float]
) -> None:
    given = dict(zip(FREQUENCIES[operation], ends, strict=True))

    result = golden(operation, {}, head_dim=width, base=base, factor=factor, original_length=length, **given)

    assert result == rounded([2 * mp.pi / each for each in wavelengths(width, base, factor, length, *ends)])


@pytest.mark.parametrize("operation", ROTATE)
@pytest.mark.parametrize("sign", [1, -1])
def test_rotate_is_a_complex_product(operation: str, sign: int) -> None:
    slowed = wavelengths(8, 500_000.0, 8.0, 8_192, 1.0, 4.0)
    turned = [mp.mpc(X[j], X[j + 4]) * expj(sign * 2 * mp.pi * 1_000 / slowed[j]) for j in range(4)]

    result = golden(
        operation,
        {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(1_000)},
        head_dim=8,
        base=500_000.0,
        layout="half",
        direction="positive" if sign == 1 else "negative",
        factor=8.0,
        original_length=8_192,
        **dict(zip(ROTATE[operation], (1.0, 4.0), strict=True)),
    )

    assert result == rounded([*(z.real for z in turned), *(z.imag for z in turned)])
