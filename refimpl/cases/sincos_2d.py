"""The cases of sinusoids on a grid, each with the mistake that it exposes."""

from refimpl.cases import ladder, sums
from refimpl.cases.digits import named, narrowed

GRID = [[row, column] for row in range(2) for column in range(3)]
#: Every way to lay the axes out that the plain one is not.
WAYS = {
    "": {},
    "-interleaved": {"layout": "interleaved"},
    "-joined": {"layout": "joined"},
    "-column-first": {"order": "column_first"},
}
encode_case = named("encode")

ENCODINGS = (
    encode_case("grid", "columns before rows, or a grid that is flattened by columns", dim=8, positions=GRID),
    encode_case("grid-column-first", "the row first whatever the order", dim=8, order="column_first", positions=GRID),
    encode_case("square-grid", "a transposed grid, which has the same sides", dim=8, positions=[[0, 0], [0, 1], [1, 0], [1, 1]]),
    encode_case("interleaved", "sines before cosines whatever the layout", dim=8, layout="interleaved", positions=[[1, 4], [3, 2]]),
    encode_case("joined", "each axis by itself whatever the layout", dim=8, layout="joined", positions=[[1, 4], [3, 2]]),
    encode_case("joined-column-first", "the order ignored in one layout", dim=8, order="column_first", layout="joined",
                positions=[[1, 4], [3, 2]]),
    encode_case("interleaved-column-first", "axes that alternate", dim=12, order="column_first", layout="interleaved", positions=[[5, 2]]),
    encode_case("one-pair-each", "pairs counted from one", dim=4, positions=[[1, 2]]),
    encode_case("twelve-wide", "exponents over the whole width, or over a power of two", dim=12, positions=[[3, 7]]),
    encode_case("square", "token and width swapped", dim=4, positions=[[0, 3], [2, 1], [9, 0], [1, 1]]),
    encode_case("single-token", "the token axis dropped", dim=8, positions=[[5, 256]]),
    encode_case("unsorted", "positions replaced by their index, or sorted", dim=4, positions=[[9, 2], [2, 9], [2, 2], [0, 5]]),
    encode_case("crop", "a crop that forgets where it began", dim=8, positions=[[9, 20], [9, 21], [10, 20], [10, 21]]),
    encode_case("from-one", "the first patch at 0, where DETR counts from 1", dim=8, layout="interleaved",
                positions=[[1, 1], [1, 2], [2, 1]]),
    encode_case("interpolated", "coordinates rounded to patches", dim=8, order="column_first", positions=[[0.0, 0.5], [0.5, 2.25]]),
    encode_case("inexact-reals", "real positions in single precision", dim=4, positions=[[0.1, 1_000.7], [1_000.7, 0.1]]),
    encode_case("negative", "negative positions clamped, where a grid is centred", dim=4, positions=[[-1, 3], [2, -257]]),
    encode_case("small-base", "a base that is ignored", dim=8, base=100.0, positions=[[2, 9]]),
    encode_case("detr-base", "10000 in the place of Conditional DETR's 20", dim=8, base=20.0, layout="interleaved", positions=[[7, 4]]),
    encode_case("inexact-base", "the base rounded to an integer", dim=8, base=10_000.7, positions=[[9, 4_097]]),
    encode_case("byte-boundary", "positions in bfloat16, exact to 256 only", dim=4, positions=[[255, 3], [256, 257], [5, 256]]),
    encode_case("half-boundary", "positions in float16, exact to 2048 only", dim=4, positions=[[2_047, 1], [2, 2_049], [2_048, 2_047]]),
    encode_case("page-boundary", "a table that ends at 4096", dim=4, positions=[[4_095, 1], [4_096, 4_097]]),
    encode_case("far", "half frequencies; fast sines without range reduction", dim=8, positions=[[65_535, 131_071], [131_071, 9]]),
    encode_case("million", "positions that overflow, wrap or end", dim=8, positions=[[1_048_575, 2], [3, 1_048_576]]),
    encode_case("released", "a slow pair rounded away at a usual width", dim=768, positions=[[13, 7]]),
    *(encode_case(f"by-position{ending}", ladder.EXPOSES, dim=4, **way,
                  positions=[[near, far] for near, far in zip(ladder.DECADES, reversed(ladder.DECADES), strict=True)])
      for ending, way in WAYS.items()),
    encode_case("odd-pairs", "a width whose axes have an odd share", dim=6, positions=[[0, 0]], error="dim must be a multiple of 4, got 6"),
    encode_case("no-width", "an empty encoding", dim=0, positions=[[0, 0]], error="dim must be at least 4, got 0"),
    encode_case("negative-base", "the root of a negative number", dim=4, base=-1.0, positions=[[0, 0]],
                error="base must be greater than 0, got -1.0"),
    encode_case("three-axes", "a third coordinate dropped", dim=8, positions=[[0, 0, 0]],
                error="axis 'axis' of positions must be 2, got 3"),
    encode_case("flat-positions", "a number of the patch, whose row nobody knows", dim=8, positions=[0, 1],
                error="positions must have axes (token, axis), got shape (2,)"),
)  # fmt: skip

#: The cases of the encoding that show in a sum what no other does.
SHARED = ("grid", "grid-column-first", "negative", "far", "inexact-base", "inexact-reals", "interleaved", "joined", "odd-pairs")
SUMS = (
    *sums.of(ENCODINGS, SHARED, place=lambda position: [position, 2 * position + 1], dim=8),
    *narrowed(named("add"), {"x": (1, 2, 4)}, dim=4, positions=[[0, 0], [0, 0]]),
)
CASES = (*ENCODINGS, *SUMS)
