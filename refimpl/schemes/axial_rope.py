"""Axial rotary embedding: every axis of an image or a video turns its own channels of the head."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from refimpl.arrays import Array, exact_float64, of_text
from refimpl.attention import Layer
from refimpl.cases.axial_rope import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.parted import Part, Parted
from refimpl.schemes import rope
from refimpl.spec import AxisPositions, EvenCount, Number, Scheme, Source, Widths

Order = Literal["block", "joined", "alternating"]
Layout = Literal["interleaved", "half"]
Ladder = Literal["own", "in_turns"]
Sides = Annotated[tuple[int, ...], Number(minimum=1)]


def parts(
    positions: AxisPositions,
    *,
    head_dim: EvenCount,
    axes: Widths,
    order: Order = "block",
    layout: Layout = "interleaved",
    ladder: Ladder = "own",
    sides: Sides = (),
) -> list[Part]:
    """Return the channels of every axis, with frequencies ``base^(-2 j / width)`` of the axis, or of the head in turns."""
    if sum(axes) != head_dim:
        message = f"axes must add up to head_dim ({head_dim}), got {axes!r}"
        raise SpecificationError(message)
    if sides and len(sides) != len(axes):
        message = f"sides must be as many as axes ({len(axes)}) or none, got {sides!r}"
        raise SpecificationError(message)
    channels = [channels_of(pairs, order, layout, head_dim // 2) for pairs in pairs_of_axes(axes, order)]
    turns = pairs_of_axes(axes, "alternating")
    return [
        Part(own, coordinates(positions[..., axis], sides, axis), turns[axis] if ladder == "in_turns" else None)
        for axis, own in enumerate(channels)
    ]


def coordinates(positions: Array, sides: Sequence[int], axis: int) -> Array:
    """Return what frequencies are multiplied by: positions, or ``2 pi p / side``, where ``p`` counts half patches from the middle."""
    return 2 * math.pi * (exact_float64(positions) / sides[axis]) if sides else positions


def pairs_of_axes(axes: Sequence[int], order: str) -> list[list[int]]:
    """Return the pairs of every axis: one axis after the other, or in turns until an axis has no more."""
    turns = [(turn, axis) for axis, width in enumerate(axes) for turn in range(width // 2)]
    owners = [axis for _, axis in (sorted(turns) if order == "alternating" else turns)]
    return [[pair for pair, owner in enumerate(owners) if owner == axis] for axis in range(len(axes))]


def channels_of(pairs: Sequence[int], order: str, layout: str, half: int) -> list[int]:
    """Return the channels of some pairs, in the order that the layout reads: those of a block of their own lie side by side."""
    if order == "block" or layout == "interleaved":
        return [channel for pair in pairs for channel in (2 * pair, 2 * pair + 1)]
    return [*pairs, *(pair + half for pair in pairs)]


FORM = Parted(rope.frequencies, parts=parts)
rotate = FORM.operation(
    rotary.rotate, "Turn the channels of every axis by rope, to the position on that axis (eq. 14-16), in the dtype of ``x``."
)


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return how it acts in attention: on text, whose tokens stand at the same position on both axes."""
    axes = (head_dim // 4 * 2, head_dim - head_dim // 4 * 2)

    def on_text(x: Array, positions: Array, **parameters: int) -> Array:
        return rotate(x, of_text(positions, len(axes)), axes=axes, **parameters)

    return rotary.layer(on_text)(num_heads=num_heads, head_dim=head_dim, like=like)


SCHEME = Scheme(
    name="axial_rope",
    operations=(rotate,),
    source=Source(
        "Heo et al. 2024, Rotary Position Embedding for Vision Transformer",
        "https://arxiv.org/abs/2403.13298",
        equations="section 3.2",
    ),
    laws={"rotate": rotary.LAWS},
    cases=CASES,
    summary="RoPE on a grid: each axis (row, column) rotates its own channels of the head.",
    meanings={
        **rotary.MEANINGS,
        "positions": "the place of every token on every axis, in patches or frames, counted from 0; negative ones turn back",
        "head_dim": "all channels of one head",
        "base": "the ratio by which frequencies fall over the channels of one axis, or over the head (rope_theta), a pure number",
        "axes": "how many channels each axis turns, in the order of the positions; they add up to head_dim",
        "order": "which pairs belong to which axis, and over which channels they are laid out",
        "ladder": "which frequencies the pairs of an axis have",
        "sides": (
            "how many patches every axis has, where coordinates run from -1 to 1 over the image and are multiplied by 2 pi: then positions "
            "count half patches from the middle, and the centre of patch i of n stands at 2 i + 1 - n. None where positions count patches"
        ),
    },
    conventions={
        "order=block": (
            "all channels of one axis, then all of the next; pairs lie within them: Gemma 4's and Llama 4's vision, SAM 2, Flux, CogVideoX"
        ),
        "order=joined": (
            "all pairs of one axis, then all of the next, over the whole head: Qwen2-VL's vision, Pixtral's, most of transformers, DINOv3"
        ),
        "order=alternating": "pairs alternate between the axes, laid out over the whole head: MoonViT (Kimi-VL)",
        "layout=interleaved": "pairs (2j, 2j + 1): Llama 4's vision, SAM 2, Flux, CogVideoX, MoonViT",
        "layout=half": "pairs half a block apart, or half a head in the other orders: Gemma 4's vision, Qwen2-VL's, Pixtral's, DINOv3",
        "ladder=own": "those of a head as wide as the axis, so that each axis begins at 1: Qwen2-VL's vision, Gemma 4's, most code",
        "ladder=in_turns": (
            "those of the whole head, which the axes take in turns, each until it has its pairs: Pixtral's and Mistral 3's vision, where "
            "the height has every even one and the width every odd one"
        ),
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): nearly all code",
        "direction=negative": "clockwise: no released model with axes is known",
    },
    notes=(
        (
            "DINOv3 turns by 2 pi c base^(-2 j / width), where c is the centre of a patch in coordinates from -1 to 1, of height and width "
            "each by its own side. In half patches from the middle c is an integer divided by the side; the class token and the registers, "
            "which aren't turned, stand at 0."
        ),
        (
            "A token that belongs to no patch isn't turned: it stands at 0 on every axis. Llama 4's vision counts patches from 1, so that "
            "its class token, which comes last, shares no place with a patch."
        ),
        (
            "With a ladder of their own, frequencies begin at 1 again for every axis, and fall over its width. Pixtral's axes share the "
            "ladder of the head: the width begins one step below the height, at base^(-2 / head_dim). M-RoPE gives the axes sections of "
            "that ladder, which is another scheme."
        ),
        (
            "On two equal axes both ladders give the first axis the same frequencies, since every second one of a head is one of half a "
            "head. So only the second axis, the width, shows which of them code has."
        ),
        (
            "Whether the height or the width comes first is in the positions: (height, width) in Qwen2-VL and DINOv3, (width, height) in "
            "Llama 4's vision, SAM 2 and MoonViT. A square image hardly shows which one a model has; one with unequal sides does."
        ),
        "With neighbouring channels as pairs, the orders `block` and `joined` are the same.",
    ),
    layer=layer,
)
