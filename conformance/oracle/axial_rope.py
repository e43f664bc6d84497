"""Axial rotary embedding, from its description (Heo et al. 2024, section 3.2): rope on the channels of every axis."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from math import prod
from typing import Any

from flint import arb, fmpq

from conformance.oracle import rope
from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.rotary import Part, Place, Rotary
from conformance.oracle.tensor import Inputs, Lazy, Tensor, over


def parts(
    positions: Tensor, *, head_dim: int, axes: Sequence[int], order: str, layout: str, ladder: str, sides: Sequence[int], **_: Any
) -> Sequence[Part]:
    """Return the channels of every axis, the positions on it, which frequencies it has of the head, if not its own, and its side."""
    found = []
    for axis, side in enumerate(sides or [None] * len(axes)):
        own = [*channels(axis, axes, order, layout, head_dim)]
        found.append(Part(own, on_axis(positions, axis), turns(axis, axes) if ladder == "in_turns" else None, ladder == "tiled", side))
    return found


def thetas(a: Exact, *, head_dim: int, base: float, ladder: str, **_: Any) -> Sequence[Ball]:
    """Return the frequencies of rope, or those that rise from 1 to ``base`` by equal steps or by one ratio."""
    if ladder in ("own", "in_turns", "tiled"):
        return rope.thetas(a, head_dim=head_dim, base=base)
    end, pairs = a.parameter(base), head_dim // 2
    shares = Lazy(pairs, lambda pair: fmpq(pair, max(1, pairs - 1)))
    return a.powers("frequency", end, shares) if ladder == "exponential" else Lazy(pairs, lambda pair: step(a, end, shares[pair]))


def step(a: Exact, end: Ball, share: fmpq) -> Ball:
    """Return ``1 + (end - 1) share``; code rounds the step between two neighbours, so that it strays also where this is exact."""
    theta = 1 + (end - 1) * arb(share)
    return a.spread("rising frequency", theta, size(theta).max(arb(1))) if share else theta


def turns(axis: int, axes: Sequence[int]) -> Sequence[int]:
    """Return which of the head's pairs one axis has where the axes take one after the other until they have enough."""
    return [sum(min(width // 2, turn + (other < axis)) for other, width in enumerate(axes)) for turn in range(axes[axis] // 2)]


def channels(axis: int, axes: Sequence[int], order: str, layout: str, head_dim: int) -> Iterator[int]:
    """Yield the channels of one axis: the first members of all pairs, then the second ones, or both of each."""
    own, before = range(axes[axis] // 2), sum(axes[:axis])
    if order == "block":
        yield from range(before, before + axes[axis])
        return
    pairs = [before // 2 + turn for turn in own] if order == "joined" else turns(axis, axes)
    if layout == "half":
        yield from (pair + place for place in (0, head_dim // 2) for pair in pairs)
    else:
        yield from (2 * pair + place for pair in pairs for place in (0, 1))


def on_axis(positions: Tensor, axis: int) -> Place:
    """Return the positions on one axis, of an array that may lack the batch axis."""
    if len(positions.shape) == 2:
        return lambda _, token: positions.at(token, axis)
    return lambda batch, token: positions.at(batch, token, axis)


rotate = Rotary(thetas, parts=parts).rotate


def positions(
    a: Exact, inputs: Inputs, *, times: Sequence[int], heights: Sequence[int], widths: Sequence[int], merge: int
) -> dict[str, tuple[tuple[int, ...], Sequence[tuple[int, ...]]]]:
    """Return row and column of every patch: a step holds bands of whole rows, a band blocks, and a block patches."""
    del a
    grids = list(zip(times, heights, widths, strict=True))
    firsts = [*accumulate(map(prod, grids[:-1]), initial=0)]

    @cache
    def place(number: int) -> tuple[int, int]:
        grid = bisect_right(firsts, number) - 1
        _, height, width = grids[grid]
        band, left = divmod((number - firsts[grid]) % (height * width), merge * width)
        block, left = divmod(left, merge * merge)
        row, column = divmod(left, merge)
        return band * merge + row, block * merge + column

    patches = inputs["positions"]
    return {"result": over((*patches.shape, 2), lambda *index: (place(int(patches.at(*index[:-1])))[index[-1]],))}
