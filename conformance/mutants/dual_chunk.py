"""What goes wrong where positions begin anew in every chunk: the chunk before, its local part, and where other chunks stand."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, altered, forcing
from conformance.mutants.rotary import Rotary
from conformance.mutants.windowed import Near, Places, of_near
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.forms import windowed
from refimpl.schemes import dual_chunk

#: Which keys of dual chunks are near, by their positions, what a chunk and its local part hold.
CHUNK_EDGES: tuple[tuple[Mistake, Near], ...] = (
    Mistake(
        "chunk-before-near",
        does="keeps every distance to the chunk before: distances grow beyond the chunk's size",
        should="keep distances to the chunk before up to the chunk's size",
        fix="clamp the positions of queries for the chunk before at chunk_size",
        origin="in the style of tables without a clamp, which choose keys only",
    ).made_by(lambda m, n, **sizes: apart(m, n, **sizes) <= 1),
    Mistake(
        "chunk-before-far",
        does="takes the chunk before for one that lies farther back",
        should="keep distances to the chunk before up to the chunk's size",
        fix="compute a third matrix for the chunk before",
        origin="in the style of the paper's inter-chunk attention before its successive-chunk attention",
    ).made_by(lambda m, n, **sizes: apart(m, n, **sizes) <= 0),
    Mistake(
        "local-one-wider",
        does="keeps distances to the chunk before up to one more than the chunk's size",
        should="keep them up to the chunk's size",
        fix="clamp at chunk_size",
        origin="in the style of off-by-one boundaries",
    ).made_by(lambda m, n, **sizes: dual_chunk.near(m, n, **sizes) | (local(m, n, **sizes) == sizes["local_size"] + 1)),
    Mistake(
        "chunks-towards-zero",
        does="takes positions below 0 to the chunk that begins at 0",
        should="round positions down to the beginning of a chunk",
        fix="use a floor division",
        origin="in the style of integer division in C",
    ).made_by(lambda m, n, **sizes: dual_chunk.near(np.where(m < 0, 0, m), np.where(n < 0, 0, n), **sizes)),
)
#: Where queries and keys of other chunks stand.
CHUNK_PLACES: tuple[tuple[Mistake, Callable[..., Places]], ...] = (
    Mistake(
        "one-beyond-the-chunk",
        does="turns queries for far chunks to one more than the chunk's size",
        should="turn them to the chunk's size",
        fix="clamp at chunk_size",
        origin="in the style of off-by-one boundaries",
    ).made_by(lambda m, n, **sizes: moved(dual_chunk.far(m, n, **sizes), 1)),
    Mistake(
        "one-below-the-chunk",
        does="turns queries for far chunks to the chunk's size less one",
        should="turn them to the chunk's size",
        fix="take the paper's c for chunk_size + 1",
        origin="in the style of the paper, whose c - 1 is the largest position",
    ).made_by(lambda m, n, **sizes: moved(dual_chunk.far(m, n, **sizes), -1)),
    Mistake(
        "queries-within-their-chunk",
        does="turns queries for far chunks to their place in their own chunk",
        should="turn them to the chunk's size",
        fix="compute queries for other chunks, too",
        origin="in the style of two branches that share the turned queries",
    ).made_by(lambda m, n, chunk_size, local_size: (m % (chunk_size - local_size), n % (chunk_size - local_size))),
    Mistake(
        "queries-not-clamped",
        does="turns queries for far chunks to their place in the next chunk",
        should="turn them to the chunk's size",
        fix="clamp at chunk_size",
        origin="in the style of tables without a clamp, which choose keys only",
    ).made_by(lambda m, n, chunk_size, local_size: (m % (c := chunk_size - local_size) + c, n % c)),
    Mistake(
        "keys-not-wrapped",
        does="meets queries for far chunks with keys at their own positions",
        should="count the positions of keys from the beginning of their chunk",
        fix="take the positions of keys modulo the length of a chunk",
        origin="in the style of caches that hold keys turned by plain rope",
    ).made_by(lambda m, n, **sizes: (dual_chunk.far(m, n, **sizes)[0], n)),
    Mistake(
        "keys-wrapped-by-the-size",
        does="counts the positions of far keys modulo chunk_size",
        should="count them modulo chunk_size - local_size",
        fix="subtract local_size",
        origin="in the style of code that has one length of a chunk",
    ).made_by(lambda m, n, chunk_size, local_size: (dual_chunk.far(m, n, chunk_size=chunk_size, local_size=local_size)[0], n % chunk_size)),
)


def apart(query_positions: Array, key_positions: Array, *, chunk_size: int, local_size: int) -> Array:
    """Return how many chunks before the query's a key's lies."""
    query, key = windowed.pairs(query_positions, key_positions)
    return query // (chunk_size - local_size) - key // (chunk_size - local_size)


def local(query_positions: Array, key_positions: Array, *, chunk_size: int, local_size: int) -> Array:
    """Return the place of a query in its chunk for keys of the chunk before, and -1 for all others."""
    query, _ = windowed.pairs(query_positions, key_positions)
    before = apart(query_positions, key_positions, chunk_size=chunk_size, local_size=local_size) == 1
    return np.where(before, query % (chunk_size - local_size), -1)


def moved(places: Places, by: int) -> Places:
    """Return where queries and keys stand, the queries moved."""
    return places[0] + by, places[1]


def of_chunks(operation: str) -> Iterator[Mutant]:
    """Return what goes wrong with chunks of a sequence."""
    yield from of_near(operation, "chunk", "a chunk")
    for mistake, near in CHUNK_EDGES:
        yield mistake.at(operation, Rotary(near=near).of(operation))
    for mistake, far in CHUNK_PLACES:
        yield mistake.at(operation, Rotary(far=far).of(operation))
    longer = Mistake(
        "chunks-of-the-whole-size",
        does="makes chunks as long as chunk_size",
        should="make them as long as chunk_size - local_size",
        fix="subtract local_size",
        origin="in the style of code that has one length of a chunk",
    )
    yield longer.at(operation, altered(operation, parameters=whole_chunks))
    fixed = Mistake(
        "chunk-sizes-fixed",
        does="takes chunk_size for 8192 and local_size for 1024 whatever is asked for",
        should="take the sizes that are asked for",
        fix="pass chunk_size and local_size through",
        origin="in the style of vLLM, where these are the defaults",
    )
    yield fixed.at(operation, forcing(operation, {"chunk_size": 8_192, "local_size": 1_024}))


def whole_chunks(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters whose chunks are as long as the size that is asked for, with as large a local part."""
    return {**chosen, "chunk_size": chosen["chunk_size"] + chosen["local_size"]}


def mutants() -> Iterator[Mutant]:
    """Return all mutants of dual chunks."""
    for operation in ("dual_chunk.weights", "dual_chunk.attend"):
        yield from of_chunks(operation)
