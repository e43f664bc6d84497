"""Every outcome from a miniature, through the worker process."""

import functools
import re
from pathlib import Path

import pytest

from conformance import run
from conformance.calls.limits import Limits
from conformance.calls.outcomes import (
    FUTILE,
    NOT_RUN,
    Advisory,
    Crashed,
    Errored,
    Failed,
    NotJudged,
    Outcome,
    Passed,
    Reason,
    Report,
    Result,
    TimedOut,
    Unsupported,
)
from conformance.calls.status import Status
from conformance.isolate.targets import TargetError
from conformance.reports import files as reports
from conformance.show import report as screen

HALF_WRITTEN = """\
import numpy as np
from conformance import Adapter
from refimpl.schemes import alibi, rope

adapter = Adapter("mine")

@adapter.implements("rope.rotate", label="unwritten")
def rotate(x, positions, **settings):
    rope.rotate(x, positions, **settings)

@adapter.implements("alibi.slopes", label="right")
def slopes(**settings):
    return alibi.slopes(**settings, like=np.empty(0))
"""


@pytest.fixture(autouse=True)
def _beside_the_miniatures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)


@functools.cache
def judged(name: str, level: str = "smoke", jobs: int = 1) -> Report:
    """Return the report of a miniature, which no test changes."""
    return run.check(f"miniatures:{name}", level=level, jobs=jobs)


def vectors(report: Report) -> list[Outcome]:
    return [result.outcome for result in report.results if result.kind == "vector"]


def law(report: Report, name: str) -> Result:
    return next(result for result in report.results if result.check == name)


def failed(report: Report) -> dict[str, Reason]:
    return {result.check: result.outcome.reason for result in report.results if isinstance(result.outcome, Failed)}


def test_a_right_implementation_conforms() -> None:
    report = judged("right")

    assert report.status == 0
    assert not any(result.convicts for result in report.results)
    assert {result.kind for result in report.results} == {"vector", "drawn", "law"}


def test_the_header_says_what_was_run_with() -> None:
    header = run.check("miniatures:right", level="smoke", seed=5).header

    assert header["seed"] == 5
    assert header["level"] == "smoke"
    assert header["device"] == "cpu"
    assert {"posenc", "python", "numpy", "platform", "vectors"} <= set(header)


def test_an_exit_is_a_crash_and_keeps_the_last_words() -> None:
    outcome = vectors(judged("crash_by_exit"))[0]

    assert outcome == Crashed("the process ended with exit status 7: out of luck")


def test_a_signal_is_a_crash_and_is_named() -> None:
    outcome = vectors(judged("crash_by_signal"))[0]

    assert outcome == Crashed("the process ended with signal SIGSEGV")


def test_a_hang_times_out_and_is_not_waited_for_again_and_again() -> None:
    report = run.check("miniatures:hang", operations=["rope.rotate"], limits=Limits(call_seconds=0.5))

    kinds = [type(outcome) for outcome in vectors(report)]
    assert kinds.count(TimedOut) == FUTILE
    assert NotJudged in kinds
    assert set(kinds) <= {TimedOut, Unsupported, NotJudged}


def test_the_same_exception_in_every_call_is_a_fault_of_the_adapter_told_with_its_place() -> None:
    with pytest.raises(TargetError, match=r"can't be judged: every call raises RuntimeError: no such kernel \(miniatures.py:"):
        judged("exception")


def test_results_with_too_few_axes_in_every_call_are_a_fault_of_the_adapter() -> None:
    axes = re.escape("every call must return result (batch head token head_dim) unless axes= declares others")

    with pytest.raises(TargetError, match=rf"can't be judged: result must have shape \(.*\), got \(.*\); {axes}$"):
        judged("axis_too_few")


def test_an_exception_that_some_calls_raise_is_an_error() -> None:
    outcomes = [result.outcome for result in judged("exception_of_several_tokens").results]

    assert any(isinstance(outcome, Errored) and outcome.message.startswith("RuntimeError: no such kernel (") for outcome in outcomes)
    assert any(isinstance(outcome, Passed) for outcome in outcomes)


def test_a_refusal_from_inside_is_no_failure() -> None:
    report = judged("refusal")

    assert Unsupported("only width 2", raised=True) in vectors(report)
    assert not any(result.convicts for result in report.results)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("wrong_shape", Reason.SHAPE),
        ("narrower", Reason.DTYPE),
        ("not_a_number", Reason.NOT_FINITE),
        ("off_by_one", Reason.VALUE),
    ],
)
def test_a_wrong_result_fails_for_its_reason(name: str, reason: Reason) -> None:
    report = judged(name)

    reasons = [outcome.reason for outcome in vectors(report) if isinstance(outcome, Failed)]
    assert reason in reasons
    assert report.status == 1


@pytest.mark.parametrize(("name", "words"), [("two_results", "got tuple of 2"), ("nothing", "got None: is there a return?")])
def test_a_fault_of_the_adapter_is_no_verdict(name: str, words: str) -> None:
    for jobs in (1, 2):
        with pytest.raises(TargetError, match=f"^rope.rotate can't be judged: .*the function must return one array, {re.escape(words)}"):
            judged(name, jobs=jobs)


def test_a_fault_of_the_adapter_loses_no_result_of_another_operation(tmp_path: Path) -> None:
    target = tmp_path / "two.py"
    target.write_text(HALF_WRITTEN, encoding="utf-8")

    for jobs in (1, 2):
        report = run.check(str(target), level="smoke", seed=1, jobs=jobs)

        assert {result.implementation for result in report.results if result.convicts} == {"unwritten"}
        assert sum(isinstance(result.outcome, Passed) for result in report.results if result.implementation == "right") > 8
        assert report.status == Status.WRONG_USAGE
        assert "NOT JUDGED unwritten: rope.rotate in float32; 3 of 3 checks fail" in screen.text(report)


def test_code_that_numbers_its_own_rows_fails_where_it_does_not_say_so() -> None:
    report = run.check("miniatures:from_zero_undeclared", operations=["rope.rotate"])

    assert {type(outcome) for outcome in vectors(report)} >= {Passed, Failed}
    assert "history independence" not in failed(report)


def test_a_wider_result_conforms_and_is_shown() -> None:
    report = judged("wider")

    assert report.status == 0
    assert Advisory("the result is float64 for float32 input") in [result.outcome for result in report.results]


def test_modified_inputs_break_one_law_only() -> None:
    wrong = failed(judged("modifies"))

    assert wrong.pop("inputs unmodified") == Reason.INPUT_MODIFIED
    assert {(check.split("/")[-1].rsplit("-", 1)[0], reason) for check, reason in wrong.items()} <= {("large", Reason.INPUT_MODIFIED)}


def test_modified_inputs_as_declared_are_shown_only() -> None:
    report = judged("modifies_as_declared")

    assert report.status == 0
    assert isinstance(law(report, "inputs unmodified").outcome, Advisory)


def test_a_cache_with_an_incomplete_key_fails_history_independence_and_nothing_else() -> None:
    report = judged("cache_without_base", "core")

    assert failed(report) == {"history independence": Reason.HISTORY}
    assert not any(isinstance(result.outcome, Errored | Crashed) for result in report.results)


def test_history_dependence_names_the_earlier_call_and_can_be_pasted(capfd: pytest.CaptureFixture[str]) -> None:
    result = law(judged("cache_without_base", "core"), "history independence")

    assert result.earlier is not None
    assert result.earlier.startswith("rope.rotate(head_dim=")
    assert isinstance(result.outcome, Failed)
    assert "they differ in base" in result.outcome.message
    assert result.reproduction is not None
    exec(compile(result.reproduction, "pasted", "exec"), {})  # noqa: S102  pasting it is the test
    alone, after = capfd.readouterr().out.split("after:")
    assert alone.removeprefix("alone:").strip() != after.strip()


def test_a_failing_vector_can_be_pasted(capfd: pytest.CaptureFixture[str]) -> None:
    result = next(result for result in judged("off_by_one").results if result.kind == "vector" and result.convicts)

    assert result.reproduction is not None
    exec(compile(result.reproduction, "pasted", "exec"), {})  # noqa: S102  pasting it is the test
    assert capfd.readouterr().out.startswith("{'result': array(")


def test_a_random_answer_is_not_deterministic_and_not_called_history() -> None:
    reasons = failed(judged("random"))

    assert reasons["determinism"] is Reason.NOT_DETERMINISTIC
    assert Reason.HISTORY not in reasons.values()


def test_noise_on_stdout_corrupts_nothing() -> None:
    assert judged("noisy").status == 0


@pytest.mark.parametrize("name", ["from_zero", "consecutive"])
def test_code_that_numbers_its_own_rows_conforms_where_it_says_so(name: str) -> None:
    report = run.check(f"miniatures:{name}", operations=["rope.rotate"])

    assert not any(result.convicts for result in report.results)
    assert sum(isinstance(outcome, Passed) for outcome in vectors(report)) > 3


def test_a_single_case_runs_alone_without_laws() -> None:
    first = next(result for result in judged("right").results if isinstance(result.outcome, Passed)).check

    report = run.check("miniatures:right", cases=[first])

    assert [result.check for result in report.results] == [first]


def test_nothing_judged_is_no_success() -> None:
    report = run.check("miniatures:right", schemes=["t5"])

    assert report.results == ()
    assert report.status == 4


def test_an_interruption_returns_what_there_is() -> None:
    def interrupt(done: int, total: int, text: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    report = run.check("miniatures:right", level="smoke", progress=interrupt)

    assert not report.complete
    assert len(report.results) == 2


def test_progress_reaches_its_total() -> None:
    seen: list[tuple[int, int]] = []

    run.check("miniatures:right", level="smoke", progress=lambda done, total, _: seen.append((done, total)))

    done = [done for done, _ in seen]
    assert done == sorted(set(done))
    assert done[-1] == seen[0][1]


def test_smoke_takes_three_vectors_that_are_in_range() -> None:
    kinds = [type(outcome) for outcome in vectors(judged("right"))]

    assert kinds.count(Passed) == 3
    assert kinds[-1] is Passed


def test_the_same_seed_gives_the_same_report() -> None:
    first, second = judged("off_by_one"), run.check("miniatures:off_by_one", level="smoke")

    assert [(r.check, r.outcome, r.ratio) for r in first.results] == [(r.check, r.outcome, r.ratio) for r in second.results]


def test_what_is_not_run_any_more_is_counted_and_told_in_every_report(tmp_path: Path) -> None:
    report = run.check("miniatures:crash_by_signal", operations=["rope.rotate"])
    reports.write([report], tmp_path)

    left = [result for result in report.results if result.outcome == NotJudged(NOT_RUN)]
    assert {result.kind for result in left} == {"vector", "drawn", "law"}
    assert len({(result.check, result.kind) for result in report.results}) == len(report.results)
    said = f"rope.rotate: {len(left)} checks were {NOT_RUN}"
    assert said in " ".join(words for _, words in screen.lines(report, width=200))
    assert said in (tmp_path / "summary.md").read_text(encoding="utf-8").replace("\\", "")
    assert said in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "junit.xml").read_text(encoding="utf-8").count(NOT_RUN) >= len(left)


def test_a_hang_at_drawn_calls_is_not_waited_for_again_and_again() -> None:
    report = run.check("miniatures:hang_where_wide", operations=["rope.rotate"], limits=Limits(call_seconds=0.5))

    hung = [result for result in report.results if isinstance(result.outcome, TimedOut) and result.kind in {"vector", "drawn"}]
    assert len(hung) == FUTILE
