"""NTK-by-parts, from the paper (Peng et al. 2023, eq. 17-19): the ramp is linear in a pair's number of turns."""

from collections.abc import Sequence
from typing import Any

from flint import arb

from conformance.oracle import rope
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.position_interpolation import shared
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Lazy
from conformance.oracle.yarn import blended


def slowed(a: Exact, theta: Ball, original_length: int, slow: float, fast: float) -> Ball:
    """Return ``1 - gamma``: 1 up to so many turns within the original length, 0 from so many on, linear between (eq. 17-18)."""
    least, most = a.parameter(slow), a.parameter(fast)
    turns = a.spread("turns", a.parameter(original_length) * theta / (2 * arb.pi()))
    if slow == fast:  # no pair lies between: a ball around both sides where the roundings of the turns decide
        return arb(0) if turns > least else arb(1) if turns < least else arb(0).union(arb(1))
    return a.step("ramp quotient", (most - turns) / (most - least)).max(arb(0)).min(arb(1))


def thetas(
    a: Exact, *, head_dim: int, base: float, factor: float, original_length: int, alpha: float, beta: float, **_: Any
) -> Sequence[Ball]:
    """Return ``(1 - gamma) theta_j / s + gamma theta_j`` (eq. 19)."""
    stretch, plain = a.parameter(factor), rope.thetas(a, head_dim=head_dim, base=base)

    def between(j: int) -> Ball:
        return blended(a, plain[j], shared(a, plain[j], stretch), slowed(a, plain[j], original_length, alpha, beta))

    return Lazy(len(plain), between)


FORM = Rotary(thetas)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
