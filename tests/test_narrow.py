"""Known mistakes in the place of code that declares little are convicted or listed, and what is neither is reported."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest

from conformance.calls.outcomes import Evidence
from conformance.calls.takes import Takes, misplaced
from conformance.checks import golden_checks
from conformance.checks.evidence import known
from conformance.mutants.catalogue import MUTANTS
from conformance.spec.declarations import operations
from tools.narrow import __main__ as command
from tools.narrow import judging, record
from tools.narrow.declaring import MOST, Declaration, declarations
from tools.narrow.judging import Judged, Outcome, judge

OWN, INHERITED = "alibi.slopes/slopes=paper", "alibi.bias/positions-ignored"
SLOPES = "alibi.slopes"
DECLARED = Declaration(SLOPES, "float32", 3, {"num_heads": 40})


@pytest.mark.parametrize("name", sorted(operations()))
def test_declarations_are_narrow_and_leave_calls_to_draw(name: str) -> None:
    drawn = list(declarations(name, 6, 1))

    assert drawn == list(declarations(name, 6, 1))
    for each in drawn:
        assert len(each.restrictions) <= MOST
        assert not any(misplaced(each.takes, operations()[name]))
        calls = [call.parameters for _, call in islice(golden_checks.drawn(each.task, each.seed), 3)]
        assert calls
        assert all(each.restrictions.items() <= parameters.items() for parameters in calls)


def test_every_mistake_is_convicted_or_listed_and_right_code_is_not_convicted() -> None:
    for declared in declarations(SLOPES, 2, 1):
        found = judge(declared)

        assert set(found.outcomes) == {name for name in MUTANTS if name.startswith(f"{SLOPES}/")}
        assert list(command.shortcomings([found])) == []
        assert Outcome.CONVICTED in found.outcomes.values()


def test_a_mistake_that_shows_nothing_within_the_declaration_is_listed() -> None:
    found = judge(Declaration(SLOPES, "float32", 3, {"num_heads": 8, "max_bias": 8.0}))

    assert found.outcomes[f"{SLOPES}/slopes=paper"] is Outcome.ALIKE
    assert judge(DECLARED).outcomes[f"{SLOPES}/slopes=paper"] is Outcome.CONVICTED


def test_a_mistake_that_passes_and_is_not_listed_is_silent() -> None:
    task = DECLARED.task
    found = judging.gather(task, DECLARED.seed)
    made_up = replace(MUTANTS[f"{SLOPES}/slopes=paper"], name=f"{SLOPES}/made-up", function=known.unaltered(task))

    assert judging.outcome(task, made_up, found.checked, found.evidence()) is Outcome.SILENT


def test_a_mistake_that_is_listed_without_a_case_that_could_show_it_is_unnoticed() -> None:
    evidence = Evidence("mine", SLOPES, "float32", 0, 0, not_excluded=("slopes=paper",))

    assert judging.outcome(DECLARED.task, MUTANTS[f"{SLOPES}/slopes=paper"], [], evidence) is Outcome.UNNOTICED


def test_a_convention_that_is_declared_is_right_code() -> None:
    found = judge(Declaration("rope.apply", "float32", 3, {"layout": "half"}))

    assert found.outcomes["rope.apply/layout=half"] is Outcome.RIGHT
    assert found.outcomes["rope.apply/layout=interleaved"] is Outcome.CONVICTED


def test_a_mistake_that_was_said_to_show_nothing_is_found_beside() -> None:
    mistake = MUTANTS[f"{SLOPES}/slopes=paper"]

    assert list(judging.missed(DECLARED.task, 5, [mistake])) == [mistake]
    assert list(judging.missed(replace(DECLARED, restrictions={"num_heads": 8, "max_bias": 8.0}).task, 5, [mistake])) == []


@pytest.mark.parametrize(
    ("judged", "told"),
    [
        (Judged(DECLARED, {OWN: Outcome.SILENT}, [], []), f"{OWN} passes and isn't listed: alibi.slopes float32 num_heads=40"),
        (Judged(DECLARED, {}, ["drawn-1: wrong"], []), "right code is convicted: alibi.slopes float32 num_heads=40: drawn-1: wrong"),
    ],
)
def test_a_silent_pass_and_a_false_alarm_end_with_status_1(
    judged: Judged, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "judge", lambda _: judged)

    assert command.main(["--operation", SLOPES, "--sample", "1/30"]) == 1
    assert told in capsys.readouterr().out


def test_the_record_counts_every_outcome_and_says_what_was_missed_and_why_there_was_no_verdict() -> None:
    conventions = {"rope.apply/layout=half": Outcome.CONVICTED, "rope.apply/layout=interleaved": Outcome.RIGHT}
    outcomes = {**conventions, OWN: Outcome.ALIKE, INHERITED: Outcome.MISSED}
    found = [Judged(DECLARED, outcomes, [], []), Judged(replace(DECLARED, takes=Takes(lowest=0)), outcomes, [], ["2 of 9 show: x"])]

    text = record.page(record.of(found), 1, Fraction(1, 20), 7)

    assert "--seed 1 --sample 1/20 --sample-seed 7`" in text
    assert "| `alibi.slopes` | 4 | 1 | 2 | 6 | 2 | 2 | 0 | 2 | 0 | 1 | 0 |" in text
    assert f"- {INHERITED}: float32 num_heads=40; float32 num_heads=40 lowest=0" in text
    assert "- alibi.slopes, 1 of its declarations: N of N show (such as alibi.slopes float32 num_heads=40 lowest=0: 2 of 9 show: x)" in text


def test_operations_that_a_record_lacks_or_has_of_fewer_mistakes_are_judged_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, missed = tmp_path / "narrow.md", Judged(DECLARED, {OWN: Outcome.MISSED}, [], ["2 of 9 show: x"])
    outcomes = {"t5.bucket/x": Outcome.MISSED}
    fewer = Judged(replace(DECLARED, operation="t5.bucket"), outcomes, [], ["1 of 9 show: z"])
    monkeypatch.setattr(record, "MUTANTS", defaultdict(lambda: MUTANTS[OWN]))
    page.write_text(record.page(record.of([missed, fewer]), 1, Fraction(1)), encoding="utf-8")
    for module in (command, record):
        monkeypatch.setattr(module, "operations", lambda: ["rope.apply", SLOPES, "t5.bucket"])
    monkeypatch.setattr(record, "for_operation", lambda name: [name] if name == SLOPES else [name, "another"])
    outcomes = {"one": Outcome.CONVICTED, "another": Outcome.CONVICTED}
    monkeypatch.setattr(command, "judge", lambda declared: Judged(declared, outcomes, [], ["3 of 9 show: y"]))

    assert command.main(["--record", str(page), "--lacking", "--seed", "1"]) == 0
    after = record.read(page.read_text(encoding="utf-8"))

    assert [(name, row["declarations"]) for name, row in after.rows.items()] == [
        ("rope.apply", command.COUNT), (SLOPES, 1), ("t5.bucket", command.COUNT),
    ]  # fmt: skip
    assert list(after.missed) == [f"{OWN}: float32 num_heads=40"]
    assert [line.partition(" (")[0] for line in after.reasons] == [
        f"rope.apply, {command.COUNT} of its declarations: N of N show",
        "alibi.slopes, 1 of its declarations: N of N show",
        f"t5.bucket, {command.COUNT} of its declarations: N of N show",
    ]


def test_a_renewal_that_ends_halfway_keeps_the_operations_that_were_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "narrow.md"
    page.write_text(record.page(record.of([]), 1, Fraction(1)), encoding="utf-8")
    for module in (command, record):
        monkeypatch.setattr(module, "operations", lambda: ["rope.apply", SLOPES])

    def judge_one(declared: Declaration) -> Judged:
        if declared.operation == SLOPES:
            raise KeyboardInterrupt
        return Judged(declared, {OWN: Outcome.CONVICTED}, [], [])

    monkeypatch.setattr(command, "judge", judge_one)

    with pytest.raises(KeyboardInterrupt):
        command.main(["--record", str(page), "--lacking"])

    assert list(record.read(page.read_text(encoding="utf-8")).rows) == ["rope.apply"]


def test_the_committed_record_is_read_as_it_was_written() -> None:
    text = (Path(__file__).parents[1] / "docs" / "narrow.md").read_text(encoding="utf-8")
    again = record.page(record.read(text), 1, Fraction(1))

    assert again.partition("| operation")[2] == text.partition("| operation")[2]
    assert list(record.read(text).rows) == list(operations())
