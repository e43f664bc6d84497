"""A reading in words: what each kind of layers does, why, and what is wrong."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from refimpl.arrays import Array
from refimpl.configuration.computing import at_zero, factor_of, learned, of, scale_of
from refimpl.configuration.differences import applying
from refimpl.configuration.findings import SOFTMAX, Decision, Finding, Kind, Reading, Rotation, Temperature, called, shared
from refimpl.configuration.scalings import declared
from refimpl.errors import SpecificationError

#: What is said of pairs that turn by the negative angle.
AGAINST = ", against the usual direction"
#: A style and a text.
Line = tuple[str, str]
STYLES = {"error": "bad", "warning": "head", "missing": "head"}
LAYOUTS = {
    "half": "the two channels of a pair lie {half} apart",
    "interleaved": "pairs are neighbours",
    "interleaved_to_half": "pairs are read as neighbours and written {half} channels apart",
}
#: The same where all channels of one axis of an image come before those of the next.
OF_BLOCKS = {**LAYOUTS, "half": "the two channels of a pair lie half of an axis's channels apart"}
FEW = 8


def lines(reading: Reading, kinds: Sequence[Kind], length: int | None, like: Array) -> Iterator[Line]:
    """Yield what kinds of layers do, then on what libraries differ, then what is wrong."""
    for group in alike(kinds):
        yield "head", " and ".join(heading(kind, reading.kinds) for kind in group)
        yield from of_kind(group[0], length, like)
    for key, difference in applying(reading, kinds):
        yield "", f"differs     {key}: {difference.says} ({difference.link})"
    for finding in every(reading, kinds):
        yield STYLES[finding.level], f"{finding.level:<12}{finding.name}: {finding.text}"
        if finding.link:
            yield "quiet", f"            {finding.link}"


def every(reading: Reading, kinds: Sequence[Kind]) -> tuple[Finding, ...]:
    """Return the findings of the whole and of some kinds, each once, errors first."""
    found = dict.fromkeys([*reading.findings, *(each for kind in kinds for each in kind.findings)])
    return tuple(sorted(found, key=lambda finding: tuple(STYLES).index(finding.level)))


def alike(kinds: Sequence[Kind]) -> list[list[Kind]]:
    """Put kinds together that turn alike."""
    groups: list[list[Kind]] = []
    for kind in kinds:
        same = next((group for group in groups if kind.rotation is not None and does(group[0]) == does(kind)), None)
        if same is None:
            groups.append([kind])
        else:
            same.append(kind)
    return groups


def does(kind: Kind) -> tuple[Rotation | None, Temperature | None, tuple[str, ...]]:
    """Return what a kind does to queries and keys, and what picks its keys."""
    return kind.rotation, kind.temperature, tuple(decision.says for decision in kind.decisions if decision.key == "indexer")


def heading(kind: Kind, kinds: Sequence[Kind]) -> str:
    """Name a kind and its layers, beside all kinds of the model."""
    name = called(kind.name, [each.name for each in kinds])
    return name if kind.layers is None else f"{name} ({numbered(kind.layers)})"


def numbered(layers: Sequence[int]) -> str:
    """Say which layers: all in a row, in equal steps, or one by one."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    steps = {second - first for first, second in pairwise(layers)}
    if steps == {1}:
        return f"layers {layers[0]} to {layers[-1]}"
    told = ", ".join(map(str, layers[: FEW - 1]))
    return f"layers {told}" if len(layers) < FEW else f"{len(layers)} layers: {told}, ... {layers[-1]}"


def of_kind(kind: Kind, length: int | None, like: Array) -> Iterator[Line]:
    """Yield what layers of a kind do, and why."""
    if kind.rotation is not None:
        yield from of_rotation(kind.rotation, length, like)
    elif not kind.rests and any(finding.level == "error" for finding in kind.findings):
        yield "bad", "  turns     can't be said: see the errors"
    else:
        yield "", "  turns     no channel"
    if kind.temperature is not None:
        yield "", f"  queries   times {call(kind.temperature.operation, kind.temperature.parameters)}"
    for decision in kind.decisions:
        yield "quiet", reason(decision)


def reason(decision: Decision) -> str:
    """Say what a decision rests on."""
    return f"  {'assumed' if decision.assumed else 'because':<10}{decision.key}: {decision.says}"


def of_rotation(rotation: Rotation, length: int | None, like: Array) -> Iterator[Line]:
    """Yield which channels turn, how fast, and what multiplies them."""
    channels, base = rotation.channels, rotation.parameters["base"]
    which = f"all {rotation.head_dim} channels" if len(channels) == rotation.head_dim else f"channels {channels[0]} to {channels[-1]}"
    layouts = OF_BLOCKS if rotation.grid.get("order") == "block" else LAYOUTS
    pairs = layouts[rotation.layout].format(half=len(channels) // 2)
    of_head = "of a head" if len(channels) == rotation.head_dim else f"of a head of {rotation.head_dim}"
    yield "", f"  turns     {which} {of_head}; {pairs}{AGAINST if rotation.direction == 'negative' else ''}"
    yield "", f"  base      {base:,.10g}"
    if rotation.sections:
        yield "", f"  axes      {shared(rotation.sections, rotation.order)}"
    if rotation.grid:
        yield "", f"  axes      {' and '.join(map(str, rotation.grid['axes']))} channels follow the axes of an image"
        yield "", f"  computed  {call(str(rotation.on_axes), {**rotation.parameters, **rotation.grid})}"
        return
    if rotation.operation is None:
        yield "", f"  scaling   {rotation.rope_type}: posenc has no operation for it yet"
        return
    for words, tokens in lengths(rotation, length):
        yield "", f"  scaling   {rotation.rope_type}{words}: {slowed(rotation, tokens, like)}"
        yield "", f"  factor    {factor(rotation, tokens)}"
    scale, width = scale_of(rotation), rotation.head_dim
    if scale is not None:
        yield "", f"  softmax   scale {scale:.10g}, which is {scale * width**0.5:.6g} / sqrt({width})"
    yield "", f"  computed  {call(str(rotation.operation), rotation.parameters)}"
    if rotation.softmax:
        yield "", f"            {call(SOFTMAX, rotation.softmax)}"
    if rotation.on_axes is not None:
        shown = {"head_dim": rotation.parameters["head_dim"], "base": rotation.base_on_axes}
        yield "", f"            {call(rotation.on_axes, {**shown, 'sections': rotation.sections, 'order': rotation.order})}"


def call(operation: str, parameters: Mapping[str, Any]) -> str:
    """Write an operation with its parameters, behind the arrays that weights hold."""
    given = [*learned(declared(operation)), *(f"{name}={value}" for name, value in parameters.items())]
    return f"{operation}({', '.join(given)})"


def lengths(rotation: Rotation, length: int | None) -> list[tuple[str, int | None]]:
    """Return the lengths at which frequencies differ, in words."""
    if "length" not in declared(str(rotation.operation)).parameters:
        return [("", length)]
    original = rotation.parameters["original_length"]
    if length is not None:
        return [(f" at {length} positions", length)]
    longer = (f" beyond {original} positions", original + 1) if rotation.factors else (f" at {2 * original} positions", 2 * original)
    return [(f" up to {original} positions", original), longer]


def slowed(rotation: Rotation, length: int | None, like: Array) -> str:
    """Say by how much which pairs are slowed, off the numbers themselves."""
    try:
        frequencies = [float(value) for value in of(rotation, length, like, at_zero(rotation, like))]
    except SpecificationError as error:
        return f"can't be computed: {error}"
    plain = [rotation.parameters["base"] ** (-2 * pair / len(rotation.channels)) for pair in range(len(frequencies))]
    ratios = [first / second if second else math.inf for first, second in zip(plain, frequencies, strict=True)]
    also = "; then each is multiplied by e to an exponent that the weights hold" if learned(declared(str(rotation.operation))) else ""
    return f"{bands(ratios)}{also}"


def bands(ratios: Sequence[float]) -> str:
    """Say which pairs are divided by what: equal neighbours together, what changes from pair to pair as a range."""
    rounded = [float(f"{ratio:.6g}") for ratio in ratios]
    if set(rounded) == {1.0}:
        return "all pairs keep their frequency"
    if len(set(rounded)) == 1:
        return f"all pairs are divided by {rounded[0]:g}"
    fast = next((pair for pair, ratio in enumerate(rounded) if ratio != rounded[0]), len(rounded))
    slow = next((len(rounded) - pair for pair, ratio in enumerate(reversed(rounded)) if ratio != rounded[-1]), 0)
    said = [divided(range(fast), rounded)] if fast > 1 or rounded[0] == 1.0 else []
    between = range(fast if said else 0, slow if len(rounded) - slow > 1 else len(rounded))
    said += [divided(between, rounded)] if between else []
    said += [divided(range(between.stop, len(rounded)), rounded)] if between.stop < len(rounded) else []
    return "; ".join(said)


def divided(pairs: range, ratios: Sequence[float]) -> str:
    """Say what some pairs are divided by."""
    least, most = min(ratios[pair] for pair in pairs), max(ratios[pair] for pair in pairs)
    one = len(pairs) == 1
    which = f"pair {pairs[0]}" if one else f"pairs {pairs[0]} to {pairs[-1]}"
    if least == most == 1.0:
        return f"{which} {'keeps its' if one else 'keep their'} frequency"
    if least == math.inf:
        return f"{which} {'does' if one else 'do'} not turn"
    amount = f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
    return f"{which} {'is' if one else 'are'} divided by {amount}"


def factor(rotation: Rotation, length: int | None) -> str:
    """Say what multiplies cosine and sine."""
    try:
        value = factor_of(rotation, length)
    except SpecificationError as error:
        return f"can't be computed: {error}"
    said = f"cosine and sine times {value:.10g} (attention factor)"
    return said if value == 1.0 else f"{said}: rotated channels count {value * value:.6g} times in logits"


def document(reading: Reading, kinds: Sequence[Kind], length: int | None, like: Array) -> dict[str, Any]:
    """Return the same as mappings and lists."""
    return {
        "format": 1,
        "model_type": reading.model_type,
        "kinds": [_kind(kind, length, like) for kind in kinds],
        "differences": [{"key": key, "says": each.says, "link": each.link} for key, each in applying(reading, kinds)],
        "findings": [_finding(each) for each in every(reading, kinds)],
    }


def _finding(each: Finding) -> dict[str, Any]:
    return {"level": each.level, "name": each.name, "key": each.key, "text": each.text, "link": each.link or None}


def _kind(kind: Kind, length: int | None, like: Array) -> dict[str, Any]:
    decisions = [{"key": each.key, "says": each.says, "assumed": each.assumed} for each in kind.decisions]
    rotation = None if kind.rotation is None else _rotation(kind.rotation, length, like)
    grows = kind.temperature and {
        "operation": kind.temperature.operation,
        "parameters": dict(kind.temperature.parameters),
        "learned": [*learned(declared(kind.temperature.operation))],
    }
    layers = None if kind.layers is None else [*kind.layers]
    return {"name": kind.name, "layers": layers, "rotation": rotation, "temperature": grows, "decisions": decisions}


def _rotation(rotation: Rotation, length: int | None, like: Array) -> Mapping[str, Any]:
    said = {
        "head_dim": rotation.head_dim,
        "channels": [rotation.channels[0], rotation.channels[-1]],
        "layout": rotation.layout,
        "direction": rotation.direction,
        "rope_type": rotation.rope_type,
        "operation": rotation.operation,
        "parameters": dict(rotation.parameters),
        "sections": [*rotation.sections],
        "learned": [*learned(declared(rotation.operation))] if rotation.operation else [],
    }
    try:
        computed = rotation.operation is not None
        said["frequencies"] = [float(value) for value in of(rotation, length, like)] if computed and not said["learned"] else None
        said["attention_factor"] = factor_of(rotation, length) if computed else None
        said["softmax_scale"] = scale_of(rotation) if computed else None
    except SpecificationError:
        said["frequencies"] = said["attention_factor"] = said["softmax_scale"] = None
    return said
