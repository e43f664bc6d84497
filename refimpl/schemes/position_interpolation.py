"""Position interpolation: squeeze longer contexts into the positions of training, by one factor for all pairs of rope.

Angles stay inside the range that training has seen, where extrapolation would leave it.
"""

from typing import Annotated

from refimpl.arrays import Array
from refimpl.cases.position_interpolation import CASES
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary, Stretch
from refimpl.schemes import rope
from refimpl.spec import EvenCount, Law, Positive, Scheme, Source, operation


@operation
def frequencies(*, head_dim: EvenCount, base: Positive = 10_000.0, factor: Stretch, like: Array) -> Annotated[Array, "pair"]:
    """Return the radians per position of every pair: ``theta_j / factor``, ``theta_j = base^(-2 j / head_dim)`` (eq. 4).

    ``factor`` is the new length over the old one, ``L' / L``; below 1 it would spread positions apart, which no longer context needs.
    """
    return rope.frequencies(head_dim=head_dim, base=base, like=like) / factor


FORM = Rotary(frequencies)
rotate = FORM.operation(
    rotary.rotate,
    "Turn ``x`` as rope turns it at position ``p / factor``: ``f'(x, p) = f(x, p L / L')`` (eq. 4), in the dtype of ``x``.",
)
weights, attend = FORM.weights(), FORM.attend()


SCHEME = Scheme(
    name="position_interpolation",
    operations=(frequencies, rotate, weights, attend),
    source=Source(
        "Chen et al. 2023, Extending Context Window of Large Language Models via Positional Interpolation",
        "https://arxiv.org/abs/2306.15595",
        equations="4",
    ),
    laws={
        "frequencies": (Law.BETWEEN, Law.REDUCES_TO_ROPE, Law.INTERPOLATES),
        "rotate": (
            Law.LINEAR,
            Law.ISOMETRY,
            Law.IDENTITY_AT_ORIGIN,
            Law.COMPOSITION,
            Law.RELATIVE,
            Law.INVERSE,
            Law.INTERPOLATES,
            Law.STEPWISE,
            Law.HEADS,
        ),
        **rotary.ATTENTION_LAWS,
    },
    cases=CASES,
    summary="RoPE with all positions divided by one factor, so that a longer context stays within the angles of training.",
    meanings={
        **rotary.MEANINGS,
        **rotary.ATTENTION_MEANINGS,
        "factor": "how many times longer the context becomes, L' / L: positions are divided by it, a pure number, at least 1",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): ggml's mode 0 with freq_scale = 1 / factor",
        "layout=half": "pairs (j, j + head_dim / 2): transformers' Llama and Gemma 3 with rope_type 'linear', keras-hub's RotaryEmbedding",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: transformers' DeepSeek-V3, with rope_type 'linear' too",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): the paper's rope and nearly all code",
        "direction=negative": "clockwise: nanochat's helper, which transformers keeps in its port",
    },
    notes=(
        (
            "The bound of the paper's theorem 2.1, max |h_j| (x - x1) (x2 - x) d / (8 ln c), is exceeded: with d = 128, c = 10000 "
            "and all h_j = 1 the score between positions 0 and 1 strays from its linear interpolation by up to 1.097 times as much,"
            " because the proof replaces a decreasing sum by an integral that is smaller. The bound that holds has half the sum of all "
            "theta_j^2 instead, which a geometric series bounds: max |h_j| (x - x1) (x2 - x) / (2 (1 - c^(-4 / d)))."
        ),
        (
            "The paper divides positions, and so does vLLM; transformers divides frequencies, ggml multiplies them by freq_scale = "
            "1 / factor. The real number is the same, float32 angles differ in their last places."
        ),
        (
            "MLX's rope takes a scale that multiplies positions (0.25), transformers a factor that divides them (4): confusing the "
            "two makes the angle 16 times too large for a factor of 4 (https://github.com/ml-explore/mlx/pull/261)."
        ),
        "Keys that are cached stay right as long as the factor stays what it was when they were turned.",
    ),
    layer=rotary.layer(rotate, factor=4.0),
)
