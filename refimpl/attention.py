"""Scaled dot-product attention, the place where positional encodings act (Vaswani et al. 2017, eq. 1)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from refimpl.arrays import Array, array_namespace, cast_like, constant, exact_float64
from refimpl.errors import SpecificationError


@dataclass(frozen=True)
class Layer:
    """How a scheme acts in attention; what it doesn't say stays as it is.

    ``embed(x, positions)`` acts on the input, so on queries, keys and values; ``turn_query(q, query_positions)`` and
    ``turn_key(k, key_positions)`` act in every layer, and a cache keeps the turned key; ``logits(q, k, query_positions, key_positions)``
    replaces the scaled dot product; ``weigh(logits, seen)`` replaces the softmax over the keys that are seen;
    ``mix(weights, v, query_positions, key_positions)`` replaces the average of values. ``learned`` counts its trained numbers.
    """

    embed: Callable[[Array, Array], Array] | None = None
    turn_query: Callable[[Array, Array], Array] | None = None
    turn_key: Callable[[Array, Array], Array] | None = None
    logits: Callable[[Array, Array, Array, Array], Array] | None = None
    weigh: Callable[[Array, Array], Array] | None = None
    mix: Callable[[Array, Array, Array, Array], Array] | None = None
    learned: int = 0


def grouped(q: Array, k: Array, *, axis: str = "query_head") -> Array:
    """Return the keys (or values) once per head of the queries (or weights), ``axis``; consecutive ones share one key head."""
    xp = array_namespace(q, k)
    query_heads, key_heads = q.shape[1], k.shape[1]
    if key_heads == 0 or query_heads % key_heads:
        message = f"{axis} must be a multiple of key_head ({key_heads}), got {query_heads}"
        raise SpecificationError(message)
    return xp.repeat(k, query_heads // key_heads, axis=1)


def visible(query_positions: Array, key_positions: Array, *, causal: bool, seen: Array | None = None) -> Array:
    """Return where a query sees a key: where ``seen`` (everywhere) and, if causal, the key's position does not exceed the query's."""
    xp = array_namespace(query_positions, key_positions)
    past = key_positions[..., None, :] <= query_positions[..., :, None]
    open_to = past if causal else xp.ones_like(past)
    open_to = open_to if seen is None else open_to & _mask(seen, past)
    if not bool(xp.all(xp.any(open_to, axis=-1))):
        blind = "a query before all keys" if seen is None else "a query that the mask hides from every key"
        message = f"every query must see a key, got {blind}"
        raise SpecificationError(message)
    return open_to if open_to.ndim == 2 else open_to[:, None, :, :]


def _mask(seen: Array, past: Array) -> Array:
    """Return a mask, or raise where its axes aren't those of the positions."""
    if seen.ndim not in (2, 3) or seen.shape[-2:] != past.shape[-2:]:
        message = f"seen must have axes (query, key) or (batch, query, key) ending in {tuple(past.shape[-2:])}, got {tuple(seen.shape)}"
        raise SpecificationError(message)
    return seen


def selected(scores: Array, seen: Array, top_k: int) -> Array:
    """Return where a query selects a key: one of the ``top_k`` that score highest of those that it sees, or all of fewer.

    All heads of a query select alike. Where keys score alike at the end of the best, all of these are selected.
    """
    xp = array_namespace(scores)
    hidden = xp.where(seen, scores[:, None, :, :], constant(-math.inf, like=scores))
    ranked, last = xp.sort(hidden), max(scores.shape[-1] - top_k, 0)
    return seen & (hidden >= ranked[..., last : last + 1])


def packed(query_documents: Array, key_documents: Array) -> Array:
    """Return where a query and a key belong to one document; padding is a document of its own, so real tokens never see it."""
    return query_documents[..., :, None] == key_documents[..., None, :]


def places(documents: Array) -> Array:
    """Return every token's position in its own document: how many earlier tokens of the row belong to it.

    With a mask in place of documents, real tokens are counted from 0 however much padding precedes them.
    """
    xp = array_namespace(documents)
    same = xp.astype(packed(documents, documents), xp.int64)
    return xp.sum(xp.tril(same, k=-1), axis=-1)


def softmax(logits: Array, seen: Array) -> Array:
    """Return ``exp(z - max z) / sum exp(z - max z)`` over the keys that are seen."""
    xp = array_namespace(logits)
    hidden = xp.where(seen, logits, constant(-math.inf, like=logits))
    powers = xp.exp(hidden - xp.max(hidden, axis=-1, keepdims=True))
    return powers / xp.sum(powers, axis=-1, keepdims=True)


def products(q: Array, k: Array, *, axis: str = "query_head") -> Array:
    """Return ``q k^T`` in float64; the heads of the queries are the ``axis`` of that name."""
    xp = array_namespace(q, k)
    return xp.matmul(exact_float64(q), xp.matrix_transpose(grouped(q, exact_float64(k), axis=axis)))


def logits(q: Array, k: Array, *, axis: str = "query_head") -> Array:
    """Return ``q k^T / sqrt(head_dim)`` in float64."""
    return products(q, k, axis=axis) / math.sqrt(q.shape[-1])


def average(weights: Array, v: Array) -> Array:
    """Return ``weights v`` in the dtype of ``v``."""
    xp = array_namespace(weights, v)
    return cast_like(xp.matmul(weights, grouped(weights, exact_float64(v))), v)


class Cache(NamedTuple):
    """What decoding keeps of the tokens so far: keys that are turned already, values, and positions."""

    keys: Array
    values: Array
    positions: Array


def append(layer: Layer, cache: Cache | None, k: Array, v: Array, positions: Array) -> Cache:
    """Return the cache with more keys and values: embedded and turned once, and never touched again."""
    keys, values = (_embedded(layer, x, positions) for x in (k, v))
    new = Cache(keys if layer.turn_key is None else layer.turn_key(keys, positions), values, positions)
    if cache is None:
        return new
    xp = array_namespace(k, v)
    return Cache(
        xp.concat([cache.keys, new.keys], axis=-2),
        xp.concat([cache.values, new.values], axis=-2),
        xp.concat([cache.positions, new.positions], axis=-1),
    )


def _embedded(layer: Layer, x: Array, positions: Array) -> Array:
    """Return input to attention as float64, with the positions that a scheme writes into it."""
    exact = exact_float64(x)
    return exact if layer.embed is None else layer.embed(exact, positions)


def decode(layer: Layer, cache: Cache, q: Array, query_positions: Array, *, causal: bool = True, seen: Array | None = None) -> Array:
    """Return the attention of queries over what the cache holds, in the dtype of ``q``."""
    queries = _embedded(layer, q, query_positions)
    turned = queries if layer.turn_query is None else layer.turn_query(queries, query_positions)
    open_to = visible(query_positions, cache.positions, causal=causal, seen=seen)
    weights = (layer.weigh or softmax)(_logits(layer, turned, query_positions, cache), open_to)
    return cast_like(_mixed(layer, weights, query_positions, cache), q)


def _logits(layer: Layer, q: Array, query_positions: Array, cache: Cache) -> Array:
    if layer.logits is None:
        return logits(q, cache.keys)
    return layer.logits(q, cache.keys, query_positions, cache.positions)


def _mixed(layer: Layer, weights: Array, query_positions: Array, cache: Cache) -> Array:
    if layer.mix is None:
        return average(weights, cache.values)
    return layer.mix(weights, cache.values, query_positions, cache.positions)


def attend(
    layer: Layer,
    q: Array,
    k: Array,
    v: Array,
    query_positions: Array,
    key_positions: Array,
    *,
    causal: bool = False,
    seen: Array | None = None,
) -> Array:
    """Return ``softmax(q k^T / sqrt(head_dim)) v`` (eq. 1) with a scheme acting where its layer says, in the dtype of ``q``.

    ``q`` is ``(batch, head, query, head_dim)``, ``k`` and ``v`` ``(batch, head, key, head_dim)``, positions ``(query)`` and ``(key)`` or
    with a batch in front, ``seen`` is true where a query may see a key: ``(query, key)`` or with a batch in front. A query that sees no
    key is an error.
    """
    everything = append(layer, None, k, v, key_positions)
    return decode(layer, everything, q, query_positions, causal=causal, seen=seen)
