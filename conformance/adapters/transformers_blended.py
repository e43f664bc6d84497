"""YaRN and Llama 3's rule through ``ROPE_INIT_FUNCTIONS`` and the rotary modules that are built on it."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from transformers.models.deepseek_v3.modeling_deepseek_v3 import yarn_apply_mscale

from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import MODELS, Model, initial, offer, turned

Settings = dict[str, Any]
OPTIONAL = ("beta_fast", "beta_slow", "truncate", "mscale", "mscale_all_dim", "attention_factor")


def yarn(*, factor: float, original_length: int = 4096, base: float = 10_000.0, **options: Any) -> Settings:
    """Return ``rope_parameters`` as a model's configuration spells them; what isn't set is left out."""
    chosen = {name: options[name] for name in OPTIONAL if options.get(name) is not None}
    return {"rope_type": "yarn", "rope_theta": base, "factor": factor, "original_max_position_embeddings": original_length, **chosen}


def llama3(*, factor: float, original_length: int, base: float, low_freq_factor: float, high_freq_factor: float, **_: object) -> Settings:
    """Return ``rope_parameters`` as a model's configuration spells them."""
    ends = {"low_freq_factor": low_freq_factor, "high_freq_factor": high_freq_factor}
    return {"rope_type": "llama3", "rope_theta": base, "factor": factor, "original_max_position_embeddings": original_length, **ends}


def stretched(rope: Settings) -> int:
    """Return the length that the context grows to."""
    return int(rope["factor"] * rope["original_max_position_embeddings"])


def frequencies(settings: Callable[..., Settings], *, head_dim: int, **parameters: Any) -> torch.Tensor:
    """Return the blended frequencies."""
    rope = settings(**parameters)
    return initial(rope, head_dim, stretched(rope))[0]


@adapter.implements("yarn.attention_factor", label="yarn", dtypes=("float32",), slope=0.1)
def attention_factor(**parameters: Any) -> float:
    """Return the number that multiplies cosine and sine."""
    rope = yarn(**parameters)
    return float(initial(rope, 64, stretched(rope))[1])


@adapter.implements("yarn.softmax_scale", label="deepseek-v3", dtypes=("float32",))
def softmax_scale(*, qk_head_dim: int, factor: float, mscale_all_dim: float | None) -> float:
    """Return the scaling of DeepSeek's attention."""
    return float(yarn_apply_mscale(yarn(factor=factor, mscale_all_dim=mscale_all_dim), qk_head_dim**-0.5))


def rotate(
    settings: Callable[..., Settings], model: Model, x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, **parameters: Any
) -> torch.Tensor:
    """Turn ``x`` by the tables of a module that is configured so."""
    rope = settings(**parameters)
    return turned(model, x, positions, rope, head_dim, stretched(rope))


for _settings in (yarn, llama3):
    _name, _declared = _settings.__name__, {"slope": 0.1} if _settings is yarn else {}
    adapter.implements(f"{_name}.frequencies", label=_name, dtypes=("float32",))(functools.partial(frequencies, _settings))
    offer(f"{_name}.rotate", _name, functools.partial(rotate, _settings), MODELS, **_declared)
