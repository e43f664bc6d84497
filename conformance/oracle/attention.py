"""Softmax attention, written so that errors common to a query and a key, or to a row, cancel as they do in the mathematics."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact, hull, indices, is_zero, size, too_wide
from conformance.oracle.tensor import Number, Tensor

Pair = tuple[Number, Number]


@dataclass(frozen=True)
class Row:
    """The logits of one query; ``None`` where a key is hidden."""

    batch: int
    head: int
    logits: list[Ball | None]


def rows(inputs: dict[str, Tensor], logit: Callable[[int, int, int, int], Ball], *, causal: bool) -> Iterator[Row]:
    """Return the logits of every query, hiding keys whose position exceeds the query's where ``causal``."""
    queries, keys = inputs["query_positions"], inputs["key_positions"]
    for batch, head, query in indices(*inputs["q"].shape[:3]):
        seen = [not causal or keys.in_batch(batch, n) <= queries.in_batch(batch, query) for n in range(inputs["k"].shape[2])]
        if not any(seen):
            message = "every query must see a key, got a query before all keys"
            raise ValueError(message)
        yield Row(batch, head, [logit(batch, head, query, n) if here else None for n, here in enumerate(seen)])


@dataclass(frozen=True)
class Side:
    """A pair of a query or key before its rotation: its length, from above, and how far the rotation may miss."""

    pair: Pair
    length: Ball
    stray: Ball

    @property
    def reach(self) -> Ball:
        """How long the pair may be after its rotation."""
        return self.length + self.stray


def sides(a: Exact, vector: Sequence[Number], places: Sequence[tuple[int, int]], position: Number) -> list[Side]:
    """Return every pair of a vector at a position."""
    pairs = [(vector[i], vector[j]) for i, j in places]
    lengths = [size((arb(x) ** 2 + arb(y) ** 2).sqrt()) for x, y in pairs]
    return [Side(pair, length, a.rotation_error(length, int(position))) for pair, length in zip(pairs, lengths, strict=True)]


def turns(a: Exact, frequencies: Sequence[Ball], query: Number, key: Number, sign: int) -> list[tuple[Ball, Ball]]:
    """Return cosine and sine of the angle from a key to a query, for every pair; no number where it is too uncertain."""
    angles = [a.angle_between(int(query), int(key), frequency) for frequency in frequencies]
    return [(arb.nan(), arb.nan()) if too_wide(angle) else (angle.cos(), sign * angle.sin()) for angle in angles]


def logit(a: Exact, query: Sequence[Side], key: Sequence[Side], between: Sequence[tuple[Ball, Ball]]) -> Ball:
    """Return ``sum_j <R_m q_j, R_n k_j> / sqrt(d)``; pairs that are zero on either side contribute nothing."""
    live = [(q, k, turn) for q, k, turn in zip(query, key, between, strict=True) if any(q.pair) and any(k.pair)]
    if not live:
        return arb(0)
    terms = sum((turned_product(q, k, cos, sin) for q, k, (cos, sin) in live), arb(0))
    weight = sum((q.reach * k.reach for q, k, _ in live), arb(0))
    whole = a.spread("dot", terms, size(weight), terms=2 * len(live))
    return a.spread("scale", whole / arb(2 * len(query)).sqrt())


def turned_product(q: Side, k: Side, cos: Ball, sin: Ball) -> Ball:
    """Return ``<R_m q, R_n k>`` for one pair: a function of the angle between, and what either side's rotation strays."""
    along = arb(q.pair[0]) * arb(k.pair[0]) + arb(q.pair[1]) * arb(k.pair[1])
    across = arb(q.pair[0]) * arb(k.pair[1]) - arb(q.pair[1]) * arb(k.pair[0])
    return along * cos + across * sin + arb(0, q.stray * k.length + k.stray * q.length + q.stray * k.stray)


def perturbed(a: Exact, logits: Sequence[Ball | None]) -> list[Ball | None]:
    """Return the logits with the rounding of ``z - max z`` added to each."""
    largest = max((z for z in logits if z is not None), key=lambda z: float(z.mid()))
    return [None if z is None else z + arb(0, a.error("exponent", size(z - largest))) for z in logits]


def ideal_shares(a: Exact, logits: Sequence[Ball | None]) -> list[Ball]:
    """Return ``1 / sum_k exp(z_k - z_n)``: the softmax of logits that stray, without its own roundings."""
    moved = perturbed(a, logits) if len(seen(logits)) > 1 else list(logits)
    visible = seen(logits)
    return [arb(0) if z is None else _share(z, [moved[k] for k in visible if k != n]) for n, z in enumerate(moved)]


def _share(z: Ball, others: Sequence[Any]) -> Ball:
    rest = sum(((other - z).exp() for other in others), arb(0))
    return within(1 / (1 + rest), arb(0), arb(1))


def within(x: Ball, low: Ball, high: Ball) -> Ball:
    """Return the part of ``x`` between two bounds that are known to hold."""
    return x.intersection(low.union(high)) if x.is_finite() and not x.is_exact() else x


def seen(logits: Sequence[Ball | None]) -> list[int]:
    """Return which keys are not hidden."""
    return [n for n, z in enumerate(logits) if z is not None]


def shares(a: Exact, logits: Sequence[Ball | None]) -> list[Ball]:
    """Return ``exp(z_n - max) / sum exp(z - max)`` as computed; exactly 0 where hidden, exactly 1 for a lone key."""
    terms = len(seen(logits))
    return [share if terms == 1 or is_zero(share) else _computed(a, share, terms) for share in ideal_shares(a, logits)]


def _computed(a: Exact, share: Ball, terms: int) -> Ball:
    return within(a.spread("probability", share, terms=terms), arb(0), arb(1))


def average(a: Exact, logits: Sequence[Ball | None], values: Sequence[Sequence[Number]]) -> list[Ball]:
    """Return ``sum_n p_n v_n`` for every channel: within the hull of the values, then the roundings of softmax and sum."""
    ideal, visible = ideal_shares(a, logits), seen(logits)
    return [_channel(a, [(ideal[n], arb(values[n][channel])) for n in visible]) for channel in range(len(values[0]))]


def _channel(a: Exact, parts: Sequence[tuple[Ball, Ball]]) -> Ball:
    if len(parts) == 1:
        return parts[0][1]
    span = hull([value for _, value in parts])
    mean = sum((arb(0) if is_zero(value) else share * value for share, value in parts), arb(0))
    if is_zero(span):
        return arb(0)
    bound, terms = size(span), len(parts)
    mean = within(mean, span, span) + arb(0, a.error("probability", bound, terms=terms))
    return a.spread("dot", mean, bound, terms=terms)
