"""What goes wrong with a table of one bias per offset."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.mutants.bias import Pieces
from conformance.mutants.building import Mistake
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

BIAS = "relative_bias.bias"
Rows = Callable[[Array, int], Array]
OFF_BY_ONE = "in the style of off-by-one boundaries"
COPIED = "in the style of formulas copied without a term"


def read(rows: Rows) -> Callable[..., Array]:
    """Return the bias whose offsets become rows in another way."""

    def steps(query: Array, key: Array, max_distance: int, sign: str) -> Array:
        return rows((key - query) * (1 if sign == "key_minus_query" else -1), max_distance)

    return Pieces(steps=steps).of(BIAS)


ROW_MISTAKES: tuple[tuple[Mistake, Rows], ...] = (
    Mistake(
        "clipped-one-short",
        does="clips offsets one too near on either side: the outermost rows are never read",
        should="clip to [-max_distance, max_distance]",
        fix="clip at max_distance, not max_distance - 1",
        origin=OFF_BY_ONE,
    ).made_by(lambda offset, reach: np.clip(offset, 1 - reach, reach - 1) + reach),
    Mistake(
        "even-table",
        does="clips to [-max_distance, max_distance - 1], as code with an even table does",
        should="give the farthest offset of the other side its row too",
        fix="use 2 max_distance + 1 rows",
        origin="in the style of Phi-4-multimodal's audio encoder, whose table is even",
    ).made_by(lambda offset, reach: np.clip(offset, -reach, reach - 1) + reach),
    Mistake(
        "centre-forgotten",
        does="doesn't add max_distance: negative offsets are read from the end of the table",
        should="add max_distance to the clipped offset",
        fix="shift the offset to the middle of the table",
        origin=COPIED,
    ).made_by(lambda offset, reach: np.clip(offset, -reach, reach)),
    Mistake(
        "wrapped",
        does="wraps offsets beyond the table around",
        should="clip them",
        fix="clip before the look-up",
        origin="in the style of gathers that take a row modulo the table",
    ).made_by(lambda offset, reach: (offset + reach) % (2 * reach + 1)),
)


def mutants() -> Iterator[Mutant]:
    """Return the mutants of the plain relative bias that are its own."""
    for mistake, rows in ROW_MISTAKES:
        yield mistake.at(BIAS, read(rows))
