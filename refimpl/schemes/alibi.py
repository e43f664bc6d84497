"""ALiBi: subtract from every attention logit the distance times a slope of the head, and learn nothing."""

from typing import Annotated, Literal

from refimpl.arrays import Array, array_namespace, row
from refimpl.attention import Layer
from refimpl.cases.alibi import CASES
from refimpl.forms.bias import ATTENTION_LAWS, ATTENTION_MEANINGS, Weighed, attending
from refimpl.forms.bias import layer as biased
from refimpl.spec import Count, Law, Positive, Scheme, Source, operation

Form = Literal["row", "column", "reversed", "symmetric"]


@operation
def slopes(*, num_heads: Count, max_bias: Positive = 8.0, like: Array) -> Annotated[Array, "head"]:
    """Return ``2^(-max_bias h / c)``, ``h = 1 ... c``, ``c`` the largest power of two, then every second slope of ``2 c`` (section 3)."""
    whole = 1 << (num_heads.bit_length() - 1)
    first = [head / whole for head in range(1, whole + 1)]
    rest = [head / (2 * whole) for head in range(1, 2 * (num_heads - whole), 2)]
    return 2.0 ** (-max_bias * row(first + rest, like=like))


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
    "max_bias": "exponent of the smallest slope where the heads are a power of two: 2^(-max_bias)",
    "form": "what the slope multiplies",
}

CONVENTIONS = {
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
        "Section 3 prints that rule for every number of heads; its authors' `get_slopes`, which models were trained with, has another "
        "one: the slopes of the largest power of two c below, then the 1st, 3rd, 5th ... of 2c. 6 heads have 1/4, 1/16, 1/64, 1/256, "
        "1/2, 1/8, which are not sorted. The code is followed here; 2^(-8h/heads) for 12 heads is convicted, and named."
    ),
    (
        "The bias is not multiplied by 1 / sqrt(head_dim): it is added to the scaled dot product (section 3). Falcon in transformers "
        "5.23.0 adds it before that scale, and its published weights were trained so; a port of Falcon must repeat it, and no other "
        "model may."
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
    summary="Subtract from every attention logit the distance times a slope of the head.",
    meanings=MEANINGS,
    conventions=CONVENTIONS,
    notes=NOTES,
    layer=layer,
)
