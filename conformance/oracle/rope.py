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

    def given(batch: int, token: int, pair: int) -> Turn:
        index = (token, pair) if len(cos.shape) == 2 else (batch, token, pair)
        return arb(cos.at(*index)), arb(sin.at(*index))

    return {"result": turn_all(a, x, given, layout, direction)}
