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


#: Sequences as they are read: the length of a run of text, or the sides of a grid (time, height, width).
Run = int | tuple[int, int, int]
SEQUENCES: dict[str, list[Run]] = {
    "an image": [3, (1, 2, 3), 4],
    "a video before anything": [0, (3, 2, 2), 5],
    "a video that lasts longer than it is wide, then an image": [2, (4, 1, 2), 3, (1, 3, 2), 4],
    "frames with their times as text": [2, (1, 2, 3), 3, (1, 2, 3), 2],
    "grids side by side": [0, (1, 1, 3), 0, (2, 2, 1), 1],
    "text": [6],
}


def walked(runs: list[Run], interval: mpf) -> list[tuple[int, int, int]]:
    """Return the places of all tokens, written down one after the other; every run begins after the largest number written so far."""
    places: list[tuple[int, int, int]] = []
    for run in runs:
        start = max((number for place in places for number in place), default=-1) + 1
        if isinstance(run, int):
            places += [(start + index,) * 3 for index in range(run)]
        else:
            time, height, width = map(range, run)
            places += [(start + int(step * interval), start + row, start + column) for step in time for row in height for column in width]
    return places


@pytest.mark.parametrize(("tokens_per_second", "seconds"), [(1, 1.0), (2, 1.5), (25, 2.0), (1, 0.625), (2, 0.25)])
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_every_token_stands_where_a_walk_through_the_sequence_puts_it(sequence: str, tokens_per_second: int, seconds: float) -> None:
    runs = SEQUENCES[sequence]
    places = walked(runs, tokens_per_second * mpf(seconds))
    grids = [run for run in runs if isinstance(run, tuple)]
    text = [run for run in runs if isinstance(run, int)]
    sides = {name: tuple(grid[index] for grid in grids) for index, name in enumerate(("times", "heights", "widths"))}

    result = golden(
        "mrope.positions",
        {"positions": Tensor((len(places),), tuple(range(len(places))))},
        text=tuple(text[: len(grids)]),
        **sides,
        tokens_per_second=tokens_per_second,
        seconds=seconds,
    )

    assert result == tuple(number for place in places for number in place)
