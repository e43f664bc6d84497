"""Attention temperature as transformers has it: Ministral 3's function, what Llama 4 multiplies queries by, Mistral Large 4's module."""

import torch
from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale
from transformers.models.mistral_large4.modeling_mistral_large4 import MistralLarge4TextSoftmaxScaling

from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import batched
from conformance.adapters.transformers_scaled import attention


@adapter.implements("temperature.scale", label="ministral-3", shift=0, dtypes=("float32",))
def by_function(positions: torch.Tensor, *, floor_scale: int, attn_scale: float, **_: object) -> torch.Tensor:
    """Return what the model's attention calls for every position, of one head and channel."""
    return get_llama_4_attn_scale(batched(positions), attn_scale, floor_scale)[:, 0, :, 0].reshape(positions.shape)


@adapter.implements("temperature.scale", label="llama-4", shift=1, lowest=0, dtypes=("float32",))
def by_attention(positions: torch.Tensor, *, floor_scale: int, attn_scale: float, **_: object) -> torch.Tensor:
    """Return what Llama 4's attention makes of queries of ones in a layer that doesn't turn."""
    configuration = {
        "model_type": "llama4_text", "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "no_rope_layers": [0],
        "attn_temperature_tuning": True, "floor_scale": floor_scale, "attn_scale": attn_scale,
    }  # fmt: skip
    return attention(configuration, 0).scaled(positions)[..., 0, :]


@adapter.implements("temperature.learned_scale", label="mistral-large-4")
def by_module(positions: torch.Tensor, slopes: torch.Tensor, biases: torch.Tensor) -> torch.Tensor:
    """Return what the model's module makes of queries of ones, of one channel each."""
    module = MistralLarge4TextSoftmaxScaling(len(slopes)).to(slopes.dtype)
    module.load_state_dict({"scale": slopes, "bias": biases})
    rows = batched(positions)
    ones = torch.ones(len(rows), len(slopes), rows.shape[-1], 1, dtype=slopes.dtype)
    with torch.no_grad():
        scaled = module(ones, rows, head_dim_first=True)[..., 0]
    return scaled.reshape(*positions.shape[:-1], *scaled.shape[1:])
