"""Multimodal rotations of transformers' language models, each by its own module: Qwen2-VL, Qwen3-VL, GLM-4V, Ernie 4.5 VL, HunYuan-VL."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from transformers.models.ernie4_5_vl_moe import modeling_ernie4_5_vl_moe as ernie
from transformers.models.ernie4_5_vl_moe.configuration_ernie4_5_vl_moe import Ernie4_5_VLMoeTextConfig
from transformers.models.glm4v import modeling_glm4v as glm4v
from transformers.models.glm4v.configuration_glm4v import Glm4vTextConfig
from transformers.models.hunyuan_vl import modeling_hunyuan_vl as hunyuan_vl
from transformers.models.hunyuan_vl.configuration_hunyuan_vl import HunYuanVLTextConfig
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig
from transformers.models.qwen3_vl import modeling_qwen3_vl as qwen3_vl
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig

from conformance.adapters.transformers_adapter import adapter, initialised

#: By model: its code, its configuration, and the class of its rotary module.
MODELS: Mapping[str, tuple[Any, Any, str]] = {
    "qwen2-vl-text": (qwen2_vl, Qwen2VLTextConfig, "Qwen2VLRotaryEmbedding"),
    "qwen3-vl-text": (qwen3_vl, Qwen3VLTextConfig, "Qwen3VLTextRotaryEmbedding"),
    "glm-4v-text": (glm4v, Glm4vTextConfig, "Glm4vTextRotaryEmbedding"),
    "ernie-4.5-vl-text": (ernie, Ernie4_5_VLMoeTextConfig, "Ernie4_5_VLMoeTextRotaryEmbedding"),
    "hunyuan-vl-text": (hunyuan_vl, HunYuanVLTextConfig, "HunYuanVLRotaryEmbedding"),
}


def _three(parameters: Mapping[str, Any]) -> bool:
    return len(parameters["sections"]) == 3


def _three_in_pairs(parameters: Mapping[str, Any]) -> bool:
    return _three(parameters) and parameters["sections"][1] == parameters["sections"][2]


@functools.lru_cache(maxsize=64)
def _module(model: str, head_dim: int, base: float, sections: tuple[int, ...]) -> Any:
    code, config, name = MODELS[model]
    rope = {"rope_type": "default", "rope_theta": base, "mrope_section": list(sections)}
    module = getattr(code, name)(config(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim, rope_parameters=rope))
    return initialised(module)


def _turned(
    model: str, x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, sections: tuple[int, ...], **_: object
) -> torch.Tensor:
    """Turn queries; the module takes positions with the axis first."""
    rows = positions.expand(x.shape[0], *positions.shape[-2:]).permute(2, 0, 1)
    turned: torch.Tensor = MODELS[model][0].apply_rotary_pos_emb(x, x, *_module(model, head_dim, base, sections)(x, rows))[0]
    return turned


for label, order, layout in (
    ("qwen2-vl-text", "contiguous", "half"),
    ("qwen3-vl-text", "interleaved", "half"),
    ("glm-4v-text", "contiguous", "interleaved"),
):
    turn = functools.partial(_turned, label)
    adapter.implements("mrope.rotate", label=label, order=order, layout=layout, direction="positive", when=_three)(turn)


@adapter.implements(
    "mrope.rotate", label="ernie-4.5-vl-text", order="first_last", layout="interleaved", direction="positive", when=_three_in_pairs
)
def rotate_time_last(x: torch.Tensor, positions: torch.Tensor, *, sections: tuple[int, ...], **parameters: Any) -> torch.Tensor:
    """Turn as Ernie 4.5 VL's language model, whose list of sections has the time last."""
    return _turned("ernie-4.5-vl-text", x, positions, sections=(*sections[1:], sections[0]), **parameters)


# Its pairs have members on two axes.
members = functools.partial(_turned, "hunyuan-vl-text")
adapter.implements("mrope.rotate", label="hunyuan-vl-text", order="doubled", layout="half", direction="positive")(members)
