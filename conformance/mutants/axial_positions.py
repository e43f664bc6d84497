"""What goes wrong with the places of patches in grids: which sides a grid has, where it begins, and how patches lie that are merged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.mrope_positions import in_half
from conformance.mutants.positions import position_mutants
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

POSITIONS = "axial_rope.positions"
INHERITED = (
    "positions-from-one", "positions-ignored", "first-position-counts", "positions-frozen", "first-row-for-all", "clamped-at-2048",
    "clamped-at-4096",
)  # fmt: skip
#: From the number of a patch in its grid, and the height and the width of this, and how many are merged, to its row and column.
Lie = Callable[[Array, int, int, int], tuple[Array, Array]]
Grid = tuple[int, int, int]


def blocks_by_rows(number: Array, height: int, width: int, merge: int) -> tuple[Array, Array]:
    """Return the block of a patch, down and across, where blocks lie row by row."""
    block = number // merge**2
    return block // (width // merge) % (height // merge), block % (width // merge)


def in_blocks(blocks: Lie = blocks_by_rows, *, by_columns: bool = False) -> Lie:
    """Return rows and columns of patches that lie row by row in their blocks, or column by column."""

    def lie(number: Array, height: int, width: int, merge: int) -> tuple[Array, Array]:
        down, across = blocks(number, height, width, merge)
        row, column = np.divmod(number % merge**2, merge)[:: -1 if by_columns else 1]
        return down * merge + row, across * merge + column

    return lie


RIGHT = in_blocks()


def by_columns(number: Array, height: int, width: int, merge: int) -> tuple[Array, Array]:
    """Return the block of a patch where blocks lie column by column."""
    block = number // merge**2
    return block % (height // merge), block // (height // merge) % (width // merge)


def by_whole_widths(number: Array, height: int, width: int, merge: int) -> tuple[Array, Array]:
    """Return the block of a patch where as many blocks as patches lie side by side."""
    block = number // merge**2
    return block // width % (height // merge), block % width


def going_on(number: Array, height: int, width: int, merge: int) -> tuple[Array, Array]:
    """Return the block of a patch where those of the next step lie below."""
    del height
    return np.divmod(number // merge**2, width // merge)


def merged_by(merge: int) -> Lie:
    """Return rows and columns of patches in blocks of one size, or as large as the grid has room for."""
    return lambda number, height, width, _: RIGHT(number, height, width, min(merge, height, width))


def of_merged(number: Array, height: int, width: int, merge: int) -> tuple[Array, Array]:
    """Return the row and the column of a patch's block."""
    return blocks_by_rows(number, height, width, merge)


@dataclass(frozen=True)
class Built:
    """The pieces of positions; called as the operation. ``change`` makes others of the sides of all grids and of how many are merged."""

    lie: Lie = RIGHT
    begun: bool = True
    change: Callable[[list[Grid], int], tuple[list[Grid], int]] = lambda grids, merge: (grids, merge)

    def __call__(
        self, positions: Array, *, times: tuple[int, ...], heights: tuple[int, ...], widths: tuple[int, ...], merge: int
    ) -> Array:
        """Return row and column of every patch."""
        grids, merge = self.change(list(zip(times, heights, widths, strict=True)), merge)
        found, begin = np.stack([positions] * 2, axis=-1), 0
        for time, height, width in grids:
            places = self.lie(positions - (begin if self.begun else 0), height, width, merge)
            found = np.where((positions >= begin)[..., None], np.stack(places, axis=-1), found)
            begin += time * height * width
        return found


def of_grids(change: Callable[[int, int, int], Grid]) -> Callable[..., Array]:
    """Return positions in grids of other sides."""
    return Built(change=lambda grids, merge: ([change(*grid) for grid in grids], merge))


def first_grid(grids: list[Grid], merge: int) -> tuple[list[Grid], int]:
    """Give every grid the sides of the first."""
    return grids[:1] * len(grids), merge


def merged_before(grids: list[Grid], merge: int) -> tuple[list[Grid], int]:
    """Divide sides, and merge nothing."""
    return [(time, height // merge, width // merge) for time, height, width in grids], 1


def in_patches(grids: list[Grid], merge: int) -> tuple[list[Grid], int]:
    """Multiply sides that count patches already."""
    return [(time, height * merge, width * merge) for time, height, width in grids], merge


ORDER = "lay blocks row by row, and the patches of a block row by row"
EVERY = "begin every grid where the one before ends, after all of its steps, and give it its own sides"
PERMUTED = "reshape(h // m, m, w // m, m).permute(0, 2, 1, 3)"
MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    (Mistake("rows-for-blocks", "lays patches row by row where they are merged in blocks", ORDER,
             f"{PERMUTED} what meshgrid gives, or the patches back",
             threads=("https://github.com/vllm-project/vllm/pull/52932",)), Built(merged_by(1))),
    (Mistake("blocks-for-rows", "lays patches in blocks of two where none are merged", ORDER,
             "read the size of blocks (spatial_merge_size)", origin="in the style of Qwen2-VL's order in the place of Pixtral's"),
     Built(change=lambda grids, merge: (grids, 2 if merge == 1 and even(grids) else merge))),
    (Mistake("blocks-of-two", "merges two by two whatever is asked for", ORDER, "read the size of blocks (spatial_merge_size)",
             origin="in the style of constants taken from Qwen2-VL"), Built(merged_by(2))),
    (Mistake("blocks-by-columns", "lays blocks column by column", ORDER, f"{PERMUTED}: the row of a block before its column",
             origin="in the style of permute(2, 0, 1, 3)"), Built(in_blocks(by_columns))),
    (Mistake("patches-by-columns", "lays the patches of a block column by column", ORDER, f"{PERMUTED}: rows of a block before its columns",
             origin="in the style of permute(0, 2, 3, 1)"), Built(in_blocks(by_columns=True))),
    (Mistake("blocks-in-whole-widths", "lays as many blocks side by side as a row has patches", ORDER, "divide the width by merge",
             origin="in the style of widths that are divided at one place"), Built(in_blocks(by_whole_widths))),
    (Mistake("places-of-blocks", "gives every patch the place of its block in the merged grid", "give every patch its own row and column",
             "leave positions of merged tokens to the language model", origin="in the style of positions of the language model"),
     Built(of_merged)),
    (Mistake("sides-merged-before", "divides heights and widths by merge, and lays what is left row by row", ORDER,
             "count rows and columns of patches (grid_thw as the processor gives it)",
             origin="in the style of grids that are made for the language model"), Built(change=merged_before)),
    (Mistake("sides-multiplied", "multiplies heights and widths by merge", ORDER,
             "count rows and columns of patches (grid_thw as the processor gives it)",
             origin="in the style of grids that count tokens of the language model"), Built(change=in_patches)),
    (Mistake("height-and-width-exchanged", "gives the column first and then the row", "give the row first", "stack rows and then columns",
             origin="in the style of grids in (x, y)"), Built(lambda *grid: RIGHT(*grid)[::-1])),
    (Mistake("rows-for-columns", "takes the width for the number of rows and the height for that of columns",
             "read grids as (time, height, width)", "exchange height and width",
             origin="in the style of sizes of images, which are (width, height)"),
     of_grids(lambda time, height, width: (time, width, height))),
    (Mistake("first-grid-for-all", "gives every grid the sides of the first", EVERY, "advance with every grid",
             origin="in the style of lists of grids that aren't advanced"), Built(change=first_grid)),
    (Mistake("offset-forgotten", "counts the patches of a grid from the first of all grids", EVERY, "subtract what the grids before hold",
             origin="in the style of code that was written for one image"), Built(begun=False)),
    (Mistake("steps-forgotten", "begins the next grid after one step of a video", EVERY, "repeat the places of a step t times",
             origin="in the style of code that was written for images"), of_grids(lambda _, height, width: (1, height, width))),
    (Mistake("rows-count-on", "lets rows count on from one step of a video to the next", "begin every step at row 0 again",
             "repeat the places of a step t times", origin="in the style of grids of t h rows"), Built(in_blocks(going_on))),
)  # fmt: skip


def even(grids: list[Grid]) -> bool:
    """Whether two by two patches fill every grid."""
    return all(height % 2 == width % 2 == 0 for _, height, width in grids)


def mutants() -> Iterator[Mutant]:
    """Return the mistakes about places of patches."""
    for mistake, function in MISTAKES:
        yield mistake.at(POSITIONS, function)
    for mutant in position_mutants(POSITIONS, INHERITED):
        yield replace(mutant, threads=(), origin=mutant.origin or "reported for rope")
    for dtype in ("bfloat16", "float16"):
        yield in_half(dtype, POSITIONS)
