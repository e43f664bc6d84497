"""What goes wrong where rotations keep distances within a window: its edge, what lies beyond it, and which of both is taken."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, altered, forcing
from conformance.mutants.rotary import Rotary, form_of
from conformance.spec.mutant import Mutant
from refimpl import attention
from refimpl.arrays import Array
from refimpl.forms import windowed
from refimpl.forms.joining import those_of
from refimpl.schemes import dual_chunk

Places = tuple[Array, Array]
Near = Callable[..., Array]


def by_index(near: Near) -> Near:
    """Return what takes the places of tokens in the arrays for their positions, the last query with the last key."""

    def counted(query_positions: Array, key_positions: Array, **rule: int) -> Array:
        queries, keys = query_positions.shape[-1], key_positions.shape[-1]
        return near(np.arange(queries) + keys - queries, np.arange(keys), **rule)

    return counted


def on_both_sides(near: Near) -> Near:
    """Return what knows no direction: a key that lies as far after the query as a far one before it is far."""

    def mirrored(query_positions: Array, key_positions: Array, **rule: int) -> Array:
        return near(query_positions, key_positions, **rule) & near(-query_positions, -key_positions, **rule)

    return mirrored


def beside(width: int) -> Near:
    """Return a window that is as much wider."""
    return lambda m, n, window: windowed.within(m, n, window=window + width)


def near_mistakes(near: Near, part: str, edge: str) -> Iterator[tuple[Mistake, Near]]:
    """Yield what goes wrong with which keys are near: those in a ``part`` of a sequence, up to its ``edge``."""
    yield Mistake(
        f"{part}-by-index",
        does=f"counts the {part} in places of the cache",
        should="compare positions",
        fix="subtract positions, not indices",
        origin="in the style of masks built from indices while positions are given",
    ).made_by(by_index(near))
    yield Mistake(
        "later-keys-far",
        does=f"takes keys that lie {edge} or more after the query for keys before it",
        should="leave later keys at their distance",
        fix="compare m - n, not its absolute value; behind a causal mask declare causal=True",
        origin="in the style of code that hides later keys",
    ).made_by(on_both_sides(near))
    yield Mistake(
        "near-and-far-swapped",
        does=f"takes the logits for far keys within the {part}, and the others beyond it",
        should=f"keep the distance within the {part}",
        fix="exchange the two arguments of where",
        origin="in the style of masks that mean the opposite",
    ).made_by(lambda m, n, **rule: ~near(m, n, **rule))
    yield Mistake(
        "all-near",
        does=f"knows no {part}: rope",
        should=f"turn keys beyond the {part} otherwise",
        fix="compute both logits, and choose by the distance",
        origin="in the style of rules that are configured and not read",
    ).made_by(lambda m, n, **_: windowed.within(m, n, window=1 << 40))
    yield Mistake(
        "all-far",
        does=f"turns all keys as those beyond the {part}",
        should=f"keep the distance within the {part}",
        fix="compute both logits, and choose by the distance",
        origin="in the style of code that lost one of two branches",
    ).made_by(lambda m, n, **_: windowed.within(m, n, window=-(1 << 40)))


HALVED = Mistake(
    "window-halved",
    does="keeps distances up to half the window",
    should="keep them within the whole window",
    fix="count the window on the side of earlier keys",
    origin="in the style of windows that lie on both sides of a token",
)

#: Where queries and keys of ReRoPE stand beyond the window, by their positions and the window.
REROPE_PLACES: tuple[tuple[Mistake, Callable[[Array, Array, int], Places]], ...] = (
    Mistake(
        "one-beyond-the-window",
        does="clamps distances at the window and one more",
        should="clamp them at the window",
        fix="turn queries to the window beyond it",
        origin="in the style of off-by-one boundaries",
    ).made_by(lambda m, n, window: (0 * m + window + 1, 0 * n)),
    Mistake(
        "one-below-the-window",
        does="clamps distances at the window less one",
        should="clamp them at the window",
        fix="turn queries to the window beyond it",
        origin="in the style of tables that end at window - 1",
    ).made_by(lambda m, n, window: (0 * m + window - 1, 0 * n)),
    Mistake(
        "keys-at-the-window",
        does="turns keys to the window and leaves queries: far keys stand after the query",
        should="turn queries to the window",
        fix="exchange queries and keys",
        origin="in the style of the author's decoding, which turns keys instead, by the opposite angle",
    ).made_by(lambda m, n, window: (0 * m, 0 * n + window)),
    Mistake(
        "far-not-turned",
        does="turns neither queries nor keys beyond the window",
        should="turn queries to the window",
        fix="turn queries to the position of the window",
        origin="in the style of partial rotations, which leave the rest alone",
    ).made_by(lambda m, n, _: (0 * m, 0 * n)),
    Mistake(
        "far-keys-turned",
        does="meets queries at the window with keys that are turned to their positions",
        should="leave keys unturned beyond the window",
        fix="keep keys in the cache as they were before they are turned",
        origin="in the style of caches that hold turned keys",
    ).made_by(lambda m, n, window: (0 * m + window, n)),
    Mistake(
        "far-queries-at-their-positions",
        does="meets queries at their own positions with keys that aren't turned",
        should="turn queries to the window",
        fix="turn queries to the window beyond it",
        origin="in the style of two branches that share the turned queries",
    ).made_by(lambda m, n, _: (m, 0 * n)),
)

#: Where queries and keys of SelfExtend stand beyond the window, by their positions, the window and the size of a group.
SELF_EXTEND_PLACES: tuple[tuple[Mistake, Callable[[Array, Array, int, int], Places]], ...] = (
    Mistake(
        "edge-between-groups",
        does="moves queries by W - W / G without rounding, between two positions where the group size doesn't divide the window",
        should="move queries by W - floor(W / G)",
        fix="divide by //",
        threads=("https://github.com/datamllab/LongLM/commit/715c1e3",),
    ).made_by(lambda m, n, window, size: (m // size + (window - window / size), n // size)),
    Mistake(
        "queries-not-moved",
        does="groups queries beyond the window and doesn't move them: distances shrink at its edge",
        should="move queries by W - floor(W / G)",
        fix="add the window less its groups to the position of a query",
        origin="in the style of code that moves queries in long sequences only",
    ).made_by(lambda m, n, _, size: (m // size, n // size)),
    Mistake(
        "moved-by-the-window",
        does="moves queries by the whole window",
        should="move queries by W - floor(W / G)",
        fix="subtract the window's groups",
        origin="in the style of a formula that lost a term",
    ).made_by(lambda m, n, window, size: (m // size + window, n // size)),
    Mistake(
        "keys-moved",
        does="moves keys instead of queries",
        should="move queries by W - floor(W / G)",
        fix="exchange queries and keys",
        origin="in the style of the authors' decoding, which turns keys instead, by the opposite angle",
    ).made_by(lambda m, n, window, size: (m // size, n // size + window - window // size)),
    Mistake(
        "positions-divided",
        does="divides positions without rounding down",
        should="give neighbouring positions of a group one position",
        fix="divide by //",
        origin="in the style of position interpolation",
    ).made_by(lambda m, n, window, size: (m / size + (window - window // size), n / size)),
    Mistake(
        "groups-rounded-to-nearest",
        does="rounds positions to the nearest group",
        should="round them down",
        fix="divide by //",
        origin="in the style of round() where a floor is meant",
    ).made_by(lambda m, n, window, size: (np.rint(m / size) + (window - window // size), np.rint(n / size))),
    Mistake(
        "groups-towards-zero",
        does="rounds positions below 0 up",
        should="round them down",
        fix="use a floor division",
        origin="in the style of integer division in C",
    ).made_by(lambda m, n, window, size: (np.trunc(m / size) + (window - window // size), np.trunc(n / size))),
    Mistake(
        "queries-not-grouped",
        does="groups keys only",
        should="group queries, too",
        fix="divide the positions of queries by the group size",
        origin="in the style of two branches that share the turned queries",
    ).made_by(lambda m, n, window, size: (m + (window - window // size), n // size)),
    Mistake(
        "keys-not-grouped",
        does="groups queries only",
        should="group keys, too",
        fix="divide the positions of keys by the group size",
        origin="in the style of caches that hold turned keys",
    ).made_by(lambda m, n, window, size: (m // size + (window - window // size), n)),
)
#: Edges that show where both rotations differ at the distance of the window.
EDGES: tuple[tuple[Mistake, Near], ...] = (
    Mistake(
        "window-one-wider",
        does="keeps the distance of the window itself",
        should="group positions from that distance on",
        fix="compare with <, not <=",
        origin="in the style of off-by-one boundaries",
    ).made_by(beside(1)),
    Mistake(
        "window-one-narrower",
        does="groups positions from the window less one on",
        should="keep every distance below the window",
        fix="compare the distance with the window, not with the window less one",
        origin="in the style of off-by-one boundaries",
    ).made_by(beside(-1)),
)

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


def hidden(part: str) -> Mistake:
    """Return the mistake of code that lets no query see far keys."""
    return Mistake(
        "far-hidden",
        does=f"hides the keys beyond the {part}",
        should="let a query see them",
        fix=f"don't take the {part} for that of sliding attention",
        origin="in the style of sliding windows",
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


def hiding(near: Near, rule: Mapping[str, Any]) -> Callable[..., Array]:
    """Return a mask that hides what isn't near, too."""

    def visible(query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
        seen = attention.visible(query_positions, key_positions, causal=causal)
        kept = seen & near(query_positions, key_positions, **those_of(near, rule))
        return np.where(kept.any(axis=-1, keepdims=True), kept, seen)

    return visible


def of_near(operation: str, part: str, edge: str) -> Iterator[Mutant]:
    """Return what goes wrong with which keys are near, whatever happens to others."""
    form = form_of(operation)
    assert isinstance(form, windowed.Windowed)  # noqa: S101  what is asked for
    for mistake, near in near_mistakes(form.near, part, edge):
        yield mistake.at(operation, Rotary(near=near).of(operation))
    yield hidden(part).at(operation, lambda *arrays, **given: Rotary(see=hiding(form.near, given)).of(operation)(*arrays, **given))


def of_window(operation: str) -> Iterator[Mutant]:
    """Return what goes wrong with a window, whatever lies beyond it."""
    yield from of_near(operation, "window", "the window")
    yield HALVED.at(operation, Rotary(near=lambda m, n, window: windowed.within(m, n, window=(window + 1) // 2)).of(operation))
    fixed = Mistake(
        "window-fixed",
        does="takes the window for 512 whatever is asked for",
        should="take the window that is asked for",
        fix="pass window through",
        origin="in the style of code that has it as a constant",
    )
    yield fixed.at(operation, forcing(operation, {"window": 512}))


def of_groups(operation: str) -> Iterator[Mutant]:
    """Return what goes wrong with groups beyond a window."""
    for mistake, places in SELF_EXTEND_PLACES:
        yield mistake.at(operation, Rotary(far=lambda m, n, window, group_size, at=places: at(m, n, window, group_size)).of(operation))
    for mistake, near in EDGES:
        yield mistake.at(operation, Rotary(near=near).of(operation))
    fixed = Mistake(
        "groups-of-eight",
        does="takes groups of 8 positions whatever is asked for",
        should="take the group size that is asked for",
        fix="pass group_size through",
        origin="in the style of the authors' code, where it is the default",
    )
    yield fixed.at(operation, forcing(operation, {"group_size": 8}))


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
    """Return all mutants of the window."""
    for operation in ("dual_chunk.weights", "dual_chunk.attend"):
        yield from of_chunks(operation)
    for operation in ("self_extend.weights", "self_extend.attend"):
        yield from (*of_window(operation), *of_groups(operation))
    for operation in ("rerope.weights", "rerope.attend"):
        yield from of_window(operation)
        for mistake, places in REROPE_PLACES:
            yield mistake.at(operation, Rotary(far=lambda m, n, window, places=places: places(m, n, window)).of(operation))
