"""Resonance RoPE: round the wavelength of every pair to a whole number of positions, after which the pair is where it was."""

import math
from typing import Annotated

from refimpl.arrays import Array, array_namespace
from refimpl.cases.resonance import ROPE as CASES
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary
from refimpl.schemes import rope
from refimpl.schemes.yarn import Base
from refimpl.spec import EvenCount, Law, Scheme, Source, operation


def resonant(theta: Array) -> Array:
    """Return ``2 pi / round(2 pi / theta_j)``: the frequencies whose wavelengths are the nearest whole numbers."""
    return 2 * math.pi / array_namespace(theta).round(2 * math.pi / theta)


@operation
def frequencies(*, head_dim: EvenCount, base: Base = 10_000.0, like: Array) -> Annotated[Array, "pair"]:
    """Return ``2 pi / round(lambda_j)``, ``lambda_j = 2 pi base^(2 j / head_dim)``: the radians per position of every pair."""
    return resonant(rope.frequencies(head_dim=head_dim, base=base, like=like))


FORM = Rotary(frequencies)
rotate = FORM.operation(rotary.rotate, "Turn ``x`` by frequencies of whole wavelengths: ``R_p x``, in the dtype of ``x``.")
weights, attend = FORM.weights(), FORM.attend()

MEANINGS = {
    **rotary.MEANINGS,
    **rotary.ATTENTION_MEANINGS,
    "base": "the ratio by which frequencies fall over a whole head before they are rounded (rope_theta), a pure number above 1",
}
CONVENTIONS = {
    "layout=interleaved": "pairs (2j, 2j + 1): the paper's rope",
    "layout=half": "pairs (j, j + head_dim / 2): the authors' Llama and Mistral",
    "layout=interleaved_to_half": "reads neighbouring channels, writes halves: no code with it is known",
    "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): the authors' code and nearly all other",
    "direction=negative": "clockwise: nanochat's helper, which transformers keeps in its port; no code with it is known here",
}
#: What a reader of either scheme needs.
NOTES = (
    (
        "No wavelength lies half-way between two whole numbers: it is 2 pi times an algebraic number, which is irrational. "
        "So rounding halves to even, as the authors' torch.round does, and rounding them up give the same. In float32 a "
        "wavelength above 2^23 is whole as it is."
    ),
    (
        "The fastest pair has the wavelength 6 in the place of 2 pi, and so turns by 1.047 radians per position: faster than rope's. "
        "Code that lets no frequency exceed 1 leaves it out."
    ),
    (
        "The authors' fine-tuning code multiplies positions and frequencies in the dtype of the model, so that a model in bfloat16 has "
        "angles in bfloat16 (compute_freqs in modeling_llama_yarn.py, https://github.com/sheryc/resonance_rope)."
    ),
)
ADDRESS = "https://arxiv.org/abs/2403.00071"


SCHEME = Scheme(
    name="resonance_rope",
    operations=(frequencies, rotate, weights, attend),
    source=Source("Wang et al. 2024, Resonance RoPE", ADDRESS, equations="resonance_register in its code"),
    laws={"frequencies": (Law.NESTED, Law.WHOLE_WAVELENGTHS, Law.NEAREST), "rotate": rotary.LAWS, **rotary.ATTENTION_LAWS},
    cases=CASES,
    summary="RoPE whose wavelengths are rounded to whole numbers of positions, so that fast pairs repeat exactly.",
    meanings=MEANINGS,
    conventions=CONVENTIONS,
    notes=NOTES,
    layer=rotary.layer(rotate),
)
