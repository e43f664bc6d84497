"""Learned positions: one row of a table per position (Gehring et al. 2017, section 3.1)."""

from flint import arb

from conformance.oracle.additive import adding
from conformance.oracle.arithmetic import Exact
from conformance.oracle.tensor import Inputs, Results, over


def row(place: int, length: int, outside: str) -> int:
    """Return the row that is read, which is another where the place lies outside of the table and that is asked for."""
    if 0 <= place < length:
        return place
    if outside == "raise":
        message = f"positions must lie inside of a table of {length} rows, got row {place}"
        raise ValueError(message)
    return place % length if outside == "wrap" else (0 if place < 0 else length - 1)


def encode(a: Exact, inputs: Inputs, *, offset: int, outside: str) -> Results:
    """Return the rows; nothing is computed, so nothing may stray."""
    del a
    table, positions = inputs["table"], inputs["positions"].values
    length, width = table.shape
    rows = [row(int(position) + offset, length, outside) for position in positions]
    return {"result": over((len(positions), width), lambda token, channel: arb(table.at(rows[token], channel)))}


add = adding(encode)
