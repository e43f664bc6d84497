"""Position interpolation, from the paper (Chen et al. 2023, eq. 4)."""

from collections.abc import Sequence
from typing import Any

from conformance.oracle import rope
from conformance.oracle.arithmetic import Ball, Exact, is_power_of_two
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Lazy


def thetas(a: Exact, *, head_dim: int, base: float, factor: float, **_: Any) -> Sequence[Ball]:
    """Return ``theta_j / s``: the angle of position ``p / s``, per position."""
    plain, stretch = rope.thetas(a, head_dim=head_dim, base=base), a.parameter(factor)
    return Lazy(len(plain), lambda j: shared(a, plain[j], stretch))


def shared(a: Exact, theta: Ball, stretch: Ball) -> Ball:
    """Return a frequency divided by a stretch; a power of two only moves the exponent."""
    return theta / stretch if is_power_of_two(stretch) else a.step("interpolation", theta / stretch)


FORM = Rotary(thetas)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
