"""KERPLE: a learned logarithm or power of the distance, subtracted from logits (Chi et al. 2022, section 4)."""

from collections.abc import Callable, Sequence
from functools import cache
from math import isqrt

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.bias import Place, Weighed
from conformance.oracle.tensor import Inputs


def logarithm(a: Exact, rate: Ball, distance: int) -> Ball:
    """Return ``ln(1 + r2 R)``: the sum may be rounded before its logarithm is taken, or not at all."""
    reach = a.step("kernel argument", rate * distance)
    return a.spread("kernel logarithm", a.step("kernel argument", 1 + reach).log(), size(reach.log1p()))


def power(a: Exact, rate: Ball, distance: int) -> Ball:
    """Return ``R^r2``; exactly 1 at distance 1, whose logarithm is 0."""
    if distance == 1:
        return arb(1)
    return a.spread("kernel power", raised(rate, distance), logarithm=size(rate * arb(distance).log()))


def raised(rate: Ball, distance: int) -> Ball:
    """Return ``R^r2``, a square as its root to twice the exponent: so what is rational is exact, and times ``r1`` no tie stays open."""
    root = isqrt(distance)
    return raised(2 * rate, root) if root * root == distance > 1 else arb(distance) ** rate


GROWN = {"log": logarithm, "power": power}


def factors(a: Exact, inputs: Inputs, *, form: str) -> Sequence[Ball]:
    """Return ``-r1`` of every head, whatever the form."""
    del form
    return [-a.parameter(first) for first in inputs["first"].values]


def steps(a: Exact, inputs: Inputs, *, form: str) -> Callable[[int, Place], Ball]:
    """Return the logarithm or the power of the distance; 0 at distance 0."""
    second = inputs["second"].values
    grown = cache(lambda head, distance: GROWN[form](a, a.parameter(second[head]), distance) if distance else arb(0))
    return lambda head, place: grown(head, abs(place.query - place.key))


FORM = Weighed(factors, steps)
bias, weights, attend = FORM.bias, FORM.weights, FORM.attend
