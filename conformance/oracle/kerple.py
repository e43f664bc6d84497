"""KERPLE: a learned logarithm or power of the distance, subtracted from logits (Chi et al. 2022, section 4)."""

from functools import cache
from math import isqrt

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.tensor import Inputs, Results, over


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


def bias(a: Exact, inputs: Inputs, *, form: str) -> Results:
    """Return ``-r1`` times the logarithm or the power; 0 at distance 0."""
    first, second, queries, keys = (inputs[name] for name in ("first", "second", "query_positions", "key_positions"))
    shape = tuple(inputs[name].shape[0] for name in ("first", "query_positions", "key_positions"))

    @cache
    def added(head: int, distance: int) -> Ball:
        factor, rate = a.parameter(first.at(head)), a.parameter(second.at(head))
        return -a.product(factor, GROWN[form](a, rate, distance), "bias") if distance else arb(0)

    return {"result": over(shape, lambda head, query, key: added(head, abs(int(queries.at(query)) - int(keys.at(key)))))}
