"""Describe released models: what their configurations do, and the golden values that are stored of each kind of layers."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.adapt.selection import verify_names
from conformance.show.terminal import Line
from conformance.spec.vector_cases import Model, Vector
from conformance.spec.vectors import load_models
from refimpl.configuration import read, words
from refimpl.configuration.findings import called

#: How many rows a table of frequencies has, beside the last pair.
ROWS = 8


def listing() -> Iterator[Line]:
    """Yield every model with the schemes that its layers turn by."""
    models = load_models()
    yield "head", "released models with golden values, and the schemes of their layers"
    for model in models:
        yield "", f"  {model.name}: {', '.join(_schemes(model))}"
    yield "quiet", f"{len(models)} models; `posenc show model NAME` describes one"


def _schemes(model: Model) -> Iterator[str]:
    turning = {kind.name: next(iter(kind.cases)).partition(".")[0] for kind in model.kinds if kind.cases and kind.channels}
    names = [kind.name for kind in model.kinds]
    yield from (scheme if len(names) == 1 else f"{scheme} ({called(name, names)})" for name, scheme in turning.items())


def named(name: str) -> Model:
    """Return a model by its whole name, or by what stands behind the slash in it; raise ``SelectionError`` where there is none."""
    verify_names("model", [name], known())
    return known()[name]


def known() -> dict[str, Model]:
    """Return the models by their names, whole and without their owners."""
    models = load_models()
    return {model.name.rpartition("/")[2]: model for model in models} | {model.name: model for model in models}


def golden(model: Model) -> Mapping[str, list[Vector]]:
    """Return the golden cases of a model by the kinds of layers that they hold for; kinds with the same cases stand together."""
    every = {vector.id: vector for each in load_models() for vector in each.cases}
    kinds: dict[tuple[str, ...], list[str]] = {}
    for kind in model.kinds:
        kinds.setdefault(tuple(kind.cases), []).append(called(kind.name, [each.name for each in model.kinds]))
    return {" and ".join(names): [every[identity] for identity in cases] for cases, names in kinds.items() if cases}


def turns(cases: list[Vector]) -> bool:
    """Whether the cases are of layers that turn, and not of their queries' temperature alone."""
    return cases[0].operation.endswith(".frequencies")


def frequencies(cases: list[Vector]) -> tuple[Vector, np.ndarray]:
    """Return the first of the cases, which is that of the frequencies, and its golden values."""
    return cases[0], (cases[0].expected or {})["result"]


def describe(name: str) -> Iterator[Line]:
    """Return what a model's layers do, as ``posenc explain`` has it, where that is from, and the golden values."""
    model = named(name)
    reading = read(model.configuration)
    return _described(model, words.lines(reading, reading.kinds, None, np.zeros(0)), reading.model_type)


def _described(model: Model, explained: Iterator[Line], model_type: str) -> Iterator[Line]:
    yield "head", f"{model.name}: {model_type}"
    yield from (("quiet", f"  {source}") for source in model.source)
    yield from explained
    for kinds, cases in golden(model).items():
        yield "", ""
        yield "head", f"golden values of {kinds}"
        yield from _table(frequencies(cases)[1].tolist()) if turns(cases) else ()
        yield from (("", f"  {case.id}{_places(case)}") for case in cases)
    yield "", ""
    files = dict.fromkeys([model.file, *(f"models/{stem}.yaml" for kind in model.kinds for stem in kind.cases.values())])
    yield "quiet", f"`posenc show CASE` prints a case; among the vectors these are in {', '.join(files)}"


def _table(found: list[float]) -> Iterator[Line]:
    yield "quiet", "  pair   radians per position     tokens per turn"
    for pair in sorted({*range(0, len(found), max(1, len(found) // ROWS)), len(found) - 1}):
        yield "", f"  {pair:4}   {found[pair]:<20.10g}   {_tokens(found[pair]):>15}"


def _tokens(frequency: float) -> str:
    return f"{2 * np.pi / frequency:,.2f}" if frequency else "doesn't turn"


def _places(case: Vector) -> str:
    positions = case.inputs.get("positions")
    return "" if positions is None else f": {'positions' if positions.size > 1 else 'position'} {', '.join(map(str, positions.tolist()))}"
