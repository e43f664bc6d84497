"""Rotary position embedding: turn each pair of features by an angle that grows with the position.

The dot product of two turned vectors depends on the difference of their positions only.
"""

from typing import Annotated, Literal, NamedTuple

from refimpl.arrays import Array, arange, at_least_float32, taken
from refimpl.cases.rope import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.rotary import Direction, Layout, Rotary
from refimpl.spec import Count, EvenCount, Law, Positions, Positive, Scheme, Source, operation


class Tables(NamedTuple):
    """Cosine and sine of every angle."""

    cos: Annotated[Array, "[batch] token pair"]
    sin: Annotated[Array, "[batch] token pair"]


@operation
def frequencies(*, head_dim: EvenCount, base: Positive = 10_000.0, like: Array) -> Annotated[Array, "pair"]:
    """Return the radians per position of every pair: ``theta_j = base^(-2 j / head_dim)`` (eq. 15, counted from 0)."""
    return base ** (-2.0 * arange(head_dim // 2, like=like) / head_dim)


@operation
def tables(positions: Positions, *, head_dim: EvenCount, base: Positive = 10_000.0) -> Tables:
    """Return ``cos(p theta_j)`` and ``sin(p theta_j)`` (eq. 34) in float64."""
    return Tables(*rotary.tables(FORM, positions, head_dim=head_dim, base=base))


def check_width(x: Array, cos: Array) -> None:
    """Raise unless the tables have an angle for every pair: one that is left over, or broadcast, would go unseen."""
    if x.shape[-1] != 2 * cos.shape[-1]:
        message = f"axis 'head_dim' of x must be twice the pairs of cos ({2 * cos.shape[-1]}), got {x.shape[-1]}"
        raise SpecificationError(message)


@operation
def apply(
    x: Annotated[Array, "batch head token head_dim"],
    cos: Annotated[Array, "[batch] token pair"],
    sin: Annotated[Array, "[batch] token pair"],
    *,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
) -> Annotated[Array, "batch head token head_dim"]:
    """Turn ``x`` by the angles whose cosines and sines are given (eq. 34), in the dtype of ``x``."""
    check_width(x, cos)
    return rotary.turned(x, at_least_float32(cos), at_least_float32(sin), layout=layout, direction=direction)


def members(width: int, conversion: str) -> list[int]:
    """Return the channel that every channel of a part comes from."""
    half = width // 2
    if conversion == "interleaved_to_half":
        return [*range(0, width, 2), *range(1, width, 2)]
    return [channel for pair in zip(range(half), range(half, width), strict=True) for channel in pair]


@operation
def permute(
    weight: Annotated[Array, "projection [input]"],
    *,
    num_heads: Count,
    head_dim: EvenCount,
    rotary_dim: EvenCount | None = None,
    placement: Literal["first", "last"] = "first",
    conversion: Literal["interleaved_to_half", "half_to_interleaved"] = "interleaved_to_half",
) -> Annotated[Array, "projection [input]"]:
    """Move the rows of a projection's weight, or of its bias, to where the other layout looks for each pair of a head."""
    width = head_dim if rotary_dim is None else rotary_dim
    if width > head_dim:
        message = f"rotary_dim must be at most head_dim ({head_dim}), got {width}"
        raise SpecificationError(message)
    before = 0 if placement == "first" else head_dim - width
    moved = [*range(before), *(before + channel for channel in members(width, conversion)), *range(before + width, head_dim)]
    rows = [head * head_dim + channel for head in range(num_heads) for channel in moved]
    return taken(weight, rows, axis=0)


FORM = Rotary(frequencies)
rotate = FORM.operation(rotary.rotate)
rotate_query_key = FORM.operation(rotary.rotate_query_key)
gradient = FORM.operation(rotary.gradient)
weights, attend = FORM.weights(), FORM.attend()


MEANINGS = {
    "x": "queries or keys, before they are turned",
    **rotary.ATTENTION_MEANINGS,
    "cos": "cosine of the angle of every pair at every token",
    "sin": "sine of the angle of every pair at every token",
    "cotangent": "derivative of a loss with respect to the turned `x`",
    "positions": "position of every token, counted in tokens from 0; unsorted, repeated or negative ones are allowed",
    "query": "queries, turned",
    "key": "keys, turned",
    "head_dim": "number of channels of one head that turn, two to a pair",
    "base": "the ratio by which frequencies fall over a head, to nearly 1 / base (rope_theta); 10000 in the paper, 500000 in Llama 3",
    "layout": "which two channels make a pair, and where they are written",
    "direction": "sign of the angle",
    "weight": "weight of the projection that makes queries or keys, a row for each channel of each head; or its bias",
    "num_heads": "number of heads that the projection makes; for the keys' projection the number of key heads",
    "rotary_dim": "number of channels of a head that turn; all of them if it isn't set",
    "placement": "which end of a head turns",
    "conversion": "from the layout that the weights were trained in, to the one that they are needed in",
}

CONVENTIONS = {
    "layout=interleaved": "Pairs are neighbours (2j, 2j + 1): the paper, Meta's Llama, GPT-J, GLM, Cohere; ggml's mode `NORMAL`.",
    "layout=half": "Pairs lie half a head apart (j, j + head_dim / 2): GPT-NeoX, and in transformers Llama, Gemma, Qwen and most others; "
    "ggml's mode `NEOX`.",
    "layout=interleaved_to_half": "Neighbouring channels are read, and written half a head apart: `apply_rotary_pos_emb_interleave` of "
    "DeepSeek-V3 and its relatives in transformers 5.23.0. Scores are those of `interleaved`; cached keys are permuted.",
    "direction=positive": "Counter-clockwise, (a cos - b sin, a sin + b cos): the paper and nearly all code.",
    "direction=negative": "Clockwise, by minus the angle: nanochat, and the listing in the paper of FoPE.",
    "conversion=interleaved_to_half": "Rows `(head, pair, 2)` become `(head, 2, pair)`: Meta's Llama to transformers "
    "(`convert_llama_weights_to_hf.py`), and to ggml's mode `NEOX`.",
    "conversion=half_to_interleaved": "The inverse: transformers' Llama to ggml's mode `NORMAL` (`convert_hf_to_gguf.py`), and back to "
    "Meta's.",
    "placement=first": "The first channels of a head turn, as in GPT-NeoX and GLM, or all of them.",
    "placement=last": "The last channels turn, as in latent attention (DeepSeek V2 and V3).",
}

NOTES = (
    (
        "Closer tokens do not always score higher. For equal queries and keys of ones with `head_dim` 128 the product falls from 128 at "
        "distance 0 to 84.7 at distance 11 and is 84.8 at distance 12: the farther key scores higher. The bound of section 3.4.3 "
        "(eq. 35-37), the mean of the partial sums, reads 32.5, 31.5, 18.0, 12.6, 10.2 and 6.5 at distances 0, 1, 10, 50, 100 and 250; "
        "it first rises after distance 18, and on 2020 of the first 4096 steps. Decay is a tendency, so no law claims it."
    ),
    (
        "The paper counts pairs in two ways: eq. 15 has `theta_i = 10000^(-2(i - 1)/d)` for i = 1 ... d/2, section 3.3 and the appendix "
        "have `10000^(-2i/d)`. All code counts from 0, so that the first frequency is 1. Reading the second form with i from 1 makes "
        "the first frequency 10000^(-2/d): nothing looks broken, and every angle is wrong."
    ),
    (
        "The 2 x 2 matrix is printed as `[[cos, -sin], [sin, cos]]` in one place and as its transpose in another. Both are right: the "
        "first acts on a column (`R x`), the second on a row (`x R`). Here vectors are columns and a positive angle turns "
        "counter-clockwise."
    ),
    (
        "Values are not rotated, with exceptions that a port must know: RoFormer with `rotary_value=True` and CLVP in transformers "
        "5.23.0, which turn nothing back, and DeepSeek-V4, which rotates values and turns the output back by the query's position "
        "(`partial_rope.attend_turned`)."
    ),
    (
        "Lengths, compositions and relative scores are the same in every layout and in either direction, as long as queries and keys "
        "agree. A swapped layout is the mistake that is reported most often, and laws cannot see it; vectors can."
    ),
    (
        "Frequencies and positions need single precision at least. In bfloat16 position 257 becomes 256; and since the error of an "
        "angle is that of its frequency times the position, correct single precision is wrong by some thousandths of a radian at "
        "position 131071."
    ),
    (
        "Weights trained in one layout give the same scores in the other after a permutation of the rows of both projections, queries' and "
        "keys', head by head; values keep theirs. A bias has the same rows. For heads of 2 or 4 channels the permutation is its own "
        "inverse, so that the wrong direction shows first at 6."
    ),
)

SCHEME = Scheme(
    name="rope",
    operations=(frequencies, tables, apply, rotate, rotate_query_key, gradient, permute, weights, attend),
    source=Source(
        "Su et al. 2021, RoFormer: Enhanced Transformer with Rotary Position Embedding",
        "https://arxiv.org/abs/2104.09864",
        equations="12-16, 18, 34",
    ),
    summary="Rotary position embedding: rotate each pair of channels by an angle proportional to the position.",
    laws={
        "frequencies": (Law.GEOMETRIC, Law.NESTED, Law.REACH),
        "tables": (Law.TABLES_ON_CIRCLE, Law.IDENTITY_AT_ORIGIN, Law.COMPOSITION, Law.STEPWISE),
        "apply": (Law.LINEAR, Law.ISOMETRY, Law.IDENTITY_AT_ORIGIN, Law.COMPOSITION, Law.INVERSE, Law.STEPWISE, Law.HEADS),
        "rotate": (Law.LINEAR, Law.ISOMETRY, Law.IDENTITY_AT_ORIGIN, Law.COMPOSITION, Law.RELATIVE, Law.INVERSE, Law.STEPWISE, Law.HEADS),
        "rotate_query_key": (Law.LINEAR, Law.ISOMETRY, Law.IDENTITY_AT_ORIGIN, Law.COMPOSITION, Law.RELATIVE, Law.STEPWISE, Law.HEADS),
        "gradient": (Law.LINEAR, Law.ISOMETRY, Law.IDENTITY_AT_ORIGIN, Law.COMPOSITION, Law.INVERSE, Law.STEPWISE, Law.HEADS),
        "permute": (Law.RESTORED, Law.PAIRED, Law.HEADS, Law.PASSES, Law.COLUMNS),
        **rotary.ATTENTION_LAWS,
    },
    cases=CASES,
    meanings=MEANINGS,
    conventions=CONVENTIONS,
    notes=NOTES,
    layer=rotary.layer(rotate),
)
