"""YaRN through ``ROPE_INIT_FUNCTIONS`` and the rotary modules that are built on it."""

import functools
from typing import Any

import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import MODELS, Model, batched, embedding

Settings = tuple[tuple[str, Any], ...]
OPTIONAL = ("beta_fast", "beta_slow", "truncate", "mscale", "mscale_all_dim", "attention_factor")


def settings(*, factor: float, original_length: int = 4096, base: float = 10_000.0, **options: Any) -> Settings:
    """Return ``rope_parameters`` as a model's configuration spells them; what isn't set is left out."""
    chosen = tuple((name, options[name]) for name in OPTIONAL if options.get(name) is not None)
    given = (("rope_type", "yarn"), ("rope_theta", base), ("factor", factor), ("original_max_position_embeddings", original_length))
    return given + chosen


def stretched(rope: Settings) -> int:
    """Return the length that the context grows to."""
    given = dict(rope)
    return int(given["factor"] * given["original_max_position_embeddings"])


def computed(head_dim: int, rope: Settings) -> tuple[torch.Tensor, float]:
    """Return what the library computes from the configuration: frequencies and attention factor."""
    inv_freq, factor = ROPE_INIT_FUNCTIONS["yarn"](MODELS[0].configure(head_dim, stretched(rope), dict(rope)), device="cpu")
    return inv_freq, float(factor)


@adapter.implements("yarn.frequencies", label="yarn", dtypes=("float32",))
def frequencies(*, head_dim: int, **parameters: Any) -> torch.Tensor:
    """Return the blended frequencies."""
    return computed(head_dim, settings(**parameters))[0]


@adapter.implements("yarn.attention_factor", label="yarn", dtypes=("float32",))
def attention_factor(**parameters: Any) -> float:
    """Return the number that multiplies cosine and sine."""
    return computed(64, settings(**parameters))[1]


def rotate(model: Model, x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, **parameters: Any) -> torch.Tensor:
    """Turn ``x`` by the tables of a module configured for YaRN."""
    rope = settings(**parameters)
    tables = embedding(model, head_dim, stretched(rope), *rope)(x, batched(positions))
    return model.turn(x, x, *tables)[0]


for _model in MODELS:
    adapter.implements("yarn.rotate", label=f"{_model.label}-yarn", layout=_model.layout, direction=_model.direction)(
        functools.partial(rotate, _model)
    )
