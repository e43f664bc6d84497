"""Sinusoidal encoding, from the paper (Vaswani et al. 2017, section 3.5)."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from flint import arb, fmpq

from conformance.oracle.additive import adding
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.rotary import entry, turn
from conformance.oracle.tensor import Inputs, Lazy, Number, Results, over


def omegas(a: Exact, dim: int, base: float, spacing: str) -> Sequence[Ball]:
    """Return ``base^(-2 i / dim)``, or ``base^(-i / (dim // 2 - 1))`` so that the last is ``1 / base``."""
    steps = fmpq(dim, 2) if spacing == "paper" else fmpq(max(1, dim // 2 - 1))
    return a.powers("frequency", a.parameter(base), Lazy(dim // 2, lambda i: -fmpq(i) / steps))


def waves(a: Exact, omega: Sequence[Ball], position: Number, layout: str) -> Sequence[Ball]:
    """Return sines and cosines of one position where the layout wants them."""

    def wave(channel: int) -> Ball:
        pair, sine = column(layout, channel, len(omega))
        angle = a.angle(position, omega[pair])
        return entry(a, a.sine(angle) if sine else a.cosine(angle))

    return Lazy(2 * len(omega), wave)


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
    at = cache(lambda position: waves(a, omega, position, layout))

    def scaled(token: int, channel: int) -> Ball:
        return arb(0) if channel == 2 * len(omega) else a.product(grown, at(positions.at(token))[channel])

    return {"result": over((*positions.shape, dim), scaled)}


add = adding(encode)


def shift_matrix(a: Exact, inputs: Inputs, *, dim: int, base: float, spacing: str, **_: Any) -> Results:
    """Return ``[[cos, sin], [-sin, cos]]`` of every pair and offset."""
    offsets, omega = inputs["offsets"], omegas(a, dim, base, spacing)
    at = cache(lambda offset, pair: turn(a, omega[pair], offset))

    def entry(token: int, pair: int, row: int, column: int) -> Ball:
        cos, sin = at(offsets.at(token), pair)
        return cos if row == column else -sin if row else sin

    return {"result": over((*offsets.shape, len(omega), 2, 2), entry)}
