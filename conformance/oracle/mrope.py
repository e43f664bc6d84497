"""Multimodal rope, from its description (Wang et al. 2024, section 2.1): every pair of a head follows one axis of the positions."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from conformance.oracle import rope
from conformance.oracle.arithmetic import Exact
from conformance.oracle.axial_rope import on_axis
from conformance.oracle.rotary import Turn, turn, turn_all
from conformance.oracle.rotary import places as ends
from conformance.oracle.tensor import Inputs, Lazy, Number, Result, Results, over


def axis_of(pair: int, sections: Sequence[int], order: str, member: int = 0) -> int:
    """Return the axis that a pair, or a member of it, follows."""
    if order == "doubled":
        return axis_of(pair + member * sum(sections), [2 * pairs for pairs in sections], "contiguous")
    if order == "interleaved":
        turned, axis = divmod(pair, len(sections))
        return axis if turned < sections[axis] else 0
    if order == "first_last":
        turns = sorted((turned, axis) for axis in range(1, len(sections)) for turned in range(sections[axis]))
        return turns[pair][1] if pair < len(turns) else 0
    until = [sum(sections[: axis + 1]) for axis in range(len(sections))]
    return next(axis for axis, end in enumerate(until) if pair < end)


def rotate(
    a: Exact, inputs: Inputs, *, head_dim: int, base: float, sections: Sequence[int], order: str, layout: str, direction: str
) -> Results:
    """Return every vector with each pair turned by its frequency times the position on its axis.

    Where members of a pair follow axes of their own, each is what it would be if the pair followed its axis.
    """
    theta = rope.thetas(a, head_dim=head_dim, base=base)
    places = [on_axis(inputs["positions"], axis) for axis in range(len(sections))]

    @cache
    def at(position: Number, pair: int) -> Turn:
        return turn(a, theta[pair], position)

    def turned(member: int) -> Result:
        axes = [axis_of(pair, sections, order, member) for pair in range(head_dim // 2)]
        return turn_all(a, inputs["x"], lambda batch, _, token, pair: at(places[axes[pair]](batch, token), pair), layout, direction)

    if order != "doubled":
        return {"result": turned(0)}
    (shape, first), (_, second) = turned(0), turned(1)
    seconds = {other for _, other in ends(layout, head_dim)[1]}
    return {"result": (shape, Lazy(len(first), lambda index: (second if index % head_dim in seconds else first)[index]))}


@dataclass(frozen=True)
class Part:
    """A run of text, or a grid: the number of its first token, every position at which it may begin, and the sides of a grid."""

    first: int
    starts: tuple[int, ...]
    sides: tuple[int, int, int] | None = None


def parts(
    a: Exact, moments: Callable[[int], tuple[int, ...]], text: Sequence[int], grids: Sequence[tuple[int, int, int]]
) -> list[Part]:
    """Return text and grids in turn, the last of them text: each begins one past the largest position of the one before."""
    found = [Part(0, (0,))]
    for count, (time, height, width) in zip(text, grids, strict=True):
        before = found[-1]
        grid = Part(before.first + count, tuple(start + count for start in before.starts), (time, height, width))
        last = ((start, moment) for start, moment in product(grid.starts, moments(time - 1)))
        starts = a.settle(start + max(moment, height - 1, width - 1) + 1 for start, moment in last)
        found += [grid, Part(grid.first + time * height * width, starts)]
    return found


def positions(
    a: Exact,
    inputs: Inputs,
    *,
    text: Sequence[int],
    times: Sequence[int],
    heights: Sequence[int],
    widths: Sequence[int],
    tokens_per_second: int,
    seconds: float,
) -> dict[str, tuple[tuple[int, ...], Sequence[tuple[int, ...]]]]:
    """Return time, height and width of every token, each of them any integer that the moment of its step may be cut to."""

    @cache
    def moments(step: int) -> tuple[int, ...]:
        whole = step * tokens_per_second
        return a.floors(a.step("moment", a.parameter(seconds) * whole), int(Fraction(seconds) * whole // 1))

    found = parts(a, moments, text, list(zip(times, heights, widths, strict=True)))
    firsts = [part.first for part in found]

    @cache
    def place(number: int, axis: int) -> tuple[int, ...]:
        part = found[bisect_right(firsts, number) - 1]
        if part.sides is None:
            return tuple(start + number - part.first for start in part.starts)
        _, height, width = part.sides
        rows, column = divmod(number - part.first, width)
        step, row = divmod(rows, height)
        if axis == 0:
            return a.settle(start + moment for start, moment in product(part.starts, moments(step)))
        return tuple(start + (row, column)[axis - 1] for start in part.starts)

    tokens = inputs["positions"]
    return {"result": over((*tokens.shape, 3), lambda *index: place(int(tokens.at(*index[:-1])), index[-1]))}
