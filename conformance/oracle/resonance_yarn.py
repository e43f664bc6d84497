"""Resonance YaRN (Wang et al. 2024): the wavelengths of YaRN's blended frequencies, each rounded to the nearest whole number."""

from collections.abc import Sequence
from typing import Any

from conformance.oracle import yarn
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.resonance_rope import resonant
from conformance.oracle.rotary import Rotary


def thetas(a: Exact, **parameters: Any) -> Sequence[Ball]:
    """Return the blended frequencies with whole wavelengths."""
    return resonant(a, yarn.thetas(a, **parameters))


FORM = Rotary(thetas, yarn.handed)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
