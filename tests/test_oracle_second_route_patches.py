"""Rows and columns of patches by a second route: the list that an encoder's processor makes, by cutting an image into blocks."""

import pytest
from second_route import golden, whole

from conformance.oracle import Tensor

#: Grids by time, height and width, and how many rows and columns are merged.
LISTS = {
    "an image in rows": ([(1, 2, 3)], 1),
    "an image in blocks": ([(1, 4, 6)], 2),
    "a tall image in blocks": ([(1, 6, 4)], 2),
    "large blocks": ([(1, 6, 9)], 3),
    "a video": ([(3, 2, 4)], 2),
    "a video in rows, and an image": ([(2, 3, 1), (1, 2, 2)], 1),
    "videos and an image": ([(2, 2, 4), (1, 4, 6), (3, 6, 2)], 2),
}


def cut(grids: list[tuple[int, int, int]], merge: int) -> list[tuple[int, int]]:
    """Return the places of all patches: every step is cut into blocks from above, and every block into patches."""
    return [
        (top + row, left + column)
        for time, height, width in grids
        for _ in range(time)
        for top in range(0, height, merge)
        for left in range(0, width, merge)
        for row in range(merge)
        for column in range(merge)
    ]


def placed(positions: Tensor, grids: list[tuple[int, int, int]], merge: int) -> tuple[float, ...]:
    """Return rows and columns in turn."""
    times, heights, widths = zip(*grids, strict=True)
    return golden("axial_rope.positions", {"positions": positions}, times=times, heights=heights, widths=widths, merge=merge)


@pytest.mark.parametrize("given", LISTS)
def test_every_patch_has_the_place_from_which_it_is_cut(given: str) -> None:
    places = cut(*LISTS[given])

    assert placed(whole(*range(len(places))), *LISTS[given]) == tuple(number for place in places for number in place)


def test_the_last_grid_goes_on() -> None:
    assert placed(whole(16, 21, 31, 1_600), [(1, 2, 2), (1, 2, 6)], 2) == (0, 0, 0, 3, 1, 1, 0, 0)
