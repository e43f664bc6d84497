"""Sinusoids on a grid, from MAE's code (He et al. 2021): those of the paper (Vaswani et al. 2017) for each axis, in half of the width."""

from functools import cache

from conformance.oracle.additive import adding
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.sinusoidal import omegas, waves
from conformance.oracle.tensor import Inputs, Results, over


def encode(a: Exact, inputs: Inputs, *, dim: int, base: float, order: str, layout: str) -> Results:
    """Return sines and cosines of both coordinates, by the channels that are theirs."""
    positions, omega = inputs["positions"], omegas(a, dim // 2, base, "paper")
    at = cache(lambda position: waves(a, omega, position, "interleaved"))

    def wave(token: int, channel: int) -> Ball:
        second, cosine, pair = place(channel, dim // 4, layout)
        return at(positions.at(token, second ^ (order == "column_first")))[2 * pair + cosine]

    return {"result": over((positions.shape[0], dim), wave)}


def place(channel: int, pairs: int, layout: str) -> tuple[int, int, int]:
    """Return whether a channel belongs to the second half's axis, whether it holds a cosine, and of which pair."""
    block, pair = divmod(channel, pairs)
    if layout == "interleaved":
        return channel // (2 * pairs), channel % 2, channel % (2 * pairs) // 2
    return (block % 2, block // 2, pair) if layout == "joined" else (block // 2, block % 2, pair)


add = adding(encode, beside=1)
