"""Attention temperature: queries grow with the logarithm of their position, so that attention over many keys stays as sharp."""

from typing import Annotated

from refimpl.arrays import Array, array_namespace, cast_like, exact_float64
from refimpl.attention import Layer
from refimpl.cases.temperature import CASES
from refimpl.spec import Count, CountedPositions, Law, Number, Scheme, Source, operation

PerToken = Annotated[Array, "[batch] token"]
PerHead = Annotated[Array, "head"]
FromTwo = Annotated[int, Number(minimum=2)]
Slope = Annotated[float, Number(minimum=0.0)]
Shift = Annotated[int, Number(minimum=0, maximum=1)]


@operation
def scale(positions: CountedPositions, *, floor_scale: Count = 8_192, attn_scale: Slope = 0.1, shift: Shift = 1) -> PerToken:
    """Return ``1 + attn_scale ln(1 + floor((p + shift) / floor_scale))`` in float64: what multiplies the query at ``p`` (Llama 4).

    Raises where a position is negative.
    """
    steps = exact_float64((positions + shift) // floor_scale)
    return 1.0 + attn_scale * array_namespace(steps).log1p(steps)


@operation
def log_scale(positions: CountedPositions, *, original_length: FromTwo) -> PerToken:
    """Return ``max(1, ln(p + 1) / ln(original_length))`` in float64: what multiplies the query at ``p`` (Qwen's ``use_logn_attn``).

    Raises where a position is negative.
    """
    xp = array_namespace(positions)
    reached = xp.log(exact_float64(xp.where(positions < original_length, original_length, positions + 1)))
    return reached / xp.log(exact_float64(xp.full_like(positions, original_length)))


@operation
def learned_scale(positions: CountedPositions, slopes: PerHead, biases: PerHead) -> Annotated[Array, "[batch] head token"]:
    """Return ``s ln(p + 1) + b``, ``s`` and ``b`` learned per head, in the dtype of ``s``: what multiplies queries (Mistral Large 4).

    Raises where a position is negative.
    """
    reached = array_namespace(positions).log1p(exact_float64(positions))[..., None, :]
    return cast_like(exact_float64(slopes)[:, None] * reached + exact_float64(biases)[:, None], slopes)


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return queries that are multiplied by their scale, in steps of 16 positions: nothing is learned."""
    del num_heads, head_dim, like

    def scaled(q: Array, positions: Array) -> Array:
        factor = scale(positions, floor_scale=16)[..., None]
        return cast_like(exact_float64(q) * (factor if factor.ndim == 2 else factor[:, None, ...]), q)

    return Layer(turn_query=scaled)


LAWS = (Law.SHARPENS, Law.UNTOUCHED, Law.STEPWISE)

SCHEME = Scheme(
    name="temperature",
    operations=(scale, log_scale, learned_scale),
    source=Source(
        "Nakanishi 2025, Scalable-Softmax Is Superior for Attention",
        "https://arxiv.org/abs/2501.19399",
        equations="section 3; and the code of Llama 4, Qwen and Mistral Large 4",
    ),
    laws={"scale": LAWS, "log_scale": LAWS, "learned_scale": (Law.RISES_TWICE, Law.STEPWISE, Law.HEADS)},
    cases=CASES,
    summary="Queries are multiplied by a number that grows with the logarithm of their position, by a fixed or a learned slope.",
    meanings={
        "positions": "the place of every query in the sequence, counted from 0",
        "floor_scale": "how many positions one step holds (floor_scale of Llama 4; original_max_position_embeddings of Ministral 3)",
        "attn_scale": "what multiplies the logarithm of the step (attn_scale of Llama 4; llama_4_scaling_beta of Ministral 3); 0: factor 1",
        "shift": "what is added to a position before it is divided: 1 in Llama 4, 0 in Ministral 3",
        "original_length": "the positions that pre-training saw, in tokens (seq_length of Qwen)",
        "slopes": "what multiplies the logarithm of the position, learned, one per head (softmax_scaling.scale in checkpoints)",
        "biases": "what multiplies the query at position 0, learned, one per head (softmax_scaling.bias in checkpoints)",
    },
    notes=(
        (
            "Llama 4 adds 1 to the position and Ministral 3 doesn't, so their first steps lie one position apart: with a floor_scale of "
            "8192, at 8191 and at 8192. Llama 4 multiplies in the layers without rotation only, Ministral 3 in all, after the rotation."
        ),
        (
            "Keys aren't multiplied: the factor makes up for the number of keys among which a query shares its attention, and that grows "
            "with the query's position."
        ),
        (
            "Qwen's first models grow without steps, and only beyond the length of pre-training: the position after the last one that was "
            "seen has ln(L + 1) / ln(L)."
        ),
        (
            "Mistral Large 4 learns both numbers, one pair for each head of attention and one for each head of the indexer, whose queries "
            "are multiplied too, in all layers. They belong to the checkpoint: transformers begins with slopes of 0 and biases of 1, so a "
            "checkpoint that is loaded without them leaves queries as they are, and there is no error. Slopes may be negative."
        ),
        (
            "transformers rounds the logarithm, and the product too, to the dtype of the queries: in bfloat16 the logarithm of a far "
            "position, near 14, is off by up to 1/32, which is allowed in a model that is run in that dtype."
        ),
    ),
    layer=layer,
)
