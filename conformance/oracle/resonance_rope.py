"""Resonance RoPE (Wang et al. 2024): rope's wavelengths, each rounded to the nearest whole number."""

from collections.abc import Sequence
from typing import Any

from flint import arb, fmpq

from conformance.oracle import rope
from conformance.oracle.arithmetic import Ball, Exact, hull
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Lazy

HALF = fmpq(1, 2)


def whole(a: Exact, theta: Ball) -> Ball:
    """Return the frequencies of all whole numbers that the rounded wavelength may be: a turn over each lies between those of the ends."""
    wavelength = a.spread("wavelength", 2 * arb.pi() / theta)
    ends = [near for end in (wavelength.lower(), wavelength.upper()) for near in a.floors(end + HALF)]
    return hull([a.spread("wavelength", 2 * arb.pi() / near) for near in dict.fromkeys(ends)])


def resonant(a: Exact, plain: Sequence[Ball]) -> Sequence[Ball]:
    """Return frequencies with whole wavelengths."""
    return Lazy(len(plain), lambda j: whole(a, plain[j]))


def thetas(a: Exact, *, head_dim: int, base: float, **_: Any) -> Sequence[Ball]:
    """Return rope's frequencies with whole wavelengths."""
    return resonant(a, rope.thetas(a, head_dim=head_dim, base=base))


FORM = Rotary(thetas)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
