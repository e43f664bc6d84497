"""MLX's own layers, called as its models call them: written for mlx 0.32.4, others are reported."""

import functools
from importlib.metadata import version
from typing import Any

import mlx.core as mx
from mlx import nn

from conformance.adapt.adapter import Adapter

SUPPORTED = "0.32.4"
LAYOUTS = {"half": False, "interleaved": True}
#: How far a whole matrix of biases is asked for.
FARTHEST = 2047

adapter = Adapter("mlx", framework="mlx", dtypes=("float32", "bfloat16", "float16"), version=version("mlx"))

turns = functools.partial(adapter.implements, layout=tuple(LAYOUTS), direction="positive")


def first(positions: mx.array) -> int:
    """Return the offset of consecutive positions."""
    return int(positions[0])


@turns("rope.rotate", positions="consecutive")
def rotate(x: mx.array, positions: mx.array, *, head_dim: int, base: float, layout: str, **_: Any) -> mx.array:
    """Turn ``x`` by the layer."""
    return nn.RoPE(head_dim, LAYOUTS[layout], base)(x, offset=first(positions))


@turns("partial_rope.rotate", positions="consecutive", placement="first")
def rotate_part(x: mx.array, positions: mx.array, *, rotary_dim: int, base: float, layout: str, **_: Any) -> mx.array:
    """Turn by a layer that is narrower than the head."""
    return nn.RoPE(rotary_dim, LAYOUTS[layout], base)(x, offset=first(positions))


@turns("position_interpolation.rotate", positions="consecutive")
def interpolate(x: mx.array, positions: mx.array, *, head_dim: int, base: float, layout: str, factor: float, **_: Any) -> mx.array:
    """Turn by the layer with ``scale = 1 / factor``."""
    return nn.RoPE(head_dim, LAYOUTS[layout], base, 1.0 / factor)(x, offset=first(positions))


@turns("rope.rotate", label="offsets", rows="each")
def rotate_each(x: mx.array, positions: mx.array, *, head_dim: int, base: float, layout: str, **_: Any) -> mx.array:
    """Turn every token as a sequence of its own with its own offset, as a step of decoding does; ``freqs`` are periods."""
    batch, heads, tokens, width = x.shape
    single = x.transpose(0, 2, 1, 3).reshape(batch * tokens, heads, 1, width)
    periods = base ** (mx.arange(0, head_dim, 2) / head_dim)
    turned = mx.fast.rope(single, head_dim, traditional=LAYOUTS[layout], base=None, scale=1.0, offset=positions.reshape(-1), freqs=periods)
    return turned.reshape(batch, tokens, heads, width).transpose(0, 2, 1, 3)


@adapter.implements("alibi.slopes", slopes="code", max_bias=8.0, dtypes=("float32",))
def slopes(*, num_heads: int, **_: Any) -> mx.array:
    """Return the slopes without the axes that broadcast."""
    return nn.ALiBi.create_alibi_slope(num_heads).reshape(num_heads)


@adapter.implements(
    "alibi.bias",
    slopes="code",
    max_bias=8.0,
    form="symmetric",
    positions="from_zero",
    queries="at_end",
    highest=FARTHEST,
    call="f(query_positions, key_positions, like, num_heads)",
)
def bias(query_positions: mx.array, key_positions: mx.array, like: mx.array, num_heads: int) -> mx.array:
    """Return what the layer adds to logits of their dtype; the keys that are cached are its offset."""
    queries, keys = query_positions.shape[-1], key_positions.shape[-1]
    return nn.ALiBi()(mx.zeros((1, num_heads, queries, keys), like.dtype), offset=keys - queries)[0]


@adapter.implements(
    "sinusoidal.encode",
    layout=("halves", "halves_cosine_first"),
    spacing="endpoint",
    odd="error",
    dim=lambda dim: dim % 2 == 0,
    dtypes=("float32",),
    profile="float32-loose-frequencies",
)
def encode(positions: mx.array, *, dim: int, base: float, layout: str, scale: float, **_: Any) -> mx.array:
    """Return the layer's values, whose slowest frequency is ``1 / base``; every exponent is a difference with the error of ``ln base``."""
    return nn.SinusoidalPositionalEncoding(dim, min_freq=1.0 / base, scale=scale, cos_first=layout == "halves_cosine_first")(positions)
