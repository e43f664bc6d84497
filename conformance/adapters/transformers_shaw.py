"""Learned relative representations of transformers: SpeechT5, VITS and SeamlessM4T v2, each by its own attention module.

The projections return the queries, keys and values that are given; everything after them is the model's.
"""

import torch
from transformers import SeamlessM4Tv2Config, VitsConfig
from transformers.models.seamless_m4t_v2.modeling_seamless_m4t_v2 import SeamlessM4Tv2ConformerSelfAttention
from transformers.models.speecht5.modeling_speecht5 import SpeechT5Attention, SpeechT5RelativePositionalEncoding
from transformers.models.vits.modeling_vits import VitsAttention

from conformance.adapters.relative_rows import HIGHEST, Answer, Row, given, heads, implement, parts, unclipped, whole
from conformance.adapters.transformers_adapter import adapter

#: Layers are built without numbers in their projections, which are put in their place.
UNFILLED = torch.device("meta")


def speecht5(row: Row) -> Answer:
    """Return output and weights of SpeechT5, whose edges the encoder's encoding builds for every pair."""
    width = row.q.shape[-1]
    encoding = SpeechT5RelativePositionalEncoding(width, max_length=row.max_distance)
    encoding.pe_k.weight = torch.nn.Parameter(row.key_table, requires_grad=False)
    edges = encoding(torch.zeros(1, row.length, 1))[row.tokens[0]][:, row.tokens[1]]
    with UNFILLED:
        layer = SpeechT5Attention(row.q.shape[1] * width, row.q.shape[1])
    layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj = given(row.q), given(row.k), given(row.v), torch.nn.Identity()
    hidden = torch.zeros(1, row.q.shape[2], 1)
    output, weights = layer(hidden, attention_mask=row.mask(), position_bias=edges, output_attentions=True)
    return heads(output, row.q), weights


def vits(row: Row) -> Answer:
    """Return output and weights of VITS, which has no edges beyond its window where the paper clips."""
    unclipped(row)
    count, width = row.q.shape[1::2]
    with UNFILLED:
        layer = VitsAttention(VitsConfig(hidden_size=count * width, num_attention_heads=count, window_size=row.max_distance)).eval()
    layer.emb_rel_k, layer.emb_rel_v = (torch.nn.Parameter(table[None], requires_grad=False) for table in (row.key_table, row.value_table))
    layer.q_proj, layer.k_proj, layer.v_proj = whole(row)
    layer.out_proj = torch.nn.Identity()
    hidden = torch.zeros(1, row.length, 1)
    return parts(row, *layer(hidden, attention_mask=row.whole_mask(), output_attentions=True))


def seamless(row: Row) -> Answer:
    """Return output and weights of SeamlessM4T v2's speech encoder, with the same largest distance on both sides."""
    count, width = row.q.shape[1::2]
    configuration = SeamlessM4Tv2Config(
        hidden_size=count * width,
        speech_encoder_attention_heads=count,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=row.max_distance,
        right_max_position_embeddings=row.max_distance,
        attn_implementation="eager",
    )
    with UNFILLED:
        layer = SeamlessM4Tv2ConformerSelfAttention(configuration).eval()
    layer.distance_embedding.weight = torch.nn.Parameter(row.key_table, requires_grad=False)
    layer.linear_q, layer.linear_k, layer.linear_v = whole(row)
    layer.linear_out = torch.nn.Identity()
    return parts(row, *layer(torch.zeros(1, row.length, 1), attention_mask=row.whole_mask()))


implement(adapter, "speecht5", speecht5, sign="query_minus_key", clip="lower_closed")
# It doesn't clip, so its window is as wide as its sequences.
implement(adapter, "vits", vits, values=True, sign="key_minus_query", clip="symmetric", positions="consecutive", max_distance=HIGHEST + 1)
implement(adapter, "seamless-m4t-v2", seamless, sign="key_minus_query", clip="symmetric", positions="consecutive")
