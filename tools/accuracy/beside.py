"""Whether what was named is what is hidden: two functions are compared on inputs that no vector holds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import Phase, given
from hypothesis import seed as seeded

from conformance.diagnosis import diagnose
from conformance.laws import draw
from conformance.laws.examples import by_seed_alone, silent
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations
from conformance.spec.profiles import REQUIRED
from tools.accuracy.answers import HELD_OUT, Answer, Answered, names, results, unnamed
from tools.accuracy.held_out import held_out
from tools.accuracy.hidden import Exhibit, Function, asked, judge, lowered, quietly
from tools.accuracy.trials import Trial

DTYPE = "float32"
DRAWN = 25
#: How far drawn positions go: a number that was fitted to a few digits is the same number there.
REACH = 300
#: What two equal functions may differ by, as a share of the largest number: a fitted number has the digits of float32.
CLOSE = 1e-4


def answered(trial: Trial) -> Answered:
    """Put a mistake that no table knows to the harness; a name for it is right where the mistake named does the same."""
    function = held_out(trial.operation)[trial.name]
    verdict = judge(Exhibit(trial.operation, DTYPE, {}, function))
    said = names(verdict.diagnosis)
    if verdict.convicted_by is None:
        return Answered(trial, HELD_OUT, Answer.PASSED)
    if not said:
        return Answered(trial, HELD_OUT, unnamed(verdict))
    return Answered(trial, HELD_OUT, _judged(trial.operation, function, said), said)


def _judged(operation: str, function: Function, said: Sequence[str]) -> Answer:
    right = [same(operation, function, explanation.function) for explanation in explained(operation, function)]
    if right[0]:
        return Answer.FIRST
    if any(right):
        return Answer.AMONG
    return Answer.MISNAMED if len(said) == 1 else Answer.ALSO


def explained(operation: str, function: Function) -> list[Any]:
    """Return what the diagnosis takes a function for, best first."""
    given = ((vector, results(function, vector)) for vector in asked(operation, {}))
    seen = [
        diagnose.Observation(vector, {name: lowered(array, DTYPE) for name, array in values.items()}, DTYPE)
        for vector, values in given
        if values is not None
    ]
    return list(diagnose.explanations(operation, seen, REQUIRED[DTYPE]))


def same(operation: str, one: Function, other: Function) -> bool:
    """Whether two functions agree on drawn inputs, wherever both give anything."""
    return all(_agree(*(_given(operation, function, call) for function in (one, other))) for call in drawn(operation))


def drawn(operation: str) -> list[Arguments]:
    """Return the same calls every time: of any parameters, and of those that all vectors ask for, of which alone some names speak."""
    return [*_drawn(operation, {}), *_drawn(operation, alike(operation))]


def alike(operation: str) -> dict[str, object]:
    """Return the parameters for which all vectors ask for the same, with that."""
    first, *others = (vector.parameters for vector in asked(operation, {}))
    return {name: value for name, value in first.items() if all(other[name] == value for other in others)}


def _drawn(operation: str, restrictions: Mapping[str, object]) -> list[Arguments]:
    found: list[Arguments] = []

    @seeded(0)
    @silent(DRAWN, Phase.generate)
    @given(draw.arguments(operations()[operation], restrictions=restrictions, farthest=REACH))
    def note(call: Arguments) -> None:
        found.append(call)

    with by_seed_alone():
        note()
    return found


def _given(operation: str, function: Function, call: Arguments) -> list[np.ndarray] | None:
    try:
        value = quietly(function)(*(call.arrays[name] for name in operations()[operation].arrays), **call.parameters)
    except (ValueError, IndexError, ArithmeticError, TypeError):
        return None
    return [np.asarray(part) for part in (value if isinstance(value, tuple) else (value,))]


def _agree(one: list[np.ndarray] | None, other: list[np.ndarray] | None) -> bool:
    if one is None or other is None:
        return True
    return all(a.shape == b.shape and _close(a, b) for a, b in zip(one, other, strict=True))


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    largest = float(np.max(np.abs(np.nan_to_num(one)), initial=0.0))
    return bool(np.allclose(one, other, rtol=CLOSE, atol=CLOSE * largest, equal_nan=True))
