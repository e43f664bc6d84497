"""What vLLM's models make of a configuration: the layer that a model's own attention asks ``get_rope`` for."""

import functools
import importlib
import inspect
import json
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from vllm.model_executor.models.registry import _TEXT_GENERATION_MODELS
from vllm.transformers_utils.config import patch_rope_parameters

from conformance.adapt.adapter import Unsupported
from conformance.adapters.get_rope import small, turned, within
from conformance.adapters.vllm_adapter import adapter, make, serving
from refimpl.configuration.findings import Notes
from refimpl.configuration.sections import language

#: Where an attention turns under a condition, so that what it asks for doesn't say which layers turn.
CONDITIONED = re.compile(r"if [^\n]*:\n *[^\n]*self\.rotary_emb\(")


class _AskedError(Exception):
    """An attention has asked for its layer."""

    def __init__(self, asked: inspect.BoundArguments) -> None:
        """Keep what it asked for."""
        super().__init__()
        self.asked = asked


def _asked(head_size: int, max_position: int, is_neox_style: bool = True, rope_parameters: Any = None, **_: Any) -> None:  # noqa: FBT001, FBT002
    raise _AskedError(inspect.signature(_asked).bind(head_size, max_position, is_neox_style, rope_parameters))


@functools.lru_cache(maxsize=64)
def _request(section: str, layer: int) -> tuple[int, int, bool, Any]:
    """Return what the decoder layer of a model's own file asks ``get_rope`` for; its other parts are left out."""
    values = json.loads(section)
    model_type = str(values.pop("model_type"))
    names = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(model_type, ())
    module, _ = _TEXT_GENERATION_MODELS.get(names if isinstance(names, str) else next(iter(names), ""), ("", ""))
    if not module or model_type not in CONFIG_MAPPING:
        message = f"the library's table of models has no text model for the model type {model_type!r}"
        raise Unsupported(message)
    config = CONFIG_MAPPING[model_type](**values).get_text_config()
    patch_rope_parameters(config)
    try:
        code = importlib.import_module(f"vllm.model_executor.models.{module}")
    except Exception as error:
        message = f"vllm.model_executor.models.{module} can't be imported here: {type(error).__name__}"
        raise Unsupported(message) from error
    if CONDITIONED.search(inspect.getsource(code)):
        message = f"vllm.model_executor.models.{module} decides elsewhere which layers turn"
        raise Unsupported(message)
    return _of_layer(code, config, layer)


def _of_layer(code: Any, config: Any, layer: int) -> tuple[int, int, bool, Any]:
    own = [
        each
        for name, each in vars(code).items()
        if name.endswith(("DecoderLayer", "TransformerBlock")) and getattr(each, "__module__", "") == code.__name__
    ]
    if not own or not hasattr(code, "get_rope"):
        message = f"{code.__name__} has no decoder layer that asks get_rope"
        raise Unsupported(message)
    model = SimpleNamespace(hf_config=config, hf_text_config=config, max_model_len=config.max_position_embeddings)
    server = mock.MagicMock(model_config=model, cache_config=None, quant_config=None)
    kinds = getattr(config, "layer_types", None)
    known = {
        "layer_idx": layer,
        "layer_type": kinds[layer] if kinds else None,
        "model_config": config,
        "config": config,
        "vllm_config": server,
        "prefix": f"model.layers.{layer}",
        "cache_config": None,
        "quant_config": None,
    }
    given = {name: value for name, value in known.items() if name in inspect.signature(own[0].__init__).parameters}
    left_out = ("Linear", "Norm", "MoE", "Attention")
    replaced: dict[str, Any] = {name: mock.MagicMock() for name in vars(code) if name.endswith(left_out) and _elsewhere(code, name)}
    replaced |= {name: lambda: 1 for name in vars(code) if name == "get_tensor_model_parallel_world_size"} | {"get_rope": _asked}
    try:
        with serving(), mock.patch.multiple(code, **replaced):
            own[0](**given)
    except _AskedError as found:
        return found.asked.args
    except Exception as error:
        message = f"{own[0].__name__} can't be made here: {type(error).__name__}: {error}"
        raise Unsupported(message) from error
    message = f"{own[0].__name__} asks for no rotation"
    raise Unsupported(message)


def _elsewhere(code: Any, name: str) -> bool:
    return bool(getattr(vars(code)[name], "__module__", code.__name__) != code.__name__)


@adapter.implements("config.rotate", lowest=0)
def rotate(x: torch.Tensor, positions: torch.Tensor, *, configuration: Mapping[str, Any], layer: int) -> torch.Tensor:
    """Turn ``x`` by the layer that the model's attention asks for; of latent attention the last channels turn."""
    section = language(configuration, Notes())
    values = {"model_type": configuration.get("model_type"), **section.values}
    head_dim, length, neox, rope = _request(json.dumps(values), layer)
    if not small(head_dim, length):
        message = f"a table of {length} positions and {head_dim} channels is too large here"
        raise Unsupported(message)
    made = make(head_dim, length, neox, rope or {})
    table = getattr(getattr(made, "__self__", made), "cos_sin_cache", None)
    within(positions, length if table is None else len(table))
    return torch.cat((x[..., :-head_dim], turned(made, x[..., -head_dim:].contiguous(), positions)), dim=-1)
