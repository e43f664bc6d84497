"""Describe schemes, operations and cases, read off the declarations."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from conformance.declarations import operations
from conformance.mutants import for_operation
from conformance.report import Line
from conformance.selection import case_ids, verify_names
from conformance.targets import BUNDLED
from conformance.vectors import load
from refimpl.schemes import SCHEMES
from refimpl.spec import Operation, Parameter, Scheme

ENTRIES = 24
#: What a bundled adapter imports.
NEEDS = {
    "numpy": ("numpy",),
    "array_api_strict": ("array_api_strict",),
    "ggml": ("pywhispercpp",),
    "transformers": ("transformers", "torch"),
    "equinox": ("equinox", "jax"),
}


def listing() -> Iterator[Line]:
    """Yield every scheme with its operations, and how many cases and laws each has."""
    for scheme in SCHEMES.values():
        yield "head", f"{scheme.name}: {_one_line(scheme.summary or scheme.source.title)}"
        for function in scheme.operations:
            name = function.__name__
            cases, laws = sum(case.operation == name for case in scheme.cases), scheme.laws.get(name, ())
            yield "", f"  {scheme.name + '.' + name:<30} {cases:>3} cases  {len(laws):>2} law{'s' * (len(laws) != 1)}"


def adapters() -> Iterator[Line]:
    """Yield the bundled adapters, and whether their library is installed."""
    yield "head", "bundled adapters"
    for name in BUNDLED:
        missing = [library for library in NEEDS[name] if find_spec(library) is None]
        yield "quiet" if missing else "", f"  {name:<30} " + (f"needs {', '.join(missing)}" if missing else "ready")


def describe(name: str) -> Iterator[Line]:
    """Yield what a scheme, an operation or a case is; raise ``SelectionError`` where the name is none of them."""
    verify_names("name", [name], [*SCHEMES, *operations(), *case_ids()])
    if name in SCHEMES:
        return _scheme(SCHEMES[name])
    return _operation(operations()[name]) if name in operations() else _case(name)


def _scheme(scheme: Scheme) -> Iterator[Line]:
    yield "head", f"{scheme.name}: {_one_line(scheme.summary or scheme.source.title)}"
    yield "", f"  {scheme.source.title}"
    yield "quiet", f"  {scheme.source.address} ({scheme.source.equations})"
    for function in scheme.operations:
        contract = operations()[f"{scheme.name}.{function.__name__}"]
        yield "", ""
        yield from _signature(contract)


def _signature(contract: Operation) -> Iterator[Line]:
    yield "head", contract.name
    yield "", f"  {contract.summary}"
    for name, axes in contract.arrays.items():
        kind = " integers" if name in contract.integers else ""
        yield "", f"  {name} ({', '.join(axes.split())}){kind}"
    for parameter in contract.parameters.values():
        yield "", f"  {parameter.name}: {_rule(parameter)}"
    for name, axes in contract.results.items():
        yield "", f"  -> {name} ({', '.join(axes.split())})"


def _rule(parameter: Parameter) -> str:
    kind = " | ".join(parameter.choices) or parameter.kind.__name__
    default = "required" if parameter.required else f"default {parameter.default}"
    return f"{kind}, {default}"


def _operation(contract: Operation) -> Iterator[Line]:
    scheme, short = contract.name.split(".", 1)
    declared = SCHEMES[scheme]
    yield from _signature(contract)
    yield "", ""
    yield "head", "laws, beside those that hold for every operation"
    yield from (("", f"  {law.name.lower().replace('_', ' ')}: {law.value}") for law in declared.laws.get(short, ()))
    yield "", ""
    yield "head", "cases, and the mistake that each exposes"
    yield from (("", f"  {scheme}.{case.name}: {case.exposes}") for case in declared.cases if case.operation == short)
    yield from _mistakes(contract.name)


def _mistakes(operation: str) -> Iterator[Line]:
    yield "", ""
    yield "head", "mistakes that a failure is compared with"
    yield from (("", f"  {mutant.name.split('/', 1)[-1]}: {mutant.does}") for mutant in for_operation(operation))


def _case(name: str) -> Iterator[Line]:
    vector = next(vector for vector in load({name.split("/", 1)[0]}) if vector.id == name)
    yield "head", f"{vector.id}: {vector.exposes}"
    yield "", f"  tags {', '.join(vector.tags) or 'none'}; compared {vector.equality}"
    yield from (("", f"  {key} = {value!r}") for key, value in vector.parameters.items())
    yield from _arrays("input", vector.inputs)
    if vector.error is not None:
        yield "", f"  must be refused: {vector.error}"
    yield from _arrays("expected", vector.expected or {})
    for profile, allowed in vector.allowed.items():
        yield from (("", f"  allowed {name} at {profile}: {_span(radii)}") for name, radii in allowed.items())


def _span(radii: np.ndarray) -> str:
    """Return the smallest and the largest error allowed before the final rounding, and how many elements are not judged."""
    judged = radii[~np.isnan(radii)]
    span = f"{judged.min():.3g} to {judged.max():.3g}" if judged.size else "nothing is judged"
    return f"{span}; {radii.size - judged.size} of {radii.size} not judged" if judged.size < radii.size else span


def _arrays(label: str, arrays: Mapping[str, Any]) -> Iterator[Line]:
    for name, array in arrays.items():
        yield "", f"  {label} {name} {'x'.join(map(str, array.shape)) or 'number'}"
        printed = np.array2string(array, threshold=ENTRIES, edgeitems=3, max_line_width=74)
        yield from (("quiet", f"    {line}") for line in printed.split("\n") if line.strip())


def _one_line(words: str) -> str:
    return words.strip().split("\n", 1)[0]
