"""Plain relative bias: one learned number per head for every offset, the outermost for all that lie beyond."""

from typing import Annotated, Literal

from refimpl.arrays import Array, array_namespace
from refimpl.attention import Layer
from refimpl.cases.relative_bias import CASES
from refimpl.errors import SpecificationError
from refimpl.forms.bias import APART_LAWS, ATTENTION_MEANINGS, LookedUp, attending, numbers
from refimpl.forms.bias import layer as biased
from refimpl.spec import Count, Law, Scheme, Source

Sign = Literal["key_minus_query", "query_minus_key"]


def offsets(query: Array, key: Array, table: Annotated[Array, "row head"], *, max_distance: Count, sign: Sign = "key_minus_query") -> Array:
    """Return the row of every offset, clipped; raise where the table has another number of rows."""
    if table.shape[0] != 2 * max_distance + 1:
        message = f"table must have 2 max_distance + 1 rows ({2 * max_distance + 1}), got {table.shape[0]}"
        raise SpecificationError(message)
    offset = key - query
    offset = offset if sign == "key_minus_query" else -offset
    return array_namespace(offset).clip(offset, min=-max_distance, max=max_distance) + max_distance


FORM = LookedUp(offsets)
bias = FORM.operation(
    """Return ``table[clip(n - m, -D, D) + D]`` for query ``m``, key ``n`` and ``D = max_distance``, in the dtype of the table.

    ``sign="query_minus_key"`` reads ``m - n`` for ``n - m``. Raises where the table hasn't ``2 max_distance + 1`` rows.
    """
)

ATTENTION = attending(bias)
weights = ATTENTION.weights("Return the attention weights ``softmax(q k^T / sqrt(head_dim) + bias)``, in the dtype of ``q`` (eq. 4).")
attend = ATTENTION.attend("Return ``softmax(q k^T / sqrt(head_dim) + bias) v``, in the dtype of ``v`` (eq. 4).")


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return attention whose scaled logits get the bias of 8 offsets either way."""
    del head_dim
    table = numbers(17, num_heads, like=like)
    return biased(lambda m, n: bias(table, m, n, max_distance=8), learned=17 * num_heads)


SCHEME = Scheme(
    name="relative_bias",
    operations=(bias, weights, attend),
    source=Source(
        "Liu et al. 2021, Swin Transformer",
        "https://arxiv.org/abs/2103.14030",
        equations="eq. 4, along one axis; offsets are clipped as in section 3.2 of Shaw et al. 2018",
    ),
    laws={"bias": (Law.LOOKUP, Law.TRANSLATION, Law.SATURATION, Law.STEPWISE, Law.HEADS), **APART_LAWS},
    cases=CASES,
    summary="Add to every attention logit a learned number for its head and the offset between key and query.",
    meanings={
        **ATTENTION_MEANINGS,
        "table": "the learned numbers: a row for every offset from -max_distance to max_distance, a column for every head; added to logits",
        "query_positions": "where each query stands, in tokens",
        "key_positions": "where each key stands, in tokens",
        "max_distance": "the largest offset with a row of its own, in tokens; further ones share the outermost row",
        "sign": "which difference of positions is the offset",
    },
    conventions={
        "sign=key_minus_query": "the offset is the key's position minus the query's, as in Shaw's equations and T5's buckets",
        "sign=query_minus_key": "the offset is the query's position minus the key's: Swin's index (transformers 5.23.0, modeling_swin.py)",
    },
    notes=(
        (
            "T5's bias with a bucket for every distance is this table: `t5.bias` with convention `clamped` and `2 max_distance` "
            "buckets equals it wherever no key is as much as max_distance later; there T5's table lacks the last row."
        ),
        (
            "Code that clips is rare: Swin and BEiT size the table to the window, so that no offset is ever outside; the audio "
            "encoder of Phi-4-multimodal (transformers 5.23.0, modeling_phi4_multimodal.py) clips to [-max, max - 1], an even table "
            "that `t5.bucket` calls `clamped`."
        ),
    ),
    layer=layer,
)
