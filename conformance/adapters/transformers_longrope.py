"""Stretched contexts with one factor (rope_type 'linear') or a factor per pair ('longrope'), through the rotary modules built on them."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from transformers import Phi3Config
from transformers.models.phi3 import modeling_phi3 as phi3

from conformance.adapters.transformers_adapter import adapter, initialised
from conformance.adapters.transformers_rotary import MAX_POSITIONS, MODELS, Model, initial, offer, turned, within

Factors = tuple[float, ...]


def _phi3(head_dim: int, length: int, rope: dict[str, Any]) -> Phi3Config:
    # The configuration's own original length, 4096 unless said, replaces the one in rope_parameters.
    original = rope.get("original_max_position_embeddings", length)
    lengths = {"max_position_embeddings": length, "original_max_position_embeddings": original}
    return Phi3Config(hidden_size=head_dim, num_attention_heads=1, pad_token_id=0, rope_parameters=rope, **lengths)


PHI3 = Model("phi3", phi3.Phi3RotaryEmbedding, _phi3, phi3.apply_rotary_pos_emb, "half")


def linear(base: float, factor: float) -> dict[str, Any]:
    """Return ``rope_parameters`` of position interpolation, as a model's configuration spells them."""
    return {"rope_type": "linear", "rope_theta": base, "factor": factor}


def longrope(base: float, original_length: int, short: Factors, long: Factors, given: float | None = None) -> dict[str, Any]:
    """Return ``rope_parameters`` of LongRoPE, as a model's configuration spells them."""
    lists = {"short_factor": list(short), "long_factor": list(long)}
    one = {} if given is None else {"attention_factor": given}
    return {"rope_type": "longrope", "rope_theta": base, "original_max_position_embeddings": original_length, **lists, **one}


def alike(parameters: Mapping[str, Any]) -> bool:
    """Whether both lists have one attention factor: the library takes no second one, but for a model type of its own."""
    return bool(parameters["short_mscale"] == parameters["long_mscale"])


@adapter.implements("position_interpolation.frequencies", label="linear", dtypes=("float32",))
def interpolated(*, head_dim: int, base: float, factor: float) -> torch.Tensor:
    """Return what the library computes from the configuration."""
    return initial(linear(base, factor), head_dim)[0]


def interpolate(
    model: Model, x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, factor: float, **_: object
) -> torch.Tensor:
    """Turn ``x`` by the tables of a module configured for position interpolation."""
    return turned(model, x, positions, linear(base, factor), head_dim)


@functools.lru_cache(maxsize=64)
def module(model: Model, head_dim: int, max_length: int, *rope: Any) -> Any:
    """Return a model's rotary module with LongRoPE, built once per configuration as a model builds it; it remembers its last length."""
    return initialised(model.module(model.configure(head_dim, max_length, longrope(*rope))))


@adapter.implements("longrope.frequencies", label="longrope", dtypes=("float32",))
def frequencies(
    short_factors: torch.Tensor, long_factors: torch.Tensor, *, head_dim: int, base: float, original_length: int, length: int
) -> torch.Tensor:
    """Return what the library computes from the configuration for a length."""
    rope = longrope(base, original_length, tuple(short_factors.tolist()), tuple(long_factors.tolist()))
    return initial(rope, head_dim, MAX_POSITIONS, PHI3, seq_len=length)[0]


@adapter.implements("longrope.attention_factor", label="longrope", dtypes=("float32",), when=alike)
def attention_factor(*, original_length: int, max_length: int, short_mscale: float | None, **_: object) -> float:
    """Return the number that multiplies cosine and sine."""
    rope = longrope(10_000.0, original_length, (1.0,), (1.0,), short_mscale)
    return float(initial(rope, 2, max_length, PHI3)[1])


def rotate(
    model: Model,
    x: torch.Tensor,
    positions: torch.Tensor,
    short_factors: torch.Tensor,
    long_factors: torch.Tensor,
    *,
    head_dim: int,
    base: float,
    original_length: int,
    length: int,
    max_length: int,
    short_mscale: float | None,
    **_: object,
) -> torch.Tensor:
    """Turn ``x`` by the tables of a module configured for LongRoPE, in a sequence whose last token ends it at ``length``."""
    lists = tuple(short_factors.tolist()), tuple(long_factors.tolist())
    tables = functools.partial(module(model, head_dim, max_length, base, original_length, *lists, short_mscale), x)
    return model.turn(x, x, *within(length, tables, positions, switch=original_length))[0]


# Phi-3's configuration takes no rope_type but 'longrope'.
offer("position_interpolation.rotate", "linear", interpolate)
offer("longrope.rotate", "longrope", rotate, (*MODELS, PHI3), when=alike)
