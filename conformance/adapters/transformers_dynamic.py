"""Dynamic NTK scaling and proportional rope, through ``ROPE_INIT_FUNCTIONS`` and the rotary modules that are built on it."""

from typing import Any

import torch

from conformance.adapters.transformers_adapter import adapter, initialised
from conformance.adapters.transformers_rotary import Model, initial, offer, turned, within


def dynamic(base: float, factor: float) -> dict[str, Any]:
    """Return ``rope_parameters`` of dynamic NTK scaling, as a model's configuration spells them."""
    return {"rope_type": "dynamic", "rope_theta": base, "factor": factor}


def proportional(head_dim: int, base: float, turned_pairs: int, factor: float) -> dict[str, Any]:
    """Return the same of proportional rope; half a channel more keeps the library's cut from losing a pair."""
    share = min(1.0, (2 * turned_pairs + 0.5) / head_dim)
    return {"rope_type": "proportional", "rope_theta": base, "partial_rotary_factor": share, "factor": factor}


@adapter.implements("dynamic_ntk.frequencies", label="dynamic", dtypes=("float32",), growth="tokens")
def slowed(*, head_dim: int, base: float, factor: float, original_length: int, length: int, **_: object) -> torch.Tensor:
    """Return what the library computes from the configuration for a length."""
    return initial(dynamic(base, factor), head_dim, original_length, seq_len=length)[0]


@adapter.implements("proportional_rope.frequencies", label="proportional", dtypes=("float32",))
def fast(*, head_dim: int, base: float, turned_pairs: int, factor: float) -> torch.Tensor:
    """Return what the library computes from the configuration."""
    return initial(proportional(head_dim, base, turned_pairs, factor), head_dim)[0]


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
    module = initialised(model.module(model.configure(head_dim, original_length, dynamic(base, factor))))
    return model.turn(x, x, *within(length, lambda rows: module(x, rows), positions))[0]


def rotate_fast(
    model: Model, x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, turned_pairs: int, factor: float, **_: object
) -> torch.Tensor:
    """Turn ``x`` by the tables of a module configured for proportional rope."""
    return turned(model, x, positions, proportional(head_dim, base, turned_pairs, factor), head_dim)


offer("dynamic_ntk.rotate", "dynamic", rotate, growth="tokens")
offer("proportional_rope.rotate", "proportional", rotate_fast)
