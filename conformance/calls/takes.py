"""Which calls an implementation takes, beyond its parameters: what its code assumes of positions, queries, rows and heads."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from conformance.spec.shown import shown
from refimpl.spec import Operation

Positions = Literal["any", "whole", "consecutive", "from_zero", "grid", "grid_xy"]
Queries = Literal["any", "at_end"]
Rows = Literal["any", "shared", "each"]
Heads = Literal["any", "equal"]
#: Which array says where the tokens of an axis are.
PLACES = {"token": "positions", "query": "query_positions", "key": "key_positions"}
#: Arrays of integers that a declaration bounds.
BOUNDED = (*PLACES.values(), "relative_positions", "offsets")
#: The last place on each side of a grid that is asked for: all of the grid is made.
SIDE = 63
#: How far a bound of positions may lie from 0: distances between them fit 64 bits too.
FARTHEST = 1 << 60
#: The name under which restrictions hold what asks a declaration's predicates; no parameter is called that.
WHEN = "when"


@dataclass(frozen=True)
class Takes:
    """What a declaration says of the calls that code takes; the default is every call that the operation allows.

    ``positions``: any, or whole numbers alone, or all arrays of them count up from one common start, or from 0; or the tokens fill a
    grid row by row, and positions are (row, column) or, in ``grid_xy``, (column, row).
    ``queries="at_end"``: the queries are the last of the keys, as in decoding. ``rows="shared"``: positions come as one row for the whole
    batch, which counted ones always do; ``"each"``: as a row for each of its sequences. ``heads="equal"``: there are as many key heads as
    query heads, so that none is shared. ``lowest`` and ``highest`` bound positions.
    ``masked``: a bias is ``-inf`` where a key comes after its query. ``contiguous``: the elements of an array lie one after the other,
    which those of a transposed one don't.
    """

    positions: Positions = "any"
    queries: Queries = "any"
    rows: Rows = "any"
    heads: Heads = "any"
    lowest: int | None = None
    highest: int | None = None
    masked: bool = False
    contiguous: bool = False

    @property
    def whole(self) -> bool:
        """Whether positions are whole numbers, also where an operation takes real ones."""
        return self.positions != "any"

    @property
    def counted(self) -> bool:
        """Whether positions count up."""
        return self.positions in ("consecutive", "from_zero")

    @property
    def one_row(self) -> bool:
        """Whether positions come as one row for the whole batch."""
        return self.counted or self.gridded or self.rows == "shared"

    @property
    def gridded(self) -> bool:
        """Whether the tokens fill a grid."""
        return self.positions in ("grid", "grid_xy")

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest position; of a grid there is none below 0."""
        lowest = 0 if self.gridded else -math.inf
        return lowest if self.lowest is None else self.lowest, math.inf if self.highest is None else self.highest

    def as_data(self) -> dict[str, object]:
        """Return it as JSON's own types."""
        return asdict(self)

    def said(self) -> dict[str, object]:
        """Return what it says that isn't said of every call."""
        return {name: value for name, value in asdict(self).items() if value != getattr(Takes, name)}


def sharing(operation: Operation) -> str:
    """Return the axis of heads that may share key heads, or nothing where none may."""
    axes = {axis for each in operation.arrays.values() for axis in each.split()}
    return ("query_head" if "query_head" in axes else "head") if "key_head" in axes else ""


def is_bias(operation: Operation) -> bool:
    """Whether results have queries and keys, and no argument but positions does: then each element depends on its own two positions."""
    given = {axis for name, axes in operation.arrays.items() if name not in PLACES.values() for axis in axes.split()}
    return all({"query", "key"} <= set(axes.split()) for axes in operation.results.values()) and not given & {"query", "key"}


#: Declarations as they are written, what they say, and an example of what they are for.
SAYINGS: Mapping[str, tuple[Takes, str]] = {
    'positions="from_zero"': (Takes("from_zero"), "positions count from 0: code that only gets the number of tokens"),
    'positions="consecutive"': (Takes("consecutive"), "positions count up from one offset"),
    'positions="grid"': (Takes("grid"), "tokens fill a grid row by row: code that gets height and width"),
    'positions="grid_xy"': (Takes("grid_xy"), "the same, where the column comes before the row"),
    'queries="at_end"': (Takes(queries="at_end"), "queries are the last of the keys: decoding"),
    'positions="whole"': (Takes("whole"), "positions are whole numbers: code that looks rows up"),
    'rows="shared"': (Takes(rows="shared"), "one row of positions for the whole batch"),
    'rows="each"': (Takes(rows="each"), "a row of positions for each sequence of the batch"),
    'heads="equal"': (Takes(heads="equal"), "as many key heads as query heads: no grouped heads"),
    "lowest=0": (Takes(lowest=0), "positions are at least 0, as in a table"),
    "highest=4095": (Takes(highest=4095), "positions are at most 4095, as in a table of 4096 rows"),
    "masked=True": (Takes(masked=True), "the result is -inf where a key comes after its query"),
    "contiguous=True": (Takes(contiguous=True), "arrays lie in memory without gaps: none is transposed or strided"),
}


def sayings(operation: Operation) -> Iterator[tuple[str, str]]:
    """Yield what may be declared of the calls of an operation, and what it says."""
    placed = set(PLACES.values()) & set(operation.arrays)
    for written, (takes, meaning) in SAYINGS.items():
        if not any(misplaced(takes, operation)) and (placed or not takes.counted) and (operation.numbers or takes.positions != "whole"):
            yield written, meaning


def nonsense(takes: Takes) -> Iterator[str]:
    """Yield what a declaration says that no code could mean, whatever it implements."""
    for name, value, known in (
        ("positions", takes.positions, get_args(Positions)),
        ("queries", takes.queries, get_args(Queries)),
        ("rows", takes.rows, get_args(Rows)),
        ("heads", takes.heads, get_args(Heads)),
    ):
        if not isinstance(value, str) or value not in known:
            yield f"{name} must be one of {', '.join(known)}, got {shown(value)}"
    for name, bound in (("lowest", takes.lowest), ("highest", takes.highest)):
        if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool)):
            yield f"{name} must be an integer, got {shown(bound)}"
            return
        if bound is not None and abs(bound) > FARTHEST:
            yield f"{name} must be between {-FARTHEST} and {FARTHEST}, got {shown(bound)}"
            return
    for name, flag in (("masked", takes.masked), ("contiguous", takes.contiguous)):
        if not isinstance(flag, bool):
            yield f"{name} must be True or False, got {shown(flag)}"
    yield from _unreachable(takes)


def _unreachable(takes: Takes) -> Iterator[str]:
    """Yield what bounds say that leaves no position, or none from 0 on."""
    low, high = takes.bounds
    if high < low:
        yield f"highest must be at least lowest, {takes.lowest}, got {takes.highest}"
    elif high < 0:
        yield f"highest must be at least 0, got {takes.highest}"
    if (takes.gridded or takes.positions == "from_zero") and not low <= 0 <= high:
        yield f"bounds of positions that start at 0 must hold 0, got lowest={takes.lowest}, highest={takes.highest}"


def misplaced(takes: Takes, operation: Operation) -> Iterator[str]:
    """Yield what a declaration says that has no meaning for an operation."""
    known, results = operation.arrays, [set(axes.split()) for axes in operation.results.values()]
    if takes.queries != "any" and not {"query_positions", "key_positions"} <= set(known):
        yield f"queries must be declared of an operation with queries and keys, got {operation.name}"
    several = any(axes.endswith(" axis") for axes in known.values())
    if takes.counted and several:
        yield f"positions must be declared any, whole or a grid where they have several axes, got {takes.positions!r} of {operation.name}"
    if takes.gridded and not several:
        yield f"positions must be declared a grid of an operation where they have several axes, got {takes.positions!r} of {operation.name}"
    if takes.rows != "any" and not any("[batch]" in axes for axes in known.values()):
        yield f"rows must be declared of an operation whose positions may have a batch axis, got {operation.name}"
    if takes.heads != "any" and not sharing(operation):
        yield f"heads must be declared of an operation whose query heads may share key heads, got {operation.name}"
    if (takes.lowest, takes.highest) != (None, None) and not set(BOUNDED) & set(known):
        yield f"lowest and highest must be declared of an operation with positions, got {operation.name}"
    placed = {PLACES["query"], PLACES["key"]} <= set(known)
    if takes.masked and ("causal" in operation.parameters or not placed or not any({"query", "key"} <= axes for axes in results)):
        yield f"masked must be declared of a bias or of logits at positions, got {operation.name}"
