"""What goes wrong with position interpolation: the factor, where it is applied, and which pairs it reaches."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.rotary import Rotary, spectrum
from conformance.mutants.rounding import to
from conformance.mutants.stretched import Ladder, factors, ladders, of_ladder
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

SCHEME, ROTATE = "position_interpolation", "position_interpolation.rotate"


def per_pair(factors: Callable[[Array, float], Array]) -> Ladder:
    """Return frequencies that each pair's share of the head and the factor divide."""
    return lambda head_dim, base, factor: spectrum(head_dim, base) / factors(np.arange(head_dim // 2) / (head_dim // 2), factor)


LADDER_MISTAKES: tuple[tuple[Mistake, Ladder], ...] = (
    Mistake(
        "factor-in-the-base",
        does="multiplies the base by the factor, which leaves the fast pairs as they were",
        should="divide every frequency by the factor",
        fix="divide the positions, or the finished frequencies",
        threads=("https://github.com/keras-team/keras-hub/pull/1605",),
    ).made_by(lambda head_dim, base, factor: spectrum(head_dim, base * factor)),
    Mistake(
        "ntk-aware",
        does="changes the base to base factor^(d / (d - 2)): NTK-aware scaling",
        should="divide every frequency by the factor",
        fix="tell rope_type 'linear' from the NTK types",
        threads=("https://github.com/ml-explore/mlx-lm/pull/1553",),
        origin="in the style of the thread: scale and factor confused",
    ).made_by(per_pair(lambda share, factor: factor ** (share * share.size / max(1, share.size - 1)))),
    Mistake(
        "fastest-pair-kept",
        does="leaves the fastest pair as it was",
        should="divide every pair",
        fix="divide the frequencies of all pairs",
        origin="in the style of the keras-hub ladder, whose first power is always 1",
    ).made_by(per_pair(lambda share, factor: np.where(share == 0.0, 1.0, factor))),
    Mistake(
        "fast-half-kept",
        does="divides the slower half of the pairs only",
        should="divide every pair",
        fix="divide the frequencies of all pairs",
        origin="in the style of scalings by parts",
    ).made_by(per_pair(lambda share, factor: np.where(share < 0.5, 1.0, factor))),
    Mistake(
        "slow-half-kept",
        does="divides the faster half of the pairs only",
        should="divide every pair",
        fix="divide the frequencies of all pairs",
        origin="in the style of tables that hold every frequency twice, one half of them scaled",
    ).made_by(per_pair(lambda share, factor: np.where(share >= 0.5, 1.0, factor))),
)

PLACE_MISTAKES: tuple[tuple[Mistake, Callable[[Array, float], Array]], ...] = (
    Mistake(
        "positions-divided-as-integers",
        does="divides positions as integers: neighbours share a place",
        should="divide them as real numbers",
        fix="convert positions to a float before the division",
        threads=("https://github.com/huggingface/transformers/pull/48669",),
        origin="in the style of the thread: a fraction cut before the product",
    ).made_by(np.floor_divide),
    Mistake(
        "positions-rounded",
        does="rounds divided positions to the nearest whole one",
        should="keep their fraction",
        fix="don't look divided positions up in a table of whole ones",
        origin="in the style of tables indexed by position",
    ).made_by(lambda positions, factor: np.round(positions / factor)),
    Mistake(
        "bfloat16-places",
        does="rounds divided positions to bfloat16",
        should="keep them in float32 or wider",
        fix="divide in float32, outside autocast",
        threads=("https://github.com/EleutherAI/gpt-neox/issues/1003",),
        kind="precision",
        origin="in the style of code that computes everything in the model's dtype",
    ).made_by(lambda positions, factor: to("bfloat16")(positions / factor)),
    Mistake(
        "float16-places",
        does="rounds divided positions to float16",
        should="keep them in float32 or wider",
        fix="divide in float32, outside autocast",
        threads=("https://github.com/huggingface/transformers/pull/29285",),
        kind="precision",
        origin="in the style of the thread: angles under autocast",
    ).made_by(lambda positions, factor: to("float16")(positions / factor)),
    Mistake(
        "short-contexts-unscaled",
        does="divides only where a position exceeds 4096, the length of training",
        should="divide every position by the same factor",
        fix="scale whatever the length is: a position's angle must not depend on its size",
        origin="in the style of dynamic scalings",
    ).made_by(lambda positions, factor: np.where(positions < 4_096, positions, positions / factor)),
)


def moved(place: Callable[[Array, float], Array]) -> Rotary:
    """Return a rotation of plain rope to positions that are divided in another way."""
    return Rotary(theta=lambda head_dim, base, **_: spectrum(head_dim, base), move=lambda p, rule: place(p, rule["factor"]))


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong beyond the slots of a rotation."""
    for mistake, ladder in (*factors(SCHEME), *LADDER_MISTAKES, *ladders(SCHEME)):
        yield from of_ladder(SCHEME, mistake, ladder)
    for mistake, place in PLACE_MISTAKES:
        yield mistake.at(ROTATE, moved(place).of(ROTATE))
