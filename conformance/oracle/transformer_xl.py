"""Transformer-XL, from the paper (Dai et al. 2019, section 3.3): four terms over a projected sinusoid of the distance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from flint import arb

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact, is_zero, size
from conformance.oracle.rope import Inputs, Results, circle
from conformance.oracle.sinusoidal import arranged, omegas
from conformance.oracle.tensor import Number, over

NAMES = ("content_content", "content_position", "global_content", "global_position")
Vector = Sequence[Ball]
Where = tuple[int, int, int, int]


def dot(a: Exact, x: Sequence[Ball | Number], y: Vector) -> Ball:
    """Return a dot product, any order of its sum allowed; what meets a zero contributes nothing, whatever it is."""
    live = [arb(one) * other for one, other in zip(x, y, strict=True) if not is_zero(arb(one)) and not is_zero(other)]
    if not live:
        return arb(0)
    return a.spread("dot", sum(live, arb(0)), sum(map(size, live), arb(0)), terms=len(live))


def total(a: Exact, parts: Sequence[Ball]) -> Ball:
    """Return the sum of some numbers in any order: every partial sum lies below the sum of magnitudes."""
    live = [part for part in parts if not is_zero(part)]
    magnitude, whole = sum(map(size, live), arb(0)), sum(live, arb(0))
    for _ in live[1:]:
        whole = a.spread("sum", whole, magnitude)
    return whole


@dataclass(frozen=True)
class Model:
    """The arithmetic, the inputs and the parameters of one call."""

    a: Exact
    inputs: Inputs
    dim: int
    base: float
    layout: str
    sign: str
    clamp_length: int | None

    @cached_property
    def relative_key(self) -> Callable[[int, int], list[Ball]]:
        """The projected sinusoid of a distance and a head (``W_kR R_delta``); each is worked out once."""
        omega = omegas(self.a, self.dim, self.base, "paper")
        wave = cache(lambda delta: arranged(circle(self.a, omega, delta), self.layout))
        return cache(lambda delta, head: self.projected(wave(delta), head))

    def distance(self, query: Number, key: Number) -> int:
        """Return ``min(m - n, clamp)``, or minus it."""
        away = int(query) - int(key)
        clamped = away if self.clamp_length is None else min(away, self.clamp_length)
        return clamped if self.sign == "query_minus_key" else -clamped

    def projected(self, wave: Vector, head: int) -> list[Ball]:
        """Return one head's relative key of one distance."""
        weight = self.inputs["position_weight"]
        return [dot(self.a, [weight.at(i, head, d) for i in range(self.dim)], wave) for d in range(weight.shape[2])]

    def sides(self, where: Where) -> tuple[Sequence[Number], Vector, Vector]:
        """Return the query, the key's content, and the relative key, of a batch row, head, query and key."""
        batch, head, query, key = where
        ends = (self.inputs[f"{name}_positions"].in_batch(batch, place) for name, place in (("query", query), ("key", key)))
        content = [arb(x) for x in self.inputs["k"].row(batch, head, key)]
        return self.inputs["q"].row(batch, head, query), content, self.relative_key(self.distance(*ends), head)

    def biases(self, head: int) -> tuple[Sequence[Number], Sequence[Number]]:
        """Return ``u`` and ``v`` of a head."""
        return self.inputs["content_bias"].row(head), self.inputs["position_bias"].row(head)

    def terms(self, *where: int) -> list[Ball]:
        """Return the four terms, (a) to (d)."""
        query, content, r = self.sides(where)  # type: ignore[arg-type]  # four indices
        u, v = self.biases(where[1])
        return [dot(self.a, one, other) for one, other in ((query, content), (query, r), (u, content), (v, r))]

    def added_first(self, *where: int) -> Ball:
        """Return what ``q + u`` and ``q + v`` lose where they are rounded before their products."""
        query, content, r = self.sides(where)  # type: ignore[arg-type]  # four indices
        u, v = self.biases(where[1])
        strays = [
            (self.a.sum(arb(x), arb(bias)).rad()) * size(other)
            for biases, others in ((u, content), (v, r))
            for x, bias, other in zip(query, biases, others, strict=True)
        ]
        return sum(strays, arb(0))

    def logit(self, *where: int) -> Ball:
        """Return the sum of the terms, made either way, over the root of the width."""
        whole = total(self.a, self.terms(*where)) + arb(0, size(self.added_first(*where)))
        return whole if is_zero(whole) else self.a.spread("scale", whole / arb(self.inputs["q"].shape[-1]).sqrt())


def terms(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return every term by itself."""
    shape, every = (*inputs["q"].shape[:3], inputs["k"].shape[2]), cache(Model(a, inputs, **parameters).terms)
    return {name: over(shape, lambda *index, which=which: every(*index)[which]) for which, name in enumerate(NAMES)}


def logits(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return the logits."""
    return {"result": over((*inputs["q"].shape[:3], inputs["k"].shape[2]), Model(a, inputs, **parameters).logit)}


def weights(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return the softmax of the logits."""
    return {"result": attention.weights(a, inputs, Model(a, inputs, **parameters).logit, causal=causal)}


def attend(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return the average of the values."""
    return {"result": attention.attend(a, inputs, Model(a, inputs, **parameters).logit, inputs["v"], causal=causal)}


def shift(a: Exact, inputs: Inputs, *, memory: int) -> Results:
    """Return the score of distance ``m + memory - n``; where the key is later than the query, what the permutation leaves is not judged."""
    scores = inputs["scores"]
    _, _, query, distance = scores.shape
    if distance != memory + query:
        message = f"distance must be memory + query ({memory + query}), got {distance}"
        raise ValueError(message)
    return {"result": over(scores.shape, lambda b, h, m, n: _moved(a, partial(scores.at, b, h), (m, n), memory, query))}


def _moved(a: Exact, at: Callable[[int, int], Number], place: tuple[int, int], memory: int, query: int) -> Ball:
    """Return what stands at a query and key: column ``c`` holds distance ``memory + query - 1 - c``."""
    m, n = place
    beyond = n - m - memory
    if beyond <= 0:
        return arb(at(m, query - 1 - m + n))
    left = arb(0) if beyond == 1 else arb(at(m + 1, beyond - 2))
    return a.spread("product", left, arb.pos_inf())
