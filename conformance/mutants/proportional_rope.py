"""What goes wrong with proportional rope: which pairs turn, how fast, and what is taken for it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.rotary import Rotary, spectrum
from conformance.mutants.stretched import Ladder, inherited, of_ladder, right
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.forms.rotary import Direction, Layout
from refimpl.schemes import rope

SCHEME = "proportional_rope"


def turning(count: int, every: Array, rest: Array | float = 0.0) -> Array:
    """Return frequencies of which only the first ones are kept."""
    return np.where(np.arange(every.size) < count, every, rest)


def part(*, head_dim: int, base: float, turned_pairs: int, factor: float) -> Array:
    """Return the frequencies of a head that is as wide as what turns."""
    own = spectrum(2 * turned_pairs, base) / factor
    return np.concatenate([own, np.zeros(head_dim // 2 - turned_pairs)])


def in_the_part(theta: Ladder) -> Any:
    """Return the rotation with pairs among the first channels of a head."""

    def rotate(x: Array, positions: Array, *, turned_pairs: int, layout: Layout, direction: Direction, **rule: Any) -> Array:
        fast = theta(turned_pairs=turned_pairs, **rule)[:turned_pairs]
        result, channels, circle = x.copy(), slice(2 * turned_pairs), Rotary().circle(positions[..., None], fast)
        result[..., channels] = rope.apply(x[..., channels], *circle, layout=layout, direction=direction)
        return result

    return rotate


LADDERS: tuple[tuple[Mistake, Ladder], ...] = (
    Mistake(
        "exponent-of-the-part",
        does="makes frequencies fall over the channels that turn",
        should="divide exponents by the width of the whole head",
        fix="divide by head_dim, whatever share turns",
        threads=("https://github.com/pegainfer-project/pegainfer/issues/820",),
    ).made_by(part),
    Mistake(
        "every-pair-turns",
        does="ignores turned_pairs: rope on the whole head",
        should="leave the slow pairs as they are",
        fix="set the frequencies from turned_pairs on to 0",
        origin="in the style of code that knows no rope_type 'proportional'",
    ).made_by(lambda head_dim, base, factor, **_: spectrum(head_dim, base) / factor),
    Mistake(
        "fast-pairs-rest",
        does="turns the slow pairs and leaves the fast ones",
        should="turn the fast pairs",
        fix="put the zeros behind the frequencies",
        origin="in the style of tables that are filled from the wrong end",
    ).made_by(
        lambda head_dim, base, turned_pairs, factor: (
            spectrum(head_dim, base) / factor * (np.arange(head_dim // 2) >= head_dim // 2 - turned_pairs)
        )
    ),
    Mistake(
        "zeros-in-front",
        does="puts the zeros in front: the slowest pairs turn by the highest frequencies",
        should="put them behind",
        fix="append the zeros to the frequencies",
        origin="in the style of heads put together as `[nope, rope]`",
    ).made_by(
        lambda head_dim, base, turned_pairs, factor: np.roll(
            turning(turned_pairs, spectrum(head_dim, base)) / factor, head_dim // 2 - turned_pairs
        )
    ),
    Mistake(
        "slow-pairs-at-the-last-frequency",
        does="turns the slow pairs as the last one that turns",
        should="leave them as they are",
        fix="fill up with zeros, not with the last number",
        origin="in the style of lists that are padded with their last entry",
    ).made_by(
        lambda head_dim, base, turned_pairs, factor: (
            turning(turned_pairs, spectrum(head_dim, base), spectrum(head_dim, base)[turned_pairs - 1]) / factor
        )
    ),
    Mistake(
        "slow-pairs-at-frequency-one",
        does="turns the slow pairs by 1 radian per position",
        should="leave them as they are",
        fix="fill up the frequencies with zeros, not the exponents",
        origin="in the style of exponents that are padded before the power",
    ).made_by(lambda head_dim, base, turned_pairs, factor: turning(turned_pairs, spectrum(head_dim, base), 1.0) / factor),
    Mistake(
        "one-pair-too-many",
        does="turns one pair more",
        should="turn as many as asked for",
        fix="cut the number of pairs down, never up",
        origin="in the style of shares that are rounded up",
    ).made_by(lambda head_dim, base, turned_pairs, factor: turning(turned_pairs + 1, spectrum(head_dim, base)) / factor),
    Mistake(
        "one-pair-too-few",
        does="turns one pair less",
        should="turn as many as asked for",
        fix="start pairs at 0 and end before turned_pairs",
        origin="in the style of ranges that are off by one",
    ).made_by(lambda head_dim, base, turned_pairs, factor: turning(turned_pairs - 1, spectrum(head_dim, base)) / factor),
    Mistake(
        "twice-as-many-pairs",
        does="turns as many pairs as channels should turn",
        should="turn half as many pairs as channels",
        fix="multiply the share by half of head_dim",
        origin="in the style of pairs and channels confused",
    ).made_by(lambda head_dim, base, turned_pairs, factor: turning(2 * turned_pairs, spectrum(head_dim, base)) / factor),
    Mistake(
        "half-as-many-pairs",
        does="turns half as many pairs",
        should="turn turned_pairs of them",
        fix="don't divide by 2 twice",
        origin="in the style of pairs and channels confused",
    ).made_by(lambda head_dim, base, turned_pairs, factor: turning(turned_pairs // 2, spectrum(head_dim, base)) / factor),
)

PAIRED_IN_THE_PART = Mistake(
    "paired-in-the-part",
    does="pairs the first channels with one another",
    should="pair channels over the whole head: half a head apart in the layout of halves",
    fix="turn the whole head, with frequencies of 0",
    threads=("https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/4195", "https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/4916"),
)
PARTIAL = Mistake(
    "partial",
    does="turns the first channels as a head of their own: partial_rope",
    should="take frequencies and pairs of the whole head",
    fix="tell rope_type 'proportional' from 'default', which read the same partial_rotary_factor",
    threads=("https://github.com/apple/coreai-models/issues/66",),
)


def mutants() -> Iterator[Mutant]:
    """Return all mutants of proportional rope."""
    for mistake, ladder in LADDERS:
        yield from of_ladder(SCHEME, mistake, ladder)
    yield PAIRED_IN_THE_PART.at(f"{SCHEME}.rotate", in_the_part(right(SCHEME)))
    yield PARTIAL.at(f"{SCHEME}.rotate", in_the_part(part))
    yield from inherited(SCHEME, {})
