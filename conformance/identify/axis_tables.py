"""Recover tables of cosines and sines of positions on several axes: as the rotation of vectors by them."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from conformance.identify import additive, grids
from conformance.identify.additive import TOLERANCE, TURN, Encoding, repeats
from conformance.identify.asking import Refused
from conformance.identify.findings import Identity, Seen
from conformance.identify.probe import Probe
from conformance.identify.turns import DTYPES

#: What is said of tables that come for each axis apart, as code that chooses among them afterwards takes them.
APART = "for each of {} axes of positions apart, (axis, batch, token, dim): {}"
CHOSEN = "which pairs follow which axis: the code that turns vectors chooses; have that code judged, with these tables inside"
#: How positions are given, the usual form first.
FORMS = ((True, True), (False, True), (True, False), (False, False))


@dataclass(frozen=True)
class AxisTables(grids.Grid):
    """A function that gives cosines and sines for positions on several axes, as the rotation of halves of vectors by them."""

    cosine_first: bool = True

    def __call__(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return vectors turned by the tables, or raise ``Refused``."""
        cos, sin = self.pairs(positions)
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)

    def pairs(self, positions: np.ndarray) -> list[np.ndarray]:
        """Return cosines and sines, (token, pair)."""
        parts = [part.reshape(-1, part.shape[-1]) for part in self.parts(positions)]
        if len(parts[0]) != len(positions):
            message = f"the tables have {len(parts[0])} rows for {len(positions)} tokens"
            raise Refused(message)
        columns = repeats(parts[0], parts[1], TOLERANCE[self.probe.dtype])[1]
        return [part[:, columns] for part in parts[:: 1 if self.cosine_first else -1]]

    def parts(self, positions: np.ndarray) -> list[np.ndarray]:
        """Return the two tables as they come."""
        parts = self.probe(positions=self.formed(positions, 1), like=np.zeros((1, 64)))
        if len(parts) != 2 or parts[0].shape != parts[1].shape or parts[0].ndim < 2:
            message = "it gives no cosines and sines"
            raise Refused(message)
        return parts


def identify(probe: Probe) -> Identity | None:
    """Return whose rotation the tables of a function are that takes a position on each of several axes, if it takes such."""
    if "positions" not in probe.plan.probed:
        return None
    for dtype, count, (rows, first) in itertools.product(DTYPES[:2], reversed(grids.COUNTS), FORMS):
        tables = AxisTables(probe.at(dtype), 0, count, "", rows=rows, first=first)
        try:
            identity = _apart(tables) or _whole(tables)
        except Refused as refusal:
            if refusal.hopeless:
                return None
            continue
        if identity is not None:
            return identity
    return None


def beside(several: Identity) -> str:
    """Say what a function that takes one position for each token gives for several."""
    count = several.view.count if isinstance(several.view, AxisTables) else 0
    return f"positions on {count} axes are taken too: {several.values_of}'s tables, which an adapter can't declare"


def _places(count: int) -> np.ndarray:
    """Return where few tokens stand on so many axes, on each elsewhere."""
    return np.asarray(np.arange(7)[:, None] * (1 + 2 * np.arange(count)))


def _apart(tables: AxisTables) -> Identity | None:
    """Return what tables are that come for each axis apart."""
    places = _places(tables.count)
    parts = tables.parts(places)
    if parts[0].ndim != 4 or parts[0].shape[:3] != (tables.count, 1, len(places)):
        return None

    def rows(positions: np.ndarray) -> list[np.ndarray]:
        return [part[0, 0] for part in tables.parts(np.repeat(positions[:, None], tables.count, axis=1))]

    if not all(np.array_equal(part[i, 0], one) for i in range(tables.count) for part, one in zip(parts, rows(places[:, i]), strict=True)):
        return None
    each = additive.identify(Encoding(tables.probe, counted=False, rows=rows))
    what = APART.format(tables.count, each.what)
    return replace(each, operation=None, what=what, unseen=(*each.unseen, CHOSEN), view=tables, values_of=each.operation or each.values_of)


def _whole(tables: AxisTables) -> Identity | None:
    """Return the rotation by tables whose pairs follow one axis each."""
    parts = [part.reshape(-1, part.shape[-1]) for part in tables.parts(_places(tables.count))]
    how, columns = repeats(parts[0], parts[1], TOLERANCE[tables.probe.dtype])
    cosine_first = bool(np.abs(parts[0][0]).sum() >= np.abs(parts[1][0]).sum())
    tables = replace(tables, width=2 * columns.size, cosine_first=cosine_first)
    identity = grids.at_some_place(tables)[2]
    if identity.operation is None:
        return None
    order = "cosine, sine" if cosine_first else "sine, cosine"
    shown = {"tables": Seen(how), "order of tables": Seen(order), "head_dim": Seen(tables.width), **identity.parameters}
    del shown["layout"]  # of the vectors, which are ours
    what = f"tables of cosines and sines of positions on {tables.count} axes"
    return Identity(None, what, shown, identity.seen, (*identity.unseen, TURN), tables, values_of=identity.operation)
