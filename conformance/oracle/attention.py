"""Softmax attention, written so that errors common to a query and a key, or to a row, cancel as they do in the mathematics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from typing import NamedTuple

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact, hull, is_power_of_two, is_zero, size, too_wide
from conformance.oracle.tensor import Number, Tensor, over

Pair = tuple[Number, Number]
#: The channels of a vector that aren't zero.
Live = Sequence[tuple[int, Ball]]
#: From so many keys on, more than a stored vector has, all shares of a row are bounded at once: one by one takes the square of that.
MANY = 32
#: A logit by batch, query head, query and key.
Logit = Callable[[int, int, int, int], Ball]
#: Which keys a query selects, by batch, query and which keys it sees; ``None`` where that is free.
Selection = Callable[[int, int, Sequence[bool]], Sequence[bool | None]]


class BlindError(ValueError):
    """A query that sees no key, so that there is nothing to share among."""


def live(x: Sequence[Number]) -> Live:
    """Return the channels of a vector that aren't zero: others contribute nothing to a product."""
    return [(channel, arb(value)) for channel, value in enumerate(x) if value]


def products(x: Live, y: Sequence[Number]) -> list[Ball]:
    """Return the products of the channels that are zero on neither side."""
    return [value * y[channel] for channel, value in x if y[channel]]


class Side(NamedTuple):
    """A pair of a query or key before its rotation: its length after it, from above, and how far that may miss; 0 where nothing strays.

    A factor of cosine and sine multiplies the length; it is the same number on both sides.
    """

    pair: tuple[Ball, Ball]
    length: Ball
    stray: Ball
    factor: Ball | None = None

    @property
    def reach(self) -> Ball:
        """How long the pair may be after its rotation."""
        return self.length + self.stray


def side(a: Exact, pair: Pair, position: Number, factor: Ball | None = None) -> Side:
    """Return one pair of a vector at a position."""
    x, y = arb(pair[0]), arb(pair[1])
    if a.certain:
        return Side((x, y), arb(0), arb(0), factor)
    length = size((x**2 + y**2).sqrt())
    if factor is None:
        return Side((x, y), length, a.rotation_error(length, int(position)))
    grown = size(length * factor)
    return Side((x, y), grown, a.rotation_error(grown, int(position), multiplied=not is_power_of_two(factor)), factor)


def turn(angle: Ball, sign: int) -> tuple[Ball, Ball]:
    """Return cosine and sine of the angle from a key to a query, for one pair; no number where it is too uncertain."""
    return (arb.nan(), arb.nan()) if too_wide(angle) else (angle.cos(), sign * angle.sin())


def clipped(x: Ball) -> Ball:
    """Return ``max(0, x)``; exactly 0 where a number is certainly not above it."""
    if x.upper() <= 0:
        return arb(0)
    return x if x.lower() >= 0 else arb(0).union(x.upper())


def logit(a: Exact, live: Sequence[tuple[Side, Side, tuple[Ball, Ball]]], rest: Sequence[Ball], root: Ball | None) -> Ball:
    """Return ``sum_j <R_m q_j, R_n k_j> / sqrt(d)`` of the pairs that are zero on neither side, and of what doesn't turn.

    Channels that are zero on either side contribute nothing; without a root nothing is divided.
    """
    if not live and not rest:
        return arb(0)
    if a.certain:
        whole = sum((turned_product(q, k, *turn) for q, k, turn in live), sum(rest, arb(0)))
        return whole if root is None else whole / root
    terms, weight = sum(rest, arb(0)), sum(map(abs, rest), arb(0))
    for q, k, turn in live:
        terms += turned_product(q, k, *turn) + arb(0, q.stray * k.length + k.stray * q.length + q.stray * k.stray)
        weight += q.reach * k.reach
    whole = a.spread("dot", terms, size(weight), terms=2 * len(live) + len(rest))
    return whole if root is None else a.spread("scale", whole / root)


def turned_product(q: Side, k: Side, cos: Ball, sin: Ball) -> Ball:
    """Return ``<R_m q, R_n k>`` for one pair, a function of the angle between."""
    (x, y), (u, v) = q.pair, k.pair
    turned = (x * u + y * v) * cos + (x * v - y * u) * sin
    return turned if q.factor is None or k.factor is None else turned * (q.factor * k.factor)


@dataclass(frozen=True)
class Softmax:
    """The softmax over the keys of one query; a logit is ``None`` where its key is hidden."""

    a: Exact
    logits: Sequence[Ball | None]

    @cached_property
    def moved(self) -> dict[int, Ball]:
        """The logits that are seen, with the rounding of ``z - max z`` added to each where there are several."""
        visible = {n: z for n, z in enumerate(self.logits) if z is not None}
        if len(visible) == 1:
            return visible
        if self.a.certain:
            return visible
        top = max(visible.values(), key=lambda z: float(z.mid()))
        return {n: z + arb(0, self.a.error("exponent", size(z - top))) for n, z in visible.items()}

    def ideal(self, key: int) -> Ball:
        """Return ``1 / (1 + sum_(k != n) exp(z_k - z_n))``: the softmax of logits that stray, without its own roundings."""
        rest = sum(((z - self.moved[key]).exp() for n, z in self.moved.items() if n != key), arb(0))
        return within(1 / (1 + rest), arb(0), arb(1))

    @cached_property
    def ideals(self) -> list[Ball]:
        """The ideal share of every key that is seen."""
        if self.a.certain:
            return [power / self.whole for power in self.powers] if len(self.moved) > 1 else [arb(1)]
        return bounded(list(self.moved.values())) if len(self.moved) > MANY else [self.ideal(key) for key in self.moved]

    @cached_property
    def powers(self) -> list[Ball]:
        """``exp(z - max)`` of every key that is seen, of logits that don't stray."""
        top = max(self.moved.values(), key=lambda z: float(z.mid())).mid()
        return [(z - top).exp() for z in self.moved.values()]

    @cached_property
    def whole(self) -> Ball:
        """Their sum."""
        return sum(self.powers, arb(0))

    @cached_property
    def shares(self) -> dict[int, Ball]:
        """The same by key."""
        return dict(zip(self.moved, self.ideals, strict=True))

    def share(self, key: int) -> Ball:
        """Return ``exp(z_n - max) / sum exp(z - max)`` as computed; exactly 0 where hidden, exactly 1 for a lone key."""
        if key not in self.moved:
            return arb(0)
        if self.a.certain:
            return self.shares[key]
        share, terms = self.ideal(key), len(self.moved)
        if terms == 1 or is_zero(share):
            return share
        return within(self.a.spread("probability", share, terms=terms), arb(0), arb(1))

    def average(self, value: Callable[[int], Number]) -> Ball:
        """Return ``sum_n p_n v_n``: within the hull of the values, then the roundings of softmax and sum.

        Where nothing strays one division decides, so that the mean of equal weights is exact where it is a tie.
        """
        values = [arb(value(n)) for n in self.moved]
        if len(values) == 1:
            return values[0]
        if self.a.certain:
            return sum((power * value for power, value in zip(self.powers, values, strict=True)), arb(0)) / self.whole
        span = hull(values)
        if is_zero(span):
            return arb(0)
        bound, terms = size(span), len(values)
        mean = within(self.mean(values), span, span) + arb(0, self.a.error("probability", bound, terms=terms))
        return self.a.spread("dot", mean, bound, terms=terms)

    def mean(self, values: Sequence[Ball]) -> Ball:
        """Return the mean of values by shares without their own roundings."""
        parts = zip(self.ideals, values, strict=True)
        return sum((arb(0) if is_zero(value) else share * value for share, value in parts), arb(0))

    def average_turned(self, values: Sequence[tuple[Side, tuple[Ball, Ball]]], end: int, position: int) -> Ball:
        """Return one end of the pair ``sum_n p_n R_(n - m) (x, y)``, of values that turn before they are averaged, and back after it.

        The average rounds both ends in the frame of the turned values, so that either end has the roundings of both.
        """
        parts = [(x * cos + y * sin, y * cos - x * sin)[end] for ((x, y), *_), (cos, sin) in values]
        if self.a.certain:
            return sum((power * part for power, part in zip(self.powers, parts, strict=True)), arb(0)) / self.whole
        reach, stray = (size(hull([getattr(side, name) for side, _ in values])) for name in ("reach", "stray"))
        if is_zero(reach):
            return arb(0)
        if len(parts) > 1:
            share = self.a.error("probability", reach, terms=len(parts))
            stray += arb(2).sqrt() * (share + self.a.error("dot", reach + share, terms=len(parts)))
        stray += self.a.rotation_error(size(reach + stray), position)
        return self.mean(parts) + arb(0, size(stray))


def bounded(logits: Sequence[Ball]) -> list[Ball]:
    """Return every share between those of the logits' ends: it rises with its own and falls with the others, whose sum is formed once."""
    top = max(logits, key=lambda z: float(z.mid())).mid()
    low, high = ([(end - top).exp() for end in ends] for ends in zip(*((z.lower(), z.upper()) for z in logits), strict=True))
    bounds = zip(low, others(high), high, others(low), strict=True)
    return [within(hull([1 / (1 + above / least), 1 / (1 + below / most)]), arb(0), arb(1)) for least, above, most, below in bounds]


def others(terms: Sequence[Ball]) -> list[Ball]:
    """Return for each term the sum of the others, none of which is taken off again."""
    before, after = ([arb(0), *accumulate(side)] for side in (terms, terms[::-1]))
    return [one + other for one, other in zip(before, after[-2::-1], strict=False)]


def within(x: Ball, low: Ball, high: Ball) -> Ball:
    """Return the part of ``x`` between two bounds that are known to hold."""
    return x.intersection(low.union(high)) if x.is_finite() and not x.is_exact() else x


def best(scores: Tensor, top_k: int) -> Selection:
    """Return what selects the keys that score highest; of several that score alike at the end of these any may be the last."""

    def selected(batch: int, query: int, seen: Sequence[bool]) -> Sequence[bool | None]:
        row = scores.row(batch, query)
        ranked = sorted((score for score, here in zip(row, seen, strict=True) if here), reverse=True)
        if len(ranked) <= top_k:
            return seen
        least, next_best = ranked[top_k - 1 : top_k + 1]
        last = None if next_best == least else True
        return [here and (score > least or (score == least and last)) for score, here in zip(row, seen, strict=True)]

    return selected


def rows(
    a: Exact, inputs: dict[str, Tensor], logit: Logit, *, causal: bool, select: Selection | None = None
) -> Callable[[int, int, int], Softmax]:
    """Return the softmax of a batch, head and query, hiding keys whose position exceeds the query's where ``causal``.

    What is not selected is hidden too. Where a selection is free all of its keys are taken, and nothing is judged.
    """
    queries, keys, count = inputs["query_positions"], inputs["key_positions"], inputs["k"].shape[2]
    if causal:
        check_sight(queries, keys)

    @cache
    def row(batch: int, head: int, query: int) -> Softmax:
        place = queries.in_batch(batch, query)
        seen = [key <= place for key in keys.of_batch(batch)] if causal else [True] * count
        chosen = seen if select is None else select(batch, query, seen)
        logits = [None if here is False else logit(batch, head, query, n) for n, here in enumerate(chosen)]
        return Softmax(a, logits if a.certain else [arb.nan() if here is None else z for here, z in zip(chosen, logits, strict=True)])

    return row


def check_sight(queries: Tensor, keys: Tensor) -> None:
    """Raise where some query stands before all keys."""
    batches = range(max(x.shape[0] if len(x.shape) > 1 else 1 for x in (queries, keys)))
    first, earliest = ([min(x.of_batch(batch)) for batch in batches] for x in (queries, keys))
    if any(query < key for query, key in zip(first, earliest, strict=True)):
        message = "every query must see a key, got a query before all keys"
        raise BlindError(message)


def weights(a: Exact, inputs: dict[str, Tensor], logit: Logit, *, causal: bool) -> tuple[tuple[int, ...], Sequence[Ball]]:
    """Return the attention weight of every key."""
    row = rows(a, inputs, logit, causal=causal)
    shape = (*inputs["q"].shape[:3], inputs["k"].shape[2])
    return over(shape, lambda batch, head, query, key: row(batch, head, query).share(key))


def attend(
    a: Exact, inputs: dict[str, Tensor], logit: Logit, v: Tensor, *, causal: bool, select: Selection | None = None
) -> tuple[tuple[int, ...], Sequence[Ball]]:
    """Return the average of the values; consecutive query heads share a value head."""
    row, heads = rows(a, inputs, logit, causal=causal, select=select), inputs["q"].shape[1]

    def averaged(batch: int, head: int, query: int, channel: int) -> Ball:
        return row(batch, head, query).average(v.column(batch, head * v.shape[1] // heads, channel).__getitem__)

    return over((*inputs["q"].shape[:3], v.shape[-1]), averaged)
