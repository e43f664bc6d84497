"""The reference is implementation number one: within its float64 allowance of every golden value and every published one."""

import numpy as np
import pytest

from conformance.spec.vectors import Vector, load, load_attested
from refimpl.schemes import operations

OPERATIONS = operations()
EVERY = load() + load_attested()


def reference(vector: Vector) -> dict[str, np.ndarray]:
    operation = OPERATIONS[vector.operation]
    like = {"like": np.zeros(1)} if operation.takes_like else {}
    result = operation.function(*vector.inputs.values(), **vector.parameters, **like)
    every = result if isinstance(result, tuple) else (result,)
    return {name: np.asarray(value) for name, value in zip(operation.results, every, strict=True)}


@pytest.mark.parametrize("vector", [v for v in EVERY if v.error is None and v.equality == "allowance"], ids=lambda vector: vector.id)
def test_the_reference_is_within_its_allowance(vector: Vector) -> None:
    for name, got in reference(vector).items():
        right, radius = (vector.expected or {})[name], vector.allowed["float64"][name]
        judged = np.isfinite(radius)

        assert judged.any()
        assert (np.abs(got - right) <= radius + np.spacing(np.abs(right) + radius) / 2)[judged].all()


@pytest.mark.parametrize("vector", [v for v in EVERY if v.equality == "exact" and v.error is None], ids=lambda vector: vector.id)
def test_the_reference_finds_every_integer(vector: Vector) -> None:
    expected = {name: array.tolist() for name, array in (vector.expected or {}).items()}
    assert {name: array.tolist() for name, array in reference(vector).items()} == expected


@pytest.mark.parametrize("vector", [v for v in EVERY if v.equality == "row_constant"], ids=lambda vector: vector.id)
def test_the_reference_is_right_up_to_a_constant_per_row(vector: Vector) -> None:
    for name, got in reference(vector).items():
        difference = got - (vector.expected or {})[name]
        radius = vector.allowed["float64"][name]

        assert (np.abs(difference - difference[..., :1]) <= 2 * radius.max() + np.spacing(np.abs(got).max())).all()
