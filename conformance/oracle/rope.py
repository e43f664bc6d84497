"""Rotary position embedding, from the paper (Su et al. 2021, eq. 13-16, 18, 34)."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from flint import arb, fmpq

from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.rotary import Rotary, Turn, turn, turn_all
from conformance.oracle.tensor import Inputs, Lazy, Result, Results, over


def thetas(a: Exact, *, head_dim: int, base: float, **_: Any) -> Sequence[Ball]:
    """Return ``theta_j = base^(-2 j / head_dim)``, ``j`` from 0 (eq. 15)."""
    return a.powers("frequency", a.parameter(base), Lazy(head_dim // 2, lambda j: fmpq(-2 * j, head_dim)))


FORM = Rotary(thetas)
frequencies, rotate, rotate_query_key, gradient = FORM.frequencies, FORM.rotate, FORM.rotate_query_key, FORM.gradient
weights, attend = FORM.weights, FORM.attend


def tables(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return ``cos(p theta_j)`` and ``sin(p theta_j)``."""
    theta, positions = thetas(a, **parameters), inputs["positions"]
    at = cache(lambda position, pair: turn(a, theta[pair], position))

    def side(which: int) -> Result:
        return over((*positions.shape, len(theta)), lambda *index: at(positions.at(*index[:-1]), index[-1])[which])

    return {"cos": side(0), "sin": side(1)}


def apply(a: Exact, inputs: Inputs, *, layout: str, direction: str) -> Results:
    """Turn by the cosines and sines that are given."""
    x, cos, sin = inputs["x"], inputs["cos"], inputs["sin"]

    def given(batch: int, _: int, token: int, pair: int) -> Turn:
        index = (token, pair) if len(cos.shape) == 2 else (batch, token, pair)
        return arb(cos.at(*index)), arb(sin.at(*index))

    return {"result": turn_all(a, x, given, layout, direction)}


def permute(
    a: Exact, inputs: Inputs, *, num_heads: int, head_dim: int, rotary_dim: int | None, placement: str, conversion: str
) -> Results:
    """Return every row as it was given, at the place of its pair in the other layout; nothing is computed."""
    del a, num_heads
    weight, width = inputs["weight"], head_dim if rotary_dim is None else rotary_dim
    first = 0 if placement == "first" else head_dim - width

    def element(row: int, *column: int) -> Ball:
        head, channel = divmod(row, head_dim)
        if 0 <= (moved := channel - first) < width:
            if conversion == "interleaved_to_half":
                member, pair = divmod(moved, width // 2)
                moved = 2 * pair + member
            else:
                pair, member = divmod(moved, 2)
                moved = member * (width // 2) + pair
            channel = first + moved
        return arb(weight.at(head * head_dim + channel, *column))

    return {"result": over(weight.shape, element)}
