"""Dynamic NTK scaling (Peng et al. 2023, section 3.3; the factor from released code): NTK-aware scaling by a stretch that grows."""

from collections.abc import Sequence
from typing import Any

from flint import arb, fmpq

from conformance.oracle import ntk_aware
from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.rotary import Rotary


def counted(original_length: int, length: int, growth: str) -> int:
    """Return the length that counts: no shorter than the original one, which is doubled until it is enough where growth says so."""
    enough = original_length
    while growth == "doublings" and enough < length:
        enough *= 2
    return max(length, enough)


def stretch(a: Exact, factor: float, original_length: int, length: int, growth: str) -> Ball:
    """Return ``s n / L - (s - 1)``; code subtracts, so that it strays also where 1 is left."""
    longer = fmpq(counted(original_length, length, growth), original_length)
    return a.spread("stretch", 1 + a.parameter(factor) * (longer - 1), size(arb(factor) * longer))


def thetas(
    a: Exact, *, head_dim: int, base: float, factor: float, original_length: int, length: int, growth: str, **_: Any
) -> Sequence[Ball]:
    """Return NTK-aware frequencies of that stretch."""
    return ntk_aware.slowed(a, head_dim, base, stretch(a, factor, original_length, length, growth))


FORM = Rotary(thetas)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
