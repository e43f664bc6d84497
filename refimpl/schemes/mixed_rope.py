"""Mixed rotary embedding: every pair of every head turns by both axes of an image at once, with frequencies that are learned."""

import math

from refimpl.arrays import Array, arange, array_namespace, of_text
from refimpl.attention import Layer
from refimpl.cases.mixed_rope import CASES
from refimpl.forms import rotary
from refimpl.forms.mixed import Mixed
from refimpl.spec import Scheme, Source

FORM = Mixed()
rotate = FORM.operation(
    rotary.rotate,
    "Turn every pair of every head by the sum of its learned frequency of each axis times the position there, in the dtype of ``x``.",
)


def beginning(num_heads: int, head_dim: int, like: Array) -> Array:
    """Return the frequencies that training begins with: magnitudes ``10^(-4 j / head_dim)``, twice, the second ones at a right angle.

    The authors turn the axes of every head by a random angle; here by as many equal steps as there are heads.
    """
    xp, pair, half = array_namespace(like), arange(head_dim // 2, like=like), (head_dim + 2) // 4
    size = 10.0 ** (-4.0 * (pair % half) / head_dim)
    direction = 2 * math.pi * arange(num_heads, like=like)[:, None] / num_heads + math.pi / 2 * (pair // half)
    return xp.stack([size * xp.cos(direction), size * xp.sin(direction)], axis=0)


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return how it acts in attention: on text, whose tokens stand at the same position on both axes."""
    frequencies = beginning(num_heads, head_dim, like)

    def on_text(x: Array, positions: Array) -> Array:
        return rotate(x, of_text(positions, 2), frequencies, head_dim=head_dim)

    return Layer(turn_query=on_text, turn_key=on_text)


SCHEME = Scheme(
    name="mixed_rope",
    operations=(rotate,),
    source=Source(
        "Heo et al. 2024, Rotary Position Embedding for Vision Transformer",
        "https://arxiv.org/abs/2403.13298",
        equations="section 3.2",
    ),
    laws={"rotate": rotary.LAWS},
    cases=CASES,
    summary="RoPE on a grid with learned frequencies: every pair of every head turns by both axes at once.",
    meanings={
        **{name: meaning for name, meaning in rotary.MEANINGS.items() if name != "base"},
        "positions": "the place of every token on every axis, in patches, counted from 0; negative ones turn back",
        "frequencies": "what every pair of every head turns by per patch on every axis, in radians: learned, of either sign",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): the authors' rope-vit, whose complex numbers are neighbours, and timm",
        "layout=half": "pairs half a head apart: code that keeps the rotation of language models",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: no released model is known",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): rope-vit and timm",
        "direction=negative": "clockwise: no released model is known; it is the same as frequencies of the other sign",
    },
    notes=(
        (
            "Axial RoPE is the case in which each pair has a frequency of 0 on one of the axes, and all heads are alike. It can't tell "
            "directions between the axes apart, which mixed frequencies can."
        ),
        (
            "rope-vit begins with magnitudes 10^(-4 j / head_dim), half of the pairs along one direction and the others at a right angle "
            "to it, and turns these directions in every head by a random angle. Every layer learns frequencies of its own."
        ),
        (
            "Which axis comes first is in the positions: rope-vit has the column (t_x = i mod width) before the row. Its array of "
            "frequencies has the axes (axis, layer, head and pair as one); what one layer gets here is (axis, head, pair)."
        ),
        "The class token isn't turned in rope-vit: here it stands at 0 on both axes.",
    ),
    layer=layer,
)
