"""Every case of every scheme: bad input gets the line it declares, good input gets the declared axes."""

from collections import Counter

import numpy as np
import pytest

from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES, operations
from refimpl.spec import Case, axis_names, bind
from tools.generate import inputs

OPERATIONS = operations()
EVERY = [(f"{scheme.name}.{case.name}", f"{scheme.name}.{case.operation}", case) for scheme in SCHEMES.values() for case in scheme.cases]
BAD = [pytest.param(operation, case, id=name) for name, operation, case in EVERY if case.error is not None]


def call(name: str, case: Case) -> dict[str, np.ndarray]:
    operation = OPERATIONS[name]
    parameters = inputs.parameters(operation, case)
    filled = inputs.arrays(f"{name}/{case.name}", operation, case, parameters)
    arrays = {key: np.asarray(v.values, dtype=np.int64 if v.integer else np.float64).reshape(v.shape) for key, v in filled.items()}
    like = {"like": np.zeros(1)} if operation.takes_like else {}
    result = operation.function(*arrays.values(), **parameters, **like)
    every = result if isinstance(result, tuple) else (result,)
    axes = {**operation.arrays, **operation.results}
    named = {key: np.asarray(value) for key, value in zip(operation.results, every, strict=True)}
    bind(axes, {key: value.shape for key, value in (arrays | named).items()}, parameters)
    return named


@pytest.mark.parametrize("operation", OPERATIONS)
def test_good_cases_give_finite_numbers_on_the_declared_axes(operation: str) -> None:
    for name, case in [(name, case) for name, own, case in EVERY if own == operation and case.error is None]:
        named = call(operation, case)
        assert all(axis_names(OPERATIONS[operation].results[key], value.ndim) is not None for key, value in named.items()), name
        assert all(value.size and np.isfinite(value).all() for value in named.values()), name


@pytest.mark.parametrize(("operation", "case"), BAD)
def test_a_bad_case_gets_exactly_its_line(operation: str, case: Case) -> None:
    with pytest.raises(SpecificationError) as caught:
        call(operation, case)
    assert str(caught.value) == case.error


def test_no_two_cases_have_one_name() -> None:
    assert max(Counter(name for name, _, _ in EVERY).values()) == 1


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_has_twelve_good_cases(operation: str) -> None:
    assert sum(name == operation and case.error is None for _, name, case in EVERY) >= 12


def test_only_biases_whose_form_is_free_up_to_a_constant_are_judged_so() -> None:
    free = {name for name, _, case in EVERY if case.equality == "row_constant"}
    counted = {name for name, _, case in EVERY if case.operation == "bias" and case.arguments.get("form") in {"column", "reversed"}}
    assert free == counted
