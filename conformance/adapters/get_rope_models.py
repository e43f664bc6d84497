"""What models of libraries for serving make of a configuration: the layer that a model's own attention asks ``get_rope`` for."""

import functools
import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from conformance.adapt.adapter import Adapter, Unsupported
from conformance.adapters.get_rope import small, turned, within
from refimpl.configuration.findings import Notes
from refimpl.configuration.sections import language

#: Where an attention turns under a condition, so that what it asks for doesn't say which layers turn.
CONDITIONED = re.compile(r"if [^\n]*:\n *[^\n]*self\.rotary_emb\(")
#: Where a class makes the layers of a model.
MAKES = re.compile(r"(?:=|return) \w+Model\(")
#: Models whose weights of queries and keys are put into another order when they are loaded, so that they turn by another layout.
REORDERED = frozenset({"llama4"})
#: How the names of decoder layers end, in the order in which they are looked for, and those of parts that are left out.
LAYERS, LEFT_OUT = ("DecoderLayer", "TransformerBlock", "Block", "Layer"), ("Linear", "Norm", "MoE", "Attention")


class _AskedError(Exception):
    """An attention has asked for its layer."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        """Keep what it asked for."""
        super().__init__()
        self.asked = asked


@dataclass(frozen=True, eq=False)
class Models:
    """The models of a library, of which nothing is made but what asks for a rotation."""

    adapter: Adapter
    where: Callable[[str], tuple[str, str] | None]
    """Return the module and the name of the class for an architecture."""
    get_rope: Callable[..., Any]
    make: Callable[..., Any]
    """Make the layer that ``get_rope`` is asked for, in float32."""
    serving: Callable[[], AbstractContextManager[None]]
    prepare: Callable[[Any], object]
    """What the library does to a configuration before it makes a model of it."""
    standing_in: Mapping[str, Any] = field(default_factory=dict)
    """What stands in for functions that ask a running server."""

    def rotate(self, x: torch.Tensor, positions: torch.Tensor, *, configuration: Mapping[str, Any], layer: int) -> torch.Tensor:
        """Turn ``x`` by the layer that the model's attention asks for; of latent attention the last channels turn."""
        section = language(configuration, Notes())
        asked = self._asked(json.dumps({"model_type": configuration.get("model_type"), **section.values}), layer)
        head_dim, length = asked["head_size"], asked["max_position"]
        if not small(head_dim, length):
            message = f"a table of {length} positions and {head_dim} channels is too large here"
            raise Unsupported(message)
        made = self.make(**asked)
        table = getattr(getattr(made, "__self__", made), "cos_sin_cache", None)
        within(positions, length if table is None else len(table))
        return torch.cat((x[..., :-head_dim], turned(made, x[..., -head_dim:].contiguous(), positions)), dim=-1)

    @functools.lru_cache(maxsize=64)  # noqa: B019  an adapter has one for as long as its process lives
    def _asked(self, section: str, layer: int) -> Mapping[str, Any]:
        """Return what the decoder layer of a configuration's model asks ``get_rope`` for."""
        values = json.loads(section)
        model_type = str(values.pop("model_type"))
        names = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(model_type, ())
        found = self.where(names if isinstance(names, str) else next(iter(names), ""))
        if found is None or model_type not in CONFIG_MAPPING:
            message = f"the library has no text model for the model type {model_type!r}"
            raise Unsupported(message)
        config = CONFIG_MAPPING[model_type](**values).get_text_config()
        self.prepare(config)
        with self.serving():
            code = _asking(*found)
        reason = ""
        for each in _decoder_layers(code):
            try:
                with self.serving(), mock.patch.multiple(code, **self._replaced(code)):
                    each(**_given(each, config, layer))
            except _AskedError as asked:
                return asked.asked
            except Exception as error:  # noqa: BLE001  whatever a model raises where it lacks a server
                reason = reason or f", which raises {type(error).__name__}: {error}"
        message = f"{code.__name__} asks for no rotation here{reason}"
        raise Unsupported(message)

    def _replaced(self, code: ModuleType) -> dict[str, Any]:
        """Return what stands in a model's file in the place of what it imports."""
        signature = inspect.signature(self.get_rope)

        def ask(*values: Any, **named: Any) -> None:
            asked = signature.bind(*values, **named).arguments
            raise _AskedError({name: value for name, value in asked.items() if name != "dtype"})

        parts: dict[str, Any] = {name: mock.MagicMock() for name in vars(code) if name.endswith(LEFT_OUT) and _elsewhere(code, name)}
        return parts | {name: value for name, value in self.standing_in.items() if hasattr(code, name)} | {"get_rope": ask}


def _asking(module: str, name: str) -> ModuleType:
    """Return the file of the class that makes a model's layers, which may be one that the model extends; it asks ``get_rope``."""
    try:
        model = getattr(importlib.import_module(module), name)
    except Exception as error:
        message = f"{module} can't be imported here: {type(error).__name__}: {error}"
        raise Unsupported(message) from error
    package = module.rpartition(".")[0]
    own = (each for each in model.__mro__ if each.__module__.startswith(package) and MAKES.search(inspect.getsource(each)))
    code = sys.modules[next(own, model).__module__]
    if not hasattr(code, "get_rope"):
        message = f"{code.__name__} has no decoder layer that asks get_rope"
        raise Unsupported(message)
    if CONDITIONED.search(inspect.getsource(code)):
        message = f"{code.__name__} decides elsewhere which layers turn"
        raise Unsupported(message)
    if code.__name__.rpartition(".")[2] in REORDERED:
        message = f"{code.__name__} turns queries and keys whose weights it has put into another order"
        raise Unsupported(message)
    return code


def _decoder_layers(code: ModuleType) -> Iterator[Any]:
    """Yield the decoder layers of a model's own file, by how their names end."""
    own = [each for each in vars(code).values() if inspect.isclass(each) and each.__module__ == code.__name__]
    for end in LAYERS:
        yield from (each for each in own if next(other for other in (*LAYERS, "") if each.__name__.endswith(other)) == end)


def _given(decoder_layer: Any, config: Any, layer: int) -> dict[str, Any]:
    """Return what a decoder layer takes of what there is without a server."""
    model = SimpleNamespace(hf_config=config, hf_text_config=config, max_model_len=config.max_position_embeddings)
    kinds = getattr(config, "layer_types", None)
    known = {
        **dict.fromkeys(("layer_idx", "layer_id", "idx"), layer),
        "layer_type": kinds[layer] if kinds else None,
        "model_config": config,
        "config": config,
        "vllm_config": mock.MagicMock(model_config=model, cache_config=None, quant_config=None),
        "prefix": f"model.layers.{layer}",
        "cache_config": None,
        "quant_config": None,
    }
    return {name: value for name, value in known.items() if name in inspect.signature(decoder_layer.__init__).parameters}


def _elsewhere(code: ModuleType, name: str) -> bool:
    return bool(getattr(vars(code)[name], "__module__", code.__name__) != code.__name__)
