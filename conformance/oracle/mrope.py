"""Multimodal rope, from its description (Wang et al. 2024, section 2.1): every pair of a head follows one axis of the positions."""

from collections.abc import Sequence
from functools import cache

from conformance.oracle import rope
from conformance.oracle.arithmetic import Exact
from conformance.oracle.axial_rope import on_axis
from conformance.oracle.rotary import Turn, turn, turn_all
from conformance.oracle.tensor import Inputs, Number, Results


def axis_of(pair: int, sections: Sequence[int], order: str) -> int:
    """Return the axis that a pair follows."""
    if order == "interleaved":
        turned, axis = divmod(pair, len(sections))
        return axis if turned < sections[axis] else 0
    if order == "first_last":
        turns = sorted((turned, axis) for axis in range(1, len(sections)) for turned in range(sections[axis]))
        return turns[pair][1] if pair < len(turns) else 0
    ends = [sum(sections[: axis + 1]) for axis in range(len(sections))]
    return next(axis for axis, end in enumerate(ends) if pair < end)


def rotate(
    a: Exact, inputs: Inputs, *, head_dim: int, base: float, sections: Sequence[int], order: str, layout: str, direction: str
) -> Results:
    """Return every vector with each pair turned by its frequency times the position on its axis."""
    theta = rope.thetas(a, head_dim=head_dim, base=base)
    axes = [axis_of(pair, sections, order) for pair in range(head_dim // 2)]
    places = [on_axis(inputs["positions"], axis) for axis in range(len(sections))]

    @cache
    def at(position: Number, pair: int) -> Turn:
        return turn(a, theta[pair], position)

    turned = turn_all(a, inputs["x"], lambda batch, token, pair: at(places[axes[pair]](batch, token), pair), layout, direction)
    return {"result": turned}
