"""What goes wrong where pairs follow several axes: which pair follows which, how fast, and by which position."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, convention, conventions
from conformance.mutants.rotary import Rotary, spectrum
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import mrope

ROTATE = "mrope.rotate"
#: From sections and their order to the axis of every pair.
Following = Callable[[Sequence[int], str], Sequence[int]]
ORDERS = {
    "interleaved": ("https://github.com/Blaizzy/mlx-vlm/pull/576",),
    "contiguous": ("https://github.com/alibaba/MNN/pull/4133", "https://github.com/mlx-node/mlx-node/pull/80"),
}


def followed(axes: Following) -> Rotary:
    """Return the rotation whose pairs, or members of pairs, follow other axes."""
    return Rotary(places=lambda positions, *, sections, order, **_: positions[..., list(axes(sections, order))])


def moved(change: Callable[[Array], Array]) -> Rotary:
    """Return the rotation to other positions."""
    return Rotary(places=lambda positions, **rule: mrope.places(change(positions), **rule))


def right(sections: Sequence[int], order: str) -> list[int]:
    """Return the axis of every pair, or of every member of one."""
    return mrope.axes_of_pairs(tuple(sections), order)


def exchanged(sections: Sequence[int], order: str) -> list[int]:
    """Exchange the last two axes."""
    every = list(range(len(sections)))
    every[-2:] = every[-2:][::-1]
    return [every[axis] for axis in right(sections, order)]


def equal(sections: Sequence[int], order: str) -> list[int]:
    """Give every axis as many pairs, and the rest to the first."""
    share = sum(sections) // len(sections)
    return right([sum(sections) - share * (len(sections) - 1), *[share] * (len(sections) - 1)], order)


def late(sections: Sequence[int], order: str) -> list[int]:
    """Let every pair follow the axis of the one before."""
    axes = right(sections, order)
    return [axes[0], *axes[:-1]]


def to_the_last(sections: Sequence[int], order: str) -> list[int]:
    """Go on in turns to the last pair."""
    if order != "interleaved":
        return right(sections, order)
    return [pair % len(sections) for pair in range(sum(sections))]


def unclaimed(sections: Sequence[int], order: str) -> list[int]:
    """Give the pairs that no axis has in its turns to an axis after the last."""
    count = len(sections)
    if order != "interleaved":
        return right(sections, order)
    return [pair % count if pair < count * sections[pair % count] else count for pair in range(sum(sections))]


def with_zeros(positions: Array) -> Array:
    """Return positions with a list of zeros for an axis after the last."""
    return np.concatenate([positions, np.zeros_like(positions[..., :1])], axis=-1)


def shifted_turns(sections: Sequence[int], order: str) -> list[int]:
    """Assign every axis the pairs of the next one's turns."""
    axes = right(sections, order)
    return axes if order != "interleaved" else [axes[pair - 1] for pair in range(len(axes))]


def at_zero(axis: int) -> Callable[[Array], Array]:
    """Return positions that are 0 on one axis."""
    return lambda positions: positions * (np.arange(positions.shape[-1]) != axis % positions.shape[-1])


def begun_again(x: Array, positions: Array, **parameters: Any) -> Array:
    """Let the frequencies begin at 1 again for every axis."""
    if parameters["order"] == "doubled":
        return mrope.rotate(x, positions, **parameters)
    axes = right(parameters["sections"], parameters["order"])
    theta = np.empty(len(axes))
    for axis in set(axes):
        own = [pair for pair, other in enumerate(axes) if other == axis]
        theta[own] = spectrum(2 * len(own), parameters["base"])
    angles = positions[..., axes] * theta
    return Rotary().turn(x, np.cos(angles), np.sin(angles), layout=parameters["layout"], direction=parameters["direction"])


def halves_off_text(x: Array, positions: Array, **parameters: Any) -> Array:
    """Honour the layout on text alone."""
    on_text = bool(np.all(positions == positions[..., :1]))
    return mrope.rotate(x, positions, **(parameters if on_text else {**parameters, "layout": "half"}))


OWN_AXIS = "turn every pair by the position on its own axis"
MISTAKES: tuple[tuple[Mistake, Rotary], ...] = (
    Mistake(
        "height-and-width-exchanged",
        does="turns the pairs of the height by the width, and those of the width by the height",
        should=OWN_AXIS,
        fix="exchange the last two axes of the positions, or of the sections",
        origin="in the style of grids that are built column by column",
    ).made_by(followed(exchanged)),
    Mistake(
        "first-axis-for-all",
        does="turns all pairs by the position on the first axis",
        should=OWN_AXIS,
        fix="index the positions by the axis of each pair",
        threads=("https://github.com/ggml-org/llama.cpp/pull/19928",),
        origin="in the style of the thread: a rotation of text met positions with axes",
    ).made_by(followed(lambda sections, _: [0] * sum(sections))),
    Mistake(
        "token-for-every-axis",
        does="takes the index of the token for its position on every axis",
        should="use the positions that are given",
        fix="pass the positions with axes on, also while decoding",
        threads=("https://github.com/linkedin/Liger-Kernel/pull/276",),
    ).made_by(moved(lambda positions: np.arange(positions.shape[-2])[:, None] + np.zeros_like(positions))),
    Mistake(
        "one-axis-at-zero",
        does="leaves the second axis at position 0",
        should=OWN_AXIS,
        fix="fill the ids of every axis",
        threads=("https://github.com/vllm-project/vllm/pull/29593",),
    ).made_by(moved(at_zero(1))),
    Mistake(
        "last-axis-at-zero",
        does="leaves the last axis at position 0",
        should=OWN_AXIS,
        fix="fill the ids of every axis",
        origin="in the style of vllm's pull request 29593, in which the index of one axis was set to 0",
    ).made_by(moved(at_zero(-1))),
    Mistake(
        "sections-in-reverse",
        does="takes the sections in the reverse order",
        should="give each axis the pairs that are asked for",
        fix="bring sections and positions into one order of axes",
        origin="in the style of Ernie 4.5 VL, whose list of sections has the time last",
    ).made_by(followed(lambda sections, order: right(sections[::-1], order))),
    Mistake(
        "equal-sections",
        does="gives every axis as many pairs",
        should="give each axis the pairs that are asked for",
        fix="read mrope_section",
        origin="in the style of defaults for a list that isn't passed on",
    ).made_by(followed(equal)),
    Mistake(
        "sections-end-late",
        does="lets every pair follow the axis of the one before it: each section ends a pair too late",
        should="end a section with its last pair",
        fix="compare with <, not <=, where sections end",
        origin="in the style of kernels that find the axis of a pair by comparing with the ends of sections",
    ).made_by(followed(late)),
    Mistake(
        "turns-to-the-last-pair",
        does="goes on in turns to the last pair where axes are interleaved",
        should="let the pairs that are left follow the first axis",
        fix="assign only the pairs below 3 times the section of an axis",
        origin="in the style of interleaving by the number of the pair alone",
    ).made_by(followed(to_the_last)),
    Mistake(
        "left-over-pairs-unturned",
        does="doesn't turn the pairs that are left over where axes are interleaved: they follow one more list of positions, which is 0",
        should="let the pairs that are left follow the first axis",
        fix="hand in the positions of time as the fourth list, too",
        origin="ggml's mode for sections in turns, with positions as llama.cpp hands them in for text and for images (docs/findings.md)",
    ).made_by(Rotary(places=lambda positions, *, sections, order, **_: with_zeros(positions)[..., unclaimed(sections, order)])),
    Mistake(
        "turns-shifted",
        does="gives every axis the pairs beside its own where axes are interleaved",
        should="give axis k every pair k, k + 3, k + 6 and so on, as many as its section has",
        fix="begin the slice with step 3 at the axis's own number",
        threads=("https://github.com/vllm-project/vllm/pull/40680",),
    ).made_by(followed(shifted_turns)),
    Mistake(
        "axes-added",
        does="adds the positions on all axes and turns all pairs by the sum",
        should=OWN_AXIS,
        fix="keep the axes apart",
        origin="in the style of positions flattened along an image",
    ).made_by(moved(lambda positions: positions.sum(axis=-1, keepdims=True) + np.zeros_like(positions))),
)
BEGUN_AGAIN = Mistake(
    "frequencies-begin-again",
    does="lets the frequencies begin at 1 again for every axis",
    should="take the frequencies of the whole head",
    fix="tell multimodal rope from axial rope, as vision towers have it",
    origin="in the style of axial rope in the same model's vision tower",
)


HALVES_OFF_TEXT = Mistake(
    "halves-off-text",
    does="turns pairs half a head apart where the axes of a position differ, whatever the layout",
    should="turn the pairs of the layout, on images as on text",
    fix="pass the layout on to the kernel for positions with axes",
    threads=("https://github.com/vllm-project/vllm/issues/49290",),
)


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong beyond what befalls every rotation."""
    yield from conventions(ROTATE, ORDERS, ("order",))
    yield convention(ROTATE, "layout", "interleaved", ("https://github.com/ohdearquant/lattice/pull/96",))
    for mistake, rotary in MISTAKES:
        yield mistake.at(ROTATE, rotary.of(ROTATE))
    yield BEGUN_AGAIN.at(ROTATE, begun_again)
    yield HALVES_OFF_TEXT.at(ROTATE, halves_off_text)
