"""Attention without an encoding (Vaswani et al. 2017, eq. 1)."""

from collections.abc import Sequence

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


def logits(a: Exact, inputs: Inputs) -> attention.Logit:
    """Return the logit of a batch, query head, query and key."""
    q, k = inputs["q"], inputs["k"]

    def logit(batch: int, head: int, query: int, key: int) -> Ball:
        return product(a, q.row(batch, head, query), k.row(batch, head * k.shape[1] // q.shape[1], key))

    return logit


def weights(a: Exact, inputs: Inputs, *, causal: bool) -> Results:
    """Return the attention weights."""
    return {"result": attention.weights(a, inputs, logits(a, inputs), causal=causal)}


def attend(a: Exact, inputs: Inputs, *, causal: bool) -> Results:
    """Return the average of the values that a query sees, by those weights."""
    return {"result": attention.attend(a, inputs, logits(a, inputs), inputs["v"], causal=causal)}
