"""LongRoPE: a searched factor for every pair of rope, as the paper has it and as released models compute it.

Released models have two lists of factors and choose one by the length of the sequence: a cache that crosses the switch is inconsistent.
"""

import math
from typing import Annotated

from refimpl.arrays import Array, array_namespace, cast_like, exact_float64, row
from refimpl.cases.longrope import CASES
from refimpl.forms import rotary
from refimpl.forms.rotary import Direction, Layout, Rotary
from refimpl.schemes import rope
from refimpl.spec import Count, EvenCount, Law, Number, Positions, Positive, Scheme, Source, operation

Factors = Annotated[Array, "pair"]
FromZero = Annotated[int, Number(minimum=0)]
FromTwo = Annotated[int, Number(minimum=2)]


def slowed(name: str, factors: Array, head_dim: int, base: float) -> Array:
    """Return ``theta_j / lambda_j`` in float64, or raise where a factor isn't positive and finite."""
    xp = array_namespace(factors)
    for extreme in (xp.min(factors), xp.max(factors)):
        Number(above=0.0).check(name, float(extreme))
    return rope.frequencies(head_dim=head_dim, base=base, like=factors) / exact_float64(factors)


def chosen(
    short_factors: Factors,
    long_factors: Factors,
    *,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    original_length: FromTwo,
    length: Count,
) -> Array:
    """Return the frequencies of a sequence of that length in float64: the long factors count beyond the original length."""
    short = slowed("short_factors", short_factors, head_dim, base)
    long = slowed("long_factors", long_factors, head_dim, base)
    return long if length > original_length else short


@operation
def frequencies(
    short_factors: Factors,
    long_factors: Factors,
    *,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    original_length: Count,
    length: Count,
) -> Factors:
    """Return ``theta_j / lambda_j``, with the long factors where ``length > original_length``, else the short ones, in their dtype.

    This is what released models compute (``inv_freq = 1 / (factor * base^(2 j / head_dim))`` in Phi-3).
    """
    exact = chosen(short_factors, long_factors, head_dim=head_dim, base=base, original_length=original_length, length=length)
    return cast_like(exact, short_factors)


@operation
def attention_factor(
    *,
    original_length: FromTwo,
    max_length: Count,
    length: Count = 1,
    short_mscale: Positive | None = None,
    long_mscale: Positive | None = None,
) -> float:
    """Return what multiplies cosine and sine: ``sqrt(1 + ln(M / L) / ln L)`` from ``L`` to ``M > L`` positions, else 1 (Phi-3).

    It has no value for an original length of 1, whose logarithm is 0. A number that is given replaces it: ``short_mscale`` up to the
    original length, ``long_mscale`` beyond (Phi-3.5-MoE).
    """
    given = long_mscale if length > original_length else short_mscale
    if given is not None:
        return float(given)
    if max_length <= original_length:
        return 1.0
    return math.sqrt(1.0 + math.log(max_length / original_length) / math.log(original_length))


FORM = Rotary(chosen, attention_factor)
rotate = FORM.operation(
    rotary.rotate,
    "Turn ``x`` by the frequencies of a sequence of that length and multiply it by the attention factor (Phi-3), in the dtype of ``x``.",
)
weights, attend = FORM.weights(), FORM.attend()


@operation
def rotate_searched(
    x: Annotated[Array, "batch head token head_dim"],
    positions: Positions,
    factors: Factors,
    *,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
    start_tokens: FromZero,
) -> Annotated[Array, "batch head token head_dim"]:
    """Turn ``x`` by ``p theta_j`` before position ``start_tokens``, from there on by ``p theta_j / lambda_j`` (eq. 3)."""
    rest, xp = slowed("factors", factors, head_dim, base), array_namespace(positions)
    start = rope.frequencies(head_dim=head_dim, base=base, like=positions)
    angles = exact_float64(positions)[..., None] * xp.where(positions[..., None] < start_tokens, start, rest)
    return rotary.turned(x, xp.cos(angles), xp.sin(angles), layout=layout, direction=direction)


def two_lists(head_dim: int, like: Array) -> tuple[Array, Array]:
    """Return short factors of 1, and long ones that grow by a quarter from pair to pair."""
    pairs = range(head_dim // 2)
    return row([1.0 for _ in pairs], like=like), row([1.0 + j / 4 for j in pairs], like=like)


TURNING = (Law.LINEAR, Law.ISOMETRY, Law.IDENTITY_AT_ORIGIN, Law.INVERSE, Law.REDUCES_TO_ROPE, Law.STEPWISE, Law.HEADS)

SCHEME = Scheme(
    name="longrope",
    operations=(frequencies, attention_factor, rotate, weights, attend, rotate_searched),
    source=Source(
        "Ding et al. 2024, LongRoPE, and the code of Phi-3",
        "https://arxiv.org/abs/2402.13753",
        equations="3",
    ),
    laws={
        "frequencies": (Law.REDUCES_TO_ROPE, Law.INTERPOLATES, Law.SWITCHES),
        "attention_factor": (Law.OVERRIDE, Law.REDUCES_TO_ROPE, Law.GROWS, Law.STRETCHES_ADD),
        "rotate": (*TURNING, Law.COMPOSITION, Law.RELATIVE, Law.INTERPOLATES, Law.SWITCHES, Law.INCONSISTENT_CACHE),
        "rotate_searched": TURNING,
        **rotary.ATTENTION_LAWS,
    },
    cases=CASES,
    summary="RoPE with a factor for each pair; sequences longer than the original length use a second list of factors.",
    meanings={
        **rotary.MEANINGS,
        **rotary.ATTENTION_MEANINGS,
        "short_factors": "what divides every pair's frequency up to the original length, pure numbers greater than 0, fastest pair first",
        "long_factors": "what divides every pair's frequency beyond the original length, pure numbers greater than 0, fastest pair first",
        "factors": "what divides every pair's frequency from start_tokens on, pure numbers greater than 0, fastest pair first",
        "original_length": "the positions that pre-training saw, in tokens",
        "length": (
            "the tokens of the whole sequence, usually the largest position plus 1: it chooses the list of factors, and the attention "
            "factor of those that are given"
        ),
        "max_length": "the positions that the model is offered for, in tokens; it sets the attention factor where none is given",
        "short_mscale": "what multiplies cosine and sine up to the original length in place of the computed factor, a pure number",
        "long_mscale": "what multiplies cosine and sine beyond the original length in place of the computed factor, a pure number",
        "start_tokens": "how many positions at the start keep rope's own frequencies, in tokens",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): the paper's rope, ggml's mode 0 with freq_factors",
        "layout=half": "pairs (j, j + head_dim / 2): Phi-3 in transformers, ggml's mode 2 with freq_factors",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: transformers' DeepSeek-V3 with rope_type 'longrope'",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): Phi-3 and nearly all code",
        "direction=negative": "clockwise: nanochat's helper in transformers, which takes rope_type 'longrope' too",
    },
    notes=(
        (
            "The paper keeps start_tokens positions unscaled and has one list of factors (rotate_searched); released models have no start "
            "and two lists (rotate)."
        ),
        (
            "The attention factor, sqrt(1 + ln(M / L) / ln L), is the same number as sqrt(ln M / ln L): 1.1902380714 from 4096 to 131072 "
            "positions. It multiplies with the short factors too, so even a short prompt is scaled. Phi-3.5-MoE gives a factor for each of "
            "its two lists instead (short_mscale, long_mscale); attention_factor in a configuration is one for both."
        ),
        (
            "Keys that were cached with the short factors don't fit queries with the long ones. Once a sequence grows beyond the original "
            "length its cache must be computed again, as transformers' Phi-3 does "
            "(https://github.com/huggingface/transformers/pull/33129), or the list must be chosen once for the whole sequence, as vLLM "
            "does (https://github.com/vllm-project/vllm/pull/27431). The law 'inconsistent cache' demands the difference."
        ),
        (
            "What counts as the length differs: transformers takes the largest position of the batch plus 1, so that one long row switches "
            "all rows; vLLM takes the longest length that the server was started for; mlx-lm took the long factors at any length "
            "(https://github.com/ml-explore/mlx-lm/pull/660)."
        ),
        (
            "Rotations by rotate_searched don't compose: a shift that crosses start_tokens changes the angle between two tokens, so the "
            "laws composition and relative aren't claimed."
        ),
    ),
    layer=rotary.layer(rotate, two_lists, original_length=4_096, length=8_192, max_length=8_192),
)
