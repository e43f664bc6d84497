"""Attention without an encoding (Vaswani et al. 2017, eq. 1)."""

from collections.abc import Callable, Sequence

from flint import arb

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.rope import Inputs, Results
from conformance.oracle.tensor import Number


def product(a: Exact, query: Sequence[Number], key: Sequence[Number]) -> Ball:
    """Return ``<q, k> / sqrt(d)``: channels that are zero on either side contribute nothing."""
    live = [arb(x) * arb(y) for x, y in zip(query, key, strict=True) if x and y]
    if not live:
        return arb(0)
    weight = sum((size(term) for term in live), arb(0))
    whole = a.spread("dot", sum(live, arb(0)), size(weight), terms=len(live))
    return a.spread("scale", whole / arb(len(query)).sqrt(), size(weight / arb(len(query)).sqrt()))


def logits(a: Exact, inputs: Inputs) -> Callable[[int, int, int, int], Ball]:
    """Return the logit of a batch, query head, query and key."""
    q, k = inputs["q"], inputs["k"]

    def logit(batch: int, head: int, query: int, key: int) -> Ball:
        return product(a, q.row(batch, head, query), k.row(batch, head * k.shape[1] // q.shape[1], key))

    return logit


def weights(a: Exact, inputs: Inputs, *, causal: bool) -> Results:
    """Return the attention weights."""
    rows = attention.rows(inputs, logits(a, inputs), causal=causal)
    shape = (*inputs["q"].shape[:3], inputs["k"].shape[2])
    return {"result": (shape, [share for row in rows for share in attention.shares(a, row.logits)])}


def attend(a: Exact, inputs: Inputs, *, causal: bool) -> Results:
    """Return the average of the values that a query sees, by those weights."""
    rows = attention.rows(inputs, logits(a, inputs), causal=causal)
    v, group = inputs["v"], inputs["q"].shape[1] // inputs["v"].shape[1]
    averages = [attention.average(a, row.logits, [v.row(row.batch, row.head // group, n) for n in range(v.shape[2])]) for row in rows]
    return {"result": ((*inputs["q"].shape[:3], v.shape[-1]), [value for average in averages for value in average])}
