"""A mistake that only the backward pass makes is named, and said to be there."""

from collections.abc import Callable
from typing import Any

import pytest
from test_manner_checks import HALF, batched
from test_worker_manners import session, turning

from conformance.calls.outcomes import Diagnosis, Failed
from conformance.checks import golden_checks, manner_checks
from conformance.judge.journal import Task
from conformance.run import by_values

#: What a backward pass does with the cotangent, and how that is named.
WRONG: dict[str, Callable[[Callable[..., Any], Any], Any]] = {
    "rope.gradient/gradient-forward": lambda forward, cotangent: forward(cotangent),
    "rope.gradient/gradient-zero": lambda _, cotangent: 0 * cotangent,
    "rope.gradient/gradient-unturned": lambda _, cotangent: cotangent,
}


def right_or(torch: Any, operation: str, backward: Callable[[Callable[..., Any], Any], Any]) -> Callable[..., Any]:
    """Return a rotation that is right, with a backward pass of its own."""
    rotate = batched(turning(torch))

    class Own(torch.autograd.Function):  # type: ignore[misc,name-defined]  # torch is imported when the test runs
        @staticmethod
        def forward(ctx: Any, x: Any, turn: Any) -> Any:
            ctx.turn = turn
            return turn(x)

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            return backward(ctx.turn, cotangent), None

    def own(x: Any, positions: Any, *, factor: float = 1.0, **parameters: Any) -> Any:
        places = positions if operation == "rope.rotate" else positions.double() / factor
        return Own.apply(x, lambda features: rotate(features, places, **parameters))

    return own


def diagnosed(operation: str, backward: Callable[..., Any], dtype: str) -> Diagnosis | None:
    """Return what is said of a rotation whose gradients alone are wrong."""
    torch = pytest.importorskip("torch")
    opened = session(right_or(torch, operation, backward), "torch", operation, dtypes=("float32", "bfloat16"), **HALF)
    (descriptor,) = opened.implementations
    task = Task(descriptor, dtype, "float32" if dtype == "float32" else "bfloat16-model")
    put = opened.subject(descriptor, dtype, task.profile)
    plain = list(golden_checks.run(put, task, golden_checks.drawn(task, 0), enough=24))
    turned = list(manner_checks.gradients(put, task, plain, 0))
    assert not any(isinstance(each.judgement.outcome, Failed) for each in plain)
    assert any(isinstance(each.judgement.outcome, Failed) for each in turned)
    return by_values.diagnosis(opened, task, [*plain, *turned])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("operation", ["rope.rotate", "position_interpolation.rotate"])
@pytest.mark.parametrize("name", WRONG)
def test_a_gradient_that_is_wrong_alone_is_named(name: str, operation: str, dtype: str) -> None:
    found = diagnosed(operation, WRONG[name], dtype)

    assert found is not None
    assert found.name == name
    assert found.does.endswith(", only in the backward pass")
