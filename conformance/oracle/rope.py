"""Rotary position embedding, from the paper (Su et al. 2021, eq. 13-16, 18, 34)."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from flint import arb, fmpq

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.tensor import Number, Tensor, over

Inputs = dict[str, Tensor]
Result = tuple[tuple[int, ...], Sequence[Ball]]
Results = dict[str, Result]
#: Cosine and sine of one pair at one position.
Turn = tuple[Ball, Ball]
#: The same by batch, token and pair.
Turns = Callable[[int, int, int], Turn]

OPPOSITE = {"positive": "negative", "negative": "positive"}


def thetas(a: Exact, *, head_dim: int, base: float, **_: Any) -> list[Ball]:
    """Return ``theta_j = base^(-2 j / head_dim)``, ``j`` from 0 (eq. 15)."""
    return a.powers("frequency", a.parameter(base), (fmpq(-2 * j, head_dim) for j in range(head_dim // 2)))


def turn(a: Exact, theta: Ball, position: Number, factor: Ball | None = None) -> Turn:
    """Return cosine and sine of one angle, times a factor where there is one."""
    angle, grown = a.angle(position, theta), arb(1) if factor is None else factor
    cos, sin = (a.step("table", a.product(grown, f(angle), "factor")) for f in (a.cosine, a.sine))
    return cos, sin


def circle(a: Exact, frequencies: Sequence[Ball], position: Number) -> list[Turn]:
    """Return cosine and sine of every angle at one position."""
    return [turn(a, theta, position) for theta in frequencies]


def circles(a: Exact, frequencies: Sequence[Ball], positions: Tensor, factor: Ball | None = None) -> Turns:
    """Return the lookup of turns by batch, token and pair; a pair is worked out once at every position."""
    at = cache(lambda position, pair: turn(a, frequencies[pair], position, factor))
    return lambda batch, token, pair: at(positions.in_batch(batch, token), pair)


def places(layout: str, head_dim: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return where every pair is read, and where it is written."""
    half = head_dim // 2
    neighbours, halves = [(2 * j, 2 * j + 1) for j in range(half)], [(j, j + half) for j in range(half)]
    return (halves if layout == "half" else neighbours), (neighbours if layout == "interleaved" else halves)


def turn_all(a: Exact, x: Tensor, turns: Turns, layout: str, direction: str, *, back: bool = False) -> Result:
    """Return every vector with every pair ``(x, y)`` as ``(x cos - y sin, x sin + y cos)`` (eq. 13); ``back`` undoes it."""
    sources, targets = places(layout, x.shape[-1])
    if back:
        sources, targets, direction = targets, sources, OPPOSITE[direction]
    written = {channel: (pair, place) for pair, ends in enumerate(targets) for place, channel in enumerate(ends)}

    @cache
    def turned(batch: int, head: int, token: int, pair: int) -> tuple[Ball, Ball]:
        row, (i, j) = x.row(batch, head, token), sources[pair]
        one, other = arb(row[i]), arb(row[j])
        cos, sine = turns(batch, token, pair)
        sin = sine if direction == "positive" else -sine
        return a.sum(a.product(one, cos), -a.product(other, sin)), a.sum(a.product(one, sin), a.product(other, cos))

    def element(batch: int, head: int, token: int, channel: int) -> Ball:
        pair, place = written[channel]
        return turned(batch, head, token, pair)[place]

    return over(x.shape, element)


def frequencies(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return the radians per position of every pair."""
    del inputs
    values = thetas(a, **parameters)
    return {"result": ((len(values),), values)}


def tables(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return ``cos(p theta_j)`` and ``sin(p theta_j)``."""
    theta, positions = thetas(a, **parameters), inputs["positions"]
    at = cache(lambda position, pair: turn(a, theta[pair], position))

    def side(which: int) -> Result:
        return over((*positions.shape, len(theta)), lambda *index: at(positions.at(*index[:-1]), index[-1])[which])

    return {"cos": side(0), "sin": side(1)}


def apply(a: Exact, inputs: Inputs, *, layout: str, direction: str) -> Results:
    """Turn by the cosines and sines that are given."""
    x, cos, sin = inputs["x"], inputs["cos"], inputs["sin"]

    def given(batch: int, token: int, pair: int) -> Turn:
        index = (token, pair) if len(cos.shape) == 2 else (batch, token, pair)
        return arb(cos.at(*index)), arb(sin.at(*index))

    return {"result": turn_all(a, x, given, layout, direction)}


def rotate(a: Exact, inputs: Inputs, *, layout: str, direction: str, **parameters: Any) -> Results:
    """Turn every vector to its position."""
    turns = circles(a, thetas(a, **parameters), inputs["positions"])
    return {"result": turn_all(a, inputs["x"], turns, layout, direction)}


def rotate_query_key(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Turn queries and keys, each to its own position."""
    sides = {"query": ("q", "query_positions"), "key": ("k", "key_positions")}
    return {
        name: rotate(a, {"x": inputs[x], "positions": inputs[positions]}, **parameters)["result"] for name, (x, positions) in sides.items()
    }


def gradient(a: Exact, inputs: Inputs, *, layout: str, direction: str, **parameters: Any) -> Results:
    """Turn the cotangent back: the transpose of a rotation is its inverse."""
    turns = circles(a, thetas(a, **parameters), inputs["positions"])
    return {"result": turn_all(a, inputs["cotangent"], turns, layout, direction, back=True)}


def logits(a: Exact, inputs: Inputs, *, layout: str, direction: str, **parameters: Any) -> attention.Logit:
    """Return the logit of a batch, query head, query and key: ``<q, R_(n - m) k> / sqrt(head_dim)`` (eq. 16)."""
    q, k, queries, keys = (inputs[name] for name in ("q", "k", "query_positions", "key_positions"))
    theta, (sources, _) = thetas(a, **parameters), places(layout, q.shape[-1])
    sign = 1 if direction == "positive" else -1
    between = cache(lambda query, key, pair: attention.turn(a, theta[pair], query, key, sign))

    @cache
    def side(name: str, batch: int, head: int, token: int, pair: int) -> attention.Side:
        x, at = (q, queries) if name == "q" else (k, keys)
        row, (i, j) = x.row(batch, head, token), sources[pair]
        return attention.side(a, (row[i], row[j]), at.in_batch(batch, token))

    def logit(batch: int, head: int, query: int, key: int) -> Ball:
        ends, group = (queries.in_batch(batch, query), keys.in_batch(batch, key)), head * k.shape[1] // q.shape[1]
        x, y = q.row(batch, head, query), k.row(batch, group, key)
        live = [pair for pair, (i, j) in enumerate(sources) if (x[i] or x[j]) and (y[i] or y[j])]
        sides = ((side("q", batch, head, query, pair), side("k", batch, group, key, pair), between(*ends, pair)) for pair in live)
        return attention.logit(a, list(sides), q.shape[-1])

    return logit


def weights(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return the attention weights of rotated queries and keys (eq. 18)."""
    return {"result": attention.weights(a, inputs, logits(a, inputs, **parameters), causal=causal)}


def attend(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return attention over rotated queries and keys; values are not rotated (eq. 18)."""
    return {"result": attention.attend(a, inputs, logits(a, inputs, **parameters), inputs["v"], causal=causal)}
