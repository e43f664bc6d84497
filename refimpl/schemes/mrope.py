"""Multimodal rope: text, images and videos share one rotation, whose pairs follow the time, the height or the width of a token."""

from fractions import Fraction
from typing import Annotated, Literal

from refimpl.arrays import Array, array_namespace, of_text, picked, taken
from refimpl.attention import Layer
from refimpl.cases.mrope import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.sectioned import Sectioned
from refimpl.schemes import rope
from refimpl.spec import (
    INTEGER,
    AxisPositions,
    Count,
    CountedPositions,
    EvenCount,
    Law,
    Number,
    Positive,
    Scheme,
    Sections,
    Source,
    operation,
)

Order = Literal["contiguous", "interleaved", "first_last", "doubled"]
Sides = Annotated[tuple[int, ...], Number(minimum=1)]


def places(
    positions: AxisPositions, *, head_dim: EvenCount, sections: Sections, order: Order = "contiguous"
) -> Annotated[Array, "[batch] token pair"]:
    """Return the position of every pair: that of the token on the axis that the pair follows.

    Doubled sections give both members of every pair a position of their own: those of all first members, then of all second ones.
    """
    if 2 * sum(sections) != head_dim:
        message = f"sections must add up to half of head_dim ({head_dim // 2}), got {sections!r}"
        raise SpecificationError(message)
    return taken(positions, axes_of_pairs(sections, order))


def axes_of_pairs(sections: tuple[int, ...], order: str) -> list[int]:
    """Return the axis that every pair follows: one section after the other, or all axes in turns, or all but the first in turns.

    Doubled sections follow one another over all first and then over all second members.
    """
    if order in ("contiguous", "doubled"):
        return [axis for axis, pairs in enumerate(sections) for _ in range(2 * pairs if order == "doubled" else pairs)]
    if order == "first_last":
        return [*in_turns({axis: pairs for axis, pairs in enumerate(sections) if axis}), *[0] * sections[0]]
    count = len(sections)
    followed = {turn * count + axis: axis for axis, pairs in enumerate(sections) if axis for turn in range(pairs)}
    if any(pair >= sum(sections) for pair in followed):
        message = f"sections must leave every axis its pairs in turns of {count}, got {sections!r}"
        raise SpecificationError(message)
    return [followed.get(pair, 0) for pair in range(sum(sections))]


def in_turns(pairs: dict[int, int]) -> list[int]:
    """Return axes in turns, each until it has its pairs."""
    return [axis for _, axis in sorted((turn, axis) for axis, count in pairs.items() for turn in range(count))]


FORM = Sectioned(rope.frequencies, places=places)
rotate = FORM.operation(
    rotary.rotate, "Turn every pair by its frequency times the position on its own axis (eq. 14-16 of rope), in the dtype of ``x``."
)


def inside(number: Array, moments: list[int], height: int, width: int) -> Array:
    """Return time, row and column of the tokens that have these numbers in a grid: row by row, one step in time after the other."""
    xp = array_namespace(number)
    step = xp.clip(number // (height * width), min=0, max=len(moments) - 1)
    return xp.stack([picked(moments, step), number // width % height, number % width], axis=-1)


@operation
def positions(
    positions: CountedPositions,
    *,
    text: Sections = (),
    times: Sides = (),
    heights: Sides = (),
    widths: Sides = (),
    tokens_per_second: Count = 1,
    seconds: Positive = 1.0,
) -> Annotated[Array, "[batch] token 3", INTEGER]:
    """Return time, height and width of the tokens that have these numbers in a sequence of text and grids (section 2.1).

    Text stands at one position on all axes and counts up. A grid begins where text would go on: step ``i`` in time stands
    ``floor(i tokens_per_second seconds)`` later, rows and columns one by one. What follows begins one past the largest position, so
    beyond the last grid a token stands at its number plus one constant. Raises where the lists are of unlike lengths.
    """
    if len({len(text), len(times), len(heights), len(widths)}) > 1:
        message = f"text, times, heights and widths must list as many grids, got {text!r}, {times!r}, {heights!r} and {widths!r}"
        raise SpecificationError(message)
    xp = array_namespace(positions)
    number, end, saved = xp.astype(positions, xp.int64), 0, 0
    found = xp.stack([number] * 3, axis=-1)
    for before, time, height, width in zip(text, times, heights, widths, strict=True):
        moments = [int(step * tokens_per_second * Fraction(seconds)) for step in range(time)]
        begin = end + before
        end = begin + time * height * width
        grid = inside(number - begin, moments, height, width) + (begin - saved)
        saved += end - begin - max(moments[-1] + 1, height, width)
        after = xp.where(number[..., None] < end, grid, number[..., None] - saved)
        found = xp.where(number[..., None] < begin, found, after)
    return found


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return how it acts in attention: on text, whose tokens stand at the same position on all axes."""
    half = head_dim // 2
    sections = (half - half // 3 * 2, half // 3, half // 3)

    def on_text(x: Array, positions: Array, **parameters: int) -> Array:
        return rotate(x, of_text(positions, len(sections)), sections=sections, **parameters)

    return rotary.layer(on_text)(num_heads=num_heads, head_dim=head_dim, like=like)


SCHEME = Scheme(
    name="mrope",
    operations=(rotate, positions),
    source=Source(
        "Wang et al. 2024, Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any Resolution",
        "https://arxiv.org/abs/2409.12191",
        equations="section 2.1",
    ),
    laws={"rotate": rotary.LAWS, "positions": (Law.COUNTS_ON, Law.FOLLOWS, Law.MOVED_BY_TEXT, Law.STEPWISE)},
    cases=CASES,
    summary="RoPE whose pairs follow time, height or width: text, images and videos in one sequence.",
    meanings={
        **rotary.MEANINGS,
        "positions": (
            "the place of every token on every axis (time, height, width), counted from 0, text the same on all; for `positions` the "
            "number of every token in the sequence"
        ),
        "sections": "how many pairs follow each axis, in the order of the positions; they add up to half of head_dim (mrope_section)",
        "order": "which pairs follow which axis",
        "text": "for every grid (an image or a video) the tokens of text between it and the grid before; all after the last grid is text",
        "times": "how many steps in time every grid has: 1 for an image; for a video one per pair of frames, which share their patches",
        "heights": "how many rows of tokens every grid has, after patches are merged (grid_thw divided by spatial_merge_size)",
        "widths": "how many columns of tokens every grid has, after patches are merged",
        "tokens_per_second": "positions per second of a video: 2 in Qwen2.5-VL; 1, with seconds of 1, where time isn't measured",
        "seconds": "seconds between two steps in time, of every video alike (second_per_grid_ts)",
    },
    conventions={
        "order=contiguous": "the pairs of one axis, then those of the next: Qwen2-VL, Qwen2.5-VL, GLM-4.1V",
        "order=interleaved": "time, height and width in turns; pairs that are left follow the first axis: Qwen3-VL, Qwen3.5, Qwen3-Omni",
        "order=first_last": "height and width in turns, then the pairs of time: Ernie 4.5 VL, whose mrope_section lists time last",
        "order=doubled": "sections twice as wide, over the first members of all pairs and then the second ones: HunYuan-VL in transformers "
        "5.23; for images no rotation",
        "layout=interleaved": "pairs (2j, 2j + 1): GLM-4.1V, Ernie 4.5 VL",
        "layout=half": "pairs (j, j + head_dim / 2): Qwen2-VL to Qwen3.5",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: no released model with axes is known",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): nearly all code",
        "direction=negative": "clockwise: no released model with axes is known",
    },
    notes=(
        (
            "Frequencies are those of the whole head and fall from the first pair to the last, whichever axis a pair follows. In axial "
            "rope they begin at 1 again for every axis."
        ),
        (
            "A token of text has the same position on all axes, and is turned as rope turns it, in every order. So text hides which pair "
            "follows which axis: only tokens of an image or a video show it."
        ),
        (
            "Qwen2-VL's code splits tables for a whole head by the list of sections, repeated for the second half. With every entry "
            "doubled instead (`order=doubled`), the two members of a pair follow different axes: `(a cos s - b sin s, a sin t + b cos t)`. "
            "For images that is no rotation: lengths change, and scores depend on where an image stands. It is for weights that were "
            "trained with such code; the authors of HunYuan-VL, vLLM and MLX repeat the list."
        ),
        (
            "Qwen2.5-VL measures time: with tokens_per_second 2, two steps that are one second apart stand 2 positions apart, and the "
            "product is cut to an integer once, at the end. Qwen2-VL counts steps: tokens_per_second 1, seconds 1."
        ),
        (
            "Qwen3-VL and GLM-4.5V write the time as text before every frame: each frame is a grid of one step, however the processor "
            "lists the video."
        ),
        (
            "In the paper, what follows an image or a video begins one past its largest position on any axis. transformers 5.23.0 looks "
            "at height and width alone, so text after a long video begins among its frames. Version 5.2.0, and the examples that the "
            "authors print, begin after them."
        ),
        (
            "A token that is decoded stands at its number in the sequence plus a constant (rope_deltas), negative where grids hold more "
            "tokens than they take up positions. HunYuan-VL gives every image rows and columns from 0 and its own index; no operation "
            "computes this yet."
        ),
    ),
    layer=layer,
)
