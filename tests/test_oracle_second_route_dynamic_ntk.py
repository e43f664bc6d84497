"""Dynamic NTK scaling by a second route: 60 digits, the ratio to plain rope in the place of another base, complex numbers."""

import pytest
from mpmath import expj, mp, mpf
from second_route import X, golden, real, rounded, sixty_digits, whole

__all__ = ["sixty_digits"]


def slowed(width: int, base: float, factor: float, original: int, length: int) -> list[mpf]:
    """Return rope's frequencies over ``s^(2 j / (width - 2))``, ``s`` as transformers writes it."""
    s = mpf(factor) * max(length, original) / original - (mpf(factor) - 1)
    plain = [mpf(base) ** (mpf(-2 * pair) / width) for pair in range(width // 2)]
    return [theta / s ** (mpf(2 * pair) / (width - 2)) for pair, theta in enumerate(plain)]


@pytest.mark.parametrize(
    ("width", "base", "factor", "original", "length"),
    [(8, 10_000.0, 4.0, 4_096, 8_192), (4, 10_000.7, 3.3, 777, 1_000), (128, 500_000.0, 2.0, 8_192, 1_048_576), (8, 100.0, 2.0, 512, 3)],
)
def test_frequencies_are_slowed_by_a_power_of_the_stretch(width: int, base: float, factor: float, original: int, length: int) -> None:
    given = {"head_dim": width, "base": base, "factor": factor, "original_length": original, "length": length}

    result = golden("dynamic_ntk.frequencies", {}, **given)

    assert result == rounded(slowed(width, base, factor, original, length))


@pytest.mark.parametrize("sign", [1, -1])
def test_rotate_is_a_complex_product(sign: int) -> None:
    turned = [mp.mpc(X[j], X[j + 4]) * expj(sign * 1_000 * theta) for j, theta in enumerate(slowed(8, 10_000.0, 4.0, 512, 1_024))]

    result = golden(
        "dynamic_ntk.rotate",
        {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(1_000)},
        head_dim=8,
        base=10_000.0,
        layout="half",
        direction="positive" if sign == 1 else "negative",
        factor=4.0,
        original_length=512,
        length=1_024,
    )

    assert result == rounded([*(z.real for z in turned), *(z.imag for z in turned)])
