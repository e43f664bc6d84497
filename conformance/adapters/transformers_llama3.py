"""Llama 3's rule through ``ROPE_INIT_FUNCTIONS`` and the rotary modules that are built on it."""

import functools
from typing import Any

import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import MODELS, Model, batched, embedding

Settings = tuple[tuple[str, Any], ...]


def settings(*, factor: float, original_length: int, base: float, **ends: float) -> Settings:
    """Return ``rope_parameters`` as a model's configuration spells them."""
    given = {"rope_theta": base, "factor": factor, "original_max_position_embeddings": original_length, **ends}
    return (("rope_type", "llama3"), *given.items())


def stretched(rope: Settings) -> int:
    """Return the length that the context grows to."""
    given = dict(rope)
    return int(given["factor"] * given["original_max_position_embeddings"])


@adapter.implements("llama3.frequencies", label="llama3", dtypes=("float32",))
def frequencies(*, head_dim: int, **parameters: Any) -> torch.Tensor:
    """Return the blended frequencies."""
    rope = settings(**parameters)
    return ROPE_INIT_FUNCTIONS["llama3"](MODELS[0].configure(head_dim, stretched(rope), dict(rope)), device="cpu")[0]


def rotate(model: Model, x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, **parameters: Any) -> torch.Tensor:
    """Turn ``x`` by the tables of a module configured for Llama 3."""
    rope = settings(**parameters)
    tables = embedding(model, head_dim, stretched(rope), *rope)(x, batched(positions))
    return model.turn(x, x, *tables)[0]


for _model in MODELS:
    adapter.implements("llama3.rotate", label=f"{_model.label}-llama3", layout=_model.layout, direction=_model.direction)(
        functools.partial(rotate, _model)
    )
