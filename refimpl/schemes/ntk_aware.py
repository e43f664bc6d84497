"""NTK-aware scaling: raise the base of rope, so that the slowest pair is slowed by the whole factor, the fastest hardly or not at all."""

from typing import Annotated, Literal

from refimpl.arrays import Array, arange
from refimpl.cases.ntk_aware import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary, Stretch
from refimpl.schemes import rope
from refimpl.spec import Number, Positive, Scheme, Source, operation

Width = Annotated[int, Number(minimum=4, multiple_of=2)]
Fastest = Literal["kept", "slowed"]


def raised(base: float, factor: float, head_dim: int) -> float:
    """Return ``b' = base factor^(head_dim / (head_dim - 2))`` (def. 1), by which the slowest pair is slowed by the whole factor."""
    return float(base * factor ** (head_dim / (head_dim - 2)))


@operation
def frequencies(
    *, head_dim: Width, base: Positive = 10_000.0, factor: Stretch, fastest: Fastest = "kept", power: Positive = 1.0, like: Array
) -> Annotated[Array, "pair"]:
    """Return ``b'^(-2 j / head_dim)``, with the raised base ``b'``: the radians per position of every pair (def. 1).

    A single pair has no slow end, so that ``head_dim`` is at least 4. Where the fastest pair is slowed too, pair ``j`` is slowed by
    ``factor^s_j^power`` with ``s_j = 2 (j + 1) / head_dim`` (kexue.fm 9706). Raises where the fastest pair is kept and the power isn't 1.
    """
    if fastest == "slowed":
        shares = (1 + arange(head_dim // 2, like=like)) / (head_dim // 2)
        return rope.frequencies(head_dim=head_dim, base=base, like=like) / factor ** (shares**power)
    if power != 1:
        message = f"power must be 1 where the fastest pair is kept, got {power!r}"
        raise SpecificationError(message)
    return rope.frequencies(head_dim=head_dim, base=raised(base, factor, head_dim), like=like)


FORM = Rotary(frequencies)
rotate = FORM.operation(rotary.rotate, "Turn ``x`` by rope with the raised base: ``R_p x`` (eq. 14-16, def. 1), in the dtype of ``x``.")
weights, attend = FORM.weights(), FORM.attend()


SCHEME = Scheme(
    name="ntk_aware",
    operations=(frequencies, rotate, weights, attend),
    source=Source("Peng et al. 2023, YaRN", "https://arxiv.org/abs/2309.00071", equations="section 3.1, definition 1"),
    laws={"frequencies": rotary.SLOWING, "rotate": rotary.LAWS, **rotary.ATTENTION_LAWS},
    cases=CASES,
    summary="RoPE with a larger base: the slowest pair is slowed by the whole factor, the fastest pair not at all.",
    meanings={
        **rotary.MEANINGS,
        **rotary.ATTENTION_MEANINGS,
        "head_dim": "the channels of one head that turn, at least 4, since the exponent divides by head_dim - 2",
        "factor": "by how much the slowest pair is slowed, a pure number, at least 1: HunYuan's alpha",
        "fastest": "whether the fastest pair keeps its frequency, or is slowed like the others: by a first step of equal ratios",
        "power": "the exponent of every pair's share 2 (j + 1) / head_dim, where all are slowed; 1 slows in equal steps: vLLM's mixed_b",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): exllama's alpha_value, before weights are permuted",
        "layout=half": "pairs (j, j + head_dim / 2): HunYuan in transformers, which calls it alpha",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: transformers' DeepSeek-V3, for other rules",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): nearly all code",
        "direction=negative": "clockwise: nanochat's helper, which transformers keeps in its port",
        "fastest=kept": "the raised base and nothing else: the definition, HunYuan, exllama",
        "fastest=slowed": "base times factor, and all pairs slowed by factor^(2 / head_dim): 'NTK-RoPE-fixed', vLLM's rope_type 'ntk'; "
        "with a power 'NTK-RoPE-mixed', vLLM's mixed_b",
    },
    notes=(
        (
            "The ratio to plain rope is factor^(-2 j / (head_dim - 2)): 1 for the fastest pair, 1 / factor for the slowest. Whoever sees "
            "frequencies alone can't tell it from plain rope with the raised base."
        ),
        (
            "The dynamic form takes a factor that grows with the sequence (factor n / L - (factor - 1) in transformers), so that cached "
            "keys, which were turned by another base, no longer fit. With one factor for all lengths they stay right."
        ),
        (
            "'NTK-RoPE-fixed' (https://kexue.fm/archives/9706) slows pair j by factor^(2 (j + 1) / head_dim): the slowest by the whole "
            "factor here too, and the fastest by a first step. vLLM has it as NTKScalingRotaryEmbedding. With mixed_b it is "
            "'NTK-RoPE-mixed': pair j is slowed by factor^((2 (j + 1) / head_dim)^power). A power below 1 slows fast pairs more; the "
            "slowest is slowed by the whole factor whatever the power is. The author has 0.625."
        ),
        "If only a part of the head turns, the exponent has the width of that part, not of the head.",
    ),
    layer=rotary.layer(rotate, factor=4.0),
)
