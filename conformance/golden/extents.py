"""How large calls at real sizes are: the extents of each kind of operation, planned ones and any."""

import math
from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np

from conformance.golden import places
from conformance.spec.arguments import is_position
from conformance.spec.ranges import WIDTHS
from refimpl.spec import Operation

Generator = np.random.Generator
#: How many keys a cache keeps that slides where no window is declared.
WINDOW = 4_096


@dataclass(frozen=True)
class Extent:
    """How large a call is: batch, query heads per key head, tokens (or queries), keys, width of a head, how its positions run, a mask.

    In a ``tuned`` one every weight goes with the position of its key so much that half precision shows it.
    """

    batch: int
    heads: int
    tokens: int
    keys: int
    width: int
    group: int = 1
    runs: str = "counted"
    causal: bool = False
    tuned: bool = False
    equal: bool = False

    def size(self, axis: str) -> int:
        """Return the size of an axis that no parameter fixes."""
        return {
            "batch": self.batch,
            "key": self.keys,
            "distance": self.tokens + self.keys,
            **dict.fromkeys(("head_dim", "dim"), self.width),
            "pair": self.width // 2,
            "key_head": self.heads // self.group,
            **dict.fromkeys(("head", "query_head"), self.heads),
        }.get(axis, self.tokens)


#: Orders of a few tokens more than small calls have, which are told from one another by what lies between the ends.
ORDERS = {
    each.__name__: each for each in (places.disordered, places.repeated, places.negative, places.padded, places.listed, places.restarted)
}
#: Orders in which distances are more than the positions' own integers hold.
APART = {each.__name__: each for each in places.SIDES}
#: Widths of heads that no other call of attention has, and how many of its heads share a key head: Qwen2.5-7B 7, StarCoder2 9 and 12,
#: Falcon-180B 29.
BETWEEN = (96, 192, 112, 256)
SHARED = (7, 9, 12, 29)
#: The order of a square grid that is listed column by column, where tokens stand on several axes.
COLUMNS = "columns"
#: Vectors that are worked out token by token. Those that are compared with their parts come second and third: more rows of tokens, and
#: more batches times heads, than 16 bits count; these leave 13 rows over of tiles of 16, 32 and 64, and 77 of tiles of 128.
#: The last fills every tile.
TOKENS = (
    Extent(2, 2, 129, 129, 32, runs="disordered"),
    Extent(1, 65, 1_025, 1_025, 16, group=65),
    Extent(513, 205, 1, 1, 8, runs="rows"),
    Extent(2, 1, 65_539, 65_539, 16, runs="rows"),
    Extent(5, 9, 257, 65, 128, group=3, runs="rows"),
    Extent(3, 257, 9, 10, 256, runs="late"),
    Extent(33, 2, 65, 2_049, 140, runs="disordered"),
    Extent(2, 8, 17, 65, 1_026, runs="late"),
    *(Extent(1, 1, 9, 9, width, runs=order) for order, width in zip(ORDERS, cycle((16, 20)), strict=False)),
    Extent(1, 1, 9, 9, 16, runs=COLUMNS),
    Extent(1, 128, 1_024, 1_024, 16),
)
TOKENS_AT_FULL = (
    Extent(1, 32, 4_096, 4_096, 128),
    Extent(2, 40, 513, 513, 64, runs="rows"),
    Extent(1, 1, 131_075, 131_075, 64, runs="late"),
    Extent(1, 160, 129, 129, 128, runs="shuffled"),
)
#: Encodings, whose tokens have neither heads nor a batch.
ENCODINGS = (
    Extent(1, 3, 129, 129, 64, runs="disordered"),
    Extent(1, 33, 8_195, 8_195, 64),
    Extent(1, 40, 257, 257, 1_028, runs="late"),
    Extent(1, 160, 33, 33, 16_384, runs="shuffled"),
    Extent(1, 3, 65_539, 65_539, 16),
    *(Extent(1, 3, 9, 9, 100, runs=order) for order in ORDERS),
    Extent(1, 3, 9, 9, 100, runs=COLUMNS),
    Extent(1, 128, 4_096, 4_096, 64),
)
ENCODINGS_AT_FULL = (Extent(1, 32, 32_771, 32_771, 128), Extent(1, 32, 4_097, 4_097, 768, runs="late"))
#: Biases of queries and keys: square, many heads, long, and one query in decoding with more keys than 16 bits count.
BIASES = (
    Extent(1, 3, 33, 129, 64, runs="shuffled"),
    Extent(1, 12, 257, 257, 64),
    Extent(1, 257, 3, 2_049, 64),
    Extent(1, 40, 65, 513, 64, runs="late"),
    Extent(1, 2, 2_051, 2_051, 64),
    Extent(1, 9, 1, 65_541, 64),
    Extent(1, 160, 5, 33, 64, runs="shuffled"),
    *(Extent(1, 2, 3, 9, 64, runs=order) for order in APART),
    Extent(1, 2, 205, 333, 64),
    Extent(1, 2, 9, 9, 64, runs="disordered"),
    Extent(1, 32, 300, 555, 64),
    Extent(1, 64, 256, 256, 64),
)
BIASES_AT_FULL = (Extent(1, 2, 2_049, 2_049, 64), Extent(1, 71, 129, 257, 64, runs="shuffled"), Extent(1, 32, 5, 8_195, 64, runs="late"))
#: Attention whose axes are large together: a decoding step and a chunk of a model of 8B parameters, and a batch of grouped heads.
TOGETHER_LARGE = (
    Extent(1, 48, 1, 777, 128, group=6, runs="late", causal=True),
    Extent(1, 32, 130, 1_000, 128, group=4, causal=True),
    Extent(4, 8, 67, 301, 64, group=4, runs="rows", causal=True),
)
#: Attention: few keys but one more than a tile, groups, batches, many heads, wide ones, lengths of several tiles, more keys than a cache
#: keeps that slides, more than twice as many, lengths that are one more than a multiple of 160, 176 or 192, and some that leave 13 rows
#: over of tiles of 16, 32 and 64, and 77 of tiles of 128: the last row may come out right, unlike those beside it. The most batches times
#: heads fill no tile either; the last two fill every tile.
#: One query of decoding stands among keys in any order, and one in each row of a batch elsewhere.
ATTENTION = (
    Extent(2, 10, 5, 65, 16, group=5, runs="one side"),
    Extent(1, 6, 97, 257, 80, group=3, causal=True),
    Extent(35, 131, 1, 5, 8, group=131, runs="ragged", causal=True),
    Extent(2, 8, 3, 2_049, 128, group=8, runs="disordered"),
    Extent(7, 12, 10, 10, 264, group=3, runs="rows", causal=True),
    Extent(2, 20, 3, 257, 16, group=10, runs="ragged", causal=True),
    Extent(1, 40, 65, 129, 64, group=5, causal=True),
    Extent(1, 128, 2, 33, 64, group=16, runs="late"),
    Extent(5, 4, 3, 17, 576, group=2, runs="late"),
    Extent(1, 2, 4, 1_025, 200, group=2, runs="shuffled", causal=True),
    Extent(1, 1, 1, 4_355, 16),
    Extent(1, 1, 1, 8_195, 16),
    Extent(1, 4, 1, 2_113, 64, group=4),
    Extent(1, 4, 1, 1_921, 64, group=2, causal=True),
    Extent(1, 2, 577, 801, 16, group=2, runs="shuffled", causal=True),
    *(
        Extent(1, 2 * group, 9, 9, width, group=group, runs=order, causal=True)
        for order, width, group in zip(("disordered", "repeated", *APART), cycle(BETWEEN), cycle(SHARED), strict=False)
    ),
    Extent(2, 2, 205, 333, 16, group=2),
    *TOGETHER_LARGE,
    Extent(1, 2, 1, 801, 16, runs="shuffled", causal=True),
    Extent(3, 2, 1, 333, 16, group=2, runs="rows", causal=True),
    Extent(1, 2, 512, 512, 16, group=2, causal=True),
    Extent(8, 64, 2, 16, 8, group=8, causal=True),
)
#: Queries as far from the start as keys, for code that counts both from there; float16 doesn't hold the last position.
PREFILL = Extent(1, 1, 2_114, 2_114, 64, causal=True, tuned=True)
ATTENTION_AT_FULL = (
    Extent(1, 32, 129, 1_025, 128, group=4, runs="late"),
    Extent(7, 20, 65, 33, 80, group=2, runs="rows"),
    Extent(1, 2, 1, 8_195, 64, group=2),
    Extent(513, 128, 1, 5, 8, group=64, runs="late"),
)
#: Calls of several rows, heads and tokens, beside which neighbours are asked for: each row from elsewhere, or in an order of its own;
#: where queries meet keys they are smaller, and smallest where positions are projected. One row has few tokens, as in speculative decoding.
BESIDE = (*(Extent(3, 4, 33, 33, 16, runs=runs) for runs in ("rows", "disordered")), Extent(1, 4, 9, 9, 16, runs="disordered"))
BESIDE_MEETING = tuple(Extent(3, 4, 9, 17, 8, group=2, runs=runs, causal=runs == "rows") for runs in ("rows", "disordered"))
NARROW = 4
#: How many calls of any size follow those that are planned, the most of each axis in them, and of vectors, or of pairs of a query and key.
ANY = {"smoke": 0, "further": 0, "core": 2, "full": 24}
UP_TO = {"batch": 600, "heads": 160, "tokens": 16_384, "keys": 16_384}
TOGETHER = 1 << 16
#: The same where queries meet keys: layers that take one row of a batch at a time need their time for each.
MEETING = {"batch": 16, "heads": 160, "tokens": 1_024, "keys": 1_024}
Plans = tuple[tuple[Extent, ...], tuple[Extent, ...]]


#: Projections, whose input is as long as other calls have tokens: of an 8B model's keys, and of more rows than 16 bits count.
PROJECTIONS = (Extent(1, 8, 129, 129, 128), Extent(1, 257, 3, 3, 256))
PROJECTIONS_AT_FULL = (Extent(1, 32, 129, 129, 128), Extent(1, 40, 65, 65, 256))


def planned(operation: Operation, level: str) -> tuple[Extent | None, ...]:
    """Return the extents of a level, none where it may be any: at full only where queries meet keys, since layers may need long."""
    if level == "beside":
        extents = BESIDE_MEETING if "q" in operation.arrays else BESIDE
        return tuple(replace(extent, width=NARROW) for extent in extents) if projected(operation) else extents
    core, full = _plans(operation)
    core = tuple(extent for extent in core if extent.keys <= WINDOW or not (weighs(operation) and _learned(operation)))
    core = tuple(extent for extent in core if extent.runs != COLUMNS or "axis" in axes_of(operation))
    core += (PREFILL,) if weighs(operation) and not _learned(operation) else ()
    chosen = {"smoke": core[:1], "further": core[:2], "core": core, "full": core + full}[level]
    return (*chosen, *[None] * (ANY[level] if apart(operation) or level == "full" else 0))


def any_extent(operation: Operation, rng: Generator) -> Extent:
    """Return an extent of any size: whichever axis comes first may be long, and the others have what is left."""
    paired = not apart(operation)
    upmost = MEETING if paired else UP_TO
    sizes, left = dict[str, int](), TOGETHER
    for axis in (list(UP_TO)[int(i)] for i in rng.permutation(len(UP_TO))):
        sizes[axis] = int(np.exp2(rng.uniform(0.0, math.log2(min(left, upmost[axis]) + 1))))
        left = max(left // sizes[axis], 1) if paired or axis != "keys" else left
    groups = [count for count in range(1, sizes["heads"] + 1) if sizes["heads"] % count == 0]
    runs = ("counted", "shuffled", "late", "rows", "one side")[int(rng.integers(5))]
    width, group = int(rng.choice(WIDTHS)), int(rng.choice(groups))
    batch, heads, tokens, keys = (sizes[axis] for axis in UP_TO)
    return Extent(batch, heads, tokens, max(keys, 2), width=width, group=group, runs=runs, causal=bool(rng.integers(2)))


def _plans(operation: Operation) -> Plans:
    axes = axes_of(operation)
    if "projection" in axes:
        return PROJECTIONS, PROJECTIONS_AT_FULL
    if apart(operation) and "distance" not in axes:
        return (TOKENS, TOKENS_AT_FULL) if {"batch", "[batch]"} & axes else (ENCODINGS, ENCODINGS_AT_FULL)
    return (ATTENTION, ATTENTION_AT_FULL) if of_vectors(operation) else (BIASES, BIASES_AT_FULL)


def axes_of(operation: Operation) -> set[str]:
    """Return the axes of all arrays."""
    return set(" ".join(operation.arrays.values()).replace("[", " ").replace("]", " ").split())


def of_vectors(operation: Operation) -> bool:
    """Whether it takes vectors of tokens, in batches and heads."""
    return any({"batch", "head_dim"} <= set(axes.split()) or "distance" in axes for axes in operation.arrays.values())


def apart(operation: Operation) -> bool:
    """Whether no result depends on queries and keys together."""
    return "key" not in axes_of(operation) or any("key" in axes and "query" not in axes for axes in operation.results.values())


def weighs(operation: Operation) -> bool:
    """Whether each element takes the logits of all keys, as a softmax does: these operations may be causal."""
    return "causal" in operation.parameters


def _learned(operation: Operation) -> bool:
    """Whether what queries and keys meet with depends on tables or weights, so that the oracle has to work for every key."""
    return any("batch" not in axes and not is_position(name) for name, axes in operation.arrays.items())


def projected(operation: Operation) -> bool:
    """Whether queries meet encodings of positions, which have a width of their own."""
    return "q" in operation.arrays and "dim" in operation.parameters
