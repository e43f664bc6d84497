"""Transformer-XL's attention as XLNet and Wav2Vec2-Conformer of transformers run it: unmasked, over every position between the ends."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from transformers import Wav2Vec2ConformerConfig, XLNetConfig
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

from conformance.adapter import Unsupported
from conformance.adapters.transformers_adapter import adapter

#: The model attends from every position to every position between the first and the last.
HIGHEST = 511
HIDDEN = 1.0


@dataclass(frozen=True)
class Row:
    """One query of one row of the batch, and the keys at consecutive positions, those that nobody gave filled with zeros."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    place: int
    places: torch.Tensor
    hidden: torch.Tensor

    @property
    def length(self) -> int:
        """How many positions there are."""
        return int(self.k.shape[-2])


Attention = Callable[[Row], tuple[torch.Tensor, torch.Tensor]]


def rows(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor, *, causal: bool
) -> Iterator[tuple[int, int, Row]]:
    """Return every query with all keys at their positions; the model repeats the query at every position."""
    for batch in range(q.shape[0]):
        queries, keys = (at if at.ndim == 1 else at[batch] for at in (query_positions, key_positions))
        start = int(torch.cat((queries, keys)).min())
        length = int(torch.cat((queries, keys)).max()) - start + 1
        if len(set(keys.tolist())) < len(keys):
            message = "the model has one key at each position"
            raise Unsupported(message)
        laid_k, laid_v = (laid_out(x[batch], keys - start, length) for x in (k, v))
        for token, query in enumerate(queries.tolist()):
            hidden = torch.full((length,), HIDDEN)
            hidden[keys - start] = (keys > query).to(hidden.dtype) * HIDDEN if causal else 0.0
            everywhere = q[batch : batch + 1, :, token : token + 1].expand(-1, -1, length, -1)
            yield batch, token, Row(everywhere, laid_k, laid_v, query - start, keys - start, hidden)


def laid_out(x: torch.Tensor, places: torch.Tensor, length: int) -> torch.Tensor:
    """Return keys or values at their places among zeros."""
    laid = torch.zeros(1, x.shape[0], length, x.shape[2], dtype=x.dtype)
    laid[0, :, places] = x
    return laid


def gathered(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, positions: Any, attend_to: Attention, *, causal: bool) -> Any:
    """Return the outputs and the weights of every query."""
    outputs = torch.empty_like(q)
    shares = torch.empty(*q.shape[:3], k.shape[2], dtype=q.dtype)
    for batch, token, row in rows(q, k, v, *positions, causal=causal):
        output, weights = attend_to(row)
        outputs[batch, :, token] = output[0, :, row.place]
        shares[batch, :, token] = weights[0, :, row.place, row.places]
    return outputs, shares


def xlnet(weight: torch.Tensor, u: torch.Tensor, v: torch.Tensor, *, dim: int, clamp_length: int | None, **_: object) -> Attention:
    """Return XLNet's core, bidirectional, without segments."""
    head, width = u.shape
    small = {"vocab_size": 1, "d_inner": 1, "dropout": 0.0}
    layer = XLNetRelativeAttention(XLNetConfig(d_model=head * width, n_head=head, d_head=width, n_layer=1, **small))
    layer.r_w_bias, layer.r_r_bias = (torch.nn.Parameter(bias, requires_grad=False) for bias in (u, v))
    model = XLNetModel(XLNetConfig(d_model=dim, n_head=1, d_head=dim, n_layer=0, clamp_len=clamp_length or -1, **small))

    def attend_to(row: Row) -> tuple[torch.Tensor, torch.Tensor]:
        table = model.relative_positional_encoding(row.length, row.length, bsz=1)
        relative = torch.einsum("ijh,hnd->ijnd", table.to(weight.dtype), weight)
        first = (x.permute(2, 0, 1, 3) for x in (row.q, row.k, row.v))
        mask = row.hidden.to(weight.dtype)[None, :, None, None].expand(row.length, -1, -1, -1)
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

    def attend_to(row: Row) -> tuple[torch.Tensor, torch.Tensor]:
        embedding = conformer.Wav2Vec2ConformerRelPositionalEmbedding(
            Wav2Vec2ConformerConfig(hidden_size=dim, max_source_positions=row.length)
        )
        table = embedding(torch.zeros(1, row.length, dim, dtype=weight.dtype))
        asked, bias = conformer._apply_relative_position_encoding(layer, row.q, row.k, table)  # noqa: SLF001  the model's own function
        mask = torch.zeros(row.length, dtype=weight.dtype).masked_fill(row.hidden > 0, torch.finfo(weight.dtype).min)
        output, weights = conformer.eager_attention_forward(
            layer, asked, row.k, row.v, mask[None, None, None], scaling=layer.scaling, position_bias=bias
        )
        return output.transpose(1, 2), weights

    return attend_to


Build = Callable[..., Attention]
Function = Callable[..., torch.Tensor]


def offer(label: str, build: Build, implements: Callable[..., Callable[[Function], Function]]) -> None:
    """Offer a model's weights and attention."""

    @implements("transformer_xl.weights", label=label)
    def weights(q: torch.Tensor, k: torch.Tensor, *arrays: torch.Tensor, causal: bool, **parameters: Any) -> torch.Tensor:
        shares: torch.Tensor = gathered(q, k, k, arrays[-2:], build(*arrays[:-2], **parameters), causal=causal)[1]
        return shares

    @implements("transformer_xl.attend", label=label)
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *arrays: torch.Tensor, causal: bool, **parameters: Any) -> torch.Tensor:
        outputs: torch.Tensor = gathered(q, k, v, arrays[-2:], build(*arrays[:-2], **parameters), causal=causal)[0]
        return outputs


offers = partial(adapter.implements, base=10_000.0, sign="query_minus_key", lowest=0, highest=HIGHEST)
# XLNet clamps negative distances too, so only a length that no distance reaches clamps nothing more.
offer("xlnet", xlnet, partial(offers, layout="halves", clamp_length=(None, 4096)))
offer("wav2vec2-conformer", wav2vec2_conformer, partial(offers, layout="interleaved", clamp_length=None))


@adapter.implements("transformer_xl.shift", label="xlnet")
def shift(scores: torch.Tensor, *, memory: int) -> torch.Tensor:
    """Shift as XLNet does, whose table has one distance more before ours and goes on to negative ones."""
    keys = scores.shape[2] + memory
    return XLNetRelativeAttention.rel_shift_bnij(torch.nn.functional.pad(scores, (1, scores.shape[2] - 1)), klen=keys)
