"""Known deviations: what is expected is waived and counted, and what isn't true any more fails the run."""

import datetime as dt
import os
from dataclasses import replace
from pathlib import Path

import pytest
from test_report import a_report, result, right, wrong

from conformance.calls.outcomes import NOT_RUN, Crashed, Failed, NotJudged, Reason, Report, Waived
from conformance.cli import main
from conformance.show import baseline, report
from conformance.show.baseline import Baseline, BaselineError, Deviation, identity

TODAY = dt.date(2026, 11, 21)
FAR = "mine:rope.rotate/far:float32"
WRONG = Path(__file__).parents[1] / "examples" / "numpy_wrong.py"
RIGHT = WRONG.with_name("numpy_right.py")


def judged(tmp_path: Path, told: Report, *entries: Deviation, whole: bool = True) -> Report:
    """Return a report under a file that holds the entries."""
    path = tmp_path / "deviations.yaml"
    path.write_text(baseline.yaml.safe_dump({"format": 1, "deviations": [baseline._plain(e) for e in entries]}), encoding="utf-8")  # noqa: SLF001  the writer's own entries
    return Baseline(path, whole=whole, today=TODAY).applied(told, last=True)


def stale(told: Report) -> list[str]:
    return [r.outcome.message for r in told.results if isinstance(r.outcome, Failed) and r.outcome.reason is Reason.STALE]


def test_an_expected_failure_is_waived_counted_and_shown(tmp_path: Path) -> None:
    told = judged(tmp_path, a_report(wrong(), right()), Deviation(FAR, "failed", "known since 4.0", "https://example.org/1"))

    assert told.status == 0
    assert [r.outcome for r in told.results if isinstance(r.outcome, Waived)] == [
        Waived("known since 4.0", "https://example.org/1", "wrong value: 8 of 12 differ")
    ]
    assert "vectors: 1 of 2 passed, 0 failed, 0 unsupported, 0 not judged, 1 waived" in report.text(told)
    assert "waived (1): known since 4.0 (https://example.org/1)" in report.text(told)


def test_another_failure_stays_a_failure(tmp_path: Path) -> None:
    told = judged(tmp_path, a_report(wrong(), wrong("rope.rotate/near")), Deviation(FAR, "failed", "known"))

    assert told.status == 1
    assert [r.check for r in told.results if r.convicts] == ["rope.rotate/near"]


def test_another_outcome_is_not_waived(tmp_path: Path) -> None:
    told = judged(tmp_path, a_report(result(Crashed("SIGSEGV"))), Deviation(FAR, "failed", "known"))

    assert told.status == 1
    assert stale(told) == ["the known deviation must end in failed, got crashed"]


def test_a_deviation_that_passes_fails_the_run(tmp_path: Path) -> None:
    told = judged(tmp_path, a_report(right("rope.rotate/far")), Deviation(FAR, "failed", "known"))

    assert told.status == 1
    assert stale(told) == ["the known deviation must end in failed, got passed"]


def test_a_deviation_that_matches_nothing_fails_a_whole_run_only(tmp_path: Path) -> None:
    entry = Deviation("mine:rope.rotate/fare:float32", "failed", "known")

    assert stale(judged(tmp_path, a_report(right()), entry)) == ["the known deviation matches no check"]
    assert stale(judged(tmp_path, a_report(right()), entry, whole=False)) == []


def test_a_deviation_may_match_in_any_of_several_targets(tmp_path: Path) -> None:
    path = tmp_path / "deviations.yaml"
    path.write_text(f"format: 1\ndeviations:\n- match: {FAR}\n  outcome: failed\n  reason: known\n", encoding="utf-8")
    several = Baseline(path, today=TODAY)

    assert several.applied(a_report(wrong()), last=False).status == 5
    assert stale(several.applied(a_report(replace(right(), implementation="other")), last=True)) == []


@pytest.mark.parametrize(("expires", "expected"), [("2026-11-21", []), ("2026-11-20", ["the known deviation expired on 2026-11-20"])])
def test_a_deviation_expires_after_its_day(tmp_path: Path, expires: str, expected: list[str]) -> None:
    told = judged(tmp_path, a_report(wrong()), Deviation(FAR, "failed", "known", expires=dt.date.fromisoformat(expires)))

    assert stale(told) == expected
    assert any(isinstance(r.outcome, Waived) for r in told.results) is not bool(expected)


@pytest.mark.parametrize(
    ("when", "waived"),
    [
        ({"torch": "<2.14"}, True),
        ({"torch": ">=2.14"}, False),
        ({"torch": "==2.13.*", "platform": "linux"}, True),
        ({"platform": "Darwin"}, False),
        ({"jax": ">0"}, False),
        ({"device": "cpu"}, True),
        ({"device": "cuda"}, False),
    ],
)
def test_conditions_are_compared_with_the_header(tmp_path: Path, when: dict[str, str], *, waived: bool) -> None:
    told = a_report(wrong(), right(), header={"torch": "2.13.0+cpu", "platform": "Linux-6.1", "device": "cpu"})

    done = judged(tmp_path, told, Deviation(FAR, "failed", "known", when=when))

    assert done.status == (0 if waived else 1)
    assert stale(done) == []


def test_drawn_cases_are_one_deviation_whatever_their_numbers(tmp_path: Path) -> None:
    known = Deviation("mine:rope.rotate/drawn:float32", "failed", "known")
    failing = [wrong(f"rope.rotate/drawn-{number}", kind="drawn") for number in (3, 17)]

    assert judged(tmp_path, a_report(right(), *failing), known).status == 0
    assert judged(tmp_path, a_report(right(), right("rope.rotate/drawn-1", kind="drawn")), known).status == 0
    assert baseline.updated([a_report(right(), *failing)], []).count("match:") == 1


def test_evidence_is_asked_for_whatever_is_waived(tmp_path: Path) -> None:
    assert judged(tmp_path, a_report(wrong(), right(), evidence=()), Deviation(FAR, "failed", "known")).status == 5


def test_a_glob_covers_many_and_a_literal_one(tmp_path: Path) -> None:
    told = a_report(wrong("rope.rotate/a"), wrong("rope.rotate/b"), wrong("relative", kind="law"))

    assert [identity(r) for r in told.results] == [
        "mine:rope.rotate/a:float32",
        "mine:rope.rotate/b:float32",
        "mine:rope.rotate/law relative:float32",
    ]
    done = judged(tmp_path, told, Deviation("mine:rope.rotate/[ab]:*", "failed", "known"))
    assert [r.check for r in done.results if r.convicts] == ["relative"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a document must say something, got nothing"),
        ("format: 2\ndeviations: []\n", "format must obey the schema of deviations"),
        ("format: 1\ndeviations:\n- match: x\n  outcome: passed\n  reason: y\n", "deviations/0/outcome must obey the schema"),
        ("format: 1\ndeviations:\n- match: x\n  outcome: failed\n  reason: y\n  why: z\n", "deviations/0 must obey the schema"),
        ("format: 1\ndeviations:\n- match: x\n  outcome: failed\n  reason: y\n  when: {jax: newest}\n", "versions as specifiers"),
        ("format: 1\ndeviations:\n- match: x\n  outcome: failed\n  reason: y\n  expires: soon\n", "dates as YYYY-MM-DD, got"),
        ("format: 1\ndeviations: &a []\n", "an anchor must not be used"),
        ("format: 1\ndeviations: *a\n", "an alias must not be used"),
        ("format: 1\ndeviations: !!python/object/apply:os.system [ls]\n", "a tag must not be used"),
        ("format: 1\ndeviations: !mine []\n", "a tag must not be used"),
        ("format: 1\ndeviations: []\n" + "#" * (16 << 20), "must have at most 16777216 bytes"),
    ],
)
def test_a_file_that_says_something_else_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "deviations.yaml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(BaselineError) as refusal:
        baseline.read(path)

    assert words in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_an_update_keeps_words_drops_what_passes_and_adds_what_fails() -> None:
    kept = Deviation(FAR, "failed", "known", link="https://example.org/1", when={"torch": "<3"}, expires=TODAY)
    gone = Deviation("mine:rope.rotate/near:float32", "failed", "old")
    told = a_report(wrong(), right("rope.rotate/near"), wrong("rope.rotate/what[1]*"), result(Crashed("x"), "rope.rotate/c"))

    text = baseline.updated([told], [kept, gone])

    assert text.count("match:") == 3
    assert "reason: known\n  link: https://example.org/1\n  when:\n    torch: <3\n  expires: '2026-11-21'" in text
    assert "mine:rope.rotate/what[[]1][*]:float32" in text
    assert "outcome: crashed\n  reason: to be explained" in text


def test_an_update_keeps_what_the_run_says_nothing_of() -> None:
    elsewhere = Deviation("mine:rope.rotate/near:float32", "failed", "there", when={"torch": "<1"})
    left_out = Deviation("other:rope.rotate/far:float32", "failed", "not run")
    told = a_report(right("rope.rotate/near"))

    assert baseline.updated([told], [elsewhere, left_out], whole=False).count("match:") == 2
    assert baseline.updated([told], [elsewhere, left_out]).count("match:") == 1

    not_reached = a_report(result(NotJudged(NOT_RUN), "rope.rotate/near"))
    assert baseline.updated([not_reached], [Deviation("mine:rope.rotate/near:float32", "failed", "there")]).count("match:") == 1


def test_a_file_may_be_a_pipe() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"format: 1\ndeviations: []\n")
    os.close(writer)

    assert Baseline(Path(f"/dev/fd/{reader}")).known == []
    os.close(reader)


def test_the_command_writes_the_file_and_then_conforms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deviations.yaml"

    assert main(["check", str(WRONG), "--baseline", str(path), "--update-baseline"]) == 1
    assert main(["check", str(WRONG), "--baseline", str(path)]) == 0
    assert main(["check", str(RIGHT), "--baseline", str(path)]) == 1
    assert "known deviations: 0 of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--update-baseline"], "--update-baseline must come with --baseline FILE, got none"),
        (["--baseline", "no-such-file.yaml"], "no-such-file.yaml must be a file of known deviations, got none"),
        (["--baseline", "/dev/null", "--update-baseline"], "/dev/null must be a regular file where --update-baseline reads it"),
    ],
)
def test_wrong_usage_is_said_in_one_line(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(RIGHT), *options]) == 2
    assert words in capsys.readouterr().err


def test_the_file_that_is_there_is_named_where_a_missing_one_has_a_name_like_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "deviations.yaml"
    there.write_text("format: 1\ndeviations: []\n", encoding="utf-8")

    assert main(["check", str(RIGHT), "--baseline", str(tmp_path / "deviation.yaml")]) == 2
    assert f"got none (did you mean {there}?)" in capsys.readouterr().err


def test_implementations_of_one_label_in_two_targets_are_refused_after_both_were_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "deviations.yaml"
    path.write_text("format: 1\ndeviations: []\n", encoding="utf-8")
    other = tmp_path / "other.py"
    other.write_text(WRONG.read_text(encoding="utf-8"), encoding="utf-8")

    status = main(["check", str(WRONG), str(other), "--operation", "rope.rotate", "--level", "smoke", "--baseline", str(path)])

    told = capsys.readouterr()
    assert status == 2
    assert told.out.count("does not conform") == 2
    assert "must name every implementation of an operation once, got" in told.err


@pytest.mark.parametrize("label", ["a: b", "*?[", "#", "'\"", "\u00e9\u4e2d \U0001f600", "- x", "yes", "1e3", "{a}", "|", "a" * 200])
def test_a_file_that_is_written_for_any_label_can_be_read_back(tmp_path: Path, label: str) -> None:
    told = a_report(replace(wrong(), implementation=label))
    path = tmp_path / "deviations.yaml"
    written = Baseline(path, update=True, today=TODAY)
    written.applied(told, last=True)

    assert written.write()
    assert [type(each.outcome) for each in Baseline(path, today=TODAY).applied(told, last=True).results] == [Waived]
