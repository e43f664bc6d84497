"""Recover how rows of a table that is given are chosen: by position and offset, and what happens outside of it."""

from collections.abc import Callable

import numpy as np

from conformance.identify import turns
from conformance.identify.asking import Refused
from conformance.identify.findings import Identity, Seen
from conformance.identify.probe import Probe
from conformance.identify.rules import taking

WIDTH = 4
FEW = np.array([2, 0, 5, 3])

Read = Callable[[np.ndarray], np.ndarray]


def identify(probe: Probe) -> Identity:
    """Return what a function on positions and a table is."""
    table = turns.table(WIDTH)
    return chosen(lambda positions: probe(positions=positions, table=table)[0], table)


def chosen(read: Read, table: np.ndarray) -> Identity:
    """Return which rows of a table are read at positions."""
    rows = _rows(read, table, FEW)
    offset = rows - FEW
    if np.any(offset != offset[0]):
        return Identity(None, "it returns rows of the table, but not those of the positions moved by one number")
    outside = {"outside": Seen(_outside(read, table, int(offset[0])))}
    what = "rows of the table" + (f", moved by {offset[0]}" if offset[0] else "")
    below = ("positions below 0 are taken: they read rows before the first, or from the end",) if _taken(read, table, -1) else ()
    return Identity(taking("positions", "table")[0].name, what, {"offset": Seen(int(offset[0])), **outside}, below)


def _rows(read: Read, table: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return which row of the table stands at each position, or raise where it isn't one."""
    value = read(positions)
    alike = value.size == positions.size * table.shape[1] and np.all(value.reshape(-1, 1, table.shape[1]) == table, axis=-1)
    if not np.any(alike, axis=-1).all():
        message = "the result doesn't consist of rows of the table"
        raise Refused(message)
    return np.asarray(np.argmax(alike, axis=-1))


def _taken(read: Read, table: np.ndarray, position: int) -> bool:
    try:
        _rows(read, table, np.array([position]))
    except Refused:
        return False
    return True


def _outside(read: Read, table: np.ndarray, offset: int) -> str:
    beyond = len(table) - offset
    try:
        row = int(_rows(read, table, np.array([0, beyond]))[1])
    except Refused:
        return "raise"
    return "clamp" if row == len(table) - 1 else "wrap" if row == 0 else f"row {row}"
