"""What goes wrong with learned positions: the offset of a checkpoint, the ends of the table, and ids that nobody passed on."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from conformance.mutants.building import Mistake, convention
from conformance.mutants.positions import frozen, index, run
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

ENCODE = "learned.encode"
OFFSET_THREADS = ("https://github.com/huggingface/transformers/issues/20761",)
TABLE_ORIGIN = "in the style of weights that are converted from another layout"
Encode = Callable[..., Array]
Rows = Callable[[Array, int, int], Array]


def treated(rows: Array, length: int, outside: str) -> Array:
    """Return rows inside of the table, treating the others as asked for."""
    return rows % length if outside == "wrap" else np.clip(rows, 0, length - 1)


def reading(rows: Rows) -> Encode:
    """Return the look-up of other rows, from positions, offset and length."""

    def encode(positions: Array, table: Array, *, offset: int, outside: str) -> Array:
        return table[treated(rows(positions, offset, len(table)), len(table), outside)]

    return encode


def at(change: Callable[[Array], Array]) -> Encode:
    """Return the look-up of other positions."""
    return reading(lambda positions, offset, _: change(positions) + offset)


def remade(change: Callable[[Array], Array]) -> Encode:
    """Return the right rows of another table."""

    def encode(positions: Array, table: Array, *, offset: int, outside: str) -> Array:
        return change(table)[treated(positions + offset, len(table), outside)]

    return encode


def transposed(table: Array) -> Array:
    """Return a table with rows and channels exchanged, where both are as many."""
    return table.T if table.shape[0] == table.shape[1] else table


def from_the_end(positions: Array, offset: int, length: int) -> Array:
    """Return rows that count negative positions from the end."""
    rows = positions + offset
    return np.where(rows < 0, np.maximum(rows + length, 0), rows)


def treated_before(positions: Array, table: Array, *, offset: int, outside: str) -> Array:
    """Treat positions as rows, then add the offset."""
    room = len(table) - offset
    return table[treated(positions, room, outside) + offset]


MISTAKES: tuple[tuple[Mistake, Encode], ...] = (
    Mistake(
        "offset-ignored",
        does="reads row p: every position is offset rows early",
        should="read row p + offset",
        fix="add the offset of the checkpoint: 2 in OPT and BART, padding index + 1 in fairseq",
        threads=OFFSET_THREADS,
    ).made_by(reading(lambda positions, _offset, _length: positions)),
    Mistake(
        "offset-twice",
        does="adds the offset to positions that hold it already",
        should="add it once",
        fix="count positions from 0, or leave the offset to them",
        threads=OFFSET_THREADS,
        origin="in the style of: position ids that start at padding index + 1, given to a module that adds it",
    ).made_by(reading(lambda positions, offset, _: positions + 2 * offset)),
    Mistake(
        "offset-padding-index",
        does="adds the padding index instead of the padding index + 1: one row early",
        should="add the whole offset",
        fix="start at padding index + 1",
        threads=OFFSET_THREADS,
        origin="in the style of: the thread, one row off",
    ).made_by(reading(lambda positions, offset, _: positions + max(offset - 1, 0))),
    Mistake(
        "offset-fixed-at-two",
        does="adds 2 whatever the checkpoint's offset is",
        should="add offset",
        fix="read the offset off the checkpoint",
        origin="in the style of OPT's code used for another checkpoint",
    ).made_by(reading(lambda positions, _offset, _length: positions + 2)),
    Mistake(
        "positions-from-one",
        does="counts positions from one",
        should="count them from zero",
        fix="don't add 1 to the positions",
        origin="in the style of running counts of a mask from which 1 was not taken off",
    ).made_by(at(lambda positions: positions + 1)),
    Mistake(
        "columns-counted",
        does="takes the column of the token for its position, padding included",
        should="use the positions that are given, cumsum(mask) - 1 under left padding",
        fix="pass position ids made from the attention mask",
        threads=("https://github.com/ndif-team/nnsight/issues/672",),
    ).made_by(at(index)),
    Mistake(
        "first-position-counts",
        does="takes the first position and counts up from it",
        should="use every position that is given",
        fix="pass all position ids",
        threads=("https://github.com/rajveer43/VeloxQuant-MLX/issues/389",),
        origin="in the style of: the thread, which is about rotary tables",
    ).made_by(at(run)),
    Mistake(
        "positions-frozen",
        does="gives every token the first token's row",
        should="advance with the token",
        fix="slice the table by the number of tokens (`table[:T]`) instead of indexing it",
        threads=("https://github.com/DiffPoseTalk/DiffPoseTalk/issues/20",),
    ).made_by(at(frozen)),
    Mistake(
        "positions-in-uint8",
        does="stores positions in a byte: position 256 reads row 0",
        should="keep every position",
        fix="use a wider integer for the position ids",
        origin="in the style of ids stored as small as a short table allows",
    ).made_by(at(lambda positions: positions.astype(np.uint8).astype(np.int64))),
    Mistake(
        "last-row-unreachable",
        does="stops one row before the last",
        should="read every row",
        fix="clamp at length - 1",
        origin="in the style of off-by-one boundaries",
    ).made_by(reading(lambda positions, offset, length: np.minimum(positions + offset, max(length - 2, 0)))),
    Mistake(
        "negatives-from-the-end",
        does="counts negative rows from the end of the table, whatever is asked for",
        should="refuse them, or treat them as declared",
        fix="check the position before indexing",
        origin="in the style of Python indexing, which NumPy and JAX follow",
    ).made_by(reading(from_the_end)),
    Mistake(
        "treated-before-the-offset",
        does="clamps or wraps the position before it adds the offset",
        should="clamp or wrap the row",
        fix="add the offset first",
        origin="in the style of steps exchanged",
    ).made_by(treated_before),
    Mistake(
        "table-transposed",
        does="reads columns of the table for rows, where it is square",
        should="read rows",
        fix="convert weights with their axes in order",
        origin=TABLE_ORIGIN,
    ).made_by(remade(transposed)),
    Mistake(
        "rows-in-reverse",
        does="reads the table from its end",
        should="read row p + offset",
        fix="keep the order of the rows",
        origin=TABLE_ORIGIN,
    ).made_by(remade(lambda table: table[::-1])),
    Mistake(
        "scaled-up",
        does="multiplies the rows by sqrt(dim), as token embeddings are",
        should="return the rows",
        fix="scale the token embeddings only",
        origin="in the style of scales applied after the sum",
    ).made_by(remade(lambda table: table * np.sqrt(table.shape[1]))),
    Mistake(
        "scaled-down",
        does="divides the rows by sqrt(dim)",
        should="return the rows",
        fix="don't scale, or store the scaled table",
        origin="in the style of x-transformers, whose tables are scaled so",
    ).made_by(remade(lambda table: table / np.sqrt(table.shape[1]))),
)

#: The treatments that code falls into, and where people met them.
HAZARDS: Mapping[str, tuple[str, ...]] = {
    "clamp": ("https://github.com/jax-ml/jax/issues/4383", "https://github.com/jax-ml/jax/issues/3774"),
    "wrap": (),
}


def mutants() -> Iterator[Mutant]:
    """Return all mutants of learned positions."""
    for value, threads in HAZARDS.items():
        yield convention(ENCODE, "outside", value, threads)
    for mistake, function in MISTAKES:
        yield mistake.at(ENCODE, function)
