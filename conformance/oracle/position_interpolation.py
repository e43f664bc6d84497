"""Position interpolation, from the paper (Chen et al. 2023, eq. 4)."""

from typing import Any

from conformance.oracle import rope
from conformance.oracle.arithmetic import Ball, Exact, is_power_of_two
from conformance.oracle.rotary import Rotary


def thetas(a: Exact, *, head_dim: int, base: float, factor: float, **_: Any) -> list[Ball]:
    """Return ``theta_j / s``: the angle of position ``p / s``, per position."""
    stretch = a.parameter(factor)
    return [shared(a, theta, stretch) for theta in rope.thetas(a, head_dim=head_dim, base=base)]


def shared(a: Exact, theta: Ball, stretch: Ball) -> Ball:
    """Return a frequency divided by a stretch; a power of two only moves the exponent."""
    return theta / stretch if is_power_of_two(stretch) else a.step("interpolation", theta / stretch)


FORM = Rotary(thetas)
frequencies, rotate = FORM.frequencies, FORM.rotate
