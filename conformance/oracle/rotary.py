"""The form of rotary schemes: pairs of features turn by their frequency times the position (Su et al. 2021, eq. 13-18, 34)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.tensor import Inputs, Number, Result, Results, Tensor, over

#: Cosine and sine of one pair at one position.
Turn = tuple[Ball, Ball]
#: The same by batch, token and pair.
Turns = Callable[[int, int, int], Turn]

OPPOSITE = {"positive": "negative", "negative": "positive"}


def turn(a: Exact, theta: Ball, position: Number, factor: Ball | None = None) -> Turn:
    """Return cosine and sine of one angle, times a factor where there is one."""
    angle = a.angle(position, theta)
    return entry(a, a.cosine(angle), factor), entry(a, a.sine(angle), factor)


def entry(a: Exact, x: Ball, factor: Ball | None = None) -> Ball:
    """Return a cosine or sine as a table holds it, times a factor where there is one."""
    return a.step("table", a.product(arb(1) if factor is None else factor, x, "factor"))


def circles(a: Exact, frequencies: Sequence[Ball], positions: Tensor, factor: Ball | None = None) -> Turns:
    """Return the lookup of turns by batch, token and pair; a pair is worked out once at every position."""
    at = cache(lambda position, pair: turn(a, frequencies[pair], position, factor))
    return lambda batch, token, pair: at(positions.in_batch(batch, token), pair)


def places(layout: str, head_dim: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return where every pair is read, and where it is written."""
    half = head_dim // 2
    neighbours, halves = [(2 * j, 2 * j + 1) for j in range(half)], [(j, j + half) for j in range(half)]
    return (halves if layout == "half" else neighbours), (neighbours if layout == "interleaved" else halves)


def turn_all(a: Exact, x: Tensor, turns: Turns, layout: str, direction: str, *, back: bool = False) -> Result:
    """Return every vector with every pair ``(x, y)`` as ``(x cos - y sin, x sin + y cos)`` (eq. 13); ``back`` undoes it."""
    sources, targets = places(layout, x.shape[-1])
    if back:
        sources, targets, direction = targets, sources, OPPOSITE[direction]
    written = {channel: (pair, place) for pair, ends in enumerate(targets) for place, channel in enumerate(ends)}

    def element(batch: int, head: int, token: int, channel: int) -> Ball:
        pair, place = written[channel]
        row, (i, j) = x.row(batch, head, token), sources[pair]
        one, other = arb(row[i]), arb(row[j])
        cos, sine = turns(batch, token, pair)
        sin = sine if direction == "positive" else -sine
        if place == 0:
            return a.sum(a.product(one, cos), -a.product(other, sin))
        return a.sum(a.product(one, sin), a.product(other, cos))

    return over(x.shape, element)


@dataclass(frozen=True)
class Rotary:
    """What a scheme brings: its frequencies, and a factor that multiplies cosine and sine; every method is an operation."""

    thetas: Callable[..., Sequence[Ball]]
    factor: Callable[..., Ball] | None = None

    def turns(self, a: Exact, inputs: Inputs, positions: Tensor, **parameters: Any) -> Turns:
        """Return cosine and sine by batch, token and pair."""
        factor = None if self.factor is None else self.factor(a, **parameters)
        return circles(a, self.thetas(a, inputs=inputs, **parameters), positions, factor)

    def frequencies(self, a: Exact, inputs: Inputs, **parameters: Any) -> Results:
        """Return the radians per position of every pair."""
        values = self.thetas(a, inputs=inputs, **parameters)
        return {"result": ((len(values),), values)}

    def rotate(self, a: Exact, inputs: Inputs, *, layout: str, direction: str, **parameters: Any) -> Results:
        """Turn every vector to its position."""
        turns = self.turns(a, inputs, inputs["positions"], **parameters)
        return {"result": turn_all(a, inputs["x"], turns, layout, direction)}

    def rotate_query_key(self, a: Exact, inputs: Inputs, **parameters: Any) -> Results:
        """Turn queries and keys, each to its own position."""
        sides = {"query": ("q", "query_positions"), "key": ("k", "key_positions")}
        return {
            name: self.rotate(a, {**inputs, "x": inputs[x], "positions": inputs[positions]}, **parameters)["result"]
            for name, (x, positions) in sides.items()
        }

    def gradient(self, a: Exact, inputs: Inputs, *, layout: str, direction: str, **parameters: Any) -> Results:
        """Turn the cotangent back: the transpose of a rotation is its inverse."""
        turns = self.turns(a, inputs, inputs["positions"], **parameters)
        return {"result": turn_all(a, inputs["cotangent"], turns, layout, direction, back=True)}
