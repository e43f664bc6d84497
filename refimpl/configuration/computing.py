"""Numbers out of a configuration: what the operations of the schemes give for a layer and a length."""

import warnings
from collections.abc import Mapping
from typing import Any

from refimpl.arrays import Array, array_namespace, outer, row, taken
from refimpl.configuration.findings import SOFTMAX, Kind, Reading, Rotation
from refimpl.configuration.reading import read
from refimpl.configuration.scalings import declared
from refimpl.configuration.temperatures import unscaled
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.parted import replaced
from refimpl.spec import Operation


class ConfigurationWarning(UserWarning):
    """A key that isn't read, or that libraries read in two ways."""


def chosen(reading: Reading, layer: int) -> Kind:
    """Return the kind of a layer; where the configuration doesn't say it, there must be only one kind."""
    if len(reading.kinds) == 1 and reading.kinds[0].layers is None:
        return reading.kinds[0]
    for kind in reading.kinds:
        if kind.layers is not None and layer in kind.layers:
            return kind
    last = max((max(kind.layers) for kind in reading.kinds if kind.layers), default=None)
    rule = f"be from 0 to {last}" if last is not None else "be a layer whose kind the configuration says"
    message = f"layer must {rule}, got {layer!r}"
    raise SpecificationError(message)


def understood(configuration: Mapping[str, Any], layer: int) -> tuple[Reading, Kind]:
    """Return a reading with the kind of a layer; raise the first error, and warn of what is no error."""
    reading = read(configuration)
    kind = chosen(reading, layer)
    found = (*reading.findings, *kind.findings)
    if wrong := next((finding for finding in found if finding.level == "error"), None):
        raise SpecificationError(wrong.text)
    for finding in found:
        if finding.level == "warning":
            warnings.warn(f"{finding.name}: {finding.text}", ConfigurationWarning, stacklevel=4)
    return reading, kind


def rotation(configuration: Mapping[str, Any], layer: int) -> Rotation | None:
    """Return how a layer turns, none where it doesn't."""
    _, kind = understood(configuration, layer)
    if kind.rotation is not None and kind.rotation.missing:
        missing = next((finding.text for finding in kind.findings if finding.level == "missing"), kind.rotation.rope_type)
        raise SpecificationError(missing)
    return kind.rotation


def rotation_of_tokens(configuration: Mapping[str, Any], layer: int) -> Rotation | None:
    """Return how a layer turns to positions without axes; an encoder of images has no such rotation."""
    found = rotation(configuration, layer)
    if found is not None and found.grid:
        message = f"the layer must turn by one position of a token, got {found.rope_type}, which has several (rotate_on_axes)"
        raise SpecificationError(message)
    return found


def learned(operation: Operation) -> tuple[str, ...]:
    """Return the arrays of an operation that weights hold, and no configuration: all but positions and LongRoPE's lists."""
    return tuple(name for name in operation.arrays if name not in ("x", "positions") and not name.endswith("_factors"))


def held(operation: Operation | None, **given: Array | None) -> tuple[Array, ...]:
    """Return those of the given arrays that an operation takes; raise where one lacks, or where another is given."""
    names = () if operation is None else learned(operation)
    for name, array in given.items():
        if (array is None) == (name in names):
            rule = "be given: the weights hold these numbers, and no key says them" if array is None else "be left out: none are learned"
            message = f"{name} must {rule} in this layer, got {None if array is None else 'an array'}"
            raise SpecificationError(message)
    return tuple(array for array in given.values() if array is not None)


def at_zero(found: Rotation, like: Array) -> Array | None:
    """Return exponents that change no frequency of a rotation, nothing where it takes none."""
    return row([0.0] * (len(found.channels) // 2), like=like) if learned(declared(str(found.operation))) else None


def arguments(found: Rotation, length: int | None, like: Array, exponents: Array | None) -> tuple[tuple[Array, ...], dict[str, Any]]:
    """Return the arrays and the parameters that depend on the length."""
    lists = tuple(row(values, like=like) for values in found.factors or ())
    arrays = lists + held(declared(str(found.operation)), exponents=exponents)
    if "length" not in declared(str(found.operation)).parameters:
        return arrays, {}
    if length is None:
        message = f"length must be given for {found.rope_type}, whose frequencies depend on it, got None"
        raise SpecificationError(message)
    return arrays, {"length": length}


def frequencies(
    configuration: Mapping[str, Any], *, layer: int = 0, length: int | None = None, exponents: Array | None = None, like: Array
) -> Array:
    """Return the radians per position of every pair that turns in a layer; of a layer that doesn't turn, none."""
    found = rotation_of_tokens(configuration, layer)
    if found is None:
        held(None, exponents=exponents)
        return row([], like=like)
    return of(found, length, like, exponents)


def of(found: Rotation, length: int | None, like: Array, exponents: Array | None = None) -> Array:
    """Return the frequencies of a rotation."""
    arrays, extra = arguments(found, length, like, exponents)
    also = {} if arrays else {"like": like}
    return declared(str(found.operation)).function(*arrays, **found.parameters, **extra, **also)


def attention_factor(configuration: Mapping[str, Any], *, layer: int = 0, length: int | None = None) -> float:
    """Return what multiplies cosine and sine in a layer: 1 where nothing does."""
    found = rotation(configuration, layer)
    return 1.0 if found is None else factor_of(found, length)


def factor_of(found: Rotation, length: int | None) -> float:
    """Return the attention factor of a rotation."""
    if found.attention.operation is None:
        return 1.0
    operation, rule = declared(found.attention.operation), dict(found.attention.parameters)
    if length is None and rule.get("short_mscale") != rule.get("long_mscale"):
        message = "length must be given where long sequences have a factor of their own, got None"
        raise SpecificationError(message)
    if length is not None and "length" in operation.parameters:
        rule["length"] = length
    return float(operation.function(**rule))


def scale_of(found: Rotation) -> float | None:
    """Return what multiplies logits, where the model's code scales them by the stretch; else nothing is known of it."""
    return float(declared(SOFTMAX).function(**found.softmax)) if found.softmax else None


def scale(
    configuration: Mapping[str, Any], positions: Array, *, layer: int = 0, slopes: Array | None = None, biases: Array | None = None
) -> Array:
    """Return what multiplies the query at every position in a layer, beside the rotation: 1 where nothing does; by heads where learned."""
    reading, kind = understood(configuration, layer)
    found = kind.temperature or unscaled(each.temperature for each in reading.kinds)
    operation = declared(found.operation)
    return operation.function(positions, *held(operation, slopes=slopes, biases=biases), **found.parameters)


def rotate(
    configuration: Mapping[str, Any],
    x: Array,
    positions: Array,
    *,
    layer: int = 0,
    length: int | None = None,
    exponents: Array | None = None,
) -> Array:
    """Turn queries or keys as a layer does; channels that don't turn pass. Where positions have axes, these are tokens of text."""
    found = rotation_of_tokens(configuration, layer)
    if found is None:
        held(None, exponents=exponents)
        return x
    if found.sections and not found.order:
        message = f"mrope_section must be left out for posenc to turn by it, got {list(found.sections)}: it has no operation for it yet"
        raise SpecificationError(message)
    verify_width(found, x)
    angles, size = outer(positions, of(found, length, positions, exponents)), factor_of(found, length)
    xp = array_namespace(positions)
    cos, sin = size * xp.cos(angles), size * xp.sin(angles)
    part = rotary.turned(taken(x, found.channels), cos, sin, layout=found.layout, direction=found.direction)
    return replaced(x, [found.channels], [part])


def rotate_on_axes(configuration: Mapping[str, Any], x: Array, positions: Array, *, layer: int = 0) -> Array:
    """Turn queries or keys as a layer does to positions with axes, ``[batch] token axis``; channels that don't turn pass."""
    found = rotation(configuration, layer)
    if found is None:
        return x
    if found.on_axes is None:
        message = f"the layer must turn by mrope_section for positions with axes, got {found.rope_type} without it"
        raise SpecificationError(message)
    verify_width(found, x)
    operation = declared(found.on_axes)
    return replaced(x, [found.channels], [operation.function(taken(x, found.channels), positions, **found.settled(operation))])


def verify_width(found: Rotation, x: Array) -> None:
    """Raise where a head has another width than the configuration says."""
    if x.shape[-1] != found.head_dim:
        message = f"axis 'head_dim' of x must be {found.head_dim}, as the configuration has it, got {x.shape[-1]}"
        raise SpecificationError(message)
