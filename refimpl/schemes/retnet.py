"""RetNet: rope with a slowest pair at 1 / base, and scores that decay by a constant of the head for every token between."""

from dataclasses import replace
from typing import Annotated, Literal

from refimpl import attention
from refimpl.arrays import Array, arange, array_namespace, exact_float64
from refimpl.attention import Layer
from refimpl.cases.retnet import CASES
from refimpl.forms import rotary
from refimpl.forms.bias import Added, whole
from refimpl.forms.rotary import Rotary
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Count, EvenCount, Law, Positive, Scheme, Source, operation

Rates = Literal["doubling", "spread"]


def frequencies(*, head_dim: EvenCount, base: Positive = 10_000.0, like: Array) -> Annotated[Array, "pair"]:
    """Return ``base^(-j / (head_dim / 2 - 1))``, which ends at ``1 / base``; 1 for a single pair."""
    return base ** (-arange(head_dim // 2, like=like) / max(1, head_dim // 2 - 1))


rotate = Rotary(frequencies).operation(
    rotary.rotate, "Turn queries or keys to their positions, the slowest pair by ``1 / base`` per token (eq. 5), in the dtype of ``x``."
)


def lost(num_heads: int, rates: str, like: Array) -> Array:
    """Return the share that every head loses per token: ``2^(-5 - h)``, or as many shares from 1/32 to 1/512, by equal ratios."""
    head = arange(num_heads, like=like)
    return 2.0 ** (-5.0 - (head if rates == "doubling" else 4.0 * head / max(1, num_heads - 1)))


@operation
def decay(
    query_positions: BatchedQueryPositions, key_positions: BatchedKeyPositions, *, num_heads: Count, rates: Rates = "doubling"
) -> Added:
    """Return ``gamma^(m - n)`` for query position ``m`` and key position ``n``, and 0 for later keys, in float64 (eq. 5, 8).

    ``gamma = 1 - 2^(-5 - h)`` for head ``h``, counted from 0; or shares from 1/32 to 1/512.
    """
    xp = array_namespace(query_positions, key_positions)
    apart = whole(query_positions)[..., None, :, None] - whole(key_positions)[..., None, None, :]
    logarithm = xp.log1p(-lost(num_heads, rates, query_positions))[:, None, None]
    kept = xp.exp(logarithm * exact_float64(xp.clip(apart, min=0)))
    return xp.where(apart >= 0, kept, xp.zeros_like(kept))


def unhidden(products: Array, seen: Array) -> Array:
    """Return the products of keys that are seen, in the place of a softmax."""
    xp = array_namespace(products)
    return xp.where(seen, products, xp.zeros_like(products))


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return retention: queries and keys turn, and their scaled products decay and multiply the values as they are."""
    turning = rotary.layer(rotate)(num_heads=num_heads, head_dim=head_dim, like=like)

    def products(q: Array, k: Array, query_positions: Array, key_positions: Array) -> Array:
        return attention.logits(q, k) * decay(query_positions, key_positions, num_heads=num_heads)

    return replace(turning, logits=products, weigh=unhidden)


SCHEME = Scheme(
    name="retnet",
    operations=(rotate, decay),
    source=Source(
        "Sun et al. 2023, Retentive Network: A Successor to Transformer for Large Language Models",
        "https://arxiv.org/abs/2307.08621",
        equations="5, 8",
    ),
    laws={"rotate": rotary.LAWS, "decay": (Law.TRANSLATION, Law.MULTIPLIES, Law.STEPWISE)},
    cases=CASES,
    summary="Turn queries and keys, and multiply their products by a constant of the head for every token between.",
    meanings={
        **rotary.MEANINGS,
        "base": "the ratio of the fastest to the slowest pair's frequency, a pure number; 10000 in torchscale",
        "query_positions": "where each query stands, in tokens",
        "key_positions": "where each key stands, in tokens",
        "num_heads": "number of heads of the whole layer, even where a device holds only some",
        "rates": "which share of what they hold the heads lose per token",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): torchscale and nearly all other code of RetNet",
        "layout=half": "pairs (j, j + head_dim / 2): no code of RetNet with it is known here",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: no code of RetNet with it is known here",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): torchscale",
        "direction=negative": "clockwise: no code of RetNet with it is known here",
        "rates=doubling": "2^(-5 - h), so that every head remembers twice as long as the one before: equation 8 and torchscale",
        "rates=spread": "as many shares from 1/32 to 1/512 as there are heads, by equal ratios: Jamie-Stirling's RetNet and "
        "yet-another-retnet",
    },
    notes=(
        (
            "Retention has no softmax: a query's output is the sum of the values of the keys up to it, each times the product of the "
            "turned query and key, over the root of their width, and times the decay. That product and that sum are no operation here."
        ),
        (
            "torchscale divides every row of the decay by the root of its sum, and every row of products by its sum where that is above 1. "
            "Both keep numbers small, and the norm that follows each head undoes them. What is stored here is the decay itself: undo "
            "the division, or give the matrix before it."
        ),
        (
            "torchscale spaces frequencies by linspace(0, 1, head_dim / 2), as tensor2tensor does its sinusoids, so that the slowest pair "
            "turns by 1 / base. Rope with the base raised to head_dim / (head_dim - 2) is the same rotation: at one width nobody can tell "
            "the two apart."
        ),
        (
            "From the fifth head on 1 - 2^(-5 - h) is 1 in bfloat16, from the eighth in float16 and from the twenty-first in float32, and "
            "nothing decays any more. What a head keeps may be rounded as float32 rounds it, which counts once for every token between."
        ),
    ),
    layer=layer,
)
