"""Attention biases of transformers: buckets and tables as T5 and others have them, and ALiBi as BLOOM, MPT and Falcon build it."""

import functools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from transformers import SwinConfig, T5Config
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position
from transformers.models.falcon import modeling_falcon as falcon
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder
from transformers.models.mpt import modeling_mpt as mpt
from transformers.models.phi4_multimodal.modeling_phi4_multimodal import Phi4MultimodalAudioRelativeAttentionBias
from transformers.models.swin.modeling_swin import SwinRelativePositionBias
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.wavlm.modeling_wavlm import WavLMAttention

from conformance.adapters.transformers_adapter import adapter, initialised

#: How far the code is asked for a key of its own, for a row per query, and for a whole matrix.
FARTHEST, FARTHEST_ROW, FARTHEST_SQUARE = 1 << 20, 131_071, 2047
#: With so many heads a bias of the farthest key has 40 million numbers.
MOST_HEADS = 40
FULL_AND_BFLOAT16 = ("float32", "bfloat16")


def extent(*positions: torch.Tensor) -> int:
    """Return the length that reaches the last position."""
    return max(int(each.max()) for each in positions) + 1


@adapter.implements("t5.bucket", label="t5", convention="t5", dtypes=("float32",))
def bucket(relative_positions: torch.Tensor, *, bidirectional: bool, num_buckets: int, max_distance: int, **_: object) -> torch.Tensor:
    """Return the bucket of every relative position."""
    return T5Attention._relative_position_bucket(  # noqa: SLF001  the model's own function
        relative_positions, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance
    )


@adapter.implements("t5.bucket", label="mpnet", convention="t5", bidirectional=True, dtypes=("float32",))
def mpnet_bucket(relative_positions: torch.Tensor, *, num_buckets: int, max_distance: int, **_: object) -> torch.Tensor:
    """Return MPNet's buckets, which are those of an encoder."""
    return MPNetEncoder.relative_position_bucket(relative_positions, num_buckets=num_buckets, max_distance=max_distance)


@adapter.implements("t5.bucket", label="wavlm", convention="t5", bidirectional=True, dtypes=("float32",))
def wavlm_bucket(relative_positions: torch.Tensor, *, num_buckets: int, max_distance: int, **_: object) -> torch.Tensor:
    """Return WavLM's buckets, which are those of an encoder."""
    settings = SimpleNamespace(num_buckets=num_buckets, max_distance=max_distance)
    return WavLMAttention._relative_positions_bucket(settings, relative_positions)  # noqa: SLF001  the model's own function


@adapter.implements("t5.bucket", label="deberta-v2", convention="deberta", dtypes=("float32",))
def deberta_bucket(relative_positions: torch.Tensor, *, num_buckets: int, max_distance: int, **_: object) -> torch.Tensor:
    """Return the row of the relative embeddings, as the model clamps it: position_buckets is half of the rows."""
    span = num_buckets // 2
    buckets = make_log_bucket_position(-relative_positions, span, max_distance).to(torch.long)
    return torch.clamp(buckets + span, 0, span * 2 - 1)


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


@adapter.implements("t5.bias", label="t5", convention="t5", rows="shared", dtypes=FULL_AND_BFLOAT16, lowest=0, highest=FARTHEST_ROW)
def t5_bias(
    table: torch.Tensor,
    query_positions: torch.Tensor,
    key_positions: torch.Tensor,
    *,
    bidirectional: bool,
    num_buckets: int,
    max_distance: int,
    **_: object,
) -> torch.Tensor:
    """Return one row per query, each the bias of a decoding step with that many tokens seen."""
    length = extent(query_positions, key_positions)
    configuration = _configuration(table.shape[1], num_buckets, max_distance, decoder=not bidirectional)
    layer = T5Attention(configuration, has_relative_attention_bias=True, layer_idx=0)
    layer.relative_attention_bias.weight = torch.nn.Parameter(table, requires_grad=False)
    rows = [layer.compute_bias(1, length, past_seen_tokens=int(query))[0, :, 0, key_positions] for query in query_positions]
    return torch.stack(rows, dim=1)


square = functools.partial(adapter.implements, rows="shared", dtypes=FULL_AND_BFLOAT16, lowest=0)


@square("t5.bias", label="phi4-multimodal", convention="clamped", bidirectional=True, highest=FARTHEST_SQUARE)
def phi4_bias(
    table: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor, *, num_buckets: int, **_: object
) -> torch.Tensor:
    """Return the bias of the audio encoder, which is built for a whole sequence."""
    length = extent(query_positions, key_positions)
    settings = SimpleNamespace(bias_max_distance=num_buckets // 2, bias_symmetric=False, num_attention_heads=table.shape[1])
    layer = Phi4MultimodalAudioRelativeAttentionBias(settings)
    layer.bias_values.weight = torch.nn.Parameter(table, requires_grad=False)
    return layer(torch.zeros(1, length, 1))[0][:, query_positions][:, :, key_positions]


# A window of so many tokens ends at the smallest of these distances; the model has no offsets beyond its window.
@square("relative_bias.bias", label="swin", sign="query_minus_key", max_distance=(257, 320, 511), highest=257)
def swin_bias(
    table: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor, *, max_distance: int, **_: object
) -> torch.Tensor:
    """Return Swin's bias of a window that is one row high."""
    layer = initialised(SwinRelativePositionBias(table.shape[1], (1, max_distance + 1)), SwinConfig())
    layer.relative_position_bias_table = torch.nn.Parameter(table, requires_grad=False)
    return layer()[0][:, query_positions][:, :, key_positions]


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
    """Return the slopes times the key's index, the same for every query."""
    mask = torch.ones(1, extent(key_positions), dtype=torch.int64)
    return _rows(build(mask, num_heads, dtype), query_positions, key_positions)


def _few(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters["num_heads"] <= MOST_HEADS)


per_key = functools.partial(adapter.implements, "alibi.bias", slopes="code", when=_few, rows="shared", lowest=0, highest=FARTHEST)
per_key(label="bloom", form="column", max_bias=8.0, dtypes=FULL_AND_BFLOAT16)(functools.partial(column, bloom.build_alibi_tensor))
per_key(label="falcon", form="falcon", max_bias=8.0, dtypes=FULL_AND_BFLOAT16)(functools.partial(column, falcon.build_alibi_tensor))


@per_key(label="mpt", form="reversed", dtypes=("float32",))
def mpt_bias(query_positions: torch.Tensor, key_positions: torch.Tensor, *, num_heads: int, max_bias: float, **_: object) -> torch.Tensor:
    """Return the slopes times the key's distance to the last key."""
    biases = mpt.build_mpt_alibi_tensor(num_heads, extent(key_positions), alibi_bias_max=max_bias)
    return _rows(biases, query_positions, key_positions)


@adapter.implements("alibi.slopes", label="bloom", max_bias=8.0, slopes="code", dtypes=("float32",))
def slopes(*, num_heads: int, **_: object) -> torch.Tensor:
    """Return BLOOM's slopes."""
    return bloom._get_alibi_slopes(num_heads, torch.device("cpu"))  # noqa: SLF001  the model's own function
