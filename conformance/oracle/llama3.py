"""Llama 3's context extension, from Meta's code: NTK-by-parts under other names."""

from collections.abc import Sequence
from typing import Any

from conformance.oracle import ntk_by_parts
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.rotary import Rotary


def thetas(a: Exact, *, low_freq_factor: float, high_freq_factor: float, **parameters: Any) -> Sequence[Ball]:
    """Return the frequencies, blended between so many turns within the original length."""
    return ntk_by_parts.thetas(a, alpha=low_freq_factor, beta=high_freq_factor, **parameters)


FORM = Rotary(thetas)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
