import functools
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from conformance import laws
from conformance.declarations import operations
from conformance.judge import compare
from conformance.mutant import Mutant
from conformance.mutants import FAMILIES, MUTANTS, for_operation
from conformance.mutants.building import altered
from conformance.mutants.convictions import CONVICTED_BY
from conformance.mutants.rounding import rounded
from conformance.outcomes import Errored, Failed, Passed
from conformance.subject import CallFailedError, Reply, Subject
from conformance.vectors import Vector, load
from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES

BY_VECTOR = [(name, claim) for name, claims in CONVICTED_BY.items() for claim in claims if not claim.startswith("law:")]
BY_LAW = [(name, claim.removeprefix("law:")) for name, claims in CONVICTED_BY.items() for claim in claims if claim.startswith("law:")]


@functools.cache
def vectors() -> dict[str, Vector]:
    return {vector.id: vector for vector in load() if vector.error is None}


def float32_reply(operation: str, value: Any) -> Reply:
    """Return what an implementation would return that computes exactly and rounds once, to float32."""
    values = value if isinstance(value, tuple) else (value,)
    arrays = {name: np.asarray(array) for name, array in zip(operations()[operation].results, values, strict=True)}
    with np.errstate(over="ignore"):
        narrow = {name: a if a.dtype.kind == "i" else a.astype(np.float32).astype(np.float64) for name, a in arrays.items()}
    return Reply(narrow, {name: "int64" if a.dtype.kind == "i" else "float32" for name, a in arrays.items()})


def read_only(vector: Vector) -> list[np.ndarray]:
    arrays = [vector.inputs[name].copy() for name in operations()[vector.operation].arrays]
    for array in arrays:
        array.flags.writeable = False
    return arrays


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


@pytest.mark.parametrize(("name", "identity"), BY_VECTOR)
def test_the_vector_that_claims_a_mutant_convicts_it(name: str, identity: str) -> None:
    vector, mutant = vectors()[identity], MUTANTS[name]
    reply = float32_reply(mutant.operation, mutant.function(*read_only(vector), **vector.parameters))

    assert vector.operation == mutant.operation
    assert isinstance(compare(vector, reply, "float32", "float32").outcome, Failed)


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


@pytest.mark.parametrize("operation", operations())
def test_no_law_convicts_the_reference(operation: str) -> None:
    findings = list(laws.run(subject(operation, altered(operation)), declared(operation), examples=10, seed=1))

    assert len(findings) >= len(declared(operation)) + len(laws.UNIVERSAL)
    assert [finding.failure for finding in findings if finding.failure] == []


def test_every_operation_has_mutants() -> None:
    assert all(len(for_operation(operation)) >= 10 for operation in operations())
    assert sum(len(for_operation(operation)) for operation in operations()) == len(MUTANTS)


def test_names_are_unique_and_start_with_the_operation() -> None:
    made = [mutant for family in FAMILIES for mutant in family.mutants()]

    assert len(made) == len(MUTANTS)
    assert all(mutant.name == name and name.startswith(f"{mutant.operation}/") for name, mutant in MUTANTS.items())


def test_every_mutant_is_claimed_by_a_vector_of_its_operation() -> None:
    assert set(CONVICTED_BY) == set(MUTANTS)
    assert {name for name, _ in BY_VECTOR} == set(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=lambda mutant: mutant.name)
def test_every_mutant_says_what_where_from_and_how_to_repair(mutant: Mutant) -> None:
    assert mutant.does
    assert mutant.should
    assert mutant.fix
    assert mutant.threads or mutant.origin
    assert all(thread.startswith("https://github.com/") for thread in mutant.threads)


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


def killed(vector: Vector) -> frozenset[str]:
    """Return the mutants that a vector convicts at float32."""
    return frozenset(mutant.name for mutant in for_operation(vector.operation) if kills(vector, mutant))


def kills(vector: Vector, mutant: Mutant) -> bool:
    """Return whether a mutant's answer fails, or it has none."""
    try:
        answer = mutant.function(*read_only(vector), **vector.parameters)
    except (ArithmeticError, IndexError, ValueError):
        return True
    return isinstance(compare(vector, float32_reply(vector.operation, answer), "float32", "float32").outcome, Failed)


def covered(vector: Vector) -> tuple[frozenset[int], tuple[object, ...]]:
    """Return the listed positions that a vector visits, and the branches that its parameters choose."""
    parameters = operations()[vector.operation].parameters
    choices = [vector.parameters[name] for name, parameter in parameters.items() if parameter.choices or parameter.kind is bool]
    choices += [bool(vector.parameters[name]) for name, parameter in parameters.items() if parameter.optional]
    whole = [array for array in vector.inputs.values() if array.dtype.kind == "i"]
    return frozenset(LISTED.intersection(int(p) for array in whole for p in array.ravel())), tuple(choices)


@pytest.mark.parametrize("operation", operations())
def test_at_least_twelve_cases_convict_other_mutants_or_visit_other_positions_and_branches(operation: str) -> None:
    with np.errstate(all="ignore"):
        different = {(killed(vector), covered(vector)) for vector in vectors().values() if vector.operation == operation}

    assert len(different) >= 12
