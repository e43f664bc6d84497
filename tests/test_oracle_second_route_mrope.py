"""Positions of multimodal rope by a second route: a walk through the sequence that writes down one token after the other."""

import pytest
from second_route import golden, mp

from conformance.oracle import Tensor

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


def walked(runs: list[Run], interval: mp.mpf) -> list[tuple[int, int, int]]:
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
    places = walked(runs, tokens_per_second * mp.mpf(seconds))
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
