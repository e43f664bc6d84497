"""What the models of mlx-lm make of a configuration: the layer that each attention turns by."""

import functools
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import mlx.core as mx
from mlx import nn
from mlx_lm.models.base import BaseModelArgs
from mlx_lm.models.rope_utils import DynamicNTKScalingRoPE
from mlx_lm.utils import MODEL_REMAPPING

from conformance.adapt.adapter import Unsupported
from conformance.adapters.mlx_lm_adapter import adapter
from refimpl.configuration import read
from refimpl.configuration.findings import Notes
from refimpl.configuration.sections import language
from refimpl.configuration.spellings import READ

#: What stands for a size that a configuration in extracts leaves out; it has nothing to do with positions.
SIZES = {int: 1, float: 1.0, bool: False, list: []}
#: How many numbers a sequence may have that is filled up to a length.
MOST = 1 << 26
#: What the names of classes that turn have in them.
TURNING = ("RoPE", "Rotary")


class _TurnedError(Exception):
    """An attention asked for its rotation."""


class _Asked(nn.Module):  # type: ignore[misc]  # the library has no types here
    """What stands in the place of a rotation, and keeps the width of what it is given."""

    width = 0

    def __call__(self, x: mx.array, *_: object, **__: object) -> mx.array:
        """Keep the width."""
        self.width = x.shape[-1]
        raise _TurnedError


@contextmanager
def _completed() -> Iterator[list[str]]:
    """Have the library's arguments take sizes that a configuration leaves out, and say which."""
    missing = list[str]()

    def from_dict(kind: Any, given: Mapping[str, Any]) -> Any:
        fields = inspect.signature(kind).parameters
        absent = {name: field.annotation for name, field in fields.items() if field.default is field.empty and name not in given}
        missing.extend(absent)
        sizes = {name: SIZES.get(getattr(sort, "__origin__", sort)) for name, sort in absent.items() if name not in READ}
        return kind(**sizes, **{name: value for name, value in given.items() if name in fields})

    with mock.patch.object(BaseModelArgs, "from_dict", classmethod(from_dict)):
        yield missing


@functools.lru_cache(maxsize=8)
def _model(configuration: str) -> Any:
    """Return the model; the library computes no weight before it is needed."""
    values = json.loads(configuration)
    name = values.get("model_type")
    try:
        library = importlib.import_module(f"mlx_lm.models.{MODEL_REMAPPING.get(name, name)}")
    except ImportError as error:
        message = f"the library has no model type {name!r}"
        raise Unsupported(message) from error
    with _completed() as missing:
        try:
            return library.Model(library.ModelArgs.from_dict(values))
        except Exception as error:
            if missing:
                message = f"the library asks for {', '.join(sorted({*missing} & READ or missing))}, which the configuration doesn't have"
                raise Unsupported(message) from error
            raise


class Layer:
    """What a layer's attention turns queries and keys by."""

    def __init__(self, configuration: Mapping[str, Any], layer: int) -> None:
        """Find it in the model."""
        block = _model(json.dumps(configuration)).layers[layer]
        found = [each for _, each in block.named_modules() if "Attention" in type(each).__name__]
        if not found:
            message = f"layer {layer} of the library's model has no attention"
            raise Unsupported(message)
        self.attention: Any = found[0]
        self.states = mx.zeros((1, 1, language(configuration, Notes()).values["hidden_size"]))
        names = [name for name, each in self.attention.children().items() if any(word in type(each).__name__ for word in TURNING)]
        self.rope: Any = self.attention[names[0]] if names else None
        self.width = self._width(names[0]) if names else 0

    def _width(self, name: str) -> int:
        """Return how many channels attention has turned, which is none where it leaves them alone."""
        asked = self.attention[name] = _Asked()
        given = {"mask": None, "cache": None, "shared_kv": (self.states, self.states) if self._shares else None}
        names = inspect.signature(self.attention.__call__).parameters.keys()
        try:
            with suppress(_TurnedError):
                self.attention(self.states, **{each: value for each, value in given.items() if each in names})
        finally:
            self.attention[name] = self.rope
        return asked.width

    @property
    def _shares(self) -> bool:
        """Whether it takes keys from an earlier layer."""
        return not getattr(self.attention, "has_kv", True)

    def turn(self, x: mx.array, offset: int) -> mx.array:
        """Turn the channels that attention hands over, which are the last ones of a head."""
        if not self.width:
            return x
        rest, part = x[..., : -self.width], x[..., -self.width :]
        return mx.concatenate([rest, self.rope(part, offset=offset)], axis=-1)

    def in_halves(self, x: mx.array) -> mx.array:
        """Return the channels that turn with the first of every two neighbours before the second."""
        start = x.shape[-1] - self.width
        return mx.concatenate([x[..., :start], x[..., start::2], x[..., start + 1 :: 2]], axis=-1)

    def turned_within(self, x: mx.array, offset: int, length: int | None) -> mx.array:
        """Turn ``x`` in a sequence of that length, to which zeros fill it up where the rule looks at it."""
        tokens = x.shape[-2]
        if length is None or not isinstance(self.rope, DynamicNTKScalingRoPE):
            return self.turn(x, offset)
        if (numbers := x.size // tokens * length) > MOST:
            message = f"a sequence that zeros fill up must have at most {MOST} numbers, got {numbers}"
            raise Unsupported(message)
        return self.turn(mx.pad(x, [(0, 0), (0, 0), (0, length - offset - tokens), (0, 0)]), offset)[..., :tokens, :]


@adapter.implements("config.frequencies")
def frequencies(*, configuration: Mapping[str, Any], layer: int, length: int | None) -> mx.array:
    """Return the angles by which the layer turns pairs from position 0 to 1; half of the layers keep no frequencies."""
    found = Layer(configuration, layer)
    turning = getattr(found.rope, "dims", None) or getattr(found.rope, "dim", None) or found.width
    fastest = mx.abs(found.turned_within(mx.eye(1, found.width).reshape(1, 1, 1, found.width), 1, length)[0, 0, 0, 1:])
    apart = 1 + int(mx.argmax(fastest))
    first = mx.arange(turning // 2) * (2 if apart == 1 else 1)
    x = mx.zeros((1, 1, 1, found.width))
    x[..., first] = 1.0
    turned = found.turned_within(x, 1, length)[0, 0, 0]
    return mx.arctan2(turned[first + apart], turned[first])


@adapter.implements("config.attention_factor")
def attention_factor(*, configuration: Mapping[str, Any], layer: int) -> float:
    """Return what the layer multiplies a vector at position 0 by."""
    found = Layer(configuration, layer)
    return float(found.turn(mx.ones((1, 1, 1, found.width)), 0)[0, 0, 0, 0]) if found.width else 1.0


@adapter.implements("config.rotate", positions="consecutive")
def rotate(x: mx.array, positions: mx.array, *, configuration: Mapping[str, Any], layer: int, length: int | None) -> mx.array:
    """Turn ``x`` by the layer, whose offset is the first position."""
    found = Layer(configuration, layer)
    turned = found.turned_within(x, int(positions[0]), length)
    return found.in_halves(turned) if _writes_halves(configuration, layer) else turned


def _writes_halves(configuration: Mapping[str, Any], layer: int) -> bool:
    """Whether the published code writes neighbours that it turned as halves, which no dot product sees and the library doesn't do."""
    rotations = [kind.rotation for kind in read(configuration).kinds if kind.rotation and layer in (kind.layers or [layer])]
    return any(rotation.layout == "interleaved_to_half" for rotation in rotations)
