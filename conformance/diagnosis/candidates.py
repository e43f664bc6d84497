"""What could explain a failure: one mistake, or two together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from conformance.adapt import embedding
from conformance.adapt.arrays import MalformedError
from conformance.calls.takes import Takes
from conformance.mutants import for_operation
from conformance.mutants.building import Altered, Function, declaring
from conformance.mutants.composing import composed
from conformance.spec.declarations import operations
from conformance.spec.mutant import Kind, Mutant
from conformance.spec.vectors import Vector


@dataclass(frozen=True)
class Candidate:
    """One explanation: what is named, what it does, and the function that does it.

    ``unrounded`` is the function without its rounding, where it rounds intermediates and does something else besides; ``numbers`` are those
    that it takes for parameters, whatever is asked for. What is ``elsewhere`` stands in nothing that the code was given.
    """

    names: tuple[str, ...]
    does: str
    should: str
    fix: str
    function: Function
    kind: Kind
    threads: tuple[str, ...] = ()
    unrounded: Function | None = None
    forces: Mapping[str, object] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    elsewhere: bool = False

    @property
    def name(self) -> str:
        """All its names in one."""
        return " + ".join(self.names)

    @property
    def operation(self) -> str:
        """What it explains."""
        return self.names[0].split("/", 1)[0]

    @property
    def precision(self) -> bool:
        """Whether it rounds intermediates, which never repeats to the bit."""
        return self.kind == "precision"

    @property
    def of_parameters(self) -> bool:
        """Whether it is the operation itself, with other parameters."""
        return isinstance(self.function, Altered) and self.function.by_parameters

    @property
    def behind(self) -> tuple[bool, bool]:
        """Whether others go before it that fit equally well."""
        return self.elsewhere, not self.of_parameters

    def answer(self, vector: Vector) -> dict[str, np.ndarray] | None:
        """Return its results for one vector, or nothing where it can't answer."""
        return answer(self.function, vector)

    def before_rounding(self, vector: Vector) -> dict[str, np.ndarray] | None:
        """Return what it would give without its rounding, or nothing where that is the right result."""
        return None if self.unrounded is None else answer(self.unrounded, vector)


def answer(function: Function, vector: Vector) -> dict[str, np.ndarray] | None:
    """Return what a function gives for one vector, by name, or nothing where it can't answer."""
    return results(function, vector.operation, [vector.inputs[name] for name in operations()[vector.operation].arrays], vector.parameters)


def results(
    function: Function, operation: str, arrays: Sequence[np.ndarray], parameters: Mapping[str, object]
) -> dict[str, np.ndarray] | None:
    """Return what a function gives for one call, by name, or nothing where it can't answer."""
    try:
        with np.errstate(all="ignore"):
            value: Any = function(*arrays, **parameters)
    except (ValueError, IndexError, ArithmeticError, TypeError):
        return None
    values = value if isinstance(value, tuple) else (value,)
    return {name: np.asarray(array) for name, array in zip(operations()[operation].results, values, strict=True)}


def known(operation: str) -> list[Candidate]:
    """Return every mutant of an operation: conventions, then mistakes, then precision."""
    return [of(mutant) for mutant in for_operation(operation)]


def of(mutant: Mutant) -> Candidate:
    """Return one mutant as an explanation."""
    return Candidate(
        (mutant.name,), mutant.does, mutant.should, mutant.fix, mutant.function, mutant.kind, mutant.threads, forces=mutant.forces
    )


def called_as_declared(candidate: Candidate, takes: Takes) -> Candidate:
    """Return an explanation as code that makes it is called by a declaration: row by row, or with longer inputs."""
    contract = operations()[candidate.operation]

    def function(*arrays: np.ndarray, **parameters: object) -> tuple[np.ndarray, ...]:
        def call(given: Sequence[np.ndarray]) -> Mapping[str, np.ndarray]:
            found = results(candidate.function, candidate.operation, given, parameters)
            if found is None:
                raise ValueError
            return found

        try:
            answered = embedding.answer(contract, dict(zip(contract.arrays, arrays, strict=True)), takes, call)
        except (embedding.OutsideError, MalformedError) as error:
            raise ValueError from error
        return tuple(answered[name] for name in contract.results)

    return replace(candidate, function=function)


def both(one: Candidate, two: Candidate) -> Candidate | None:
    """Return two explanations as one, or ``None`` where they can't be put together."""
    function = composed(one.function, two.function)
    if function is None:
        return None
    forces = {**one.forces, **two.forces} if two.forces else {}
    return Candidate(
        names=one.names + two.names,
        does=f"{one.does}; {two.does}",
        should=f"{one.should}; {two.should}",
        fix=declaring(one.operation, forces) if forces else f"{one.fix}; {two.fix}",
        function=function,
        kind=two.kind,
        threads=tuple(dict.fromkeys(one.threads + two.threads)),
        unrounded=one.function if two.precision and not one.precision else None,
        forces=forces,
    )


def with_conventions(operation: str, others: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield every explanation under every convention that wasn't asked for."""
    for convention in for_operation(operation):
        for other in others if convention.forces else ():
            pair = both(of(convention), other)
            if pair is not None:
                yield pair


def pairs_of_conventions(operation: str) -> Iterator[Candidate]:
    """Yield two conventions of different parameters together."""
    conventions = [mutant for mutant in for_operation(operation) if mutant.forces]
    for one, two in combinations(conventions, 2):
        pair = both(of(one), of(two))
        if pair is not None and not set(one.forces) & set(two.forces):
            yield pair


def pairs_of_mistakes(operation: str) -> Iterator[Candidate]:
    """Yield two mistakes together, of which the second may be one of precision."""
    mistakes = [of(mutant) for mutant in for_operation(operation) if not mutant.forces]
    for one, two in combinations(mistakes, 2):
        pair = None if one.precision else both(one, two)
        if pair is not None:
            yield pair
