"""What goes wrong with the scores by which an indexer selects keys: its layout, its ReLU, and the weights of its heads."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from conformance.mutants.building import Arrays, Mistake, Parameters, altered, convention
from conformance.mutants.partial_rope import MISTAKES
from conformance.mutants.positions import frozen
from conformance.mutants.rotary import Rotary, weighed
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

OPERATION = "partial_rope.index_scores"
KERNELS = "in the style of kernels that fuse the products, the ReLU and the weights"
LAYOUTS = {
    "half": (
        "https://github.com/ikawrakow/ik_llama.cpp/pull/2099",
        "https://github.com/1bit-MONSTER/1bit-MONSTER/pull/2421",
    ),
    "interleaved": ("https://github.com/sgl-project/sglang/pull/13495",),
}
STEP = Mistake(
    "queries-frozen",
    does="turns all queries of a step by the position of the first",
    should="turn every query by its own position",
    fix="index the tables by the token of the step too",
    threads=("https://github.com/hw-native-sys/pypto-lib/issues/462",),
)
UNTURNED = Mistake(
    "neither-turned",
    does="scores queries and keys as they are",
    should="turn both, by their own positions",
    fix="rotate the part of the indexer's queries and keys that turns before they meet",
    threads=("https://github.com/d9d-project/d9d/pull/38",),
)

SCORES: tuple[tuple[Mistake, Callable[[Array, Array], Array]], ...] = (
    Mistake(
        "relu-missing",
        does="adds up products below 0 too",
        should="clip the product of every head at 0",
        fix="apply ReLU to q k",
        threads=("https://github.com/ml-explore/mlx-lm/pull/531",),
    ).made_by(lambda products, weights: np.sum(weights[..., None] * products, axis=1)),
    Mistake(
        "relu-after-weights",
        does="clips products after they are weighed: a head with a negative weight counts where its product is negative",
        should="clip the product of every head at 0, and weigh it then",
        fix="move ReLU before the weights",
        origin=KERNELS,
    ).made_by(lambda products, weights: np.sum(np.maximum(weights[..., None] * products, 0.0), axis=1)),
    Mistake(
        "relu-after-the-sum",
        does="clips the sum over the heads",
        should="clip the product of every head at 0, and add up then",
        fix="move ReLU before the sum",
        origin=KERNELS,
    ).made_by(lambda products, weights: np.maximum(np.sum(weights[..., None] * products, axis=1), 0.0)),
    Mistake(
        "scores-clipped",
        does="clips the scores too, so that a key that heads vote down scores as one that none sees",
        should="let scores be negative where weights are",
        fix="apply ReLU to q k only",
        origin=KERNELS,
    ).made_by(lambda products, weights: np.maximum(weighed(products, weights), 0.0)),
    Mistake(
        "magnitude-for-relu",
        does="takes the magnitude of products",
        should="clip the product of every head at 0",
        fix="apply ReLU to q k",
        origin="in the style of formulas read from secondary sources",
    ).made_by(lambda products, weights: np.sum(weights[..., None] * np.abs(products), axis=1)),
    Mistake(
        "weights-missing",
        does="adds up the heads without their weights",
        should="multiply every head by its weight",
        fix="pass the weights of the heads on",
        origin="in the style of indexers that have no weights, as Qwen4's",
    ).made_by(lambda products, weights: weighed(products, np.ones_like(weights))),
    Mistake(
        "weights-normalised",
        does="takes the softmax of the weights over the heads",
        should="use the weights as they are; they may be negative",
        fix="leave the softmax out",
        origin="in the style of mixtures of experts",
    ).made_by(lambda products, weights: weighed(products, np.exp(weights) / np.sum(np.exp(weights), axis=1, keepdims=True))),
    Mistake(
        "first-query-weights",
        does="weighs the heads of all queries as the first query's",
        should="weigh every query's heads by its own weights",
        fix="index the weights by query",
        origin="in the style of decoding kernels that are written for one token of a step",
    ).made_by(lambda products, weights: weighed(products, np.broadcast_to(weights[..., :1], weights.shape))),
    Mistake(
        "heads-in-reverse",
        does="gives the heads their weights in reverse",
        should="weigh head h by its own weight",
        fix="keep the order of the heads",
        origin="in the style of head orders that change on one device",
    ).made_by(lambda products, weights: weighed(products, weights[:, ::-1])),
    Mistake(
        "first-head-only",
        does="scores by the first head alone",
        should="add up all heads",
        fix="sum over the heads",
        origin=KERNELS,
    ).made_by(lambda products, weights: weighed(products[:, :1], weights[:, :1])),
    Mistake(
        "greatest-head",
        does="takes the greatest of the heads' scores",
        should="add up all heads",
        fix="sum over the heads",
        origin="in the style of indexers that pool by the greatest, as MiniMax M3's",
    ).made_by(lambda products, weights: np.max(weights[..., None] * np.maximum(products, 0.0), axis=1)),
)


def scaled(power: Callable[[int, int, int], float]) -> Callable[[Arrays, Parameters], Arrays]:
    """Return weights times a number that heads, width and the part that turns give, where roots divide the scores."""

    def change(arrays: Arrays, chosen: Parameters) -> Arrays:
        _, heads, _, width = arrays["q"].shape
        times = power(heads, width, chosen["rotary_dim"]) if chosen["divisor"] == "roots" else 1.0
        return {**arrays, "head_weights": arrays["head_weights"] * times}

    return change


ROOTS = "divide scores by the roots of head_dim and of the number of heads"
DIVIDED = "in the style of scales that are split between queries and weights"
SCALES: tuple[tuple[Mistake, Callable[[int, int, int], float]], ...] = (
    Mistake(
        "root-of-heads-missing",
        does="divides by the root of head_dim alone",
        should=ROOTS,
        fix="multiply the weights by n_heads ** -0.5",
        origin=DIVIDED,
    ).made_by(lambda heads, _, __: heads**0.5),
    Mistake(
        "root-of-width-missing",
        does="divides by the root of the number of heads alone",
        should=ROOTS,
        fix="multiply the products, or the weights, by head_dim ** -0.5",
        origin=DIVIDED,
    ).made_by(lambda _, width, __: width**0.5),
    Mistake(
        "root-of-the-part",
        does="divides by the root of rotary_dim instead of head_dim",
        should=ROOTS,
        fix="take the width of the whole head of the indexer",
        origin="in the style of parts that are turned as heads of their own",
    ).made_by(lambda _, width, part: (width / part) ** 0.5),
    Mistake(
        "heads-averaged",
        does="divides by the number of heads",
        should=ROOTS,
        fix="multiply the weights by n_heads ** -0.5",
        origin="in the style of means over heads",
    ).made_by(lambda heads, _, __: heads**-0.5),
)
PARTS = ("width-of-head", "width-of-head-in-exponent")


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong with an indexer beyond the slots of a rotation, and what of that was reported of indexers."""
    for layout, threads in LAYOUTS.items():
        yield convention(OPERATION, "layout", layout, threads)
    yield STEP.at(OPERATION, Rotary(place=lambda m, n: (frozen(m), n)).of(OPERATION))
    yield UNTURNED.at(OPERATION, Rotary(place=lambda m, n: (0 * m, 0 * n)).of(OPERATION))
    for mistake, score in SCORES:
        yield mistake.at(OPERATION, Rotary(score=score).of(OPERATION))
    for mistake, power in SCALES:
        yield mistake.at(OPERATION, altered(OPERATION, arrays=scaled(power)))
    for mistake, rotary in MISTAKES:
        if mistake.slug in PARTS:
            inherited = mistake.at(OPERATION, rotary.of(OPERATION))
            yield replace(inherited, threads=(), origin="reported for rotations of a part", inherited=True)
