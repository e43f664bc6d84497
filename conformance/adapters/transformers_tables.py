"""Learned position tables of transformers: OPT and BART with offset 2, RoBERTa with padding index + 1, BERT with none."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from transformers import BertConfig, CLIPTextConfig, RobertaConfig
from transformers.models.bart.modeling_bart import BartLearnedPositionalEmbedding
from transformers.models.bert.modeling_bert import BertEmbeddings
from transformers.models.clip.modeling_clip import CLIPTextEmbeddings
from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding
from transformers.models.roberta.modeling_roberta import RobertaEmbeddings

from conformance.adapters.transformers_adapter import adapter

OFFSET = 2
#: -1 marks padding, which has a row before the offset.
COUNTED = {"lowest": 0}


def offers(label: str, **restrictions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the decorator that offers a look-up, which refuses what lies outside of its table."""
    return adapter.implements("learned.encode", label=label, outside="raise", **restrictions)


def holding(module: torch.nn.Embedding, table: torch.Tensor) -> torch.nn.Embedding:
    """Return the module with the table for its weights."""
    module.weight = torch.nn.Parameter(table, requires_grad=False)
    return module


@offers("opt", offset=OFFSET, **COUNTED)
def opt(positions: torch.Tensor, table: torch.Tensor, **_: object) -> torch.Tensor:
    """Return the rows of position ids; the attention mask counts only where there are none."""
    module = holding(OPTLearnedPositionalEmbedding(len(table) - OFFSET, table.shape[1]), table)
    ids = positions[None]
    return module(torch.ones_like(ids), position_ids=ids)[0]


@offers("bart", offset=OFFSET, **COUNTED)
def bart(positions: torch.Tensor, table: torch.Tensor, **_: object) -> torch.Tensor:
    """Return the rows of position ids, which BART gives no batch."""
    module = holding(BartLearnedPositionalEmbedding(len(table) - OFFSET, table.shape[1]), table)
    return module(positions[None], position_ids=positions)[0]


@offers("bert", offset=0)
def bert(positions: torch.Tensor, table: torch.Tensor, **_: object) -> torch.Tensor:
    """Return the rows of the table that BERT adds to its token embeddings."""
    configuration = BertConfig(vocab_size=1, hidden_size=table.shape[1], max_position_embeddings=len(table))
    return holding(BertEmbeddings(configuration).position_embeddings, table)(positions)


def _has_padding(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters["offset"] >= 1)


@offers("roberta", when=_has_padding, **COUNTED)
def roberta_rows(positions: torch.Tensor, table: torch.Tensor, *, offset: int, **_: object) -> torch.Tensor:
    """Return the rows that RoBERTa counts to, over tokens none of which is padding."""
    padding, length = offset - 1, int(positions.max()) + 1
    ids = RobertaEmbeddings.create_position_ids_from_input_ids(torch.full((1, length), offset), padding)
    shape = {"hidden_size": table.shape[1], "max_position_embeddings": len(table)}
    configuration = RobertaConfig(vocab_size=offset + 1, pad_token_id=padding, **shape)
    return holding(RobertaEmbeddings(configuration).position_embeddings, table)(ids[0, positions])


@adapter.implements("learned.add", label="clip", outside="raise", offset=0, embedding_scale="none", lowest=0, rows="shared")
def clip(x: torch.Tensor, positions: torch.Tensor, table: torch.Tensor, **_: object) -> torch.Tensor:
    """Return the embeddings plus the rows of their positions, as the text side of CLIP adds them."""
    configuration = CLIPTextConfig(vocab_size=1, hidden_size=table.shape[1], max_position_embeddings=len(table), num_attention_heads=1)
    module = CLIPTextEmbeddings(configuration)
    holding(module.position_embedding, table)
    return module(position_ids=positions[None], inputs_embeds=x)
