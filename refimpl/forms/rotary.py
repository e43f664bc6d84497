"""The form of rotary schemes: pairs of features turn by an angle that grows with the position (Su et al. 2021, eq. 13-18 and 34).

A scheme brings the frequencies of its pairs, in radians per position, and may bring a factor that multiplies what turns, or two: one for
queries and one for keys.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from refimpl import attention
from refimpl.arrays import Array, array_namespace, cast_like, exact_float64, outer
from refimpl.attention import Layer
from refimpl.forms.attention import Attention
from refimpl.forms.joining import joined, those_of
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, EvenCount, Law, Number, Positions, Positive

Layout = Literal["interleaved", "half", "interleaved_to_half"]
Direction = Literal["positive", "negative"]
Outputs = Literal["turned_back", "kept"]
Divisor = Literal["roots", "one"]
Features = Annotated[Array, "batch head token head_dim"]
Queries = Annotated[Array, "batch query_head query head_dim"]
Keys = Annotated[Array, "batch key_head key head_dim"]
#: How many times longer a context becomes, or slower a pair.
Stretch = Annotated[float, Number(minimum=1.0)]
Turning = Callable[[Array, Array, Array], Array]


class QueryKey(NamedTuple):
    """Rotated queries and keys."""

    query: Queries
    key: Keys


def split_pairs(x: Array, layout: str) -> tuple[Array, Array]:
    """Return the first and the second member of every pair that the layout reads."""
    if layout == "half":
        return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return x[..., 0::2], x[..., 1::2]


def join_pairs(first: Array, second: Array, layout: str) -> Array:
    """Put pairs where the layout writes them."""
    xp = array_namespace(first, second)
    if layout == "interleaved":
        return xp.reshape(xp.stack([first, second], axis=-1), (*first.shape[:-1], 2 * first.shape[-1]))
    return xp.concat([first, second], axis=-1)


def turn(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Map every pair ``(a, b)`` to ``(a cos - b sin, a sin + b cos)`` (eq. 13); tables broadcast over heads."""
    if cos.ndim == 3:
        cos, sin = cos[:, None, :, :], sin[:, None, :, :]
    return first * cos - second * sin, first * sin + second * cos


def turned(x: Array, cos: Array, sin: Array, *, layout: str, direction: str) -> Array:
    """Return ``x`` turned by the angles whose cosines and sines are given (eq. 34), in the wider dtype of both, as ``x``."""
    first, second = turn(*split_pairs(x, layout), cos, -sin if direction == "negative" else sin)
    return join_pairs(cast_like(first, x), cast_like(second, x), layout)


def turned_back(x: Array, cos: Array, sin: Array, *, layout: str, direction: str) -> Array:
    """Return ``x`` turned by the opposite angles, from where the layout writes pairs to where it reads them, in the dtype of ``x``."""
    written, read = ("half", "interleaved") if layout == "interleaved_to_half" else (layout, layout)
    first, second = turn(*split_pairs(x, written), cos, sin if direction == "negative" else -sin)
    return join_pairs(cast_like(first, x), cast_like(second, x), read)


@dataclass(frozen=True)
class Rotary:
    """The slots: ``frequencies(*arrays, head_dim, base, ..., like)``, and ``factor(...)``, which multiplies cosine and sine.

    A factor may take the ``positions``; ``key_factor`` is that of keys, if it is another.
    """

    frequencies: Callable[..., Array]
    factor: Callable[..., float | Array] | None = None
    key_factor: Callable[..., float | Array] | None = None

    def operation(self, function: Callable[..., Any], says: str | None = None, *, name: str = "") -> Callable[..., Any]:
        """Return a function of this file as an operation with these slots; ``says`` and ``name`` are its own, if not the function's."""
        slots = [getattr(self, slot.name) for slot in fields(self)]
        return joined(function, self, [slot for slot in slots if callable(slot)], says, name=name)

    @property
    def of_keys(self) -> "Rotary":
        """The same form with what multiplies keys."""
        return self if self.key_factor is None else replace(self, factor=self.key_factor)

    @property
    def attention(self) -> Attention:
        """Attention over turned queries and keys."""
        return Attention(self.operation(logits))

    def weights(self) -> Callable[..., Any]:
        """Return the attention weights as an operation."""
        return self.attention.weights(
            "Return the attention weights ``softmax((R_m q) (R_n k)^T / sqrt(head_dim))`` (eq. 18), in the dtype of ``q``."
        )

    def attend(self) -> Callable[..., Any]:
        """Return the averages of values as an operation."""
        return self.attention.attend("Return attention over rotated queries and keys; the values are not rotated (eq. 18).")

    def angles(self, positions: Array, theta: Array, rule: Mapping[str, Any]) -> Array:
        """Return the angle of every pair at every position."""
        del rule
        return outer(positions, theta)

    def turned(self, turning: Turning, x: Array, positions: Array, given: Sequence[Array], rule: Mapping[str, Any]) -> Array:
        """Return ``x`` turned to positions: ``turning(x, cos, sin)`` is what the angles are for."""
        return turning(x, *tables(self, positions, *given, **rule))


def tables(form: Rotary, positions: Array, *given: Array, **rule: Any) -> tuple[Array, Array]:
    """Return ``f cos(p theta_j)`` and ``f sin(p theta_j)`` in float64 (eq. 34); ``f`` is the factor."""
    angles = form.angles(positions, form.frequencies(*given, **those_of(form.frequencies, {**rule, "like": positions})), rule)
    xp = array_namespace(positions)
    circle = xp.cos(angles), xp.sin(angles)
    return circle if form.factor is None else grown(*circle, form.factor(**those_of(form.factor, {**rule, "positions": positions})))


def turned_by_members(
    form: Rotary, turning: Turning, x: Array, positions: Array, given: Sequence[Array], rule: Mapping[str, Any]
) -> Array:
    """Return ``x`` turned by the angles of pairs, or, where there are as many as channels, of all first, then of all second members."""
    cos, sin = tables(form, positions, *given, **rule)
    return turning(x, cos, sin) if 2 * cos.shape[-1] == x.shape[-1] else members(turning, x, cos, sin, rule["layout"])


def members(turning: Turning, x: Array, cos: Array, sin: Array, layout: str) -> Array:
    """Return ``(a cos s - b sin s, a sin t + b cos t)`` for every pair: where its angles ``s`` and ``t`` differ, no rotation."""
    pairs, written = x.shape[-1] // 2, "interleaved" if layout == "interleaved" else "half"
    first = split_pairs(turning(x, cos[..., :pairs], sin[..., :pairs]), written)[0]
    second = split_pairs(turning(x, cos[..., pairs:], sin[..., pairs:]), written)[1]
    return join_pairs(first, second, written)


def grown(cos: Array, sin: Array, size: float | Array) -> tuple[Array, Array]:
    """Return cosine and sine times a factor: what turns is as many times as long."""
    return size * cos, size * sin


def frequencies(form: Rotary, *given: Array, **rule: Any) -> Annotated[Array, "pair"]:
    """Return what fills the slot, in the dtype of the array that is given first."""
    return cast_like(form.frequencies(*given, **rule), given[0])


def rotate(
    form: Rotary,
    x: Features,
    positions: Positions,
    *given: Array,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
    **rule: Any,
) -> Features:
    """Turn queries or keys to their positions: ``R_p x`` (eq. 14-16), in the dtype of ``x``."""
    turning = partial(turned, layout=layout, direction=direction)
    return form.turned(turning, x, positions, given, {"head_dim": head_dim, "base": base, "layout": layout, **rule})


def rotate_query_key(
    form: Rotary,
    q: Queries,
    k: Keys,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *given: Array,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
    **rule: Any,
) -> QueryKey:
    """Turn queries and keys to their own positions: ``R_m q`` and ``R_n k`` (eq. 14)."""
    rotation = {"head_dim": head_dim, "base": base, "layout": layout, "direction": direction, **rule}
    return QueryKey(rotate(form, q, query_positions, *given, **rotation), rotate(form.of_keys, k, key_positions, *given, **rotation))


def gradient(
    form: Rotary,
    x: Features,
    positions: Positions,
    cotangent: Features,
    *given: Array,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
    **rule: Any,
) -> Features:
    """Return the gradient of ``<rotate(x), cotangent>`` in ``x``: ``R_p^T cotangent = R_(-p) cotangent`` (eq. 15)."""
    turning = partial(turned_back, layout=layout, direction=direction)
    back = form.turned(turning, exact_float64(cotangent), positions, given, {"head_dim": head_dim, "base": base, **rule})
    return cast_like(back, x)


def logits(
    form: Rotary,
    q: Queries,
    k: Keys,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *given: Array,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
    **rule: Any,
) -> Annotated[Array, "batch query_head query key"]:
    """Return ``(R_m q) (R_n k)^T / sqrt(head_dim)`` (eq. 16), in the dtype of ``q``."""
    rotation = {"head_dim": head_dim, "base": base, "layout": layout, "direction": direction, **rule}
    turned = rotate_query_key(form, exact_float64(q), exact_float64(k), query_positions, key_positions, *given, **rotation)
    return cast_like(attention.logits(*turned), q)


def attend_turned(
    form: Rotary,
    q: Queries,
    k: Keys,
    v: Keys,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *given: Array,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
    causal: bool = False,
    outputs: Outputs = "turned_back",
    **rule: Any,
) -> Queries:
    """Return ``R_(-m) sum_n w_mn R_n v_n``: attention whose values turn like keys, in the dtype of ``v``.

    Where outputs are kept as they are, this is ``sum_n w_mn R_n v_n``.
    """
    rotation = {"head_dim": head_dim, "base": base, "layout": layout, "direction": direction, **rule}
    seen = attention.visible(query_positions, key_positions, causal=causal)
    shares = attention.softmax(logits(form, exact_float64(q), k, query_positions, key_positions, *given, **rotation), seen)
    means = attention.average(shares, rotate(form, exact_float64(v), key_positions, *given, **rotation))
    turning = partial(turned_back, layout=layout, direction=direction)
    return cast_like(means if outputs == "kept" else form.turned(turning, means, query_positions, given, rotation), v)


def index_scores(
    form: Rotary,
    q: Annotated[Array, "batch head query head_dim"],
    k: Annotated[Array, "batch key head_dim"],
    head_weights: Annotated[Array, "batch head query"],
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *given: Array,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
    divisor: Divisor = "roots",
    **rule: Any,
) -> Annotated[Array, "batch query key"]:
    """Return ``sum_h w_hm max(0, <R_m q_h, R_n k>)``: how much a query wants each key, of which all heads share one, in the dtype of ``q``.

    With the divisor ``roots`` it is divided by ``sqrt(head_dim)`` and by the root of the number of heads.
    """
    rotation = {"head_dim": head_dim, "base": base, "layout": layout, "direction": direction, **rule}
    keys = exact_float64(k)[:, None, :, :]
    turned = rotate_query_key(form, exact_float64(q), keys, query_positions, key_positions, *given, **rotation)
    xp = array_namespace(q, k, head_weights)
    clipped = xp.clip(xp.matmul(turned.query, xp.matrix_transpose(turned.key)), min=0.0)
    scores = xp.sum(exact_float64(head_weights)[..., None] * clipped, axis=1)
    return cast_like(scores / (math.sqrt(head_dim * q.shape[1]) if divisor == "roots" else 1.0), q)


def no_arrays(head_dim: int, like: Array) -> tuple[Array, ...]:
    """Return nothing: most rotations take no arrays but positions."""
    del head_dim, like
    return ()


def layer(turning: Callable[..., Array], given: Callable[[int, Array], tuple[Array, ...]] = no_arrays, **rule: Any) -> Callable[..., Layer]:
    """Return how a rotation acts in attention: queries and keys turn, values don't, and nothing is learned.

    ``given(head_dim, like)`` makes its arrays; ``rule`` are its parameters, which a cache must keep.
    """

    def made(*, num_heads: int, head_dim: int, like: Array) -> Layer:
        del num_heads
        arrays = given(head_dim, like)

        def turn(x: Array, positions: Array) -> Array:
            return turning(x, positions, *arrays, head_dim=head_dim, **rule)

        return Layer(turn_query=turn, turn_key=turn)

    return made


#: What holds of every rotation, and of every rule that slows the pairs of rope.
LAWS = (Law.LINEAR, Law.ISOMETRY, Law.IDENTITY_AT_ORIGIN, Law.COMPOSITION, Law.RELATIVE, Law.INVERSE, Law.STEPWISE, Law.HEADS)
SLOWING = (Law.BETWEEN, Law.RATIO_FALLS, Law.REDUCES_TO_ROPE)
#: What holds of attention around every rotation.
ATTENTION_LAWS = {
    "weights": (Law.WEIGHTS_SUM_TO_ONE, Law.TRANSLATION, Law.CAUSAL, Law.STEPWISE, Law.HEADS),
    "attend": (Law.CONSTANT_VALUES, Law.TRANSLATION, Law.CAUSAL, Law.STEPWISE, Law.HEADS),
}
#: The same where values turn too.
TURNED_LAWS = {"attend_turned": (Law.MOVES_ALONG, Law.CAUSAL, Law.STEPWISE, Law.HEADS)}
#: What holds of the scores by which an indexer selects keys.
INDEX_LAWS = {"index_scores": (Law.TRANSLATION, Law.WEIGHED, Law.STEPWISE)}

#: What the arrays and parameters of every rotary scheme mean.
MEANINGS = {
    "x": "queries or keys, before their dot product; values are not turned",
    "positions": "the place of every token, in tokens, counted from 0; negative ones turn back",
    "head_dim": "the channels of one head that turn: twice the number of pairs",
    "base": "the ratio by which frequencies fall over a whole head (rope_theta), a pure number",
    "layout": "which channels form a pair, and where the turned pair is written",
    "direction": "the sense in which pairs turn as the position grows",
}
#: What those of attention mean besides.
ATTENTION_MEANINGS = {
    "q": "queries, before they are turned",
    "k": "keys, before they are turned; consecutive query heads share one where there are fewer",
    "v": "values; this operation doesn't turn them",
    "query_positions": "position of every query, in tokens",
    "key_positions": "position of every key, in tokens",
    "causal": "whether keys at later positions than the query's are hidden",
}
