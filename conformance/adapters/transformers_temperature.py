"""Attention temperature as transformers has it: Ministral 3's function, what Llama 4 multiplies queries by, Mistral Large 4's module."""

import functools
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.models.llama4.configuration_llama4 import Llama4TextConfig
from transformers.models.llama4.modeling_llama4 import Llama4TextAttention
from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale
from transformers.models.mistral_large4.modeling_mistral_large4 import MistralLarge4TextSoftmaxScaling

from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import batched


@adapter.implements("temperature.scale", label="ministral-3", shift=0, dtypes=("float32",))
def by_function(positions: torch.Tensor, *, floor_scale: int, attn_scale: float, **_: object) -> torch.Tensor:
    """Return what the model's attention calls for every position, of one head and channel."""
    return get_llama_4_attn_scale(batched(positions), attn_scale, floor_scale)[:, 0, :, 0].reshape(positions.shape)


def _queries(_: object, query: torch.Tensor, *__: object, **___: object) -> tuple[torch.Tensor, None]:
    """Return the queries that attention is given, in its place."""
    return query.transpose(1, 2), None


AttentionInterface.register("queries", _queries)


@dataclass(frozen=True)
class _Cached:
    """A cache that holds so many tokens before those of a call."""

    length: int

    def get_seq_length(self, _: int) -> int:
        """Return how many it holds."""
        return self.length

    def update(self, key: torch.Tensor, value: torch.Tensor, _: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Keep nothing: the queries are what counts."""
        return key, value


@functools.lru_cache(maxsize=16)
def _layer(floor_scale: int, attn_scale: float) -> Any:
    """Return an attention without rotation, whose queries are its input times the temperature."""
    config = Llama4TextConfig(
        hidden_size=1, num_attention_heads=1, num_key_value_heads=1, head_dim=1, num_hidden_layers=1, no_rope_layers=[0],
        attn_temperature_tuning=True, floor_scale=floor_scale, attn_scale=attn_scale, use_qk_norm=False, attn_implementation="queries",
    )  # fmt: skip
    layer = Llama4TextAttention(config, 0)
    for weight in layer.parameters():
        torch.nn.init.ones_(weight)
    return layer


@adapter.implements("temperature.scale", label="llama-4", shift=1, positions="consecutive", lowest=0, dtypes=("float32",))
def by_attention(positions: torch.Tensor, *, floor_scale: int, attn_scale: float, **_: object) -> torch.Tensor:
    """Return what Llama 4's attention makes of queries of ones, after a cache of as many tokens as lie before the first position."""
    ones = torch.ones(1, len(positions), 1)
    with torch.no_grad():
        return _layer(floor_scale, attn_scale)(ones, (ones, ones), None, _Cached(int(positions[0])))[0][0, :, 0]


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
