"""What goes wrong where rotations keep distances within a window: its edge, what lies beyond it, and which of both is taken."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, forcing
from conformance.mutants.rotary import Rotary, form_of
from conformance.spec.mutant import Mutant
from refimpl import attention
from refimpl.arrays import Array
from refimpl.forms import windowed
from refimpl.forms.joining import those_of

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
        does=f"measures the {part} in slots of the cache instead of positions",
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


def hidden(part: str) -> Mistake:
    """Return the mistake of code that lets no query see far keys."""
    return Mistake(
        "far-hidden",
        does=f"hides the keys beyond the {part}",
        should="let a query see them",
        fix=f"don't take the {part} for that of sliding attention",
        origin="in the style of sliding windows",
    )


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


def mutants() -> Iterator[Mutant]:
    """Return all mutants of the window."""
    for operation in ("self_extend.weights", "self_extend.attend"):
        yield from (*of_window(operation), *of_groups(operation))
    for operation in ("rerope.weights", "rerope.attend"):
        yield from of_window(operation)
        for mistake, places in REROPE_PLACES:
            yield mistake.at(operation, Rotary(far=lambda m, n, window, places=places: places(m, n, window)).of(operation))
