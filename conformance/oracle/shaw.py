"""Relative position representations, from the paper (Shaw et al. 2018, eq. 1-5)."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from flint import arb

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.tensor import Inputs, Number, Results, over

Vector = Sequence[Number]
Live = Sequence[tuple[int, Ball]]
Edge = Callable[[int, int, int], Vector]


def row(query: Number, key: Number, *, max_distance: int, sign: str, clip: str) -> int:
    """Return the row, counted from 0, of ``clip(n - m, -k, k)``; the last distance of a table closed below only is ``k - 1``."""
    later = int(key) - int(query)
    last = max_distance if clip == "symmetric" else max_distance - 1
    return max_distance + max(-max_distance, min(last, later if sign == "key_minus_query" else -later))


def edges(inputs: Inputs, table: str, **parameters: Any) -> Edge:
    """Return the vector that a table gives a batch, query and key; all heads share it."""
    queries, keys, rows = inputs["query_positions"], inputs["key_positions"], inputs[table]
    return cache(lambda batch, query, key: rows.row(row(queries.in_batch(batch, query), keys.in_batch(batch, key), **parameters)))


def missed(a: Exact, step: str, x: Ball) -> Ball:
    """Return by how much a step may miss ``x``: not at all where it needs no rounding."""
    return arb(0) if a.holds(x, step) else a.error(step, size(x))


def apart(a: Exact, products: Sequence[Ball], width: int) -> Ball:
    """Return the error of ``<q, x> / sqrt(d)`` as a dot product of its own, in any order, and its scale."""
    if not products:
        return arb(0)
    reach, whole, root = sum(map(size, products), arb(0)), size(sum(products, arb(0))), arb(width).sqrt()
    strayed = a.error("dot", size(reach), whole, terms=width)
    return strayed / root + a.error("scale", size((whole + strayed) / root))


def together(a: Exact, q: Live, k: Vector, edge: Vector) -> Ball:
    """Return the error of rounding ``q / sqrt(d)`` before the product, and ``k + a`` where the edge is added to the key."""
    root, strayed = arb(len(k)).sqrt(), arb(0)
    for channel, value in q:
        scaled, moved = value / root, arb(k[channel]) + arb(edge[channel])
        off, gone = missed(a, "product", scaled), missed(a, "sum", moved)
        strayed += size(scaled) * gone + off * size(moved) + off * gone
    return strayed


def logit(a: Exact, q: Live, k: Vector, edge: Vector) -> Ball:
    """Return ``q (k + a)^T / sqrt(d)`` (eq. 4), or as two products (eq. 5): the budget is of either."""
    content, position = attention.products(q, k), attention.products(q, edge)
    whole = (sum(content, arb(0)) + sum(position, arb(0))) / arb(len(k)).sqrt()
    if a.certain:
        return whole
    strayed = apart(a, content, len(k)) + apart(a, position, len(k)) + together(a, q, k, edge)
    return a.spread("sum", whole + arb(0, size(strayed))) if any(edge) else whole + arb(0, size(strayed))


def scores(a: Exact, inputs: Inputs, **parameters: Any) -> attention.Logit:
    """Return the logit of a batch, query head, query and key; consecutive query heads share a key head."""
    q, k, edge = inputs["q"], inputs["k"], edges(inputs, "key_table", **parameters)
    group, live = q.shape[1] // k.shape[1], cache(lambda *where: attention.live(q.row(*where)))
    return lambda batch, head, m, n: logit(a, live(batch, head, m), k.row(batch, head // group, n), edge(batch, m, n))


def logits(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return every logit."""
    return {"result": over((*inputs["q"].shape[:3], inputs["k"].shape[2]), scores(a, inputs, **parameters))}


def weights(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return the softmax of the logits over the keys that are seen."""
    return {"result": attention.weights(a, inputs, scores(a, inputs, **parameters), causal=causal)}


def mixed(a: Exact, row: attention.Softmax, value: Callable[[int], Number], related: Callable[[int], Number]) -> Ball:
    """Return ``sum_n p_n (v_n + a_n)`` (eq. 3), or as two averages: the budget is of either."""
    mean, edge = row.average(value), row.average(related)
    if a.certain:
        return mean + edge
    return a.sum(mean, edge) + arb(0, size(max((missed(a, "sum", arb(value(n)) + arb(related(n))) for n in row.moved), key=float)))


def attend(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return attention over values with their edges."""
    v, edge, shape = inputs["v"], edges(inputs, "value_table", **parameters), inputs["q"].shape
    row, group = attention.rows(a, inputs, scores(a, inputs, **parameters), causal=causal), shape[1] // v.shape[1]

    def averaged(batch: int, head: int, m: int, channel: int) -> Ball:
        value = v.column(batch, head // group, channel).__getitem__
        return mixed(a, row(batch, head, m), value, lambda n: edge(batch, m, n)[channel])

    return {"result": over((*shape[:3], v.shape[-1]), averaged)}
