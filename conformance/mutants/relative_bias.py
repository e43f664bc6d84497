"""What goes wrong with a table of one bias per offset."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.mutant import Mutant
from conformance.mutants.building import Mistake, altered, conventions, moving
from conformance.mutants.positions import index, position_mutants
from refimpl.arrays import Array

BIAS = "relative_bias.bias"
Rows = Callable[[Array, int], Array]
OFF_BY_ONE = "in the style of off-by-one boundaries"
COPIED = "in the style of formulas copied without a term"


def read(rows: Rows) -> Callable[..., Array]:
    """Return the bias whose offsets become rows in another way."""

    def bias(table: Array, query_positions: Array, key_positions: Array, *, max_distance: int, sign: str) -> Array:
        offset = (key_positions[None, :] - query_positions[:, None]) * (1 if sign == "key_minus_query" else -1)
        return np.moveaxis(table[rows(offset, max_distance)], -1, 0)

    return bias


ROW_MISTAKES: tuple[tuple[Mistake, Rows], ...] = (
    (
        Mistake(
            "clipped-one-short",
            does="clips offsets one too near on either side: the outermost rows are never read",
            should="clip to [-max_distance, max_distance]",
            fix="clip at max_distance, not max_distance - 1",
            origin=OFF_BY_ONE,
        ),
        lambda offset, reach: np.clip(offset, 1 - reach, reach - 1) + reach,
    ),
    (
        Mistake(
            "even-table",
            does="clips to [-max_distance, max_distance - 1], as code with an even table does",
            should="give the farthest offset of the other side its row too",
            fix="use 2 max_distance + 1 rows",
            origin="in the style of Phi-4-multimodal's audio encoder, whose table is even",
        ),
        lambda offset, reach: np.clip(offset, -reach, reach - 1) + reach,
    ),
    (
        Mistake(
            "centre-forgotten",
            does="doesn't add max_distance: negative offsets are read from the end of the table",
            should="add max_distance to the clipped offset",
            fix="shift the offset to the middle of the table",
            origin=COPIED,
        ),
        lambda offset, reach: np.clip(offset, -reach, reach),
    ),
    (
        Mistake(
            "wrapped",
            does="wraps offsets beyond the table around",
            should="clip them",
            fix="clip before the look-up",
            origin="in the style of gathers that take a row modulo the table",
        ),
        lambda offset, reach: (offset + reach) % (2 * reach + 1),
    ),
    (
        Mistake(
            "absolute",
            does="reads the row of the distance for both directions",
            should="tell earlier from later keys",
            fix="keep the sign of the offset",
            origin=COPIED,
        ),
        lambda offset, reach: np.minimum(np.abs(offset), reach) + reach,
    ),
    (
        Mistake(
            "from-one",
            does="counts offsets from one: a token reads its neighbour's row",
            should="give offset 0 the middle row",
            fix="don't add 1",
            origin=OFF_BY_ONE,
        ),
        lambda offset, reach: np.clip(offset + 1, -reach, reach) + reach,
    ),
    (
        Mistake(
            "later-hidden",
            does="gives later keys the row of the token itself, as a decoder may",
            should="give later keys their own rows",
            fix="clip on both sides",
            origin="in the style of tables trained under a causal mask",
        ),
        lambda offset, reach: np.clip(offset, -reach, 0) + reach,
    ),
)

RESULT_MISTAKES: tuple[tuple[Mistake, Callable[[Array], Array]], ...] = (
    (
        Mistake(
            "no-bias",
            does="returns no bias, as a path with a cache may",
            should="add the bias row of the current position",
            fix="add the bias on every path",
            threads=("https://github.com/NVIDIA/TensorRT-LLM/pull/13870",),
            origin="the thread's model is T5",
        ),
        np.zeros_like,
    ),
    (
        Mistake(
            "heads-in-reverse",
            does="gives the heads their columns in reverse",
            should="give head h column h",
            fix="keep the order of the heads",
            origin="in the style of head orders that change on one device",
        ),
        lambda bias: bias[::-1].copy(),
    ),
    (
        Mistake(
            "scaled-with-the-logits",
            does="divides the bias by sqrt(64) with the logits",
            should="add the bias unscaled",
            fix="scale q k before the bias is added",
            origin="in the style of fused kernels that scale the bias too; the width 64 is ours",
        ),
        lambda bias: bias / 8.0,
    ),
)
QUERY_INDEX = Mistake(
    "query-index",
    does="uses the index of the query for its position: every decoding step is step 0",
    should="use the query's true position",
    fix="offset the query by the length of the cache",
    threads=("https://github.com/NVIDIA/TensorRT-LLM/issues/1343",),
    origin="the thread's model is T5",
)
POSITION_SLUGS = ("positions-ignored", "first-position-counts", "clamped-at-2048", "clamped-at-4096", "negative-positions-clamped")


def mutants() -> Iterator[Mutant]:
    """Return all mutants of the plain relative bias."""
    for mistake, rows in ROW_MISTAKES:
        yield mistake.at(BIAS, read(rows))
    for mistake, change in RESULT_MISTAKES:
        yield mistake.at(BIAS, altered(BIAS, result=change))
    yield QUERY_INDEX.at(BIAS, moving(BIAS, index, only="query_positions"))
    yield from position_mutants(BIAS, POSITION_SLUGS)
    yield from conventions(BIAS, {}, ("sign",))
