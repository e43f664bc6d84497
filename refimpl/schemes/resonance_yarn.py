"""Resonance YaRN: blend frequencies as YaRN does, then round every wavelength to a whole number of positions."""

from typing import Annotated

from refimpl.arrays import Array
from refimpl.cases.resonance import YARN as CASES
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary, Stretch
from refimpl.schemes import resonance_rope, yarn
from refimpl.schemes.yarn import Base
from refimpl.spec import Count, EvenCount, Law, Positive, Scheme, Source, operation


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
    """Return ``2 pi / round(2 pi / theta_j)`` of the frequencies ``theta_j`` that YaRN blends: rounding comes last."""
    blended = yarn.frequencies(
        head_dim=head_dim,
        base=base,
        factor=factor,
        original_length=original_length,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        truncate=truncate,
        like=like,
    )
    return resonance_rope.resonant(blended)


FORM = Rotary(frequencies, yarn.attention_factor)
rotate = FORM.operation(
    rotary.rotate, "Turn ``x`` by YaRN's frequencies of whole wavelengths and multiply it by the attention factor, in the dtype of ``x``."
)
weights, attend = FORM.weights(), FORM.attend()


SCHEME = Scheme(
    name="resonance_yarn",
    operations=(frequencies, rotate, weights, attend),
    source=Source("Wang et al. 2024, Resonance RoPE", resonance_rope.ADDRESS, equations="resonance_register in its code"),
    laws={
        "frequencies": (Law.WHOLE_WAVELENGTHS, Law.NEAREST, Law.FALLS),
        "rotate": rotary.LAWS,
        **rotary.ATTENTION_LAWS,
    },
    cases=CASES,
    summary="YaRN whose wavelengths are rounded to whole numbers of positions after frequencies are blended.",
    meanings={name: says for name, says in {**yarn.SCHEME.meanings, **resonance_rope.MEANINGS}.items() if name != "qk_head_dim"},
    conventions={**yarn.SCHEME.conventions, **resonance_rope.CONVENTIONS},
    notes=(
        (
            "The authors round after each change of inv_freq: a wavelength that is rounded first and then stretched is no longer whole. "
            "Their small models have betas 2 and 1, their Llama 32 and 1."
        ),
        *resonance_rope.NOTES,
    ),
    layer=rotary.layer(rotate, factor=4.0, original_length=64),
)
