"""NTK-aware scaling, from its definition (Peng et al. 2023, definition 1): rope with another base."""

from collections.abc import Sequence
from typing import Any

from flint import fmpq

from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.rotary import Rotary


def raised(a: Exact, head_dim: int, base: float, stretch: Ball) -> Ball:
    """Return ``b s^(d / (d - 2))``."""
    logarithm = fmpq(head_dim, head_dim - 2) * stretch.log()
    return a.step("raised base", a.parameter(base) * logarithm.exp(), logarithm=size(logarithm))


def slowed(a: Exact, head_dim: int, base: float, stretch: Ball) -> Sequence[Ball]:
    """Return ``b'^(-2 j / d)`` of the raised base."""
    return a.powers("frequency", raised(a, head_dim, base, stretch), [fmpq(-2 * j, head_dim) for j in range(head_dim // 2)])


def thetas(a: Exact, *, head_dim: int, base: float, factor: float, **_: Any) -> Sequence[Ball]:
    """Return the frequencies of one factor for all lengths."""
    return slowed(a, head_dim, base, a.parameter(factor))


FORM = Rotary(thetas)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
