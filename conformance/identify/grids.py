"""Recover a rotation to positions on several axes: which channels follow which axis, and the operation that gives the same."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from conformance.identify.asking import Refused
from conformance.identify.findings import Confidence, Identity, Seen
from conformance.identify.maps import TOLERANCE
from conformance.identify.probe import Probe
from conformance.identify.rules import giving, taking
from conformance.identify.turns import DTYPES, arranged, restored

#: Where tokens stand, a multiple of it on every axis: far enough for slow pairs, nearer where those are refused or too coarse, and from 1
#: on where 0 is.
PLACES = tuple(np.array(places) for places in ([0, 1, 3, 8, 4_001], [0, 1, 3, 8, 101], [0, 1, 2, 3, 4], [1, 2, 3, 4, 5]))
ORDERS = ("batch head token dim", "batch token head dim", "token batch head dim")
COUNTS, WIDTHS = (2, 3), (64, 48, 96, 32, 128)


@dataclass(frozen=True)
class Grid:
    """A function as ``grid(x, positions)``: ``x`` is (batch, head, token, width), positions (token, axis).

    ``rows`` says that it wants positions for every row of the batch; ``equal`` that every axis has the same share of any width.
    """

    probe: Probe
    width: int
    count: int
    order: str
    rows: bool
    equal: bool = False

    def __call__(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the result, or raise ``Refused``."""
        shaped = arranged(x, self.order)
        given = np.broadcast_to(positions, (len(x), *positions.shape)).copy() if self.rows else positions
        value = self.probe(x=shaped, positions=given)[0]
        if value.shape != shaped.shape:
            message = f"the result has shape {value.shape} where x has {shaped.shape}"
            raise Refused(message)
        return restored(value, self.order, x.shape)

    def reach(self, position: int) -> list[np.ndarray]:
        """Return what a call gives that reaches a position."""
        return [self(np.ones((1, 1, 1, self.width)), np.full((1, self.count), position))]

    def takes_rows(self) -> bool:
        """Whether each sequence of a batch may have positions of its own."""
        x, positions = np.ones((2, 3, 4, self.width)), np.arange(4)[:, None] * (1 + np.arange(self.count))
        try:
            return np.array_equal(replace(self, rows=True)(x, positions), self(x, positions))
        except Refused:
            return False


def rotate(probe: Probe) -> Identity:
    """Return the conventions and the base of a function that is told the widths of the axes."""
    axes = probe.settings["axes"] if probe.takes("axes") else tuple(2 * pairs for pairs in probe.settings["sections"])
    refusal = Refused("the result has another shape than x")
    for dtype, places in itertools.product(DTYPES, PLACES[1:]):
        grid = Grid(probe.at(dtype), sum(axes), len(axes), ORDERS[0], rows=False)
        try:
            return _identified(grid, axes, places, Confidence.LIKELY)
        except Refused as refused:
            refusal = refused
    raise refusal


def found(probe: Probe) -> Identity | None:
    """Return what a function is that takes a position on each of several axes, if it takes such."""
    unknown = set[tuple[str, int, str, bool]]()
    for grid in _ways(probe):
        apart = grid.probe.dtype, grid.count, grid.order, grid.rows
        if apart in unknown:  # no other width makes it known
            continue
        for places in PLACES:
            try:
                axes = _widths(grid, places)
                identity = _identified(grid, axes, places, Confidence.CERTAIN) if axes else None
            except Refused as refusal:
                if refusal.hopeless:
                    return None
                continue
            if identity is not None and identity.operation is not None:
                equal = len(set(axes)) == 1 and _shares(grid, places)
                width = {} if equal or probe.takes("width") else {"head_dim": Seen(grid.width)}
                return replace(identity, view=replace(grid, equal=equal), parameters={**identity.parameters, **width})
            if identity is not None:
                unknown.add(apart)
    return None


def again(grid: Grid, probe: Probe) -> Identity:
    """Return what a function is with other settings, called as it was before."""
    width = int(probe.settings["width"]) if probe.takes("width") else grid.width
    same, refusal = replace(grid, probe=probe.at(grid.probe.dtype), width=width), Refused("not every channel turns along one axis")
    for places in PLACES:
        try:
            axes = _widths(same, places)
            if axes:
                return _identified(same, axes, places, Confidence.CERTAIN)
        except Refused as refused:
            refusal = refused
    raise refusal


def _ways(probe: Probe) -> Iterator[Grid]:
    widths = (int(probe.settings["width"]),) if probe.takes("width") else WIDTHS
    for dtype, count, width, order, rows in itertools.product(DTYPES[:2], COUNTS, widths, ORDERS, (False, True)):
        yield Grid(probe.at(dtype), width, count, order, rows)


def _widths(grid: Grid, places: np.ndarray) -> tuple[int, ...]:
    """Return how many channels turn when a token moves along each axis, or nothing where some turn along several or none."""
    x = 1 + np.arange(2 * 2 * places.size * grid.width).reshape(2, 2, places.size, grid.width) % 7 / 4
    start = np.full((places.size, grid.count), places[0])
    here, followed = grid(x, start), []
    if not np.array_equal(grid(x, start), here, equal_nan=True):
        return ()
    for axis in range(grid.count):
        moved = start.copy()
        moved[:, axis] = places
        followed.append(np.abs(grid(x, moved) - here).max(axis=(0, 1, 2)) > 8 * TOLERANCE[grid.probe.dtype])
    once = np.sum(followed, axis=0) == 1
    return tuple(int(channels.sum()) for channels in followed) if once.all() else ()


def _shares(grid: Grid, places: np.ndarray) -> bool:
    """Whether another width is shared out equally too."""
    half = grid.width // 2
    other = replace(grid, width=half, probe=grid.probe.having(width=half) if grid.probe.takes("width") else grid.probe)
    try:
        axes = _widths(other, places)
    except Refused:
        return False
    return bool(axes) and len(set(axes)) == 1


def _identified(grid: Grid, axes: tuple[int, ...], places: np.ndarray, confidence: Confidence) -> Identity:
    """Return the operation on several axes that gives the same, for these widths."""
    x = np.random.default_rng(0).integers(-16, 17, (1, 2, places.size, sum(axes))) / 8
    arrays = {"x": x, "positions": places[:, None] * (1 + 2 * np.arange(len(axes)))}
    value = grid(**arrays)
    turning = [operation for operation in taking("x", "positions") if "head_dim" in operation.parameters]
    candidates = [operation for operation in turning if operation.arrays["positions"].endswith(" axis")]
    told = {"head_dim": sum(axes), "axes": axes, "sections": tuple(width // 2 for width in axes)}
    fit = giving(candidates, arrays, value, 8 * TOLERANCE[grid.probe.dtype], grid.probe.settings, told)
    if fit is None:
        return Identity(None, "not the rotation to positions on several axes in any known order")
    shares = {name: Seen(told[name], confidence=confidence) for name in ("axes", "sections") if name in fit.operation.parameters}
    return Identity(fit.operation.name, fit.words, {**fit.parameters, **shares}, (), fit.notes)
