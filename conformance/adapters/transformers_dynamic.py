"""Dynamic NTK scaling and proportional rope, through ``ROPE_INIT_FUNCTIONS`` and the rotary modules that are built on it."""

import functools
from typing import Any

import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from conformance.adapt.adapter import Unsupported
from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import MAX_POSITIONS, MODELS, Model, batched, embedding


def dynamic(base: float, factor: float) -> dict[str, Any]:
    """Return ``rope_parameters`` of dynamic NTK scaling, as a model's configuration spells them."""
    return {"rope_type": "dynamic", "rope_theta": base, "factor": factor}


def proportional(head_dim: int, base: float, turned_pairs: int, factor: float) -> dict[str, Any]:
    """Return the same of proportional rope; half a channel more keeps the library's cut from losing a pair."""
    share = min(1.0, (2 * turned_pairs + 0.5) / head_dim)
    return {"rope_type": "proportional", "rope_theta": base, "partial_rotary_factor": share, "factor": factor}


@adapter.implements("dynamic_ntk.frequencies", label="dynamic", dtypes=("float32",))
def slowed(*, head_dim: int, base: float, factor: float, original_length: int, length: int) -> torch.Tensor:
    """Return what the library computes from the configuration for a length."""
    configuration = MODELS[0].configure(head_dim, original_length, dynamic(base, factor))
    return ROPE_INIT_FUNCTIONS["dynamic"](configuration, device="cpu", seq_len=length)[0]


@adapter.implements("proportional_rope.frequencies", label="proportional", dtypes=("float32",))
def fast(*, head_dim: int, base: float, turned_pairs: int, factor: float) -> torch.Tensor:
    """Return what the library computes from the configuration."""
    configuration = MODELS[0].configure(head_dim, MAX_POSITIONS, proportional(head_dim, base, turned_pairs, factor))
    return ROPE_INIT_FUNCTIONS["proportional"](configuration, device="cpu")[0]


def rotate(
    model: Model,
    x: torch.Tensor,
    positions: torch.Tensor,
    *,
    head_dim: int,
    base: float,
    factor: float,
    original_length: int,
    length: int,
    **_: object,
) -> torch.Tensor:
    """Turn ``x`` by the tables of a new module, since one that has seen a longer sequence keeps its base."""
    if length <= int(positions.max()):
        message = "the module takes the largest position plus 1 for the length"
        raise Unsupported(message)
    rows = batched(positions)
    whole = torch.cat((rows, torch.full_like(rows[:, :1], length - 1)), dim=-1)
    tables = model.module(model.configure(head_dim, original_length, dynamic(base, factor)))(x, whole)
    return model.turn(x, x, *(table[:, :-1] for table in tables))[0]


def rotate_fast(
    model: Model, x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, turned_pairs: int, factor: float, **_: object
) -> torch.Tensor:
    """Turn ``x`` by the tables of a module configured for proportional rope."""
    rope = proportional(head_dim, base, turned_pairs, factor)
    return model.turn(x, x, *embedding(model, head_dim, MAX_POSITIONS, *rope.items())(x, batched(positions)))[0]


for _model in MODELS:
    adapter.implements("dynamic_ntk.rotate", label=f"{_model.label}-dynamic", layout=_model.layout, direction=_model.direction)(
        functools.partial(rotate, _model)
    )
    adapter.implements("proportional_rope.rotate", label=f"{_model.label}-proportional", layout=_model.layout, direction=_model.direction)(
        functools.partial(rotate_fast, _model)
    )
