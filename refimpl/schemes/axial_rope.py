"""Axial rotary embedding: every axis of an image or a video turns its own channels of the head."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any, Literal

from refimpl.arrays import Array, arange, array_namespace, exact_float64, of_text, picked
from refimpl.attention import Layer
from refimpl.cases.axial_rope import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.parted import Part, Parted
from refimpl.schemes import rope
from refimpl.spec import INTEGER, NUMBER, Count, CountedPositions, EvenCount, Law, Number, Scheme, Source, Widths, operation

Order = Literal["block", "joined", "alternating"]
Layout = Literal["interleaved", "half"]
Ladder = Literal["own", "in_turns", "linear", "exponential", "tiled"]
Sides = Annotated[tuple[int, ...], Number(minimum=1)]
Places = Annotated[Array, "[batch] token axis", NUMBER]


def rising(pairs: int, *, like: Array) -> Array:
    """Return how far from the first pair each is, as a share of the way to the last: ``j / (pairs - 1)``."""
    return arange(pairs, like=like) / max(1, pairs - 1)


def linear(*, head_dim: int, base: float, like: Array) -> Array:
    """Return frequencies that rise from 1 to ``base`` by equal steps: ``1 + (base - 1) j / (head_dim / 2 - 1)``."""
    return 1 + (base - 1) * rising(head_dim // 2, like=like)


def exponential(*, head_dim: int, base: float, like: Array) -> Array:
    """Return frequencies that rise from 1 to ``base`` by one ratio: ``base^(j / (head_dim / 2 - 1))``."""
    return base ** rising(head_dim // 2, like=like)


RISING: Mapping[str, Callable[..., Array]] = {"linear": linear, "exponential": exponential}


def parts(
    positions: Places,
    *,
    head_dim: EvenCount,
    axes: Widths,
    order: Order = "block",
    layout: Layout = "interleaved",
    ladder: Ladder = "own",
    sides: Sides = (),
) -> list[Part]:
    """Return the channels of every axis, with frequencies ``base^(-2 j / width)`` of the axis, of the head in turns, or that rise.

    Where they are tiled, channel ``c`` of an axis has that of ``j = c mod width / 2``, and neighbours are pairs.
    """
    if sum(axes) != head_dim:
        message = f"axes must add up to head_dim ({head_dim}), got {axes!r}"
        raise SpecificationError(message)
    if sides and len(sides) != len(axes):
        message = f"sides must be as many as axes ({len(axes)}) or none, got {sides!r}"
        raise SpecificationError(message)
    if ladder in RISING and not sides:
        message = f"sides must be given with the ladder {ladder}, got ()"
        raise SpecificationError(message)
    if ladder == "tiled" and layout != "interleaved":
        message = f"layout must be interleaved with the ladder tiled, got {layout}"
        raise SpecificationError(message)
    channels = [channels_of(pairs, order, layout, head_dim // 2) for pairs in pairs_of_axes(axes, order)]
    return [
        Part(own, coordinates(positions[..., axis], sides, axis), **frequencies_of(axis, axes, ladder)) for axis, own in enumerate(channels)
    ]


def frequencies_of(axis: int, axes: Sequence[int], ladder: str) -> dict[str, Any]:
    """Return which frequencies an axis has, where they aren't those of the pairs of a head as wide."""
    if ladder == "in_turns":
        return {"ladder": pairs_of_axes(axes, "alternating")[axis], "width": sum(axes)}
    return {"ladder": tiled(axes[axis])} if ladder == "tiled" else {"frequencies": RISING.get(ladder)}


def tiled(width: int) -> list[int]:
    """Return which frequency each channel has, ``c mod width / 2``: that of every first, then of every second member of pairs."""
    twice = [*range(width // 2)] * 2
    return [*twice[::2], *twice[1::2]]


def coordinates(positions: Array, sides: Sequence[int], axis: int) -> Array:
    """Return what frequencies are multiplied by: positions, or ``2 pi p / side``."""
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


FORM = Parted(rope.frequencies, parts=parts, width="axes[i]")
rotate = FORM.operation(
    rotary.rotate, "Turn the channels of every axis by rope, to the position on that axis (eq. 14-16), in the dtype of ``x``."
)


@operation
def positions(
    positions: CountedPositions, *, times: Sides, heights: Sides, widths: Sides, merge: Count = 1
) -> Annotated[Array, "[batch] token 2", INTEGER]:
    """Return row and column of the patches that have these numbers in grids that lie one after the other, step after step in time.

    Every step of a grid is the same: its blocks of ``merge`` by ``merge`` patches lie row by row, and so do the patches of a block. Beyond
    its end the last grid goes on, step after step. Raises where the lists are of unlike lengths or empty, or blocks don't fill a grid.
    """
    if not times or len({len(times), len(heights), len(widths)}) > 1:
        message = f"times, heights and widths must list as many grids, at least one, got {times!r}, {heights!r} and {widths!r}"
        raise SpecificationError(message)
    for name, sides in (("heights", heights), ("widths", widths)):
        if any(side % merge for side in sides):
            message = f"{name} must be multiples of merge ({merge}), got {sides!r}"
            raise SpecificationError(message)
    xp = array_namespace(positions)
    number, ends = xp.astype(positions, xp.int64), [*accumulate(map(math.prod, zip(times, heights, widths, strict=True)))]
    grid = xp.zeros_like(number) + sum(xp.astype(number >= end, xp.int64) for end in ends[:-1])
    begin, height, width = (picked(values, grid) for values in ([0, *ends], heights, widths))
    block, inside = (number - begin) // merge**2, number % merge**2
    down, across = block // (width // merge) % (height // merge), block % (width // merge)
    return xp.stack([down * merge + inside // merge, across * merge + inside % merge], axis=-1)


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return how it acts in attention: on text, whose tokens stand at the same position on both axes."""
    axes = (head_dim // 4 * 2, head_dim - head_dim // 4 * 2)

    def on_text(x: Array, positions: Array, **parameters: int) -> Array:
        return rotate(x, of_text(positions, len(axes)), axes=axes, **parameters)

    return rotary.layer(on_text)(num_heads=num_heads, head_dim=head_dim, like=like)


SCHEME = Scheme(
    name="axial_rope",
    operations=(rotate, positions),
    source=Source(
        "Heo et al. 2024, Rotary Position Embedding for Vision Transformer",
        "https://arxiv.org/abs/2403.13298",
        equations="section 3.2",
    ),
    laws={"rotate": rotary.LAWS, "positions": (Law.COVERS, Law.LIES_IN_BLOCKS, Law.STEPWISE)},
    cases=CASES,
    summary="RoPE on a grid: each axis (row, column) rotates its own channels of the head.",
    meanings={
        **rotary.MEANINGS,
        "positions": (
            "the place of every token on every axis, in patches or frames, counted from 0, integer or real; negative ones turn back; "
            "for `positions` the number of every patch in the order in which the encoder has them, of all grids together, counted from 0"
        ),
        "head_dim": "all channels of one head",
        "base": (
            "the ratio by which frequencies fall over the channels of one axis, or over the head (rope_theta); with a ladder that rises "
            "from 1, the last frequency; a pure number"
        ),
        "axes": "how many channels each axis turns, in the order of the positions; they add up to head_dim",
        "order": "which pairs belong to which axis, and over which channels they are laid out",
        "ladder": "which frequencies the pairs of an axis have",
        "sides": (
            "how many positions make one whole turn of a pair with frequency 1, on every axis: angles are 2 pi p / side times the "
            "frequency. Where coordinates of patches' centres run from -1 to 1 and are multiplied by 2 pi, as in DINOv3, it is the number "
            "of patches, and positions count half patches from the middle: the centre of patch i of n stands at 2 i + 1 - n. None where a "
            "position is a radian; frequencies that rise need them"
        ),
        "times": "how many steps in time every grid has: 1 for an image; for a video one per pair of frames in Qwen2-VL",
        "heights": "how many rows of patches every grid has, before patches are merged (grid_thw); multiples of merge",
        "widths": "how many columns of patches every grid has, before patches are merged; multiples of merge",
        "merge": (
            "how many rows and columns of patches become one token of the language model (spatial_merge_size): 2 in Qwen2-VL to Qwen3-VL, "
            "GLM-4.1V and Ernie 4.5 VL; 1 where patches lie row by row, as in Pixtral and DINOv3"
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
        "ladder=own": "frequencies of a head as wide as the axis, so that each axis begins at 1: Qwen2-VL's vision, Gemma 4's, most code",
        "ladder=in_turns": (
            "frequencies of the whole head, which the axes take in turns, each until it has its pairs: Pixtral's and Mistral 3's vision, "
            "where the height has the even ones and the width the odd ones"
        ),
        "ladder=linear": (
            "frequencies that rise from 1 to base by equal steps over the pairs of the axis: pixel frequencies (rotary-embedding-torch, "
            "timm with linear_bands), where base is half of max_freq"
        ),
        "ladder=exponential": (
            "frequencies that rise from 1 to base by one ratio over the pairs of the axis: LTX-Video, and timm's pixel frequencies by "
            "default, where base is half of max_res"
        ),
        "ladder=tiled": (
            "frequencies as by `own`, but each channel of a neighbouring pair reads its own place in a table made for halves: the two "
            "members of a pair turn by different angles, which is no rotation (V-JEPA 2)"
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
            "Pixel frequencies are pi times linspace(1, max_freq / 2, n), and their coordinates linspace(-1, 1, side): from the first "
            "patch to the last there are side - 1 steps. In half steps from the middle patch i stands at 2 i + 1 - side, and `sides` are 2 "
            "(side - 1); in whole steps it stands at i - (side - 1) / 2, and `sides` are side - 1."
        ),
        (
            "LTX-Video turns by c pi / 2 times theta^linspace(0, 1, n), where c = 2 p / m - 1 for places p below m, m = 20 in time and "
            "2048 in height and width: positions are p - m / 2, and `sides` are 2 m. It turns all heads as one of 2048 channels, of which "
            "the first two rest, as 3 axes can't share them; the axes alternate."
        ),
        (
            "EfficientLoFTR turns all heads as one of 256 channels, before they are parted: head_dim=256, axes (128, 128) that "
            "alternate, neighbours as pairs, rows and columns counted from 1. Its partial_rotary_factor of 4.0 is the width of an axis, "
            "128, in heads of 32 channels."
        ),
        (
            "EVA-02 divides places by the side of the image and multiplies them by the side m in pre-training: patch i of n stands at "
            "i m / n. "
            "So do layers of SAM 3 that see the whole image, where m is the side of a window, and n the width of the image. "
            "CogVideoX places a crop where it lies in the whole, by linspace without its end. MusicFlamingo multiplies places of windows "
            "and of frames by -2 pi times the time in seconds. All of this is in the positions, which are real then: how they are made "
            "isn't judged here."
        ),
        (
            "Not judged: RIFLEx, which gives one pair of the time axis the frequency 0.9 2 pi / L for a video of L frames (no ladder sets "
            "a single pair), and k-diffusion's HDiT, in which every head has frequencies of its own."
        ),
        (
            "On two equal axes the ladders `own` and `in_turns` give the first axis the same frequencies, since every second frequency of "
            "a head is a frequency of a head half as wide. So only the second axis, the width, shows which of them code has."
        ),
        (
            "Whether the height or the width comes first is in the positions: (height, width) in Qwen2-VL and DINOv3, (width, height) in "
            "Llama 4's vision, SAM 2 and MoonViT. A square image hardly shows which one a model has; one with unequal sides does."
        ),
        (
            "V-JEPA 2 has tables for halves over neighbouring pairs: `(a cos s - b sin s, a sin t + b cos t)` with the angles `s` and `t` "
            "of the places of both channels. Off the origin that is no rotation: lengths change, and scores depend on where a patch "
            "stands. Its weights were trained so; other weights want `ladder=own`. Three axes (time, height, width) have `2 floor(head_dim "
            "/ 6)` channels each; channels that are left over rest, which is said where its configuration is read."
        ),
        (
            "Encoders whose patches are merged list them block by block, so that the patches of one token are neighbours: "
            "`reshape(h // m, m, w // m, m).permute(0, 2, 1, 3)` in Qwen2-VL's `rot_pos_emb` (Wang et al. 2024, section 2.1). Rows and "
            "columns are those of the patches, and the same at every step in time. MiniMax-M3 turns by the step too: that isn't judged."
        ),
        "Nobody is asked for a patch beyond the last grid: code may make the whole list and pick from it.",
        "With neighbouring channels as pairs, the orders `block` and `joined` are the same.",
    ),
    layer=layer,
)
