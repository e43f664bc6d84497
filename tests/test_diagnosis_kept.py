"""What is kept between calls is named where a known habit gives every answer, and only there."""

import ast
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.calls.manner import NO_GRAD, Manner
from conformance.calls.subject import Reply
from conformance.diagnosis import kept
from conformance.diagnosis.kept import Asked
from conformance.isolate.session import Session
from conformance.judge.journal import Call, Journal, Task
from conformance.mutants.building import right
from conformance.mutants.habits import HABITS

CONFORMANCE = Path(kept.__file__).parents[1]
ROTATE = {"head_dim": 4, "base": 10_000.0, "layout": "half", "direction": "positive"}
X = np.arange(24.0).reshape(1, 2, 3, 4) / 8


@pytest.fixture(scope="module")
def task() -> Task:
    with Session("numpy") as session:
        described = next(each for each in session.implementations if each.operation == "rope.rotate")
    return Task(described, "float64", "float64")


def call(task: Task, operation: str, *arrays: np.ndarray, **parameters: object) -> Call:
    return Call(dataclasses.replace(task, descriptor=dataclasses.replace(task.descriptor, operation=operation)), arrays, parameters)


def reply(value: Any, modified: tuple[str, ...] = ()) -> Reply:
    return Reply({"result": np.asarray(value)}, {"result": "float64"}, modified)


def explained(function: Callable[..., Any], *calls: Call) -> Any:
    """Return what is said of an implementation that is asked these calls, and the last one alone first."""
    plain = right(calls[0].task.operation)
    came = [Asked(each, reply(function(*each.arrays, **each.parameters))) for each in calls]
    return kept.explain(came, reply(plain(*calls[-1].arrays, **calls[-1].parameters)))


def test_a_parameter_of_the_earlier_call_is_told(task: Task) -> None:
    first = call(task, "yarn.frequencies", **frequencies(factor=4.0))
    second = call(task, "yarn.frequencies", **frequencies(factor=8.0))

    found = explained(kept.Keeping("yarn.frequencies", ("factor",)), first, second)

    assert not found.named
    assert found.description == ("after another call the answer is right for that call's factor, as if a cache's key lacked it",)


def test_a_known_habit_is_named_after_numbers_that_are_much_larger(task: Task) -> None:
    first = call(task, "rope.rotate", 1e25 * X, np.arange(3), **{**ROTATE, "base": 500.0})
    second = call(task, "rope.rotate", X, np.arange(3), **ROTATE)

    found = explained(HABITS["rope.rotate/cached-without-base"].make(), first, second)

    assert found.mutants == ("rope.rotate/cached-without-base",)


def test_every_way_to_differ_is_suspected_before_another_call_that_differs_alike(task: Task) -> None:
    asked = call(task, "rope.rotate", X, np.arange(3), **ROTATE)
    near, far, farther = (call(task, "rope.rotate", X, reach + np.arange(3), **{**ROTATE, "layout": "interleaved"}) for reach in (0, 9, 99))
    other = call(task, "rope.rotate", X, 5 + np.arange(3), **{**ROTATE, "layout": "interleaved", "base": 500.0})
    journal = Journal()
    for number, each in enumerate((far, other, farther, near, asked)):
        journal.note(str(number), each)

    assert list(journal.suspects(asked)) == [near, farther, other, far]


def test_the_first_call_that_differs_in_its_numbers_alone_is_suspected_before_others(task: Task) -> None:
    first, second, asked = (call(task, "rope.rotate", X, reach + np.arange(3), **ROTATE) for reach in (0, 9, 5))
    other = call(task, "rope.rotate", X, np.arange(3), **{**ROTATE, "layout": "interleaved"})
    journal = Journal()
    for kind, each in (("other", other), ("same", first), ("same", second), ("same", asked)):
        journal.note(kind, each)

    assert list(journal.suspects(asked)) == [first, other]


def test_a_call_that_is_made_without_gradients_is_blamed_on_calls_that_are_made_so(task: Task) -> None:
    first, asked = (call(task, "rope.rotate", X, reach + np.arange(3), **ROTATE) for reach in (0, 9))
    journal = Journal()
    journal.note("same", first)

    (suspect,) = journal.suspects(dataclasses.replace(asked, manner=Manner(views=NO_GRAD)))

    assert suspect.same_arrays(first)
    assert suspect.manner.views == NO_GRAD


def test_two_inputs_of_the_earlier_call_are_told(task: Task) -> None:
    first = call(task, "yarn.frequencies", **frequencies(factor=4.0, base=500.0, original_length=2_048))
    second = call(task, "yarn.frequencies", **frequencies(factor=8.0, base=10_000.0, original_length=4_096))

    found = explained(kept.Keeping("yarn.frequencies", ("base", "factor")), first, second)

    assert found.description[0].startswith("after another call the answer is right for that call's base and factor")


def frequencies(**chosen: object) -> Mapping[str, object]:
    usual = {"head_dim": 16, "base": 10_000.0, "original_length": 4_096, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": True}
    return {**usual, **chosen}


def test_a_known_habit_comes_before_what_only_describes_it(task: Task) -> None:
    first = call(task, "rope.rotate", X, np.arange(3), **{**ROTATE, "base": 500.0})
    second = call(task, "rope.rotate", X, np.arange(3), **ROTATE)

    assert explained(HABITS["rope.rotate/cached-without-base"].make(), first, second).mutants == ("rope.rotate/cached-without-base",)


def test_several_habits_that_give_the_same_answers_are_all_named(task: Task) -> None:
    square = np.ones((1, 3, 3, 4))
    twice = [call(task, "rope.rotate", square, np.arange(3), **ROTATE)] * 2

    found = explained(HABITS["rope.rotate/offset-advanced-by-heads"].make(), *twice)

    assert {found.mutants[0], *found.also_fits} == {"rope.rotate/offset-advanced-by-heads", "rope.rotate/positions-counted-across-calls"}


DELTA = "mrope.positions/delta-of-the-first-sequence"


@pytest.mark.parametrize(("keeps_whole_answers", "named"), [(True, ()), (False, (DELTA,))])
def test_a_call_that_tells_a_kept_delta_from_kept_places_decides(task: Task, named: tuple[str, ...], *, keeps_whole_answers: bool) -> None:
    video = {"text": (2,), "times": (4,), "heights": (1,), "widths": (2,), "tokens_per_second": 2}
    first, second = (call(task, "mrope.positions", np.array([99]), **video, seconds=seconds) for seconds in (1.0, 3.0))
    further = kept.further(DELTA, second)
    assert further is not None

    def make() -> Callable[..., Any]:
        return kept.Keeping("mrope.positions", ("seconds",)) if keeps_whole_answers else HABITS[DELTA].make()

    function, plain = make(), right("mrope.positions")
    came = [Asked(each, reply(function(*each.arrays, **each.parameters))) for each in (first, further)]
    stands = kept.gives(DELTA, came, reply(plain(*further.arrays, **further.parameters)))
    function = make()
    both = [Asked(each, reply(function(*each.arrays, **each.parameters))) for each in (first, second)]
    found = kept.explain(both, reply(plain(*second.arrays, **second.parameters)), () if stands else (DELTA,))

    assert found is not None
    assert found.mutants == named
    assert named or found.description == ("after another call the answer is right for that call's seconds, as if a cache's key lacked it",)


def test_what_no_habit_does_has_no_name(task: Task) -> None:
    calls = [call(task, "rope.rotate", X, np.arange(3), **{**ROTATE, "base": base}) for base in (500.0, 10_000.0)]
    answers = [right("rope.rotate")(*each.arrays, **each.parameters) for each in calls]

    assert kept.explain([Asked(calls[0], reply(answers[0])), Asked(calls[1], reply(answers[1] + 0.5))], reply(answers[1])) is None


def test_right_answers_are_no_habit(task: Task) -> None:
    calls = [call(task, "rope.rotate", X, np.arange(3), **{**ROTATE, "base": base}) for base in (500.0, 10_000.0)]

    assert explained(right("rope.rotate"), *calls) is None


def test_an_answer_that_is_wrong_alone_too_names_nothing(task: Task) -> None:
    calls = [call(task, "rope.rotate", X, np.arange(3), **{**ROTATE, "base": base}) for base in (500.0, 10_000.0)]
    noise = np.random.default_rng(0)
    came = [Asked(each, reply(noise.standard_normal(X.shape))) for each in calls]

    assert kept.explain(came, reply(noise.standard_normal(X.shape))) is None


def test_an_input_that_was_written_over_is_named(task: Task) -> None:
    once = call(task, "rope.rotate", X, np.arange(3), **ROTATE)
    answer = reply(right("rope.rotate")(X, np.arange(3), **ROTATE), modified=("x",))

    found = kept.explain([Asked(once, answer)], answer)

    assert found is not None
    assert found.mutants == ("rope.rotate/overwrites-its-input",)


def test_another_input_that_was_changed_is_not_named_so(task: Task) -> None:
    once = call(task, "rope.rotate", X, np.arange(3), **ROTATE)
    answer = reply(right("rope.rotate")(X, np.arange(3), **ROTATE), modified=("positions",))

    assert kept.explain([Asked(once, answer)], answer) is None


def test_only_what_a_habit_does_is_asked_once_more() -> None:
    assert kept.known("rope.rotate", "inputs unmodified")
    assert kept.known("rope.tables", "shape")
    assert not kept.known("rope.rotate", "shape")
    assert not kept.known("yarn.rotate", "determinism")


def test_no_text_of_ours_ends_where_a_sentence_must_go_on() -> None:
    texts = [node for path in sorted(CONFORMANCE.rglob("*.py")) for node in _texts(ast.parse(path.read_text(encoding="utf-8")))]
    cut = [text for text in texts if text.rpartition(" ")[2] in ("without", "the", "than", "and", "or") and " " in text.strip()]

    assert len(texts) > 1000
    assert cut == []


def _texts(node: ast.AST) -> Iterator[str]:
    """Yield what is said as a whole: a text, or the end of one with values in it, which is no part of a longer one."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.JoinedStr):
            last = inner.values[-1]
            yield from [str(last.value)] if isinstance(last, ast.Constant) else []
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value
        else:
            yield from _texts(inner)
