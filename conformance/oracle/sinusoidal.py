"""Sinusoidal encoding, from the paper (Vaswani et al. 2017, section 3.5)."""

from typing import Any

from flint import arb, fmpq

from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.rope import Inputs, Results, Turns, circle


def omegas(a: Exact, dim: int, base: float, spacing: str) -> list[Ball]:
    """Return ``base^(-2 i / dim)``, or ``base^(-i / (dim // 2 - 1))`` so that the last is ``1 / base``."""
    steps = fmpq(dim, 2) if spacing == "paper" else fmpq(max(1, dim // 2 - 1))
    return [a.power("frequency", a.parameter(base), -fmpq(i) / steps, pair=i) for i in range(dim // 2)]


def arranged(turns: Turns, layout: str) -> list[Ball]:
    """Return sines and cosines where the layout wants them."""
    cosines, sines = [cos for cos, _ in turns], [sin for _, sin in turns]
    if layout == "interleaved":
        return [value for pair in zip(sines, cosines, strict=True) for value in pair]
    return sines + cosines if layout == "halves" else cosines + sines


def encode(a: Exact, inputs: Inputs, *, dim: int, base: float, layout: str, spacing: str, odd: str, scale: float) -> Results:
    """Return ``scale`` times sines and cosines; an odd width has one zero column at the end, where asked for."""
    if dim % 2 and odd == "error":
        message = f"dim must be even, got {dim}"
        raise ValueError(message)
    positions, omega, grown = inputs["positions"], omegas(a, dim, base, spacing), a.parameter(scale)
    rows = [arranged(circle(a, omega, position), layout) for position in positions.values]
    values = [value for row in rows for value in [*(a.product(grown, x) for x in row), *[arb(0)] * (dim % 2)]]
    return {"result": ((*positions.shape, dim), values)}


def shift_matrix(a: Exact, inputs: Inputs, *, dim: int, base: float, spacing: str, **_: Any) -> Results:
    """Return ``[[cos, sin], [-sin, cos]]`` of every pair and offset."""
    offsets, omega = inputs["offsets"], omegas(a, dim, base, spacing)
    turns = [turn for offset in offsets.values for turn in circle(a, omega, offset)]
    return {"result": ((*offsets.shape, len(omega), 2, 2), [value for cos, sin in turns for value in (cos, sin, -sin, cos)])}
