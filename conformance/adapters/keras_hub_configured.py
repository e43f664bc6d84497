"""What the models of keras-hub make of a configuration: the rotation of a layer's own attention, in a model of one narrow head."""

import functools
import json
from collections.abc import Mapping
from typing import Any

import torch

# The layers come first, since they choose the backend.
from conformance.adapters.keras_hub_layers import turns  # isort: split

from keras_hub.src.utils.transformers.preset_loader import TransformersPresetLoader

from conformance.adapt.adapter import Unsupported
from conformance.adapters.keras_hub_models import adapter
from refimpl.configuration import read

__all__ = ["adapter"]

#: Sizes that no rotation depends on, as small as they can be, so that a model is made in no time.
NARROW = {
    **dict.fromkeys(("vocab_size", "intermediate_size", "moe_intermediate_size", "shared_expert_intermediate_size"), 1),
    **dict.fromkeys(("num_attention_heads", "num_key_value_heads", "num_local_experts", "num_experts", "num_experts_per_tok"), 1),
}
#: What a published configuration has, and has nothing to do with positions.
USUAL: dict[str, Any] = {
    **dict.fromkeys(("attention_bias", "mlp_bias", "norm_topk_prob", "output_router_logits", "use_sliding_window"), False),
    **dict.fromkeys(("attention_dropout", "router_aux_loss_coef"), 0.0),
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "rms_norm_eps": 1e-6,
    "sliding_window": None,
    "tie_word_embeddings": True,
}


@functools.lru_cache(maxsize=8)
def _attentions(written: str) -> list[Any]:
    """Return the attention of every layer of the model that the library makes of a configuration."""
    configuration = json.loads(written)
    width = next((kind.rotation.head_dim for kind in read(configuration).kinds if kind.rotation), 2)
    narrow = {**NARROW, "hidden_size": width}
    values = {**USUAL, **configuration, **narrow}
    if "text_config" in configuration:
        values["text_config"] = {**USUAL, **configuration["text_config"], **narrow}
    try:
        converter = TransformersPresetLoader("", values).converter
        backbone = converter.backbone_cls(**converter.convert_backbone_config(values))
    except (KeyError, ValueError) as error:
        message = f"the library can't read this configuration: {type(error).__name__}: {error}"
        raise Unsupported(message) from error
    names = ("_self_attention_layer", "attention", "self_attention_layer", "self_attn")
    return [next(getattr(each, name) for name in names if hasattr(each, name)) for each in backbone.transformer_layers]


@turns("config.rotate", positions="consecutive", lowest=0, dtypes=("float32",))
def rotate(x: torch.Tensor, positions: torch.Tensor, *, configuration: Mapping[str, Any], layer: int) -> torch.Tensor:
    """Turn ``x`` as the layer's attention turns queries from a first position on."""
    attention, first = _attentions(json.dumps(configuration))[layer], int(positions[0])
    if hasattr(attention, "_apply_rope"):
        turned: torch.Tensor = attention._apply_rope(x, first)  # noqa: SLF001  what attention calls
        return turned
    if not hasattr(attention, "rotary_embedding_layer"):
        message = f"{type(attention).__name__} has no rotation that takes queries"
        raise Unsupported(message)
    return attention.rotary_embedding_layer(x, start_index=first)
