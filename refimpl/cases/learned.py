"""The cases of learned positions: offsets of released models, the first and the last row, and what lies outside under every hazard."""

from refimpl.cases import sums
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

FOUR = {"length": 4, "dim": 3}
SIX = {"length": 6, "dim": 2}

ENCODINGS = (
    Case("encode/first-positions", exposes="rows counted from one", sizes=FOUR, positions=[0, 1, 2]),
    Case("encode/last-row", exposes="the last row out of reach", sizes=FOUR, positions=[3, 0]),
    Case("encode/whole-table", exposes="rows in reverse", sizes={"length": 10, "dim": 4}, positions=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    Case("encode/unsorted", exposes="positions replaced by their index, or sorted", sizes={"length": 10, "dim": 2}, positions=[9, 2, 2, 0]),
    Case("encode/single-token", exposes="the token axis dropped; a decoding step at position 0", sizes=FOUR, positions=[2]),
    Case("encode/square-table", exposes="the table transposed", sizes={"length": 3, "dim": 3}, positions=[0, 1, 2]),
    Case("encode/one-channel", exposes="a row scaled by the root of its width", sizes={"length": 5, "dim": 1}, positions=[4, 1]),
    Case("encode/opt-offset", exposes="the offset of OPT and BART forgotten", sizes=SIX, offset=2, positions=[0, 1, 2, 3]),
    Case("encode/opt-decoding", exposes="the offset added twice while decoding", sizes={"length": 14, "dim": 2}, offset=2, positions=[9]),
    Case("encode/one-row-before", exposes="the offset fixed at 2", sizes=SIX, offset=1, positions=[0, 3]),
    Case("encode/three-rows-before", exposes="the padding index for the offset: one too few", sizes=SIX, offset=3, positions=[0, 2]),
    Case("encode/offset-last-row", exposes="the offset taken off the length", sizes=SIX, offset=2, positions=[3]),
    Case("encode/wide", exposes="lanes beyond the last full one", sizes={"length": 1, "dim": 80}, positions=[0]),
    Case("encode/common-width", exposes="a kernel that is only right for small widths", sizes={"length": 2, "dim": 128}, positions=[1]),
    Case("encode/byte-boundary", exposes="positions in a byte: 256 reads row 0", sizes={"length": 258, "dim": 1},
         positions=[255, 256, 257]),
    Case("encode/clamped-end", exposes="a declared clamp that wraps", sizes=FOUR, outside="clamp", positions=[3, 4, 9]),
    Case("encode/clamped-negative", exposes="negative positions counted from the end", sizes=FOUR, outside="clamp", positions=[-1, -9, 2]),
    Case("encode/clamped-offset", exposes="positions clamped before the offset is added", sizes=SIX, outside="clamp", offset=2,
         positions=[-1, -3, 4, 9]),
    Case("encode/clamped-far", exposes="positions in half precision, or overflowing", sizes=FOUR, outside="clamp",
         positions=[2_047, 2_048, 4_095, 4_096, 131_071]),
    Case("encode/wrapped-end", exposes="a declared wrap that clamps", sizes=FOUR, outside="wrap", positions=[4, 9, 255]),
    Case("encode/wrapped-negative", exposes="the remainder with the sign of the position", sizes=FOUR, outside="wrap",
         positions=[-1, -2, -9]),
    Case("encode/wrapped-offset", exposes="positions wrapped before the offset is added", sizes={"length": 5, "dim": 2}, outside="wrap",
         offset=2, positions=[-3, 3, 9]),
    Case("encode/wrapped-byte-boundary", exposes="rows in half precision after they wrapped", sizes={"length": 258, "dim": 1},
         outside="wrap", positions=[257, 515]),
    Case("encode/wrapped-far", exposes="positions in half precision before they wrap", sizes={"length": 7, "dim": 2}, outside="wrap",
         positions=[257, 2_049, 4_097, 65_535, 1_048_575, 1_048_576]),
    *narrowed(named("encode"), {"table": (3, 2)}, positions=[0, 2]),
    Case("encode/far-past-the-end", exposes="only the first position past the end refused", sizes=FOUR, positions=[1, 9],
         error="positions must lie between 0 and 3, got 9"),
    Case("encode/both-ends", exposes="the greatest position named before the least", sizes=FOUR, positions=[9, -1],
         error="positions must lie between 0 and 3, got -1"),
    Case("encode/no-row-at-all", exposes="a negative number of rows", sizes={"length": 1, "dim": 3}, offset=2, positions=[0],
         error="table must have more rows than the offset (2), got 1"),
    Case("encode/past-the-end", exposes="the last row repeated", sizes=FOUR, positions=[1, 4],
         error="positions must lie between 0 and 3, got 4"),
    Case("encode/negative", exposes="the last row for position -1", sizes=FOUR, positions=[2, -1],
         error="positions must lie between 0 and 3, got -1"),
    Case("encode/before-the-offset", exposes="a padding row for position -1", sizes=SIX, offset=2, positions=[-1],
         error="positions must lie between 0 and 3, got -1"),
    Case("encode/past-the-offset", exposes="a table longer than the positions taken for granted", sizes=SIX, offset=2, positions=[4],
         error="positions must lie between 0 and 3, got 4"),
    Case("encode/no-room", exposes="a table of padding rows only", sizes={"length": 2, "dim": 3}, offset=2, positions=[0],
         error="table must have more rows than the offset (2), got 2"),
    Case("encode/negative-offset", exposes="rows before the table", sizes=FOUR, offset=-1, positions=[1],
         error="offset must be at least 0, got -1"),
    Case("encode/unknown-hazard", exposes="a treatment that doesn't exist", sizes=FOUR, outside="zero", positions=[0],
         error="outside must be one of raise, clamp, wrap, got 'zero'"),
    Case("encode/real-positions", exposes="positions that aren't integers", sizes=FOUR, positions=[0.5],
         error="positions must be integers, got float64"),
    Case("encode/batched-positions", exposes="an axis that nobody declared", sizes=FOUR, positions=[[0, 1]],
         error="positions must have axes (token), got shape (1, 2)"),
)

#: The cases of the encoding that show in a sum what no other does.
SHARED = ("square-table", "opt-offset", "clamped-offset", "wrapped-far", "past-the-end")
CASES = (
    *ENCODINGS,
    *sums.of(ENCODINGS, SHARED, sizes={"length": 6, "dim": 3}),
    *narrowed(named("add"), {"x": (1, 2, 4), "table": (3, 4)}, positions=[0, 2]),
)
