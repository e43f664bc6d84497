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
    below = _below(read, table)
    padded = below is not None and below != _expected(str(outside["outside"].value), int(offset[0]) - 1, len(table))
    what = "rows of the table" + (f", moved by {offset[0]}" if offset[0] else "")
    seen = () if below is None else ("positions below 0 are taken: they read rows before the first, or from the end",)
    known = taking("positions", "table")[0].name
    return Identity(known, what, {"offset": Seen(int(offset[0])), **outside}, seen, lowest=0 if padded else None)


def _rows(read: Read, table: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return which row of the table stands at each position, or raise where it isn't one."""
    value = read(positions)
    alike = value.size == positions.size * table.shape[1] and np.all(value.reshape(-1, 1, table.shape[1]) == table, axis=-1)
    if not np.any(alike, axis=-1).all():
        message = "the result doesn't consist of rows of the table"
        raise Refused(message)
    return np.asarray(np.argmax(alike, axis=-1))


def _below(read: Read, table: np.ndarray) -> int | None:
    """Return the row that position -1 reads, if it is taken."""
    try:
        return int(_rows(read, table, np.array([-1]))[0])
    except Refused:
        return None


def _expected(outside: str, row: int, count: int) -> int | None:
    """Return the row that a position below 0 must read, or nothing where it must be refused."""
    return {"wrap": row % count, "clamp": max(row, 0)}.get(outside)


def _outside(read: Read, table: np.ndarray, offset: int) -> str:
    beyond = len(table) - offset
    try:
        row = int(_rows(read, table, np.array([0, beyond]))[1])
    except Refused:
        return "raise"
    return "clamp" if row == len(table) - 1 else "wrap" if row == 0 else f"row {row}"
