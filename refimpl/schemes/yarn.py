"""YaRN: stretch the context by slowing the slow pairs of rope, keeping the fast ones, and warming the attention.

This is the ramp that released code uses (linear in the pair's index), not the paper's (linear in its number of turns).
"""

import math
from typing import Annotated

from refimpl.arrays import Array, arange, array_namespace, outer
from refimpl.errors import SpecificationError
from refimpl.schemes import rope
from refimpl.schemes.rope import Direction, Layout
from refimpl.spec import Case, Count, EvenCount, Law, Number, Positions, Positive, Scheme, Source, operation

Base = Annotated[float, Number(above=1.0)]
Stretch = Annotated[float, Number(minimum=1.0)]
Strength = Annotated[float, Number(minimum=0.0)]


def band(head_dim: int, base: float, original_length: int, turns: tuple[float, float], *, truncate: bool) -> tuple[float, float]:
    """Return the pairs between which frequencies are blended: where ``turns`` turns fit the original length (eq. 17-18, as coded)."""
    if turns[0] <= turns[1]:
        message = f"beta_fast must be greater than beta_slow ({turns[1]:g}), got {turns[0]!r}"
        raise SpecificationError(message)
    low, high = (head_dim * math.log(original_length / (2 * math.pi * n)) / (2 * math.log(base)) for n in turns)
    low, high = (math.floor(low), math.ceil(high)) if truncate else (low, high)
    low, high = max(low, 0), min(high, head_dim - 1)
    if low > high:
        message = f"original_length must put a pair of the head between the betas, got {original_length}"
        raise SpecificationError(message)
    return low, high


def ramp(low: float, high: float, index: Array) -> Array:
    """Return how far every pair is slowed: 0 up to ``low``, 1 from ``high``, linear between."""
    xp = array_namespace(index)
    return xp.clip((index - low) / (high - low if high > low else 0.001), 0.0, 1.0)


@operation
def frequencies(
    *,
    head_dim: EvenCount,
    base: Base = 10_000.0,
    factor: Stretch,
    original_length: Count,
    beta_fast: Positive = 32.0,
    beta_slow: Positive = 1.0,
    truncate: bool = True,
    like: Array,
) -> Annotated[Array, "pair"]:
    """Return ``theta_j ((1 - r_j) + r_j / factor)``: the ramp ``r_j`` goes from plain to interpolated rope (eq. 19-20, as coded)."""
    low, high = band(head_dim, base, original_length, (beta_fast, beta_slow), truncate=truncate)
    slowed = ramp(low, high, arange(head_dim // 2, like=like))
    plain = rope.frequencies(head_dim=head_dim, base=base, like=like)
    return plain / factor * slowed + plain * (1.0 - slowed)


def growth(factor: float, mscale: float = 1.0) -> float:
    """Return ``0.1 mscale ln(factor) + 1``, or 1 where nothing is stretched."""
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1.0 else 1.0


def chosen_factor(factor: float, mscale: float | None, mscale_all_dim: float | None, given: float | None) -> float:
    """Return the factor that is given; else the ratio of two growths if both are set and not 0; else the growth."""
    if given is not None:
        return float(given)
    if mscale and mscale_all_dim:
        return growth(factor, mscale) / growth(factor, mscale_all_dim)
    return growth(factor)


@operation
def attention_factor(
    *,
    factor: Positive,
    mscale: Strength | None = None,
    mscale_all_dim: Strength | None = None,
    attention_factor: Positive | None = None,
) -> float:
    """Return the number that multiplies cosine and sine: ``0.1 ln(factor) + 1`` unless a parameter overrides it (eq. 22)."""
    return chosen_factor(factor, mscale, mscale_all_dim, attention_factor)


@operation
def rotate(
    x: Annotated[Array, "batch head token head_dim"],
    positions: Positions,
    *,
    head_dim: EvenCount,
    base: Base = 10_000.0,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
    factor: Stretch,
    original_length: Count,
    beta_fast: Positive = 32.0,
    beta_slow: Positive = 1.0,
    truncate: bool = True,
    mscale: Strength | None = None,
    mscale_all_dim: Strength | None = None,
    attention_factor: Positive | None = None,
) -> Annotated[Array, "batch head token head_dim"]:
    """Turn ``x`` by the blended frequencies and multiply it by the attention factor (eq. 14-22), in the dtype of ``x``."""
    theta = frequencies(
        head_dim=head_dim,
        base=base,
        factor=factor,
        original_length=original_length,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        truncate=truncate,
        like=positions,
    )
    xp = array_namespace(positions)
    angles, size = outer(positions, theta), chosen_factor(factor, mscale, mscale_all_dim, attention_factor)
    return rope.apply(x, size * xp.cos(angles), size * xp.sin(angles), layout=layout, direction=direction)


CASES: tuple[Case, ...] = ()

SCHEME = Scheme(
    name="yarn",
    operations=(frequencies, attention_factor, rotate),
    source=Source("Peng et al. 2023, YaRN, and its code", "https://arxiv.org/abs/2309.00071", equations="17-22"),
    laws={
        "frequencies": (Law.BETWEEN, Law.RATIO_FALLS, Law.REDUCES_TO_ROPE),
        "attention_factor": (Law.OVERRIDE,),
        "rotate": (Law.LINEAR, Law.ISOMETRY, Law.IDENTITY_AT_ORIGIN, Law.RELATIVE, Law.REDUCES_TO_ROPE),
    },
    cases=CASES,
    summary="Rope with its slow pairs slowed for a longer context, and a factor on the attention.",
)
