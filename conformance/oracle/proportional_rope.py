"""Proportional rope, from its definition (Barbero et al. 2024, apply_p_rope): frequencies of the slow pairs are 0."""

from collections.abc import Sequence
from typing import Any

from flint import arb

from conformance.oracle import position_interpolation
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Lazy


def thetas(a: Exact, *, turned_pairs: int, **parameters: Any) -> Sequence[Ball]:
    """Return ``theta_j / s`` of the fast pairs, and nothing of the others."""
    every = position_interpolation.thetas(a, **parameters)
    return Lazy(len(every), lambda j: every[j] if j < turned_pairs else arb(0))


FORM = Rotary(thetas)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
