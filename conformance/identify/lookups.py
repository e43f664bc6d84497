"""Recover how rows of a table that is given are chosen: by position and offset, and what happens outside of it."""

import numpy as np

from conformance.identify.asking import Refused
from conformance.identify.findings import Identity, Seen
from conformance.identify.probe import Probe
from conformance.identify.rules import taking

LENGTH, WIDTH = 24, 4
FEW = np.array([2, 0, 5, 3])


def identify(probe: Probe) -> Identity:
    """Return what a function on positions and a table is."""
    rows = _rows(probe, FEW)
    offset = rows - FEW
    if np.any(offset != offset[0]):
        return Identity(None, "it returns rows of the table, but not those of the positions moved by one number")
    outside = {"outside": Seen(_outside(probe, int(offset[0])))}
    what = "rows of the table" + (f", moved by {offset[0]}" if offset[0] else "")
    below = ("positions below 0 are taken: they read rows before the first, or from the end",) if _taken(probe, -1) else ()
    return Identity(taking("positions", "table")[0].name, what, {"offset": Seen(int(offset[0])), **outside}, below)


def _rows(probe: Probe, positions: np.ndarray) -> np.ndarray:
    """Return which row of the table stands at each position, or raise where it isn't one."""
    table = np.arange(LENGTH)[:, None] + np.arange(WIDTH) * 32.0
    value = probe(positions=positions, table=table)[0]
    found = [int(row) for row in value.ravel()[::WIDTH] if 0 <= row < LENGTH and row == int(row)]
    rows = np.array(found, dtype=int)
    if rows.size != positions.size or not np.array_equal(value.ravel(), table[rows].ravel()):
        message = "the result doesn't consist of rows of the table"
        raise Refused(message)
    return rows


def _taken(probe: Probe, position: int) -> bool:
    try:
        _rows(probe, np.array([position]))
    except Refused:
        return False
    return True


def _outside(probe: Probe, offset: int) -> str:
    beyond = LENGTH - offset
    try:
        row = int(_rows(probe, np.array([0, beyond]))[1])
    except Refused:
        return "raise"
    return "clamp" if row == LENGTH - 1 else "wrap" if row == 0 else f"row {row}"
