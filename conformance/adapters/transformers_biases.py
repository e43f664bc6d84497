"""Attention biases of transformers: T5's buckets, and ALiBi as BLOOM, MPT and Falcon build it."""

import functools
from typing import Any

import torch
from transformers import T5Config
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.falcon import modeling_falcon as falcon
from transformers.models.mpt import modeling_mpt as mpt
from transformers.models.t5.modeling_t5 import T5Attention

from conformance.adapter import Unsupported
from conformance.adapters.transformers_adapter import adapter

LARGEST = 1 << 24
LARGEST_ROW = 1 << 20
FULL_AND_BFLOAT16 = ("float32", "bfloat16")


def extent(positions: torch.Tensor, heads: int, largest: int = LARGEST) -> int:
    """Return the length that reaches the last position, if a tensor of that length is reasonable."""
    if int(positions.min()) < 0:
        message = "the model counts positions from 0"
        raise Unsupported(message)
    length = int(positions.max()) + 1
    if length * heads > largest:
        message = f"{heads} heads by {length} positions are more than this adapter builds"
        raise Unsupported(message)
    return length


@adapter.implements("t5.bucket", label="t5", dtypes=("float32",))
def bucket(relative_positions: torch.Tensor, **parameters: Any) -> torch.Tensor:
    """Return the bucket of every relative position."""
    return T5Attention._relative_position_bucket(relative_positions, **parameters)  # noqa: SLF001  the model's own function


@functools.lru_cache(maxsize=32)
def _configuration(heads: int, buckets: int, distance: int, *, decoder: bool) -> T5Config:
    return T5Config(
        d_model=heads,
        d_kv=1,
        num_heads=heads,
        relative_attention_num_buckets=buckets,
        relative_attention_max_distance=distance,
        is_decoder=decoder,
        is_encoder_decoder=False,
    )


@adapter.implements("t5.bias", label="t5", dtypes=FULL_AND_BFLOAT16)
def t5_bias(
    table: torch.Tensor,
    query_positions: torch.Tensor,
    key_positions: torch.Tensor,
    *,
    bidirectional: bool,
    num_buckets: int,
    max_distance: int,
) -> torch.Tensor:
    """Return one row per query, each the bias of a decoding step with that many tokens seen."""
    length = extent(torch.cat((query_positions, key_positions)), table.shape[1], LARGEST_ROW)
    configuration = _configuration(table.shape[1], num_buckets, max_distance, decoder=not bidirectional)
    layer = T5Attention(configuration, has_relative_attention_bias=True, layer_idx=0)
    layer.relative_attention_bias.weight = torch.nn.Parameter(table, requires_grad=False)
    rows = [layer.compute_bias(1, length, past_seen_tokens=int(query))[0, :, 0, key_positions] for query in query_positions]
    return torch.stack(rows, dim=1)


def _rows(per_key: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor) -> torch.Tensor:
    return per_key[:, :, key_positions].expand(-1, len(query_positions), -1)


def column(
    build: Any,
    query_positions: torch.Tensor,
    key_positions: torch.Tensor,
    *,
    num_heads: int,
    dtype: torch.dtype = torch.float32,
    **_: object,
) -> torch.Tensor:
    """Return the slopes times the key's index, which the model adds to every query's logits."""
    mask = torch.ones(1, extent(key_positions, num_heads), dtype=torch.int64)
    return _rows(build(mask, num_heads, dtype), query_positions, key_positions)


adapter.implements("alibi.bias", label="bloom", form="column", max_bias=8.0, dtypes=FULL_AND_BFLOAT16)(
    functools.partial(column, bloom.build_alibi_tensor)
)
adapter.implements("alibi.bias", label="falcon", form="column", max_bias=8.0, dtypes=FULL_AND_BFLOAT16)(
    functools.partial(column, falcon.build_alibi_tensor)
)


@adapter.implements("alibi.bias", label="mpt", form="reversed", dtypes=("float32",))
def mpt_bias(query_positions: torch.Tensor, key_positions: torch.Tensor, *, num_heads: int, max_bias: float, **_: object) -> torch.Tensor:
    """Return the slopes times the key's distance to the last key."""
    per_key = mpt.build_mpt_alibi_tensor(num_heads, extent(key_positions, num_heads), alibi_bias_max=max_bias)
    return _rows(per_key, query_positions, key_positions)


@adapter.implements("alibi.slopes", label="bloom", max_bias=8.0, dtypes=("float32",))
def slopes(*, num_heads: int, **_: object) -> torch.Tensor:
    """Return BLOOM's slopes."""
    return bloom._get_alibi_slopes(num_heads, torch.device("cpu"))  # noqa: SLF001  the model's own function
