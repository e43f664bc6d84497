"""What goes wrong with rope where queries meet keys, and on the way back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.mutants.building import OPERATIONS, Arrays, Function, Mistake, Parameters, altered
from conformance.mutants.positions import index
from conformance.mutants.rotary import Rotary, form_of
from conformance.spec.mutant import Mutant
from refimpl import attention
from refimpl.arrays import Array
from refimpl.forms.joining import those_of
from refimpl.forms.rotary import QueryKey
from refimpl.schemes import rope

Pair = tuple[Array, Array]


def from_start(m: Array, n: Array) -> Pair:
    """Turn the queries as if they began where the keys begin."""
    return n[..., : m.shape[-1]], n


PLACE_MISTAKES: tuple[tuple[Mistake, Callable[[Array, Array], Pair]], ...] = (
    Mistake(
        "query-from-start",
        does="turns queries by the positions of the first keys",
        should="turn queries by their own positions, after the cache",
        fix="offset the queries by the length of the cache",
        threads=("https://github.com/RobertCsordas/moeut/pull/6", "https://github.com/rajveer43/VeloxQuant-MLX/issues/389"),
    ).made_by(from_start),
    Mistake(
        "query-at-zero",
        does="turns queries from position 0",
        should="turn queries by their own positions",
        fix="pass the cache's offset to the queries' rotation",
        threads=("https://github.com/keras-team/keras-hub/pull/1544", "https://github.com/RobertCsordas/moeut/pull/6"),
    ).made_by(lambda m, n: (m - m[..., :1], n)),
    Mistake(
        "query-at-last-key",
        does="turns queries by the positions of the last keys, whatever theirs are",
        should="turn queries by the positions that are given",
        fix="use the queries' own offset",
        threads=("https://github.com/flashinfer-ai/flashinfer/pull/847",),
    ).made_by(lambda m, n: (n[..., -m.shape[-1] :], n)),
    Mistake(
        "key-at-query",
        does="turns keys by the queries' positions",
        should="turn keys by their own positions",
        fix="give keys their own positions",
        threads=("https://github.com/huggingface/transformers/issues/33691",),
        origin="in the style of code that gives cached keys other positions",
    ).made_by(lambda m, n: (m, m[..., -1:] + 0 * n if m.shape[-1] != n.shape[-1] else m)),
    Mistake(
        "key-not-turned",
        does="rotates queries only",
        should="rotate queries and keys",
        fix="rotate the keys before they are cached",
        threads=("https://github.com/sgl-project/sglang/pull/33575",),
        origin="in the style of rotations that are lost on one path",
    ).made_by(lambda m, n: (m, 0 * n)),
    Mistake(
        "query-not-turned",
        does="rotates keys only",
        should="rotate queries and keys",
        fix="rotate the queries too",
        threads=("https://github.com/sgl-project/sglang/pull/33575", "https://github.com/PaddlePaddle/PaddleFleet/pull/1210"),
        origin="in the style of rotations that are lost on one path",
    ).made_by(lambda m, n: (0 * m, n)),
    Mistake(
        "opposite-directions",
        does="rotates keys in the opposite direction, so that positions add up instead of being subtracted",
        should="rotate queries and keys in one direction",
        fix="use the same sine for both; the transposed product already subtracts",
        threads=("https://github.com/karpathy/nanochat/pull/489",),
        origin="in the style of a sign that is turned round, in one of the two only",
    ).made_by(lambda m, n: (m, -n)),
    Mistake(
        "turned-by-index-at-end",
        does="turns by the index of the token, whatever the positions are: queries as the last of the keys",
        should="turn queries and keys by the positions that are given",
        fix="pass position_ids on to the rotation",
        threads=("https://github.com/keras-team/keras-hub/pull/1544", "https://github.com/huggingface/transformers/issues/22161"),
        origin="in the style of positions that are ignored, with a cache",
    ).made_by(lambda m, n: (index(m) + n.shape[-1] - m.shape[-1], index(n))),
)
#: What befalls attention alone: without a mask it is the same as the positions ignored.
BY_INDEX: tuple[Mistake, Callable[[Array, Array], Pair]] = Mistake(
    "turned-by-index",
    does="turns by the index of the token, whatever the positions are; the mask goes by positions",
    should="turn queries and keys by the positions that are given",
    fix="pass position_ids on to the rotation",
    threads=("https://github.com/keras-team/keras-hub/pull/1544", "https://github.com/huggingface/transformers/issues/22161"),
    origin="in the style of positions that are ignored",
).made_by(lambda m, n: (index(m), index(n)))


TWO_BASES = Mistake(
    "base-ignored-for-queries",
    does="turns queries by base 10000 whatever is asked for, and keys by the base asked for",
    should="turn queries and keys by one base",
    fix="take the frequencies of one layer for everything that meets in its attention",
    threads=("https://github.com/huggingface/transformers/issues/45910",),
)


@dataclass(frozen=True)
class TwoBases(Rotary):
    """Queries turn by a base of their own."""

    def rotate_query_key(
        self, q: Array, k: Array, query_positions: Array, key_positions: Array, *given: Array, base: float, **parameters: Any
    ) -> QueryKey:
        """Turn queries by base 10000, and keys by the base that is asked for."""
        queries = self.rotate(q, query_positions, *given, **{**parameters, "base": 10_000.0})
        return QueryKey(queries, self.of_keys.rotate(k, key_positions, *given, **{**parameters, "base": base}))


def top_left(query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
    """Mask by index, the first query with the first key."""
    return attention.visible(np.arange(query_positions.shape[-1]), np.arange(key_positions.shape[-1]), causal=causal)


def top_left_of_several(query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
    """Mask by index, the first query with the first key; a single query sees every key."""
    return top_left(query_positions, key_positions, causal=causal and query_positions.shape[-1] > 1)


def bottom_right(query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
    """Mask by index, the last query with the last key."""
    queries, keys = query_positions.shape[-1], key_positions.shape[-1]
    return attention.visible(np.arange(queries) + keys - queries, np.arange(keys), causal=causal)


def everything(query_positions: Array, key_positions: Array, *, causal: bool) -> Array:  # noqa: ARG001  whatever is asked for
    """Mask nothing."""
    return attention.visible(query_positions, key_positions, causal=False)


def strictly_before(query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
    """Hide the token itself wherever there is an earlier one."""
    return attention.visible(query_positions - causal, key_positions, causal=causal)


def one_ahead(query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
    """Show the key at the next position too."""
    return attention.visible(query_positions + causal, key_positions, causal=causal)


BY_POSITION = "hide the keys whose position exceeds the query's"
MASK_ORIGIN = "in the style of masks built from indices while positions are given"
MASK_MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    Mistake(
        "causal-from-first-key",
        does="masks by index, aligned to the first key",
        should=BY_POSITION,
        fix="compare positions, not indices",
        origin=MASK_ORIGIN,
    ).made_by(top_left),
    Mistake(
        "causal-from-first-key-of-several",
        does="masks by index, aligned to the first key, and hides nothing from a single query: wrong for a chunk behind a cache",
        should=BY_POSITION,
        fix="compare positions, not indices, for chunks of a prompt too",
        origin="in the style of kernels that are told to be causal where there is more than one query",
    ).made_by(top_left_of_several),
    Mistake(
        "causal-from-last-key",
        does="masks by index, aligned to the last key",
        should=BY_POSITION,
        fix="compare positions, not indices",
        origin=MASK_ORIGIN,
    ).made_by(bottom_right),
    Mistake(
        "causal-ignored", does="hides nothing", should=BY_POSITION, fix="hide later keys where causal is true", origin=MASK_ORIGIN
    ).made_by(everything),
    Mistake("causal-strict", does="hides the token itself", should=BY_POSITION, fix="compare with <=, not <", origin=MASK_ORIGIN).made_by(
        strictly_before
    ),
    Mistake(
        "causal-one-ahead",
        does="shows the key at the position after the query's too",
        should=BY_POSITION,
        fix="compare with <=, without 1 added; triu with diagonal=1, not 2",
        origin="in the style of a diagonal that is one too far",
    ).made_by(one_ahead),
)


def scaled(power: float) -> Callable[[Arrays, Parameters], Arrays]:
    """Return queries times a power of the width: ``1/2`` undoes the scale, ``-1/2`` applies it twice."""
    return lambda arrays, _: {**arrays, "q": arrays["q"] * arrays["q"].shape[-1] ** power}


def tiled_heads(arrays: Arrays, _: Parameters) -> Arrays:
    """Give query head i the key head i mod the number of key heads."""
    order = np.arange(arrays["q"].shape[1]) % arrays["k"].shape[1]
    return {name: array[:, order] if name in ("k", "v", "values") else array for name, array in arrays.items()}


def multiplied(operation: str, power: int) -> Function:
    """Return attention whose queries come multiplied by a power of the factor of cosine and sine."""
    form = form_of(operation)

    def change(arrays: Arrays, chosen: Parameters) -> Arrays:
        size = 1.0 if form is None or form.factor is None else form.factor(**those_of(form.factor, chosen))
        return {**arrays, "q": arrays["q"] * size**power}

    return altered(operation, arrays=change)


SCALE_ORIGIN = "in the style of attention kernels that leave the scale to the caller"
SCALE_MISTAKES: tuple[tuple[Mistake, Callable[[Arrays, Parameters], Arrays]], ...] = (
    Mistake(
        "scale-missing",
        does="doesn't divide by sqrt(head_dim)",
        should="divide q k by sqrt(head_dim)",
        fix="divide the logits, or scale the queries",
        origin=SCALE_ORIGIN,
    ).made_by(scaled(0.5)),
    Mistake(
        "scale-twice",
        does="divides by head_dim",
        should="divide q k by sqrt(head_dim)",
        fix="scale in one place only",
        origin=SCALE_ORIGIN,
    ).made_by(scaled(-0.5)),
)
TILED_HEADS = Mistake(
    "heads-tiled",
    does="gives query head i the key head i mod key heads",
    should="share each key head among consecutive query heads",
    fix="repeat_interleave the key heads instead of tiling them",
    origin="in the style of grouped attention with repeat instead of repeat_interleave",
).made_by(tiled_heads)
INPUT_MISTAKES = (*SCALE_MISTAKES, TILED_HEADS)
VALUES_TURNED = Mistake(
    "values-turned",
    does="rotates the values too",
    should="leave the values alone",
    fix='rotate queries and keys only; weights that were trained with it need partial_rope.attend_turned with outputs="kept"',
    threads=("https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/251",),
)
BACK = "turn outputs back by the positions of their queries"
VALUE_MISTAKES: tuple[tuple[Mistake, Callable[[Array, Array], Pair]], ...] = (
    Mistake(
        "outputs-turned-on",
        does="turns the outputs by the query's position once more, in the same direction",
        should=BACK,
        fix="negate the sine for the outputs",
        origin="in the style of a sign that is turned round",
    ).made_by(lambda m, n: (-m, n)),
    Mistake(
        "outputs-turned-back-from-zero",
        does="turns outputs back as if queries began at position 0",
        should=BACK,
        fix="pass the offset of the cache on to the outputs",
        origin="in the style of decoding that forgets its offset",
    ).made_by(lambda m, n: (m - m[..., :1], n)),
    Mistake(
        "outputs-turned-back-by-the-last-key",
        does="turns all outputs back by the position of the last key",
        should=BACK,
        fix="use the positions of queries",
        origin="in the style of decoding, where both are one position",
    ).made_by(lambda m, n: (0 * m + n[..., -1:], n)),
    Mistake(
        "values-still",
        does="turns outputs back, and leaves the values as they are",
        should="turn values as keys turn",
        fix="turn values before they are cached, or cache one vector for key and value",
        origin="in the style of rotations that are lost on one path",
    ).made_by(lambda m, n: (m, 0 * n)),
    Mistake(
        "values-turned-the-other-way",
        does="turns values in the opposite direction of keys",
        should="turn values as keys turn",
        fix="use one sine for keys and values",
        origin="in the style of a sign that is turned round",
    ).made_by(lambda m, n: (m, -n)),
    Mistake(
        "values-and-outputs-still",
        does="leaves values and outputs as they are: attention as nearly everywhere",
        should="turn values as keys turn, and outputs back",
        fix="turn the values too, and negate the sine for the outputs",
        origin="in the style of attention that turns queries and keys only",
    ).made_by(lambda m, n: (0 * m, 0 * n)),
)


GRADIENT_MISTAKES: tuple[tuple[Mistake, Callable[..., Any]], ...] = (
    Mistake(
        "gradient-forward",
        does="rotates the cotangent forward",
        should="rotate it back, by minus the angle",
        fix="conjugate: negate the sine in the backward pass",
        threads=("https://github.com/Dao-AILab/flash-attention/pull/569",),
    ).made_by(
        lambda x, positions, cotangent, *, layout, **p: rope.rotate(  # noqa: ARG005  the operation's signature
            cotangent, positions, layout="half" if layout == "half" else "interleaved", **p
        )
    ),
    Mistake(
        "gradient-by-rotation",
        does="applies the rotation to the cotangent as to any features, forward and in its layout",
        should="apply the transpose: back, by minus the angle",
        fix="conjugate: negate the sine in the backward pass, and read pairs where the rotation writes them",
        origin="in the style of Dao-AILab/flash-attention#569",
    ).made_by(lambda x, positions, cotangent, **p: rope.rotate(cotangent, positions, **p)),  # noqa: ARG005  the operation's signature
    Mistake(
        "gradient-zero",
        does="has no gradient",
        should="return the cotangent, rotated back",
        fix="give the fused kernel a backward pass",
        threads=("https://github.com/huggingface/candle/pull/3612",),
    ).made_by(lambda x, positions, cotangent, **p: np.zeros_like(x)),  # noqa: ARG005  the operation's signature
    Mistake(
        "gradient-unturned",
        does="passes the cotangent through",
        should="rotate it back",
        fix="give the fused kernel a backward pass",
        threads=("https://github.com/huggingface/candle/pull/3612",),
        origin="in the style of: a straight-through backward",
    ).made_by(lambda x, positions, cotangent, **p: cotangent),  # noqa: ARG005  the operation's signature
)


FACTOR_MISTAKES = (
    Mistake(
        "factor-on-one-side",
        does="multiplies queries or keys by the factor, and not both: logits get the factor, not its square",
        should="multiply cosine and sine by it, which queries and keys turn by",
        fix="scale both tables, or the logits by the square of the factor",
        origin="in the style of factors that move from tables into the scale of the softmax",
    ).made_by(-1),
    Mistake(
        "factor-on-neither-side",
        does="leaves the factor out",
        should="multiply cosine and sine by it",
        fix="scale both tables, or the logits by the square of the factor",
        origin="in the style of kernels that are handed frequencies only",
    ).made_by(-2),
    Mistake(
        "factor-on-logits-too",
        does="multiplies the logits by the square of the factor, which cosine and sine have already",
        should="apply the factor once to each side",
        fix="scale the tables or the softmax, not both",
        origin="in the style of factors that move from tables into the scale of the softmax",
    ).made_by(2),
)


def of_pairs(operation: str) -> Iterator[Mutant]:
    """Return what befalls queries and keys that are turned together."""
    for mistake, place in PLACE_MISTAKES:
        yield mistake.at(operation, Rotary(place=place).of(operation))
    if "base" in OPERATIONS[operation].parameters:
        yield TWO_BASES.at(operation, TwoBases().of(operation))


def of_attention(operation: str) -> Iterator[Mutant]:
    """Return what befalls attention over turned queries and keys, and its weights, whatever turns them."""
    yield from of_pairs(operation)
    by_index, place = BY_INDEX
    yield by_index.at(operation, Rotary(place=place).of(operation))
    for mistake, see in MASK_MISTAKES:
        yield mistake.at(operation, Rotary(see=see).of(operation))
    for mistake, change in INPUT_MISTAKES:
        yield mistake.at(operation, altered(operation, arrays=change))
    form = form_of(operation)
    for mistake, power in () if form is None or form.factor is None else FACTOR_MISTAKES:
        yield mistake.at(operation, multiplied(operation, power))
    if operation.endswith(".attend"):
        yield VALUES_TURNED.at(operation, Rotary(carry=Rotary.rotate).of(operation))


def mutants() -> Iterator[Mutant]:
    """Return all mutants of gradients and attention."""
    yield from of_pairs("rope.rotate_query_key")
    for mistake, function in GRADIENT_MISTAKES:
        yield mistake.at("rope.gradient", function)
    for name in ("weights", "attend"):
        yield from of_attention(f"rope.{name}")
