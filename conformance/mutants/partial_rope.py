"""What goes wrong where a part of the head turns: its width in the exponent and in the pairs, its place, and what becomes of the rest."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.rope_attention import VALUE_MISTAKES
from conformance.mutants.rotary import Rotary, cut
from conformance.mutants.rounding import to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.forms.parted import Part
from refimpl.schemes import partial_rope

ROTATE, TURNED = "partial_rope.rotate", "partial_rope.attend_turned"


def end(positions: Array, head_dim: int, width: int, placement: str) -> tuple[Part, ...]:
    """Return so many channels at an end of the head, at least two and at most all of them."""
    width = min(max(width // 2 * 2, 2), head_dim)
    first = 0 if placement == "first" else head_dim - width
    return (Part(range(first, first + width), positions),)


def of_width(width: Callable[[int, int], int]) -> Rotary:
    """Turn another number of channels, from the widths of the head and of the part."""

    def parts(positions: Array, *, head_dim: int, rotary_dim: int, placement: str) -> tuple[Part, ...]:
        return end(positions, head_dim, width(head_dim, rotary_dim), placement)

    return Rotary(parts=parts)


def pairs_of_the_head(positions: Array, *, head_dim: int, rotary_dim: int, placement: str, layout: str) -> tuple[Part, ...]:
    """Return the first or last pairs of the whole head."""
    if layout != "half":
        return end(positions, head_dim, rotary_dim, placement)
    first = 0 if placement == "first" else (head_dim - rotary_dim) // 2
    members = range(first, first + rotary_dim // 2)
    return (Part([*members, *(channel + head_dim // 2 for channel in members)], positions),)


MISTAKES: tuple[tuple[Mistake, Rotary], ...] = (
    Mistake(
        "width-of-head-in-exponent",
        does="divides the exponent by head_dim",
        should="divide it by rotary_dim: the part that turns has the whole range of frequencies",
        fix="compute frequencies as those of a head that is rotary_dim wide",
        threads=(
            "https://github.com/pie-project/pie/pull/603",
            "https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/215",
        ),
    ).made_by(Rotary(theta=cut)),
    Mistake(
        "width-of-head",
        does="turns the whole head",
        should="turn rotary_dim channels, and leave the others as they are",
        fix="slice the part that turns, and read its width in every spelling (rotary_dim, partial_rotary_factor)",
        threads=(
            "https://github.com/ggml-org/llama.cpp/pull/4889",
            "https://github.com/vllm-project/vllm/pull/16912",
            "https://github.com/ROCm/aiter/pull/2199",
            "https://github.com/microsoft/onnxruntime/pull/29261",
        ),
    ).made_by(of_width(lambda head_dim, rotary_dim: head_dim)),  # noqa: ARG005  whatever the part is
    Mistake(
        "pairs-of-the-head",
        does="lays out pairs over the whole head, of which the last don't turn: (j, j + head_dim / 2)",
        should="lay them out over the part that turns: (j, j + rotary_dim / 2)",
        fix="slice the part first, and turn it as a head of its own",
        threads=("https://github.com/pie-project/pie/pull/603",),
    ).made_by(Rotary(parts=pairs_of_the_head)),
    Mistake(
        "proportional",
        does="computes frequencies and pairs of the whole head, and lets the slow pairs rest: rope_type 'proportional'",
        should="turn the part as a head of its own",
        fix="tell rope_type 'default' from 'proportional', which read the same partial_rotary_factor",
        threads=("https://github.com/apple/coreai-models/issues/66",),
    ).made_by(Rotary(theta=cut, parts=pairs_of_the_head)),
    Mistake(
        "width-reduced-twice",
        does="takes the fraction twice: of rotary_dim, which is that fraction of the head already",
        should="turn rotary_dim channels",
        fix="multiply head_dim by partial_rotary_factor, or read rotary_dim, not both",
        threads=("https://github.com/vllm-project/vllm/pull/30384",),
    ).made_by(of_width(lambda head_dim, rotary_dim: rotary_dim * rotary_dim // head_dim)),
    Mistake(
        "width-always-half",
        does="turns half of the head",
        should="turn rotary_dim channels",
        fix="read the width from the configuration",
        origin="in the style of code that was written for one model",
    ).made_by(of_width(lambda head_dim, _: head_dim // 2)),
    Mistake(
        "width-in-pairs",
        does="takes rotary_dim for the number of pairs: twice as many channels turn",
        should="turn rotary_dim channels, half as many pairs",
        fix="divide by two where pairs are counted",
        origin="in the style of the exponent mistakes of rope",
    ).made_by(of_width(lambda _, rotary_dim: 2 * rotary_dim)),
    Mistake(
        "width-halved",
        does="turns half of rotary_dim channels",
        should="turn rotary_dim channels",
        fix="keep apart the number of pairs and the number of channels",
        origin="in the style of ONNX's tables, which are half as wide as the part that turns",
    ).made_by(of_width(lambda _, rotary_dim: rotary_dim // 2)),
    Mistake(
        "width-of-the-rest",
        does="turns as many channels as should rest",
        should="turn rotary_dim channels",
        fix="read rotary_dim from qk_rope_head_dim, not from qk_nope_head_dim",
        origin="in the style of heads that are split in two by the sizes of both parts",
    ).made_by(of_width(lambda head_dim, rotary_dim: head_dim - rotary_dim or head_dim)),
)


def rest(change: Callable[[Array], Array]) -> Callable[..., Array]:
    """Return the rotation whose result is put together with another rest."""

    def rotate(x: Array, positions: Array, *, head_dim: int, rotary_dim: int, placement: str, **sense: object) -> Array:
        parameters = {"head_dim": head_dim, "rotary_dim": rotary_dim, "placement": placement, **sense}
        turned = partial_rope.rotate(x, positions, **parameters)
        own = list(end(positions, head_dim, rotary_dim, placement)[0].channels)
        beside = change(np.delete(turned, own, axis=-1))
        return np.concatenate([turned[..., own], beside] if placement == "first" else [beside, turned[..., own]], axis=-1)

    return rotate


def exchanged(x: Array, positions: Array, *, rotary_dim: int, placement: str, **sense: object) -> Array:
    """Put the part that turned behind the rest, or before it."""
    by = rotary_dim if placement == "last" else -rotary_dim
    return np.roll(partial_rope.rotate(x, positions, rotary_dim=rotary_dim, placement=placement, **sense), by, axis=-1)


RESTS: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    Mistake(
        "rest-zero",
        does="returns zeros in the channels that don't turn",
        should="return them as they are",
        fix="put the rest beside the part that turned, or pad cosines by 1",
        origin="in the style of kernels that write the part that turns into a new array, or pad cosines by 0",
    ).made_by(rest(np.zeros_like)),
    Mistake(
        "rest-in-bfloat16",
        does="rounds the channels that don't turn to bfloat16",
        should="return them bit for bit",
        fix="cast only the channels that turn",
        kind="precision",
        origin="in the style of rotations that cast the whole head",
    ).made_by(rest(to("bfloat16"))),
    Mistake(
        "rest-on-the-other-side",
        does="puts the part that turned and the rest together in the other order",
        should="leave every channel in its place",
        fix="exchange what is concatenated",
        origin="in the style of heads that come as [nope, rope] in one release and as [rope, nope] in another",
    ).made_by(exchanged),
)


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong beyond the slots of a rotation."""
    for mistake, rotary in MISTAKES:
        yield mistake.at(ROTATE, rotary.of(ROTATE))
    for mistake, function in RESTS:
        yield mistake.at(ROTATE, function)
    for mistake, values in VALUE_MISTAKES:
        yield mistake.at(TURNED, Rotary(values=values).of(TURNED))
