"""What goes wrong with YaRN: the band, the ramp, the attention factor."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from conformance.mutants import yarn_softmax
from conformance.mutants.building import Mistake, altered, convention, forcing
from conformance.mutants.composing import assembled
from conformance.mutants.rotary import Rotary
from conformance.mutants.yarn_factor import FACTOR_MISTAKES, FACTOR_ONLY_MISTAKES, factor_function, slopes
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import rope, yarn

FREQUENCIES, FACTOR, ROTATE = "yarn.frequencies", "yarn.attention_factor", "yarn.rotate"
ROUNDED_BAND = "https://github.com/apache/tvm/pull/18576"
BANDS = {True: (ROUNDED_BAND,), False: (ROUNDED_BAND, "https://github.com/keras-team/keras-hub/pull/2981")}
Band = tuple[float, float]
BETAS_IGNORED = {"beta_fast": 32.0, "beta_slow": 1.0}


def corrections(head_dim: int, base: float, original_length: int, turns: Band) -> Band:
    """Return the real pair indices at which that many turns fit."""
    fast, slow = (head_dim * math.log(original_length / (2 * math.pi * n)) / (2 * math.log(base)) for n in turns)
    return fast, slow


def right_band(head_dim: int, base: float, original_length: int, turns: Band, *, truncate: bool) -> Band:
    """Return the right band."""
    return yarn.band(head_dim, base, original_length, turns, truncate=truncate)


def half_clamped(head_dim: int, base: float, original_length: int, turns: Band, *, truncate: bool) -> Band:
    """Clamp the upper edge at the last pair."""
    low, high = right_band(head_dim, base, original_length, turns, truncate=truncate)
    return low, min(high, head_dim // 2 - 1)


def unclamped(head_dim: int, base: float, original_length: int, turns: Band, *, truncate: bool) -> Band:
    """Clamp nothing."""
    low, high = corrections(head_dim, base, original_length, turns)
    return (math.floor(low), math.ceil(high)) if truncate else (low, high)


def doubled(head_dim: int, base: float, original_length: int, turns: Band, *, truncate: bool) -> Band:
    """Divide by ln(base) instead of 2 ln(base)."""
    return right_band(head_dim, math.sqrt(base), original_length, turns, truncate=truncate)


def swapped(head_dim: int, base: float, original_length: int, turns: Band, *, truncate: bool) -> Band:
    """Swap the two betas."""
    low, high = corrections(head_dim, base, original_length, (turns[1], turns[0]))
    low, high = (math.floor(low), math.ceil(high)) if truncate else (low, high)
    return max(low, 0), min(high, head_dim - 1)


def of_default_base(head_dim: int, base: float, original_length: int, turns: Band, *, truncate: bool) -> Band:  # noqa: ARG001  that is the mistake
    """Compute the band for base 10000."""
    return right_band(head_dim, 10_000.0, original_length, turns, truncate=truncate)


Blend = Callable[[Array, Array, float], Array]


def mixed(plain: Array, slowed: Array, factor: float) -> Array:
    """Return the right blend."""
    return plain / factor * slowed + plain * (1.0 - slowed)


@assembled
def frequencies(*, band: Callable[..., Band] = right_band, blend: Blend = mixed) -> Callable[..., Array]:
    """Return frequencies with another band or another blend."""

    def made(
        *, head_dim: int, base: float, factor: float, original_length: int, beta_fast: float, beta_slow: float, truncate: bool
    ) -> Array:
        low, high = band(head_dim, base, original_length, (beta_fast, beta_slow), truncate=truncate)
        width = high - low if high != low else 0.001
        slowed = np.clip((np.arange(head_dim // 2) - low) / width, 0.0, 1.0)
        return blend(rope.frequencies(head_dim=head_dim, base=base, like=np.zeros(1)), slowed, factor)

    return made


def by_turns(
    *,
    head_dim: int,
    base: float,
    factor: float,
    original_length: int,
    beta_fast: float,
    beta_slow: float,
    truncate: bool,  # noqa: ARG001  the operation's signature
) -> Array:
    """Return the paper's own blend: linear in the number of turns."""
    plain = rope.frequencies(head_dim=head_dim, base=base, like=np.zeros(1))
    kept = np.clip((original_length * plain / (2 * math.pi) - beta_slow) / (beta_fast - beta_slow), 0.0, 1.0)
    return mixed(plain, 1.0 - kept, factor)


FREQUENCY_MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    Mistake(
        "ramp-inverted",
        does="inverts the ramp: fast pairs are slowed and slow ones kept",
        should="keep fast pairs and slow the slow ones",
        fix="use 1 - ramp",
        origin="litgpt 0.5.13, build_rope_cache",
    ).made_by(frequencies(blend=lambda plain, slowed, factor: mixed(plain, 1.0 - slowed, factor))),
    Mistake(
        "all-interpolated",
        does="divides every frequency by the factor: position interpolation",
        should="blend by the ramp",
        fix="apply the ramp per pair",
        threads=("https://github.com/rasbt/LLMs-from-scratch/issues/939",),
        origin="in the style of the thread: positions divided",
    ).made_by(frequencies(blend=lambda plain, _, factor: plain / factor)),
    Mistake(
        "not-scaled",
        does="keeps the frequencies of plain rope",
        should="blend by the ramp",
        fix="read rope_type and rope_scaling in every spelling",
        threads=(
            "https://github.com/lablup/mlxcel/issues/1355",
            "https://github.com/sgl-project/sglang/pull/26187",
            "https://github.com/sgl-project/sglang/pull/30050",
            "https://github.com/NVIDIA-NeMo/Automodel/pull/2103",
        ),
    ).made_by(frequencies(blend=lambda plain, *_: plain)),
    Mistake(
        "blend-geometric",
        does="blends geometrically",
        should="blend linearly",
        fix="add the two frequencies with weights ramp and 1 - ramp",
        origin="the yarn_log variant of a Grok-1 port",
    ).made_by(frequencies(blend=lambda plain, slowed, factor: plain * factor**-slowed)),
    Mistake(
        "ramp-times-factor",
        does="multiplies the ramp by the factor",
        should="leave the ramp as it is",
        fix="write 1 as the ramp's weight (ext_factor in llama.cpp), not the scaling factor",
        threads=("https://github.com/ikawrakow/ik_llama.cpp/pull/2003",),
    ).made_by(frequencies(blend=lambda plain, slowed, factor: mixed(plain, 1.0 - factor * (1.0 - slowed), factor))),
    Mistake(
        "high-clamped-at-half",
        does="clamps the upper edge of the band at head_dim / 2 - 1",
        should="clamp it at head_dim - 1",
        fix="clamp at head_dim - 1, unless the weights were trained with this",
        threads=("https://github.com/jingyaogong/minimind/issues/602", "https://github.com/keras-team/keras-hub/pull/2981"),
        kind="convention",
    ).made_by(frequencies(band=half_clamped)),
    Mistake(
        "band-not-clamped",
        does="doesn't clamp the band to the pairs there are",
        should="clamp it to 0 ... head_dim - 1",
        fix="clamp both edges",
        threads=("https://github.com/pytorch/torchtitan/pull/4215",),
        origin="in the style of the thread: an edge of exactly 0",
    ).made_by(frequencies(band=unclamped)),
    Mistake(
        "band-without-two",
        does="divides by ln(base) instead of 2 ln(base): the band lies twice as far",
        should="divide by 2 ln(base)",
        fix="divide by 2 ln(base)",
        origin="in the style of formulas copied without a term",
    ).made_by(frequencies(band=doubled)),
    Mistake(
        "betas-swapped",
        does="swaps beta_fast and beta_slow",
        should="start the band where beta_fast turns fit",
        fix="swap the two",
        origin="in the style of parameters passed in the wrong order",
    ).made_by(frequencies(band=swapped)),
    Mistake(
        "band-of-default-base",
        does="computes the band for base 10000",
        should="use the model's base",
        fix="pass base (rope_theta) to the band too",
        threads=("https://github.com/sgl-project/SpecForge/issues/265",),
        origin="in the style of the thread: base ignored, in the band only",
    ).made_by(frequencies(band=of_default_base)),
    Mistake(
        "ramp-by-turns",
        does="computes the paper's ramp, linear in the number of turns",
        should="compute the ramp that released code uses, linear in the pair's index",
        fix="interpolate between indices, or call it NTK-by-parts",
        origin="the paper's equations 17-18 against its own code",
    ).made_by(by_turns),
    Mistake(
        "betas-ignored",
        does="uses betas 32 and 1 whatever is asked for",
        should="use beta_fast and beta_slow",
        fix="pass the betas through",
        threads=("https://github.com/GaijinEntertainment/daScript/pull/3479",),
    ).made_by(forcing(FREQUENCIES, BETAS_IGNORED)),
    Mistake(
        "stretched-length",
        does="uses the stretched length for the original one",
        should="use original_length",
        fix="pass original_max_position_embeddings, not max_position_embeddings",
        threads=("https://github.com/huggingface/transformers/issues/38224",),
        origin="in the style of: the thread confuses the two lengths",
    ).made_by(altered(FREQUENCIES, parameters=lambda p: {**p, "original_length": math.ceil(p["original_length"] * p["factor"])})),
)


INTERLEAVED_MISSING = Mistake(
    "factor-missing-in-one-layout",
    does="multiplies by the attention factor in the half layout only",
    should="multiply in every layout",
    fix="multiply cosine and sine before the code splits by layout",
    threads=("https://github.com/GaijinEntertainment/daScript/pull/3479",),
)
POSITIONS_DIVIDED = Mistake(
    "positions-divided",
    does="divides positions by the factor and stops at the original length",
    should="blend the frequencies and leave positions alone",
    fix="apply the ramp per pair",
    threads=("https://github.com/rasbt/LLMs-from-scratch/issues/939",),
)


def missing_in_interleaved(x: Array, positions: Array, *, layout: str, **parameters: Any) -> Array:
    """Forget the factor where pairs are neighbours."""
    rotary = Rotary() if layout == "half" else Rotary(size=factor_function(lambda *_: 1.0))
    return rotary.of(ROTATE)(x, positions, layout=layout, **parameters)


def divided(positions: Array, rule: Mapping[str, Any]) -> Array:
    """Return ``min(p / factor, original_length - 1)``."""
    return np.minimum(positions / rule["factor"], rule["original_length"] - 1)


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong beyond the slots of a rotation."""
    for operation in (FREQUENCIES, ROTATE):
        yield from (convention(operation, "truncate", value, threads) for value, threads in BANDS.items())
    for mistake, theta in FREQUENCY_MISTAKES:
        yield mistake.at(FREQUENCIES, theta)
        yield mistake.at(ROTATE, Rotary(theta=theta).of(ROTATE))
    for mistake, size in FACTOR_MISTAKES:
        yield mistake.at(FACTOR, factor_function(size))
        yield mistake.at(ROTATE, Rotary(size=factor_function(size)).of(ROTATE))
    yield from (*slopes(FACTOR), *slopes(ROTATE))
    yield from yarn_softmax.mutants()
    for mistake, size in FACTOR_ONLY_MISTAKES:
        yield mistake.at(FACTOR, factor_function(size))
    yield INTERLEAVED_MISSING.at(ROTATE, missing_in_interleaved)
    yield POSITIONS_DIVIDED.at(ROTATE, Rotary(theta=frequencies(blend=lambda plain, *_: plain), move=divided).of(ROTATE))
