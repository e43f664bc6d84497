from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from conformance import laws
from conformance.calls.outcomes import Errored, Passed
from conformance.calls.subject import CallFailedError, Reply, Subject
from conformance.judge.judge import compare
from conformance.mutants import FAMILIES, for_operation, slots
from conformance.mutants.building import altered
from conformance.mutants.catalogue import MUTANTS
from conformance.mutants.rounding import rounded
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES
from tools.convictions import lock
from tools.convictions.computed import convicting, float32_reply, read_only, vectors
from tools.convictions.laws import claimed

BY_LAW = [(name, law) for name, claims in claimed().items() for law in claims]


def subject(operation: str, function: Any) -> Subject:
    def call(arrays: Any, parameters: Mapping[str, object]) -> Reply:
        try:
            with np.errstate(all="ignore"):
                return float32_reply(operation, function(*arrays, **parameters))
        except SpecificationError as error:
            raise CallFailedError(Errored(str(error))) from error

    return Subject(operations()[operation], "float32", "float32", call)


def declared(operation: str) -> tuple[Any, ...]:
    scheme, name = operation.split(".")
    return tuple(SCHEMES[scheme].laws.get(name, ()))


@pytest.mark.parametrize("operation", operations())
def test_the_lock_says_which_vector_convicts_each_mutant(operation: str) -> None:
    written = {name: conviction for name, conviction in lock.read().items() if lock.operation_of(name) == operation}

    assert list(lock.differences(written, lock.locked(convicting(operation)))) == []


@pytest.mark.parametrize(("name", "law"), BY_LAW)
def test_the_law_that_claims_a_mutant_convicts_it(name: str, law: str) -> None:
    mutant = MUTANTS[name]
    claimed = [each for each in declared(mutant.operation) if laws.law_name(each) == law]
    found = laws.run(subject(mutant.operation, mutant.function), claimed, examples=20, seed=0, shrink=False)
    findings = {finding.law: finding for finding in found}

    assert findings[law].failure is not None
    assert findings[law].outcome is None


@pytest.mark.parametrize("operation", operations())
def test_no_vector_convicts_the_reference(operation: str) -> None:
    right = altered(operation)
    own = [vector for vector in vectors().values() if vector.operation == operation]
    replies = [(vector, float32_reply(operation, right(*read_only(vector), **vector.parameters))) for vector in own]

    assert len(replies) >= 12
    assert all(isinstance(compare(vector, reply, "float32", "float32").outcome, Passed) for vector, reply in replies)


def test_every_operation_has_mutants() -> None:
    assert all(len(for_operation(operation)) >= 10 for operation in operations())
    assert sum(len(for_operation(operation)) for operation in operations()) == len(MUTANTS)


def test_names_are_unique_and_start_with_the_operation() -> None:
    made = [mutant.name for family in FAMILIES if family is not slots for mutant in family.mutants() if not mutant.inherited]

    assert len(made) == len(set(made))
    assert all(mutant.name == name and name.startswith(f"{mutant.operation}/") for name, mutant in MUTANTS.items())


def test_every_mutant_is_convicted_by_a_vector_or_a_law() -> None:
    written = lock.read()

    assert set(written) == set(MUTANTS)
    assert {name for name, conviction in written.items() if not conviction} <= set(claimed()) <= set(MUTANTS)


@pytest.mark.parametrize("operation", operations())
def test_every_mutant_says_what_where_from_and_how_to_repair(operation: str) -> None:
    for mutant in for_operation(operation):
        assert mutant.does, mutant.name
        assert mutant.should, mutant.name
        assert mutant.fix, mutant.name
        assert mutant.threads or mutant.origin, mutant.name
        assert all(thread.startswith("https://github.com/") for thread in mutant.threads), mutant.name


def test_at_least_thirty_mutants_come_from_public_threads() -> None:
    families = {name.split("/")[1] for name, mutant in MUTANTS.items() if mutant.threads and not mutant.origin}

    assert len(families) >= 30


def test_conventions_come_first_and_precision_last() -> None:
    kinds = [mutant.kind for mutant in for_operation("yarn.rotate")]

    assert kinds == sorted(kinds, key=("convention", "mistake", "precision").index)
    assert set(kinds) == {"convention", "mistake", "precision"}


@pytest.mark.parametrize(("name", "dtype"), [("bfloat16", ml_dtypes.bfloat16), ("float16", np.float16)])
def test_half_rounding_agrees_with_the_formats(name: str, dtype: Any) -> None:
    numbers = np.concatenate([np.ldexp(np.arange(1.0, 600.0), exponent) for exponent in (-30, -24, -10, 0, 7)])
    signed = np.concatenate([numbers, -numbers, [0.0, 1_048_575.0, 2049.0, 0.1]])

    with np.errstate(over="ignore"):
        expected = signed.astype(np.float32).astype(dtype).astype(np.float64)

    assert np.array_equal(rounded(signed, name), expected)


def test_half_rounding_overflows_to_infinity() -> None:
    assert rounded(np.array([-65_520.0, 65_519.0]), "float16").tolist() == [-np.inf, 65_504.0]


LISTED = {0, 1, 2, 9, 255, 256, 257, 2047, 2048, 2049, 4095, 4096, 4097, 65_535, 131_071, 1_048_575, 1_048_576}


def covered(vector: Vector) -> tuple[frozenset[int], tuple[object, ...]]:
    """Return the listed positions that a vector visits, and the branches that its parameters choose."""
    parameters = operations()[vector.operation].parameters
    choices = [vector.parameters[name] for name, parameter in parameters.items() if parameter.choices or parameter.kind is bool]
    choices += [bool(vector.parameters[name]) for name, parameter in parameters.items() if parameter.optional]
    whole = [array for array in vector.inputs.values() if array.dtype.kind == "i"]
    return frozenset(LISTED.intersection(int(p) for array in whole for p in array.ravel())), tuple(choices)


@pytest.mark.parametrize("operation", operations())
def test_at_least_twelve_cases_convict_other_mutants_or_visit_other_positions_and_branches(operation: str) -> None:
    killed = [(case, name) for name, cases in convicting(operation).items() for case in cases]
    own = [vector for vector in vectors().values() if vector.operation == operation]
    different = {(frozenset(name for case, name in killed if case == vector.id), covered(vector)) for vector in own}

    assert len(different) >= 12
