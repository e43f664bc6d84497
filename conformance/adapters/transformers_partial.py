"""Rotations of a part of the head: GPT-NeoX and GLM turn the first channels, DeepSeek-V4 the last."""

import functools
from typing import Any

import torch
from transformers import DeepseekV4Config, GlmConfig
from transformers.models.deepseek_v4 import modeling_deepseek_v4 as deepseek_v4
from transformers.models.glm import modeling_glm as glm

from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import MODELS, Model, turned


def _glm(head_dim: int, length: int, rope: dict[str, Any]) -> Any:
    return GlmConfig(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim, max_position_embeddings=length, rope_parameters=rope)


def _deepseek_v4(head_dim: int, length: int, rope: dict[str, Any]) -> Any:
    kinds = {"main": dict(rope), "compress": dict(rope)}
    return DeepseekV4Config(head_dim=head_dim, max_position_embeddings=length, rope_parameters=kinds)


class _Main(deepseek_v4.DeepseekV4RotaryEmbedding):  # type: ignore[misc]  # the library has no types
    """The tables of the layers that compress nothing."""

    def forward(self, x: torch.Tensor, position_ids: torch.Tensor) -> Any:
        """Return cosine and sine."""
        return super().forward(x, position_ids, "main")


def _last(q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return deepseek_v4.apply_rotary_pos_emb(q, cos, sin), deepseek_v4.apply_rotary_pos_emb(k, cos, sin)


PARTS = {
    "first": (MODELS[1], Model("glm", glm.GlmRotaryEmbedding, _glm, glm.apply_rotary_pos_emb, "interleaved")),
    "last": (Model("deepseek-v4", _Main, _deepseek_v4, _last, "interleaved"),),
}


def rotate(
    model: Model, x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, rotary_dim: int, base: float, **_: object
) -> torch.Tensor:
    """Turn the part of ``x`` that a fraction of the head says; half a channel more, since models cut the product."""
    share = min(1.0, (rotary_dim + 0.5) / head_dim)
    return turned(model, x, positions, {"rope_type": "default", "rope_theta": base, "partial_rotary_factor": share}, head_dim)


for _placement, _models in PARTS.items():
    for _model in _models:
        adapter.implements(
            "partial_rope.rotate", label=f"{_model.label}-part", layout=_model.layout, direction="positive", placement=_placement
        )(functools.partial(rotate, _model))
