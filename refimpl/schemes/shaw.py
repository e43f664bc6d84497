"""Shaw's relative position representations: one learned vector for every clipped distance, added to each key and to each value."""

import math
from typing import Annotated, Any, Literal

from refimpl import attention
from refimpl.arrays import Array, arange, array_namespace, cast_like, exact_float64
from refimpl.attention import Layer
from refimpl.cases.shaw import CASES
from refimpl.errors import SpecificationError
from refimpl.forms.attention import Attention
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Count, Law, Scheme, Source, operation

Queries = Annotated[Array, "batch query_head query head_dim"]
Keys = Annotated[Array, "batch key_head key head_dim"]
Table = Annotated[Array, "row head_dim"]
Sign = Literal["key_minus_query", "query_minus_key"]
Clip = Literal["symmetric", "lower_closed"]


def distances(query_positions: Array, key_positions: Array, *, max_distance: int, sign: str, clip: str) -> Array:
    """Return ``clip(n - m, -max_distance, max_distance)`` for every query at ``m`` and key at ``n`` (section 3.2)."""
    xp = array_namespace(query_positions, key_positions)
    later = xp.astype(key_positions, xp.int64)[..., None, :] - xp.astype(query_positions, xp.int64)[..., :, None]
    farthest = max_distance - 1 if clip == "lower_closed" else max_distance
    return xp.clip(later if sign == "key_minus_query" else -later, min=-max_distance, max=farthest)


def edges(table: Array, steps: Array, *, max_distance: int, clip: str) -> Array:
    """Return the row of the table for every distance, ``a_mn = w[distance + max_distance]``, in float64; heads share the table."""
    rows, rule = (2 * max_distance, "2 max_distance") if clip == "lower_closed" else (2 * max_distance + 1, "2 max_distance + 1")
    if table.shape[0] != rows:
        message = f"key_table must have {rule} rows ({rows}), got {table.shape[0]}"
        raise SpecificationError(message)
    xp = array_namespace(table, steps)
    chosen = xp.take(exact_float64(table), xp.reshape(steps + max_distance, (-1,)), axis=0)
    every = xp.reshape(chosen, (*steps.shape, table.shape[1]))
    return every if every.ndim == 3 else every[:, None, :, :, :]


def meet(q: Array, k: Array, a: Array) -> Array:
    """Return ``(q_m k_n^T + q_m a_mn^T) / sqrt(head_dim)`` in float64 (eq. 5)."""
    xp = array_namespace(q, k, a)
    return attention.logits(q, k) + xp.matmul(a, exact_float64(q)[..., None])[..., 0] / math.sqrt(q.shape[-1])


def mix(weights: Array, v: Array, a: Array) -> Array:
    """Return ``sum_n weights_mn v_n + sum_n weights_mn a_mn`` in float64 (eq. 3)."""
    xp = array_namespace(weights, v, a)
    return attention.average(weights, exact_float64(v)) + xp.matmul(weights[..., None, :], a)[..., 0, :]


@operation
def logits(
    q: Queries,
    k: Keys,
    key_table: Table,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *,
    max_distance: Count,
    sign: Sign = "key_minus_query",
    clip: Clip = "symmetric",
) -> Annotated[Array, "batch query_head query key"]:
    """Return ``q_m (k_n + w[clip(n - m) + max_distance])^T / sqrt(head_dim)`` (eq. 4), in the dtype of ``q``.

    Unmasked and finite. Raises where the table has not one row per distance, or ``query_head`` is no multiple of ``key_head``.
    """
    steps = distances(query_positions, key_positions, max_distance=max_distance, sign=sign, clip=clip)
    return cast_like(meet(q, k, edges(key_table, steps, max_distance=max_distance, clip=clip)), q)


weights = Attention(logits).weights(
    """Return the attention weights ``alpha_mn = exp(e_mn) / sum_n exp(e_mn)`` of the logits (eq. 4), in the dtype of ``q``.

    Raises as ``logits``, and where a query sees no key.
    """
)


@operation
def attend(
    q: Queries,
    k: Keys,
    v: Keys,
    key_table: Table,
    value_table: Table,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *,
    max_distance: Count,
    sign: Sign = "key_minus_query",
    clip: Clip = "symmetric",
    causal: bool = False,
) -> Annotated[Array, "batch query_head query head_dim"]:
    """Return ``z_m = sum_n alpha_mn (v_n + w_V[clip(n - m) + max_distance])`` (eq. 3), in the dtype of ``v``.

    Raises as ``weights``, and where the value table has not as many rows as the key table.
    """
    chosen: dict[str, Any] = {"max_distance": max_distance, "sign": sign, "clip": clip}
    shares = weights(exact_float64(q), k, key_table, query_positions, key_positions, causal=causal, **chosen)
    steps = distances(query_positions, key_positions, **chosen)
    return cast_like(mix(shares, v, edges(value_table, steps, max_distance=max_distance, clip=clip)), v)


LARGEST = 16


def example_table(head_dim: int, *, start: int, like: Array) -> Array:
    """Return a table of 33 rows, no two of them equal, filled with a fixed sequence of 256ths between -1/2 and 1/2."""
    steps = arange((2 * LARGEST + 1) * head_dim, like=like) + start
    return array_namespace(steps).reshape((steps * steps % 257 - 128) / 256, (2 * LARGEST + 1, head_dim))


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return how the scheme acts in attention: with keys and with values, at the paper's distance of 16; all heads share both tables."""
    del num_heads
    key_table, value_table = (example_table(head_dim, start=start, like=like) for start in (1, 4))

    def seen(table: Array, query_positions: Array, key_positions: Array) -> Array:
        steps = distances(query_positions, key_positions, max_distance=LARGEST, sign="key_minus_query", clip="symmetric")
        return edges(table, steps, max_distance=LARGEST, clip="symmetric")

    return Layer(
        logits=lambda q, k, query_positions, key_positions: meet(q, k, seen(key_table, query_positions, key_positions)),
        mix=lambda shares, v, query_positions, key_positions: mix(shares, v, seen(value_table, query_positions, key_positions)),
        learned=2 * (2 * LARGEST + 1) * head_dim,
    )


SCHEME = Scheme(
    name="shaw",
    operations=(logits, weights, attend),
    source=Source(
        "Shaw, Uszkoreit and Vaswani 2018, Self-Attention with Relative Position Representations",
        "https://arxiv.org/abs/1803.02155",
        equations="eq. 1-5, section 3.2",
    ),
    laws={
        "logits": (Law.LINEAR, Law.TRANSLATION, Law.SATURATION, Law.REDUCES_TO_NONE, Law.STEPWISE, Law.HEADS),
        "weights": (Law.WEIGHTS_SUM_TO_ONE, Law.TRANSLATION, Law.SATURATION, Law.CAUSAL, Law.REDUCES_TO_NONE, Law.STEPWISE, Law.HEADS),
        "attend": (Law.CONSTANT_VALUES, Law.TRANSLATION, Law.SATURATION, Law.CAUSAL, Law.REDUCES_TO_NONE, Law.STEPWISE, Law.HEADS),
    },
    cases=CASES,
    summary="Add a learned vector for the distance, up to max_distance, to the keys and values that a query sees.",
    meanings={
        "q": "queries, as projected and not yet scaled",
        "k": "keys, as projected; consecutive query heads share a key head",
        "v": "values, as projected; grouped like the keys",
        "key_table": "the learned vector of every distance that is added to a key, the most negative distance first; all heads share it",
        "value_table": "the learned vector of every distance that is added to a value, in the order of key_table",
        "query_positions": "where each query stands, in tokens; any integer",
        "key_positions": "where each key stands, in tokens; any integer",
        "max_distance": "the distance in tokens from which all keys on one side share a row (the paper's k: 16, or 8 in the big model)",
        "sign": "which way a distance counts: the row of distance 1 belongs to the next key, or to the one before",
        "clip": "the distances that have a row of their own",
        "causal": "whether keys whose position exceeds the query's are hidden",
    },
    conventions={
        "sign=key_minus_query": "distance n - m, a later key is positive: the paper, tensor2tensor, VITS and SeamlessM4T v2",
        "sign=query_minus_key": "distance m - n, an earlier key is positive: SpeechT5, and BERT's relative_key up to transformers 4.57",
        "clip=symmetric": "distances from -max_distance to max_distance, 2 max_distance + 1 rows: the paper and tensor2tensor",
        "clip=lower_closed": "distances from -max_distance to max_distance - 1, 2 max_distance rows: SpeechT5",
    },
    notes=(
        "Transcriptions of the paper that clip the value's distance at an index, clip(j - i, j), copy a slip: both clip at k.",
        "The edge's term is divided by sqrt(head_dim) too (eq. 5). Code that scales q first does so; code that scales only q k^T does not.",
        "Many ports have no value table: SpeechT5, SeamlessM4T v2 and BERT's relative_key are this scheme with value_table of zeros.",
        "VITS has both tables but does not clip: beyond its window of 4 both edges are zero (transformers 5.23.0, modeling_vits.py).",
        "SeamlessM4T v2 clips later keys at 8 and earlier ones at 64 (transformers 5.23.0, the configuration's defaults), not at one k.",
        "BERT's relative_key does not clip: L positions have 2 L - 1 rows, so max_distance is L - 1, and a farther key is an index error.",
        "BERT's relative_key with a cache puts every query of a chunk at the last key (transformers 4.57.6): right for one query only.",
        "BERT's relative_key_query adds a third term, the key times the edge, and is another formula (transformers 4.57.6).",
        "A cache stays valid: an edge depends on n - m only and is added when the query arrives, never stored with the key.",
    ),
    layer=layer,
)
