"""Dynamic NTK scaling: raise the base of rope by a factor that grows with the sequence, once that is longer than in training."""

import math
from typing import Annotated, Literal

from refimpl.arrays import Array
from refimpl.cases.dynamic_ntk import CASES
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary, Stretch
from refimpl.schemes import rope
from refimpl.schemes.ntk_aware import Width, raised
from refimpl.spec import Count, Law, Positive, Scheme, Source, operation

Growth = Literal["tokens", "doublings"]


def lasting(original_length: int, length: int, growth: Growth = "tokens") -> int:
    """Return the length that counts, ``n = max(length, L)``, or by doublings ``2^k L``, ``k = ceil(log2(n / L))``."""
    longer = max(length, original_length)
    return original_length * 2 ** math.ceil(math.log2(longer / original_length)) if growth == "doublings" else longer


def stretch(factor: float, original_length: int, length: int, growth: Growth = "tokens") -> float:
    """Return ``factor n / L - (factor - 1)``: 1 up to the original length ``L``, then linear in the length ``n`` that counts."""
    return 1.0 + factor * (lasting(original_length, length, growth) - original_length) / original_length


@operation
def frequencies(
    *,
    head_dim: Width,
    base: Positive = 10_000.0,
    factor: Stretch = 1.0,
    original_length: Count,
    length: Count,
    growth: Growth = "tokens",
    like: Array,
) -> Annotated[Array, "pair"]:
    """Return NTK-aware frequencies for the factor ``s = factor n / L - (factor - 1)``, ``n = max(length, L)`` (section 3.3).

    With ``factor`` 1 this is the paper's ``s = max(1, length / L)``; other factors are those of released code. By doublings ``n`` is the
    shortest ``2^k L`` that is no shorter than the sequence, so that with ``factor`` 2 the stretch is ``2^(k + 1) - 1``.
    """
    stretched = stretch(factor, original_length, length, growth)
    return rope.frequencies(head_dim=head_dim, base=raised(base, stretched, head_dim), like=like)


FORM = Rotary(frequencies)
rotate = FORM.operation(
    rotary.rotate, "Turn ``x`` by the frequencies of a sequence of that length: ``R_p x`` (eq. 14-16), in the dtype of ``x``."
)
weights, attend = FORM.weights(), FORM.attend()


SCHEME = Scheme(
    name="dynamic_ntk",
    operations=(frequencies, rotate, weights, attend),
    source=Source("Peng et al. 2023, YaRN", "https://arxiv.org/abs/2309.00071", equations="section 3.3"),
    laws={
        "frequencies": (Law.RATIO_FALLS, Law.PLAIN_WITHIN_LENGTH, Law.SLOWS_WITH_LENGTH),
        "rotate": (*rotary.LAWS, Law.PLAIN_WITHIN_LENGTH, Law.INCONSISTENT_CACHE),
        **rotary.ATTENTION_LAWS,
    },
    cases=CASES,
    summary="RoPE whose base rises with the length of the sequence, beyond the length of training.",
    meanings={
        **rotary.MEANINGS,
        **rotary.ATTENTION_MEANINGS,
        "head_dim": "the channels of one head that turn, at least 4, since the exponent divides by head_dim - 2",
        "factor": "how fast the stretch grows with the length, a pure number, at least 1; the paper has 1",
        "original_length": "the positions that pre-training saw, in tokens: max_position_embeddings in released code",
        "length": "the tokens of the whole sequence, usually the largest position plus 1: it sets the base, and nothing else",
        "growth": "whether the base rises with every token, or when the sequence has outgrown another doubling of the original length",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): no released model with it is known",
        "layout=half": "pairs (j, j + head_dim / 2): transformers' Llama with rope_type 'dynamic'",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: transformers' DeepSeek-V3 with rope_type 'dynamic'",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): nearly all code",
        "direction=negative": "clockwise: nanochat's helper, which transformers keeps in its port",
        "growth=tokens": "the length itself: the paper, transformers",
        "growth=doublings": "the length rounded up to a doubling of the original one, with factor 2: Qwen's first models",
    },
    notes=(
        (
            "Keys that were turned in a shorter sequence don't fit queries of a longer one, since the base has changed between: a cache "
            "must hold keys before they are turned (https://github.com/huggingface/transformers/issues/25104). The law 'inconsistent "
            "cache' demands the difference."
        ),
        (
            "What counts as the length differs. transformers takes the largest position of the batch plus 1, keeps the longest one seen "
            "until a sequence within the original length comes, and only then starts again. vLLM computes once, for original_length * "
            "factor, so that short prompts are slowed too (https://github.com/vllm-project/vllm/issues/5093): that is NTK-aware scaling by "
            "factor^2 - (factor - 1)."
        ),
        (
            "Qwen's first models write the stretch as max(1, 2^ceil(log2(n / L) + 1) - 1), with use_dynamic_ntk and seq_length in their "
            "configuration (https://huggingface.co/Qwen/Qwen-7B/blob/main/modeling_qwen.py, get_ntk_alpha). It is 1, 3, 7, 15: factor 2 by "
            "doublings. While tokens are added to a cache, they keep the stretch of the prompt."
        ),
        "A configuration that says 'dynamic' and has an `alpha` means NTK-aware scaling by alpha at every length (HunYuan).",
    ),
    layer=rotary.layer(rotate, original_length=4_096, length=8_192),
)
