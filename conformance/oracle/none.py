"""No encoding: vectors as they are, and attention alone (Vaswani et al. 2017, eq. 1)."""

from collections.abc import Sequence
from functools import cache

from flint import arb

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact, size
from conformance.oracle.tensor import Inputs, Number, Results, over


def rotate(_: Exact, inputs: Inputs, *, head_dim: int) -> Results:
    """Return every vector as it is."""
    x = inputs["x"]
    return {"result": over((*x.shape[:-1], head_dim), lambda *where: arb(x.at(*where)))}


def product(a: Exact, query: Sequence[tuple[int, Ball]], key: Sequence[Number], root: Ball) -> Ball:
    """Return ``<q, k> / root``: channels that are zero on either side contribute nothing."""
    live = attention.products(query, key)
    if not live or a.certain:
        return sum(live, arb(0)) / root
    weight = sum((size(term) for term in live), arb(0))
    whole = a.spread("dot", sum(live, arb(0)), size(weight), terms=len(live))
    return a.spread("scale", whole / root, size(weight / root))


def logits(a: Exact, inputs: Inputs, *, scaled: bool = True) -> attention.Logit:
    """Return the logit of a batch, query head, query and key; a kernel that scales whatever it is asked may be handed the root first."""
    q, k = inputs["q"], inputs["k"]
    root = arb(q.shape[-1]).sqrt() if scaled else arb(1)
    live = cache(lambda *where: attention.live(q.row(*where)))

    def logit(batch: int, head: int, query: int, key: int) -> Ball:
        return product(a, live(batch, head, query), k.row(batch, head * k.shape[1] // q.shape[1], key), root)

    return logit


def weights(a: Exact, inputs: Inputs, *, causal: bool) -> Results:
    """Return the attention weights."""
    return {"result": attention.weights(a, inputs, logits(a, inputs), causal=causal)}


def attend(a: Exact, inputs: Inputs, *, causal: bool) -> Results:
    """Return the average of the values that a query sees, by those weights."""
    return {"result": attention.attend(a, inputs, logits(a, inputs), inputs["v"], causal=causal)}


def attend_selected(a: Exact, inputs: Inputs, *, top_k: int, causal: bool) -> Results:
    """Return the average of those values that a query sees and whose keys score highest, by their weights alone."""
    select = attention.best(inputs["scores"], top_k)
    return {"result": attention.attend(a, inputs, logits(a, inputs), inputs["v"], causal=causal, select=select)}
