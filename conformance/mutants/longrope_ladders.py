"""What goes wrong where LongRoPE divides every frequency by a factor of its own."""

from collections.abc import Callable

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.rope import FREQUENCY_MISTAKES
from conformance.mutants.rotary import Rotary, spectrum
from conformance.mutants.rounding import to
from refimpl.arrays import Array

#: Frequencies from the width of a head, the base and a list of factors.
Ladder = Callable[[int, float, Array], Array]


def slowed(head_dim: int, base: float, factors: Array) -> Array:
    """Return the right frequencies."""
    return spectrum(head_dim, base) / factors


def with_factors(change: Callable[[Array], Array]) -> Ladder:
    """Return frequencies divided by other factors."""
    return lambda head_dim, base, factors: slowed(head_dim, base, change(factors))


def of_other_rope(rotary: Rotary) -> Ladder:
    """Return the frequencies of another rope, divided by the factors."""
    return lambda head_dim, base, factors: rotary.spectrum(head_dim, base) / factors


OWN_MISTAKES: tuple[tuple[Mistake, Ladder], ...] = (
    Mistake(
        "factors-ignored",
        does="ignores the factors: plain rope",
        should="divide every frequency by its factor",
        fix="read long_factor and short_factor in every spelling of the configuration, and keep them when converting",
        threads=("https://github.com/ggml-org/llama.cpp/issues/24820",),
    ).made_by(lambda head_dim, base, _: spectrum(head_dim, base)),
    Mistake(
        "multiplied",
        does="multiplies frequencies by their factors",
        should="divide them",
        fix="divide by the factors: 1 / (factor * base^(2 j / d))",
        origin="in the style of MLX's rope, which takes periods where others take frequencies",
    ).made_by(lambda head_dim, base, factors: spectrum(head_dim, base) * factors),
    Mistake(
        "factors-in-the-base",
        does="multiplies the base by the factor before the power",
        should="divide the finished frequency",
        fix="take the power first",
        threads=("https://github.com/keras-team/keras-hub/pull/1605",),
        origin="reported for a constant factor",
    ).made_by(lambda head_dim, base, factors: (base * factors) ** (-2.0 * np.arange(head_dim // 2) / head_dim)),
    Mistake(
        "factors-shifted",
        does="gives every pair the next one's factor",
        should="start with the fastest pair",
        fix="count factors from zero",
        origin="in the style of the off-by-one pair counts",
    ).made_by(with_factors(lambda factors: np.roll(factors, -1))),
    Mistake(
        "factors-reversed",
        does="reads the list from the slowest pair",
        should="start with the fastest pair",
        fix="don't reverse the list",
        origin="in the style of ladders that are built from either end",
    ).made_by(with_factors(lambda factors: factors[::-1])),
    Mistake(
        "one-factor-for-all",
        does="divides every frequency by the last factor: position interpolation",
        should="divide each by its own",
        fix="multiply elementwise",
        origin="in the style of a factor that is taken for a scalar",
    ).made_by(with_factors(lambda factors: np.full_like(factors, factors[-1]))),
    Mistake(
        "mean-factor",
        does="divides every frequency by the mean of the factors",
        should="divide each by its own",
        fix="multiply elementwise",
        origin="in the style of a factor that is taken for a scalar",
    ).made_by(with_factors(lambda factors: np.full_like(factors, np.mean(factors)))),
    Mistake(
        "fastest-pair-kept",
        does="leaves the fastest pair as it was",
        should="divide it by its factor too",
        fix="apply the whole list",
        origin="in the style of the NTK scalings, whose first pair is untouched",
    ).made_by(with_factors(lambda factors: np.where(np.arange(factors.size) == 0, 1.0, factors))),
    Mistake(
        "factors-cut-to-integers",
        does="cuts factors to integers",
        should="divide by them as they are",
        fix="read factors as floats",
        origin="in the style of lists that are parsed as integers",
    ).made_by(with_factors(lambda factors: np.maximum(1.0, np.floor(factors)))),
    Mistake(
        "factors-clipped-at-one",
        does="takes factors below 1 for 1",
        should="divide by them as they are",
        fix="allow any positive factor",
        origin="the paper's search starts at 1.0, so that a loader may enforce it",
    ).made_by(with_factors(lambda factors: np.maximum(1.0, factors))),
    Mistake(
        "factors-sorted",
        does="sorts the factors",
        should="keep the order of the list",
        fix="don't sort",
        origin="the paper's search is monotone, so that a loader may enforce it",
    ).made_by(with_factors(np.sort)),
    Mistake(
        "factors-squared",
        does="divides frequencies and positions by the factors",
        should="divide once",
        fix="scale in one place only",
        threads=("https://github.com/NVIDIA/TensorRT-LLM/pull/16378",),
        origin="in the style of the thread: rotated twice",
    ).made_by(with_factors(np.square)),
    Mistake(
        "bfloat16-factors",
        does="rounds the factors to bfloat16",
        should="keep them as they are",
        fix="keep the lists in float32 when the model is cast",
        threads=("https://github.com/EleutherAI/gpt-neox/issues/1003",),
        kind="precision",
        origin="in the style of code that computes everything in the model's dtype",
    ).made_by(with_factors(to("bfloat16"))),
)

#: Together with what goes wrong in rope's own frequencies.
LADDER_MISTAKES = (*OWN_MISTAKES, *((mistake, of_other_rope(rotary)) for mistake, rotary in FREQUENCY_MISTAKES))
