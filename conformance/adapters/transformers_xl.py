"""Transformer-XL's attention as XLNet and Wav2Vec2-Conformer of transformers run it: over positions that count up from the first."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from transformers import Wav2Vec2ConformerConfig, XLNetConfig
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

from conformance.adapters.transformers_adapter import adapter, initialised

HIDDEN = 1.0


@dataclass(frozen=True)
class Tokens:
    """As many queries as keys, of which those that nobody gave are zeros, and the keys that are hidden from each query."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    hidden: torch.Tensor

    @property
    def length(self) -> int:
        """How many positions there are."""
        return int(self.k.shape[2])


Attention = Callable[[Tokens], tuple[torch.Tensor, torch.Tensor]]


def tokens(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> Tokens:
    """Return what the model is asked for: it has a query and a key at every position from the first."""
    length = max(q.shape[2], k.shape[2])
    hidden = torch.ones(length, length).triu(1) if causal else torch.zeros(length, length)
    hidden[:, k.shape[2] :] = HIDDEN
    q, k, v = (torch.nn.functional.pad(x, (0, 0, 0, length - x.shape[2])) for x in (q, k, v))
    return Tokens(q, k, v, hidden)


def xlnet(weight: torch.Tensor, u: torch.Tensor, v: torch.Tensor, *, dim: int, clamp_length: int | None, **_: object) -> Attention:
    """Return XLNet's core, bidirectional, without segments."""
    head, width = u.shape
    small = {"vocab_size": 1, "d_inner": 1, "dropout": 0.0}
    layer = XLNetRelativeAttention(XLNetConfig(d_model=head * width, n_head=head, d_head=width, n_layer=1, **small))
    layer.r_w_bias, layer.r_r_bias = (torch.nn.Parameter(bias, requires_grad=False) for bias in (u, v))
    model = XLNetModel(XLNetConfig(d_model=dim, n_head=1, d_head=dim, n_layer=0, clamp_len=clamp_length or -1, **small))

    def attend_to(asked: Tokens) -> tuple[torch.Tensor, torch.Tensor]:
        table = model.relative_positional_encoding(asked.length, asked.length, bsz=1)
        relative = torch.einsum("ijh,hnd->ijnd", table.to(weight.dtype), weight).expand(-1, asked.q.shape[0], -1, -1)
        first = (x.permute(2, 0, 1, 3) for x in (asked.q, asked.k, asked.v))
        mask = asked.hidden.to(weight.dtype)[..., None, None]
        output, probabilities = layer.eval().rel_attn_core(*first, relative, attn_mask=mask, output_attentions=True)
        return output.permute(1, 2, 0, 3), probabilities.permute(2, 3, 0, 1)

    return attend_to


def wav2vec2_conformer(weight: torch.Tensor, u: torch.Tensor, v: torch.Tensor, *, dim: int, **_: object) -> Attention:
    """Return Wav2Vec2-Conformer's attention with its table of distances in both directions."""
    head, width = u.shape
    settings = {"num_attention_heads": head, "position_embeddings_type": "relative", "attention_dropout": 0.0}
    layer = conformer.Wav2Vec2ConformerSelfAttention(Wav2Vec2ConformerConfig(hidden_size=head * width, **settings)).eval()
    layer.pos_bias_u, layer.pos_bias_v = (torch.nn.Parameter(bias, requires_grad=False) for bias in (u, v))
    layer.linear_pos = torch.nn.Linear(dim, head * width, bias=False)
    layer.linear_pos.weight = torch.nn.Parameter(weight.reshape(dim, head * width).T.contiguous(), requires_grad=False)

    def attend_to(asked: Tokens) -> tuple[torch.Tensor, torch.Tensor]:
        settings = Wav2Vec2ConformerConfig(hidden_size=dim, max_source_positions=asked.length)
        distances = initialised(conformer.Wav2Vec2ConformerRelPositionalEmbedding(settings), settings)
        table = distances(torch.zeros(1, asked.length, dim, dtype=weight.dtype))
        q, bias = conformer._apply_relative_position_encoding(layer, asked.q, asked.k, table)  # noqa: SLF001  the model's own function
        mask = torch.zeros_like(asked.hidden, dtype=weight.dtype).masked_fill(asked.hidden > 0, torch.finfo(weight.dtype).min)
        output, weights = conformer.eager_attention_forward(
            layer, q, asked.k, asked.v, mask[None, None], scaling=layer.scaling, position_bias=bias
        )
        return output.transpose(1, 2), weights

    return attend_to


Build = Callable[..., Attention]
Function = Callable[..., torch.Tensor]


def offer(label: str, build: Build, implements: Callable[..., Callable[[Function], Function]]) -> None:
    """Offer a model's weights and attention."""

    @implements("transformer_xl.weights", label=label)
    def weights(q: torch.Tensor, k: torch.Tensor, *arrays: torch.Tensor, causal: bool, **parameters: Any) -> torch.Tensor:
        asked = tokens(q, k, k, causal=causal)
        return build(*arrays[:-2], **parameters)(asked)[1][:, :, : q.shape[2], : k.shape[2]]

    @implements("transformer_xl.attend", label=label)
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *arrays: torch.Tensor, causal: bool, **parameters: Any) -> torch.Tensor:
        asked = tokens(q, k, v, causal=causal)
        return build(*arrays[:-2], **parameters)(asked)[0][:, :, : q.shape[2]]


offers = partial(adapter.implements, base=10_000.0, sign="query_minus_key", positions="consecutive")
# XLNet clamps negative distances too, so only a length that no distance reaches clamps nothing more.
offer("xlnet", xlnet, partial(offers, layout="halves", clamp_length=(None, 4096)))
offer("wav2vec2-conformer", wav2vec2_conformer, partial(offers, layout="interleaved", clamp_length=None))


@adapter.implements("transformer_xl.shift", label="xlnet")
def shift(scores: torch.Tensor, *, memory: int) -> torch.Tensor:
    """Shift as XLNet does, whose table has one distance more before ours and goes on to negative ones."""
    keys = scores.shape[2] + memory
    return XLNetRelativeAttention.rel_shift_bnij(torch.nn.functional.pad(scores, (1, scores.shape[2] - 1)), klen=keys)
