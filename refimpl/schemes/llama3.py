"""Llama 3's context extension: fast pairs keep their frequency, slow ones are slowed, and between the blend is linear in their turns."""

from typing import Annotated

from refimpl.arrays import Array
from refimpl.cases.llama3 import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary, Stretch
from refimpl.schemes import rope
from refimpl.schemes.ntk_by_parts import blended, kept
from refimpl.spec import Count, EvenCount, Law, Positive, Scheme, Source, operation


@operation
def frequencies(
    *,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    factor: Stretch = 8.0,
    original_length: Count = 8_192,
    low_freq_factor: Positive = 1.0,
    high_freq_factor: Positive = 4.0,
    like: Array,
) -> Annotated[Array, "pair"]:
    """Return ``(1 - t) theta_j / factor + t theta_j``, ``t = (L / lambda_j - low) / (high - low)`` within 0 and 1 (apply_scaling).

    Where both factors are one number no pair is blended: ``t`` is 1 above it, else 0. Raises where ``high`` is less than ``low``.
    """
    if high_freq_factor < low_freq_factor:
        message = f"high_freq_factor must be greater than low_freq_factor ({low_freq_factor:g}), got {high_freq_factor!r}"
        raise SpecificationError(message)
    theta = rope.frequencies(head_dim=head_dim, base=base, like=like)
    return blended(theta, factor, kept(theta, original_length, low_freq_factor, high_freq_factor))


FORM = Rotary(frequencies)
rotate = FORM.operation(rotary.rotate, "Turn ``x`` by the blended frequencies: ``R_p x`` (apply_rotary_emb), in the dtype of ``x``.")
weights, attend = FORM.weights(), FORM.attend()


SCHEME = Scheme(
    name="llama3",
    operations=(frequencies, rotate, weights, attend),
    source=Source(
        "Meta 2024, the released code of Llama 3.1", "https://github.com/meta-llama/llama-models", equations="apply_scaling in model.py"
    ),
    laws={"frequencies": rotary.SLOWING, "rotate": (*rotary.LAWS, Law.REDUCES_TO_ROPE), **rotary.ATTENTION_LAWS},
    cases=CASES,
    summary="RoPE as Llama 3.1 and later configure it: pairs that turn rarely within the original length are slowed.",
    meanings={
        **rotary.MEANINGS,
        **rotary.ATTENTION_MEANINGS,
        "factor": "how many times longer the context becomes, a pure number: the slow pairs' frequencies are divided by it",
        "original_length": "the positions that pre-training saw, in tokens (original_max_position_embeddings)",
        "low_freq_factor": "the turns within the original length up to which a pair is slowed by the whole factor, a pure number",
        "high_freq_factor": "the turns within the original length from which a pair keeps its frequency, a pure number",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): Meta's own code and its weights; torchtune",
        "layout=half": "pairs (j, j + head_dim / 2): transformers' Llama, whose weights are permuted for it; vLLM, litgpt",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: transformers' DeepSeek-V3, with rope_type 'llama3' too",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): Meta's code and nearly all other",
        "direction=negative": "clockwise: nanochat's helper, which transformers keeps in its port",
    },
    notes=(
        "It is NTK-by-parts with alpha 1 and beta 4 under other names; the frequencies are equal to the last bit of float64.",
        (
            "Llama 3.1 and 3.3 have factor 8, Llama 3.2 has 32; all have the base 500,000. Where the rule is dropped, "
            "nothing shows up to some 8,000 tokens, and then output degrades: code loads without it and no test of short texts fails "
            "(https://github.com/unslothai/unsloth/pull/6197)."
        ),
        "llama.cpp keeps the quotients theta / theta' of every pair in the model file (rope_freqs.weight), and divides angles by them.",
        (
            "Where low_freq_factor and high_freq_factor are one number no pair lies between: each keeps its frequency or is slowed by "
            "the whole factor. transformers only warns of it, vLLM has a branch for it; code that divides by their difference may give NaN."
        ),
        "Keys that are cached stay right as long as the factor stays what it was when they were turned.",
    ),
    layer=rotary.layer(rotate, original_length=64),
)
