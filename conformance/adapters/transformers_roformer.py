"""Attention of RoFormer with ``rotary_value``: values turn as queries and keys do, by base 10000, and outputs stay as they are."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from transformers import RoFormerConfig
from transformers.models.roformer.modeling_roformer import RoFormerSelfAttention, RoFormerSinusoidalPositionalEmbedding

from conformance.adapters.relative_rows import given, heads
from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import batched
from conformance.adapters.transformers_sinusoids import WIDEST

#: Released models have 512 or 1,536 positions; the table is filled in a Python loop.
HIGHEST = 2_047


def _whole(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters["rotary_dim"] == parameters["head_dim"] <= WIDEST)


@functools.lru_cache(maxsize=16)
def _table(head_dim: int) -> torch.Tensor:
    return RoFormerSinusoidalPositionalEmbedding(HIGHEST + 1, head_dim).create_weight()


@adapter.implements(
    "partial_rope.attend_turned", label="roformer", layout="interleaved", direction="positive", outputs="kept", base=10_000.0,
    lowest=0, highest=HIGHEST, when=_whole,
)  # fmt: skip
def attend_turned(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor,
    *, causal: bool, **_: object,
) -> torch.Tensor:  # fmt: skip
    """Return the output of the model's layer for queries and, after them in the same sequence, keys."""
    k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for each in (k, v))
    queries, head_dim = q.shape[2:]
    config = RoFormerConfig(hidden_size=q.shape[1] * head_dim, num_attention_heads=q.shape[1], rotary_value=True)
    layer = RoFormerSelfAttention(config).eval()
    layer.query, layer.key = given(torch.cat((q, torch.zeros_like(k)), dim=2)), given(torch.cat((torch.zeros_like(q), k), dim=2))
    layer.value = given(torch.cat((torch.zeros_like(q), v), dim=2))
    tokens = torch.cat([batched(each).expand(len(q), -1) for each in (query_positions, key_positions)], dim=-1)
    hidden = (tokens[:, None, :] > tokens[:, :, None]) & causal
    hidden[:, :, :queries] = True
    mask = torch.zeros(hidden.shape, dtype=q.dtype).masked_fill(hidden, torch.finfo(q.dtype).min)
    states = q.new_zeros(q.shape[0], tokens.shape[-1], 1)
    output, _weights = layer(states, mask[:, None], _table(head_dim)[tokens][:, None].to(q.dtype))
    return heads(output, q)[:, :, :queries]
