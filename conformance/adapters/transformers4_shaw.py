"""BERT's relative_key as transformers 4.57 still has it: edges of keys, query minus key, and a table that is never clipped."""

import functools

import torch
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertSelfAttention

from conformance.adapters.relative_rows import HIGHEST, Answer, Row, never_clipped, parts, weights, whole
from conformance.adapters.transformers4_adapter import adapter

# Cases are small: more threads wait for one another longer than they compute.
torch.set_num_threads(1)


def relative_key(row: Row) -> Answer:
    """Return output and weights of BERT; its table of 2 L - 1 rows is this one for max_distance L - 1."""
    never_clipped(row)
    count, width = row.q.shape[1::2]
    configuration = BertConfig(
        hidden_size=count * width,
        num_attention_heads=count,
        max_position_embeddings=row.max_distance + 1,
        position_embedding_type="relative_key",
    )
    layer = BertSelfAttention(configuration).eval()
    layer.distance_embedding.weight = torch.nn.Parameter(row.key_table, requires_grad=False)
    layer.query, layer.key, layer.value = whole(row)
    return parts(row, *layer(torch.zeros(1, row.length, 1), attention_mask=row.whole_mask()))


adapter.implements(
    "shaw.weights",
    label="bert-relative-key",
    sign="query_minus_key",
    clip="symmetric",
    max_distance=HIGHEST,
    positions="consecutive",
    lowest=0,
    highest=HIGHEST,
)(functools.partial(weights, relative_key))
