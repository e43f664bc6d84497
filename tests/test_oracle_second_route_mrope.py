"""Multimodal rope by a second route: 60 digits, complex numbers, and the axis of every pair by hand."""

import pytest
from mpmath import expj, mpf
from second_route import X, golden, real, rounded, sixty_digits

from conformance.oracle import Tensor

__all__ = ["sixty_digits"]

#: The axes of the four pairs of 8 channels, by sections and order.
FOLLOWED = {
    ((2, 1, 1), "contiguous"): (0, 0, 1, 2),
    ((2, 1, 1), "interleaved"): (0, 1, 2, 0),
    ((2, 1, 1), "first_last"): (1, 2, 0, 0),
    ((1, 1, 2), "contiguous"): (0, 1, 2, 2),
    ((1, 1, 2), "first_last"): (1, 2, 2, 0),
    ((0, 2, 2), "first_last"): (1, 2, 1, 2),
    ((2, 2), "interleaved"): (0, 1, 0, 1),
}
MEMBERS = {"interleaved": [(0, 1), (2, 3), (4, 5), (6, 7)], "half": [(0, 4), (1, 5), (2, 6), (3, 7)]}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("layout", MEMBERS)
@pytest.mark.parametrize(("sections", "order"), FOLLOWED)
def test_every_pair_turns_by_its_axis_with_the_frequencies_of_the_head(
    sections: tuple[int, ...], order: str, layout: str, sign: int
) -> None:
    position, expected = (31, 1_057, 260), [mpf(value) for value in X]
    for pair, (axis, (first, second)) in enumerate(zip(FOLLOWED[sections, order], MEMBERS[layout], strict=True)):
        angle = position[axis] * mpf(10_000) ** (mpf(-2 * pair) / 8)
        turned = (X[first] + 1j * X[second]) * expj(sign * angle)
        expected[first], expected[second] = turned.real, turned.imag

    result = golden(
        "mrope.rotate",
        {"x": real(*X, shape=(1, 1, 1, 8)), "positions": Tensor((1, len(sections)), position[: len(sections)])},
        head_dim=8,
        sections=sections,
        order=order,
        base=10_000.0,
        layout=layout,
        direction="positive" if sign == 1 else "negative",
    )

    assert result == rounded(expected)
