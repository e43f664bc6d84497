"""What goes wrong with positions on several axes: where a grid begins, how its tokens lie, how far time reaches, and what follows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, Parameters, altered, forcing
from conformance.mutants.positions import position_mutants
from conformance.mutants.rounding import LARGEST, to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import mrope

POSITIONS = "mrope.positions"
INHERITED = (
    "positions-from-one", "positions-ignored", "first-position-counts", "positions-frozen", "first-row-for-all", "clamped-at-2048",
    "clamped-at-4096",
)  # fmt: skip
#: What befalls all positions, where it was met with several axes.
MET = {
    "positions-ignored": ("https://github.com/Blaizzy/mlx-vlm/pull/1621",),
    "first-row-for-all": ("https://github.com/PaddlePaddle/PaddleFleet/pull/351", "https://github.com/unslothai/unsloth/issues/3699"),
}
Sides = tuple[int, int, int]


def by_rows(number: Array, sides: Sides) -> tuple[Array, Array, Array]:
    """Return step, row and column of the tokens of a grid."""
    _, height, width = sides
    return number // (height * width), number // width % height, number % width


def cut(step: Array, tokens: int, seconds: float) -> Array:
    """Return how much later a step stands."""
    return np.floor(step * tokens * seconds)


def largest(start: int, time: int, height: int, width: int) -> int:
    """Return where what follows begins: one past the largest position on any axis."""
    return start + max(time, height, width)


def past_the_sides(start: int, _: int, height: int, width: int) -> int:
    """Return where what follows begins if time doesn't count."""
    return start + max(height, width)


@dataclass(frozen=True)
class Built:
    """The pieces of positions; called as the operation.

    ``moment`` is given a step, counted from the video's first or, ``from_start``, from where the sequence began; ``follow`` the start of a
    grid, and how many positions lie between its first and what is just past its last on every axis. ``spare`` is how many positions more
    than its tokens the text before a grid takes up. What follows a grid is ``numbered`` if it continues at the number of its token.
    """

    lie: Callable[[Array, Sides], tuple[Array, Array, Array]] = by_rows
    moment: Callable[[Array, int, float], Array] = cut
    follow: Callable[[int, int, int, int], int] = largest
    begun: bool = True
    from_start: bool = False
    spare: int = 0
    numbered: bool = False

    def __call__(
        self,
        positions: Array,
        *,
        text: tuple[int, ...],
        times: tuple[int, ...],
        heights: tuple[int, ...],
        widths: tuple[int, ...],
        tokens_per_second: int,
        seconds: float,
    ) -> Array:
        """Return time, height and width of every token."""
        found, end, goes_on = np.stack([positions] * 3, axis=-1), 0, 0
        for before, *sides in zip(text, times, heights, widths, strict=True):
            time, height, width = sides
            begin, start = end + before, goes_on + before + (self.spare if before else 0)
            end = begin + time * height * width
            step, row, column = self.lie(positions - begin, (time, height, width))
            early = start if self.from_start else 0
            moment = self.moment(step + early, tokens_per_second, seconds) - early
            grid = np.stack([moment, row, column], axis=-1).astype(np.int64) + (start if self.begun else 0)
            duration = int(self.moment(np.asarray(time - 1), tokens_per_second, seconds)) + 1
            goes_on = end if self.numbered else self.follow(start, duration, height, width)
            found = np.where((positions >= begin)[..., None], grid, found)
            found = np.where((positions >= end)[..., None], (positions - end + goes_on)[..., None], found)
        return found


def ends(parameters: Parameters) -> list[int]:
    """Return the number of the first token after every grid."""
    grids = zip(*(parameters[name] for name in ("times", "heights", "widths")), strict=True)
    counts = [before + time * height * width for before, (time, height, width) in zip(parameters["text"], grids, strict=True)]
    return [sum(counts[: index + 1]) for index in range(len(counts))]


def decoding_by_number(positions: Array, **parameters: Any) -> Array:
    """Take the number of a token past the last grid for its position."""
    decoded = positions >= max(ends(parameters), default=0)
    return np.where(decoded[..., None], positions[..., None], mrope.positions(positions, **parameters))


def decoding_past_time(positions: Array, **parameters: Any) -> Array:
    """Continue past height and width up to the first token after the last grid, and past all of these while decoding."""
    build, length = Built(follow=past_the_sides), max(ends(parameters), default=0) + 1
    goes_on = build(np.arange(length), **parameters).max() + 1
    return np.where((positions >= length)[..., None], (positions - length + goes_on)[..., None], build(positions, **parameters))


def decoding_after_the_last_grid(positions: Array, **parameters: Any) -> Array:
    """Add what the last grid saves, and not what those before it did."""
    last = ends(parameters)[-1:]
    if not last:
        return mrope.positions(positions, **parameters)
    begin = ends(parameters)[-2] if len(parameters["text"]) > 1 else 0
    alone: Parameters = {name: value[-1:] if isinstance(value, tuple) else value for name, value in parameters.items()}
    decoded = mrope.positions(np.maximum(positions - begin, 0), **alone) + begin
    return np.where((positions >= last[0])[..., None], decoded, mrope.positions(positions, **parameters))


def without_videos(parameters: Parameters) -> Parameters:
    """Leave out grids of several steps in time: their tokens are text."""
    kept, text, before = [], [], 0
    for count, *sides in zip(*(parameters[name] for name in ("text", "times", "heights", "widths")), strict=True):
        before += count
        if sides[0] == 1:
            kept.append(sides)
            text.append(before)
        before = 0 if sides[0] == 1 else before + int(np.prod(sides))
    return {**parameters, "text": tuple(text), **_listed(kept)}


def frames_joined(parameters: Parameters) -> Parameters:
    """Take neighbouring grids of the same height and width for steps in time of one."""
    kept: list[list[int]] = []
    text: list[int] = []
    for count, *sides in zip(*(parameters[name] for name in ("text", "times", "heights", "widths")), strict=True):
        if kept and kept[-1][1:] == sides[1:]:
            kept[-1][0] += sides[0]
            text[-1] += count
        else:
            kept.append(list(sides))
            text.append(count)
    return {**parameters, "text": tuple(text), **_listed(kept)}


def _listed(grids: list[list[int]]) -> Parameters:
    return {name: tuple(grid[side] for grid in grids) for side, name in enumerate(("times", "heights", "widths"))}


def first_grid(parameters: Parameters) -> Parameters:
    """Give every grid the sides of the first."""
    sides = ("times", "heights", "widths")
    return {**parameters, **{name: parameters[name][:1] * len(parameters[name]) for name in sides}}


def in_patches(parameters: Parameters) -> Parameters:
    """Leave the sides of grids as processors list them: two patches for each row and column of tokens."""
    return {**parameters, **{name: tuple(2 * side for side in parameters[name]) for name in ("heights", "widths")}}


def in_frames(parameters: Parameters) -> Parameters:
    """Leave the times of videos as they are filmed: two frames for each step."""
    return {**parameters, "times": tuple(2 * time if time > 1 else 1 for time in parameters["times"])}


def merged_twice(parameters: Parameters) -> Parameters:
    """Halve the sides of grids that count tokens already."""
    return {**parameters, **{name: tuple(max(side // 2, 1) for side in parameters[name]) for name in ("heights", "widths")}}


def seconds_in(dtype: str) -> Callable[[Parameters], Parameters]:
    """Return what rounds the seconds to a half format."""
    narrow = to(dtype)
    return lambda parameters: {**parameters, "seconds": float(narrow(np.asarray(parameters["seconds"])))}


def placed(**parameters: Any) -> Callable[..., Array]:
    """Return the operation with parameters fixed."""
    return forcing(POSITIONS, parameters)


def changing(change: Callable[[Parameters], Parameters]) -> Callable[..., Array]:
    """Return the operation with its parameters changed."""
    return altered(POSITIONS, parameters=change)


LAST = "continue one past the largest position on any axis"
MEASURE = "cut step * tokens_per_second * seconds to an integer, once"
GRID = "begin a grid where text would go on, and count its steps, rows and columns from there"
MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    (Mistake("grids-as-text", "counts the tokens of grids as text, on all axes alike", GRID, "build positions from the grids on every path",
             threads=("https://github.com/linkedin/Liger-Kernel/pull/276", "https://github.com/sgl-project/sglang/pull/3605")),
     lambda positions, **_: np.stack([positions] * 3, axis=-1)),
    (Mistake("videos-as-text", "counts the tokens of videos as text, those of images not", GRID, "look for both kinds of grids",
             threads=("https://github.com/vllm-project/vllm/pull/33039",)), changing(without_videos)),
    (Mistake("frames-joined", "takes frames that have text between them for the steps of one video", "begin every frame as its own grid",
             "split a video's (t, h, w) into t grids of (1, h, w)",
             threads=("https://github.com/huggingface/transformers/pull/44474", "https://github.com/Blaizzy/mlx-vlm/pull/2142")),
     changing(frames_joined)),
    (Mistake("first-grid-for-all", "gives every grid the sides of the first", "give every grid its own sides", "advance with every grid",
             origin="in the style of lists of grids that aren't advanced"), changing(first_grid)),
    (Mistake("decoding-by-number", "takes the number of a token past the last grid for its position", LAST,
             "add the delta (rope_deltas) while decoding",
             threads=("https://github.com/NVIDIA/TensorRT-LLM/pull/15661", "https://github.com/Blaizzy/mlx-vlm/pull/1993",
                      "https://github.com/mlx-node/mlx-node/pull/80")), decoding_by_number),
    (Mistake("decoding-after-the-last-grid", "adds the delta of the last grid alone while decoding", LAST, "sum what all grids save",
             origin="in the style of deltas that belong to an image"), decoding_after_the_last_grid),
    (Mistake("follows-by-number", "continues past a grid by the number of its tokens", LAST, "add the largest side, not the product of all",
             origin="in the style of positions that count every token"), Built(numbered=True)),
    (Mistake("time-left-out-of-what-follows", "continues past height and width, among the frames of a video that lasts longer", LAST,
             "take the largest position on all three axes", threads=("https://github.com/huggingface/transformers/issues/45381",)),
     Built(follow=past_the_sides)),
    (Mistake("time-left-out-of-prompts", "continues among the frames of a video that lasts longer, but past them all while decoding", LAST,
             "take the largest position on all three axes, in prompts too",
             threads=("https://github.com/huggingface/transformers/issues/45381",)), decoding_past_time),
    (Mistake("follows-time-alone", "continues past the last step in time, among the rows and columns of an image", LAST,
             "take the largest position on all three axes", origin="in the style of st_idx taken from the first axis"),
     Built(follow=lambda start, time, *_: start + time)),
    (Mistake("follows-width-alone", "continues past the width, among the rows of a tall image", LAST,
             "take the largest position on all three axes", origin="in the style of st_idx taken from the last axis"),
     Built(follow=lambda start, _, __, width: start + width)),
    (Mistake("follows-at-the-largest", "continues at the largest position, not one past it", LAST, "add 1 to the maximum",
             origin="in the style of maxima taken for lengths"), Built(follow=lambda *sides: largest(*sides) - 1)),
    (Mistake("follows-too-late", "leaves a position free after every grid", LAST, "add 1 once",
             origin="in the style of lengths to which 1 is added again"), Built(follow=lambda *sides: largest(*sides) + 1)),
    (Mistake("height-and-width-exchanged", "counts columns on the axis of the height and rows on that of the width", GRID,
             "stack time, height and width in that order", origin="in the style of grids in (x, y)"),
     Built(lie=lambda number, sides: (by_rows(number, sides)[0], *by_rows(number, sides)[:0:-1]))),
    (Mistake("rows-for-columns", "takes the width for the number of rows and the height for that of columns", GRID,
             "read grids as (time, height, width)", origin="in the style of sizes of images, which are (width, height)"),
     changing(lambda chosen: {**chosen, "heights": chosen["widths"], "widths": chosen["heights"]})),
    (Mistake("patches-for-tokens", "counts the rows and columns of patches, two for each of tokens", GRID,
             "divide heights and widths of grid_thw by spatial_merge_size",
             threads=("https://github.com/zhang0jhon/diffusion-4k/issues/17",)), changing(in_patches)),
    (Mistake("frames-for-steps", "counts the frames of a video, two for each step in time", GRID,
             "divide the number of frames by temporal_patch_size", threads=("https://github.com/zai-org/CogVideo/pull/538",)),
     changing(in_frames)),
    (Mistake("padding-left-out-of-text", "begins a grid a position early: leaves the padding of the text before it out of its length", GRID,
             "take the length of the text as it is handed over, padding included, where positions count that",
             threads=("https://github.com/vllm-project/vllm-omni/issues/4443",), origin="that it is one token is ours"), Built(spare=-1)),
    (Mistake("padding-counted-as-text", "begins a grid a position late: counts padding as text before it", GRID,
             "take each prompt's own length, not that of the longest in the batch",
             threads=("https://github.com/huggingface/diffusers/pull/12643",), origin="that it is one token is ours"), Built(spare=1)),
    (Mistake("merged-twice", "halves the rows and columns of tokens, which were merged before", GRID,
             "divide grid_thw by spatial_merge_size once", origin="in the style of grids that two places divide"), changing(merged_twice)),
    (Mistake("column-after-column", "lets the tokens of a step lie column after column", GRID, "make the width the fastest of the three",
             origin="in the style of meshgrids whose indexing is xy"),
     Built(lie=lambda number, sides: (by_rows(number, sides)[0], number % sides[1], number // sides[1] % sides[2]))),
    (Mistake("step-after-step", "lets all steps of one place follow one another", GRID, "make time the slowest of the three",
             origin="in the style of grids that are kept as (h, w, t)"),
     Built(lie=lambda number, sides: (number % sides[0], number // (sides[0] * sides[2]), number // sides[0] % sides[2]))),
    (Mistake("grid-from-zero", "counts every grid from 0", GRID, "add the position that text has reached",
             threads=("https://github.com/1bit-MONSTER/1bit-MONSTER/pull/1798",)), Built(begun=False)),
    (Mistake("start-stretched", "multiplies the start of a grid too by tokens_per_second and seconds, on the axis of time", GRID,
             "add the start after the product",
             threads=("https://github.com/huggingface/transformers/issues/45325", "https://github.com/huggingface/transformers/issues/45381")),
     Built(moment=lambda step, tokens, seconds: np.floor(step * tokens * seconds), from_start=True)),
    (Mistake("seconds-cut", "cuts the seconds to an integer before it multiplies", MEASURE, "keep seconds a real number up to the product",
             threads=("https://github.com/huggingface/transformers/pull/48669",)),
     Built(moment=lambda step, tokens, seconds: step * tokens * np.floor(seconds))),
    *((Mistake(f"seconds-in-{dtype}", f"rounds the seconds to {dtype} before it multiplies", MEASURE,
               "keep seconds in float32 where the model is cast", origin="in the style of inputs that are cast with the model"),
       changing(seconds_in(dtype))) for dtype in ("bfloat16", "float16")),
    (Mistake("interval-cut", "cuts tokens per step to an integer before it multiplies by the step", MEASURE, "cut the whole product",
             origin="in the style of transformers' pull request 48669, which cuts the seconds alone"),
     Built(moment=lambda step, tokens, seconds: step * np.floor(tokens * seconds))),
    (Mistake("moment-rounded", "rounds the moment of a step to the nearest integer", MEASURE, "use floor, as a cast to integers does",
             origin="in the style of casts that round"), Built(moment=lambda step, tokens, seconds: np.rint(step * tokens * seconds))),
    (Mistake("moment-rounded-up", "rounds the moment of a step up", MEASURE, "use floor, as a cast to integers does",
             origin="in the style of counts of whole positions"),
     Built(moment=lambda step, tokens, seconds: np.ceil(step * tokens * seconds))),
    (Mistake("one-second-apart", "takes a second between two steps whatever is asked for", MEASURE, "pass second_per_grid_ts through",
             threads=("https://github.com/huggingface/transformers/pull/41153",)), placed(seconds=1.0)),
    (Mistake("tokens-per-second-ignored", "takes one position per second whatever is asked for", MEASURE, "read tokens_per_second",
             origin="in the style of configurations whose vision part isn't passed on"), placed(tokens_per_second=1)),
    (Mistake("steps-counted", "counts steps in time where they are measured", MEASURE, "multiply by tokens_per_second and seconds",
             origin="in the style of Qwen2.5-VL computed by Qwen2-VL's code"), placed(tokens_per_second=1, seconds=1.0)),
)


def in_half(dtype: str, operation: str = POSITIONS) -> Mutant:
    """Return positions that are rounded to a half format."""
    narrow = to(dtype)

    def rounded(places: Array) -> Array:
        return np.nan_to_num(narrow(places), posinf=LARGEST[dtype]).astype(np.int64)

    mistake = Mistake(f"{dtype}-result", f"rounds positions to {dtype}", "keep positions integers", "cast no positions with the model",
                      kind="precision", origin="in the style of models cast as a whole")  # fmt: skip
    return mistake.at(operation, altered(operation, result=rounded))


def mutants() -> Iterator[Mutant]:
    """Return the mistakes about positions on several axes."""
    for mistake, function in MISTAKES:
        yield mistake.at(POSITIONS, function)
    for mutant in position_mutants(POSITIONS, INHERITED):
        yield replace(mutant, threads=MET.get(mutant.name.partition("/")[2], ()), origin=mutant.origin or "reported for rope")
    for dtype in ("bfloat16", "float16"):
        yield in_half(dtype)
