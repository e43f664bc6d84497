"""What goes wrong with the start that LongRoPE's own rotation leaves alone."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.composing import assembled
from conformance.mutants.longrope_ladders import Ladder, slowed
from conformance.mutants.rotary import Rotary, spectrum
from refimpl.arrays import Array
from refimpl.schemes import rope

RIGHT = Rotary()
#: Whether a token belongs to the start, from its position, its index and the number of start tokens.
Start = Callable[[Array, Array, int], Array]


def right_start(positions: Array, _: Array, start_tokens: int) -> Array:
    """Return which tokens belong to the start."""
    return positions < start_tokens


@assembled
def searched(*, ladder: Ladder = slowed, start: Start = right_start, rotary: Rotary = RIGHT) -> Callable[..., Array]:
    """Return the paper's rotation with one piece replaced."""

    def rotate(
        x: Array, positions: Array, factors: Array, *, head_dim: int, base: float, layout: str, direction: str, start_tokens: int
    ) -> Array:
        plain = spectrum(head_dim, base)
        index = np.broadcast_to(np.arange(positions.shape[-1]), positions.shape)
        begins = start(positions, index, start_tokens)[..., None]
        first, rest = (rotary.circle(positions[..., None], theta) for theta in (plain, ladder(head_dim, base, factors)))
        tables = (np.where(begins, one, other) for one, other in zip(first, rest, strict=True))
        return rotary.turn(x, *tables, layout=layout, direction=direction)

    return rotate


START_MISTAKES: tuple[tuple[Mistake, Start], ...] = (
    Mistake(
        "start-one-too-long",
        does="leaves position start_tokens alone too",
        should="scale from position start_tokens on",
        fix="compare with <",
        origin="in the style of a comparison that is off by one",
    ).made_by(lambda positions, _, start_tokens: positions <= start_tokens),
    Mistake(
        "start-one-too-short",
        does="scales position start_tokens - 1 too",
        should="scale from position start_tokens on",
        fix="compare with <, counting from 0",
        origin="in the style of positions that are counted from 1",
    ).made_by(lambda positions, _, start_tokens: positions < start_tokens - 1),
    Mistake(
        "start-scaled",
        does="scales every position, as released models do",
        should="leave positions before start_tokens alone",
        fix="keep rope's own frequencies before start_tokens",
        threads=("https://github.com/ggml-org/llama.cpp/issues/24820",),
        origin="in the style of the thread: a part of the configuration dropped",
    ).made_by(lambda positions, *_: np.zeros_like(positions, dtype=bool)),
    Mistake(
        "start-inverted",
        does="scales the start and leaves the rest alone",
        should="leave the start alone",
        fix="exchange the two branches",
        origin="in the style of a mask that is inverted",
    ).made_by(lambda positions, _, start_tokens: positions >= start_tokens),
    Mistake(
        "start-by-index",
        does="counts start tokens by their index in the call",
        should="count them by position",
        fix="compare positions, which go on while decoding",
        threads=("https://github.com/keras-team/keras-hub/pull/1544",),
        origin="in the style of the thread: positions ignored",
    ).made_by(lambda _, index, start_tokens: index < start_tokens),
    Mistake(
        "start-of-all-or-none",
        does="decides by the first token for all",
        should="decide for each position",
        fix="compare elementwise",
        origin="in the style of a switch by the cache's offset",
    ).made_by(lambda positions, _, start_tokens: np.broadcast_to(positions[..., :1] < start_tokens, positions.shape)),
    Mistake(
        "start-capped",
        does="leaves at most 16 positions alone",
        should="leave start_tokens alone",
        fix="don't clamp start_tokens",
        origin="in the style of one model's value written into the code",
    ).made_by(lambda positions, _, start_tokens: positions < min(start_tokens, 16)),
)

CONTINUED = Mistake(
    "interpolated-after-the-start",
    does="goes on from the start: (p - start) / lambda + start",
    should="divide the whole position: p / lambda",
    fix="multiply p by theta / lambda",
    origin="in the style of the windowed scalings, which are continuous there",
)


def continued(x: Array, positions: Array, factors: Array, *, head_dim: int, base: float, start_tokens: int, **chosen: Any) -> Array:
    """Turn continuously across the end of the start."""
    places = np.where(
        positions[..., None] < start_tokens, positions[..., None], start_tokens + (positions[..., None] - start_tokens) / factors
    )
    angles = places * spectrum(head_dim, base)
    return rope.apply(x, np.cos(angles), np.sin(angles), **chosen)
