"""Rotations of vision models: Qwen2-VL and Pixtral lay pairs out over the whole head, Gemma 4, Llama 4 and V-JEPA 2 do not."""

import functools
from collections.abc import Mapping
from typing import Any
from unittest import mock

import torch
from transformers.models.dinov3_vit import modeling_dinov3_vit as dinov3
from transformers.models.dinov3_vit.configuration_dinov3_vit import DINOv3ViTConfig
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.gemma4.configuration_gemma4 import Gemma4VisionConfig
from transformers.models.llama4 import modeling_llama4 as llama4
from transformers.models.llama4.configuration_llama4 import Llama4VisionConfig
from transformers.models.pixtral import modeling_pixtral as pixtral
from transformers.models.pixtral.configuration_pixtral import PixtralVisionConfig
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig
from transformers.models.vjepa2 import modeling_vjepa2 as vjepa2
from transformers.models.vjepa2.configuration_vjepa2 import VJEPA2Config

from conformance.adapters.transformers_adapter import adapter, initialised

#: So many patches has each side of the images that Llama 4's code makes tables for.
SIDE = 64
HALF: Mapping[str, Any] = {"layout": "half", "direction": "positive"}


def _square(parameters: Mapping[str, Any]) -> bool:
    return len(parameters["axes"]) == 2 and len(set(parameters["axes"])) == 1


@functools.lru_cache(maxsize=64)
def _qwen2_vl(head_dim: int, base: float) -> Any:
    rope = {"rope_type": "axial", "rope_theta": base}
    config = Qwen2VLVisionConfig(embed_dim=head_dim, num_heads=1, rope_parameters=rope)
    return initialised(qwen2_vl.Qwen2VLVisionRotaryEmbedding(config))


@functools.lru_cache(maxsize=64)
def _gemma4(head_dim: int, base: float) -> Any:
    rope = {"rope_type": "axial", "rope_theta": base}
    config = Gemma4VisionConfig(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim, rope_parameters=rope)
    return initialised(gemma4.Gemma4VisionRotaryEmbedding(config))


@functools.lru_cache(maxsize=64)
def _pixtral(head_dim: int, base: float) -> Any:
    rope = {"rope_type": "axial", "rope_theta": base}
    config = PixtralVisionConfig(hidden_size=head_dim, num_attention_heads=1, rope_parameters=rope)
    return initialised(pixtral.PixtralVisionRotaryEmbedding(config))


@functools.lru_cache(maxsize=16)
def _llama4(head_dim: int, base: float) -> torch.Tensor:
    """Return the waves of all patches, row by row, and of the class token."""
    rope = {"rope_type": "default", "rope_theta": base}
    size = {"hidden_size": head_dim, "num_attention_heads": 1, "image_size": SIDE, "patch_size": 1}
    module = llama4.Llama4VisionRotaryEmbedding(Llama4VisionConfig(**size, rope_parameters=rope))
    waves: torch.Tensor = initialised(module).freqs_ci
    return waves


def _sided(parameters: Mapping[str, Any]) -> bool:
    return _square(parameters) and len(parameters["sides"]) == 2


@functools.lru_cache(maxsize=64)
def _dinov3(head_dim: int, base: float) -> Any:
    config = DINOv3ViTConfig(hidden_size=head_dim, num_attention_heads=1, rope_theta=base)
    return initialised(dinov3.DINOv3ViTRopePositionEmbedding(config))


def _one_after_the_other(x: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.transpose(1, 2).flatten(0, 1), positions.expand(x.shape[0], *positions.shape[-2:]).flatten(0, 1)


@adapter.implements("axial_rope.rotate", label="qwen2-vl-vision", order="joined", ladder="own", sides=(), **HALF, when=_square)
def rotate_joined(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn patches of images, which the model puts one after the other."""
    patches, places = _one_after_the_other(x, positions)
    turned = qwen2_vl.apply_rotary_pos_emb_vision(patches, patches, *_qwen2_vl(head_dim, base)(x, places))[0]
    return turned.unflatten(0, (x.shape[0], -1)).transpose(1, 2)


@adapter.implements("axial_rope.rotate", label="pixtral-vision", order="joined", ladder="in_turns", sides=(), **HALF, when=_square)
def rotate_in_turns(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn patches of images, which the model puts one after the other, by even and odd frequencies of the head."""
    patches, places = _one_after_the_other(x, positions)
    turned = pixtral.apply_rotary_pos_emb(patches, patches, *_pixtral(head_dim, base)(x, places))[0]
    return turned.unflatten(0, (x.shape[0], -1)).transpose(1, 2)


@adapter.implements("axial_rope.rotate", label="gemma4-vision", order="block", ladder="own", sides=(), **HALF, when=_square)
def rotate_blocks(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn the channels of each axis by themselves."""
    places = positions.expand(x.shape[0], *positions.shape[-2:])
    cos, sin = _gemma4(head_dim, base)(x, places)
    return gemma4.apply_multidimensional_rope(x.transpose(1, 2), cos, sin, places).transpose(1, 2)


@adapter.implements(
    "axial_rope.rotate", label="llama4-vision", order="block", ladder="own", sides=(), layout="interleaved", direction="positive",
    when=_square, positions="whole", rows="shared", lowest=1, highest=SIDE, contiguous=True,
)
def rotate_by_waves(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn patches by the waves of their column and row, counted from 1; a token at 0 on both is the class token."""
    column, row = positions.unbind(-1)
    places = torch.where(column + row == 0, SIDE**2, (row - 1) * SIDE + column - 1)
    tokens = x.transpose(1, 2)
    return llama4.vision_apply_rotary_emb(tokens, tokens, _llama4(head_dim, base)[places])[0].transpose(1, 2)


@adapter.implements(
    "axial_rope.rotate", label="dinov3", order="joined", ladder="own", **HALF, sides=[(14, 14), (16, 37), (37, 16), (5, 3)], when=_sided,
    rows="shared",
)
def rotate_coordinates(
    x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, sides: tuple[int, int], **_: object
) -> torch.Tensor:
    """Turn by coordinates, which the library makes of a whole grid only: they are given in the place of its grid's."""
    places = positions.to(torch.float32) / torch.tensor(sides)
    with mock.patch.object(dinov3, "get_patches_center_coordinates", return_value=places):
        cos, sin = _dinov3(head_dim, base).eval()(torch.zeros(1, 3, 16, 16, dtype=x.dtype))
    return dinov3.apply_rotary_pos_emb(x, x, cos, sin)[0]


def _thirds(parameters: Mapping[str, Any]) -> bool:
    return len(parameters["axes"]) == 3 and len(set(parameters["axes"])) == 1


@functools.lru_cache(maxsize=64)
def _vjepa2(head_dim: int) -> Any:
    return vjepa2.VJEPA2RopeAttention(VJEPA2Config(), hidden_size=head_dim, num_attention_heads=1)


@adapter.implements(
    "axial_rope.rotate", label="vjepa2", order="block", ladder="tiled", sides=(), layout="interleaved", direction="positive",
    base=10_000.0, when=_thirds, dtypes=("float32",),
)
def rotate_members(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, **_: object) -> torch.Tensor:
    """Turn the channels of time, height and width, whose neighbours have members on two frequencies."""
    places = positions if positions.ndim == 2 else positions[:, None]
    turned: torch.Tensor = _vjepa2(head_dim).apply_rotary_embeddings(x, places.unbind(-1))
    return turned
