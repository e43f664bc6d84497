"""The whole of a large result is what calls on its parts give, and code for which it isn't is seen."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from conformance.calls.subject import Reply, Subject
from conformance.calls.takes import Takes
from conformance.golden.large import large
from conformance.laws.parts import parts, sides
from conformance.laws.trial import Example, Trial
from conformance.spec.declarations import operations

Change = Callable[[np.ndarray], None]
HERE = np.zeros(0)


def subject(operation: str, change: Change) -> Subject:
    """Return the reference, cast to float32, with something done to its results."""
    declared = operations()[operation]

    def call(arrays: Sequence[np.ndarray], parameters: Mapping[str, object], *_: object) -> Reply:
        like = {"like": HERE} if declared.takes_like else {}
        returned = declared.function(*arrays, **parameters, **like)
        results = returned if isinstance(returned, tuple) else (returned,)
        values = {
            name: np.asarray(value).astype(np.float32).astype(np.float64) for name, value in zip(declared.results, results, strict=True)
        }
        for value in values.values():
            change(value)
        return Reply(values, dict.fromkeys(values, "float32"))

    return Subject(declared, "float32", "float32", call)


def unlike(operation: str, change: Change, number: int = 0) -> list[float]:
    """Return by how much parts of a large call are off, as multiples of the allowed."""
    takes = Takes()
    calls = list(large(operations()[operation], restrictions={}, takes=takes, dtype="float32", seed=5, level="core" if number else "smoke"))
    call = calls[number].arguments
    trial = Trial(subject(operation, change), Example(call, {}, 0, (1, 1), call.parameters))
    found = [side for part in parts(operations()[operation], call, takes) for side in sides(trial, part)]
    return [float(np.nanmax(np.abs(side.left - side.right) / side.allowed)) for side in found]


def nothing(_: np.ndarray) -> None:
    """Leave a result as it is."""


OFFERED = sorted(
    name
    for name, declared in operations().items()
    if declared.integers and not declared.integers & set(declared.results)
    and list(large(declared, restrictions={}, takes=Takes(), dtype="float32", seed=5, level="smoke"))
)


@pytest.mark.parametrize("operation", OFFERED)
def test_parts_of_right_code_agree_with_the_whole(operation: str) -> None:
    assert all(ratio <= 1 for ratio in unlike(operation, nothing))


@pytest.mark.parametrize("operation", OFFERED)
def test_parts_are_together_the_whole(operation: str) -> None:
    declared = operations()[operation]
    call = next(large(declared, restrictions={}, takes=Takes(), dtype="float32", seed=5, level="smoke")).arguments

    first, last = parts(declared, call, Takes())

    for axis in first.along:
        assert first.along[axis].stop == last.along[axis].start


@pytest.mark.parametrize("operation", ["rope.rotate", "sinusoidal.encode", "t5.bias", "alibi.bias", "rope.attend", "shaw.logits"])
def test_one_element_that_no_golden_value_judges_is_seen(operation: str) -> None:
    def change(values: np.ndarray) -> None:
        values.reshape(-1)[values.size // 2 + 7] += 0.5

    assert max(unlike(operation, change)) > 1


def test_positions_that_must_begin_at_zero_are_cut_behind_only() -> None:
    takes = Takes(positions="from_zero")
    encode = operations()["sinusoidal.encode"]
    call = next(large(encode, restrictions={}, takes=takes, dtype="float32", seed=5, level="smoke")).arguments

    assert [part.along["token"].start for part in parts(encode, call, takes)] == [0]


def test_queries_that_must_be_the_last_keys_are_cut_before_only() -> None:
    takes = Takes(queries="at_end")
    bias = operations()["alibi.bias"]
    call = next(large(bias, restrictions={}, takes=takes, dtype="float32", seed=5, level="smoke")).arguments

    assert [part.along["query"].stop for part in parts(bias, call, takes)] == [None]
