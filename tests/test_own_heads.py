"""Attention without grouped heads: calls have none where that is declared, and code that raises for them is told to declare it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conformance import Adapter, Unsupported, assert_conforms
from conformance.adapt.adapter import AdapterError
from conformance.adapt.embedding import OutsideError, answer
from conformance.calls.outcomes import Errored, Passed
from conformance.calls.takes import Takes, sharing
from conformance.checks.evidence.bounds import telling
from conformance.golden.large import large
from conformance.golden.sweep import sweep
from conformance.in_process import InProcess
from conformance.run.questions import Judge
from conformance.spec.declarations import operations
from conformance.spec.vectors import load

EQUAL = Takes(heads="equal")
ATTEND: dict[str, Any] = {"layout": "half", "direction": "positive", "causal": True}


def with_own_heads(operation: str, error: type[Exception]) -> Callable[..., Any]:
    """Return the reference, which raises where heads share a key head; but for ``Unsupported`` a single one is broadcast."""
    right, names = operations()[operation].function, list(operations()[operation].arrays)

    def function(*arrays: np.ndarray, **parameters: Any) -> Any:
        given = dict(zip(names, arrays, strict=True))
        keys, heads = given["k"].shape[1], given["q"].shape[1]
        if keys != heads and (keys > 1 or error is Unsupported):
            message = f"{keys} key heads for {heads}"
            raise error(message)
        came = right(*(array.astype(np.float64) if array.dtype == np.float32 else array for array in arrays), **parameters)
        return tuple(each.astype(np.float32) for each in came) if isinstance(came, tuple) else came.astype(np.float32)

    return function


def attend(q: np.ndarray, k: np.ndarray, *arrays: np.ndarray, base: float, wrong: float = 1.0) -> Any:
    return with_own_heads("rope.attend", ValueError)(q, k, *arrays, **ATTEND, base=base * wrong, head_dim=q.shape[-1])


@pytest.mark.parametrize("operation", [name for name, each in operations().items() if sharing(each) and name.endswith(".attend")])
def test_no_call_has_grouped_heads_where_none_are_declared(operation: str) -> None:
    adapter = Adapter("mine")
    adapter.implements(operation, with_own_heads(operation, Unsupported), heads="equal")
    judge = Judge(InProcess(adapter), examples=5, seed=0, level="smoke")
    found = [judge.answer(question) for question in judge.questions if question.vector is None]

    assert sum(isinstance(result.outcome, Passed) for result in found) >= 8
    assert not [f"{one.check}: {one.outcome}" for one in found if isinstance(one.outcome, Errored) or getattr(one.outcome, "raised", False)]


@pytest.mark.parametrize("operation", ["rope.attend", "alibi.attend", "kerple.weights", "shaw.logits"])
@pytest.mark.parametrize("heads", [{}, {"num_heads": 12}], ids=str)
def test_large_calls_and_sweeps_have_no_grouped_heads_either(operation: str, heads: dict[str, object]) -> None:
    known = operations()[operation]
    declared = heads if heads.keys() <= known.parameters.keys() else {}
    calls = [*large(known, restrictions=declared, takes=EQUAL, dtype="float32", seed=1, level="core")]
    calls += sweep(known, restrictions=declared, takes=EQUAL, dtype="float32", seed=1)

    assert calls
    assert all(call.arguments.arrays["q"].shape[1] == call.arguments.arrays["k"].shape[1] for call in calls)


def test_right_attention_conforms_and_one_of_another_base_is_convicted() -> None:
    assert_conforms(attend, "rope.attend", seed=3, level="smoke", heads="equal", **ATTEND)
    with pytest.raises(AssertionError, match=r"rope.attend must conform, got [1-9]"):
        assert_conforms(lambda *a, base: attend(*a, base=base, wrong=1.01), "rope.attend", seed=3, level="smoke", heads="equal", **ATTEND)


@pytest.mark.parametrize("error", [ValueError, Unsupported])
def test_code_that_raises_for_grouped_heads_alone_is_told_to_declare_none(error: type[Exception]) -> None:
    with pytest.raises(AssertionError, match='declare heads="equal"'):
        assert_conforms(with_own_heads("rope.attend", error), "rope.attend", seed=3, **ATTEND)


def test_heads_are_advised_only_where_every_call_that_raises_has_grouped_ones() -> None:
    stored = [vector for vector in load(["rope.attend"]) if vector.error is None]
    grouped = [vector for vector in stored if vector.inputs["q"].shape[1] != vector.inputs["k"].shape[1]]
    others = [vector for vector in stored if vector not in grouped]

    assert telling(others, grouped) == {"heads": "equal"}
    assert telling([*others, grouped[0]], grouped[1:]) != {"heads": "equal"}
    assert telling(others[1:], [*grouped, others[0]]) != {"heads": "equal"}


def test_a_stored_call_with_grouped_heads_lies_outside() -> None:
    arrays = {"q": np.ones((1, 4, 1, 2)), "k": np.ones((1, 2, 1, 2)), "v": np.ones((1, 2, 1, 2))}
    places = {"query_positions": np.array([1]), "key_positions": np.array([0])}

    with pytest.raises(OutsideError, match="key heads must be as many as query heads by its declaration, got 2 for 4"):
        answer(operations()["rope.attend"], arrays | places, EQUAL, lambda _: {})


@pytest.mark.parametrize(
    ("operation", "heads", "told"),
    [
        ("rope.rotate", "equal", "heads must be declared of an operation whose query heads may share key heads, got rope.rotate"),
        ("rope.attend", "equl", r"heads must be one of any, equal, got 'equl' \(did you mean equal\?\)"),
    ],
)
def test_heads_that_make_no_sense_are_refused(operation: str, heads: Any, told: str) -> None:
    with pytest.raises(AdapterError, match=told):
        Adapter("mine").implements(operation, attend, heads=heads)
