"""Describe schemes, operations and cases, read off the declarations."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from conformance.adapt.adapter import near_miss
from conformance.adapt.configured import OFFERED, judged_as, keywords
from conformance.adapt.selection import SelectionError, case_ids, verify_names
from conformance.calls import form
from conformance.calls.takes import sayings
from conformance.isolate.targets import BUNDLED
from conformance.mutants import for_operation
from conformance.show import models
from conformance.show.terminal import Line
from conformance.spec.arguments import flat
from conformance.spec.declarations import operations
from conformance.spec.vectors import load, of_models
from refimpl.schemes import SCHEMES
from refimpl.spec import Case, Number, Operation, Parameter, Scheme

ENTRIES = 24
#: What a bundled adapter imports.
NEEDS = {
    "numpy": ("numpy",),
    "array_api_strict": ("array_api_strict",),
    "ggml": ("pywhispercpp",),
    "mlx": ("mlx",),
    "mlx_lm": ("mlx_lm", "mlx"),
    "transformers": ("transformers", "torch"),
    "transformers4": ("transformers 4.57", "torch"),
    "equinox": ("equinox", "jax"),
    "vllm": ("vllm 0.33", "torch"),
    "torchtune": ("torchtune", "torch"),
    "litgpt": ("litgpt", "torch"),
    "keras_hub": ("keras_hub", "torch"),
    "sglang": ("sglang 0.5.23", "torch"),
}


def listing() -> Iterator[Line]:
    """Yield every scheme with its operations, and how many cases, laws and known mistakes each has."""
    from conformance.laws import UNIVERSAL

    widest = max(map(len, operations()))
    for scheme in SCHEMES.values():
        yield "head", f"{scheme.name}: {_one_line(scheme.summary or scheme.source.title)}"
        yield from (("", f"  {name:<{widest}} {_counted(name)}") for name in operations() if name.startswith(f"{scheme.name}."))
    yield "head", "config: functions that read a model's configuration (`posenc check --config`)"
    yield from (("", f"  {name}") for name in OFFERED)
    yield "quiet", f"{len(SCHEMES)} schemes, {len(operations())} operations; {len(UNIVERSAL)} universal laws hold for every operation"


def counts(operation: str) -> tuple[int, int, int]:
    """Return how many cases, laws and known mistakes an operation has; a convention is no mistake."""
    scheme, _, short = operation.partition(".")
    declared = SCHEMES[scheme]
    mistakes = sum(mutant.kind != "convention" for mutant in for_operation(operation))
    return sum(case.operation == short for case in declared.cases), len(declared.laws.get(short, ())), mistakes


def _counted(operation: str) -> str:
    words = zip((4, 3, 3), counts(operation), ("case", "law", "mistake"), strict=True)
    return " ".join(f"{count:>{width}} {word + 's' * (count != 1):<{len(word) + 1}}" for width, count, word in words).rstrip()


def adapters() -> Iterator[Line]:
    """Yield the bundled adapters, and whether their library is installed."""
    yield "head", "bundled adapters"
    for name in BUNDLED:
        missing = [library for library in NEEDS[name] if not _installed(library)]
        yield "quiet" if missing else "", f"  {name:<30} " + (f"needs {', '.join(missing)}" if missing else "ready")


def _installed(library: str) -> bool:
    """Whether a library is installed, and in the release that is named with it, if one is."""
    name, _, release = library.partition(" ")
    return find_spec(name) is not None and version(name).startswith(release)


def describe(name: str) -> Iterator[Line]:
    """Yield what a scheme, an operation or a case is; raise ``SelectionError`` where the name is none of them."""
    if name in SCHEMES:
        return _scheme(SCHEMES[name])
    if name in operations():
        return _operation(operations()[name])
    if name in OFFERED:
        return _configured(name)
    known = [*SCHEMES, *operations(), *OFFERED, *case_ids()]
    if name not in known and not near_miss(name, known) and (model := near_miss(name, models.known())):
        message = f"a model must be named behind `posenc show model`, got {name!r}{model}"
        raise SelectionError(message)
    verify_names("name", [name], known)
    return _case(name)


def _configured(name: str) -> Iterator[Line]:
    """Yield what a function of a configuration is given, and what it is judged as."""
    alike = judged_as(name)
    first = operations()[alike[0]]
    yield "head", name
    yield "", "  What a model's configuration says of a layer, judged by `posenc check TARGET --config CONFIG.json`."
    yield from (("", f"  {array} ({', '.join(first.arrays[array].split())})") for array in OFFERED[name])
    yield from (("", f"  {keyword}: {meaning}") for keyword, meaning in keywords(name).items())
    yield from (("", f"  -> {result} ({', '.join(axes.split())})") for result, axes in first.results.items())
    yield from _said("what it is judged as, by what the configuration says (see `posenc explain`)", alike)


def _scheme(scheme: Scheme) -> Iterator[Line]:
    yield "head", f"{scheme.name}: {_one_line(scheme.summary or scheme.source.title)}"
    yield "", f"  {scheme.source.title}"
    yield "quiet", f"  {scheme.source.address} ({scheme.source.where})"
    for function in scheme.operations:
        contract = operations()[f"{scheme.name}.{function.__name__}"]
        yield "", ""
        yield from _signature(contract)
    yield from _said("what the arguments mean", [f"{name}: {meaning}" for name, meaning in scheme.meanings.items()])
    yield from _said("conventions on which correct code differs", [f"{choice}: {who}" for choice, who in scheme.conventions.items()])
    yield from _said("where the literature errs, and code departs from it", scheme.notes)


def _said(title: str, sentences: Sequence[str]) -> Iterator[Line]:
    if sentences:
        yield "", ""
        yield "head", title
        yield from (("", f"  {sentence}") for sentence in sentences)


def _signature(contract: Operation) -> Iterator[Line]:
    yield "head", contract.name
    yield "", "  " + contract.summary.replace("``", "`")
    kinds = dict.fromkeys(contract.integers, " integers")
    for name, axes in contract.arrays.items():
        yield "", f"  {name} ({', '.join(axes.split())}){kinds.get(name, '')}"
    for parameter in contract.parameters.values():
        yield "", f"  {parameter.name}: {rule(parameter)}"
    for name, axes in contract.results.items():
        yield "", f"  -> {name} ({', '.join(axes.split())}){kinds.get(name, '')}"


def rule(parameter: Parameter) -> str:
    """Return which values a parameter may take, and which it has where none is given (``int, even, at least 2, required``)."""
    kind = " | ".join(parameter.choices) or ("tuple of int" if parameter.kind is tuple else parameter.kind.__name__)
    bounds = "" if parameter.rule is None else _bounds(parameter.rule)
    default = "required" if parameter.required else f"default {parameter.default}"
    return f"{kind}{bounds}, {default}"


def _bounds(number: Number) -> str:
    step = "even" if number.multiple_of == 2 else f"a multiple of {number.multiple_of}"
    words = (
        (step, number.multiple_of != 1),
        (f"at least {number.minimum}", number.minimum is not None),
        (f"above {number.above}", number.above is not None),
        (f"at most {number.maximum}", number.maximum is not None),
    )
    return "".join(f", {word}" for word, applies in words if applies)


def _operation(contract: Operation) -> Iterator[Line]:
    scheme, short = contract.name.split(".", 1)
    declared = SCHEMES[scheme]
    yield from _signature(contract)
    arguments = [*contract.arrays, *contract.parameters]
    yield from _said("what the arguments mean", [f"{name}: {declared.meanings[name]}" for name in arguments if name in declared.meanings])
    conventions = [(choice, who) for choice, who in declared.conventions.items() if choice.partition("=")[0] in contract.parameters]
    yield from _said("conventions on which correct code differs", [f"{choice}: {who}" for choice, who in conventions])
    named = [*arguments, *(choice for parameter in contract.parameters.values() for choice in parameter.choices)]
    notes = [note for note in declared.notes if any(f"`{name}`" in note for name in named)]
    yield from _said("where the literature errs, and code departs from it", notes)
    yield "", ""
    yield from _declarations(contract)
    yield "head", "laws, beside those that hold for every operation"
    yield from (("", f"  {law.name.lower().replace('_', ' ')}: {law.value}") for law in declared.laws.get(short, ()))
    yield from _said("how results are compared", [f"a constant of each row of keys is free where {where}" for where in _free(contract)])
    yield "", ""
    yield "head", "cases, and the mistake that each exposes"
    own = [case for case in declared.cases if case.operation == short]
    yield from (("", f"  {scheme}.{case.name}: {case.exposes}") for case in sorted(own, key=special))
    yield from _mistakes(contract.name)


def special(case: Case) -> tuple[bool, bool, int]:
    """Return how special a case is: bad input most, then fractions that are written out, then long numbers, such as positions far away."""
    numbers = list(flat([given for given in case.arguments.values() if isinstance(given, list | tuple)]))
    if case.error is not None:
        return True, False, 0
    return False, any(number % 1 for number in numbers), len(f"{max(map(abs, numbers), default=0):.0f}")


def _free(contract: Operation) -> Iterator[str]:
    """Yield the choices for which all cases leave a constant of each row free."""
    scheme, short = contract.name.split(".", 1)
    cases = [case for case in SCHEMES[scheme].cases if case.operation == short and case.error is None]
    for name, parameter in contract.parameters.items():
        kept = {case.arguments.get(name, parameter.default) for case in cases if case.equality != "row_constant"}
        free = [choice for choice in parameter.choices if choice not in kept]
        if free and any(case.equality == "row_constant" for case in cases):
            yield f"{name} is {' or '.join(free)}"


def _declarations(contract: Operation) -> Iterator[Line]:
    yield "head", "what an adapter may declare of its calls"
    yield from (("", f"  {words}: {meaning}") for words, meaning in [*sayings(contract), *form.sayings(contract)])
    yield "", ""


def _mistakes(operation: str) -> Iterator[Line]:
    yield "", ""
    yield "head", "mistakes that a failure is compared with"
    yield from (("", f"  {mutant.name.split('/', 1)[-1]}: {mutant.does}") for mutant in for_operation(operation))


def _case(name: str) -> Iterator[Line]:
    operation = {name.split("/", 1)[0]}
    vector = next(vector for vector in [*load(operation), *of_models(operation)] if vector.id == name)
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
