"""NTK-aware scaling, from its definition (Peng et al. 2023, definition 1): rope with another base."""

from collections.abc import Sequence
from typing import Any

from flint import arb, fmpq

from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Lazy


def raised(a: Exact, head_dim: int, base: float, stretch: Ball) -> Ball:
    """Return ``b s^(d / (d - 2))``."""
    logarithm = fmpq(head_dim, head_dim - 2) * stretch.log()
    return a.step("raised base", a.parameter(base) * logarithm.exp(), logarithm=size(logarithm))


def slowed(a: Exact, head_dim: int, base: float, stretch: Ball) -> Sequence[Ball]:
    """Return ``b'^(-2 j / d)`` of the raised base."""
    return a.powers("frequency", raised(a, head_dim, base, stretch), [fmpq(-2 * j, head_dim) for j in range(head_dim // 2)])


def all_slowed(a: Exact, head_dim: int, base: float, stretch: Ball) -> Sequence[Ball]:
    """Return ``(b s)^(-2 j / d) s^(-2 / d)``, by which the fastest pair is slowed too (kexue.fm 9706)."""
    longer = a.step("raised base", a.parameter(base) * stretch, logarithm=0)
    ladder = a.powers("frequency", longer, [fmpq(-2 * j, head_dim) for j in range(head_dim // 2)])
    (first,) = a.powers("frequency", stretch, [fmpq(-2, head_dim)])
    return Lazy(len(ladder), lambda j: a.product(ladder[j], first, "interpolation"))


def mixed(a: Exact, head_dim: int, base: float, stretch: Ball, power: float) -> Sequence[Ball]:
    """Return ``b^(-2 j / d) exp(-a (j + 1)^p)`` with ``a = ln s / (d / 2)^p`` (kexue.fm 9706)."""
    pairs, whole, exponent = head_dim // 2, stretch.log(), a.parameter(power)
    ladder = a.powers("frequency", a.parameter(base), [fmpq(-2 * j, head_dim) for j in range(pairs)])

    def theta(j: int) -> Ball:
        logarithm = a.step("mixed logarithm", whole * (exponent * arb(fmpq(j + 1, pairs)).log()).exp())
        ratio = a.step("frequency", (-logarithm).exp(), logarithm=size(logarithm), base_logarithm=size(whole), pair=j)
        return a.product(ladder[j], ratio, "interpolation")

    return Lazy(pairs, theta)


def thetas(a: Exact, *, head_dim: int, base: float, factor: float, fastest: str, power: float, **_: Any) -> Sequence[Ball]:
    """Return the frequencies of one factor for all lengths."""
    if power != 1:
        return mixed(a, head_dim, base, a.parameter(factor), power)
    return (all_slowed if fastest == "slowed" else slowed)(a, head_dim, base, a.parameter(factor))


FORM = Rotary(thetas)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
