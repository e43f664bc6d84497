"""LeRoPE: learn every pair's frequency, as the exponent of what multiplies that of RoPE, or of YaRN in a longer context."""

from typing import Annotated

from refimpl.arrays import Array, array_namespace, exact_float64, row
from refimpl.cases.lerope import CASES
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary, Stretch
from refimpl.schemes import yarn
from refimpl.schemes.yarn import Base
from refimpl.spec import Count, EvenCount, Law, Positive, Scheme, Source


def learned(
    exponents: Annotated[Array, "pair"],
    *,
    head_dim: EvenCount,
    base: Base = 10_000.0,
    factor: Stretch,
    original_length: Count,
    beta_fast: Positive = 32.0,
    beta_slow: Positive = 1.0,
    truncate: bool = True,
) -> Array:
    """Return ``theta_j exp(alpha_j)`` in float64."""
    blended = yarn.frequencies(
        head_dim=head_dim,
        base=base,
        factor=factor,
        original_length=original_length,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        truncate=truncate,
        like=exponents,
    )
    return blended * array_namespace(exponents).exp(exact_float64(exponents))


FORM = Rotary(learned)
frequencies = FORM.operation(
    rotary.frequencies,
    "Return ``theta_j exp(alpha_j)``: YaRN's frequencies times e to learned exponents ``alpha_j``, in the dtype of these.",
)
rotate = FORM.operation(rotary.rotate, "Turn ``x`` by the frequencies ``theta_j exp(alpha_j)``, in the dtype of ``x``.")


def made_up(head_dim: int, like: Array) -> tuple[Array]:
    """Return exponents that fall from 1/2 to -1/2: the fast pairs turn faster, the slow ones slower."""
    pairs = head_dim // 2
    return (row([0.5 - pair / max(pairs - 1, 1) for pair in range(pairs)], like=like),)


SCHEME = Scheme(
    name="lerope",
    operations=(frequencies, rotate),
    source=Source(
        "Karypis et al. 2026, LeRoPE: Learnable RoPE Frequencies Improve Language Modeling, and the code of Mistral Large 4",
        "https://arxiv.org/abs/2607.10134",
        equations="MistralLarge4TextRotaryEmbedding in transformers",
    ),
    laws={
        "frequencies": (Law.REDUCES_TO_ROPE, Law.EXPONENTIAL, Law.APART),
        "rotate": (*rotary.LAWS, Law.REDUCES_TO_ROPE),
    },
    cases=CASES,
    summary="RoPE with learned frequencies: those of RoPE or YaRN, each times e to a learned exponent.",
    meanings={
        **rotary.MEANINGS,
        **{name: says for name, says in yarn.SCHEME.meanings.items() if name in yarn.BAND},
        "exponents": "the logarithms of what multiplies the frequencies, fastest pair first, of either sign (alpha in checkpoints)",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1), written back in place: as Mistral Large 4 reads them, without its change of layout",
        "layout=half": "pairs (j, j + head_dim / 2): transformers' rotate_half; no released model with it is known",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: Mistral Large 4 in transformers",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): Mistral Large 4 in transformers",
        "direction=negative": "clockwise: no released model is known",
    },
    notes=(
        (
            "The paper learns one number for each of RoPE's frequencies: here that is `factor=1`, where YaRN changes nothing. Mistral "
            "Large 4, as transformers 5.23.0 configures it, grows its context 2048 times from 512 positions with YaRN, sets the attention "
            "factor to 1, and has one list of exponents for all layers."
        ),
        (
            "YaRN's ramp goes by the pair's index, not by its frequency, so that it doesn't matter whether exponents are applied before "
            "the blend or after it."
        ),
        (
            "Exponents belong to the checkpoint (lerope.alpha) and not to the configuration. transformers begins with zeros, so a "
            "checkpoint that is loaded without them gives YaRN, and no error."
        ),
        (
            "An exponent that is rounded to bfloat16 changes its frequency by up to 1 in 256 of the exponent: at position 1,000 a pair of "
            "frequency 1 is off by radians. transformers keeps the module in float32 (_keep_in_fp32_modules_strict)."
        ),
    ),
    layer=rotary.layer(rotate, made_up, factor=4.0, original_length=64),
)
