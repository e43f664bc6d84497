"""What the models of transformers make of a configuration: their own rotary module, and the function that turns queries and keys by it."""

import copy
import functools
import importlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import torch
from transformers.modeling_utils import local_torch_dtype
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from conformance.adapt.adapter import Unsupported
from conformance.adapters.transformers_adapter import adapter, initialised
from conformance.adapters.transformers_rotary import batched, within
from refimpl.configuration.families import family
from refimpl.configuration.findings import Notes
from refimpl.configuration.sections import language

#: What the names of functions that turn queries and keys start with.
TURNING = ("apply_rotary", "apply_multimodal_rotary")
#: What makes coordinates of the patches of a whole image, in models that turn by these.
CENTRES = "get_patches_center_coordinates"
#: A position at which no pair turns by half a turn, whose tables so have the frequencies.
NEAR = 2.0**-14
#: The method by which attention turns its own queries and keys.
ITSELF = "apply_rotary_embeddings"
#: The type whose module holds the frequencies of the height before those of the width, which take turns only in its tables.
HEIGHT_FIRST = "ernie4_5_vl_moe_text"


class Layers:
    """The rotary module of a model, if it has one, and what its attention does with it."""

    def __init__(self, section: Mapping[str, Any], dtype: torch.dtype) -> None:
        """Make the module as its model does where it is loaded in a dtype."""
        whole = _made(section)
        self.configuration, self.dtype = whole.get_text_config(), dtype
        self.modeling = _modeling(whole)
        rotary = self._own("RotaryEmbedding")
        named = [each for each in rotary if {"Text", "Thinker"} & set(_words(each.__name__))] if len(rotary) > 1 else rotary
        self.held = loaded(named[0], self.configuration, dtype) if named else None
        self.resting: dict[int, bool] = {}

    def _own(self, ending: str) -> list[Any]:
        """Return the model's own classes whose names end so, but for those of images or sounds beside its text."""
        every = [each for name, each in vars(self.modeling).items() if name.endswith(ending) and inspect.isclass(each)]
        others = {"Vision", "Audio", "Cross"} - {word.capitalize() for word in self.modeling.__name__.split("_")}
        return [each for each in every if each.__module__ == self.modeling.__name__ and not others & set(_words(each.__name__))]

    @property
    def module(self) -> Any:
        """Return the rotary module, or raise ``Unsupported`` where the model has none."""
        if self.held is None:
            message = f"{self.modeling.__name__} has no rotary module of its own"
            raise Unsupported(message)
        return self.held

    def kind(self, layer: int) -> str | None:
        """Return the name of a layer's kind, where the module tells kinds apart; DeepSeek-V4's has two names for its own."""
        if "layer_type" not in inspect.signature(self.module.forward).parameters:
            return None
        name = str((self.configuration.layer_types or ["full_attention"])[layer])
        return name if hasattr(self.module, f"{name}_inv_freq") else "main" if name == "sliding_attention" else "compress"

    def buffer(self, layer: int, name: str) -> Any:
        """Return what the module holds for a layer."""
        own = f"{self.kind(layer)}_{name}"
        return getattr(self.module, own) if hasattr(self.module, own) else getattr(self.module, name)

    def tables(self, x: torch.Tensor, rows: torch.Tensor, layer: int) -> tuple[torch.Tensor, ...]:
        """Return cosines and sines, or both as one complex table."""
        kind = self.kind(layer)
        found = self.module(x, rows, **({} if kind is None else {"layer_type": kind}))
        return tuple(found) if isinstance(found, tuple) else (found,)

    def load(self, exponents: torch.Tensor) -> None:
        """Give the module what a checkpoint holds of its frequencies."""
        self.module.load_state_dict({"alpha": exponents})

    def turn(self, x: torch.Tensor, tables: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Turn queries as the model's attention does; where its function takes no wider head, attention hands it the part that turns."""
        if len(tables) == 1:
            return self._complex(x, tables[0])
        plain: Any = getattr(self.modeling, "apply_rotary_pos_emb", None)
        neighbours = getattr(self.configuration, "rope_interleave", True)
        function = getattr(self.modeling, "apply_rotary_pos_emb_interleave", plain) if neighbours else plain
        latent = getattr(self.configuration, "qk_rope_head_dim", None)
        if latent and latent < x.shape[-1]:
            return torch.cat((x[..., :-latent], _applied(function, x[..., -latent:], tables)), dim=-1)
        try:
            return _applied(function, x, tables)
        except RuntimeError:
            width = tables[0].shape[-1]
            return torch.cat((_applied(function, x[..., :width], tables), x[..., width:]), dim=-1)

    def rests(self, layer: int) -> bool:
        """Whether a layer's attention leaves queries and keys alone: without numbers it runs to its end and asks for no rotation.

        To layers whose base is listed as 0 a model hands no tables, and layers of cross-attention don't pass them on.
        """
        bases = getattr(self.configuration, "layer_rope_theta", None)
        if layer in (getattr(self.configuration, "cross_attention_layers", None) or ()):
            return True
        if layer not in self.resting:
            self.resting[layer] = (bases is not None and not bases[layer]) or self._ends_unturned(layer)
        return self.resting[layer]

    def attention(self, configuration: Any, layer: int) -> Any:
        """Return the attention of a layer by a configuration, or raise ``Unsupported`` where the model has none of its own."""
        kinds = self._own("Attention")
        if not kinds:
            message = f"{self.modeling.__name__} has no attention of its own"
            raise Unsupported(message)
        by_layer = "layer_idx" in inspect.signature(kinds[0].__init__).parameters
        return kinds[0](configuration, *[layer] * by_layer)

    def _ends_unturned(self, layer: int) -> bool:
        """Whether attention ends so, or doesn't run alone and says it by a switch; of a model without a rotary module, every kind of it."""
        kinds = self._own("Attention")
        for kind in kinds[:1] if self.held else kinds:
            made = None
            try:
                made = self._alone(kind, layer)
                self._attend(made)
            except Exception as error:
                if self.held:
                    return not getattr(made, "use_rope", True)
                message = f"{self.modeling.__name__} has no rotary module, and its {kind.__name__} doesn't run alone: {error}"
                raise Unsupported(message) from error
        return bool(kinds)

    def _alone(self, kind: Any, layer: int) -> Any:
        """Return attention without numbers, as if every head had keys of its own."""
        configuration = copy.copy(self.configuration)
        configuration.num_key_value_heads = configuration.num_attention_heads
        with torch.device("meta"), local_torch_dtype(self.dtype):
            return kind(configuration, layer)

    def _attend(self, attention: Any) -> None:
        """Run attention without numbers; it raises where it turns."""
        turning: dict[str, Any] = {name: _refused for name in vars(self.modeling) if name.startswith(TURNING)}
        with torch.device("meta"), local_torch_dtype(self.dtype), mock.patch.dict(vars(self.modeling), turning):
            states, places = torch.zeros(1, 1, self.configuration.hidden_size), torch.zeros(1, 1)
            given = {"hidden_states": states, "position_embeddings": (states, states), "position_ids": places, "attention_mask": None}
            asked = inspect.signature(attention.forward).parameters.values()
            others = {each.name: states for each in asked if each.name.endswith("hidden_states")}
            attention(**given, **{name: value for name, value in others.items() if name not in given})

    def _complex(self, x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        function, width = self.modeling.apply_rotary_emb, 2 * table.shape[-1]
        part = x[..., -width:]
        if self.modeling.__name__.endswith("llama4"):
            turned = function(part.transpose(1, 2), part.transpose(1, 2), table)[0].transpose(1, 2)
        else:
            turned = function(part, part, table)[0]
        return torch.cat((x[..., :-width], turned), dim=-1)


class Images:
    """The rotary module of an encoder of images, and the function that turns patches by it."""

    def __init__(self, section: Mapping[str, Any], dtype: torch.dtype) -> None:
        """Make the module as its model does where it is loaded in a dtype."""
        whole = _made(section)
        self.modeling = _modeling(whole)
        every = [each for name, each in vars(self.modeling).items() if name.endswith(("RotaryEmbedding", "RopePositionEmbedding"))]
        kind = next(each for each in every if len(every) == 1 or "Vision" in _words(each.__name__))
        self.module = loaded(kind, whole, dtype).eval()
        self.sides = _sides(whole) if hasattr(self.modeling, CENTRES) else None
        if self.sides is None and len(inspect.signature(self.module.forward).parameters) < 2:
            message = f"{type(self.module).__name__} takes no positions, but has tables of a whole image"
            raise Unsupported(message)
        grid = family(whole.model_type).grid
        self.flipped = grid is not None and grid.first == "width"

    def turn(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Turn patches of images, which most models put one after the other."""
        places, tokens = positions.expand(x.shape[0], *positions.shape[-2:]), x.transpose(1, 2)
        if self.sides is not None:
            return torch.cat([self._by_coordinates(*own) for own in zip(x[:, None], places, strict=True)])
        if function := getattr(self.modeling, "apply_rotary_pos_emb_2d", None):
            return self._by_places(function, tokens.flatten(0, 1), places.flatten(0, 1)).unflatten(0, tokens.shape[:2]).transpose(1, 2)
        places = places.flip(-1) if self.flipped else places  # the library has the height first
        if function := getattr(self.modeling, "apply_multidimensional_rope", None):
            turned: torch.Tensor = function(tokens, *self.module(x, places), places)
            return turned.transpose(1, 2)
        function = getattr(self.modeling, "apply_rotary_pos_emb_vision", None) or self.modeling.apply_rotary_pos_emb
        patches = tokens.flatten(0, 1)
        return _applied(function, patches, self.module(patches, places.flatten(0, 1))).unflatten(0, tokens.shape[:2]).transpose(1, 2)

    def _by_places(self, function: Callable[..., Any], patches: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Turn by tables of the places as they are, which have no axis of heads."""
        heads = patches.transpose(0, 1)
        return _applied(function, heads, self.module(heads, places)).transpose(0, 1)

    def _by_coordinates(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Turn by coordinates, which the library makes of a whole grid only: they are given in the place of its grid's."""
        with mock.patch.object(self.modeling, CENTRES, return_value=positions.to(torch.float32) / self.sides):
            tables = self.module(torch.zeros(1, 3, 16, 16, dtype=x.dtype))
        return _applied(self.modeling.apply_rotary_pos_emb, x, tables)


class Encoder:
    """The attention of an encoder that turns its own queries and keys, by tables that it makes at every call."""

    def __init__(self, section: Mapping[str, Any], dtype: torch.dtype) -> None:
        """Make the attention as its model does where it is loaded in a dtype."""
        whole = _made(section)
        (kind,) = _turning_itself(whole)
        with local_torch_dtype(dtype):
            self.attention = kind(whole, whole.hidden_size, whole.num_attention_heads)

    def turn(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Turn the patches of a video."""
        places = positions if positions.ndim == 2 else positions[:, None]
        turned: torch.Tensor = getattr(self.attention, ITSELF)(x, places.unbind(-1))
        return turned


def loaded(kind: Any, configuration: Any, dtype: torch.dtype) -> Any:
    """Return a module as ``from_pretrained`` makes it: built where the dtype is the default one, and then filled where it isn't."""
    with local_torch_dtype(dtype):
        module = kind(config=configuration)
    return initialised(module)


def _sides(configuration: Any) -> torch.Tensor:
    """Return how many patches the image of a configuration has on each side."""
    image, patch = (torch.tensor(size).expand(2) for size in (configuration.image_size, configuration.patch_size))
    return image // patch


def _made(section: Mapping[str, Any]) -> Any:
    """Return what the library makes of a configuration."""
    model_type = str(section.get("model_type"))
    if model_type not in CONFIG_MAPPING:
        message = f"the library has no model type {model_type!r}"
        raise Unsupported(message)
    return CONFIG_MAPPING[model_type](**{name: value for name, value in section.items() if name != "model_type"})


def _modeling(configuration: Any) -> Any:
    return importlib.import_module(type(configuration).__module__.replace("configuration_", "modeling_"))


def _turning_itself(configuration: Any) -> list[Any]:
    """Return the kinds of attention that turn their own queries and keys."""
    return [each for each in vars(_modeling(configuration)).values() if hasattr(each, ITSELF)]


def _refused(*_: Any, **__: Any) -> None:
    message = "this layer turns"
    raise Unsupported(message)


def _words(name: str) -> list[str]:
    """Return the words of a class's name."""
    return "".join(f" {letter}" if letter.isupper() else letter for letter in name).split()


def _applied(function: Callable[..., Any], x: torch.Tensor, tables: tuple[torch.Tensor, ...]) -> torch.Tensor:
    single = next(iter(inspect.signature(function).parameters)) == "x"
    turned: torch.Tensor = function(x, *tables) if single else function(x, x, *tables)[0]
    return turned


@functools.lru_cache(maxsize=8)
def _layers(section: str, dtype: torch.dtype) -> Layers:
    return Layers(json.loads(section), dtype)


@functools.lru_cache(maxsize=8)
def _images(section: str, dtype: torch.dtype) -> Images | Encoder:
    given = json.loads(section)
    return (Encoder if _turning_itself(_made(given)) else Images)(given, dtype)


def layers(configuration: Mapping[str, Any], dtype: torch.dtype = torch.float32) -> Layers:
    """Return the layers of a configuration's language model, made once for each dtype that it is loaded in."""
    section = language(configuration, Notes())
    return _layers(json.dumps({"model_type": configuration.get("model_type"), **section.values}), dtype)


@adapter.implements("config.frequencies", dtypes=("float32",))
def frequencies(*, configuration: Mapping[str, Any], layer: int, length: int | None, exponents: torch.Tensor | None = None) -> torch.Tensor:
    """Return the frequencies that the module holds once it has run, to a length where that counts, in float32, as it multiplies by them.

    With exponents they stand in its tables alone.
    """
    found = layers(configuration)
    if exponents is not None:
        found.load(exponents)
        cosine, sine = (table.double()[0, 0, : len(exponents)] for table in found.tables(torch.zeros(1), torch.tensor([[NEAR]]), layer))
        return (torch.atan2(sine, cosine) / NEAR).float()
    found.tables(torch.zeros(1), torch.tensor([[(length or 1) - 1]]), layer)
    held = torch.as_tensor(found.buffer(layer, "inv_freq"), dtype=torch.float32)
    if found.configuration.model_type == HEIGHT_FIRST:
        return found.module.recomposition_frequencies(held.expand(3, -1))[::2]
    return held.clone()


@adapter.implements("config.attention_factor", dtypes=("float32",))
def attention_factor(*, configuration: Mapping[str, Any], layer: int, length: int | None) -> float:
    """Return what the module multiplies cosines and sines by; where a length may choose it, the cosine of position 0 in such a sequence."""
    found = layers(configuration)
    if length is None:
        return float(found.buffer(layer, "attention_scaling"))
    cosine, _ = found.tables(torch.zeros(1), torch.tensor([[0, length - 1]]), layer)
    return float(cosine[0, 0, 0])


@adapter.implements("config.rotate")
def rotate(
    x: torch.Tensor,
    positions: torch.Tensor,
    *,
    configuration: Mapping[str, Any],
    layer: int,
    length: int | None,
    exponents: torch.Tensor | None = None,
) -> torch.Tensor:
    """Turn ``x`` by the module's tables where the layer turns; the largest position plus 1 is the length to it."""
    found, rows = layers(configuration, x.dtype), batched(positions)
    if found.rests(layer):
        return x.clone()
    if exponents is not None:
        found.load(exponents)
    if length is None:
        return found.turn(x, found.tables(x, rows, layer))
    return found.turn(x, within(length, lambda whole: found.tables(x, whole, layer), positions))


@adapter.implements("config.rotate_on_axes")
def rotate_on_axes(x: torch.Tensor, positions: torch.Tensor, *, configuration: Mapping[str, Any], layer: int) -> torch.Tensor:
    """Turn ``x`` by the module's tables for positions on several axes, which it takes with the axis first, or in an image, on two."""
    if family(str(configuration.get("model_type"))).grid is not None:
        return _images(json.dumps(configuration), x.dtype).turn(x, positions)
    found = layers(configuration, x.dtype)
    return found.turn(x, found.tables(x, positions.expand(x.shape[0], *positions.shape[-2:]).permute(2, 0, 1), layer))
