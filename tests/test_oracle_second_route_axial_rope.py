"""Axial rope by a second route: 60 digits, complex numbers, and the members of every pair by hand."""

import pytest
from mpmath import expj, mpf
from second_route import X, golden, real, rounded, sixty_digits

from conformance.oracle import Tensor

__all__ = ["sixty_digits"]

#: Members of the pairs of 8 channels by order and layout, with the axis and the frequency's number, where axes are 4 wide.
EQUAL = {
    ("block", "interleaved"): [(0, 1, 0, 0), (2, 3, 0, 1), (4, 5, 1, 0), (6, 7, 1, 1)],
    ("block", "half"): [(0, 2, 0, 0), (1, 3, 0, 1), (4, 6, 1, 0), (5, 7, 1, 1)],
    ("joined", "interleaved"): [(0, 1, 0, 0), (2, 3, 0, 1), (4, 5, 1, 0), (6, 7, 1, 1)],
    ("joined", "half"): [(0, 4, 0, 0), (1, 5, 0, 1), (2, 6, 1, 0), (3, 7, 1, 1)],
    ("alternating", "interleaved"): [(0, 1, 0, 0), (2, 3, 1, 0), (4, 5, 0, 1), (6, 7, 1, 1)],
    ("alternating", "half"): [(0, 4, 0, 0), (1, 5, 1, 0), (2, 6, 0, 1), (3, 7, 1, 1)],
}
#: The same where the first axis is 2 wide and the second 6.
UNLIKE = {
    ("block", "half"): [(0, 1, 0, 0), (2, 5, 1, 0), (3, 6, 1, 1), (4, 7, 1, 2)],
    ("joined", "half"): [(0, 4, 0, 0), (1, 5, 1, 0), (2, 6, 1, 1), (3, 7, 1, 2)],
    ("alternating", "interleaved"): [(0, 1, 0, 0), (2, 3, 1, 0), (4, 5, 1, 1), (6, 7, 1, 2)],
}
CASES = [((4, 4), *how, pairs) for how, pairs in EQUAL.items()] + [((2, 6), *how, pairs) for how, pairs in UNLIKE.items()]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("axes", "order", "layout", "pairs"), CASES)
def test_every_axis_turns_its_pairs_by_complex_products(
    axes: tuple[int, ...], order: str, layout: str, pairs: list[tuple[int, int, int, int]], sign: int
) -> None:
    position, expected = (31, 1_057), [mpf(value) for value in X]
    for first, second, axis, number in pairs:
        angle = position[axis] * mpf(10_000) ** (mpf(-2 * number) / axes[axis])
        turned = (X[first] + 1j * X[second]) * expj(sign * angle)
        expected[first], expected[second] = turned.real, turned.imag

    result = golden(
        "axial_rope.rotate",
        {"x": real(*X, shape=(1, 1, 1, 8)), "positions": Tensor((1, 2), position)},
        head_dim=8,
        axes=axes,
        order=order,
        base=10_000.0,
        layout=layout,
        direction="positive" if sign == 1 else "negative",
    )

    assert result == rounded(expected)
