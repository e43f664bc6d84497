"""Attention temperature: what multiplies a query, by the step, the length or the logarithm that its position has reached."""

from collections.abc import Callable
from functools import cache

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.tensor import Inputs, Results, over


def of_positions(inputs: Inputs, grown: Callable[[int], Ball]) -> Results:
    """Return what every position has grown to."""
    positions, known = inputs["positions"], cache(grown)
    return {"result": over(positions.shape, lambda *where: known(int(positions.at(*where))))}


def logarithm(a: Exact, whole: int) -> Ball:
    """Return the logarithm of an integer; exactly 0 of 1."""
    return arb(0) if whole == 1 else a.spread("kernel logarithm", arb(whole).log())


def scale(a: Exact, inputs: Inputs, *, floor_scale: int, attn_scale: float, shift: int) -> Results:
    """Return ``1 + attn_scale ln(1 + n)`` of the step ``n`` that a position lies in; exactly 1 in the first."""

    def grown(position: int) -> Ball:
        steps = (position + shift) // floor_scale
        rise = a.parameter(attn_scale) * logarithm(a, 1 + steps)
        return arb(1) if steps == 0 or attn_scale == 0 else a.spread("attention factor", 1 + rise, size(1 + rise))

    return of_positions(inputs, grown)


def log_scale(a: Exact, inputs: Inputs, *, original_length: int) -> Results:
    """Return ``ln(p + 1) / ln(L)`` beyond ``L`` positions, and 1 up to there: a quotient that strays above 1 just before may count."""

    def grown(position: int) -> Ball:
        if a.certain and position < original_length:
            return arb(1)
        return a.spread("attention factor", logarithm(a, position + 1) / logarithm(a, original_length)).max(arb(1))

    return of_positions(inputs, grown)


def learned_scale(a: Exact, inputs: Inputs) -> Results:
    """Return ``s ln(p + 1) + b`` of every head; a model in a half format may store the logarithm in it."""
    positions, slopes, biases = inputs["positions"], inputs["slopes"], inputs["biases"]
    stored = cache(lambda position: a.step("table", logarithm(a, position + 1)))

    def grown(*where: int) -> Ball:
        *batch, head, token = where
        rise = a.product(a.parameter(slopes.at(head)), stored(int(positions.at(*batch, token))))
        return a.sum(rise, a.parameter(biases.at(head)))

    *batch, tokens = positions.shape
    return {"result": over((*batch, *slopes.shape, tokens), grown)}
