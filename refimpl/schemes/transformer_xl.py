"""Transformer-XL: a query meets a key's content and its distance, and two learned biases stand in for the query's own position.

Four terms make a logit; the distance enters through a sinusoid and a learned matrix, so that keys of an earlier segment stay valid.
"""

import math
from typing import Annotated, Literal, NamedTuple

from refimpl import attention
from refimpl.arrays import Array, array_namespace, cast_like, exact_float64, outer, row
from refimpl.cases.transformer_xl import CASES
from refimpl.errors import SpecificationError
from refimpl.forms.attention import Attention
from refimpl.schemes import sinusoidal
from refimpl.spec import (
    BatchedKeyPositions,
    BatchedQueryPositions,
    Count,
    EvenCount,
    Law,
    Number,
    Positive,
    Scheme,
    Source,
    operation,
)

Layout = Literal["halves", "interleaved"]
Sign = Literal["query_minus_key", "key_minus_query"]
Queries = Annotated[Array, "batch head query head_dim"]
Keys = Annotated[Array, "batch head key head_dim"]
PositionWeight = Annotated[Array, "dim head head_dim"]
HeadBias = Annotated[Array, "head head_dim"]
Logits = Annotated[Array, "batch head query key"]


class Terms(NamedTuple):
    """The four terms of a logit, (a) to (d) of section 3.3, unscaled."""

    content_content: Logits
    content_position: Logits
    global_content: Logits
    global_position: Logits


def distances(query_positions: Array, key_positions: Array, *, sign: str, clamp_length: int | None) -> Array:
    """Return query minus key position, at most ``clamp_length``, then with the sign asked for; negative ones are never clamped."""
    xp = array_namespace(query_positions, key_positions)
    away = xp.astype(query_positions, xp.int64)[..., :, None] - xp.astype(key_positions, xp.int64)[..., None, :]
    clamped = away if clamp_length is None else xp.clip(away, max=clamp_length)
    return clamped if sign == "query_minus_key" else -clamped


def sinusoids(away: Array, *, dim: int, base: float, layout: str) -> Array:
    """Return ``R_delta``: sine and cosine of ``delta base^(-2 i / dim)``, in blocks or side by side, in float64."""
    xp = array_namespace(away)
    angles = outer(away, sinusoidal.frequencies(dim, base, "paper", like=away))
    return sinusoidal.arrange(xp.sin(angles), xp.cos(angles), layout)


def relative_keys(encodings: Array, position_weight: Array) -> Array:
    """Return ``r_delta = W_kR R_delta`` for every head: axes ``[batch] head query key head_dim``."""
    xp = array_namespace(encodings, position_weight)
    return xp.moveaxis(xp.tensordot(encodings, exact_float64(position_weight), axes=1), -2, -4)


def dots(x: Array, y: Array) -> Array:
    """Return the dot products along the last axis."""
    return array_namespace(x, y).sum(x * y, axis=-1)


@operation
def terms(
    q: Queries,
    k: Keys,
    position_weight: PositionWeight,
    content_bias: HeadBias,
    position_bias: HeadBias,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *,
    dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "halves",
    sign: Sign = "query_minus_key",
    clamp_length: Count | None = None,
) -> Terms:
    """Return ``q_m k_n``, ``q_m r_(m - n)``, ``u k_n`` and ``v r_(m - n)`` with ``r_delta = W_kR R_delta`` (section 3.3, terms a to d)."""
    away = distances(query_positions, key_positions, sign=sign, clamp_length=clamp_length)
    r = relative_keys(sinusoids(away, dim=dim, base=base, layout=layout), position_weight)
    query, key = exact_float64(q)[:, :, :, None, :], exact_float64(k)[:, :, None, :, :]
    xp = array_namespace(q, k)
    u, v = (xp.broadcast_to(exact_float64(bias)[:, None, None, :], query.shape) for bias in (content_bias, position_bias))
    return Terms(*(cast_like(dots(one, other), q) for one, other in ((query, key), (query, r), (u, key), (v, r))))


@operation
def logits(
    q: Queries,
    k: Keys,
    position_weight: PositionWeight,
    content_bias: HeadBias,
    position_bias: HeadBias,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *,
    dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "halves",
    sign: Sign = "query_minus_key",
    clamp_length: Count | None = None,
) -> Logits:
    """Return ``(q_m k_n + q_m r_(m - n) + u k_n + v r_(m - n)) / sqrt(head_dim)``: scaled once, after the sum (section 3.3)."""
    parts = terms(
        exact_float64(q),
        k,
        position_weight,
        content_bias,
        position_bias,
        query_positions,
        key_positions,
        dim=dim,
        base=base,
        layout=layout,
        sign=sign,
        clamp_length=clamp_length,
    )
    return cast_like(sum(parts[1:], start=parts[0]) / math.sqrt(q.shape[-1]), q)


FORM = Attention(logits)
weights = FORM.weights("Return the attention weights, the softmax over the keys of the logits of section 3.3, in the dtype of ``q``.")
attend = FORM.attend(
    "Return attention over this segment and the memory before it: the weights' average of values that know no position (section 3.3)."
)


@operation
def shift(scores: Annotated[Array, "batch head query distance"], *, memory: Annotated[int, Number(minimum=0)]) -> Logits:
    """Return for query m and key n the score of distance ``m + memory - n``: pad a zero column, reshape, drop the first row (appendix B).

    Column c holds distance ``memory + query - 1 - c``. Only ``n <= m + memory`` is meaningful: later keys get numbers of the next query.
    """
    xp = array_namespace(scores)
    batch, head, query, distance = scores.shape
    if distance != memory + query:
        message = f"axis 'distance' of scores must be memory + query ({memory + query}), got {distance}"
        raise SpecificationError(message)
    padded = xp.concat([xp.zeros_like(scores[..., :1]), scores], axis=-1)
    return xp.reshape(xp.reshape(padded, (batch, head, distance + 1, query))[:, :, 1:, :], scores.shape)


def layer(*, num_heads: int, head_dim: int, like: Array) -> attention.Layer:
    """Return Transformer-XL as it acts in attention: its logits, with learned numbers between -1/2 and 1/2."""
    xp = array_namespace(like)
    dim, width = num_heads * head_dim, num_heads * head_dim

    def learned(*shape: int, stride: int) -> Array:
        values = [(stride * i % 17 - 8) / 16.0 for i in range(math.prod(shape))]
        return xp.reshape(row(values, like=like), shape)

    position_weight = learned(dim, num_heads, head_dim, stride=5)
    content_bias, position_bias = (learned(num_heads, head_dim, stride=stride) for stride in (3, 7))

    def four_terms(q: Array, k: Array, query_positions: Array, key_positions: Array) -> Array:
        return logits(q, k, position_weight, content_bias, position_bias, query_positions, key_positions, dim=dim)

    return attention.Layer(logits=four_terms, learned=dim * width + 2 * width)


ALONE = (Law.TRANSLATION, Law.STEPWISE, Law.HEADS)
ATTENTION = (*ALONE, Law.REDUCES_TO_NONE, Law.CAUSAL, Law.MEMORY)

SCHEME = Scheme(
    name="transformer_xl",
    operations=(terms, logits, weights, attend, shift),
    source=Source(
        "Dai et al. 2019, Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context, and its code",
        "https://arxiv.org/abs/1901.02860",
        equations="section 3.3 (terms a to d), appendix B (the shift)",
    ),
    laws={
        "terms": (Law.LINEAR, Law.GLOBAL_QUERY, *ALONE),
        "logits": (Law.ADDITIVE, Law.GLOBAL_QUERY, Law.REDUCES_TO_NONE, *ALONE),
        "weights": (Law.WEIGHTS_SUM_TO_ONE, *ATTENTION),
        "attend": (Law.CONSTANT_VALUES, *ATTENTION),
        "shift": (Law.SHIFT_IS_GATHER, Law.MEMORY, Law.LINEAR, Law.HEADS),
    },
    cases=CASES,
    summary="Every logit is a sum of four terms: a learned projection of the distance's sinusoid replaces absolute positions.",
    meanings={
        "q": "queries of one segment, projected, not scaled",
        "k": "keys of the memory and the segment, projected from their content alone (`W_kE x`)",
        "v": "values of the memory and the segment; they know no position",
        "position_weight": "`W_kR`, which projects the sinusoid of a distance to one relative key per head; learned, one per layer",
        "content_bias": "`u` (`r_w_bias` in the authors' code), which meets every key's content in place of the query's position; learned",
        "position_bias": "`v` (`r_r_bias`), which meets every relative key in place of the query's position; learned",
        "query_positions": "the position of every query, in tokens",
        "key_positions": "the position of every key, in tokens; those of the memory come before the segment's",
        "content_content": "term a, `q_m k_n`: the query's content times the key's content",
        "content_position": "term b, `q_m r_(m - n)`: the query's content times the distance",
        "global_content": "term c, `u k_n`: the key's content, the same for every query",
        "global_position": "term d, `v r_(m - n)`: the distance, the same for every query",
        "scores": "one score for every query and distance, `(q_m + v) r_delta` in the model, largest distance first",
        "dim": "width of the sinusoid, in channels; the model's width, even",
        "base": "ratio of the longest to the shortest wavelength, no unit",
        "layout": "where sine and cosine of a pair stand in the sinusoid",
        "sign": "which of query and key position is subtracted",
        "clamp_length": "largest distance that is told apart, in tokens; null for no limit",
        "causal": "whether keys whose position exceeds the query's are hidden",
        "memory": "how many keys come before the first query, in tokens",
    },
    conventions={
        "layout=halves": (
            "all sines, then all cosines: the authors' `PositionalEmbedding` (44781ed, pytorch/mem_transformer.py), "
            "and XLNet (transformers 5.23.0)"
        ),
        "layout=interleaved": "sine and cosine of a pair side by side: Wav2Vec2-Conformer (transformers 5.23.0)",
        "sign=query_minus_key": "the distance back to the key, `R_(m - n)`: the paper, its code, XLNet, Wav2Vec2-Conformer",
        "sign=key_minus_query": (
            "the distance on to the key, which negates every sine: no release read for this page uses it; "
            "a `W_kR` trained with it is converted by negating its rows of sines"
        ),
    },
    notes=(
        (
            "This project's lecture notes print the last term of the expansion as `p_j W_q W_k^T p_j^T`; its first factor is `p_i`, and "
            "after the reparametrisation the term is `v^T W_kR R_(i - j)` (section 3.3, term d)."
        ),
        (
            "The notes say that relative schemes can't use a cache of keys and values. Here they can: a distance meets a query "
            "only when a logit is made, so cached keys stay valid, as the law named memory shows. A step costs one more projected "
            "relative key per distance."
        ),
        (
            "The authors' code computes distances from memory + length - 1 down to 0 only (44781ed, pytorch/mem_transformer.py), so its "
            "shift leaves the next query's numbers wherever the key is later than the query. A causal mask hides them; without one, "
            "distances from K - 1 to -(Q - 1) are needed, as XLNet and Wav2Vec2-Conformer have them."
        ),
        (
            "`clamp_length` is the authors' `pos_seq.clamp_(max=clamp_len)`, a minimum: their code never has negative distances, and a "
            "minimum leaves them alone. XLNet clamps from both sides (`fwd_pos_seq.clamp(-clamp_len, clamp_len)`, transformers 5.23.0), "
            "which is the same for keys that are no later than the query. In the authors' code 0 stands for no limit; here null does."
        ),
        (
            "XLNet adds a segment term `(q + r_s) s_mn` before the scale. With a segment embedding of zeros it is this scheme, "
            "bidirectional, with a table from `K` down to `-Q + 1`. Wav2Vec2-Conformer keeps one table of `2 K - 1` distances, positive "
            "ones first. Both add a bias to the query before each product: `(q + u) k + (q + v) r`."
        ),
        "The sum is scaled once. If only the products with contents are scaled, distance counts for more in wider heads.",
    ),
    layer=layer,
)
