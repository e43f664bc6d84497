"""Functions that read a model's configuration: what each kind of its layers is judged as."""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from conformance.adapt.adapter import Adapter, Implementation, Unsupported
from conformance.adapt.assumed import UNSAID, Assumed
from conformance.adapt.frameworks import FRAMEWORKS
from conformance.adapt.results import exact
from conformance.adapt.signatures import VARIADIC, parameters, place
from conformance.adapt.wording import attribute
from conformance.calls.form import nonsense
from conformance.calls.outcomes import UNJUDGED
from conformance.calls.takes import Takes, misplaced
from conformance.spec.declarations import operations
from refimpl.configuration import Kind, Reading, Rotation, read
from refimpl.configuration.computing import learned
from refimpl.configuration.families import is_known
from refimpl.configuration.findings import ON_AXES, ON_GRID, called
from refimpl.configuration.readers import UNREAD_PART
from refimpl.configuration.temperatures import LEARNED_SCALE, LOG_SCALE, SCALE, unscaled
from refimpl.spec import Operation

#: What turns to positions on several axes.
TURNS_ON_AXES = "config.rotate_on_axes"
#: What says by how much queries are multiplied.
SCALES = "config.scale"
#: Functions that are judged as operations of other names.
ELSEWHERE = {TURNS_ON_AXES: [ON_AXES, ON_GRID], SCALES: [SCALE, LOG_SCALE, LEARNED_SCALE]}
#: What such functions offer, and the arrays that each is given.
OFFERED: Mapping[str, tuple[str, ...]] = {
    "config.rotate": ("x", "positions"),
    TURNS_ON_AXES: ("x", "positions"),
    "config.frequencies": (),
    "config.attention_factor": (),
    SCALES: ("positions",),
}
#: What the names of these functions start with.
CONFIG = "config."
#: What each may take by keyword.
KEYWORDS = {
    "configuration": "the whole mapping",
    "layer": "a layer of the kind that is judged, counted from 0",
    "length": "how long the sequence is, where the frequencies or the attention factor depend on it; else null",
    "exponents": "what the weights hold of the frequencies of this layer, (pair), where exponents are learned; else null",
    "slopes": "what multiplies the logarithm of a query's position in this layer, (head), where that is learned; else null",
    "biases": "what multiplies a query at position 0 in this layer, (head), where that is learned; else null",
}
#: Those that every such function may take.
ALWAYS = ("configuration", "layer")
#: Which parameters it may declare: no key says them.
DECLARED = ("layout", "direction")
#: What a file may have, and an object in it: published ones have some hundred keys.
MOST_BYTES, MOST_KEYS = 16 << 20, 10_000
#: How many names a message shows.
SHOWN = 3
#: What a file begins with that is no JSON, and what it is.
OTHERWISE = {
    b"version https://git-lfs": "a pointer of Git LFS: fetch the file that it stands for",
    b"<": "a web page: download the file itself",
    b"GGUF": "weights in GGUF: give config.json of the model that they were made of",
}
#: What stands where JSON ends to be JSON, what that is, and what to do.
SLIPS = {
    r"\s*$": "an empty file, or one that ends too early: download it again",
    r",\s*[}\]]": "a comma before a closing bracket: take it out",
    r"//|/\*": "a comment: take it out",
    r"'": "single quotes: write double ones",
    r"(None|True|False)\b": "a word of Python: write null, true or false",
    r"[A-Za-z_]\w*\s*:": "a name without quotes, as in YAML: write it in double quotes",
}
#: The lists of factors that an operation takes as arrays, and a configuration as lists.
FACTORS = ("short", "long")


class ConfigurationError(ValueError):
    """A configuration can't be read, or says what can't be judged."""


def loaded(path: Path) -> Mapping[str, Any]:
    """Return what a file holds; a key that is there twice would hide the first."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        message = f"{path.name} must be a file that can be read, got {error.strerror}"
        raise ConfigurationError(message) from error
    if len(text) > MOST_BYTES:
        message = f"{path.name} must be a file of at most {MOST_BYTES:,} bytes, got a longer one"
        raise ConfigurationError(message)
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        known = [what for start, what in OTHERWISE.items() if text.startswith(start)] or _slips(error)
        message = f"{path.name} must be a JSON file, got {known[0] if known else f'{type(error).__name__}: {error}'}"
        raise ConfigurationError(message) from error
    if not isinstance(found, Mapping):
        message = f"{path.name} must be a JSON object, got {type(found).__name__}"
        raise ConfigurationError(message)
    return found


def _slips(error: Exception) -> list[str]:
    """Return what stands where a text ends to be JSON, with its line."""
    if not isinstance(error, json.JSONDecodeError):
        return []
    rest = error.doc[error.pos :]
    each = (rest, error.doc[: error.pos].rstrip()[-1:] + rest)  # a comma may be what comes before
    return [f"{what} (line {error.lineno})" for slip, what in SLIPS.items() if any(re.match(slip, text) for text in each)]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MOST_KEYS:
        message = f"an object must have at most {MOST_KEYS} keys, got {len(pairs)}"
        raise ValueError(message)
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            message = f"every key must stand once, got {name!r} twice"
            raise ValueError(message)
        found[name] = value
    return found


def by_configuration(adapter: Adapter, path: Path) -> Adapter:
    """Return an adapter with what its functions of a configuration are judged as: for each kind of layers, an operation of ours."""
    configuration = loaded(path)
    reading = _right(read(configuration), path)
    offered = [one for one in adapter.implementations if one.operation in OFFERED]
    if not offered:
        names = sorted({one.operation for one in adapter.implementations})
        got = f"{', '.join(names[:SHOWN])}{f' and {len(names) - SHOWN} more' if len(names) > SHOWN else ''}"
        message = f"{adapter.name} must offer one of {', '.join(OFFERED)} to be judged by a configuration, got {got}"
        raise ConfigurationError(message)
    for one in offered:
        _verify(one)
    found = [each for one in offered for kind in reading.kinds for each in _judged(one, kind, configuration, reading, adapter)]
    if not found:
        grids = any(kind.rotation is not None and kind.rotation.grid for kind in reading.kinds)
        got = f"places in an image, for which there is {TURNS_ON_AXES}" if grids else "none"
        message = f"{path.name} must have layers that turn for {' and '.join(one.operation for one in offered)} to be judged, got {got}"
        raise ConfigurationError(message)
    return replace(adapter, implementations=found)


def kinds_of_layers(path: Path) -> Mapping[str, tuple[int, ...]]:
    """Return which layers each kind has, under the names by which kinds are judged."""
    kinds = read(loaded(path)).kinds
    names = [kind.name for kind in kinds]
    return {called(kind.name, names): kind.layers or () for kind in kinds}


def judged_as(name: str) -> list[str]:
    """Return the operations that such a function can be judged as, by what a configuration says."""
    alike = [known for known in operations().values() if known.name.endswith(f".{name.removeprefix(CONFIG)}")]
    return ELSEWHERE.get(name) or [known.name for known in alike if not any(map(of_axes, known.arrays.values()))]


def keywords(name: str) -> Mapping[str, str]:
    """Return what such a function may take by keyword: a length, or what weights hold, only where something may depend on it."""
    alike = [operations()[each] for each in judged_as(name)]
    known = {*ALWAYS, *(each for operation in alike for each in (*operation.parameters, *operation.arrays))}
    return {keyword: meaning for keyword, meaning in KEYWORDS.items() if keyword in known}


def of_axes(axes: str) -> bool:
    """Whether an array has an axis of axes: positions on several."""
    return axes.endswith(" axis")


def told(path: Path) -> tuple[str, ...]:
    """Return in words what a configuration is warned of and what posenc has no operation for, as ``posenc explain`` tells them."""
    found = [each for each in read(loaded(path)).every_finding if each.level != "error"]
    return tuple(f"{each.name}: {each.text}{f' ({each.link})' if each.link else ''}" for each in found)


@dataclass(frozen=True)
class Beside:
    """What a configuration says besides the parameters of one kind of layers.

    Of ``others`` it has their operation with its parameters; of the kind the width of whole heads, of the
    model how many positions it has. ``widths`` are others that stand there for heads, and whose these are.
    """

    others: Mapping[str, tuple[str, Mapping[str, Any]]]
    head_dim: int
    longest: int | None
    widths: Mapping[int, str]


def beside(path: Path, operation: str, settled: Mapping[str, Any]) -> Beside | None:
    """Return what a configuration says besides the parameters of an operation, nothing where no kind of layers has these."""
    offered = next((name for name in OFFERED if operation in judged_as(name)), None)
    if offered is None:  # patches of an image, of which there is one kind of layers
        return None
    reading = read(loaded(path))
    names = [kind.name for kind in reading.kinds]
    judged = {called(kind.name, names): _turning(offered, kind, reading) for kind in reading.kinds}
    known = {name: (each.name, rotation.settled(each), rotation) for name, (rotation, each) in judged.items() if each is not None}
    said = {name: value for name, value in settled.items() if name not in DECLARED}
    own = next((name for name, (called, has, _) in known.items() if called == operation and said.items() <= has.items()), None)
    if own is None:
        return None
    _, _, rotation = known.pop(own)
    others = {name: (called, has) for name, (called, has, _) in known.items()}
    return Beside(others, rotation.head_dim, reading.longest, _widths(reading, rotation))


def _widths(reading: Reading, rotation: Rotation) -> Mapping[int, str]:
    """Return which other widths of heads stand in the configuration, and whose these are."""
    heads = [(each.rotation.head_dim, f"as in {each.name}") for each in reading.kinds if each.rotation is not None]
    found: dict[int, list[str]] = {}
    odd = (reading.divided or 0) % 2
    shared = (reading.divided or 0) - odd, f"the hidden size divided among the heads{', less an odd channel' if odd else ''}"
    for width, whose in (*heads, shared):
        if width not in (0, rotation.head_dim):
            found.setdefault(width, []).append(whose)
    return {width: " or ".join(whose) for width, whose in found.items()}


def _right(reading: Reading, path: Path) -> Reading:
    wrong = [finding.text for finding in reading.every_finding if finding.level == "error"]
    if wrong:
        message = f"{path.name}: {wrong[0]}"
        raise ConfigurationError(message)
    return reading


def _verify(one: Implementation) -> None:
    """Raise where a function can't be called with what functions of a configuration are given."""
    found, arrays = parameters(one.function), OFFERED[one.operation]
    if one.form.call is not None:
        message = f"{one.operation} must be called as it is, without call=..., got {one.form.call!r}"
        raise ConfigurationError(message)
    if found is None:
        return
    required = {each.name for each in found[len(arrays) :] if each.default is inspect.Parameter.empty and each.kind not in VARIADIC}
    by_position = [each for each in found if each.kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)]
    variadic = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in found)
    if required - {*KEYWORDS} or (len(by_position) < len(arrays) and not variadic):
        wanted = f"{', '.join(arrays)} with the keywords" if arrays else "the keywords"
        got = ", ".join(each.name for each in found) or "none"
        known = ", ".join(keywords(one.operation))
        message = f"{place(one.function)} must be a function of {wanted} {known}, as many of these as it needs, got {got}"
        raise ConfigurationError(message)


def _verify_declared(one: Implementation, operation: Operation) -> None:
    """Raise where a function declares what no code could mean, or what the configuration says."""
    for wrong in (*misplaced(one.takes, operation), *nonsense(one.form, operation, one.takes)):
        message = f"{one.operation}: {wrong}"
        raise ConfigurationError(message)
    for name in one.restrictions.keys() - {*DECLARED}:
        message = f"{one.operation} must declare no parameter but {' and '.join(DECLARED)}: the configuration says the others, got {name!r}"
        raise ConfigurationError(message)


def _judged(one: Implementation, kind: Kind, configuration: Mapping[str, Any], reading: Reading, adapter: Adapter) -> list[Implementation]:
    """Return what a function is judged as in one kind of layers; nothing where these have no attention, or no such number."""
    rotation, operation = _turning(one.operation, kind, reading)
    if operation is None:
        return []
    _verify_declared(one, operation)
    declared = {name: value for name, value in one.restrictions.items() if name in operation.parameters}
    restrictions = {**rotation.settled(operation), **declared}
    assumed = None if kind.rests or learned(operation) else _assumed(reading, kind, declared)
    probe = None if assumed is None else _Probe(adapter, one, assumed, restrictions)
    function = _Configured(one.function, operation, deepcopy(configuration), kind, rotation, alone=len(reading.kinds) == 1, probe=probe)
    first, *others = [function] if operation.arrays else function.by_layer
    takes = _within(one.takes, *_reach(reading, rotation, operation)) if "positions" in operation.arrays else one.takes
    form = replace(one.form, beside=(rotation.channels.start, rotation.head_dim - rotation.channels.stop))
    label = f"{one.label}, {called(kind.name, [each.name for each in reading.kinds])}"
    judged = replace(one, label=label, operation=operation.name, function=first, restrictions=restrictions, takes=takes, form=form)
    return [judged, *(replace(judged, label=f"{label}, layer {other.layer()}", function=other) for other in others)]


def _turning(offered: str, kind: Kind, reading: Reading) -> tuple[Rotation, Operation | None]:
    """Return what a kind of layers does, and what a function of this name is judged as there, if anything."""
    rotation = kind.at_rest if kind.rests else kind.rotation
    if rotation is None or (rotation.grid and offered != TURNS_ON_AXES):
        return kind.at_rest, None
    if offered == SCALES:
        rotation = _multiplied(kind, reading)
    names = {TURNS_ON_AXES: rotation.on_axes, SCALES: rotation.operation}
    return rotation, operations().get(str(names.get(offered, f"{rotation.scheme}.{offered.partition('.')[2]}")))


def _assumed(reading: Reading, kind: Kind, declared: Mapping[str, Any]) -> Assumed | None:
    """Return what is assumed of a kind of layers: much where the model type isn't known, the width where only other code reads its key."""
    highest, assumed = (reading.longest or 1) - 1, {decision.key for decision in kind.decisions if decision.assumed}
    if is_known(reading.model_type):
        unread = next((each.key for each in reading.findings if each.name == UNREAD_PART), None)
        why = f"code differs on {unread}, which transformers doesn't read for the model type {reading.model_type!r}"
        return Assumed(why, {"partial_rotary_factor"}, spared=False, highest=highest) if unread else None
    keys = {*UNSAID, *assumed} - {*declared} - ({"layout"} - assumed)
    scaled = kind.rotation is not None and kind.rotation.rope_type != "default"
    why = f"the model type {reading.model_type!r} isn't in posenc's tables"
    return Assumed(why, keys, spared=scaled and len(reading.kinds) > 1, highest=highest)


def _multiplied(kind: Kind, reading: Reading) -> Rotation:
    """Return what multiplies queries in the place of what turns them: 1 where only other kinds have a temperature, or none has."""
    found = kind.temperature or unscaled([each.temperature for each in reading.kinds])
    return Rotation(0, range(0), "", "", found.operation, found.parameters)


def _reach(reading: Reading, rotation: Rotation, operation: Operation) -> tuple[int, int | None]:
    """Return the lowest and the highest position: those that count from the middle of an image end at its sides."""
    if sides := rotation.grid.get("sides"):
        return 1 - max(sides), max(sides) - 1
    longest = _longest(reading, rotation, operation)
    return 0, None if longest is None else longest - 1


def _longest(reading: Reading, rotation: Rotation, operation: Operation) -> int | None:
    """Return how many positions a model may have: where its rule follows the length beyond the one that is said, as many as the factor.

    Queries that grow with the logarithm have no end of their own: of code that takes the longest length nothing else shows.
    """
    if operation.name == LOG_SCALE:
        return None
    grows = "length" in operation.parameters and rotation.parameters.get("original_length") == reading.longest
    return round(rotation.parameters.get("factor", 1.0) * reading.longest) if grows and reading.longest else reading.longest


def _within(takes: Takes, lowest: int, highest: int | None) -> Takes:
    """Return what a function takes of positions: those that its model may have, unless it declares others."""
    return replace(
        takes,
        lowest=lowest if takes.lowest is None else takes.lowest,
        highest=highest if takes.highest is None else takes.highest,
    )


@dataclass(frozen=True)
class _Probe:
    """What asks a function once whether it does what is assumed of its model type."""

    adapter: Adapter
    implementation: Implementation
    assumed: Assumed
    settled: Mapping[str, Any]
    told: dict[tuple[int, ...], str] = field(default_factory=dict)

    def refuted(self, function: "_Configured") -> str:
        """Return which assumption doesn't hold in a layer of the kind, nothing where all may; asked once, of every layer."""
        layers = function.kind.layers or (0,)
        if layers not in self.told:
            codes = [partial(self._result, function, layer) for layer in layers]
            every = [self.assumed.refuted(code, function.operation, function.rotation, self.settled) for code in codes]
            some = next(((layer, reason) for layer, reason in zip(layers, every, strict=True) if reason), None)
            self.told[layers] = "" if some is None else some[1] if all(every) else f"layer {some[0]}: {some[1]}"
        return self.told[layers]

    def _result(self, function: "_Configured", layer: int, *arrays: np.ndarray) -> np.ndarray:
        framework = FRAMEWORKS[self.adapter.framework](self.adapter.device)
        dtype = self.implementation.dtypes[0]
        given = [framework.integers(each) if each.dtype.kind == "i" else framework.floats(each, dtype) for each in arrays]
        length = int(arrays[1].max()) + 1 if arrays else 1
        wanted = length if "length" in function.operation.parameters else None
        return exact(function.answer(deepcopy(function.configuration), layer, wanted, *given), framework)[0]


@dataclass(frozen=True)
class _Configured:
    """A function of a configuration, called as the operation that one kind of its layers computes.

    What a call changes in the configuration stands there for the next, as where a model's layers share it.
    """

    function: Callable[..., Any]
    operation: Operation
    configuration: Mapping[str, Any]
    kind: Kind
    rotation: Rotation
    alone: bool
    probe: _Probe | None = None
    layers_asked: list[int] = field(default_factory=list)
    as_given: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        """Keep the configuration as it is given."""
        object.__setattr__(self, "as_given", deepcopy(self.configuration))

    @property
    def configuration_changes(self) -> list[str]:
        """What calls changed in the configuration, in words."""
        keys = list(_unlike(self.as_given, self.configuration))
        return [f"changes the configuration that it is given, which layers share: {', '.join(keys)}"] if keys else []

    @property
    def __name__(self) -> str:
        """Return the function's own name, which messages show."""
        return str(attribute(self.function, "__qualname__", type(self.function).__name__))

    @property
    def __code__(self) -> Any:
        """Return the function's own code, whose line messages show."""
        return attribute(self.function, "__code__")

    def __call__(self, *arrays: Any, **given: Any) -> Any:
        """Give the configuration in place of parameters, and by keyword what weights hold; factors that are drawn stand in it."""
        if self._unjudged:
            raise _unjudged(self._unjudged)
        configuration, names = self.configuration, learned(self.operation)
        first = len(arrays) - len(names)
        weights, arrays = dict(zip(names, arrays[first:], strict=True)), arrays[:first]
        if self.rotation.factors is not None and self.operation.arrays:
            configuration = deepcopy(configuration)
            _fill(configuration, {f"{name}_factor": list(map(float, values)) for name, values in zip(FACTORS, arrays[-2:], strict=True)})
            arrays = arrays[:-2]
        self.layers_asked[:] = [self.layer(*arrays)]
        if self.probe is not None and (reason := self.probe.refuted(self)):
            raise _unjudged(reason)
        return self.answer(configuration, self.layers_asked[0], given.get("length"), *arrays, **weights)

    def answer(self, configuration: Mapping[str, Any], layer: int, length: int | None, *arrays: Any, **weights: Any) -> Any:
        """Call the function with those of the keywords that it takes."""
        known = {**dict.fromkeys(KEYWORDS), "configuration": configuration, "layer": layer, "length": length, **weights}
        return self.function(*arrays, **{name: value for name, value in known.items() if self._takes(name)})

    @property
    def by_layer(self) -> "list[_Configured]":
        """Return it for single layers of the kind: what takes no arrays has no sizes by which layers take turns."""
        layers = (self.kind.layers or ()) if self._takes("layer") else ()
        some = dict.fromkeys([*layers[:2], *layers[len(layers) // 2 :][:1], *layers[-1:]])
        return [replace(self, kind=replace(self.kind, layers=(layer,))) for layer in some] or [self]

    def layer(self, *arrays: Any) -> int:
        """Return the first layer of the kind for every second size of a call, else one of the others, by the size alone."""
        first, *others = self.kind.layers or (0,)
        turn, odd = divmod(sum(arrays[0].shape), 2) if arrays else (0, 0)
        return others[turn % len(others)] if odd and others else first

    @property
    def _unjudged(self) -> str:
        """What of the rotation no operation of ours computes, in words."""
        if self.rotation.missing:
            return next(finding.text for finding in self.kind.findings if finding.level == "missing")
        if not (self.kind.layers or self.alone):
            return f"the configuration must say which layers are of the kind {self.kind.name}, got no layer_types"
        if untaken := [name for name in learned(self.operation) if not self._takes(name)]:
            return f"the function must take {' and '.join(untaken)} by keyword in this layer, where these are learned"
        return ""

    def _takes(self, name: str) -> bool:
        found = parameters(self.function)
        return found is None or any(each.name == name or each.kind is inspect.Parameter.VAR_KEYWORD for each in found)


def _unjudged(why: str) -> Unsupported:
    """Return what says that posenc can't judge a call, and not that the code doesn't take it."""
    return Unsupported(UNJUDGED + why)


def _fill(configuration: Any, values: Mapping[str, list[float]]) -> None:
    """Replace the values of keys wherever they stand in a configuration."""
    for name, value in configuration.items() if isinstance(configuration, dict) else ():
        if name in values:
            configuration[name] = values[name]
        else:
            _fill(value, values)


def _unlike(before: Mapping[str, Any], now: Mapping[str, Any], inside: str = "") -> Iterator[str]:
    """Yield the keys whose values differ, with those that they stand in."""
    for key in dict.fromkeys([*before, *now]):
        one, other = before.get(key), now.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _unlike(one, other, f"{inside}{key}.")
        elif one != other:
            yield f"{inside}{key}"
