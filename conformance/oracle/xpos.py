"""xPos, from the paper (Sun et al. 2022, algorithm 1), with the exponent over a base and from a centre as released code has it."""

from functools import cache
from typing import Any

from flint import arb, fmpq

from conformance.oracle import rope
from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.rotary import Turn, turn, turn_all
from conformance.oracle.tensor import Inputs, Number, Result, Results, Tensor


def decay(a: Exact, pair: int, width: int, exponent: Ball) -> Ball:
    """Return ``((10 j + 2 d) / (7 d))^exponent`` by its logarithm; exactly 1 where the exponent is 0."""
    logarithm = exponent * arb(fmpq(10 * pair + 2 * width, 7 * width)).log()
    return a.step("decay", logarithm.exp(), logarithm=size(logarithm), power=size(exponent))


def turned(
    a: Exact, x: Tensor, positions: Tensor, sign: int, *, layout: str, direction: str, scale_base: float, centre: int, **ladder: Any
) -> Result:
    """Return vectors whose pairs are turned, and multiplied by a power whose exponent has that sign."""
    thetas, width = rope.thetas(a, **ladder), x.shape[-1]

    @cache
    def at(position: Number, pair: int) -> Turn:
        exponent = arb(sign * (int(position) - centre)) / a.parameter(scale_base)
        return turn(a, thetas[pair], position, decay(a, pair, width, exponent))

    return turn_all(a, x, lambda batch, _, token, pair: at(positions.in_batch(batch, token), pair), layout, direction)


def rotate_query(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Turn queries, whose pairs shrink."""
    return {"result": turned(a, inputs["x"], inputs["positions"], 1, **parameters)}


def rotate_key(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Turn keys, whose pairs grow."""
    return {"result": turned(a, inputs["x"], inputs["positions"], -1, **parameters)}


def rotate_query_key(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Turn queries and keys, each to its own position."""
    return {
        "query": turned(a, inputs["q"], inputs["query_positions"], 1, **parameters),
        "key": turned(a, inputs["k"], inputs["key_positions"], -1, **parameters),
    }
