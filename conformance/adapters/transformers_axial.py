"""Rotations of vision models with two axes: Qwen2-VL lays pairs out over the whole head, Gemma 4 within the channels of an axis."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.gemma4.configuration_gemma4 import Gemma4VisionConfig
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig

from conformance.adapters.transformers_adapter import adapter


def _square(parameters: Mapping[str, Any]) -> bool:
    return len(parameters["axes"]) == 2 and len(set(parameters["axes"])) == 1


@functools.lru_cache(maxsize=64)
def _qwen2_vl(head_dim: int, base: float) -> Any:
    rope = {"rope_type": "axial", "rope_theta": base}
    return qwen2_vl.Qwen2VLVisionRotaryEmbedding(Qwen2VLVisionConfig(embed_dim=head_dim, num_heads=1, rope_parameters=rope))


@functools.lru_cache(maxsize=64)
def _gemma4(head_dim: int, base: float) -> Any:
    rope = {"rope_type": "axial", "rope_theta": base}
    config = Gemma4VisionConfig(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim, rope_parameters=rope)
    return gemma4.Gemma4VisionRotaryEmbedding(config)


@adapter.implements("axial_rope.rotate", label="qwen2-vl-vision", order="joined", layout="half", direction="positive", when=_square)
def rotate_joined(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn patches of images, which the model puts one after the other."""
    patches = x.transpose(1, 2).flatten(0, 1)
    places = positions.expand(x.shape[0], *positions.shape[-2:]).flatten(0, 1)
    turned = qwen2_vl.apply_rotary_pos_emb_vision(patches, patches, *_qwen2_vl(head_dim, base)(x, places))[0]
    return turned.unflatten(0, (x.shape[0], -1)).transpose(1, 2)


@adapter.implements("axial_rope.rotate", label="gemma4-vision", order="block", layout="half", direction="positive", when=_square)
def rotate_blocks(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn the channels of each axis by themselves."""
    places = positions.expand(x.shape[0], *positions.shape[-2:])
    cos, sin = _gemma4(head_dim, base)(x, places)
    return gemma4.apply_multidimensional_rope(x.transpose(1, 2), cos, sin, places).transpose(1, 2)
