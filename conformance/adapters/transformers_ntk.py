"""NTK-aware scaling with a fixed factor: HunYuan's ``alpha``."""

import functools
from typing import Any

import torch
from transformers import HunYuanDenseV1Config
from transformers.models.hunyuan_v1_dense import modeling_hunyuan_v1_dense as hunyuan

from conformance.adapters.transformers_adapter import adapter, initialised
from conformance.adapters.transformers_rotary import MAX_POSITIONS, batched


@functools.lru_cache(maxsize=64)
def embedding(head_dim: int, base: float, factor: float) -> Any:
    """Return the model's rotary module; its configurations say "dynamic" and an alpha."""
    rope = {"rope_type": "dynamic", "rope_theta": base, "alpha": factor, "factor": 1.0}
    config = HunYuanDenseV1Config(
        hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim, max_position_embeddings=MAX_POSITIONS, rope_parameters=rope
    )
    return initialised(hunyuan.HunYuanDenseV1RotaryEmbedding(config))


@adapter.implements("ntk_aware.frequencies", label="hunyuan", dtypes=("float32",), fastest="kept")
def frequencies(*, head_dim: int, base: float, factor: float, **_: Any) -> torch.Tensor:
    """Return the frequencies of the raised base."""
    return embedding(head_dim, base, factor).inv_freq


@adapter.implements("ntk_aware.rotate", label="hunyuan", layout="half", direction="positive", fastest="kept")
def rotate(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, factor: float, **_: Any) -> torch.Tensor:
    """Turn ``x`` by the tables of the model's module."""
    return hunyuan.apply_rotary_pos_emb(x, x, *embedding(head_dim, base, factor)(x, batched(positions)))[0]
