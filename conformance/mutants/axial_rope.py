"""What goes wrong where several axes turn a head: which axis turns which channels, how fast, and by which position."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, moving
from conformance.mutants.rotary import Rotary, cut, spectrum
from conformance.mutants.rounding import rounded, to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.forms.parted import Part
from refimpl.schemes import axial_rope, rope

ROTATE = "axial_rope.rotate"
Parts = Callable[..., Sequence[Part]]


def other_axes(change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Parts:
    """Return the parts of axes of other widths."""
    return lambda positions, *, axes, **rule: axial_rope.parts(positions, axes=change(axes), **rule)


def other_positions(change: Callable[[Array], Array]) -> Parts:
    """Return the parts at other positions."""
    return lambda positions, **rule: axial_rope.parts(change(positions), **rule)


def other_ladders(change: Callable[[Sequence[int]], Sequence[Sequence[int]]]) -> Parts:
    """Return the parts where the axes share the ladder of the head in another way than in turns."""

    def parts(positions: Array, *, axes: Sequence[int], ladder: axial_rope.Ladder, **rule: Any) -> list[Part]:
        right = axial_rope.parts(positions, axes=tuple(axes), ladder=ladder, **rule)
        return [part._replace(ladder=own) for part, own in zip(right, change(axes), strict=True)] if ladder == "in_turns" else right

    return parts


def other_sides(change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Parts:
    """Return the parts for images of other sides, where these are given."""
    return lambda positions, *, sides=(), **rule: axial_rope.parts(positions, sides=sides and change(sides), **rule)


def other_coordinates(change: Callable[[Array, Array], Array]) -> Parts:
    """Return the parts at coordinates made of positions and sides in another way, where these are given."""

    def parts(positions: Array, *, sides: tuple[int, ...] = (), **rule: Any) -> list[Part]:
        right = axial_rope.parts(positions, sides=sides, **rule)
        changed = change(positions, np.array(sides)) if sides else positions
        return [part._replace(positions=changed[..., axis]) for axis, part in enumerate(right)] if sides else right

    return parts


def other_rises(change: Callable[[Callable[..., Array]], Callable[..., Array]]) -> Parts:
    """Return the parts where frequencies rise in another way, if they rise."""

    def parts(positions: Array, **rule: Any) -> list[Part]:
        right = axial_rope.parts(positions, **rule)
        return [part._replace(frequencies=change(part.frequencies)) if part.frequencies else part for part in right]

    return parts


def doubled(rise: Callable[..., Array]) -> Callable[..., Array]:
    """Return frequencies that rise to twice the end."""
    return lambda *, head_dim, base, like: rise(head_dim=head_dim, base=2 * base, like=like)


def one_step_short(rise: Callable[..., Array]) -> Callable[..., Array]:
    """Return frequencies that would reach the end one step past the last pair."""
    return lambda *, head_dim, base, like: rise(head_dim=head_dim + 2, base=base, like=like)[:-1]


def over_the_head(rise: Callable[..., Array]) -> Callable[..., Array]:
    """Return the first frequencies of those that rise over the whole head."""
    return lambda *, head_dim, base, whole, like: rise(head_dim=whole, base=base, like=like)[: head_dim // 2]


def in_reverse(rise: Callable[..., Array]) -> Callable[..., Array]:
    """Return the same frequencies, the fastest first."""
    return lambda *, head_dim, base, like: rise(head_dim=head_dim, base=base, like=like)[::-1]


def goes_on(head_dim: int, base: float, whole: int) -> Array:
    """Return the frequencies of a part as if only every second of the whole head's were its own."""
    return spectrum(whole, base)[:: max(1, whole // head_dim)][: head_dim // 2]


def half_ladder(dtype: str) -> Callable[[int, float], Array]:
    """Return the frequencies whose base, exponents, powers and reciprocals are each rounded to a half format."""

    def ladder(head_dim: int, base: float) -> Array:
        exponents = rounded(np.arange(head_dim // 2) / (head_dim / 2), dtype)
        return rounded(1 / rounded(float(rounded(np.float64(base), dtype)) ** exponents, dtype), dtype)

    return ladder


def half_throughout(dtype: str) -> tuple[Mistake, Rotary]:
    """Return what goes wrong where everything has the dtype of ``x``, from the exponents on."""
    mistake = Mistake(
        f"{dtype}-throughout",
        does=f"computes everything in {dtype}: exponents, frequencies, angles and tables",
        should="keep positions, frequencies, angles and tables in float32 or wider; round the result only",
        fix="make the exponents in float32, not in the dtype of x (arange(..., dtype=x.dtype)), and cast last",
        origin="in the style of V-JEPA 2, whose frequencies have the dtype of x",
        kind="precision",
    )
    every = to(dtype)
    return mistake.made_by(Rotary(spectrum=half_ladder(dtype), position=every, angle=every, table=every))


def split_as_one(x: Array, positions: Array, **parameters: Any) -> Array:
    """Turn by wide tables, a half of them for each half of the head, that were split in one by sections twice as wide."""
    if (parameters["layout"], parameters["order"]) != ("half", "joined"):
        return axial_rope.rotate(x, positions, **parameters)
    half, axes = parameters["head_dim"] // 2, parameters["axes"]
    sides = parameters["sides"]
    positions = 2 * np.pi * positions / np.array(sides) if sides else positions
    rise = axial_rope.RISING.get(parameters["ladder"], rope.frequencies)
    theta = np.concatenate([rise(head_dim=width, base=parameters["base"], like=np.zeros(1)) for width in axes])
    if parameters["ladder"] == "in_turns":
        theta = spectrum(2 * half, parameters["base"])[np.concatenate(axial_rope.pairs_of_axes(axes, "alternating"))]
    angles = positions[..., np.repeat(np.arange(len(axes)), axes)] * np.concatenate([theta, theta])
    angles = angles[:, None] if angles.ndim == 3 else angles
    turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * np.cos(angles) + (-1 if parameters["direction"] == "negative" else 1) * turned * np.sin(angles)


def tiled_alone(x: Array, positions: Array, **parameters: Any) -> Array:
    """Turn by sines that are tiled over an axis's channels, and by the cosines of pairs."""

    def half(ladder: str, sign: int) -> Array:
        """Return what cosines alone make of ``x``, or sines alone: half of the sum of both directions, or of their difference."""
        one, other = (axial_rope.rotate(x, positions, **{**parameters, "ladder": ladder, "direction": d}) for d in ways)
        return (one + sign * other) / 2

    ways = (parameters["direction"], "positive" if parameters["direction"] == "negative" else "negative")
    return half("own", 1) + half("tiled", -1) if parameters["ladder"] == "tiled" else axial_rope.rotate(x, positions, **parameters)


def equal(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return even widths that are as equal as they can be."""
    share = sum(axes) // len(axes) // 2 * 2
    return (*(share for _ in axes[1:]), sum(axes) - share * (len(axes) - 1)) if share else axes


MISTAKES: tuple[tuple[Mistake, Rotary], ...] = (
    Mistake(
        "axes-exchanged",
        does="takes the positions of the axes in the reverse order: the width for the height",
        should="turn each axis's channels by its own position",
        fix="exchange the axes of the grid (meshgrid with indexing 'ij' for height first)",
        threads=("https://github.com/huggingface/pytorch-image-models/pull/2541",),
    ).made_by(Rotary(parts=other_positions(lambda positions: positions[..., ::-1]))),
    Mistake(
        "first-axis-for-all",
        does="turns all channels by the position on the first axis",
        should="turn each axis's channels by its own position",
        fix="index the positions by the axis",
        origin="in the style of code for text that is handed positions with axes",
    ).made_by(Rotary(parts=other_positions(lambda positions: np.broadcast_to(positions[..., :1], positions.shape)))),
    Mistake(
        "last-axis-at-zero",
        does="leaves the last axis at position 0",
        should="turn each axis's channels by its own position",
        fix="fill the ids of every axis",
        origin="in the style of vllm's pull request 29593, in which the index of one axis was set to 0",
    ).made_by(Rotary(parts=other_positions(lambda positions: positions * (np.arange(positions.shape[-1]) < positions.shape[-1] - 1)))),
    Mistake(
        "token-without-a-patch-turned",
        does="turns a token at 0 on every axis, which belongs to no patch, as the first patch of a grid that is counted from 1",
        should="leave such a token as it is: its angles are 0",
        fix="fill the angles of the class token with 0, after the index that stands for it is split into row and column",
        origin="in the style of Llama 4's vision without the mask of the class token's angles",
    ).made_by(Rotary(parts=other_positions(lambda positions: np.where((positions == 0).all(axis=-1, keepdims=True), 1, positions)))),
    Mistake(
        "times-by-frame-rate",
        does="multiplies the times of a video by 24 / 16, the frame rate of training by its own; height and width are right",
        should="turn by the positions that are given",
        fix="leave the frame rate out where the checkpoint's configuration switches it off",
        threads=("https://github.com/huggingface/diffusers/issues/14768",),
    ).made_by(Rotary(parts=other_positions(lambda positions: positions * [1.5, 1, 1] if positions.shape[-1] == 3 else positions))),
    Mistake(
        "axes-added",
        does="adds the positions on all axes and turns all channels by the sum",
        should="turn each axis's channels by its own position",
        fix="keep the axes apart",
        origin="in the style of positions flattened along an image",
    ).made_by(Rotary(parts=other_positions(lambda positions: positions.sum(axis=-1, keepdims=True) + np.zeros_like(positions)))),
    Mistake(
        "token-in-the-place-of-the-grid",
        does="takes the index of the token for its position on every axis",
        should="use the positions that are given",
        fix="pass the grid's positions instead of arange",
        origin="in the style of Liger-Kernel's pull request 276: plain positions where none come with axes",
    ).made_by(Rotary(parts=other_positions(lambda positions: np.arange(positions.shape[-2])[:, None] + np.zeros_like(positions)))),
    Mistake(
        "width-of-head-in-exponent",
        does="divides the exponent by head_dim",
        should="divide it by the width of the axis: every axis has the whole range of frequencies",
        fix="compute frequencies as those of a head that is as wide as the axis",
        origin="in the style of the width mistakes of partial rope",
    ).made_by(Rotary(theta=cut)),
    Mistake(
        "frequencies-of-the-head-in-turns",
        does="takes every second frequency of the whole head, the same for each axis",
        should="compute frequencies of the width of the axis",
        fix="tell this from Pixtral's rule, which takes even ones for the height and odd ones for the width",
        origin="in the style of Pixtral's frequencies without the offset of the second axis",
    ).made_by(Rotary(theta=goes_on)),
    Mistake(
        "ladder-in-sections",
        does="gives each axis a section of the head's frequencies: the fast ones to the height, the slow ones to the width",
        should="let the axes take them in turns: the height even ones, the width odd ones",
        fix="take frequencies [0::2] for the height and [1::2] for the width, not the first and the second half",
        origin="in the style of M-RoPE's sections in the place of Pixtral's turns",
    ).made_by(Rotary(parts=other_ladders(lambda axes: axial_rope.pairs_of_axes(axes, "joined")))),
    Mistake(
        "ladder-from-the-last-axis",
        does="lets the last axis take the first frequency of the head: the width even ones, the height odd ones",
        should="begin with the first axis: the height has even ones, the width odd ones",
        fix="exchange [0::2] and [1::2]",
        origin="in the style of Pixtral's frequencies with height and width exchanged in one of two places",
    ).made_by(Rotary(parts=other_ladders(lambda axes: axial_rope.pairs_of_axes(axes[::-1], "alternating")[::-1]))),
    Mistake(
        "coordinates-without-two-pi",
        does="turns by coordinates from -1 to 1 themselves",
        should="multiply them by 2 pi",
        fix="multiply the angles by 2 pi",
        origin="in the style of DINOv3's angles without their first factor",
    ).made_by(Rotary(parts=other_coordinates(lambda positions, sides: positions / sides))),
    Mistake(
        "coordinates-from-zero",
        does="takes the centres of patches in coordinates from 0 to 1",
        should="take them from -1 to 1",
        fix="double the coordinates and subtract 1",
        origin="in the style of DINOv3's coordinates before they are shifted",
    ).made_by(Rotary(parts=other_coordinates(lambda positions, sides: np.pi * (positions + sides) / sides))),
    Mistake(
        "coordinates-of-corners",
        does="takes coordinates of the corners at which patches begin",
        should="take those of their centres",
        fix="add 1/2 to the index of a patch before it is divided by the side",
        origin="in the style of DINOv3's coordinates of arange(n) / n in the place of arange(0.5, n) / n",
    ).made_by(Rotary(parts=other_coordinates(lambda positions, sides: 2 * np.pi * (positions - 1) / sides))),
    Mistake(
        "coordinates-to-the-ends",
        does="has the first and the last patch at -1 and 1",
        should="have the edges of the image there, half a patch beyond",
        fix="take the centres of patches (arange(0.5, n) / n) instead of linspace(-1, 1, n)",
        origin="in the style of grids that are made by linspace",
    ).made_by(Rotary(parts=other_sides(lambda sides: tuple(max(side - 1, 1) for side in sides)))),
    Mistake(
        "longest-side-for-all",
        does="divides by the longest side on every axis",
        should="divide by the side of the axis",
        fix="normalise height and width each by its own number of patches (separate, not max)",
        origin="in the style of DINOv3's other normalisations, by the longest or the shortest side",
    ).made_by(Rotary(parts=other_sides(lambda sides: (max(sides),) * len(sides)))),
    Mistake(
        "sides-exchanged",
        does="takes the sides of the image in the reverse order: the width for the height",
        should="divide the position on every axis by its own side",
        fix="exchange the two sides",
        origin="in the style of code that is told (width, height)",
    ).made_by(Rotary(parts=other_sides(lambda sides: sides[::-1]))),
    Mistake(
        "sides-ignored",
        does="takes positions for radians, whatever the sides of the image",
        should="divide by the sides and multiply by 2 pi",
        fix="normalise coordinates to -1 to 1",
        origin="in the style of axial RoPE on whole patches",
    ).made_by(Rotary(parts=other_sides(lambda _: ()))),
    Mistake(
        "half-turns",
        does="multiplies positions, divided by the side, by pi",
        should="multiply them by 2 pi",
        fix="multiply by 2 pi; code that multiplies linspace(-1, 1, n) by pi counts half steps, and its sides are 2 (n - 1)",
        origin="in the style of pixel frequencies, whose factor is pi, in the place of DINOv3's",
    ).made_by(Rotary(parts=other_coordinates(lambda positions, sides: np.pi * positions / sides))),
    Mistake(
        "one-step-beyond-the-sides",
        does="divides by one more than the side on every axis",
        should="divide by the side that is given",
        fix="divide by the side itself; for linspace(-1, 1, n) that is the number of steps, n - 1",
        origin="in the style of centres of patches where linspace(-1, 1, n) is asked for",
    ).made_by(Rotary(parts=other_sides(lambda sides: tuple(side + 1 for side in sides)))),
    Mistake(
        "rises-to-the-double",
        does="lets frequencies rise to twice the end",
        should="end at base, which is half of what pixel frequencies are configured by (max_freq, max_res)",
        fix="divide max_freq by 2",
        origin="in the style of linspace(1, max_freq, n) for linspace(1, max_freq / 2, n)",
    ).made_by(Rotary(parts=other_rises(doubled))),
    Mistake(
        "rises-past-the-last",
        does="reaches the end one step past the last pair: divides by the number of pairs",
        should="give the last pair the end: divide by one less",
        fix="use linspace(1, end, n), which holds both ends",
        origin="in the style of arange(n) / n for linspace(0, 1, n)",
    ).made_by(Rotary(parts=other_rises(one_step_short))),
    Mistake(
        "rises-over-the-head",
        does="lets frequencies rise over the whole head, of which each axis has the first ones",
        should="let them rise over the pairs of each axis",
        fix="make as many frequencies as an axis has pairs (dim // 4 of two axes)",
        origin="in the style of dim // 2 in the place of timm's dim // 4",
    ).made_by(Rotary(parts=other_rises(over_the_head))),
    Mistake(
        "rises-in-reverse",
        does="has the fastest pair first",
        should="begin at 1, with the slowest pair",
        fix="don't reverse what linspace gives",
        origin="in the style of rope, whose frequencies fall",
    ).made_by(Rotary(parts=other_rises(in_reverse))),
    Mistake(
        "equal-widths",
        does="gives every axis the same share of the head",
        should="give each axis the channels that are asked for",
        fix="read the widths of all axes (axes_dim)",
        origin="in the style of code that was written for images and is given videos",
    ).made_by(Rotary(parts=other_axes(equal))),
    Mistake(
        "widths-in-reverse",
        does="takes the widths of the axes in the reverse order",
        should="give each axis the channels that are asked for",
        fix="reverse the widths, or the axes of the positions, not one of both",
        origin="in the style of libraries that count axes from the last",
    ).made_by(Rotary(parts=other_axes(lambda axes: axes[::-1]))),
    half_throughout("bfloat16"),
    half_throughout("float16"),
)
SPLIT_AS_ONE = Mistake(
    "halves-split-as-one",
    does="splits tables for both halves of the head as one, by sections twice as wide: members of a pair belong to different axes",
    should="lay every axis's pairs out over both halves",
    fix="repeat the list of sections, once for each half, instead of doubling its entries",
    origin="in the style of transformers 5.23, hunyuan_vl's xdrope sections",
)
TILED_ALONE = Mistake(
    "sines-tiled-alone",
    does="tiles sines over the channels of an axis, and gives both members of a pair one cosine",
    should="lay out both tables alike",
    fix="repeat cosines as sines are repeated",
    origin="in the style of V-JEPA 2, whose two tables are repeated one by one",
)
MOVED: tuple[tuple[Mistake, Callable[[Array], Array]], ...] = (
    Mistake(
        "positions-truncated",
        does="truncates real positions to integers",
        should="turn by real positions",
        fix='keep positions real, or declare positions="whole"',
        origin="in the style of tables that are indexed by position, where a grid is rescaled to the size of training",
    ).made_by(np.trunc),
    Mistake(
        "positions-rounded",
        does="rounds real positions to the nearest integer",
        should="turn by real positions",
        fix='keep positions real, or declare positions="whole"',
        origin="in the style of position ids that are kept as integers, where a grid is rescaled to the size of training",
    ).made_by(np.rint),
)


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong beyond the slots of a rotation."""
    for mistake, rotary in MISTAKES:
        yield mistake.at(ROTATE, rotary.of(ROTATE))
    yield SPLIT_AS_ONE.at(ROTATE, split_as_one)
    yield TILED_ALONE.at(ROTATE, tiled_alone)
    for mistake, change in MOVED:
        yield mistake.at(ROTATE, moving(ROTATE, change))
