"""ALiBi: subtract from every attention logit the distance times a slope of the head, and learn nothing."""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from refimpl.arrays import Array, array_namespace, bfloat16, row
from refimpl.attention import Layer
from refimpl.cases.alibi import CASES
from refimpl.forms.bias import ATTENTION_LAWS, ATTENTION_MEANINGS, Added, Content, Keys, Logits, Queries, Weighed, attending, met, weighed
from refimpl.forms.bias import layer as biased
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Count, Law, Positive, Scheme, Source, operation

Form = Literal["row", "column", "reversed", "symmetric", "falcon"]
Slopes = Literal["code", "paper"]


def of_paper(num_heads: int, max_bias: float, like: Array) -> Array:
    """Return ``2^(-max_bias h / n)``, ``h = 1 ... n``, for ``n`` heads (section 3)."""
    return 2.0 ** (-max_bias * row([head / num_heads for head in range(1, num_heads + 1)], like=like))


def of_code(num_heads: int, max_bias: float, like: Array) -> Array:
    """Return the slopes of ``c`` heads, ``c`` the largest power of two, then every second one of ``2 c`` heads (``get_slopes``)."""
    whole = 1 << (num_heads.bit_length() - 1)
    first, twice = of_paper(whole, max_bias, like), of_paper(2 * whole, max_bias, like)
    return array_namespace(like).concat([first, twice[::2][: num_heads - whole]])


def of_rule(num_heads: int, max_bias: float, slopes: str, like: Array) -> Array:
    """Return the slopes by the code's rule, or by the paper's."""
    return {"code": of_code, "paper": of_paper}[slopes](num_heads, max_bias, like)


@operation
def slopes(*, num_heads: Count, max_bias: Positive = 8.0, slopes: Slopes = "code", like: Array) -> Annotated[Array, "head"]:
    """Return the slope of every head: ``2^(-max_bias h / n)``, ``h = 1 ... n``, where ``n`` is a power of two (section 3)."""
    return of_rule(num_heads, max_bias, slopes, like)


def kept(x: Array, form: str) -> Array:
    """Return numbers as a form keeps them: Falcon's rounds each to bfloat16."""
    return bfloat16(x) if form == "falcon" else x


def weight(*, num_heads: Count, max_bias: Positive = 8.0, slopes: Slopes = "code", form: Form = "row", like: Array) -> Array:
    """Return the slope of every head."""
    return kept(of_rule(num_heads, max_bias, slopes, like), form)


def steps(query: Array, key: Array, *, form: Form = "row") -> Array:
    """Return what the slope multiplies: ``n - m``, ``n``, ``n - last``, or ``-|m - n|``."""
    xp = array_namespace(query, key)
    if form == "row":
        return key - query
    if form == "symmetric":
        return -xp.abs(key - query)
    start = xp.max(key, axis=-1, keepdims=True) if form == "reversed" else 0
    return kept(key - start + xp.zeros_like(query), form)


def product(form: Weighed, /, query_positions: BatchedQueryPositions, key_positions: BatchedKeyPositions, **rule: Any) -> Added:
    """Return the slope of every head times the steps, as the form keeps it."""
    return kept(weighed(form, query_positions, key_positions, **rule), rule["form"])


def logits(content: Content, bias: Callable[..., Array], /, q: Queries, k: Keys, *positions: Array, **rule: Any) -> Logits:
    """Return the scaled products plus the bias, which Falcon's form scales too."""
    scale = math.sqrt(q.shape[-1]) if rule["form"] == "falcon" else 1
    return met(content, lambda *at, **own: bias(*at, **own) / scale, q, k, *positions, **rule)


FORM = Weighed(steps, weight)
bias = FORM.operation(
    "Return ``-slope (m - n)`` for query position ``m`` and key position ``n``, or another form of it, in float64 (section 3).",
    whole=product,
)

ATTENTION = attending(bias, logits=logits)
weights = ATTENTION.weights("Return the attention weights ``softmax(q k^T / sqrt(head_dim) + bias)``, in the dtype of ``q`` (section 3).")
attend = ATTENTION.attend("Return ``softmax(q k^T / sqrt(head_dim) + bias) v``, in the dtype of ``v`` (section 3).")


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return ALiBi as it acts in attention: a bias beside the scaled dot product, and nothing that is learned."""
    del head_dim, like
    return biased(lambda m, n: bias(m, n, num_heads=num_heads))


MEANINGS = {
    **ATTENTION_MEANINGS,
    "query_positions": "position of every query, in tokens",
    "key_positions": "position of every key, in tokens",
    "num_heads": "number of attention heads of the whole layer, even where a device holds only some",
    "max_bias": "sets the smallest slope, 2^(-max_bias), by the paper's rule or if the number of heads is a power of two",
    "slopes": "whose rule for numbers of heads that are no power of two",
    "form": "what the slope multiplies",
}

CONVENTIONS = {
    "slopes=code": "The slopes of the largest power of two c below, then the 1st, 3rd, 5th ... of 2 c: the authors' `get_slopes`, BLOOM, "
    "Falcon, MPT.",
    "slopes=paper": "2^(-max_bias h / n), h = 1 ... n, for any number of heads n: section 3 as it is printed.",
    "form=row": "The key's position minus the query's, negative for the past: the paper.",
    "form=column": "The key's position alone: the authors' code, BLOOM. Each row differs from the row form's by a constant, "
    "which no softmax over a row sees; anything that inspects the bias does. So a constant per row is not judged in the bias: the row "
    "form conforms as this one, even where it forgets the offset of a cache.",
    "form=reversed": "The key's position minus the last key's, the same for every query: MPT, and `AlibiBias` of keras-hub.",
    "form=symmetric": "Minus the absolute distance, for attention both ways: JinaBERT, data2vec 2.0, llama.cpp's encoders.",
    "form=falcon": "The key's position alone in bfloat16, whatever the model's dtype: slope, position and product are each rounded to "
    "nearest, ties to even. Attention divides this bias by sqrt(head_dim), as it divides the products. Falcon-RW.",
}

NOTES = (
    (
        "The slopes 1/2, 1/4, ... 1/2^k that tutorials print are those of 8 heads. For a power of two they are 2^(-8h/heads), h from 1, "
        "so 4 heads have 1/4, 1/16, 1/64, 1/256 and a single head has 1/256."
    ),
    (
        "Section 3 prints that rule for every number of heads (`slopes=paper`). The authors' `get_slopes`, with which models were "
        "trained, has another rule if the number is no power of two (`slopes=code`): 6 heads have 1/4, 1/16, 1/64, 1/256, 1/2, 1/8, "
        "which are not sorted. So weights that were trained by one rule must not be run by the other. Among 6, 12 and 40 heads there "
        "is one whose slope is 51, 45 and 89 times as steep by the code as by the paper. Its bias 1,024 positions back is -512, -724 "
        "and -939 by the code, and -10.1, -16.0 and -10.6 by the paper."
    ),
    (
        "The bias is not multiplied by 1 / sqrt(head_dim): it is added to the scaled dot product (section 3). Falcon in transformers "
        "5.23.0 adds it before that scale, in bfloat16, and its published weights were trained so (`form=falcon`); a port of Falcon must "
        "repeat both, and no other model may. Beyond 256 neighbouring keys share a position there: 257 is 256, 259 is 260."
    ),
    (
        "Forms that drop the query's position are equal to the row form after a causal softmax only, and up to rounding: in half "
        "precision slope times key position loses its last bits where slope times distance would not. "
        "Falcon's form is rounded in every dtype, so it equals the column form near the first token only."
    ),
)

SCHEME = Scheme(
    name="alibi",
    operations=(slopes, bias, weights, attend),
    source=Source("Press, Smith, Lewis 2021, Train Short, Test Long", "https://arxiv.org/abs/2108.12409", equations="section 3"),
    laws={
        "slopes": (Law.SLOPES_IN_UNIT_INTERVAL, Law.NESTED, Law.REACH),
        "bias": (Law.TRANSLATION, Law.ROW_CONSTANT, Law.HOMOGENEOUS, Law.MONOTONE, Law.ZERO_AT_ORIGIN, Law.STEPWISE),
        **ATTENTION_LAWS,
    },
    cases=CASES,
    summary="Subtract from every attention logit the distance times the slope of its head.",
    meanings=MEANINGS,
    conventions=CONVENTIONS,
    notes=NOTES,
    layer=layer,
)
