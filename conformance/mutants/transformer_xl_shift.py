"""What goes wrong with the shift that turns scores of distances into scores of keys."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.mutants.building import Mistake
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import transformer_xl

SHIFT = "transformer_xl.shift"
Shift = Callable[[Array, int], Array]


def right(scores: Array, memory: int) -> Array:
    """Shift as the authors do."""
    return transformer_xl.shift(scores, memory=memory)


def gathered(scores: Array, columns: Callable[[Array, Array, int], Array], rows: Callable[[Array], Array] = np.asarray) -> Array:
    """Return for every query and key the score in a column that depends on both, and on how many queries there are."""
    queries, keys = scores.shape[2:]
    m, n = np.arange(queries)[:, None], np.arange(keys)
    return scores[:, :, rows(m + 0 * n), columns(m, n, queries) % keys]


def appended(scores: Array, _: int) -> Array:
    """Append the zero column instead of prepending it."""
    batch, head, query, distance = scores.shape
    padded = np.concatenate([scores, np.zeros_like(scores[..., :1])], axis=-1)
    return padded.reshape(batch, head, distance + 1, query)[:, :, 1:].reshape(scores.shape)


def last_row_dropped(scores: Array, _: int) -> Array:
    """Drop the last row of the view instead of the first."""
    batch, head, query, distance = scores.shape
    padded = np.concatenate([np.zeros_like(scores[..., :1]), scores], axis=-1)
    return padded.reshape(batch, head, distance + 1, query)[:, :, :-1].reshape(scores.shape)


def heads_for_queries(scores: Array, _: int) -> Array:
    """Shift by the head instead of the query."""
    memory = scores.shape[3] - scores.shape[1]
    return right(scores.swapaxes(1, 2), memory).swapaxes(1, 2) if memory >= 0 else scores


def half_of_keys(scores: Array, memory: int) -> Array:
    """Take the memory to be as long as the segment."""
    return gathered(scores, lambda m, n, queries: n - m + max(memory - 1, 0) if memory > queries else n - m + queries - 1)


def first_rows(count: int) -> Shift:
    """Shift so many rows and leave the others."""
    return lambda scores, memory: np.where(np.arange(scores.shape[2])[:, None] < count, right(scores, memory), scores)


def first_of(axis: int) -> Shift:
    """Return the first entry of an axis for all."""
    return lambda scores, memory: np.broadcast_to(np.take(right(scores, memory), [0], axis=axis), scores.shape).copy()


def short_memory(scores: Array, memory: int) -> Array:
    """Forget what is farther than eight distances."""
    kept = np.arange(scores.shape[3]) >= scores.shape[3] - 8
    return right(np.where(kept, scores, 0.0), memory)


def ascending(scores: Array, memory: int) -> Array:
    """Take column c for distance c."""
    return gathered(scores, lambda m, n, _: m + memory - n)


TRICK = "prepend a zero column, view as (distance + 1, query), drop the first row, view back"
MISTAKES: tuple[tuple[Mistake, Shift], ...] = (
    Mistake("not-shifted", does="leaves every row where it was: column n is no key but a distance", should=TRICK,
            fix="shift the product with the relative keys before it is added",
            threads=("https://github.com/wenet-e2e/wenet/issues/1611",),
            origin="in the style of: relative encodings used as absolute ones").made_by(lambda scores, _: scores.copy()),
    Mistake("zeros-appended", does="appends the zero column instead of prepending it", should=TRICK, fix="concatenate zeros first",
            origin="in the style of padding on the other side").made_by(appended),
    Mistake("last-row-dropped", does="drops the last row of the view instead of the first", should=TRICK, fix="keep rows from 1 on",
            threads=("https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/185",)).made_by(last_row_dropped),
    Mistake("ascending-distances", does="takes column c for distance c", should="take the last column for distance 0",
            fix="count the table of distances down", origin="in the style of tables that count up").made_by(ascending),
    Mistake("moved-the-other-way", does="moves row m by m to the left", should="move it by query - 1 - m", fix=TRICK,
            origin="in the style of shifts for keys that come after").made_by(lambda scores, _: gathered(scores, lambda m, n, _: n + m)),
    Mistake("distance-from-one", does="gives every key the score of the next distance", should="give the token itself distance 0",
            fix="let the table end at distance 0", origin="in the style of tables from K to 1").made_by(
        lambda scores, _: gathered(scores, lambda m, n, queries: n - m + queries - 2)
    ),
    Mistake("moved-by-memory", does="moves every row by the length of the memory", should="move row m by query - 1 - m", fix=TRICK,
            origin="in the style of offsets taken for shifts").made_by(
        lambda scores, memory: gathered(scores, lambda m, n, _: n - m + memory)
    ),
    Mistake("memory-as-long-as-segment", does="takes the memory to be as long as the segment, or just longer",
            should="use the memory that is given", fix="move row m by query - 1 - m whatever the memory",
            origin="in the style of memories of one fixed length").made_by(half_of_keys),
    Mistake("heads-for-queries", does="moves rows by their head", should="move them by their query", fix="keep heads out of the view",
            origin="in the style of views whose axes are exchanged").made_by(heads_for_queries),
    Mistake("first-row-of-batch", does="returns the first row of the batch for all", should="shift each row", fix="keep the batch axis",
            origin="in the style of batch axes that are lost by broadcasting").made_by(first_of(0)),
    Mistake("first-head", does="returns the first head for all", should="shift each head", fix="keep the head axis",
            origin="in the style of head axes that are lost by broadcasting").made_by(first_of(1)),
    Mistake("four-rows", does="shifts four rows and leaves the others", should="shift every row", fix="loop over all rows",
            origin="in the style of kernels that forget the rows beyond a full vector").made_by(first_rows(4)),
    Mistake("eight-distances", does="loses distances beyond the eighth", should="shift every column", fix="loop over all columns",
            origin="in the style of kernels that forget what is beyond a full vector").made_by(short_memory),
    Mistake("two-rows", does="shifts two rows and leaves the others", should="shift every row", fix="loop over all rows",
            origin="in the style of code that was tried with two tokens").made_by(first_rows(2)),
    Mistake("keys-in-reverse", does="returns the keys from last to first", should="return them in order",
            fix="don't flip what is shifted", origin="in the style of tables that are flipped twice").made_by(
        lambda scores, memory: right(scores, memory)[..., ::-1].copy()
    ),
)


def mutants() -> Iterator[Mutant]:
    """Return all mutants of the shift."""
    for mistake, shift in MISTAKES:
        yield mistake.at(SHIFT, lambda scores, *, memory, shift=shift: shift(scores, memory))
