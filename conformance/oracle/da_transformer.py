"""DA-Transformer: logits clipped at 0, then multiplied by a sigmoid of the distance (Wu, Wu, Huang 2021, section 3.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from flint import arb

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact, hull, size
from conformance.oracle.bias import Place, added, places
from conformance.oracle.tensor import Inputs, Number, Results


def logistic(x: Ball) -> Ball:
    """Return ``1 / (1 + e^(-x))`` of a number, by the power that is below 1."""
    power = (-abs(x)).exp()
    return (1 if x >= 0 else power) / (1 + power)


@dataclass(frozen=True)
class Rescaling:
    """What a head multiplies logits by: what doesn't depend on the distance is worked out once."""

    a: Exact
    weight: Ball
    limit: Ball

    @cached_property
    def most(self) -> Ball:
        """The largest factor, ``1 + e^v``."""
        return self.a.sum(arb(1), self.a.step("exponential", self.limit.exp()))

    @cached_property
    def logarithm(self) -> Ball:
        """Its logarithm, ``ln(1 + e^v)``."""
        return softplus(self.a, self.limit)

    def factor(self, distance: Number) -> Ball:
        """Return ``(1 + e^v) sigmoid(w R - v)``, or the power of its logarithm: the budget is of either."""
        a = self.a
        beyond = a.sum(a.product(self.weight, a.parameter(distance)), -self.limit)
        product = a.product(self.most, sigmoid(a, beyond))
        if a.certain:
            return product
        return hull([product, a.step("exponential", a.sum(self.logarithm, -softplus(a, -beyond)).exp())])


def sigmoid(a: Exact, exponent: Ball) -> Ball:
    """Return ``1 / (1 + e^(-x))``: it rises, so its ends bound it; an error of the power counts by its part of the sum."""
    share = hull([logistic(exponent.lower()), logistic(exponent.upper())])
    powered = a.spread("exponential", share, size(share * (1 - share)))
    return a.step("product", a.step("sum", powered))


def softplus(a: Exact, x: Ball) -> Ball:
    """Return ``ln(1 + e^x)``: it rises, so its ends bound it; an error of the power counts by its part of the sum."""
    whole = hull([end.exp().log1p() for end in (x.lower(), x.upper())])
    return a.step("softplus", arb(whole, a.error("exponential", size(logistic(x.upper())))))


def factors(a: Exact, inputs: Inputs) -> Callable[[int, Place], Ball]:
    """Return the factor of a head at a place."""
    weight, saturation = inputs["distance_weight"], inputs["saturation"]
    rescaling = cache(lambda head: Rescaling(a, a.parameter(weight.at(head)), a.parameter(saturation.at(head))))
    once = cache(lambda head, distance: rescaling(head).factor(distance))
    return lambda head, place: once(head, abs(place.query - place.key))


def rescale(a: Exact, inputs: Inputs) -> Results:
    """Return the factor of every head, query and key."""
    return {"result": added(inputs, len(inputs["distance_weight"].values), factors(a, inputs))}


def logits(a: Exact, inputs: Inputs) -> attention.Logit:
    """Return the logit of a batch, query head, query and key: ``max(0, <q, k>) R / sqrt(head_dim)``."""
    q, k = inputs["q"], inputs["k"]
    factor, place, group = factors(a, inputs), places(inputs), q.shape[1] // k.shape[1]
    live = cache(lambda *where: attention.live(q.row(*where)))

    def logit(batch: int, head: int, query: int, key: int) -> Ball:
        clipped = clipped_product(a, live(batch, head, query), k.row(batch, head // group, key))
        rescaled = a.product(clipped, factor(head, place(batch, query, key)))
        return rescaled if rescaled.is_exact() and rescaled == 0 else a.spread("scale", rescaled / arb(q.shape[-1]).sqrt())

    return logit


def clipped_product(a: Exact, query: Sequence[tuple[int, Ball]], key: Sequence[Number]) -> Ball:
    """Return ``max(0, <q, k>)``; exactly 0 where the product is certainly not above it."""
    terms = attention.products(query, key)
    return attention.clipped(a.spread("dot", sum(terms, arb(0)), size(sum(map(abs, terms), arb(0))), terms=len(key)))


def weights(a: Exact, inputs: Inputs, *, causal: bool) -> Results:
    """Return the attention weights of clipped and rescaled logits; the mask comes last."""
    return {"result": attention.weights(a, inputs, logits(a, inputs), causal=causal)}


def attend(a: Exact, inputs: Inputs, *, causal: bool) -> Results:
    """Return the average of the values by those weights."""
    return {"result": attention.attend(a, inputs, logits(a, inputs), inputs["values"], causal=causal)}
