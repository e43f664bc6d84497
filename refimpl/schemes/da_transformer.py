"""DA-Transformer: every clipped logit times a learned sigmoid of the distance, one weight and one saturation per head."""

import math
from typing import Annotated

from refimpl import attention
from refimpl.arrays import Array, array_namespace, cast_like, exact_float64, row
from refimpl.cases.da_transformer import CASES
from refimpl.errors import SpecificationError
from refimpl.forms.attention import Attention
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Law, Scheme, Source, operation

Query = Annotated[Array, "batch query_head query head_dim"]
Key = Annotated[Array, "batch key_head key head_dim"]
PerHead = Annotated[Array, "query_head"]


def sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + e^(-x))`` without a power that overflows."""
    xp = array_namespace(x)
    power = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, xp.ones_like(power), power) / (1.0 + power)


def greatest(x: Array) -> float:
    """Return the greatest number of an array's dtype."""
    xp = array_namespace(x)
    try:
        return float(xp.finfo(x.dtype).max)
    except (AttributeError, TypeError, ValueError):
        # NumPy doesn't describe the bfloat16 that another library adds; its range is that of float32.
        return float(xp.finfo(xp.float32).max)


def check_saturation(saturation: Array) -> None:
    """Raise unless ``1 + e^v`` is a number of the saturation's own dtype."""
    limit = math.log(greatest(saturation))
    largest = float(array_namespace(saturation).max(exact_float64(saturation)))
    if not largest < limit:
        message = f"saturation must be below {limit:.2f}, got {largest}"
        raise SpecificationError(message)


@operation
def rescale(
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    distance_weight: Annotated[Array, "head"],
    saturation: Annotated[Array, "head"],
) -> Annotated[Array, "[batch] head query key"]:
    """Return ``(1 + e^v) / (1 + e^(v - w |m - n|))``: 1 at distance 0, between 0 and ``1 + e^v``, in the dtype of ``w`` (section 3.2).

    Evaluated as ``(1 + e^v) sigmoid(w |m - n| - v)``, which overflows only where the result may. Raises where ``1 + e^v`` is beyond the
    saturation's dtype: from 709.78 in float64, 88.72 in float32 and bfloat16, 11.09 in float16.
    """
    xp = array_namespace(query_positions, key_positions, distance_weight, saturation)
    check_saturation(saturation)
    distance = xp.abs(exact_float64(query_positions)[..., None, :, None] - exact_float64(key_positions)[..., None, None, :])
    weight, limit = (exact_float64(x)[:, None, None] for x in (distance_weight, saturation))
    return cast_like((1.0 + xp.exp(limit)) * sigmoid(weight * distance - limit), distance_weight)


def logits(
    q: Query,
    k: Key,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    distance_weight: PerHead,
    saturation: PerHead,
) -> Annotated[Array, "batch query_head query key"]:
    """Return ``ReLU(q k^T) R / sqrt(head_dim)``, ``R`` the rescaling, in float64 (section 3.2)."""
    check_saturation(saturation)
    factor = rescale(query_positions, key_positions, exact_float64(distance_weight), exact_float64(saturation))
    return array_namespace(q, k).clip(attention.logits(q, k), min=0.0) * factor


FORM = Attention(logits, values="values")
weights = FORM.weights(
    """Return ``softmax(ReLU(q k^T) R / sqrt(head_dim))``, ``R`` the rescaling, in the dtype of ``q`` (section 3.2).

    The ReLU comes before the product and the mask after it: a mask of minus infinity that went through the ReLU would hide nothing.
    """
)
attend = FORM.attend("Return ``softmax(ReLU(q k^T) R / sqrt(head_dim)) values`` in the dtype of the values (section 3.2).")


def layer(*, num_heads: int, head_dim: int, like: Array) -> attention.Layer:
    """Return attention with clipped, rescaled logits; every second head prefers near keys, the others far ones."""
    del head_dim
    weight = row([(-0.25 if head % 2 == 0 else 0.125) * (1 + head // 2) for head in range(num_heads)], like=like)
    limit = row([1.0 + head / 4 for head in range(num_heads)], like=like)

    return attention.Layer(logits=lambda q, k, m, n: logits(q, k, m, n, weight, limit), learned=2 * num_heads)


SCHEME = Scheme(
    name="da_transformer",
    operations=(rescale, weights, attend),
    source=Source(
        "Wu, Wu, Huang 2021, DA-Transformer: Distance-aware Transformer",
        "https://arxiv.org/abs/2010.06925",
        equations="section 3.2",
    ),
    laws={
        "rescale": (
            Law.TRANSLATION,
            Law.SYMMETRIC,
            Law.IDENTITY_AT_ORIGIN,
            Law.BOUNDED,
            Law.MONOTONE,
            Law.REDUCES_TO_NONE,
            Law.STEPWISE,
            Law.HEADS,
        ),
        "weights": (Law.WEIGHTS_SUM_TO_ONE, Law.TRANSLATION, Law.CAUSAL, Law.REDUCES_TO_NONE, Law.STEPWISE, Law.HEADS),
        "attend": (Law.CONSTANT_VALUES, Law.TRANSLATION, Law.CAUSAL, Law.REDUCES_TO_NONE, Law.STEPWISE, Law.HEADS),
    },
    cases=CASES,
    summary="Clip every attention logit at 0 and multiply it by a learned sigmoid of the distance.",
    meanings={
        "q": "the queries",
        "k": "the keys; consecutive query heads share one key head",
        "values": "what is averaged (not called v, which is the saturation in the paper)",
        "query_positions": "where each query stands, in tokens",
        "key_positions": "where each key stands, in tokens",
        "distance_weight": "w, learned, one per query head, per token: above 0 far keys gain, below 0 near ones, 0 switches the scheme off",
        "saturation": "v, learned, one per query head, without unit: a logit grows by a factor of at most 1 + e^v",
        "causal": "whether keys after the query are hidden; they are hidden after the product",
    },
    notes=(
        (
            "Evidence: the authors published no code, and no other implementation is known. The abstract confirms a learned weight of "
            "the real distance per head, a learnable sigmoid, and ReLU before the product; the algebra of the sigmoid and the place "
            "of the square root rest on two secondary sources that agree (the LaTeX of the lecture notes, and L. Weng, The "
            "Transformer Family 2.0)."
        ),
        (
            "A row whose logits are all clipped is averaged evenly: the softmax follows the ReLU, so a logit of 0 has a weight of its "
            "own, and the sparsity that the paper speaks of is relative."
        ),
        (
            "The scheme doesn't tell left from right: equal distances on either side have equal factors, so order needs a mask or an "
            "encoding beside it."
        ),
        "A mask must come after the product. Added before the ReLU, minus infinity becomes 0 and the hidden key is seen.",
        (
            "The order of ReLU, scale and product is free, since the factors are positive: only a ReLU left out, or put after the "
            "softmax, changes anything."
        ),
        (
            "The printed quotient overflows where v - w |m - n| passes 88 in float32 and 11 in float16, though its value is small; "
            "the product with a sigmoid doesn't."
        ),
    ),
    layer=layer,
)
