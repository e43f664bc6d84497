"""Mistakes that no table knows: every number, position, input and result changed in a few ways, alone and on top of known mistakes.

They are the honest measure of false naming: nobody thought of them when the table was written. Whoever names one must be right, which
is decided on inputs that no vector holds.
"""

import random
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from conformance.mutants import for_operation
from conformance.mutants.building import Arrays, altered
from conformance.spec.declarations import operations
from refimpl.spec import Operation, Parameter
from tools.accuracy.hidden import Function, lowered

Change = Callable[[np.ndarray], np.ndarray]
ON_TOP = 12
RETURNS = "returns "

NUMBERS: Mapping[str, Callable[[Any], Any]] = {
    "1.07 times": lambda value: value * 1.07,
    "three halves of": lambda value: value * 3 // 2 if isinstance(value, int) else value * 1.5,
    "two more than": lambda value: value + 2,
    "a third of": lambda value: value // 3 if isinstance(value, int) else value / 3,
}
POSITIONS: Mapping[str, Change] = {
    "five more than": lambda places: places + 5,
    "seven thirds of": lambda places: 7 * places // 3,
    "the remainder by 777 of": lambda places: places % 777,
    "reversed": lambda places: places[..., ::-1].copy(),
    "sorted": lambda places: np.sort(places, axis=-1),
    "even": lambda places: places // 2 * 2,
}


def _without_last(values: np.ndarray) -> np.ndarray:
    return np.asarray(values * (np.arange(values.shape[-1]) < values.shape[-1] - 1))


FEATURES: Mapping[str, Change] = {
    "rolled by three channels": lambda values: np.roll(values, 3, axis=-1),
    "rolled along the first axis but one": lambda values: np.roll(values, 1, axis=-2) if values.ndim > 1 else values[::-1].copy(),
    "the last channel of": lambda values: values * (np.arange(values.shape[-1]) == values.shape[-1] - 1),
    "1.1 times": lambda values: 1.1 * values,
}
RESULTS: Mapping[str, Change] = {
    "1.03 times": lambda values: 1.03 * values,
    "a hundredth more than": lambda values: values + 0.01,
    "rolled by one": lambda values: np.roll(values, 1, axis=-1) if values.ndim else values,
    "in reverse along the first axis": lambda values: values[::-1].copy() if values.ndim else -values,
    "all but the last number of each row of": lambda values: _without_last(np.atleast_1d(values)).reshape(values.shape),
    "the cube of": lambda values: values**3,
    "cut to the tenths": lambda values: np.floor(values * 10) / 10,
    "bfloat16 of": lambda values: lowered(values, "bfloat16"),
}


def held_out(operation: str) -> dict[str, Function]:
    """Return mistakes of an operation that are in no table, by what they use or return."""
    alone = dict(_alone(operations()[operation]))
    chance = random.Random(zlib.crc32(operation.encode()))  # noqa: S311  the same choice every time, nothing secret
    known = {mutant.name: mutant.function for mutant in for_operation(operation) if mutant.kind == "mistake"}
    results = RESULTS if any(words.startswith(RETURNS) for words in alone) else {}
    pairs = [(chance.choice(list(known)), chance.choice(list(results))) for _ in range(ON_TOP)] if results else []
    return {**alone, **{f"{name}, and {RETURNS}{words} the result": _after(known[name], results[words]) for name, words in pairs}}


def _alone(contract: Operation) -> Iterator[tuple[str, Function]]:
    for parameter in contract.parameters.values():
        for words, other in NUMBERS.items() if parameter.kind in (int, float) and not parameter.choices else ():
            yield f"uses {words} {parameter.name}", _with_number(contract.name, parameter, other)
    for array in contract.arrays:
        changes = POSITIONS if array in contract.integers | contract.numbers else FEATURES
        for words, change in changes.items():
            yield f"uses {words} {array}", _with_array(contract.name, array, change)
    for words in RESULTS if not contract.integers & contract.results.keys() else ():
        yield f"{RETURNS}{words} the result", _after(altered(contract.name), RESULTS[words])


def _with_number(operation: str, parameter: Parameter, other: Callable[[Any], Any]) -> Function:
    """Return the operation with another number where that is allowed; whole numbers stay whole."""

    def changed(given: Mapping[str, Any]) -> dict[str, Any]:
        value = given[parameter.name]
        return {**given, parameter.name: None if value is None else parameter.kind(other(value))}

    return altered(operation, parameters=changed)


def _with_array(operation: str, name: str, change: Change) -> Function:
    def changed(arrays: Arrays, _: Mapping[str, Any]) -> Arrays:
        return {**arrays, name: change(arrays[name])}

    return altered(operation, arrays=changed)


def _after(function: Function, change: Change) -> Function:
    def changed(*arrays: Any, **parameters: Any) -> Any:
        value = function(*arrays, **parameters)
        return type(value)(*map(change, value)) if isinstance(value, tuple) else change(np.asarray(value))

    return changed
