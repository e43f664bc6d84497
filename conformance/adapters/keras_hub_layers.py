"""The layers of keras-hub that encode positions, on the backend torch: written for keras-hub 0.32.0, others are reported."""

import functools
import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

# The library reads its backend once, when it is imported.
os.environ["KERAS_BACKEND"] = "torch"

import keras
import torch
from keras_hub.layers import AlibiBias, PositionEmbedding, RotaryEmbedding, SinePositionEncoding

from conformance.adapt.adapter import Adapter

SUPPORTED = "0.32.0"
#: How far a bias is asked for, and with how many heads at most.
FARTHEST, MOST_HEADS = 131_071, 40

adapter = Adapter("keras_hub", framework="torch", dtypes=("float32", "bfloat16", "float16"), version=version("keras-hub"))
torch.set_num_threads(1)

#: Offer a rotation of halves, of arrays whose tokens come before their heads.
turns = functools.partial(adapter.implements, layout="half", direction="positive", axes="batch token head head_dim")


def dtype(x: torch.Tensor) -> str:
    """Return what the library calls a dtype."""
    return str(keras.backend.standardize_dtype(x.dtype))


@functools.lru_cache(maxsize=256)
def made(kind: Callable[..., Any], **said: Any) -> Any:
    """Return a layer, made once as a model makes it."""
    return kind(**said)


def rotary(x: torch.Tensor, positions: torch.Tensor, **said: Any) -> torch.Tensor:
    """Turn ``x`` by the layer for any rotation."""
    turned: torch.Tensor = made(RotaryEmbedding, dtype=dtype(x), **said)(x, positions=positions)
    return turned


@turns("rope.rotate")
def rotate(x: torch.Tensor, positions: torch.Tensor, *, base: float, **_: object) -> torch.Tensor:
    """Turn by no rule."""
    return rotary(x, positions, max_wavelength=base)


@turns("rope.rotate", label="start-index", positions="consecutive")
def rotate_from(x: torch.Tensor, positions: torch.Tensor, *, base: float, **_: object) -> torch.Tensor:
    """Turn as decoding does."""
    turned: torch.Tensor = made(RotaryEmbedding, dtype=dtype(x), max_wavelength=base)(x, start_index=int(positions[0]))
    return turned


@turns("position_interpolation.rotate")
def interpolate(x: torch.Tensor, positions: torch.Tensor, *, base: float, factor: float, **_: object) -> torch.Tensor:
    """Turn by ``rope_type="linear"``."""
    return rotary(x, positions, max_wavelength=base, scaling_factor=factor)


@turns("ntk_aware.rotate", fastest="kept")
def raise_base(x: torch.Tensor, positions: torch.Tensor, *, base: float, factor: float, **_: object) -> torch.Tensor:
    """Turn by ``rope_type="dynamic"``, which has no length and one exponent of NTK-aware scaling."""
    return rotary(x, positions, max_wavelength=base, scaling_factor=factor, rope_type="dynamic")


@turns("yarn.rotate", attention_factor=None, mscale=None, mscale_all_dim=None, slope=0.1)
def rotate_yarn(
    x: torch.Tensor, positions: torch.Tensor, *,
    base: float, factor: float, original_length: int, beta_fast: float, beta_slow: float, truncate: bool, **_: object,
) -> torch.Tensor:  # fmt: skip
    """Turn by ``rope_type="yarn"``."""
    rule = {"rope_type": "yarn", "scaling_factor": factor, "original_max_position_embeddings": original_length}
    return rotary(x, positions, max_wavelength=base, beta_fast=beta_fast, beta_slow=beta_slow, truncate=truncate, **rule)


@adapter.implements(
    "sinusoidal.encode", layout="interleaved", spacing="paper", scale=1.0, odd="error", dim=lambda dim: dim % 2 == 0,
    call="f(positions, like, dim, base)",
)  # fmt: skip
def encode(positions: torch.Tensor, like: torch.Tensor, dim: int, base: float) -> torch.Tensor:
    """Return what the layer gives to be added to tokens."""
    layer = made(SinePositionEncoding, max_wavelength=base, dtype=dtype(like))
    encoded: torch.Tensor = layer(torch.zeros(1, len(positions), dim, dtype=like.dtype), positions=positions)[0]
    return encoded


@adapter.implements("learned.encode", outside="raise", offset=0, lowest=0)
def look_up(positions: torch.Tensor, table: torch.Tensor, **_: object) -> torch.Tensor:
    """Return the rows of the layer's weight."""
    layer = PositionEmbedding(len(table), "zeros", dtype=dtype(table))
    layer.build((1, len(positions), table.shape[1]))
    layer.position_embeddings.assign(table)
    rows: torch.Tensor = layer(torch.zeros(1, len(positions), table.shape[1], dtype=table.dtype), positions=positions)[0]
    return rows


@adapter.implements("alibi.slopes", slopes="code", dtypes=("float32",))
def slopes(*, num_heads: int, max_bias: float, **_: object) -> list[float]:
    """Return the slopes of the layer."""
    found: list[float] = made(AlibiBias, alibi_bias_max=max_bias)._get_slopes(num_heads)  # noqa: SLF001  the layer keeps no slopes
    return found


def _few(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters["num_heads"] <= MOST_HEADS)


@adapter.implements(
    "alibi.bias", slopes="code", form="reversed", rows="shared", lowest=0, highest=FARTHEST, when=_few,
    call="f(query_positions, key_positions, like, num_heads, max_bias)",
)  # fmt: skip
def bias(query_positions: torch.Tensor, key_positions: torch.Tensor, like: torch.Tensor, num_heads: int, max_bias: float) -> torch.Tensor:
    """Return what the layer adds to logits, the same for every query; it counts its keys from 0."""
    logits = torch.zeros(1, num_heads, 1, int(key_positions.max()) + 1, dtype=like.dtype)
    added: torch.Tensor = made(AlibiBias, alibi_bias_max=max_bias, dtype=dtype(like))(logits)
    return added[0, :, :, key_positions].expand(-1, len(query_positions), -1)
