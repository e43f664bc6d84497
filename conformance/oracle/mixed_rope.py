"""Mixed rotary embedding, from the paper (Heo et al. 2024, section 3.2): the angle of a pair is a sum over the axes of the positions."""

from collections.abc import Sequence
from functools import cache

from flint import arb

from conformance.oracle.arithmetic import Exact, is_zero, size
from conformance.oracle.axial_rope import on_axis
from conformance.oracle.rotary import Turn, entry, turn_all
from conformance.oracle.tensor import Inputs, Number, Results


def rotate(a: Exact, inputs: Inputs, *, head_dim: int, layout: str, direction: str) -> Results:
    """Return every vector with each pair turned by its head's frequency of every axis times the position there, added up."""
    del head_dim
    frequencies = inputs["frequencies"]
    places = [on_axis(inputs["positions"], axis) for axis in range(frequencies.shape[0])]

    @cache
    def at(position: Sequence[Number], head: int, pair: int) -> Turn:
        column, row = (a.angle(place, a.parameter(frequencies.at(axis, head, pair))) for axis, place in enumerate(position))
        angle = a.sum(column, row, "axes")
        cos, sin = a.cosine(angle), a.sine(angle)
        if not (is_zero(column) or is_zero(row)):
            cos, sin = a.spread("two turns", cos, arb(1)), a.spread("two turns", sin, (size(column) + size(row)).min(arb(1)))
        return entry(a, cos), entry(a, sin)

    def turns(batch: int, head: int, token: int, pair: int) -> Turn:
        return at(tuple(place(batch, token) for place in places), head, pair)

    return {"result": turn_all(a, inputs["x"], turns, layout, direction)}
