"""What goes wrong with learned frequencies of two axes: which axis, head and pair has which, and how they add up."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.mutants.building import Function, Mistake, altered
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

ROTATE = "mixed_rope.rotate"
ADDED, APART = "add the angles of both axes for every pair", "turn every head by its own frequencies"
KEPT = "use the frequencies that are given"
TEXT = "in the style of code for text that is handed positions with axes"
CONVERTED = "in the style of weights that are converted between libraries"
Change = Callable[[Array], Array]


def axial(frequencies: Array) -> Array:
    """Leave the first half of the pairs to the first axis, and the others to the second."""
    second = np.arange(frequencies.shape[-1]) >= frequencies.shape[-1] // 2
    return frequencies * np.stack([~second, second])[:, None]


def begun(frequencies: Array) -> Array:
    """Return the frequencies with which training begins, where no head's directions are turned."""
    pairs = frequencies.shape[-1]
    return axial(np.ones_like(frequencies) * 10.0 ** (-2.0 * (np.arange(pairs) % max(pairs // 2, 1)) / pairs))


def one_further(positions: Array) -> Array:
    """Move tokens at 0 on every axis."""
    return np.where((positions == 0).all(axis=-1, keepdims=True), 1, positions)


OF_FREQUENCIES: tuple[tuple[Mistake, Change], ...] = (
    (Mistake("axes-exchanged", "multiplies the frequencies of each axis by the position on the other", ADDED,
             "hand over column and row in the order in which frequencies were trained",
             origin="in the style of timm's grid_indexing: 'ij' has the row first, rope-vit the column"), lambda f: f[::-1]),
    (Mistake("axes-on-halves", "turns the first half of the pairs by the first axis alone and the others by the second, as axial RoPE does",
             ADDED, "add t_x @ freqs[0] and t_y @ freqs[1]",
             origin="in the style of axial RoPE, for which mixed frequencies are taken in naver-ai/rope-vit#3"), axial),
    (Mistake("last-axis-at-zero", "leaves the last axis out", ADDED, "add the angle of the last axis too", origin=TEXT),
     lambda f: f * np.array([1.0, 0.0])[:, None, None]),
    (Mistake("axes-with-one-list", "multiplies the positions on both axes by the frequencies of the first", ADDED,
             "index the frequencies by the axis", origin="in the style of axial RoPE, whose axes share frequencies"),
     lambda f: np.repeat(f[:1], len(f), axis=0)),
    (Mistake("axes-subtracted", "subtracts the angle of the second axis from that of the first", ADDED, "add them",
             origin="in the style of signs that are lost"), lambda f: f * np.array([1.0, -1.0])[:, None, None]),
    (Mistake("axes-averaged", "takes the mean of the angles of both axes", ADDED, "sum over the axis",
             origin="in the style of reductions over an axis"), lambda f: f / len(f)),
    (Mistake("first-head-for-all", "gives every head the frequencies of the first", APART, "keep the axis of heads in the tables",
             origin="in the style of tables that language models share between heads"), lambda f: np.repeat(f[:, :1], f.shape[1], axis=1)),
    (Mistake("heads-averaged", "gives every head the mean of all heads' frequencies", APART, "keep the axis of heads in the tables",
             origin="in the style of weights merged for a kernel with one table"), lambda f: 0.0 * f + f.mean(axis=1, keepdims=True)),
    (Mistake("heads-in-reverse", "gives the heads the frequencies in reverse order", APART, "keep their order",
             origin="ours: an order that no shape shows"), lambda f: f[:, ::-1]),
    (Mistake("heads-split-last", "reads frequencies as (pair, head) that are stored as (head, pair)", APART,
             "reshape to (axis, head, pair)", origin="in the style of rope-vit's array, where heads and pairs are one axis"),
     lambda f: np.swapaxes(f.reshape(f.shape[0], f.shape[2], f.shape[1]), 1, 2)),
    (Mistake("axis-stored-last", "reads frequencies that are stored as (head, pair, axis) as if they were (axis, head, pair)", KEPT,
             "move the axis to the front before it is indexed", origin=CONVERTED),
     lambda f: np.ascontiguousarray(np.moveaxis(f, 0, -1)).reshape(f.shape)),
    (Mistake("pairs-in-reverse", "gives the pairs the frequencies in reverse order", KEPT, "keep their order", origin=CONVERTED),
     lambda f: f[..., ::-1]),
    (Mistake("signs-lost", "takes the sizes of frequencies, without their signs", KEPT, "let a pair turn back along an axis",
             origin="in the style of code that expects a ladder of frequencies, which are positive"), np.abs),
    (Mistake("frequencies-not-loaded", "uses frequencies with which training begins, whatever was learned", KEPT,
             "load the frequencies with the other weights", origin="in the style of buffers that a checkpoint lacks, made anew"),
     begun),
)
OF_POSITIONS: tuple[tuple[Mistake, Change], ...] = (
    (Mistake("first-axis-for-all", "multiplies the frequencies of both axes by the position on the first", ADDED,
             "index the positions by the axis", origin=TEXT), lambda p: np.repeat(p[..., :1], p.shape[-1], axis=-1)),
    (Mistake("token-without-a-patch-turned", "turns a token at 0 on both axes, which belongs to no patch, as one patch further on each",
             "leave such a token as it is: its angles are 0", "leave the class token out, or fill its angles with 0",
             origin="in the style of a class token that is counted among the patches"), one_further),
)


def changing(name: str, change: Change) -> Function:
    """Return the operation with one of its arrays changed."""
    return altered(ROTATE, arrays=lambda arrays, _: {**arrays, name: change(arrays[name])})


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong beyond the slots of a rotation."""
    for name, mistakes in (("frequencies", OF_FREQUENCIES), ("positions", OF_POSITIONS)):
        for mistake, change in mistakes:
            yield mistake.at(ROTATE, changing(name, change))
