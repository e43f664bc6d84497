"""Scaled dot-product attention, the place where positional encodings act (Vaswani et al. 2017, eq. 1)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from refimpl.arrays import Array, array_namespace, cast_like, constant, exact_float64
from refimpl.errors import SpecificationError


@dataclass(frozen=True)
class Layer:
    """How a scheme acts in attention; what it doesn't say stays as it is.

    ``embed(x, positions)`` acts on the input, so on queries, keys and values; ``turn_query(q, query_positions)`` and
    ``turn_key(k, key_positions)`` act in every layer, and a cache keeps the turned key; ``logits(q, k, query_positions, key_positions)``
    replaces the scaled dot product; ``mix(weights, v, query_positions, key_positions)`` replaces the average of values. ``learned`` counts
    its trained numbers.
    """

    embed: Callable[[Array, Array], Array] | None = None
    turn_query: Callable[[Array, Array], Array] | None = None
    turn_key: Callable[[Array, Array], Array] | None = None
    logits: Callable[[Array, Array, Array, Array], Array] | None = None
    mix: Callable[[Array, Array, Array, Array], Array] | None = None
    learned: int = 0


def grouped(q: Array, k: Array) -> Array:
    """Return the keys (or values) once per query head; consecutive query heads share one key head."""
    xp = array_namespace(q, k)
    query_heads, key_heads = q.shape[1], k.shape[1]
    if query_heads % key_heads:
        message = f"query_head must be a multiple of key_head ({key_heads}), got {query_heads}"
        raise SpecificationError(message)
    return xp.repeat(k, query_heads // key_heads, axis=1)


def visible(query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
    """Return where a query sees a key: everywhere, or where the key's position does not exceed the query's."""
    xp = array_namespace(query_positions, key_positions)
    seen = key_positions[..., None, :] <= query_positions[..., :, None]
    seen = seen if causal else xp.ones_like(seen)
    if not bool(xp.all(xp.any(seen, axis=-1))):
        message = "every query must see a key, got a query before all keys"
        raise SpecificationError(message)
    return seen if seen.ndim == 2 else seen[:, None, :, :]


def softmax(logits: Array, seen: Array) -> Array:
    """Return ``exp(z - max z) / sum exp(z - max z)`` over the keys that are seen."""
    xp = array_namespace(logits)
    hidden = xp.where(seen, logits, constant(-math.inf, like=logits))
    powers = xp.exp(hidden - xp.max(hidden, axis=-1, keepdims=True))
    return powers / xp.sum(powers, axis=-1, keepdims=True)


def logits(q: Array, k: Array) -> Array:
    """Return ``q k^T / sqrt(head_dim)`` in float64."""
    xp = array_namespace(q, k)
    keys = xp.matrix_transpose(grouped(q, exact_float64(k)))
    return xp.matmul(exact_float64(q), keys) / math.sqrt(q.shape[-1])


def average(weights: Array, q: Array, v: Array) -> Array:
    """Return ``weights v`` in the dtype of ``v``."""
    xp = array_namespace(weights, v)
    return cast_like(xp.matmul(weights, grouped(q, exact_float64(v))), v)
