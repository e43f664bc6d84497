"""What the arguments of an operation are to a law, by their axes and names."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from conformance.judge.judge import PLACES
from conformance.laws.inexact import Inexact, exact
from conformance.laws.trial import Trial
from conformance.spec.arguments import Arguments, farthest
from conformance.spec.constraints import inside_of_the_length, inside_of_the_scale
from conformance.spec.declarations import operations
from refimpl.spec import Operation

POSITIONS = ("query_positions", "key_positions")
#: Attention factors that replace the computed one where they are given.
GIVEN = ("attention_factor", "short_mscale", "long_mscale")


@dataclass(frozen=True)
class Turned:
    """An array of vectors, the result that they become, and the positions (or cosines) that say how far they turn."""

    vectors: str
    result: str
    positions: str


def real(operation: Operation) -> tuple[str, ...]:
    """Return the names of the arrays of real numbers."""
    return tuple(name for name in operation.arrays if name not in operation.integers | operation.numbers)


def turned(operation: Operation) -> tuple[Turned, ...]:
    """Return the arrays that come back in the axes that they had, the last of several for each result."""
    found = []
    for result, axes in operation.results.items():
        alike = [name for name in real(operation) if operation.arrays[name] == axes]
        places = [PLACES[axis] for axis in axes.split() if PLACES.get(axis) in operation.arrays]
        if alike:
            found.append(Turned(alike[-1], result, places[0] if places else "cos"))
    return tuple(found)


def combined(operation: Operation) -> tuple[str, ...]:
    """Return the arrays that an operation is linear in together: those that are turned, or else the first."""
    return tuple(each.vectors for each in turned(operation)) or real(operation)[:1]


def with_others(trial: Trial, *names: str) -> Arguments:
    """Return the drawn call with the other values of some arrays."""
    return trial.arguments.with_arrays(**{name: trial.example.others[name] for name in names})


def placed(call: Arguments, change: Callable[[np.ndarray], np.ndarray]) -> Arguments:
    """Return the call at other positions."""
    return call.with_arrays(**{name: change(array) for name, array in call.arrays.items() if name in PLACES.values()})


def far(trial: Trial, name: str, call: Arguments) -> np.ndarray:
    """Return how far every token of a call lies from 0."""
    return farthest(trial.operation.arrays[name], call.arrays[name])


def steps(trial: Trial, name: str, call: Arguments) -> np.ndarray:
    """Return the drawn shift; where positions have axes, once, twice, ... of it on these."""
    several = trial.operation.arrays[name].endswith(" axis")
    return np.asarray(trial.example.shift * (1 + np.arange(call.arrays[name].shape[-1] if several else 1)))


def shifted(trial: Trial, call: Arguments, by: int = 1) -> Arguments:
    """Return the call with all positions moved ``by`` times the drawn shift, or less far where powers of them would overflow."""
    names = [name for name in call.arrays if name in PLACES.values()]
    moved = {name: call.arrays[name] + by * steps(trial, name, call) for name in names}
    return call.with_arrays(**inside_of_the_scale(trial.operation.arrays, moved, call.parameters))


def lasting(trial: Trial, call: Arguments, length: int) -> Arguments:
    """Return the call in a sequence of another length, with positions that lie in it."""
    parameters = {**call.parameters, "length": length}
    return Arguments(inside_of_the_length(trial.operation.arrays, dict(call.arrays), parameters), parameters)


def from_origin(trial: Trial) -> Arguments:
    """Return the drawn call at position 0, or counted from 0 where the code takes nothing else."""
    if trial.subject.counted:
        return placed(trial.arguments, lambda positions: positions - positions[..., :1])
    return placed(trial.arguments, np.zeros_like)


def distances(call: Arguments) -> np.ndarray:
    """Return how far every key lies from every query, for every head."""
    query, key = (call.arrays[name] for name in POSITIONS)
    return np.asarray(np.abs(key[..., None, None, :] - query[..., None, :, None]))


def at_origin(call: Arguments, known: Inexact) -> Inexact:
    """Return what is between queries and keys that stand at the same position."""
    return known[np.broadcast_to(distances(call) == 0, known.values.shape)]


def meeting(trial: Trial) -> Arguments:
    """Return the drawn call with keys that stand where queries do, where positions can be chosen."""
    query, key = (trial.arguments.arrays[name] for name in POSITIONS)
    same = np.take(query, np.arange(key.shape[-1]) % query.shape[-1], axis=-1)
    return trial.arguments if trial.subject.counted else trial.arguments.with_arrays(key_positions=same)


def factor(trial: Trial, call: Arguments) -> Inexact:
    """Return the number that multiplies what is turned: what the operation in the form's slot for it is proven to give, or 1."""
    slot = getattr(getattr(trial.operation.function, "form", None), "factor", None)
    own = next((name for name, known in operations().items() if known.function is slot), None)
    return exact(1.0) if own is None else trial.right(own, call)


def unstretched(call: Arguments, by: float = 1.0) -> Arguments:
    """Return the call with one factor for every pair, whichever way the operation is told, all channels, and nothing that multiplies."""
    told = {"factor": float(by), **dict.fromkeys(GIVEN), "max_length": call.parameters.get("original_length")}
    width = call.parameters.get("head_dim")
    told |= {"rotary_dim": width, "turned_pairs": width // 2 if isinstance(width, int) else None}
    factors = {name: np.full_like(array, by) for name, array in call.arrays.items() if name.endswith("factors")}
    factors |= {name: np.zeros_like(array) for name, array in call.arrays.items() if name == "exponents"}
    return call.with_arrays(**factors).with_parameters(**{name: value for name, value in told.items() if name in call.parameters})
