"""Partial rope by a second route: 60 digits, complex numbers, and the channels of every layout by hand."""

import pytest
from mpmath import expj, mpf
from second_route import X, golden, real, rounded, sixty_digits, whole

__all__ = ["sixty_digits"]

#: The first and the second members of both pairs of four channels.
PAIRS = {"interleaved": ((0, 2), (1, 3)), "half": ((0, 1), (2, 3))}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("start", [0, 4])
@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
def test_half_of_a_head_turns_by_complex_products(layout: str, start: int, sign: int) -> None:
    expected = [mpf(value) for value in X]
    read = PAIRS["interleaved" if layout.startswith("interleaved") else "half"]
    written = PAIRS["interleaved" if layout == "interleaved" else "half"]
    for pair in range(2):
        turned = (X[start + read[0][pair]] + 1j * X[start + read[1][pair]]) * expj(sign * 1_000 * mpf(10_000) ** (-mpf(pair) / 2))
        expected[start + written[0][pair]], expected[start + written[1][pair]] = turned.real, turned.imag

    result = golden(
        "partial_rope.rotate",
        {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(1_000)},
        head_dim=8,
        rotary_dim=4,
        placement="last" if start else "first",
        base=10_000.0,
        layout=layout,
        direction="positive" if sign == 1 else "negative",
    )

    assert result == rounded(expected)
