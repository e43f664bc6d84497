"""Rotary encoding of GPT-J: one table of sines and cosines, adjacent pairs, and always base 10000."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb, create_sinusoidal_positions

from conformance.adapters.transformers_adapter import adapter

#: Tables that a model might keep; the published one has 2,048 rows and 64 channels.
LENGTHS = (2_048, 131_072)
WIDEST = 256


def _narrow(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters["head_dim"] <= WIDEST)


offers = functools.partial(adapter.implements, label="gpt-j", base=10_000.0, when=_narrow, lowest=0, highest=LENGTHS[-1] - 1)


@functools.lru_cache(maxsize=4)
def _table(length: int, head_dim: int) -> torch.Tensor:
    return create_sinusoidal_positions(length, head_dim)


def looked_up(positions: torch.Tensor, head_dim: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the rows of sine and cosine that the attention layer gathers, in the dtype of the keys."""
    length = next(length for length in LENGTHS if length > int(positions.max()))
    rows = positions if positions.ndim == 2 else positions[None]
    table = _table(length, head_dim).expand(rows.shape[0], -1, -1)
    both = torch.gather(table, 1, rows.unsqueeze(-1).repeat(1, 1, head_dim)).to(dtype)
    sin, cos = torch.split(both, head_dim // 2, dim=-1)
    return sin, cos


@offers("rope.rotate", layout="interleaved", direction="positive")
def rotate(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, **_: object) -> torch.Tensor:
    """Turn adjacent pairs; the model has tokens before heads."""
    return apply_rotary_pos_emb(x.transpose(1, 2), *looked_up(positions, head_dim, x.dtype)).transpose(1, 2)


@offers("rope.rotate_query_key", layout="interleaved", direction="positive")
def rotate_query_key(
    q: torch.Tensor, k: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor, *, head_dim: int, **_: object
) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn queries and keys, each by its own rows of the table."""
    return rotate(q, query_positions, head_dim=head_dim), rotate(k, key_positions, head_dim=head_dim)


@offers("rope.gradient", layout="interleaved", direction="positive")
def gradient(x: torch.Tensor, positions: torch.Tensor, cotangent: torch.Tensor, *, head_dim: int, **_: object) -> torch.Tensor:
    """Return what autograd gives for ``<rotate(x), cotangent>``."""
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(rotate(leaf, positions, head_dim=head_dim), leaf, cotangent)[0]


@offers("rope.tables")
def tables(positions: torch.Tensor, *, head_dim: int, dtype: torch.dtype = torch.float32, **_: object) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gathered rows, cosine first."""
    sin, cos = looked_up(positions, head_dim, dtype)
    return (cos, sin) if positions.ndim == 2 else (cos[0], sin[0])


@adapter.implements("rope.apply", label="gpt-j", layout="interleaved", direction="positive")
def apply(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, **_: object) -> torch.Tensor:
    """Turn adjacent pairs by the tables given."""
    sin, cos = (table if table.ndim == 3 else table[None] for table in (sin, cos))
    return apply_rotary_pos_emb(x.transpose(1, 2), sin, cos).transpose(1, 2)
