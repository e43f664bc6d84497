"""What a run convicts is convicted one by one, too: in pytest, and inside of a test."""

from collections.abc import Callable
from typing import Any

import law_implementations as right
import numpy as np
import pytest
from test_worker_manners import session, turning

from conformance.calls.outcomes import Failed, NotJudged, Passed, Result
from conformance.run.questions import EVIDENCE, Judge, Question

Function = Callable[..., Any]


def judge(function: Function, operation: str = "rope.rotate", framework: str = "numpy", **declared: Any) -> Judge:
    return Judge(session(function, framework, operation, **declared), examples=5, seed=3)


def evidence(asked: Judge) -> tuple[Question, Result]:
    (question,) = (question for question in asked.questions if question.check.endswith(EVIDENCE))
    return question, asked.answer(question)


def wrong_at_one_position(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    return right.rotate(x, np.where(positions == 2_777, 2_776, positions), **parameters)


def keyed_by_ends() -> Function:
    """Return a rotation whose cache knows a row of positions by its length and its ends."""
    kept: dict[Any, np.ndarray] = {}

    def rotate(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
        ends = positions[..., [0, -1]].tobytes() if positions.size else b""
        known = kept.setdefault((positions.shape, ends, str(parameters)), positions)
        return right.rotate(x, known, **parameters)

    return rotate


@pytest.mark.parametrize(
    ("function", "where"),
    [(wrong_at_one_position, "/sweep-1"), (keyed_by_ends(), "-reordered"), (right.by_pointer, "not contiguous")],
    ids=["only by the sweep", "only by a neighbour", "only with strided arrays"],
)
def test_what_hardly_shows_is_convicted_one_by_one(function: Function, where: str) -> None:
    asked = judge(function)
    question, result = evidence(asked)

    drawn = [asked.answer(each) for each in asked.questions if each.drawn]
    assert all(isinstance(each.outcome, Passed) for each in drawn)
    assert isinstance(result.outcome, Failed)
    assert where in f"{result.check}: {result.outcome.message}"
    assert asked.diagnosis(question) is None or not asked.diagnosis(question).named  # type: ignore[union-attr]


def test_a_wrong_gradient_is_convicted_one_by_one() -> None:
    torch = pytest.importorskip("torch")

    def rotate(x: Any, positions: Any, **parameters: Any) -> Any:
        if x.requires_grad:
            x.register_hook(lambda gradient: -gradient)
        return turning(torch)(x, positions, **parameters)

    _, result = evidence(judge(rotate, framework="torch", layout="half", direction="positive"))
    assert isinstance(result.outcome, Failed)
    assert result.check.endswith("-gradient")


def test_right_code_passes_one_by_one() -> None:
    _, result = evidence(judge(right.rotate))
    assert isinstance(result.outcome, Passed)


def test_a_declaration_of_one_call_has_no_other_to_be_asked() -> None:
    asked = judge(right.slopes, "alibi.slopes", num_heads=8, max_bias=8.0, slopes="code")
    first, second, *_ = (asked.answer(question) for question in asked.questions if question.drawn)

    assert isinstance(first.outcome, Passed)
    assert isinstance(second.outcome, NotJudged)
    assert second.check == "alibi.slopes/drawn-2"
    assert isinstance(evidence(asked)[1].outcome, Passed)


def test_each_case_is_judged_once_in_whatever_order_is_asked() -> None:
    calls: list[int] = []

    def counting(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
        calls.append(x.size)
        return right.rotate(x, positions, **parameters)

    asked = judge(counting)
    third, second = (next(each for each in asked.questions if each.drawn == number) for number in (3, 2))
    asked.answer(third)
    before = len(calls)
    assert before == 3
    asked.answer(second)
    assert len(calls) == before
