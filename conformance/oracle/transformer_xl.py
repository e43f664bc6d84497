"""Transformer-XL, from the paper (Dai et al. 2019, section 3.3): four terms over a projected sinusoid of the distance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from flint import arb

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact, is_zero, size
from conformance.oracle.sinusoidal import omegas, waves
from conformance.oracle.tensor import Inputs, Lazy, Number, Results, over

NAMES = ("content_content", "content_position", "global_content", "global_position")
BIASES = ("content_bias", "position_bias")
Vector = Sequence[Ball]
Live = Sequence[tuple[int, Ball]]


def dot(a: Exact, x: Live, y: Vector) -> Ball:
    """Return a dot product, any order of its sum allowed; what meets a zero contributes nothing, whatever it is."""
    live = [value * other for channel, value in x if not is_zero(other := y[channel])]
    if not live:
        return arb(0)
    if a.certain:
        return sum(live, arb(0))
    return a.spread("dot", sum(live, arb(0)), sum(map(size, live), arb(0)), terms=len(live))


def total(a: Exact, parts: Sequence[Ball]) -> Ball:
    """Return the sum of some numbers in any order: every partial sum lies below the sum of magnitudes."""
    live = [part for part in parts if not is_zero(part)]
    if a.certain:
        return sum(live, arb(0))
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
    def relative_key(self) -> Callable[[int, int], Vector]:
        """The projected sinusoid of a distance and a head (``W_kR R_delta``); each is worked out once."""
        omega = omegas(self.a, self.dim, self.base, "paper")
        wave = cache(lambda delta: waves(self.a, omega, delta, self.layout))
        return cache(lambda delta, head: self.projected(wave(delta), head))

    def distance(self, query: Number, key: Number) -> int:
        """Return ``min(m - n, clamp)``, or minus it."""
        away = int(query) - int(key)
        clamped = away if self.clamp_length is None else min(away, self.clamp_length)
        return clamped if self.sign == "query_minus_key" else -clamped

    def projected(self, wave: Vector, head: int) -> Vector:
        """Return one head's relative key of one distance."""
        return Lazy(self.inputs["position_weight"].shape[2], lambda channel: dot(self.a, self.column(head, channel), wave))

    @cached_property
    def column(self) -> Callable[[int, int], Live]:
        """The weights that give one channel of a head's relative keys."""
        weight = self.inputs["position_weight"]
        return cache(lambda head, channel: attention.live([weight.at(i, head, channel) for i in range(self.dim)]))

    @cached_property
    def queries(self) -> Callable[[int, int, int], Live]:
        """A query, by batch row, head and query."""
        return cache(lambda *where: attention.live(self.inputs["q"].row(*where)))

    @cached_property
    def contents(self) -> Callable[[int, int, int], Vector]:
        """The content of a key, by batch row and head."""

        def content(*where: int) -> Vector:
            row = self.inputs["k"].row(*where)
            return Lazy(len(row), lambda channel: arb(row[channel]))

        return cache(content)

    @cached_property
    def bias(self) -> Callable[[str, int], Live]:
        """``u`` or ``v`` of a head."""
        return cache(lambda name, head: attention.live(self.inputs[f"{name}_bias"].row(head)))

    @cached_property
    def global_content(self) -> Callable[[int, int, int], Ball]:
        """The third term, which no query has a part in, by batch row, head and key."""
        return cache(lambda batch, head, key: dot(self.a, self.bias("content", head), self.contents(batch, head, key)))

    @cached_property
    def global_position(self) -> Callable[[int, int], Ball]:
        """The fourth term, by distance and head."""
        return cache(lambda delta, head: dot(self.a, self.bias("position", head), self.relative_key(delta, head)))

    @cached_property
    def lost(self) -> Callable[[int, int, int], list[Live]]:
        """What the channels of ``q + u`` and ``q + v`` lose that are rounded, by batch row, head and query."""

        def strays(batch: int, head: int, query: int) -> list[Live]:
            vector, rows = self.inputs["q"].row(batch, head, query), [self.inputs[name].row(head) for name in BIASES]
            every = ([self.a.sum(arb(x), arb(bias)).rad() for x, bias in zip(vector, row, strict=True)] for row in rows)
            return [[(channel, stray) for channel, stray in enumerate(each) if not is_zero(stray)] for each in every]

        return cache(strays)

    def between(self, batch: int, query: int, key: int) -> int:
        """Return the distance of a batch row's query and key."""
        return self.distance(self.inputs["query_positions"].in_batch(batch, query), self.inputs["key_positions"].in_batch(batch, key))

    def terms(self, batch: int, head: int, query: int, key: int) -> list[Ball]:
        """Return the four terms, (a) to (d)."""
        vector, delta = self.queries(batch, head, query), self.between(batch, query, key)
        content, position = (dot(self.a, vector, other) for other in (self.contents(batch, head, key), self.relative_key(delta, head)))
        return [content, position, self.global_content(batch, head, key), self.global_position(delta, head)]

    def added_first(self, batch: int, head: int, query: int, key: int) -> Ball:
        """Return what ``q + u`` and ``q + v`` lose where they are rounded before their products."""
        if self.a.certain:
            return arb(0)
        others = self.contents(batch, head, key), self.relative_key(self.between(batch, query, key), head)
        both = zip(self.lost(batch, head, query), others, strict=True)
        return sum((stray * size(other[channel]) for strays, other in both for channel, stray in strays), arb(0))

    def logit(self, batch: int, head: int, query: int, key: int) -> Ball:
        """Return the sum of the terms, made either way, over the root of the width."""
        whole = total(self.a, self.terms(batch, head, query, key)) + arb(0, size(self.added_first(batch, head, query, key)))
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
