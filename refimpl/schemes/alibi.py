"""ALiBi: subtract from every attention logit the distance times a slope of the head, and learn nothing."""

from typing import Annotated, Literal

from refimpl.arrays import Array, array_namespace, row
from refimpl.attention import Layer
from refimpl.cases.alibi import CASES
from refimpl.forms.bias import ATTENTION_LAWS, ATTENTION_MEANINGS, Weighed, attending
from refimpl.forms.bias import layer as biased
from refimpl.spec import Count, Law, Positive, Scheme, Source, operation

Form = Literal["row", "column", "reversed", "symmetric"]
Slopes = Literal["code", "paper"]


def of_paper(num_heads: int, max_bias: float, like: Array) -> Array:
    """Return ``2^(-max_bias h / n)``, ``h = 1 ... n``, for ``n`` heads (section 3)."""
    return 2.0 ** (-max_bias * row([head / num_heads for head in range(1, num_heads + 1)], like=like))


def of_code(num_heads: int, max_bias: float, like: Array) -> Array:
    """Return the slopes of ``c`` heads, ``c`` the largest power of two, then every second one of ``2 c`` heads (``get_slopes``)."""
    whole = 1 << (num_heads.bit_length() - 1)
    first, twice = of_paper(whole, max_bias, like), of_paper(2 * whole, max_bias, like)
    return array_namespace(like).concat([first, twice[::2][: num_heads - whole]])


@operation
def slopes(*, num_heads: Count, max_bias: Positive = 8.0, slopes: Slopes = "code", like: Array) -> Annotated[Array, "head"]:
    """Return the slope of every head: ``2^(-max_bias h / n)``, ``h = 1 ... n``, where ``n`` is a power of two (section 3)."""
    return {"code": of_code, "paper": of_paper}[slopes](num_heads, max_bias, like)


def steps(query: Array, key: Array, *, form: Form = "row") -> Array:
    """Return what the slope multiplies: ``n - m``, ``n``, ``n - last``, or ``-|m - n|``."""
    xp = array_namespace(query, key)
    if form == "row":
        return key - query
    if form == "symmetric":
        return -xp.abs(key - query)
    start = xp.max(key, axis=-1, keepdims=True) if form == "reversed" else 0
    return key - start + xp.zeros_like(query)


FORM = Weighed(steps, slopes)
bias = FORM.operation(
    "Return ``-slope (m - n)`` for query position ``m`` and key position ``n``, or another form of it, in float64 (section 3)."
)

ATTENTION = attending(bias)
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
    "form=column": "The key's position alone: the authors' code, BLOOM, Falcon. Rows differ by a constant each, which a causal softmax "
    "does not see; anything that inspects the bias or looks both ways does.",
    "form=reversed": "The key's position minus the last key's, the same for every query: MPT, and `AlibiBias` of keras-hub.",
    "form=symmetric": "Minus the absolute distance, for attention both ways: JinaBERT, data2vec 2.0, llama.cpp's encoders.",
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
        "5.23.0 adds it before that scale, in bfloat16, and its published weights were trained so; a port of Falcon must repeat it, and "
        "no other model may. A file of known deviations accepts such a port (docs/deviations.md)."
    ),
    (
        "Forms that drop the query's position are equal to the row form after a causal softmax only, and up to rounding: in half "
        "precision slope times key position loses its last bits where slope times distance would not."
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
