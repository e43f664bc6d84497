"""The form of rotary schemes: pairs of features turn by their frequency times the position (Su et al. 2021, eq. 13-18, 34)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from flint import arb

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact, is_power_of_two, is_zero, size
from conformance.oracle.tensor import Inputs, Lazy, Number, Result, Results, Tensor, over

#: Cosine and sine of one pair at one position.
Turn = tuple[Ball, Ball]
#: The same by batch, head, token and pair.
Turns = Callable[[int, int, int, int], Turn]
#: The position of a token, by batch and token.
Place = Callable[[int, int], Number]

OPPOSITE = {"positive": "negative", "negative": "positive"}


class Part(NamedTuple):
    """Channels that turn as a head of their own, in their order there, and the positions of their tokens.

    The frequencies are those of such a head, or some of the whole head's.
    """

    channels: Sequence[int]
    place: Place
    ladder: Sequence[int] | None = None
    tiled: bool = False
    """Whether its channels have the frequencies of its pairs twice in a row, whichever of them are pairs."""
    side: int | None = None
    """How many positions are a whole turn of a pair whose frequency is 1; as many as make an angle of that where nothing is said."""


def turn(a: Exact, theta: Ball, position: Number, factor: Ball | None = None, side: int | None = None) -> Turn:
    """Return cosine and sine of one angle, times a factor where there is one."""
    angle = a.angle(position, theta) if side is None else a.step("angle", coordinate(a, position, side) * theta)
    return entry(a, a.cosine(angle), factor), entry(a, a.sine(angle), factor)


def coordinate(a: Exact, position: Number, side: int) -> Ball:
    """Return ``2 pi p / n``; code subtracts 1 from a number near it, so that it strays also where little is left."""
    share = a.parameter(position) / side
    return a.spread("coordinate", 2 * arb.pi() * share, 2 * arb.pi() * (1 + size(share)))


def entry(a: Exact, x: Ball, factor: Ball | None = None) -> Ball:
    """Return a cosine or sine as a table holds it, times a factor where there is one."""
    return a.step("table", a.product(arb(1) if factor is None else factor, x, "factor"))


def circles(
    a: Exact, frequencies: Sequence[Ball], position: Place, factor: Ball | None = None, side: int | None = None
) -> Turns:
    """Return the lookup of turns by batch, head, token and pair; a pair is worked out once at every position, for all heads."""
    at = cache(lambda position, pair: turn(a, frequencies[pair], position, factor, side))
    return lambda batch, _, token, pair: at(position(batch, token), pair)


def places(layout: str, head_dim: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return where every pair is read, and where it is written."""
    half = head_dim // 2
    neighbours, halves = [(2 * j, 2 * j + 1) for j in range(half)], [(j, j + half) for j in range(half)]
    return (halves if layout == "half" else neighbours), (neighbours if layout == "interleaved" else halves)


def turn_all(a: Exact, x: Tensor, turns: Turns, layout: str, direction: str) -> Result:
    """Return every vector with every pair ``(x, y)`` as ``(x cos - y sin, x sin + y cos)`` (eq. 13)."""
    return turn_parts(a, x, [(range(x.shape[-1]), turns, False)], layout, direction)


def turn_parts(
    a: Exact, x: Tensor, parts: Sequence[tuple[Sequence[int], Turns, bool]], layout: str, direction: str, *, back: bool = False
) -> Result:
    """Return every vector with the pairs of some channels turned by the turns of these; other channels stay as they are.

    In tiled parts a channel is what the turn of its place in its half of the part makes of its pair.
    """
    direction = OPPOSITE[direction] if back else direction
    written = {}
    for channels, turns, tiled in parts:
        sources, targets = places(layout, len(channels))[:: -1 if back else 1]
        for pair, (ends, (i, j)) in enumerate(zip(targets, sources, strict=True)):
            for place, end in enumerate(ends):
                index = end % (len(channels) // 2) if tiled else pair
                written[channels[end]] = (turns, index, place, channels[i], channels[j])

    def element(batch: int, head: int, token: int, channel: int) -> Ball:
        row = x.row(batch, head, token)
        if channel not in written:
            return arb(row[channel])
        turns, pair, place, i, j = written[channel]
        one, other = arb(row[i]), arb(row[j])
        cos, sine = turns(batch, head, token, pair)
        sin = sine if direction == "positive" else -sine
        if place == 0:
            return a.sum(a.product(one, cos), -a.product(other, sin))
        return a.sum(a.product(one, sin), a.product(other, cos))

    return over(x.shape, element)


def all_channels(positions: Tensor, *, head_dim: int, **_: Any) -> Sequence[Part]:
    """Return the whole head as one part."""
    return [Part(range(head_dim), positions.in_batch)]


@dataclass(frozen=True)
class Pair:
    """Two channels that turn together, where they are written, their frequency, and where queries and keys stand on their axis."""

    channels: tuple[int, int]
    written: tuple[int, int]
    theta: Ball
    query: Place
    key: Place


#: A pair of a query, by its number, at its position.
Carried = tuple[int, Pair, Number, attention.Side]


@dataclass(frozen=True)
class Rotary:
    """What a scheme brings: frequencies, a factor of cosine and sine, and the parts of a head; every method is an operation."""

    thetas: Callable[..., Sequence[Ball]]
    factor: Callable[..., Ball] | None = None
    parts: Callable[..., Sequence[Part]] = all_channels

    def turned(self, a: Exact, inputs: Inputs, x: Tensor, *, layout: str, direction: str, back: bool = False, **parameters: Any) -> Result:
        """Return vectors with every part turned by cosine and sine at its positions."""
        factor = None if self.factor is None else self.factor(a, **parameters)
        turning = [
            (part.channels, circles(a, self.ladder(a, inputs, part, **parameters), part.place, factor, part.side), part.tiled)
            for part in self.parts(inputs["positions"], layout=layout, **parameters)
        ]
        return turn_parts(a, x, turning, layout, direction, back=back)

    def ladder(self, a: Exact, inputs: Inputs, part: Part, *, head_dim: int, **parameters: Any) -> Sequence[Ball]:
        """Return the frequencies of a part."""
        if part.ladder is None:
            return self.thetas(a, inputs=inputs, head_dim=len(part.channels), **parameters)
        whole, own = self.thetas(a, inputs=inputs, head_dim=head_dim, **parameters), part.ladder
        return Lazy(len(own), lambda pair: whole[own[pair]])

    def frequencies(self, a: Exact, inputs: Inputs, **parameters: Any) -> Results:
        """Return the radians per position of every pair."""
        values = self.thetas(a, inputs=inputs, **parameters)
        return {"result": ((len(values),), values)}

    def rotate(self, a: Exact, inputs: Inputs, **parameters: Any) -> Results:
        """Turn every vector to its position."""
        return {"result": self.turned(a, inputs, inputs["x"], **parameters)}

    def rotate_query_key(self, a: Exact, inputs: Inputs, **parameters: Any) -> Results:
        """Turn queries and keys, each to its own position."""
        sides = {"query": ("q", "query_positions"), "key": ("k", "key_positions")}
        return {
            name: self.rotate(a, {**inputs, "x": inputs[x], "positions": inputs[positions]}, **parameters)["result"]
            for name, (x, positions) in sides.items()
        }

    def gradient(self, a: Exact, inputs: Inputs, **parameters: Any) -> Results:
        """Turn the cotangent back: the transpose of a rotation is its inverse."""
        return {"result": self.turned(a, inputs, inputs["cotangent"], back=True, **parameters)}

    def pairs(self, a: Exact, inputs: Inputs, *, layout: str, **parameters: Any) -> Sequence[Pair]:
        """Return the pairs of all parts."""
        sides = (self.parts(inputs[name], layout=layout, **parameters) for name in ("query_positions", "key_positions"))
        every = []
        for part, other in zip(*sides, strict=True):
            theta = self.ladder(a, inputs, part, **parameters)
            sources, targets = ([(part.channels[i], part.channels[j]) for i, j in ends] for ends in places(layout, len(part.channels)))
            every += [Pair(*ends, theta[pair], part.place, other.place) for pair, ends in enumerate(zip(sources, targets, strict=True))]
        return every

    def logits(self, a: Exact, inputs: Inputs, *, direction: str, divided: bool = True, **parameters: Any) -> attention.Logit:
        """Return the logit of a batch, query head, query and key: ``<q, R_(n - m) k> / sqrt(head_dim)``, divided or not (eq. 16)."""
        q, k = inputs["q"], inputs["k"]
        factor, pairs = None if self.factor is None else self.factor(a, **parameters), self.pairs(a, inputs, **parameters)
        rest = sorted(set(range(q.shape[-1])) - {channel for pair in pairs for channel in pair.channels})
        sign, root = 1 if direction == "positive" else -1, arb(q.shape[-1]).sqrt() if divided else None
        error = cache(lambda pair, position: a.angle_error(int(position), pairs[pair].theta))

        @cache
        def between(pair: int, query: Number, key: Number) -> Turn:
            angle = (int(query) - int(key)) * pairs[pair].theta
            return attention.turn(angle if a.certain else angle + arb(0, error(pair, query) + error(pair, key)), sign)

        @cache
        def carried(batch: int, head: int, query: int) -> tuple[list[Carried], attention.Live]:
            """Return the pairs of a query that aren't zero, and the channels that aren't of those that don't turn."""
            x, turning = q.row(batch, head, query), []
            for index, pair in enumerate(pairs):
                (i, j), position = pair.channels, pair.query(batch, query)
                if x[i] or x[j]:
                    turning.append((index, pair, position, attention.side(a, (x[i], x[j]), position, factor)))
            return turning, [(channel, arb(x[channel])) for channel in rest if x[channel]]

        @cache
        def side(batch: int, head: int, key: int, index: int) -> attention.Side:
            y, pair = k.row(batch, head, key), pairs[index]
            return attention.side(a, (y[pair.channels[0]], y[pair.channels[1]]), pair.key(batch, key), factor)

        def logit(batch: int, head: int, query: int, key: int) -> Ball:
            group, (turning, besides) = head * k.shape[1] // q.shape[1], carried(batch, head, query)
            y = k.row(batch, group, key)
            sides = [
                (one, side(batch, group, key, index), between(index, position, pair.key(batch, key)))
                for index, pair, position, one in turning
                if y[pair.channels[0]] or y[pair.channels[1]]
            ]
            return attention.logit(a, sides, attention.products(besides, y), root)

        return logit

    def attend_turned(
        self, a: Exact, inputs: Inputs, *, direction: str, outputs: str, causal: bool = False, **parameters: Any
    ) -> Results:
        """Return ``sum_n w_mn R_(n - m) v_n``: every pair of a value turned by the angle from its query to its key.

        Outputs that don't turn back are those of queries at 0, whose weights are those of the queries' own positions.
        """
        q, v, sign = inputs["q"], inputs["v"], 1 if direction == "positive" else -1
        pairs = self.pairs(a, inputs, **parameters)
        row = attention.rows(a, inputs, self.logits(a, inputs, direction=direction, **parameters), causal=causal)
        kept = outputs == "kept"
        ends = {
            channel: (index, end) for index, pair in enumerate(pairs) for end, channel in enumerate(pair.written if kept else pair.channels)
        }

        @cache
        def between(index: int, query: Number, key: Number) -> Turn:
            theta = pairs[index].theta
            stray = arb(0) if a.certain else a.angle_error(int(query), theta) + a.angle_error(int(key), theta)
            return attention.turn((int(query) - int(key)) * theta + arb(0, stray), sign)

        @cache
        def side(batch: int, head: int, key: int, index: int) -> attention.Side:
            value, pair = v.row(batch, head, key), pairs[index]
            return attention.side(a, (value[pair.channels[0]], value[pair.channels[1]]), pair.key(batch, key))

        def averaged(batch: int, head: int, query: int, channel: int) -> Ball:
            shares, group = row(batch, head, query), head * v.shape[1] // q.shape[1]
            if channel not in ends:
                return shares.average(v.column(batch, group, channel).__getitem__)
            index, end = ends[channel]
            place = 0 if kept else pairs[index].query(batch, query)
            values = [(side(batch, group, key, index), between(index, place, pairs[index].key(batch, key))) for key in shares.moved]
            return shares.average_turned(values, end, int(place))

        return {"result": over((*q.shape[:3], v.shape[-1]), averaged)}

    def index_scores(self, a: Exact, inputs: Inputs, *, divisor: str, **parameters: Any) -> Results:
        """Return ``sum_h w_h max(0, <q_h, R_(n - m) k>)``, divided by two roots or by nothing.

        The root of the heads may have been multiplied into their weights, so that it errs with every term.
        """
        q, k, head_weights, divided = inputs["q"], inputs["k"], inputs["head_weights"], divisor == "roots"
        batches, heads, queries, _ = q.shape
        keys = Tensor((batches, 1, *k.shape[1:]), k.values)
        product = self.logits(a, {**inputs, "k": keys}, divided=divided, **parameters)
        root = arb(heads).sqrt() if divided else arb(1)

        def score(batch: int, query: int, key: int) -> Ball:
            terms = [
                weight * attention.clipped(product(batch, head, query, key))
                for head in range(heads)
                if (weight := head_weights.at(batch, head, query))
            ]
            whole, bound = sum(terms, arb(0)), size(sum(map(abs, terms), arb(0)))
            if is_zero(bound):
                return arb(0)
            summed = a.spread("dot", whole, bound, terms=heads) / root
            return summed if is_power_of_two(root) else a.spread("scale", summed, size(bound / root))

        return {"result": over((batches, queries, k.shape[1]), score)}

    def weights(self, a: Exact, inputs: Inputs, *, causal: bool = False, **parameters: Any) -> Results:
        """Return the attention weights of turned queries and keys (eq. 18)."""
        return {"result": attention.weights(a, inputs, self.logits(a, inputs, **parameters), causal=causal)}

    def attend(self, a: Exact, inputs: Inputs, *, causal: bool = False, **parameters: Any) -> Results:
        """Return attention over turned queries and keys; values are not turned (eq. 18)."""
        return {"result": attention.attend(a, inputs, self.logits(a, inputs, **parameters), inputs["v"], causal=causal)}
