"""Sinusoidal encoding, from the paper (Vaswani et al. 2017, section 3.5)."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from flint import arb, fmpq

from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.rotary import Turn, turn
from conformance.oracle.tensor import Inputs, Results, over


def omegas(a: Exact, dim: int, base: float, spacing: str) -> list[Ball]:
    """Return ``base^(-2 i / dim)``, or ``base^(-i / (dim // 2 - 1))`` so that the last is ``1 / base``."""
    steps = fmpq(dim, 2) if spacing == "paper" else fmpq(max(1, dim // 2 - 1))
    return a.powers("frequency", a.parameter(base), (-fmpq(i) / steps for i in range(dim // 2)))


def arranged(turns: Sequence[Turn], layout: str) -> list[Ball]:
    """Return sines and cosines where the layout wants them."""
    cosines, sines = [cos for cos, _ in turns], [sin for _, sin in turns]
    if layout == "interleaved":
        return [value for pair in zip(sines, cosines, strict=True) for value in pair]
    return sines + cosines if layout == "halves" else cosines + sines


def column(layout: str, channel: int, pairs: int) -> tuple[int, bool]:
    """Return which pair stands in a channel, and whether its sine does."""
    if layout == "interleaved":
        return channel // 2, channel % 2 == 0
    return channel % pairs, (channel < pairs) == (layout == "halves")


def encode(a: Exact, inputs: Inputs, *, dim: int, base: float, layout: str, spacing: str, odd: str, scale: float) -> Results:
    """Return ``scale`` times sines and cosines; an odd width has one zero column at the end, where asked for."""
    if dim % 2 and odd == "error":
        message = f"dim must be even, got {dim}"
        raise ValueError(message)
    positions, omega, grown = inputs["positions"], omegas(a, dim, base, spacing), a.parameter(scale)
    at = cache(lambda position, pair: turn(a, omega[pair], position))

    def wave(token: int, channel: int) -> Ball:
        if channel == 2 * len(omega):
            return arb(0)
        pair, sine = column(layout, channel, len(omega))
        cos, sin = at(positions.at(token), pair)
        return a.product(grown, sin if sine else cos)

    return {"result": over((*positions.shape, dim), wave)}


def shift_matrix(a: Exact, inputs: Inputs, *, dim: int, base: float, spacing: str, **_: Any) -> Results:
    """Return ``[[cos, sin], [-sin, cos]]`` of every pair and offset."""
    offsets, omega = inputs["offsets"], omegas(a, dim, base, spacing)
    at = cache(lambda offset, pair: turn(a, omega[pair], offset))

    def entry(token: int, pair: int, row: int, column: int) -> Ball:
        cos, sin = at(offsets.at(token), pair)
        return cos if row == column else -sin if row else sin

    return {"result": over((*offsets.shape, len(omega), 2, 2), entry)}
