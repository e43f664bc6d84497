"""Recover a rotation to positions on several axes: which channels follow which axis, and the operation that gives the same."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from conformance.calls.takes import SIDE
from conformance.identify.asking import Refused
from conformance.identify.findings import Confidence, Identity, Seen
from conformance.identify.maps import TOLERANCE
from conformance.identify.probe import Probe
from conformance.identify.rules import giving, taking
from conformance.identify.turns import DTYPES, arranged, restored
from refimpl.spec import Operation

#: Where tokens stand, a multiple of it on every axis: far enough for slow pairs, nearer where those are refused or too coarse, and from 1
#: on where 0 is.
PLACES = tuple(np.array(places) for places in ([0, 1, 3, 8, 4_001], [0, 1, 3, 8, 101], [0, 1, 2, 3, 4], [1, 2, 3, 4, 5]))
ORDERS = ("batch head token dim", "batch token head dim", "token batch head dim")
COUNTS, WIDTHS = (2, 3), (64, 48, 96, 32, 128)
#: Where they stand in an image, and how long its sides may be.
WITHIN = (np.array([0, 1, 3, 8]),)
#: Whether positions come for each row of the batch, and whether their axis is the first.
FORMS = ((False, False), (True, False), (False, True), (True, True))
#: The order of axes without heads.
ROWS = "row token dim"
#: What is said of vectors whose channels follow one axis each, by no formula that is known.
UNKNOWN = "not the rotation to positions on several axes in any known order"
IMAGE = f"vectors of an image, (batch, height, width, dim), whose channels follow its rows and columns: {UNKNOWN}"
APIECE = f"vectors at positions on {{}} axes, each channel of which follows one axis at most: {UNKNOWN}"
CROSSED = "vectors at positions on {} axes, whose channels follow several axes at once"
INSIDE = "learned frequencies inside of it: they aren't tried; where it has such, make them an argument, and write an adapter of {}"
#: So many times what one result may be off by are two apart that differ.
APART = 8
Whole = Literal["", "told", "axes", "square"]


class CrossedError(Refused):
    """Channels follow several axes at once."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("not every channel turns along one axis")


@dataclass(frozen=True)
class Grid:
    """A function as ``grid(x, positions)``: ``x`` is (batch, head, token, width), positions (token, axis).

    ``rows`` says that it wants positions for every row of the batch, ``first`` that their axis comes first; ``equal`` that every axis has
    the same share of any width, ``only`` that it takes no other number of axes. ``whole`` says how it takes tokens that fill an image
    row by row, if it takes no others: with the sides ``told``, or those of the vectors on two axes, or of a square. ``embedded`` vectors
    have no heads, and something is added to them.
    """

    probe: Probe
    width: int
    count: int
    order: str
    rows: bool = False
    first: bool = False
    equal: bool = False
    only: bool = False
    whole: Whole = ""
    embedded: bool = False

    def __call__(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the result, or raise ``Refused``."""
        if self.whole:
            return self._in_image(x, positions)
        return self._called(x, None, positions=self.formed(positions, len(x)))

    def formed(self, positions: np.ndarray, rows: int) -> np.ndarray:
        """Return positions as the function takes them, of so many rows."""
        given = np.broadcast_to(positions, (rows, *positions.shape)).copy() if self.rows else positions
        return np.moveaxis(given, -1, 0).copy() if self.first else given

    def _called(self, x: np.ndarray, sides: tuple[int, ...] | None, **given: Any) -> np.ndarray:
        """Return the result of one call, for vectors whose tokens lie on as many axes as there are sides."""
        shaped = arranged(x, self.order)
        axis = self.order.split().index("token")
        split = shaped if sides is None else shaped.reshape(*shaped.shape[:axis], *sides, *shaped.shape[axis + 1 :])
        values = self.probe(**dict.fromkeys(("x", "q", "k"), split), **given)
        value = values[0]
        if len(values) > 1 and not np.array_equal(value, values[1], equal_nan=True):
            message = "queries and keys come back unlike"
            raise Refused(message)
        if value.shape != split.shape:
            message = f"the result has shape {value.shape} where x has {split.shape}"
            raise Refused(message)
        return restored(value.reshape(shaped.shape), self.order, x.shape)

    def _in_image(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the result for tokens that are put at their places in an image of zeros."""
        if positions.min() < 0 or positions.max() > SIDE or not np.array_equal(positions, np.floor(positions)):
            message = f"places must be whole and from 0 to {SIDE}"
            raise Refused(message)
        height, width = (int(side) + 1 for side in positions.max(axis=0))
        height, width = (max(height, width),) * 2 if self.whole == "square" else (height, width)
        rows = (positions @ (width, 1)).astype(int)
        if np.unique(rows).size < rows.size:  # one place holds one token
            each = [self._in_image(x[:, :, [i]], positions[[i]]) for i in range(rows.size)]
            return np.concatenate(each, axis=2)
        image = np.zeros((*x.shape[:2], height * width, x.shape[-1]))
        image[:, :, rows] = x
        return self._called(image, (height, width) if self.whole == "axes" else None, height=height, across=width)[:, :, rows]

    def reach(self, position: int) -> list[np.ndarray]:
        """Return what a call gives that reaches a position."""
        return [self(np.ones((1, 1, 1, self.width)), np.full((1, self.count), position))]

    def takes_rows(self) -> bool:
        """Whether each sequence of a batch may have positions of its own."""
        if self.whole:
            return False
        x, positions = np.ones((2, 3, 4, self.width)), np.arange(4)[:, None] * (1 + np.arange(self.count))
        try:
            return np.array_equal(replace(self, rows=True)(x, positions), self(x, positions))
        except Refused:
            return False


def rotate(probe: Probe) -> Identity:
    """Return the conventions and the base of a function that is told the widths of the axes."""
    axes = _told(probe)
    refusal = Refused("the result has another shape than x")
    for dtype, places, order, (rows, first) in itertools.product(DTYPES, PLACES[1:], ORDERS, FORMS):
        grid = Grid(probe.at(dtype), sum(axes), len(axes), order, rows=rows, first=first)
        try:
            identity = identified(grid, axes, places, Confidence.LIKELY)
        except Refused as refused:
            if refused.hopeless:
                raise
            refusal = refused
        else:
            return replace(identity, view=replace(grid, only=_only(grid, axes, places)))
    raise refusal


def _told(probe: Probe) -> tuple[int, ...]:
    return probe.settings["axes"] if probe.takes("axes") else tuple(2 * pairs for pairs in probe.settings["sections"])


def _only(grid: Grid, axes: tuple[int, ...], places: np.ndarray) -> bool:
    """Whether another number of axes is refused, or answered otherwise."""
    name = "axes" if grid.probe.takes("axes") else "sections"
    for count in {1, 2, 3, 4} - {len(axes)}:
        other = (sum(axes) // count // 2 * 2,) * (count - 1)
        other = (*other, sum(axes) - sum(other))
        asked = other if name == "axes" else tuple(width // 2 for width in other)
        same = replace(grid, count=count, probe=grid.probe.having(**{name: asked}))
        try:
            if identified(same, other, places, Confidence.LIKELY).operation is None:
                return True
        except Refused:
            return True
    return False


def found(probe: Probe) -> Identity | None:
    """Return what a function is that takes a position on each of several axes, or images: known, or shown to be another rotation."""
    unknown = set[tuple[object, ...]]()
    (learned,) = taking("x", "positions", "frequencies")
    inside = (INSIDE.format(learned.name),)
    shown: Identity | None = None
    for grid in _ways(probe):
        apart = grid.probe.dtype, grid.count, grid.order, grid.rows, grid.first, grid.whole, grid.embedded
        if apart in unknown:  # no other width makes it known
            continue
        try:
            axes, places, identity = at_some_place(grid)
        except CrossedError:
            shown = shown or Identity(None, CROSSED.format(grid.count), unseen=inside, view=grid)
            continue
        except Refused as refusal:
            if refusal.hopeless:
                return None
            continue
        if identity.operation is not None:
            equal = len(set(axes)) == 1 and _shares(grid, places)
            width = {} if equal or probe.takes("width") else {"dim" if grid.embedded else "head_dim": Seen(grid.width)}
            shares = identity.parameters.get("axes") if equal else None
            given = {} if shares is None else {"axes": replace(shares, confidence=Confidence.GIVEN)}
            return replace(identity, view=replace(grid, equal=equal), parameters={**identity.parameters, **given, **width})
        unknown.add(apart)
        both = grid.whole in ("", "axes") and not grid.embedded and all(axes)
        what, unseen = (IMAGE, ()) if grid.whole else (APIECE.format(grid.count), inside)
        shown = shown or (replace(identity, what=what, unseen=unseen, view=grid) if both else None)
    return shown


def again(grid: Grid, probe: Probe) -> Identity:
    """Return what a function is with other settings, called as it was before."""
    width = int(probe.settings["width"]) if probe.takes("width") else grid.width
    same = replace(grid, probe=probe.at(grid.probe.dtype), width=width)
    if probe.takes("axes") or probe.takes("sections"):
        axes = _told(probe)
        return _anywhere(replace(same, width=sum(axes), count=len(axes)), axes)
    return at_some_place(same)[2]


def _anywhere(grid: Grid, axes: tuple[int, ...]) -> Identity:
    """Return what a function is that is told the widths of the axes, at the first places that it takes."""
    refusal = Refused("no place is taken")
    for places in PLACES[1:]:
        try:
            return identified(grid, axes, places, Confidence.LIKELY)
        except Refused as refused:
            if refused.hopeless:
                raise
            refusal = refused
    raise refusal


def at_some_place(grid: Grid) -> tuple[tuple[int, ...], np.ndarray, Identity]:
    """Return the channels of every axis, a place, and what gives the same there; where nothing does, of the last place."""
    axes: tuple[int, ...] = ()
    seen: Identity | None = None
    refusal, at = Refused("not every channel turns along one axis"), PLACES[0]
    for places in WITHIN if grid.whole else PLACES:
        try:
            axes = axes or _shared_out(grid, places)  # slow pairs show far away only, where coarse angles are off
            seen, at = (identified(grid, axes, places, Confidence.CERTAIN), places) if axes else (seen, at)
        except Refused as refused:
            if refused.hopeless:
                raise
            refusal = refused
        if seen is not None and seen.operation is not None:
            break
    if seen is None:
        raise refusal
    return axes, at, seen


def _ways(probe: Probe) -> Iterator[Grid]:
    widths = (int(probe.settings["width"]),) if probe.takes("width") else WIDTHS
    if "positions" in probe.plan.probed:
        for dtype, count, width, order, (rows, first) in itertools.product(DTYPES[:2], COUNTS, widths, (*ORDERS, ROWS), FORMS):
            yield Grid(probe.at(dtype), width, count, order, rows=rows, first=first, embedded=order == ROWS)
        return
    wholes: tuple[Whole, ...] = ("told",) if probe.takes("height") else ("axes", "square")
    for dtype, whole, width, order in itertools.product(DTYPES[:2], wholes, widths, (ROWS, *ORDERS)):
        for embedded in (True, False) if order == ROWS else (False,):
            yield Grid(probe.at(dtype), width, 2, order, whole=whole, embedded=embedded)


def widths(grid: Grid, places: np.ndarray) -> tuple[int, ...]:
    """Return how many channels turn when a token moves along each axis, or nothing where some turn along none.

    Raises ``CrossedError`` where all turn, and some along several.
    """
    x = 1 + np.arange(2 * 2 * places.size * grid.width).reshape(2, 2, places.size, grid.width) % 7 / 4
    start = np.full((places.size, grid.count), places[0])
    here, followed = grid(x, start), []
    if not np.array_equal(grid(x, start), here, equal_nan=True):
        return ()
    for axis in range(grid.count):
        moved = start.copy()
        moved[:, axis] = places
        followed.append(np.abs(grid(x, moved) - here).max(axis=(0, 1, 2)) > APART * TOLERANCE[grid.probe.dtype])
    times = np.sum(followed, axis=0)
    if times.max() > 1 and times.min() > 0:
        raise CrossedError
    return tuple(int(channels.sum()) for channels in followed) if np.all(times == 1) else ()


def _shared_out(grid: Grid, places: np.ndarray) -> tuple[int, ...]:
    """Return the channels of every axis; of what is added, whose slow cosines show no token that moves, the usual ones."""
    if not grid.embedded:
        return widths(grid, places)
    x = 1 + np.arange(2 * places.size * grid.width).reshape(1, 2, places.size, grid.width) % 7 / 4
    positions = places[:, None] * (1 + np.arange(grid.count))
    grown = grid(x, positions) - grid(0 * x, positions)
    added = any(np.allclose(grown, scale * x, atol=APART * TOLERANCE[grid.probe.dtype] * scale) for scale in (1.0, grid.width**0.5))
    return (grid.width // 2, grid.width // 2) if added else ()


def _shares(grid: Grid, places: np.ndarray) -> bool:
    """Whether another width is shared out equally too."""
    half = grid.width // 2
    other = replace(grid, width=half, probe=grid.probe.having(width=half) if grid.probe.takes("width") else grid.probe)
    try:
        axes = _shared_out(other, places)
        known = not grid.embedded or identified(other, axes, places, Confidence.CERTAIN).operation is not None
    except Refused:
        return False
    return bool(axes) and len(set(axes)) == 1 and known


def identified(grid: Grid, axes: tuple[int, ...], places: np.ndarray, confidence: Confidence) -> Identity:
    """Return the operation on several axes that gives the same, for these widths."""
    x = np.random.default_rng(0).integers(-16, 17, (1, 2, places.size, sum(axes))) / 8
    steps = 1 + 2 * np.arange(len(axes))
    positions = places[:, None] * steps
    value = grid(x, positions)
    arrays = {"x": x[0] if grid.embedded else x, "positions": positions}
    candidates = [known for known in taking("x", "positions") if known.arrays["positions"].endswith(" axis") and _laid(known, grid)]
    told = {"head_dim": sum(axes), "dim": sum(axes), "axes": axes, "sections": tuple(width // 2 for width in axes)}
    value = value[0] if grid.embedded else value
    fit = giving(candidates, arrays, value, 8 * TOLERANCE[grid.probe.dtype], grid.probe.settings, told)
    if fit is None:
        return Identity(None, UNKNOWN)
    shares = {name: Seen(told[name], confidence=confidence) for name in ("axes", "sections") if name in fit.operation.parameters}
    return Identity(fit.operation.name, fit.words, {**fit.parameters, **shares}, (), fit.notes)


def _laid(known: Operation, grid: Grid) -> bool:
    """Whether an operation takes vectors with heads, or without, as a function does."""
    return known.arrays["x"].startswith("batch head") is not grid.embedded
