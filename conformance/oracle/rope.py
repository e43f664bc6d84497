"""Rotary position embedding, from the paper (Su et al. 2021, eq. 13-16, 18, 34)."""

from collections.abc import Callable, Sequence
from itertools import product as pairs_of
from typing import Any

from flint import arb, fmpq

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact, indices
from conformance.oracle.tensor import Number, Tensor

Inputs = dict[str, Tensor]
Results = dict[str, tuple[tuple[int, ...], list[Ball]]]
#: Cosine and sine of every pair, at one position.
Turns = Sequence[tuple[Ball, Ball]]

OPPOSITE = {"positive": "negative", "negative": "positive"}


def thetas(a: Exact, *, head_dim: int, base: float, **_: Any) -> list[Ball]:
    """Return ``theta_j = base^(-2 j / head_dim)``, ``j`` from 0 (eq. 15)."""
    return [a.power("frequency", a.parameter(base), fmpq(-2 * j, head_dim), pair=j) for j in range(head_dim // 2)]


def circle(a: Exact, frequencies: Sequence[Ball], position: Number, factor: Ball | None = None) -> Turns:
    """Return cosine and sine of every angle at one position, times a factor where there is one."""
    angles = [a.angle(position, theta) for theta in frequencies]
    grown = arb(1) if factor is None else factor
    return [tuple(a.step("table", a.product(grown, f(angle), "factor")) for f in (a.cosine, a.sine)) for angle in angles]  # type: ignore[misc] # a pair


def circles(a: Exact, frequencies: Sequence[Ball], positions: Tensor, factor: Ball | None = None) -> Callable[[int, int], Turns]:
    """Return the lookup of ``circle`` by batch and token; a position is worked out once."""
    table = {position: circle(a, frequencies, position, factor) for position in dict.fromkeys(positions.values)}
    return lambda batch, token: table[positions.in_batch(batch, token)]


def places(layout: str, head_dim: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return where every pair is read, and where it is written."""
    half = head_dim // 2
    neighbours, halves = [(2 * j, 2 * j + 1) for j in range(half)], [(j, j + half) for j in range(half)]
    return (halves if layout == "half" else neighbours), (neighbours if layout == "interleaved" else halves)


def turn(a: Exact, vector: Sequence[Number], turns: Turns, layout: str, direction: str, *, back: bool = False) -> list[Ball]:
    """Return the vector with every pair ``(x, y)`` as ``(x cos - y sin, x sin + y cos)`` (eq. 13); ``back`` undoes it."""
    sources, targets = places(layout, len(vector))
    if back:
        sources, targets, direction = targets, sources, OPPOSITE[direction]
    turned = [arb(0)] * len(vector)
    for (i, j), (first, second), (cos, sine) in zip(sources, targets, turns, strict=True):
        x, y, sin = arb(vector[i]), arb(vector[j]), sine if direction == "positive" else -sine
        turned[first] = a.sum(a.product(x, cos), -a.product(y, sin))
        turned[second] = a.sum(a.product(x, sin), a.product(y, cos))
    return turned


def turn_all(a: Exact, x: Tensor, turns: Callable[[int, int], Turns], layout: str, direction: str, *, back: bool = False) -> list[Ball]:
    """Return every vector turned by the table of its batch and token."""
    return [
        value
        for batch, head, token in indices(*x.shape[:3])
        for value in turn(a, x.row(batch, head, token), turns(batch, token), layout, direction, back=back)
    ]


def frequencies(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return the radians per position of every pair."""
    del inputs
    values = thetas(a, **parameters)
    return {"result": ((len(values),), values)}


def tables(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return ``cos(p theta_j)`` and ``sin(p theta_j)``."""
    theta, positions = thetas(a, **parameters), inputs["positions"]
    turns = [pair for position in positions.values for pair in circle(a, theta, position)]
    shape = (*positions.shape, len(theta))
    return {"cos": (shape, [cos for cos, _ in turns]), "sin": (shape, [sin for _, sin in turns])}


def apply(a: Exact, inputs: Inputs, *, layout: str, direction: str) -> Results:
    """Turn by the cosines and sines that are given."""
    x, cos, sin = inputs["x"], inputs["cos"], inputs["sin"]

    def given(batch: int, token: int) -> Turns:
        index = (token,) if len(cos.shape) == 2 else (batch, token)
        return [(arb(c), arb(s)) for c, s in zip(cos.row(*index), sin.row(*index), strict=True)]

    return {"result": (x.shape, turn_all(a, x, given, layout, direction))}


def rotate(a: Exact, inputs: Inputs, *, layout: str, direction: str, **parameters: Any) -> Results:
    """Turn every vector to its position."""
    turns = circles(a, thetas(a, **parameters), inputs["positions"])
    return {"result": (inputs["x"].shape, turn_all(a, inputs["x"], turns, layout, direction))}


def rotate_query_key(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Turn queries and keys, each to its own position."""
    sides = {"query": ("q", "query_positions"), "key": ("k", "key_positions")}
    return {
        name: rotate(a, {"x": inputs[x], "positions": inputs[positions]}, **parameters)["result"] for name, (x, positions) in sides.items()
    }


def gradient(a: Exact, inputs: Inputs, *, layout: str, direction: str, **parameters: Any) -> Results:
    """Turn the cotangent back: the transpose of a rotation is its inverse."""
    turns = circles(a, thetas(a, **parameters), inputs["positions"])
    return {"result": (inputs["x"].shape, turn_all(a, inputs["cotangent"], turns, layout, direction, back=True))}


def logits(a: Exact, inputs: Inputs, *, layout: str, direction: str, **parameters: Any) -> Callable[[int, int, int, int], Ball]:
    """Return the logit of a batch, query head, query and key: ``<q, R_(n - m) k> / sqrt(head_dim)`` (eq. 16)."""
    q, k, queries, keys = (inputs[name] for name in ("q", "k", "query_positions", "key_positions"))
    theta, (sources, _) = thetas(a, **parameters), places(layout, q.shape[-1])
    sign = 1 if direction == "positive" else -1
    between = {ends: attention.turns(a, theta, *ends, sign) for ends in dict.fromkeys(pairs_of(queries.values, keys.values))}
    turned_q, turned_k = (
        {index: attention.sides(a, x.row(*index), sources, at.in_batch(index[0], index[2])) for index in indices(*x.shape[:3])}
        for x, at in ((q, queries), (k, keys))
    )

    def logit(batch: int, head: int, query: int, key: int) -> Ball:
        ends = queries.in_batch(batch, query), keys.in_batch(batch, key)
        return attention.logit(a, turned_q[batch, head, query], turned_k[batch, head * k.shape[1] // q.shape[1], key], between[ends])

    return logit


def weights(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return the attention weights of rotated queries and keys (eq. 18)."""
    rows = attention.rows(inputs, logits(a, inputs, **parameters), causal=causal)
    shape = (*inputs["q"].shape[:3], inputs["k"].shape[2])
    return {"result": (shape, [share for row in rows for share in attention.shares(a, row.logits)])}


def attend(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return attention over rotated queries and keys; values are not rotated (eq. 18)."""
    rows = attention.rows(inputs, logits(a, inputs, **parameters), causal=causal)
    v, group = inputs["v"], inputs["q"].shape[1] // inputs["v"].shape[1]
    averages = [attention.average(a, row.logits, [v.row(row.batch, row.head // group, n) for n in range(v.shape[2])]) for row in rows]
    return {"result": ((*inputs["q"].shape[:3], v.shape[-1]), [value for average in averages for value in average])}
