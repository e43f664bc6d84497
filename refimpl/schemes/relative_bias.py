"""Plain relative bias: one learned number per head for every offset, the outermost for all that lie beyond."""

from collections.abc import Callable
from typing import Annotated, Literal

from refimpl import attention
from refimpl.arrays import Array, array_namespace, cast_like, row
from refimpl.cases.relative_bias import CASES
from refimpl.errors import SpecificationError
from refimpl.spec import Count, KeyPositions, Law, QueryPositions, Scheme, Source, operation

Sign = Literal["key_minus_query", "query_minus_key"]


def whole(x: Array) -> Array:
    """Return integers as int64, where neither sign nor magnitude can overflow."""
    xp = array_namespace(x)
    return xp.astype(x, xp.int64)


def looked_up(table: Array, rows: Array) -> Array:
    """Return ``table[rows]`` with the head first: ``(head, query, key)``."""
    xp = array_namespace(table, rows)
    chosen = xp.take(table, xp.reshape(rows, (-1,)), axis=0)
    return xp.permute_dims(xp.reshape(chosen, (*rows.shape, table.shape[1])), (2, 0, 1))


@operation
def bias(
    table: Annotated[Array, "row head"],
    query_positions: QueryPositions,
    key_positions: KeyPositions,
    *,
    max_distance: Count,
    sign: Sign = "key_minus_query",
) -> Annotated[Array, "head query key"]:
    """Return ``table[clip(n - m, -D, D) + D]`` for query ``m``, key ``n`` and ``D = max_distance``, in the dtype of the table.

    ``sign="query_minus_key"`` reads ``m - n`` for ``n - m``. Raises where the table hasn't ``2 max_distance + 1`` rows.
    """
    xp = array_namespace(table, query_positions, key_positions)
    if table.shape[0] != 2 * max_distance + 1:
        message = f"table must have 2 max_distance + 1 rows ({2 * max_distance + 1}), got {table.shape[0]}"
        raise SpecificationError(message)
    offset = whole(key_positions)[None, :] - whole(query_positions)[:, None]
    offset = offset if sign == "key_minus_query" else -offset
    return looked_up(table, xp.clip(offset, min=-max_distance, max=max_distance) + max_distance)


def each_row(bias: Callable[[Array, Array], Array], query_positions: Array, key_positions: Array) -> Array:
    """Return ``(batch, head, query, key)`` from a bias of unbatched positions; one row serves all where positions have no batch."""
    xp = array_namespace(query_positions, key_positions)
    if query_positions.ndim == key_positions.ndim == 1:
        return bias(query_positions, key_positions)[None, ...]
    batch = max(x.shape[0] for x in (query_positions, key_positions) if x.ndim == 2)
    queries, keys = (xp.broadcast_to(x, (batch, x.shape[-1])) for x in (query_positions, key_positions))
    return xp.stack([bias(queries[i, :], keys[i, :]) for i in range(batch)])


def numbers(rows: int, columns: int, *, like: Array) -> Array:
    """Return a table of dyadic numbers between -1 and 1 in place of trained ones; up to 61 rows differ from one another."""
    xp = array_namespace(like)
    values = [(7 * r + 3 * h + 5 * r * h) % 61 / 32 - 1 for r in range(rows) for h in range(columns)]
    return xp.reshape(row(values, like=like), (rows, columns))


def layer(*, num_heads: int, head_dim: int, like: Array) -> attention.Layer:
    """Return attention whose scaled logits get the bias of 8 offsets either way."""
    del head_dim
    reach = 8
    table = numbers(2 * reach + 1, num_heads, like=like)

    def logits(q: Array, k: Array, query_positions: Array, key_positions: Array) -> Array:
        added = each_row(lambda m, n: bias(table, m, n, max_distance=reach), query_positions, key_positions)
        return attention.logits(q, k) + cast_like(added, q)

    return attention.Layer(logits=logits, learned=num_heads * (2 * reach + 1))


SCHEME = Scheme(
    name="relative_bias",
    operations=(bias,),
    source=Source(
        "Liu et al. 2021, Swin Transformer, along one axis; clipped as in Shaw et al. 2018",
        "https://arxiv.org/abs/2103.14030",
        equations="eq. 4; section 3.2 of Shaw et al.",
    ),
    laws={"bias": (Law.LOOKUP, Law.TRANSLATION, Law.SATURATION, Law.STEPWISE, Law.HEADS)},
    cases=CASES,
    summary="One learned number per head for every offset between key and query.",
    meanings={
        "table": "the learned numbers: a row for every offset from -max_distance to max_distance, a column for every head; added to logits",
        "query_positions": "where each query stands, in tokens",
        "key_positions": "where each key stands, in tokens",
        "max_distance": "the largest offset with a row of its own, in tokens; further ones share the outermost row",
        "sign": "which difference of positions is the offset",
    },
    conventions={
        "sign=key_minus_query": "the offset is the key's position minus the query's, as in Shaw's equations and T5's buckets",
        "sign=query_minus_key": "the offset is the query's position minus the key's: Swin's index (transformers 5.23.0, modeling_swin.py)",
    },
    notes=(
        (
            "T5's bias with a bucket for every distance is this table: `t5.bias` with convention `clamped` and `2 max_distance` "
            "buckets equals it wherever no key is as much as max_distance later; there T5's table lacks the last row."
        ),
        (
            "Code that clips is rare: Swin and BEiT size the table to the window, so that no offset is ever outside; the audio "
            "encoder of Phi-4-multimodal (transformers 5.23.0, modeling_phi4_multimodal.py) clips to [-max, max - 1], an even table "
            "that `t5.bucket` calls `clamped`."
        ),
    ),
    layer=layer,
)
