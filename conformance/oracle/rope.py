"""Rotary position embedding, from the paper (Su et al. 2021, eq. 13-16, 18, 34)."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from flint import arb, fmpq

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.rotary import Rotary, Turn, places, turn, turn_all
from conformance.oracle.tensor import Inputs, Lazy, Result, Results, over


def thetas(a: Exact, *, head_dim: int, base: float, **_: Any) -> Sequence[Ball]:
    """Return ``theta_j = base^(-2 j / head_dim)``, ``j`` from 0 (eq. 15)."""
    return a.powers("frequency", a.parameter(base), Lazy(head_dim // 2, lambda j: fmpq(-2 * j, head_dim)))


FORM = Rotary(thetas)
frequencies, rotate, rotate_query_key, gradient = FORM.frequencies, FORM.rotate, FORM.rotate_query_key, FORM.gradient


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


def logits(a: Exact, inputs: Inputs, *, layout: str, direction: str, **parameters: Any) -> attention.Logit:
    """Return the logit of a batch, query head, query and key: ``<q, R_(n - m) k> / sqrt(head_dim)`` (eq. 16)."""
    q, k, queries, keys = (inputs[name] for name in ("q", "k", "query_positions", "key_positions"))
    theta, (sources, _) = thetas(a, **parameters), places(layout, q.shape[-1])
    sign = 1 if direction == "positive" else -1
    between = cache(lambda query, key, pair: attention.turn(a, theta[pair], query, key, sign))

    @cache
    def carried(batch: int, head: int, query: int) -> list[int]:
        """Return the pairs of a query that aren't zero."""
        row = q.row(batch, head, query)
        return [pair for pair, (i, j) in enumerate(sources) if row[i] or row[j]]

    @cache
    def side(name: str, batch: int, head: int, token: int, pair: int) -> attention.Side:
        x, at = (q, queries) if name == "q" else (k, keys)
        row, (i, j) = x.row(batch, head, token), sources[pair]
        return attention.side(a, (row[i], row[j]), at.in_batch(batch, token))

    def logit(batch: int, head: int, query: int, key: int) -> Ball:
        ends, group = (queries.in_batch(batch, query), keys.in_batch(batch, key)), head * k.shape[1] // q.shape[1]
        y = k.row(batch, group, key)
        live = [pair for pair in carried(batch, head, query) if y[sources[pair][0]] or y[sources[pair][1]]]
        sides = ((side("q", batch, head, query, pair), side("k", batch, group, key, pair), between(*ends, pair)) for pair in live)
        return attention.logit(a, list(sides), q.shape[-1])

    return logit


def weights(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return the attention weights of rotated queries and keys (eq. 18)."""
    return {"result": attention.weights(a, inputs, logits(a, inputs, **parameters), causal=causal)}


def attend(a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
    """Return attention over rotated queries and keys; values are not rotated (eq. 18)."""
    return {"result": attention.attend(a, inputs, logits(a, inputs, **parameters), inputs["v"], causal=causal)}
