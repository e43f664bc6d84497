"""Sinusoidal encoding: write the position as sines and cosines of geometrically falling frequencies.

Moving by an offset turns every pair by an angle that does not depend on the position, so a fixed matrix does it.
"""

from typing import Annotated, Literal

from refimpl.adding import added
from refimpl.arrays import Array, arange, array_namespace, outer
from refimpl.attention import Layer
from refimpl.cases import ladder, sums
from refimpl.cases.digits import named, narrowed
from refimpl.errors import SpecificationError
from refimpl.forms import additive
from refimpl.spec import NUMBER, Case, EvenCount, Law, Number, Positive, Scheme, Source, operation

Layout = Literal["interleaved", "halves", "halves_cosine_first"]
Spacing = Literal["paper", "endpoint"]
Odd = Literal["error", "zero_column"]
Width = Annotated[int, Number(minimum=2)]
Finite = Annotated[float, Number()]


def frequencies(dim: int, base: float, spacing: str, *, like: Array) -> Array:
    """Return the ``dim // 2`` radians per position: ``base^(-2 i / dim)``, or ``base^(-i / (dim // 2 - 1))`` to end at ``1 / base``."""
    index = arange(dim // 2, like=like)
    steps = dim / 2 if spacing == "paper" else max(1, dim // 2 - 1)
    return base ** (-index / steps)


def arrange(sine: Array, cosine: Array, layout: str) -> Array:
    """Put sines and cosines where the layout wants them."""
    xp = array_namespace(sine, cosine)
    if layout == "interleaved":
        return xp.reshape(xp.stack([sine, cosine], axis=-1), (*sine.shape[:-1], 2 * sine.shape[-1]))
    return xp.concat([sine, cosine] if layout == "halves" else [cosine, sine], axis=-1)


@operation
def encode(
    positions: Annotated[Array, "token", NUMBER],
    *,
    dim: Width,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    spacing: Spacing = "paper",
    odd: Odd = "error",
    scale: Finite = 1.0,
) -> Annotated[Array, "token dim"]:
    """Return ``scale * sin(p w_i)`` and ``scale * cos(p w_i)`` in float64 (section 3.5); ``scale`` multiplies the values, not the angle.

    ``w_i`` is ``base^(-2 i / dim)``, or ``base^(-i / (dim / 2 - 1))`` with the spacing ``endpoint``. An odd ``dim`` has ``dim // 2``
    pairs and one zero column at the end, where that is asked for.
    """
    if dim % 2 and odd == "error":
        message = f"dim must be even, got {dim}"
        raise SpecificationError(message)
    xp = array_namespace(positions)
    angles = outer(positions, frequencies(dim, base, spacing, like=positions))
    values = scale * arrange(xp.sin(angles), xp.cos(angles), layout)
    return xp.concat([values, xp.zeros_like(values[:, : dim % 2])], axis=-1)


add = additive.Additive(encode).operation(
    "Return ``x + encode(p)``, ``x`` times ``sqrt(dim)`` where asked for, in its dtype (sections 3.4 and 3.5)."
)


@operation
def shift_matrix(
    offsets: Annotated[Array, "offset", NUMBER], *, dim: EvenCount, base: Positive = 10_000.0, spacing: Spacing = "paper"
) -> Annotated[Array, "offset pair 2 2"]:
    """Return the matrix of every pair that moves ``[sin, cos]`` columns by an offset: ``[[cos, sin], [-sin, cos]]`` (section 3.5)."""
    xp = array_namespace(offsets)
    angles = outer(offsets, frequencies(dim, base, spacing, like=offsets))
    sine, cosine = xp.sin(angles), xp.cos(angles)
    return xp.stack([xp.stack([cosine, sine], axis=-1), xp.stack([-sine, cosine], axis=-1)], axis=-2)


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return the encoding added to the input, its channels shared among the heads: nothing is learned."""
    del like
    width = num_heads * head_dim
    return Layer(embed=lambda x, positions: added(x, positions, lambda flat: encode(flat, dim=max(2, width), odd="zero_column")))


NEAR, FAR = [0, 1, 2, 9], [65_535, 131_071]

CASES = (
    Case("encode/first-positions", exposes="positions counted from one; sine and cosine exchanged", dim=4, positions=NEAR),
    Case("encode/eight-wide", exposes="exponent 2 c / dim with the channel c instead of its pair: frequencies fall twice as fast", dim=8,
         positions=[3]),
    Case("encode/halves", exposes="the layout ignored: sines and cosines always side by side", dim=6, layout="halves", positions=[0, 1, 9]),
    Case("encode/cosine-first", exposes="the order of the two blocks ignored", dim=6, layout="halves_cosine_first", positions=[0, 2, 9]),
    Case("encode/endpoint", exposes="exponent 2 i / dim where the last frequency must be 1 / base", dim=8, layout="halves",
         spacing="endpoint",
         positions=[1, 3]),
    Case("encode/endpoint-cosine-first", exposes="the spacing tied to one layout", dim=6, layout="halves_cosine_first", spacing="endpoint",
         positions=[2, 9]),
    Case("encode/endpoint-interleaved", exposes="the spacing ignored in the interleaved layout", dim=6, spacing="endpoint",
         positions=[1, 2]),
    Case("encode/endpoint-two-pairs", exposes="a division by dim / 2 instead of dim / 2 - 1", dim=4, layout="halves", spacing="endpoint",
         positions=[9]),
    Case("encode/endpoint-one-pair", exposes="a division by zero: dim / 2 - 1", dim=2, layout="halves", spacing="endpoint",
         positions=[0, 1, 9]),
    Case("encode/one-pair", exposes="pairs counted from one: the first frequency must be 1", dim=2, positions=[1, 2]),
    Case("encode/zero-column", exposes="an odd width without its zero column", dim=7, layout="halves", spacing="endpoint",
         odd="zero_column",
         positions=[1, 9]),
    Case("encode/zero-column-interleaved", exposes="one cosine too many: ceil(dim / 2) where dim // 2 fit", dim=5, odd="zero_column",
         positions=[1, 2]),
    Case("encode/zero-column-even", exposes="a zero column added to an even width", dim=6, odd="zero_column", positions=[1]),
    Case("encode/zero-column-three", exposes="the zero column put between the blocks", dim=3, layout="halves_cosine_first",
         odd="zero_column",
         positions=[0, 2]),
    Case("encode/scaled", exposes="the scale left out", dim=16, layout="halves", scale=0.25, positions=[1, 9]),
    Case("encode/scaled-values", exposes="the scale multiplied into the angle", dim=4, scale=3.0, positions=[0, 2]),
    Case("encode/negative-scale", exposes="the absolute value of a learned scale", dim=4, scale=-0.5, positions=[1]),
    Case("encode/small-base", exposes="a base that is ignored: 10000 whatever is asked for", dim=6, base=100.0, positions=[2, 9]),
    Case("encode/inexact-base", exposes="the base rounded to an integer", dim=8, base=10_000.7, layout="halves", positions=[4_097]),
    Case("encode/endpoint-base", exposes="the base fixed in one spacing", dim=6, base=500_000.0, layout="halves", spacing="endpoint",
         positions=[257]),
    Case("encode/byte-boundary", exposes="positions in bfloat16, exact to 256 only", dim=4, positions=[255, 256, 257]),
    Case("encode/half-boundary", exposes="positions in float16, exact to 2048 only", dim=4, layout="halves", positions=[2047, 2048, 2049]),
    Case("encode/page-boundary", exposes="a table that ends at 4096", dim=4, positions=[4095, 4096, 4097]),
    Case("encode/far", exposes="half frequencies; fast sines without range reduction", dim=8, positions=FAR),
    Case("encode/far-endpoint", exposes="a sloppy exponent in the endpoint spacing", dim=8, layout="halves", spacing="endpoint",
         positions=FAR),
    Case("encode/million", exposes="positions that overflow, wrap or end", dim=8, positions=[1_048_575, 1_048_576]),
    *(Case(f"encode/by-position{ending}", exposes=ladder.EXPOSES, dim=4, positions=ladder.EVERY, **layout)
      for ending, layout in ladder.SINUSOIDS.items()),
    Case("encode/real-positions", exposes="real positions truncated to integers", dim=4, positions=[0.5, 2.25, 9.75]),
    Case("encode/inexact-reals", exposes="real positions in single precision", dim=4, positions=[0.1, 1_000.7]),
    Case("encode/negative-positions", exposes="negative positions clamped to 0 or wrapped", dim=4, positions=[-1, -9, -257]),
    Case("encode/negative-reals", exposes="negative reals rounded toward zero", dim=4, layout="halves", positions=[-0.5, -7.75]),
    Case("encode/unsorted", exposes="positions replaced by their index, or sorted", dim=4, positions=[9, 2, 2, 0]),
    Case("encode/single-token", exposes="the token axis dropped", dim=6, positions=[256]),
    Case("encode/square", exposes="token and width swapped", dim=4, layout="halves", positions=[1, 2, 0, 9]),
    Case("encode/common-width", exposes="a slow pair rounded away at a usual width", dim=128, positions=[131_071]),
    Case("encode/odd-width", exposes="an odd width rounded silently", dim=7, positions=[0], error="dim must be even, got 7"),
    Case("encode/no-width", exposes="an empty encoding", dim=0, positions=[0], error="dim must be at least 2, got 0"),
    Case("encode/negative-base", exposes="the root of a negative number", dim=4, base=-1.0, positions=[0],
         error="base must be greater than 0, got -1.0"),
    Case("encode/infinite-base", exposes="a base that isn't finite", dim=4, base=float("inf"), positions=[0],
         error="base must be finite, got inf"),
    Case("encode/batched-positions", exposes="an axis that nobody declared", dim=4, positions=[[0, 1]],
         error="positions must have axes (token), got shape (1, 2)"),
    Case("shift_matrix/first-offsets", exposes="offsets counted from one", dim=4, offsets=NEAR),
    Case("shift_matrix/backward", exposes="the transposed matrix, which acts on [cos, sin]", dim=4, offsets=[-1, -9]),
    Case("shift_matrix/one-pair", exposes="pairs counted from one", dim=2, offsets=[1, 2]),
    Case("shift_matrix/eight-wide", exposes="exponent 2 c / dim with the channel c instead of its pair", dim=8, offsets=[3]),
    Case("shift_matrix/endpoint-two-pairs", exposes="a division by 2 for two pairs", dim=4, spacing="endpoint", offsets=[1, 9]),
    Case("shift_matrix/endpoint", exposes="the spacing ignored", dim=8, spacing="endpoint", offsets=[3]),
    Case("shift_matrix/endpoint-one-pair", exposes="a division by zero: dim / 2 - 1", dim=2, spacing="endpoint", offsets=[1, 9]),
    Case("shift_matrix/endpoint-base", exposes="the base fixed in one spacing", dim=6, base=100.0, spacing="endpoint", offsets=[9]),
    Case("shift_matrix/small-base", exposes="a base that is ignored", dim=6, base=100.0, offsets=[2, 9]),
    Case("shift_matrix/inexact-base", exposes="the base rounded to an integer", dim=6, base=10_000.7, offsets=[4_097]),
    Case("shift_matrix/byte-boundary", exposes="offsets in bfloat16, exact to 256 only", dim=4, offsets=[255, 256, 257]),
    Case("shift_matrix/half-boundary", exposes="offsets in float16, exact to 2048 only", dim=4, offsets=[2047, 2048, 2049]),
    Case("shift_matrix/page-boundary", exposes="a table that ends at 4096", dim=4, offsets=[4095, 4096, 4097]),
    Case("shift_matrix/far", exposes="half frequencies; fast sines without range reduction", dim=8, offsets=FAR),
    Case("shift_matrix/million", exposes="offsets that overflow or wrap", dim=6, offsets=[1_048_575, 1_048_576]),
    Case("shift_matrix/real-offsets", exposes="real offsets truncated to integers", dim=4, offsets=[0.5, -2.25]),
    Case("shift_matrix/unsorted", exposes="offsets replaced by their index", dim=4, offsets=[9, 2, 2, 0]),
    Case("shift_matrix/all-axes-two", exposes="any two axes swapped", dim=4, offsets=[1, 9]),
    Case("shift_matrix/common-width", exposes="a slow pair rounded away at a usual width", dim=128, offsets=[131_071]),
    Case("shift_matrix/odd-width", exposes="an odd width rounded silently", dim=5, offsets=[0], error="dim must be even, got 5"),
    Case("shift_matrix/negative-base", exposes="the root of a negative number", dim=4, base=-1.0, offsets=[0],
         error="base must be greater than 0, got -1.0"),
)

#: The cases of the encoding that show in a sum what no other does.
SHARED = (
    "by-position-endpoint-cosine-first", "far", "inexact-base", "inexact-reals", "negative-reals", "odd-width", "scaled",
    "zero-column-three",
)  # fmt: skip
SUMS = (*sums.of(CASES, SHARED, dim=6), *narrowed(named("add"), {"x": (1, 2, 4)}, dim=4, positions=[0, 0]))

SCHEME = Scheme(
    name="sinusoidal",
    operations=(encode, add, shift_matrix),
    source=Source("Vaswani et al. 2017, Attention Is All You Need", "https://arxiv.org/abs/1706.03762", equations="section 3.5"),
    laws={
        "encode": (Law.SHIFT_MATRIX, Law.CONSTANT_NORM, Law.DOT_PRODUCT, Law.BOUNDED, Law.UNIQUE, Law.STEPWISE),
        "add": additive.LAWS,
        "shift_matrix": (Law.ORTHOGONAL, Law.COMPOSITION, Law.IDENTITY_AT_ORIGIN, Law.STEPWISE),
    },
    cases=(*CASES, *SUMS),
    summary="Write the position as sines and cosines of geometrically decreasing frequencies.",
    meanings={
        **additive.MEANINGS,
        "positions": "the place of every token, counted from 0; integer or real, in tokens",
        "offsets": "by how many tokens an encoding is moved; integer or real",
        "dim": "how many channels an encoding has, two per frequency",
        "base": "what sets the slowest frequency: about `1 / base` radians per token",
        "layout": "where sines and cosines stand",
        "spacing": "how the exponents of the frequencies are spaced",
        "odd": "what happens to an odd width, in which one channel has no partner",
        "scale": "what every value is multiplied by (not the angle)",
    },
    conventions={
        **additive.CONVENTIONS,
        "layout=interleaved": "sine and cosine of a pair side by side: the paper, XLM, DistilBERT, KerasHub",
        "layout=halves": "all sines, then all cosines: tensor2tensor, fairseq, M2M100, Whisper, Marian, RoFormer, Transformer-XL, MAE",
        "layout=halves_cosine_first": "all cosines, then all sines: MusicGen, and diffusers with `flip_sin_to_cos`",
        "spacing=paper": "exponents `2 i / dim`, so that the slowest frequency is above `1 / base`: the paper, Marian, XLM, RoFormer, MAE",
        "spacing=endpoint": "exponents `i / (dim / 2 - 1)`, so that the slowest frequency is exactly `1 / base`: tensor2tensor, fairseq, "
        "M2M100, XGLM, Speech2Text, Whisper, MusicGen",
        "odd=error": "refused, as the paper has no such case",
        "odd=zero_column": "one column of zeros at the end; tensor2tensor, fairseq, M2M100, MusicGen",
    },
    notes=(
        (
            "The paper says that wavelengths run from 2 pi to 10000 x 2 pi. With its own exponent `2 i / dim` the longest is "
            "`10000^((dim - 2) / dim)` x 2 pi, 8660 x 2 pi at width 128; only the `endpoint` spacing reaches 10000 x 2 pi."
        ),
        (
            "The matrix that moves an encoding by an offset is `[[cos, sin], [-sin, cos]]` for columns `[sin, cos]`. For `[cos, sin]` "
            "it is the transpose, which is the source of both forms in the literature."
        ),
        (
            "Some tutorials raise the base to `2 c / dim` with the channel c in place of its pair `floor(c / 2)`: frequencies then fall "
            "twice as fast, and sine and cosine of a pair turn at different speeds, so no matrix moves the code."
        ),
        (
            "PP-DocLayoutV2 in transformers divides twice the pair's number by half of the width, so that the exponent runs from 0 to "
            "nearly -2: these are the frequencies of the squared base. With relation_bias_theta 10000 and 16 channels its code is "
            "dim=16, base=10^8, layout=halves, of 100 times the logarithms of distances and sizes of boxes."
        ),
        (
            "Different integers have different encodings because the first pair turns by one radian per token, and no multiple of 2 pi "
            "but 0 is an integer. The law bounds the distance of two encodings from below by that pair. It says nothing where a profile "
            "rounds more coarsely than this distance: with tables in half precision, for positions 710 apart, which differ by 6e-5 radians."
        ),
        (
            "The dot product of two encodings depends on their distance only, and doesn't fall with it everywhere: it is a sum of "
            "cosines."
        ),
        (
            "The original model adds the encoding to token embeddings that were multiplied by sqrt(dim); the encoding itself is not "
            "scaled."
        ),
    ),
    layer=layer,
)
