"""A call that isn't answered in time, but is when it is repeated: not judged, and history only where an earlier call makes it so."""

from dataclasses import replace
from pathlib import Path

import pytest

from conformance import run
from conformance.calls.limits import Limits
from conformance.calls.outcomes import Crashed, Failed, NotJudged, Passed, Reason, Report, Result, TimedOut
from conformance.calls.takes import Takes
from conformance.checks.law_checks import HISTORY, Found
from conformance.isolate.described import Descriptor
from conformance.isolate.session import Session
from conformance.judge.journal import Call, Journal, Task
from conformance.laws.running import Finding
from conformance.run import causes, history, settling
from conformance.run.case import AFFECTED, Case, once
from conformance.run.questions import Judge

LIMITS = Limits(call_seconds=1.5)
FIRST, SECOND = "rope.rotate/first-positions", "rope.rotate/small-base"
FIVE = [f"rope.rotate/{name}" for name in ("byte-boundary", "page-boundary", "shifted", "negative-positions", "batched-positions")]
ADAPTER = """
import os, time
from pathlib import Path
from conformance import Adapter
from refimpl.schemes import rope

adapter = Adapter("late")
note = Path(__file__).with_name("note")
calls = []

@adapter.implements("rope.rotate", layout="interleaved", direction="positive")
def rotate(x, positions, **parameters):
    calls.append(parameters["base"])
    INSIDE
    return rope.rotate(x, positions, **parameters)
"""
LATE = "no answer within 1.5 s the first time, passed when repeated in a fresh worker with 6 s: --call-seconds gives more"
#: The first call of all, over all workers.
FIRST_OF_ALL = "if not note.exists():\n        note.touch()\n        time.sleep(60)"
#: Whatever follows a call with another base.
AFTER_ANOTHER = "if len(set(calls)) > 1:\n        time.sleep(60)"
#: The first call of the second worker.
SECOND_WORKER = (
    "before = note.read_text().split() if note.exists() else []\n"
    "    if str(os.getpid()) not in before:\n"
    "        note.write_text(' '.join([*before, str(os.getpid())]))\n"
    "        time.sleep(60 if len(before) == 1 else 0)"
)
#: The first call of every worker but the first.
LATER_WORKERS = SECOND_WORKER.replace("len(before) == 1", "before")


def report(tmp_path: Path, inside: str, *cases: str) -> Report:
    path = tmp_path / "late.py"
    path.write_text(ADAPTER.replace("INSIDE", inside), encoding="utf-8")
    return run.check(str(path), cases=cases, limits=LIMITS)


def of(told: Report, check: str) -> Result:
    return next(result for result in told.results if result.check == check)


def test_a_time_out_that_passes_when_repeated_convicts_nobody_and_says_so(tmp_path: Path) -> None:
    told = report(tmp_path, FIRST_OF_ALL, FIRST, SECOND)

    assert of(told, FIRST).outcome == NotJudged(LATE)
    assert isinstance(of(told, SECOND).outcome, Passed)
    assert HISTORY not in {result.check for result in told.results}
    assert not any(result.convicts for result in told.results)


def test_a_time_out_that_repeats_convicts(tmp_path: Path) -> None:
    told = report(tmp_path, "time.sleep(60 if parameters['base'] == 10000 else 0)", FIRST)

    assert of(told, FIRST).outcome == TimedOut(LIMITS.call_seconds)
    assert told.status == 1


def test_code_that_is_only_slow_has_four_times_as_long_when_it_is_repeated(tmp_path: Path) -> None:
    told = report(tmp_path, "time.sleep(2.5 if parameters['base'] == 10000 else 0)", FIRST)

    assert of(told, FIRST).outcome == NotJudged(LATE)
    assert not any(result.convicts for result in told.results)


def test_of_an_implementation_that_hangs_one_time_out_is_repeated(tmp_path: Path) -> None:
    told = report(tmp_path, "note.write_text(note.read_text() + '.' if note.exists() else '.')\n    time.sleep(60)", FIRST, SECOND)

    assert [of(told, check).outcome for check in (FIRST, SECOND)] == [TimedOut(LIMITS.call_seconds)] * 2
    assert (tmp_path / "note").read_text(encoding="utf-8") == "..."


def test_a_time_out_that_an_earlier_call_causes_is_history_dependence(tmp_path: Path) -> None:
    told = report(tmp_path, AFTER_ANOTHER, FIRST, SECOND)

    blamed = of(told, HISTORY).outcome
    assert isinstance(blamed, Failed)
    assert blamed.reason is Reason.HISTORY
    assert "they differ in head_dim, base" in blamed.message
    assert of(told, SECOND).outcome == AFFECTED


def test_code_that_hangs_at_its_second_call_hangs_at_no_call_of_its_own(tmp_path: Path) -> None:
    told = report(tmp_path, "if len(calls) > 1:\n        time.sleep(60)", FIRST, SECOND, "rope.rotate/one-pair")

    assert not [result for result in told.results if isinstance(result.outcome, TimedOut)]
    blamed = of(told, HISTORY).outcome
    assert isinstance(blamed, Failed)
    assert blamed.reason is Reason.HISTORY


def test_code_that_hangs_at_its_fifth_call_whatever_it_is_depends_on_what_was_called_before(tmp_path: Path) -> None:
    told = report(tmp_path, "if len(calls) > 4:\n        time.sleep(60)", *FIVE)

    blamed = of(told, HISTORY).outcome
    assert isinstance(blamed, Failed)
    assert blamed.reason is Reason.HISTORY
    assert "is answered 4 times in a row and not once more, in each of 3 fresh workers" in blamed.message
    assert told.status == 1


def test_a_call_that_is_answered_at_first_and_not_once_when_asked_again_convicts_nobody(tmp_path: Path) -> None:
    told = report(tmp_path, SECOND_WORKER, FIRST)

    late = of(told, HISTORY).outcome
    assert isinstance(late, NotJudged)
    assert "which was answered when it was first asked, and when it was asked a third time" in late.reason
    assert isinstance(of(told, FIRST).outcome, Passed)


def test_a_call_that_is_answered_at_first_and_never_again_is_a_time_out(tmp_path: Path) -> None:
    told = report(tmp_path, LATER_WORKERS, FIRST)

    late = of(told, HISTORY).outcome
    assert isinstance(late, TimedOut)
    assert "which was answered when it was first asked" in late.words()
    assert isinstance(of(told, FIRST).outcome, Passed)
    assert told.status == 1


def test_a_worker_that_is_ended_while_it_is_asked_again_is_no_answer_that_changes(tmp_path: Path) -> None:
    killed = SECOND_WORKER.replace("time.sleep(60 if len(before) == 1 else 0)", "len(before) == 1 and os.kill(os.getpid(), 9)")
    told = report(tmp_path, killed, FIRST)

    ended = of(told, HISTORY).outcome
    assert isinstance(ended, Crashed)
    assert "SIGKILL" in ended.message
    assert "which was answered when it was first asked" in ended.message
    assert isinstance(of(told, FIRST).outcome, Passed)


def test_a_worker_that_an_earlier_call_ends_depends_on_history(tmp_path: Path) -> None:
    told = report(tmp_path, AFTER_ANOTHER.replace("time.sleep(60)", "os.kill(os.getpid(), 9)"), FIRST, SECOND)

    blamed = of(told, HISTORY).outcome
    assert isinstance(blamed, Failed)
    assert "they differ in head_dim, base" in blamed.message


def test_one_check_at_a_time_tells_it_too(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    path.write_text(ADAPTER.replace("INSIDE", FIRST_OF_ALL), encoding="utf-8")
    with Session(str(path), LIMITS) as session:
        judge = Judge(session, examples=1)
        question = next(question for question in judge.questions if question.vector is not None and question.vector.id == FIRST)

        assert judge.answer(question).outcome == once(TimedOut(LIMITS.call_seconds))


#: In every worker, whatever is called.
THIRD_CALL = "if len(calls) == 3: raise ValueError('the third call is one too many')"


@pytest.mark.parametrize("cases", [(FIRST, SECOND, "rope.rotate/far"), (FIRST, SECOND)], ids=["of a check", "asked again"])
def test_what_an_answer_depends_on_that_nobody_finds_hides_no_exception(tmp_path: Path, cases: tuple[str, ...]) -> None:
    blamed = of(report(tmp_path, THIRD_CALL, *cases), HISTORY).outcome

    assert isinstance(blamed, Failed)
    assert blamed.reason is Reason.HISTORY
    assert "; at first: ValueError: the third call is one too many (late.py:" in blamed.message


TASK = Task(Descriptor(0, "mine", "rope.rotate", ("float32",), {"float32": "float32"}, Takes(), False, {}, False), "float32", "float32")  # noqa: FBT003  a record

CALL = Call(replace(TASK, descriptor=replace(TASK.descriptor, operation="rope.frequencies")), (), {})


def law(outcome: TimedOut | Crashed | None, ratio: float = 0.0) -> Found:
    """Return the failed law about history; put to another subject, it gives a ratio."""
    return Found(TASK, Finding(HISTORY, 1, 0.0, None, "so", None if outcome else Reason.HISTORY, (), lambda _: ratio, outcome=outcome))


@pytest.mark.parametrize(
    ("outcome", "ratio", "expected"),
    [
        (TimedOut(2.0), 0.0, once(TimedOut(2.0))),
        (TimedOut(2.0), float("inf"), None),
        (Crashed("SIGSEGV"), float("inf"), None),
        (Crashed("SIGSEGV"), 0.0, Crashed("SIGSEGV; the same call passes in a fresh worker")),
    ],
)
def test_a_missing_answer_while_history_is_looked_at_is_repeated_like_any_other(
    outcome: TimedOut | Crashed, ratio: float, expected: object
) -> None:
    case = Case(TASK, found=[law(outcome, ratio)])

    settling.settle(Session("numpy"), [case])

    assert case.overruled(case.found[0]) == expected


def test_answers_that_differ_with_history_speak_for_themselves() -> None:
    case = Case(TASK, found=[law(None)])

    assert case.failures == []
    assert case.suspicious


def test_a_time_out_by_itself_is_no_evidence_and_no_verdict() -> None:
    case = Case(TASK, found=[law(TimedOut(2.0))])
    settling.settle(Session("numpy"), [case])

    assert not case.suspicious
    assert history.verdict(Session("numpy"), Journal(), case) is None


def test_a_worker_that_ends_after_its_answer_is_no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Crashed("exit status 1")
    monkeypatch.setattr(causes, "in_fresh_worker", lambda *_, **__: ended)
    case = Case(TASK, unanswered=[(CALL, ended)])
    session = Session("numpy")

    assert history.verdict(session, Journal(), case) is not None

    session.late[0, "float32"] = ended
    assert history.verdict(session, Journal(), case) is None


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ("aababababab", Reason.HASH_ORDER),
        ("aababababaa", Reason.NOT_DETERMINISTIC),
        ("aabbbababab", Reason.NOT_DETERMINISTIC),
        ("aba", Reason.NOT_DETERMINISTIC),
    ],
)
def test_hash_order_is_told_only_where_answers_repeat_under_each_seed(
    answers: str, reason: Reason, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = iter(answers)
    monkeypatch.setattr(causes, "in_fresh_worker", lambda *_, **__: Crashed(next(came)))
    case = Case(TASK, changed=[CALL])

    result = history.verdict(Session("numpy"), Journal(), case)

    assert result is not None
    assert isinstance(result.outcome, Failed)
    assert result.outcome.reason is reason
    assert not list(came)


def test_a_time_out_in_a_fresh_worker_is_no_sign_of_hash_order_or_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    came = iter([Crashed("a"), TimedOut(LIMITS.call_seconds), Crashed("b")])
    monkeypatch.setattr(causes, "in_fresh_worker", lambda *_, **__: next(came))

    assert causes.by_itself(Session("numpy"), [CALL]) is None
