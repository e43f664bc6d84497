"""YaRN: stretch the context by slowing the slow pairs of rope, keeping the fast ones, and sharpening the attention.

This is the ramp that released code uses (linear in the pair's index), not the paper's (linear in its number of turns).
"""

import math
from typing import Annotated

from refimpl.arrays import Array, arange, array_namespace
from refimpl.cases.yarn import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary, Stretch
from refimpl.schemes import rope
from refimpl.spec import Count, EvenCount, Law, Number, Positive, Scheme, Source, operation

Base = Annotated[float, Number(above=1.0)]
#: What shapes the frequencies besides the width and the base.
BAND = ("factor", "original_length", "beta_fast", "beta_slow", "truncate")
Strength = Annotated[float, Number(minimum=0.0)]


def band(head_dim: int, base: float, original_length: int, turns: tuple[float, float], *, truncate: bool) -> tuple[float, float]:
    """Return the pairs between which frequencies are blended: where ``turns`` turns fit the original length (eq. 17-18, as coded)."""
    if not (turns[0] >= turns[1] if truncate else turns[0] > turns[1]):
        message = f"beta_fast must be {'at least' if truncate else 'greater than'} beta_slow ({turns[1]:g}), got {turns[0]!r}"
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


def growth(factor: float, mscale: float = 1.0, slope: float = 0.1) -> float:
    """Return ``slope mscale ln(factor) + 1``, or 1 where nothing is stretched."""
    return slope * mscale * math.log(factor) + 1.0 if factor > 1.0 else 1.0


@operation
def attention_factor(
    *,
    factor: Positive,
    mscale: Strength | None = None,
    mscale_all_dim: Strength | None = None,
    attention_factor: Positive | None = None,
    slope: Positive = 0.1,
) -> float:
    """Return the number that multiplies cosine and sine: ``slope ln(factor) + 1`` unless a parameter overrides it (eq. 22: 0.1).

    A given ``attention_factor`` wins. Next comes the ratio of the growths ``slope m ln(factor) + 1`` of ``m = mscale`` and of
    ``m = mscale_all_dim``, if both are set and not 0.
    """
    if attention_factor is not None:
        return float(attention_factor)
    if mscale and mscale_all_dim:
        return growth(factor, mscale, slope) / growth(factor, mscale_all_dim, slope)
    return growth(factor, slope=slope)


@operation
def softmax_scale(*, qk_head_dim: Count, factor: Positive, mscale_all_dim: Strength | None = None) -> float:
    """Return what DeepSeek multiplies logits by: ``(0.1 mscale_all_dim ln(factor) + 1)^2 / sqrt(qk_head_dim)``.

    The square is 1 where mscale_all_dim isn't set or is 0 (``softmax_scale`` in modeling_deepseek.py of DeepSeek-V2 and V3,
    ``yarn_apply_mscale`` in transformers).
    """
    return growth(factor, mscale_all_dim or 0.0) ** 2 / math.sqrt(qk_head_dim)


FORM = Rotary(frequencies, attention_factor)
rotate = FORM.operation(
    rotary.rotate,
    "Turn ``x`` by the blended frequencies and multiply it by the attention factor (eq. 14-22), in the dtype of ``x``.",
)
weights, attend = FORM.weights(), FORM.attend()


SCHEME = Scheme(
    name="yarn",
    operations=(frequencies, attention_factor, softmax_scale, rotate, weights, attend),
    source=Source("Peng et al. 2023, YaRN, and its code", "https://arxiv.org/abs/2309.00071", equations="17-22"),
    laws={
        "frequencies": (Law.BETWEEN, Law.RATIO_FALLS, Law.REDUCES_TO_ROPE),
        "attention_factor": (Law.OVERRIDE, Law.REDUCES_TO_ROPE, Law.LOGARITHMIC),
        "softmax_scale": (Law.HALVES, Law.UNSTRETCHED, Law.SQUARE_OF_GROWTH),
        "rotate": (
            Law.LINEAR,
            Law.ISOMETRY,
            Law.IDENTITY_AT_ORIGIN,
            Law.COMPOSITION,
            Law.RELATIVE,
            Law.INVERSE,
            Law.REDUCES_TO_ROPE,
            Law.STEPWISE,
            Law.HEADS,
        ),
        **rotary.ATTENTION_LAWS,
    },
    cases=CASES,
    summary="RoPE with slow pairs slowed further for a longer context, and with an attention factor.",
    meanings={
        **rotary.MEANINGS,
        **rotary.ATTENTION_MEANINGS,
        "factor": "how many times longer the context becomes, a pure number: the slow pairs' frequencies are divided by it",
        "original_length": "the positions that pre-training saw, in tokens",
        "beta_fast": "the turns within the original length from which a pair keeps its frequency, a pure number",
        "beta_slow": "the turns within the original length up to which a pair is slowed by the whole factor, a pure number",
        "truncate": "whether the band's edges are rounded outwards to whole pairs",
        "mscale": "the weight of ln(factor) in the numerator of the attention factor, a pure number; counts only with mscale_all_dim",
        "mscale_all_dim": (
            "the weight of ln(factor) in the denominator of the attention factor, where it counts only with mscale, and in the scale of "
            "the softmax; a pure number"
        ),
        "qk_head_dim": "how many channels queries and keys have, those that don't turn included: qk_nope_head_dim + qk_rope_head_dim",
        "attention_factor": "what multiplies cosine and sine, a pure number; where it is given, no other parameter sets it",
        "slope": "how much of ln(factor) the attention factor grows by, a pure number",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): ggml's mode 0, so llama.cpp's Llama and DeepSeek-V2",
        "layout=half": "pairs (j, j + head_dim / 2): transformers' Llama, Qwen 2.5 and 3, gpt-oss; ggml's mode 2",
        "layout=interleaved_to_half": "reads adjacent channels, writes halves: transformers' DeepSeek-V3 (apply_rotary_pos_emb_interleave)",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): the paper's rope and nearly all code",
        "direction=negative": "clockwise: nanochat's helper in transformers, which takes rope_type 'yarn' too",
        "slope=0.1": "the attention factor is 0.1 ln(factor) + 1: the paper, and nearly all code",
        "slope=0.07": "the attention factor is 0.07 ln(factor) + 1: TeleChat3, whose rope_type is 'telechat3-yarn' "
        "(https://github.com/vllm-project/vllm/pull/33774)",
    },
    notes=(
        (
            "The paper's ramp (eq. 17-18) is linear in a pair's number of turns. That of its code, and of all released code, is linear "
            "in the pair's index: for a head of 128 that grows 16 times from 4096 positions, frequencies differ by up to 204 % (pair 38)."
        ),
        (
            "Kimi K2 has both betas 1, so both edges are one number between two pairs. Rounded outwards they are these two pairs, and no "
            "pair is blended. Without rounding the edges would coincide, and there would be no ramp."
        ),
        (
            "gpt-oss sets truncate to false; llama.cpp and mlx-lm round the edges all the same, which changes gpt-oss's frequencies by "
            "up to 76 % (pair 17)."
        ),
        "The upper edge is clamped to head_dim - 1, not to the last pair, head_dim / 2 - 1, so that the ramp may stay below 1.",
        (
            "litgpt 0.5.13 (build_rope_cache) has the ramp the wrong way round; its parity test can't see it, since it feeds its own "
            "tables to both sides."
        ),
        (
            "The attention factor multiplies cosine and sine, so logits have its square, and vectors at position 0 change too. "
            "DeepSeek-V2, V3 and Kimi K2 set mscale and mscale_all_dim alike, which makes it 1, and scale all logits by softmax_scale: "
            "those of channels that don't turn too."
        ),
        (
            "Which parameter sets the attention factor differs between releases: vLLM before "
            "https://github.com/vllm-project/vllm/pull/46280 ignored attention_factor."
        ),
        "Keys that are cached stay right as long as the factor stays what it was when they were turned.",
    ),
    layer=rotary.layer(rotate, factor=4.0, original_length=64),
)
