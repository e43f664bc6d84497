"""What goes wrong with Shaw's relative representations: the distance, its row, and the edge that is looked up."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, altered, convention
from conformance.mutants.positions import RELATIVE_SLUGS, position_mutants
from conformance.mutants.rope_attention import INPUT_MISTAKES, MASK_MISTAKES
from conformance.mutants.rotary import both
from conformance.mutants.rounding import rounded
from conformance.spec.mutant import Mutant
from refimpl import attention
from refimpl.arrays import Array
from refimpl.schemes import shaw

OPERATIONS = ("shaw.logits", "shaw.weights", "shaw.attend")
Pair = tuple[Array, Array]


@dataclass(frozen=True)
class Asked:
    """What a call asks of the table: the largest distance of either side, and the sign."""

    max_distance: int
    sign: str
    clip: str

    @property
    def last(self) -> int:
        """The largest distance that has a row."""
        return self.max_distance - (self.clip == "lower_closed")

    def steps(self, m: Array, n: Array) -> Array:
        """Return the distances, not clipped."""
        later = n[..., None, :] - m[..., :, None]
        return later if self.sign == "key_minus_query" else -later


def clipped(steps: Array, asked: Asked) -> Array:
    """Return the row of every distance."""
    return np.clip(steps, -asked.max_distance, asked.last) + asked.max_distance


def everywhere(m: Array, n: Array) -> Array:
    """Give every pair an edge."""
    return np.ones((*np.broadcast_shapes(m.shape[:-1], n.shape[:-1]), m.shape[-1], n.shape[-1]), dtype=bool)


@dataclass(frozen=True)
class Related:
    """The pieces of the scheme; every method is the operation of that name, made of them."""

    place: Callable[[Array, Array], Pair] = both
    rows: Callable[[Array, Asked], Array] = clipped
    near: Callable[[Array, Asked], Array] = lambda steps, _: np.ones_like(steps, dtype=bool)
    has: Callable[[Array, Array], Array] = everywhere
    meet: Callable[[Array, Array, Array], Array] = shaw.meet
    mix: Callable[[Array, Array, Array], Array] = shaw.mix
    tables: Callable[[Array, Array], Pair] = both
    of_values: "Related | None" = None
    see: Callable[..., Array] = attention.visible
    soften: Callable[[Array, Array], Array] = attention.softmax

    def edges(self, table: Array, query_positions: Array, key_positions: Array, **parameters: Any) -> Array:
        """Return the edge of every query and key."""
        asked, (m, n) = Asked(**parameters), self.place(query_positions, key_positions)
        steps = asked.steps(m, n)
        chosen = table[self.rows(steps, asked)] * (self.near(steps, asked) & self.has(m, n))[..., None]
        return chosen if chosen.ndim == 3 else chosen[:, None]

    def logits(self, q: Array, k: Array, key_table: Array, query_positions: Array, key_positions: Array, **parameters: Any) -> Array:
        """Return the logits."""
        return self.meet(q, k, self.edges(key_table, query_positions, key_positions, **parameters))

    def weights(self, q: Array, k: Array, key_table: Array, *positions: Array, causal: bool, **parameters: Any) -> Array:
        """Return the attention weights."""
        return self.soften(self.logits(q, k, key_table, *positions, **parameters), self.see(*positions, causal=causal))

    def attend(self, q: Array, k: Array, v: Array, *others: Array, causal: bool, **parameters: Any) -> Array:
        """Return the output of attention."""
        key_table, value_table = self.tables(*others[:2])
        shares = self.weights(q, k, key_table, *others[2:], causal=causal, **parameters)
        values = self if self.of_values is None else self.of_values
        return self.mix(shares, v, values.edges(value_table, *others[2:], **parameters))

    def of(self, operation: str) -> Callable[..., Any]:
        """Return the method that stands for an operation."""
        return getattr(self, operation.split(".")[1])  # type: ignore[no-any-return]  # one of three methods


def unscaled(q: Array, k: Array, a: Array) -> Array:
    """Add the edge's term after the scale."""
    return shaw.meet(q, k, 0 * a) + math.sqrt(q.shape[-1]) * shaw.meet(q, 0 * k, a)


def scaled_twice(q: Array, k: Array, a: Array) -> Array:
    """Scale the edge's term twice."""
    return shaw.meet(q, k, 0 * a) + shaw.meet(q, 0 * k, a) / math.sqrt(q.shape[-1])


def with_key(q: Array, k: Array, a: Array) -> Array:
    """Add the product of key and edge too."""
    keys = attention.grouped(q, k)[:, :, None]
    return shaw.meet(q, k, a) + np.sum(keys * a, axis=-1) / math.sqrt(q.shape[-1])


def unweighted(weights: Array, v: Array, a: Array) -> Array:
    """Add the edges of all keys alike, instead of by their weights."""
    return shaw.mix(weights, v, 0 * a) + np.mean(a, axis=-2)


def lone_query_everywhere(m: Array, n: Array) -> Pair:
    """Put every key where a lone query is."""
    return (m, 0 * n + m) if m.shape[-1] == 1 else (m, n)


def whole(name: str) -> Callable[[Array, Array], Pair]:
    """Return positions that were kept in a half format."""

    def kept(x: Array) -> Array:
        return np.nan_to_num(rounded(x, name), posinf=65_504.0, neginf=-65_504.0).astype(np.int64)

    return lambda m, n: (kept(m), kept(n))


def key_rows(m: Array, n: Array) -> Pair:
    """Count distances from position 0 instead of from the query."""
    return 0 * m, n


def at_index(n: Array) -> Related:
    """Return edges clipped at the key's position."""
    return Related(rows=lambda steps, asked: clipped(np.clip(steps, -np.abs(n[..., None, :]), np.abs(n[..., None, :])), asked))


ROW = "look up the row of the clipped distance, plus max_distance"
EDGE = "divide the edge's term by sqrt(head_dim), once, with the content's"
PLACE = "subtract the query's own position from the key's"
OFF_BY_ONE = "in the style of off-by-one boundaries"
FORMULA = "in the style of formulas copied without a term"
CACHE = "https://github.com/huggingface/transformers/issues/19045"
MISTAKES: tuple[tuple[Mistake, Related], ...] = (
    Mistake("edge-missing", does="adds no edge to the keys", should="add the edge of its distance to every key",
            fix="use the table that was loaded", origin="in the style of ports that load a table and leave it aside").made_by(
        Related(meet=lambda q, k, a: shaw.meet(q, k, 0 * a))
    ),
    Mistake("edge-unscaled", does="divides only q k^T by sqrt(head_dim), not the edge's term", should=EDGE,
            fix="add both terms before the scale", origin="in the style of biases that are added after the scale").made_by(
        Related(meet=unscaled)
    ),
    Mistake("edge-scaled-twice", does="divides the edge's term by head_dim", should=EDGE,
            fix="scale the queries or the sum, not both", origin="in the style of queries that come scaled already").made_by(
        Related(meet=scaled_twice)
    ),
    Mistake("scale-of-model-width", does="divides by the square root of all heads' width together", should=EDGE,
            fix="use the width of one head", threads=("https://github.com/upskyy/Squeezeformer/issues/1",),
            origin="in the style of the thread, which is about Transformer-XL's terms").made_by(
        Related(meet=lambda q, k, a: shaw.meet(q, k, a) / math.sqrt(q.shape[1]))
    ),
    Mistake("edge-with-key-too", does="adds the product of key and edge as a third term", should="add q a^T only",
            fix="use relative_key, not relative_key_query",
            origin="BERT's relative_key_query (transformers 4.57.6) is this formula").made_by(Related(meet=with_key)),
    Mistake("clip-too-early", does="clips at max_distance - 1", should="clip at max_distance",
            fix="use the first and the last row too", origin=OFF_BY_ONE).made_by(
        Related(rows=lambda steps, asked: np.clip(steps, 1 - asked.max_distance, max(asked.last - 1, 0)) + asked.max_distance)
    ),
    Mistake("row-off-by-one", does="reads one row too far", should=ROW, fix="count rows from 0", origin=OFF_BY_ONE).made_by(
        Related(rows=lambda steps, asked: np.minimum(clipped(steps, asked) + 1, asked.max_distance + asked.last))
    ),
    Mistake("rows-not-centred", does="indexes with the signed distance: earlier keys count from the end of the table", should=ROW,
            fix="add max_distance before the look-up", origin="in the style of negative indices that wrap in NumPy").made_by(
        Related(rows=lambda steps, asked: clipped(steps, asked) - asked.max_distance)
    ),
    Mistake("wrapped", does="lets far distances wrap around the table", should="clip the distance first",
            fix="clamp before the look-up", origin="in the style of negative indices that wrap in NumPy").made_by(
        Related(rows=lambda steps, asked: (steps + asked.max_distance) % (asked.max_distance + asked.last + 1))
    ),
    Mistake("far-keys-without-edge", does="gives keys beyond max_distance no edge", should="give them the last row of their side",
            fix="clamp the distance instead of padding with zeros", origin="VITS (transformers 5.23.0) does this by design").made_by(
        Related(near=lambda steps, asked: (steps >= -asked.max_distance) & (steps <= asked.last))
    ),
    Mistake("direction-ignored", does="looks up the magnitude of the distance", should=ROW,
            fix="keep the sign of the distance", origin="in the style of symmetric biases").made_by(
        Related(rows=lambda steps, asked: clipped(np.abs(steps), asked))
    ),
    Mistake("later-keys-at-zero", does="gives later keys the row of distance 0", should=ROW,
            fix="keep both sides of the table", origin="in the style of a decoder's table in an encoder").made_by(
        Related(rows=lambda steps, asked: clipped(np.minimum(steps, 0), asked))
    ),
    Mistake("later-keys-without-edge", does="leaves the edges of later keys at zero and relies on a mask",
            should="give later keys their rows where there is no mask", fix="skew both sides, or mask",
            threads=("https://github.com/magenta/magenta/issues/1486",)).made_by(
        Related(has=lambda m, n: n[..., None, :] <= m[..., :, None])
    ),
    Mistake("rows-of-keys", does="looks up the key's position, not its distance", should=PLACE,
            fix="build the rows from n - m", threads=("https://github.com/wenet-e2e/wenet/issues/1611",),
            origin="in the style of the thread's absolute encoding").made_by(Related(place=key_rows)),
    Mistake("cached-distance-zero", does="builds distances from this step's queries only: a lone query is at distance 0 of every key",
            should=PLACE, fix="count the query from the length of the cache", threads=(CACHE,)).made_by(
        Related(place=lone_query_everywhere)
    ),
    Mistake("queries-at-last-key", does="puts every query of a chunk at the latest key", should=PLACE,
            fix="give each query its own position after the cache",
            threads=("https://github.com/huggingface/transformers/pull/20203",)).made_by(
        Related(place=lambda m, n: (0 * m + n.max(axis=-1, keepdims=True), n))
    ),
    Mistake("query-from-start", does="counts the queries from 0", should=PLACE,
            fix="offset the queries by the length of the cache", threads=(CACHE,), origin="in the style of the thread").made_by(
        Related(place=lambda m, n: (m - m[..., :1], n))
    ),
    Mistake("byte-distances", does="keeps distances in a byte before it clips them", should="clip before narrowing",
            fix="subtract in 32 bits or more", origin="in the style of narrow index arrays").made_by(
        Related(rows=lambda steps, asked: clipped((steps + 128) % 256 - 128, asked))
    ),
    *(
        Mistake(f"{name}-positions", does=f"keeps positions in {name}", should="keep positions as integers",
                fix="don't cast positions to the dtype of the model", kind="precision",
                origin="in the style of models cast to half as a whole").made_by(Related(place=whole(name)))
        for name in ("bfloat16", "float16")
    ),
)
VALUES = "add the edge of its distance to every value, from the values' own table"
VALUE_MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    Mistake("value-edge-missing", does="adds no edge to the values", should=VALUES,
            fix="add the weights times the value table, or declare a value table of zeros",
            origin="SpeechT5, SeamlessM4T v2 and BERT's relative_key have no edges of values").made_by(
        Related(mix=lambda shares, v, a: shaw.mix(shares, v, 0 * a)).attend
    ),
    Mistake("key-edge-on-values", does="adds the keys' edges to the values, and none to the keys", should=VALUES,
            fix="add the key table to the keys", threads=("https://github.com/leaderj1001/Stand-Alone-Self-Attention/issues/7",)).made_by(
        Related(meet=lambda q, k, a: shaw.meet(q, k, 0 * a), tables=lambda keys, _: (keys, keys)).attend
    ),
    Mistake("value-edge-of-keys", does="adds the keys' table to the values", should=VALUES,
            fix="give the values their own table", origin="in the style of one table passed twice").made_by(
        Related(tables=lambda keys, _: (keys, keys)).attend
    ),
    Mistake("tables-exchanged", does="exchanges the tables of keys and values", should=VALUES,
            fix="pass the key table first", origin="in the style of arguments in another order").made_by(
        Related(tables=lambda keys, values: (values, keys)).attend
    ),
    Mistake("value-edge-unweighted", does="averages the edges of the values without their weights", should=VALUES,
            fix="multiply the edges by the weights", origin=FORMULA).made_by(Related(mix=unweighted).attend),
    Mistake("value-table-mirrored", does="looks up the values' edges at minus the distance", should=VALUES,
            fix="use the rows of the keys", origin="in the style of a skew that is undone the wrong way").made_by(
        Related(of_values=Related(place=lambda m, n: (-m, -n))).attend
    ),
    Mistake("value-clipped-at-index", does="clips the values' distance at the key's index: clip(j - i, j)", should=VALUES,
            fix="clip at max_distance, as for the keys", origin="in the style of a slip in transcriptions of the paper").made_by(
        lambda *arrays, **parameters: replace(Related(), of_values=at_index(arrays[-1])).attend(*arrays, **parameters)
    ),
)


def as_if(operation: str, clip: str) -> Callable[..., Any]:
    """Return the operation under another clip: a row too many is not read, a row too few reads zeros."""

    def fitted(table: Array, max_distance: int) -> Array:
        rows = 2 * max_distance + (clip == "symmetric")
        return np.concatenate([table, np.zeros_like(table[:1])])[:rows]

    return altered(
        operation,
        arrays=lambda arrays, asked: {n: fitted(a, asked["max_distance"]) if n.endswith("_table") else a for n, a in arrays.items()},
        parameters=lambda asked: {**asked, "clip": clip},
    )


def conventions(operation: str) -> Iterator[Mutant]:
    """Return the mutants that conform to one sign or one clip, whatever is asked for."""
    for sign in ("key_minus_query", "query_minus_key"):
        yield convention(operation, "sign", sign)
    for clip in ("symmetric", "lower_closed"):
        yield replace(convention(operation, "clip", clip), function=as_if(operation, clip))


def mutants() -> Iterator[Mutant]:
    """Return all mutants of Shaw's relative representations."""
    for operation in OPERATIONS:
        yield from conventions(operation)
        for mistake, related in MISTAKES:
            yield mistake.at(operation, related.of(operation))
        for mistake, change in INPUT_MISTAKES:
            yield mistake.at(operation, altered(operation, arrays=change))
        yield from position_mutants(operation, RELATIVE_SLUGS)
    for operation in OPERATIONS[1:]:
        for mistake, see in MASK_MISTAKES:
            yield mistake.at(operation, Related(see=see).of(operation))
    for mistake, function in VALUE_MISTAKES:
        yield mistake.at("shaw.attend", function)
