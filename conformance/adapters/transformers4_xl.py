"""Transformer-XL as transformers 4.57 still has it: the authors' layer, causal, with a memory before the segment."""

import functools
from dataclasses import dataclass
from typing import Any

import torch
from transformers.models.deprecated.transfo_xl.modeling_transfo_xl import PositionalEmbedding, RelPartialLearnableMultiHeadAttn

from conformance.adapt.adapter import Unsupported
from conformance.adapters.transformers4_adapter import adapter

#: The layer attends over every position between the first and the last.
HIGHEST = 511


def projection(weight: torch.Tensor) -> torch.nn.Linear:
    """Return a projection without a bias; its weight is ``(out, in)``."""
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    linear.weight = torch.nn.Parameter(weight.contiguous(), requires_grad=False)
    return linear


@dataclass(frozen=True)
class Layer:
    """The released layer with learned weights that are given; its own projections and its norm change nothing."""

    weight: torch.Tensor
    content_bias: torch.Tensor
    position_bias: torch.Tensor
    dim: int
    clamp_length: int | None

    def attend(self, tokens: torch.Tensor, memory: int, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return outputs and weights of all tokens after the memory; tokens hold query, key, value and nothing, side by side."""
        heads, width = self.content_bias.shape
        channels = heads * width
        layer = RelPartialLearnableMultiHeadAttn(heads, 4 * channels, width, 0.0, r_w_bias=self.content_bias, r_r_bias=self.position_bias)
        layer.qkv_net, layer.layer_norm = projection(torch.eye(3 * channels, 4 * channels)), torch.nn.Identity()
        layer.o_net = projection(torch.eye(4 * channels)[:, 3 * channels :])
        layer.r_net = projection(self.weight.reshape(self.dim, channels).T)
        output, weights = layer.eval()(
            tokens[memory:], self.table(len(tokens)), attn_mask=hidden, mems=tokens[:memory] if memory else None, output_attentions=True
        )
        return output[..., 3 * channels :].unflatten(-1, (heads, width)), weights

    def table(self, length: int) -> torch.Tensor:
        """Return the sinusoid of every distance, the largest first, clamped as the model clamps it."""
        distances = torch.arange(length - 1, -1, -1.0)
        if self.clamp_length is not None:
            distances.clamp_(max=self.clamp_length)
        return PositionalEmbedding(self.dim)(distances)


@dataclass(frozen=True)
class Line:
    """One row of a batch laid out at consecutive positions; positions that nobody gave hold zeros, and are hidden."""

    queries: torch.Tensor
    keys: torch.Tensor
    length: int

    def laid(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Return vectors at their places: ``(length, 1, head * head_dim)``."""
        line = torch.zeros(self.length, x.shape[0] * x.shape[2], dtype=x.dtype)
        line[places] = x.permute(1, 0, 2).flatten(1)
        return line[:, None]

    def hidden(self, memory: int) -> torch.Tensor:
        """Return 1 where a position after the memory must not see another: ``(query, key, 1)``."""
        missing = torch.ones(self.length)
        missing[self.keys] = 0.0
        later = torch.arange(self.length) > torch.arange(memory, self.length)[:, None]
        return (later | (missing > 0)).to(torch.float32)[..., None]


def line_of(query_positions: torch.Tensor, key_positions: torch.Tensor) -> Line:
    """Return where queries and keys stand, counted from the first position."""
    both = torch.cat((query_positions, key_positions))
    start, length = int(both.min()), int(both.max() - both.min()) + 1
    if any(len(set(side.tolist())) < len(side) for side in (query_positions, key_positions)):
        message = "the layer has one token at each position"
        raise Unsupported(message)
    return Line(query_positions - start, key_positions - start, length)


def run(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *arrays: torch.Tensor, dim: int, clamp_length: int | None, **_: object
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return outputs and weights of every row of the batch; what precedes the first query is its memory."""
    layer = Layer(arrays[0], arrays[1], arrays[2], dim, clamp_length)
    outputs, shares = [], []
    for row in range(q.shape[0]):
        line = line_of(*(at if at.ndim == 1 else at[row] for at in arrays[3:]))
        parts = [line.laid(x[row], places) for x, places in ((q, line.queries), (k, line.keys), (v, line.keys))]
        memory = int(line.queries.min())
        output, weights = layer.attend(torch.cat((*parts, 0.0 * parts[0]), dim=-1), memory, line.hidden(memory))
        asked = line.queries - memory
        outputs.append(output[asked, 0].permute(1, 0, 2))
        shares.append(weights[asked][:, line.keys, 0].permute(2, 0, 1))
    return torch.stack(outputs), torch.stack(shares)


offers = functools.partial(
    adapter.implements,
    label="transfo-xl",
    base=10_000.0,
    layout="halves",
    sign="query_minus_key",
    causal=True,
    positions="consecutive",
    queries="at_end",
    lowest=0,
    highest=HIGHEST,
)


@offers("transformer_xl.weights")
def weights(q: torch.Tensor, k: torch.Tensor, *arrays: torch.Tensor, **parameters: Any) -> torch.Tensor:
    """Return the probabilities that the layer gives out."""
    return run(q, k, k, *arrays, **parameters)[1]


@offers("transformer_xl.attend")
def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *arrays: torch.Tensor, **parameters: Any) -> torch.Tensor:
    """Return what the layer attends to."""
    return run(q, k, v, *arrays, **parameters)[0]


@adapter.implements("transformer_xl.shift", label="transfo-xl")
def shift(scores: torch.Tensor, *, memory: int) -> torch.Tensor:
    """Shift as the authors do, sequence first."""
    del memory
    first = scores.permute(2, 3, 0, 1).contiguous()
    return RelPartialLearnableMultiHeadAttn._rel_shift(None, first).permute(2, 3, 0, 1)  # noqa: SLF001  the layer's own function
