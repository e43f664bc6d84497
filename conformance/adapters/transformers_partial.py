"""Rotations of a part of the head: GPT-NeoX and GLM turn the first channels, DeepSeek-V4 the last."""

import functools
from typing import Any

import torch
from transformers import DeepseekV4Config, GlmConfig
from transformers.models.deepseek_v4 import modeling_deepseek_v4 as deepseek_v4
from transformers.models.glm import modeling_glm as glm

from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import MAX_POSITIONS, MODELS, Model, attended, batched, embedding, turned


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
    """Turn the part of ``x`` that a fraction of the head says."""
    return turned(model, x, positions, settings(head_dim, rotary_dim, base), head_dim)


def settings(head_dim: int, rotary_dim: int, base: float) -> dict[str, Any]:
    """Return ``rope_parameters`` with the fraction of a head that turns; half a channel more, since models cut the product."""
    share = min(1.0, (rotary_dim + 0.5) / head_dim)
    return {"rope_type": "default", "rope_theta": base, "partial_rotary_factor": share}


for _placement, _models in PARTS.items():
    for _model in _models:
        adapter.implements(
            "partial_rope.rotate", label=f"{_model.label}-part", layout=_model.layout, direction="positive", placement=_placement
        )(functools.partial(rotate, _model))


@adapter.implements(
    "partial_rope.attend_turned", label="deepseek-v4", layout="interleaved", direction="positive", placement="last",
    outputs="turned_back",
)
def attend_turned(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor,
    *, head_dim: int, rotary_dim: int, base: float, causal: bool, **_: object,
) -> torch.Tensor:  # fmt: skip
    """Turn queries, keys and values, and outputs back, as the attention of DeepSeek-V4, whose sinks take nothing here."""
    tables = embedding(PARTS["last"][0], head_dim, MAX_POSITIONS, *settings(head_dim, rotary_dim, base).items())
    m, n = (tables(q, batched(positions)) for positions in (query_positions, key_positions))
    q, k, v = (deepseek_v4.apply_rotary_pos_emb(x, *own) for x, own in ((q, m), (k, n), (v, n)))
    sinks = torch.full((q.shape[1],), -torch.inf, dtype=q.dtype)
    output, _weights = attended(deepseek_v4, q, k, v, query_positions, key_positions, causal=causal, sinks=sinks)
    return deepseek_v4.apply_rotary_pos_emb(output, m[0], -m[1])
