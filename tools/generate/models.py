"""Released models: what each kind of layers of a configuration does, as cases; one that an earlier model has is named by its file."""

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from conformance.oracle import Answer
from refimpl import configuration
from refimpl.configuration import Kind, Rotation
from refimpl.configuration.findings import SOFTMAX, Temperature
from refimpl.schemes import operations
from refimpl.spec import Case, Operation
from tools.generate.document import FORMAT, REVISION, Task, stored, task
from tools.generate.writer import Tree

OPERATIONS = operations()
FACTS = Path(__file__).resolve().parents[2] / "tests" / "configurations" / "released.yaml"
#: The kind of layers that a model has alone: it isn't told in the names of cases.
WHOLE = "every layer"
#: Where patches stand, on time, height and width, in images that are higher than wide, and one that belongs to no patch.
PATCHES = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [7, 17, 5], [31, 63, 22]]
#: Where tokens of an image stand, on time, height and width, or on any other axes: neither square nor at the beginning.
IMAGE = [[17, 17, 17, 17], [18, 18, 22, 3], [18, 20, 19, 5], [18, 31, 57, 2]]


@dataclass(frozen=True)
class Model:
    """A released model: its kinds of layers, each with its cases and the file of each, and the cases that no model before it has."""

    entry: Mapping[str, Any]
    kinds: tuple[tuple[Kind, Mapping[str, str]], ...]
    tasks: tuple[Task, ...]

    @property
    def stem(self) -> str:
        """What its file and its cases are called."""
        return slug(self.entry["id"])


def facts() -> list[dict[str, Any]]:
    """Return the configurations of released models with what their sources say of them."""
    found: list[dict[str, Any]] = yaml.safe_load(FACTS.read_text(encoding="utf-8"))
    return found


def published(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry's configuration, with the lists that repeat over the layers."""
    whole: dict[str, Any] = copy.deepcopy(entry["configuration"])
    for path, pattern in entry.get("cycled", {}).items():
        section = whole
        *way, key = path.split(".")
        for step in way:
            section = section[step]
        section = section if way or "text_config" not in section else section["text_config"]
        section[key] = [pattern[layer % len(pattern)] for layer in range(section["num_hidden_layers"])]
    return whole


def slug(text: str) -> str:
    """Return a name as a case or a file may have it."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))


def released() -> list[Model]:
    """Return the models that posenc has golden values of, in the order of the facts."""
    first: dict[object, tuple[str, str]] = {}
    models = [_model(entry, first) for entry in facts()]
    return [model for model in models if any(cases for _, cases in model.kinds)]


def _model(entry: Mapping[str, Any], first: dict[object, tuple[str, str]]) -> Model:
    """Return a model; ``first`` keeps which case was the first of its arguments, and whose it is."""
    reading, kinds, own = configuration.read(published(entry)), list[tuple[Kind, Mapping[str, str]]](), list[Task]()
    for kind in reading.kinds:
        cases = dict[str, str]()
        for each in tasks(entry["id"], kind, reading.longest):
            arguments = each.operation.name, tuple(each.parameters.items()), str(each.case.arguments)
            identity, stem = first.setdefault(arguments, (each.identity, slug(entry["id"])))
            cases[identity] = stem
            own += [each] if identity == each.identity else []
        kinds.append((kind, cases))
    return Model(entry, tuple(kinds), tuple(own))


def tasks(model: str, kind: Kind, longest: int | None) -> Iterator[Task]:
    """Yield what is stored of a kind of layers: what turns its heads, and what multiplies its queries."""
    whose, called = (model, slug(model)) if kind.name == WHOLE else (f"{kind.name} in {model}", slug(f"{model} {kind.name}"))
    if kind.rotation is not None:
        yield from _of_rotation(kind.rotation, called, whose, longest)
    if kind.temperature is not None:
        yield _of_temperature(kind.temperature, called, whose, longest)


def _of_rotation(rotation: Rotation, called: str, whose: str, longest: int | None) -> Iterator[Task]:
    """Yield frequencies, attention factor, rotations near the ends and where scaling begins.

    Where frequencies follow the length of the sequence, there are those of the original length, of one token more, and of the longest
    one.
    """
    if rotation.grid:
        yield from _on_axes(rotation, called, whose, _patches(len(rotation.grid["axes"]), *rotation.grid.get("sides", ())))
    if rotation.operation is None:
        return
    if "length" in OPERATIONS[rotation.operation].parameters:
        yield from _by_length(rotation, called, whose, longest)
        return
    original = rotation.parameters.get("original_length", 0)
    near = sorted(position for position in {0, 1, original - 1, original, original + 1} if 0 <= position < (longest or original + 2))
    yield from _task(rotation, f"frequencies/{called}", f"frequencies that are not those of {whose}")
    yield from _task(rotation, f"attention_factor/{called}", f"an attention factor that is not that of {whose}")
    yield from _task(rotation, f"rotate/{called}", f"a base, a scaling, a width or a layout that is not that of {whose}", near)
    if longest is not None and longest - 1 not in near:
        yield from _task(rotation, f"rotate/{called}-last", f"a table that ends before the last position of {whose}", [longest - 1])
    if rotation.softmax:
        yield from _of_softmax(rotation, called, whose)
    if rotation.on_axes is not None:
        yield from _on_axes(rotation, f"{called}-image", whose, [place[: len(rotation.sections)] for place in IMAGE])


def _patches(axes: int, *sides: int) -> list[list[int]]:
    """Return where patches stand on so many axes; those counted from the middle of an image in its corners, near one, and in the middle."""
    if not sides:
        return [place[-axes:] for place in PATCHES]
    first, last = [1 - side for side in sides], [side - 1 for side in sides]
    return [first, [first[0], last[1]], [last[0], first[1]], [first[0] + 2, first[1] + 4], [0, 0]]


def _on_axes(rotation: Rotation, called: str, whose: str, places: list[list[int]]) -> Iterator[Task]:
    """Yield the rotation to places on several axes."""
    scheme, _, name = str(rotation.on_axes).partition(".")
    yield from _task(rotation, f"{name}/{called}", f"pairs that follow other axes than in {whose}", places, scheme)


def _by_length(rotation: Rotation, called: str, whose: str, longest: int | None) -> Iterator[Task]:
    """Yield the frequencies of sequences of some lengths, and the rotation at their ends."""
    original = rotation.parameters["original_length"]
    yield from _task(rotation, f"attention_factor/{called}", f"an attention factor that is not that of {whose}")
    lengths = {"original": original, "one-beyond": original + 1, "longest": longest or 0}
    for name, length in lengths.items():
        if name != "longest" or length > original + 1:
            part = replace(rotation, parameters={**rotation.parameters, "length": length})
            what = "a base" if rotation.factors is None else "a list of factors"
            exposes = f"{what} that isn't that of {whose} in sequences of {length} tokens"
            yield from _task(part, f"frequencies/{called}-{name}", exposes)
            yield from _task(part, f"rotate/{called}-{name}", exposes, [1, length - 1])


def _of_temperature(temperature: Temperature, called: str, whose: str, longest: int | None) -> Task:
    """Return the case of what multiplies queries: at both sides of the first steps, and at the last position."""
    operation, p = OPERATIONS[temperature.operation], temperature.parameters
    ends = [each * p["floor_scale"] - p["shift"] for each in (1, 2)] if "floor_scale" in p else [p["original_length"]]
    near = {0, *(end + apart for end in ends for apart in (-1, 0)), *([] if longest is None else [longest - 1])}
    positions = sorted(position for position in near if 0 <= position < (longest or position + 1))
    name = f"{operation.name.partition('.')[2]}/{called}"
    exposes = f"steps, a slope or a length that are not those of {whose}"
    return task(f"{operation.name.partition('.')[0]}.{name}", operation, Case(name, exposes=exposes, positions=positions, **p))


def _of_softmax(rotation: Rotation, called: str, whose: str) -> Iterator[Task]:
    """Yield the case of what multiplies logits."""
    case = Case(f"softmax_scale/{called}", exposes=f"a scale of logits that is not that of {whose}", **rotation.softmax)
    yield task(f"{SOFTMAX.partition('.')[0]}.{case.name}", OPERATIONS[SOFTMAX], case)


def _task(rotation: Rotation, name: str, exposes: str, positions: Any = None, scheme: str | None = None) -> Iterator[Task]:
    """Yield a case of the scheme that turns, or of another one; nothing where it has no such operation."""
    scheme = scheme or rotation.scheme
    operation = OPERATIONS.get(f"{scheme}.{name.partition('/')[0]}")
    if operation is not None:
        arguments = rotation.settled(operation) | lists(rotation, operation)
        arguments |= {} if positions is None else {"positions": positions}
        yield task(f"{scheme}.{name}", operation, Case(name, exposes=exposes, sizes={"head": 1}, **arguments))


def lists(rotation: Rotation, operation: Operation) -> dict[str, tuple[float, ...]]:
    """Return the lists of factors that an operation takes, those of short sequences first."""
    names = [name for name in operation.arrays if name.endswith("_factors")]
    return dict(zip(names, rotation.factors or (), strict=bool(names)))


def document(model: Model, answers: Mapping[str, Answer]) -> dict[str, Tree]:
    """Return the whole document of one model."""
    source = model.entry["source"]
    return {
        "format": FORMAT,
        "revision": REVISION,
        "model": model.entry["id"],
        "source": [source] if isinstance(source, str) else source,
        "configuration": published(model.entry),
        "kinds": [_kind(kind, cases) for kind, cases in model.kinds],
        "cases": [{"operation": each.operation.name} | stored(each, answers[each.identity]) for each in model.tasks],
    }


def _kind(kind: Kind, cases: Mapping[str, str]) -> dict[str, Tree]:
    rotation = kind.rotation
    return {
        "name": kind.name,
        "layers": None if kind.layers is None else [*kind.layers],
        "head_dim": None if rotation is None else rotation.head_dim,
        "channels": [] if rotation is None else [rotation.channels[0], rotation.channels[-1]],
        "missing": [finding.text for finding in kind.findings if finding.level == "missing"],
        "cases": cases,
    }
