"""What a vector is, and how the mapping of a file becomes one: every key known, every leaf of its type."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from conformance.spec.document import MAXIMUM_BYTES
from conformance.spec.profiles import PROFILES

FORMAT = 1
FILE_KEYS = frozenset({"format", "revision", "operation", "summary", "source", "arrays", "parameters", "results", "cases"})
MODEL_KEYS = frozenset({"format", "revision", "model", "source", "configuration", "kinds", "cases"})
KIND_KEYS = frozenset({"name", "layers", "head_dim", "channels", "missing", "cases"})
ATTESTED_KEYS = frozenset({"format", "attested", "scheme", "cases"})
TENSOR_KEYS = frozenset({"dtype", "shape", "values"})
HEAD_KEYS = frozenset({"id", "exposes", "parameters", "inputs"})
CASE_KEYS = HEAD_KEYS | {"tags", "equality", "expected", "allowed", "also"}
BAD_CASE_KEYS = HEAD_KEYS | {"tags", "error"}
ATTESTED_CASE_KEYS = HEAD_KEYS | {"operation", "source", "computed_in", "printed"}
EQUALITIES = ("allowance", "exact", "row_constant")
LEAVES: Mapping[str, frozenset[type]] = {"float64": frozenset({float}), "int64": frozenset({int})}
RADII: frozenset[type] = frozenset({float, type(None)})
LIMIT = 2**63
MAXIMUM_AXES = 16
#: What a published number may be off by before it was rounded for print, relative to itself: 32 unit roundoffs.
COMPUTED_IN = {"exact": 0.0, "float64": 32 * 2.0**-53, "float32": 32 * 2.0**-24}
DIGITS = re.compile(r"-?[0-9]{1,18}(?:/[1-9][0-9]{0,17}|(?:\.[0-9]{1,40})?(?:e[-+]?[0-9]{1,2})?)")

Indices = Mapping[int, tuple[int, ...]]


class VectorError(Exception):
    """A vector file that can't be trusted: which file, which case, what."""


@dataclass(frozen=True)
class Vector:
    """A case with its golden result, or with the message that its bad input must raise.

    ``allowed`` holds one radius per element, without the final rounding; NaN means not judged at that profile.
    ``also`` gives, by flat index, the other integers that a profile reaches. Where ``at`` names elements of a result by flat index,
    only these are expected, in that order, and ``shapes`` says of which shape the whole result is. ``drawn``: made for this run.
    """

    id: str
    operation: str
    exposes: str
    tags: tuple[str, ...] = ()
    equality: str = "allowance"
    parameters: Mapping[str, object] = field(default_factory=dict)
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    expected: Mapping[str, np.ndarray] | None = None
    allowed: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    also: Mapping[str, Mapping[str, Indices]] = field(default_factory=dict)
    error: str | None = None
    at: Mapping[str, np.ndarray] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    drawn: bool = False


@dataclass(frozen=True)
class Layers:
    """One kind of a model's layers: what it is called, which channels of a head turn, and its cases, each with the file that has it."""

    name: str
    layers: tuple[int, ...] | None
    head_dim: int | None
    channels: tuple[int, ...]
    missing: tuple[str, ...]
    cases: Mapping[str, str]


@dataclass(frozen=True)
class Model:
    """A released model: its configuration, where that is from, its kinds of layers, and the cases that no model before it has."""

    file: str
    name: str
    source: tuple[str, ...]
    configuration: Mapping[str, Any]
    kinds: tuple[Layers, ...]
    cases: tuple[Vector, ...]


def _require(condition: object, rule: str, value: object) -> None:
    if not condition:
        message = f"{rule}, got {value!r}"
        raise VectorError(message)


def check_keys(what: str, found: object, allowed: Collection[str], required: Collection[str] = ()) -> dict[str, Any]:
    """Return a mapping that has no unknown key and lacks none, or raise."""
    mapping = _mapping(what, found)
    _require(mapping.keys() <= set(allowed), f"{what} must have no unknown key", ", ".join(sorted(mapping.keys() - set(allowed))))
    _require(mapping.keys() >= set(required), f"{what} must have all its keys", f"no {', '.join(sorted(set(required) - mapping.keys()))}")
    return mapping


def check_identities(vectors: Iterable[Vector]) -> None:
    """Raise where two vectors share an id."""
    seen: set[str] = set()
    for vector in vectors:
        _require(vector.id not in seen, "a case id must be used once", vector.id)
        seen.add(vector.id)


def _mapping(what: str, found: object) -> dict[str, Any]:
    if isinstance(found, dict):
        return found
    message = f"{what} must be a mapping, got {type(found).__name__}"
    raise VectorError(message)


def _list(what: str, found: object) -> list[Any]:
    if isinstance(found, list):
        return found
    message = f"{what} must be a list, got {type(found).__name__}"
    raise VectorError(message)


def _text(what: str, found: object) -> str:
    if isinstance(found, str) and found:
        return found
    message = f"{what} must be text, got {found!r}"
    raise VectorError(message)


def _texts(what: str, found: object) -> tuple[str, ...]:
    return tuple(_text(f"an entry of {what}", each) for each in _list(what, found))


def _integers(what: str, found: object) -> tuple[int, ...]:
    numbers = _list(what, found)
    _require(all(type(number) is int and number >= 0 for number in numbers), f"{what} must be integers of at least 0", numbers)
    return tuple(numbers)


def _one_of(what: str, found: object, options: Iterable[str]) -> str:
    """Return one of the options, or raise."""
    for option in options:
        if found == option:
            return option
    message = f"{what} must be one of {', '.join(options)}, got {found!r}"
    raise VectorError(message)


def generated(document: dict[str, Any]) -> Iterator[Vector]:
    """Yield the vectors of one operation's file."""
    check_keys("the file", document, FILE_KEYS, FILE_KEYS)
    _require(document["format"] == FORMAT, f"format must be {FORMAT}", document["format"])
    operation = _text("operation", document["operation"])
    for number, case in enumerate(_list("cases", document["cases"])):
        yield _named(number, case, lambda checked: _vector(operation, checked))


def released(file: str, document: dict[str, Any]) -> Model:
    """Return the model of a file."""
    check_keys("the file", document, MODEL_KEYS, MODEL_KEYS)
    _require(document["format"] == FORMAT, f"format must be {FORMAT}", document["format"])
    cases = enumerate(_list("cases", document["cases"]))
    return Model(
        file=file,
        name=_text("model", document["model"]),
        source=_texts("source", document["source"]),
        configuration=_mapping("configuration", document["configuration"]),
        kinds=tuple(map(_layers, _list("kinds", document["kinds"]))),
        cases=tuple(_named(number, case, _of_model) for number, case in cases),
    )


def _of_model(case: dict[str, Any]) -> Vector:
    return _vector(_text("operation", case.get("operation")), {key: value for key, value in case.items() if key != "operation"})


def _layers(found: object) -> Layers:
    kind = check_keys("a kind of layers", found, KIND_KEYS, KIND_KEYS)
    return Layers(
        name=_text("name", kind["name"]),
        layers=None if kind["layers"] is None else _integers("layers", kind["layers"]),
        head_dim=None if kind["head_dim"] is None else _integers("head_dim", [kind["head_dim"]])[0],
        channels=_integers("channels", kind["channels"]),
        missing=_texts("missing", kind["missing"]),
        cases={identity: _text("a file", stem) for identity, stem in _mapping("cases", kind["cases"]).items()},
    )


def attested(document: dict[str, Any]) -> Iterator[Vector]:
    """Yield the vectors of a file of numbers published elsewhere."""
    check_keys("the file", document, ATTESTED_KEYS, ATTESTED_KEYS)
    _require(document["format"] == FORMAT, f"format must be {FORMAT}", document["format"])
    for number, case in enumerate(_list("cases", document["cases"])):
        yield _named(number, case, _published)


def _named(number: int, case: object, build: Callable[[dict[str, Any]], Vector]) -> Vector:
    """Build a vector; whatever is wrong with it is said with its id."""
    mapping = _mapping(f"case {number}", case)
    try:
        return build(mapping)
    except VectorError as error:
        message = f"{mapping.get('id', f'case {number}')}: {error}"
        raise VectorError(message) from None


def _vector(operation: str, case: dict[str, Any]) -> Vector:
    bad = "error" in case
    check_keys("the case", case, BAD_CASE_KEYS if bad else CASE_KEYS, BAD_CASE_KEYS if bad else CASE_KEYS - {"allowed", "also"})
    expected = {} if bad else _tensors("expected", case["expected"])
    return Vector(
        id=_text("id", case["id"]),
        operation=operation,
        exposes=_text("exposes", case["exposes"]),
        tags=_texts("tags", case["tags"]),
        equality=_one_of("equality", case.get("equality", "exact"), EQUALITIES),
        parameters=_parameters(case["parameters"]),
        inputs=_tensors("inputs", case["inputs"]),
        expected=None if bad else expected,
        allowed={profile: _radii(profile, radii, expected) for profile, radii in _mapping("allowed", case.get("allowed", {})).items()},
        also={profile: _also(profile, found, expected) for profile, found in _mapping("also", case.get("also", {})).items()},
        error=_text("error", case["error"]) if bad else None,
    )


def _parameters(found: object) -> dict[str, object]:
    parameters = _mapping("parameters", found)
    return {name: _parameter(name, value) for name, value in parameters.items()}


def _parameter(name: str, value: object) -> object:
    """Return a parameter: one value, or a tuple of integers from a list of them."""
    if isinstance(value, list) and all(type(each) is int for each in value):
        return tuple(value)
    _require(value is None or isinstance(value, str | int | float), f"parameter {name} must be one value, or integers", value)
    return value


def _tensors(what: str, found: object) -> dict[str, np.ndarray]:
    return {name: _tensor(f"{what} {name}", tensor) for name, tensor in _mapping(what, found).items()}


def _tensor(what: str, found: object) -> np.ndarray:
    tensor = check_keys(what, found, TENSOR_KEYS, TENSOR_KEYS)
    dtype = _one_of(f"{what}: dtype", tensor["dtype"], LEAVES)
    return _array(what, tensor["values"], _shape(what, tensor["shape"]), dtype, LEAVES[dtype])


def _shape(what: str, found: object) -> tuple[int, ...]:
    sizes = _list(f"{what}: shape", found)
    _require(len(sizes) <= MAXIMUM_AXES, f"{what}: shape must have at most {MAXIMUM_AXES} axes", len(sizes))
    _require(all(type(size) is int and 0 <= size < MAXIMUM_BYTES for size in sizes), f"{what}: shape must hold sizes", sizes)
    return tuple(sizes)


def _array(what: str, rows: object, shape: tuple[int, ...], dtype: str, kinds: frozenset[type]) -> np.ndarray:
    """Return rows of the last axis as a read-only array, every leaf of a kind that is due."""
    leaves = _leaves(what, rows, shape)
    if not kinds.issuperset(map(type, leaves)):
        wrong = next(leaf for leaf in leaves if type(leaf) not in kinds)
        _require(condition=False, rule=f"{what} must hold {dtype} only", value=wrong)
    _require(dtype == "float64" or max(map(abs, leaves), default=0) < LIMIT, f"{what} must fit {dtype}", "more")
    array = _shaped(what, np.array(leaves, dtype=dtype), shape)
    array.flags.writeable = False
    return array


def _shaped(what: str, leaves: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return leaves.reshape(shape)
    except ValueError:
        message = f"{what}: shape must be one that an array can have, got {list(shape)}"
        raise VectorError(message) from None


def _leaves(what: str, found: object, shape: tuple[int, ...]) -> list[Any]:
    rows = [_list(f"a row of {what}", row) for row in _list(what, found)]
    width = shape[-1] if shape else 1
    count = math.prod(shape[:-1]) if width else 0
    widths = {len(row) for row in rows}
    _require(len(rows) == count and widths <= {width}, f"{what} must have {count} rows of {width}", f"{len(rows)} of {sorted(widths)}")
    return [leaf for row in rows for leaf in row]


def _radii(profile: str, found: object, expected: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    _one_of("a profile", profile, PROFILES)
    rows = check_keys(f"allowed {profile}", found, expected)
    radii = {name: _array(f"allowed {profile} {name}", rows[name], expected[name].shape, "float64", RADII) for name in rows}
    for name, radius in radii.items():
        _require(not np.any((radius < 0) | np.isinf(radius)), f"allowed {profile} {name} must be finite and at least 0", radius.tolist())
    return radii


def _also(profile: str, found: object, expected: Mapping[str, np.ndarray]) -> dict[str, Indices]:
    _one_of("a profile", profile, PROFILES)
    entries = check_keys(f"also {profile}", found, expected)
    return {name: _reached(f"also {profile} {name}", entries[name], expected[name].size) for name in entries}


def _reached(what: str, found: object, size: int) -> Indices:
    entries = [_list(what, entry) for entry in _list(what, found)]
    for entry in entries:
        whole = len(entry) > 1 and all(type(value) is int and abs(value) < LIMIT for value in entry)
        _require(whole and 0 <= entry[0] < size, f"{what} must hold a flat index and integers", entry)
    return {entry[0]: tuple(entry[1:]) for entry in entries}


def _published(case: dict[str, Any]) -> Vector:
    check_keys("the case", case, ATTESTED_CASE_KEYS, ATTESTED_CASE_KEYS)
    slack = COMPUTED_IN[_one_of("computed_in", case["computed_in"], COMPUTED_IN)]
    printed = {name: _printed(f"printed {name}", value, slack) for name, value in _mapping("printed", case["printed"]).items()}
    whole = all(values.dtype == np.int64 for values, _ in printed.values())
    return Vector(
        id=_text("id", case["id"]),
        operation=_text("operation", case["operation"]),
        exposes=_text("exposes", case["exposes"]),
        tags=("attested",),
        equality="exact" if whole else "allowance",
        parameters=_parameters(case["parameters"]),
        inputs=_tensors("inputs", case["inputs"]),
        expected={name: values for name, (values, _) in printed.items()},
        allowed={} if whole else {"float64": {name: radii for name, (_, radii) in printed.items()}},
    )


def _printed(what: str, found: object, slack: float) -> tuple[np.ndarray, np.ndarray]:
    """Return published numbers, and what each may be off by: half a unit of its last digit, and how it was computed; null isn't judged."""
    tensor = check_keys(what, found, TENSOR_KEYS, TENSOR_KEYS)
    dtype = _one_of(f"{what}: dtype", tensor["dtype"], LEAVES)
    shape = _shape(what, tensor["shape"])
    texts = _leaves(what, tensor["values"], shape)
    for text in texts:
        _require(text is None or (isinstance(text, str) and DIGITS.fullmatch(text)), f"{what} must be text: digits or a fraction", text)
    values = [Fraction(text or 0) for text in texts]
    radii = [math.nan if text is None else _half_unit(text) + slack * abs(float(value)) for text, value in zip(texts, values, strict=True)]
    whole = all(value.denominator == 1 and abs(value) < LIMIT for value in values)
    _require(dtype == "float64" or whole, f"{what} must hold integers that fit {dtype}", texts)
    numbers = np.array(list(map(int if dtype == "int64" else float, values)), dtype=dtype)
    return _shaped(what, numbers, shape), _shaped(what, np.array(radii), shape)


def _half_unit(text: str) -> float:
    """Return half a unit of the last printed digit; an integer or a fraction is exact."""
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals) if decimals else 0.0
