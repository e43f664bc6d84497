"""Learned exponents on YaRN's frequencies, through the rotary module of Mistral Large 4."""

from typing import Any

import torch
from transformers import MistralLarge4TextConfig
from transformers.models.mistral_large4 import modeling_mistral_large4 as mistral_large4

from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_blended import stretched, yarn
from conformance.adapters.transformers_rotary import Model, batched, embedding


def _mistral_large4(head_dim: int, length: int, rope: dict[str, Any]) -> MistralLarge4TextConfig:
    return MistralLarge4TextConfig(qk_rope_head_dim=head_dim, max_position_embeddings=length, rope_parameters=rope)


MISTRAL_LARGE4 = Model(
    "mistral-large-4",
    mistral_large4.MistralLarge4TextRotaryEmbedding,
    _mistral_large4,
    mistral_large4.apply_rotary_pos_emb_interleave,
    "interleaved_to_half",
)


@adapter.implements("lerope.rotate", label=MISTRAL_LARGE4.label, layout=MISTRAL_LARGE4.layout, direction=MISTRAL_LARGE4.direction)
def rotate(x: torch.Tensor, positions: torch.Tensor, exponents: torch.Tensor, *, head_dim: int, **parameters: Any) -> torch.Tensor:
    """Turn ``x`` by the tables of a module into which a checkpoint's exponents are loaded; they stay in float32."""
    rope = yarn(**parameters, attention_factor=1.0)
    module = embedding(MISTRAL_LARGE4, head_dim, stretched(rope), *rope.items())
    module.load_state_dict({"alpha": exponents})
    return MISTRAL_LARGE4.turn(x, None, *module(x, batched(positions)))[0]
