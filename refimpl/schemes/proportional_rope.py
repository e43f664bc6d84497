"""Proportional rope: the fast pairs of a whole head turn as rope turns them, and the slow ones don't turn at all."""

from typing import Annotated

from refimpl.arrays import Array, array_namespace
from refimpl.attention import Layer
from refimpl.cases.proportional_rope import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary, Stretch
from refimpl.schemes import rope
from refimpl.spec import Count, EvenCount, Law, Positive, Scheme, Source, operation


@operation
def frequencies(
    *, head_dim: EvenCount, base: Positive = 10_000.0, turned_pairs: Count, factor: Stretch = 1.0, like: Array
) -> Annotated[Array, "pair"]:
    """Return ``theta_j / factor`` for ``j < turned_pairs`` and 0 from there on, ``theta_j = base^(-2 j / head_dim)`` (``apply_p_rope``).

    The exponent has the width of the whole head, however many of its pairs turn.
    """
    if 2 * turned_pairs > head_dim:
        message = f"turned_pairs must be at most half of head_dim ({head_dim // 2}), got {turned_pairs}"
        raise SpecificationError(message)
    every, xp = rope.frequencies(head_dim=head_dim, base=base, like=like) / factor, array_namespace(like)
    return xp.concat([every[:turned_pairs], xp.zeros_like(every[turned_pairs:])])


FORM = Rotary(frequencies)
rotate = FORM.operation(
    rotary.rotate, "Turn the fast pairs of ``x`` by rope and leave the slow ones: ``R_p x`` (eq. 14-16), in the dtype of ``x``."
)
weights, attend = FORM.weights(), FORM.attend()


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return how it acts in attention, with the faster half of all pairs turned."""
    return rotary.layer(rotate, turned_pairs=max(1, head_dim // 4))(num_heads=num_heads, head_dim=head_dim, like=like)


SCHEME = Scheme(
    name="proportional_rope",
    operations=(frequencies, rotate, weights, attend),
    source=Source(
        "Barbero et al. 2024, Round and Round We Go! What makes Rotary Positional Encodings useful?",
        "https://arxiv.org/abs/2410.06205",
        equations="apply_p_rope",
    ),
    laws={
        "frequencies": (Law.REDUCES_TO_ROPE, Law.INTERPOLATES, Law.HOWEVER_MANY),
        "rotate": (*rotary.LAWS, Law.REDUCES_TO_ROPE, Law.INTERPOLATES),
        **rotary.ATTENTION_LAWS,
    },
    cases=CASES,
    summary="RoPE on the fast pairs of the whole head; its slow pairs carry no position.",
    meanings={
        **rotary.MEANINGS,
        **rotary.ATTENTION_MEANINGS,
        "head_dim": "all channels of one head: twice the number of pairs, whether they turn or not",
        "turned_pairs": "how many pairs turn, fastest first: partial_rotary_factor times half of head_dim, cut to an integer",
        "factor": "what the frequencies are divided by besides, a pure number, at least 1; released models leave it at 1",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): the first channels turn, the last rest; no released model with it is known",
        "layout=half": "pairs (j, j + head_dim / 2): Gemma 4's layers of full attention and LFM3 in transformers",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: transformers' DeepSeek-V3 with this rope_type",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): nearly all code",
        "direction=negative": "clockwise: nanochat's helper, which transformers keeps in its port",
    },
    notes=(
        (
            "A configuration says `partial_rotary_factor` for this rule and for partial_rope, and means two things. In a head of 16, "
            "of which a quarter turns, this rule has the frequencies 1 and 0.316 in the pairs (0, 8) and (1, 9); partial_rope has 1 and "
            "0.01 in the pairs (0, 2) and (1, 3)."
        ),
        (
            "The paper lets a share p of the frequencies turn, so that the slowest pairs, which it finds to carry no position, become "
            "channels for content. Its p-RoPE is plain rope with p = 1, and has no position with p = 0."
        ),
        (
            "Code that has no zero frequency writes another number in its place: ggml divides by a factor of 1e30, MLX has an infinite "
            "period. The cosine must then be 1 and the sine 0, and neither may be NaN."
        ),
    ),
    layer=layer,
)
