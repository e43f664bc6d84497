"""How many fresh workers failures are repeated in: no implementation of a target takes those of another."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from test_history_late import TASK

from conformance.calls.limits import Limits
from conformance.calls.outcomes import Failed, NotJudged, Reason, Unsupported
from conformance.checks.law_checks import DETERMINISM, HISTORY, Found
from conformance.isolate.session import Session
from conformance.laws.running import Finding
from conformance.run import check, settling
from conformance.run.case import Case
from conformance.run.questions import Judge
from conformance.run.settling import FRESH_WORKERS, OWN_WORKERS


@dataclass
class Workers:
    """A session of which only the number of calls in a worker, and the number of workers, are known."""

    calls: int = 0
    started: int = 0
    limits: Limits = field(default_factory=Limits)

    def fresh(self) -> "Workers":
        return self

    def close(self) -> None:
        self.calls = 0

    def subject(self, *_: Any) -> "Workers":
        self.started += self.calls == 0
        self.calls += 1
        return self


def failure(*, wrong: bool) -> Found:
    """Return a failure that is wrong in any case, or that passes as the first call of a worker alone."""

    def ratio(workers: Any) -> float:
        return float("inf") if wrong or workers.calls > 1 else 0.0

    return Found(TASK, Finding("relative", 1, 0.0, None, "so", Reason.LAW, (), ratio))


def settled(*cases: Case) -> int:
    workers: Any = Workers()
    settling.settle(workers, cases)
    return int(workers.started)


@pytest.mark.parametrize("each", [3, 60])
def test_the_last_of_many_implementations_is_cleared_like_the_first(each: int) -> None:
    cases = [Case(TASK, found=[failure(wrong=False) for _ in range(each)]) for _ in range(40)]

    started = settled(*cases)

    assert all(isinstance(case.overruled(found), NotJudged) for case in cases for found in case.found)
    assert {len(case.affected) for case in cases} == {min(each, OWN_WORKERS + 1)}
    assert started == 40 * min(each, OWN_WORKERS + 1)


def test_what_is_wrong_besides_stays_so_and_costs_no_more_than_all_may_have() -> None:
    mixed = [failure(wrong=number % 2 == 1) for number in range(OWN_WORKERS)]
    cases = [Case(TASK, found=[*mixed, *mixed]) for _ in range(40)]

    started = settled(*cases)

    assert all(len(case.affected) >= OWN_WORKERS // 2 for case in cases)
    assert all(case.overruled(found) is None for case in cases for found in mixed[1::2])
    assert started <= 40 * (OWN_WORKERS + 1) + FRESH_WORKERS


def test_wrong_code_takes_one_fresh_worker_for_each_implementation() -> None:
    assert settled(*(Case(TASK, found=[failure(wrong=True) for _ in range(60)]) for _ in range(40))) == 40


TABLE_OF_FIRST_DTYPE = """
import torch
from conformance import Adapter

adapter, kept = Adapter("growing", framework="torch", dtypes=("float32", "bfloat16")), []

@adapter.implements("rope.rotate", layout="half", direction="positive", head_dim=64, base=10000.0, positions="consecutive", rows="shared",
    lowest=0, highest=4095, profile={"bfloat16": "bfloat16-model", "float32": "float32"}, call="f(x, offset)")
def rotate(x, offset):
    end = offset + x.shape[2]
    if not kept or len(kept[-1]) < end:
        angles = torch.arange(max(end, 512), dtype=torch.float64)[:, None] * 10000.0 ** (-torch.arange(32) / 32)
        kept.append(torch.stack([angles.cos(), angles.sin()], -1).to(x.dtype))
    cos, sin = kept[-1][offset:end].to(x.dtype).unbind(-1)
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
"""


@pytest.mark.parametrize("seed", [1, 48868])
def test_a_table_in_the_dtype_of_the_call_that_grew_it_is_history(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "growing.py"
    path.write_text(TABLE_OF_FIRST_DTYPE, encoding="utf-8")

    found = [result for result in check(str(path), seed=seed).results if result.check == HISTORY and result.convicts]

    assert {result.dtype for result in found} >= {"float32"}
    assert "they differ in dtype" in str(found[0].outcome)


FLICKERING = """
import random
from pathlib import Path

from conformance import Adapter
from refimpl.schemes import rope

adapter, calls = Adapter("flickering"), []
STARTS = Path(__file__).with_suffix(".starts")
with STARTS.open("a") as starts:
    starts.write(".")
START = len(STARTS.read_text()) % 5

@adapter.implements("rope.rotate", layout="half", direction="positive")
def rotate(x, positions, **parameters):
    calls.append(len(calls))
    return (1.5 if {wrong} else 1) * rope.rotate(x, positions, **parameters)
"""


@pytest.mark.parametrize(
    "wrong",
    ["random.SystemRandom().random() < 0.4", "calls[-1] % 5 < 2", "START in (1, 2)", "START in (1, 3)"],
    ids=["by chance", "two calls of five", "the first two workers of five", "the first and the third worker of five"],
)
def test_an_answer_that_is_wrong_two_times_in_five_is_told_as_not_deterministic_and_never_as_a_wrong_value(
    wrong: str, tmp_path: Path
) -> None:
    target = tmp_path / "flickering.py"
    target.write_text(FLICKERING.format(wrong=wrong), encoding="utf-8")
    report = check(str(target), level="smoke", seed=1)
    failed = [result.outcome for result in report.results if result.convicts]

    assert Reason.NOT_DETERMINISTIC in [outcome.reason for outcome in failed if isinstance(outcome, Failed)]
    assert Reason.VALUE not in [outcome.reason for outcome in failed if isinstance(outcome, Failed)]
    assert not report.diagnoses


def test_a_value_that_is_always_wrong_stays_so_where_another_call_changes_at_random() -> None:
    unlike = Found(TASK, Finding(DETERMINISM, 1, 0.0, None, "so", Reason.NOT_DETERMINISTIC, (), None))
    wrong = failure(wrong=True)
    case = Case(TASK, found=[unlike, wrong])

    assert settled(case) <= OWN_WORKERS + 1
    assert case.overruled(wrong) is None


FICKLE = """
import numpy as np
from conformance import Adapter
from refimpl.schemes import rope

chance = np.random.default_rng()
adapter = Adapter("fickle")

@adapter.implements("rope.rotate", layout="half", direction="positive")
def rotate(x, positions, **parameters):
    result = np.array(rope.rotate(x, positions, **parameters))
    {changed}
    return result.astype(x.dtype)
"""
CHANGES = {
    "all, by much": "result *= 1 + 0.001 * chance.standard_normal()",
    "all, by an ulp": "result *= 1 + 1e-7 * chance.standard_normal(result.shape)",
    "one element": "result.flat[chance.integers(result.size)] += 1.0",
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_answers_that_are_wrong_otherwise_at_every_call_are_told_as_not_deterministic_alone(changed: str, tmp_path: Path) -> None:
    target = tmp_path / "fickle.py"
    target.write_text(FICKLE.format(changed=changed), encoding="utf-8")
    report = check(str(target), level="smoke", seed=0)

    assert {result.outcome.reason for result in report.results if isinstance(result.outcome, Failed)} == {Reason.NOT_DETERMINISTIC}
    assert not report.diagnoses


def test_values_that_are_wrong_alike_stay_so_beside_answers_that_change_by_an_ulp(tmp_path: Path) -> None:
    target = tmp_path / "fickle.py"
    target.write_text(FICKLE.format(changed=f"result *= 1.5\n    {CHANGES['all, by an ulp']}"), encoding="utf-8")
    report = check(str(target), level="smoke", seed=0)

    reasons = {result.outcome.reason for result in report.results if isinstance(result.outcome, Failed)}
    assert reasons == {Reason.NOT_DETERMINISTIC, Reason.VALUE}


@pytest.mark.parametrize("checks", ["rotate/", "linear"])
def test_answers_that_are_wrong_otherwise_at_every_call_are_told_so_one_by_one(checks: str, tmp_path: Path) -> None:
    target = tmp_path / "fickle.py"
    target.write_text(FICKLE.format(changed=CHANGES["all, by much"]), encoding="utf-8")
    with Session(str(target)) as session:
        judge = Judge(session, examples=10)
        answered = ((each, judge.answer(each).outcome) for each in judge.questions if checks in each.check)
        question, outcome = next((each, outcome) for each, outcome in answered if not isinstance(outcome, Unsupported))
        diagnosis = judge.diagnosis(question)
        judge.close()

    assert isinstance(outcome, Failed)
    assert outcome.reason is Reason.NOT_DETERMINISTIC
    assert diagnosis is None
