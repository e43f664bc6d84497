"""Ask the oracle about a call: a vector with the proven values, and with what the profiles allow."""

import functools
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from conformance import oracle
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations
from conformance.spec.vector_cases import Vector
from refimpl.schemes import SCHEMES
from refimpl.spec import Case, Operation

Conventions = tuple[object, ...]


class UnprovableError(Exception):
    """A call that has no proven value: a tie that no precision decides, or a query that sees no key."""


def golden(
    operation: str,
    arguments: Arguments,
    *,
    identity: str,
    exposes: str,
    profiles: Collection[str],
    at: Mapping[str, np.ndarray] | None = None,
) -> Vector:
    """Return the call with its proven result and what the profiles allow; with ``at`` only these elements of it, by flat index."""
    declared = operations()[operation]
    answer = _asked(operation, arguments, profiles, at)
    shapes = {name: tensor.shape for name, tensor in answer.expected.items()}
    return Vector(
        id=identity,
        operation=operation,
        exposes=exposes,
        tags=("boundary",) if answer.straddles else (),
        equality=equality(declared, arguments.parameters),
        parameters=arguments.parameters,
        inputs=arguments.arrays,
        expected={name: _array(tensor.values, tensor.shape, whole=name in declared.integers) for name, tensor in answer.expected.items()},
        allowed={
            profile: {name: _array(radii, shapes[name]) for name, radii in results.items()} for profile, results in answer.allowed.items()
        },
        also={profile: results for profile, results in answer.also.items() if any(results.values())},
        at=dict(at or {}),
        shapes=answer.shapes if at else {},
        drawn=True,
    )


def _asked(operation: str, arguments: Arguments, profiles: Collection[str], at: Mapping[str, np.ndarray] | None) -> oracle.Answer:
    inputs = {name: oracle.Tensor(array.shape, memoryview(array.ravel())) for name, array in arguments.arrays.items()}  # type: ignore[arg-type]  # a sequence of numbers
    elements = {name: flat.tolist() for name, flat in at.items()} if at else None
    try:
        return oracle.answer(operation, inputs, arguments.parameters, profiles=profiles, elements=elements)
    except (oracle.Refused, oracle.BlindError) as refusal:
        raise UnprovableError(str(refusal)) from None


def _array(values: Sequence[float | None], shape: tuple[int, ...], *, whole: bool = False) -> np.ndarray:
    """Return an array that can't be written to; what isn't known is NaN."""
    array = np.array(values, dtype=np.int64 if whole else np.float64).reshape(shape)
    if not whole:
        array[np.isinf(array)] = np.nan
    array.setflags(write=False)
    return array


def equality(operation: Operation, parameters: Mapping[str, object]) -> str:
    """Return how the scheme's own cases of these conventions are judged."""
    if set(operation.results) <= operation.integers:
        return "exact"
    return _declared(operation.name).get(_conventions(operation, parameters)) or "allowance"


@functools.cache
def _declared(operation: str) -> Mapping[Conventions, str | None]:
    """Return how the cases of an operation are judged, by their conventions."""
    scheme, _, name = operation.partition(".")
    cases = [case for case in SCHEMES[scheme].cases if case.operation == name and case.error is None]
    return {_conventions(operations()[operation], _complete(operation, case)): case.equality for case in cases}


def _complete(operation: str, case: Case) -> dict[str, object]:
    defaults = {name: parameter.default for name, parameter in operations()[operation].parameters.items()}
    return defaults | case.arguments


def _conventions(operation: Operation, parameters: Mapping[str, object]) -> Conventions:
    """Return the values of the parameters that are choices of words."""
    return tuple(parameters[name] for name, parameter in operation.parameters.items() if parameter.choices)
