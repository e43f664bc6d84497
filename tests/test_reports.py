"""Reports in files: what is written is read again, what comes from an implementation is only ever text, what was cut off is seen."""

import json
import math
import re
from dataclasses import MISSING, fields, replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_report import DIAGNOSIS, a_report, enough, result, right, wrong

from conformance.calls.outcomes import (
    INTERRUPTED,
    Advisory,
    Crashed,
    Errored,
    Evidence,
    Exhausted,
    Failed,
    HarnessError,
    NotJudged,
    Outcome,
    Passed,
    Reason,
    Report,
    Result,
    TimedOut,
    Unsupported,
    Waived,
)
from conformance.cli import main
from conformance.reports import badge, changes, files, junit, lines, markdown

OUTCOMES: tuple[Outcome, ...] = (
    Passed(),
    *(Failed(reason, "so") for reason in Reason),
    Errored("ValueError: no"),
    Crashed("signal SIGSEGV"),
    TimedOut(30.0),
    Exhausted("memory", 4096),
    Unsupported("layout='half'"),
    NotJudged("too wide"),
    Advisory("wider"),
    Waived("known", "https://example.org/1", "wrong value: so"),
    HarnessError("ours"),
)
HOSTILE = "]]><script>alert(1)</script>\x1b[31m\x00|`*_@team\ud800 & \"'\n# x"
EXAMPLE = Path(__file__).parents[1] / "examples" / "numpy_wrong.py"


def everything() -> Report:
    """Return a report with every outcome, an infinite ratio and a diagnosis."""
    checks = [result(outcome, f"rope.rotate/{index}") for index, outcome in enumerate(OUTCOMES)]
    errors = ((0, 0.5), (9, math.inf))
    called = {"reproduction": "print(1)\n", "call": "base=1.0; x (2, 3)"}
    far = wrong("rope.rotate/inf", ratio=math.inf, errors_by_position=errors, logits=((9, 0.25),), **called)
    return a_report(*checks, far, diagnoses={"mine:rope.rotate:float32": DIAGNOSIS})


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "record.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    reports = [everything(), a_report(right(), complete=False)]

    assert lines.read(written(tmp_path, lines.text(reports))) == reports


REQUIRED = [(each, field.name) for each in OUTCOMES for field in fields(each) if field.default is MISSING]


@pytest.mark.parametrize(("came", "name"), REQUIRED, ids=lambda one: one if isinstance(one, str) else type(one).__name__)
def test_an_outcome_that_lacks_what_its_kind_says_is_refused(tmp_path: Path, came: Outcome, name: str) -> None:
    whole = lines.text([a_report(result(came, "rope.rotate/far"))]).splitlines()
    said = json.loads(whole[1])
    del said["outcome"][name]

    with pytest.raises(lines.RecordError, match=r"record\.jsonl:2 must obey the schema of records: "):
        lines.read(written(tmp_path, "\n".join([whole[0], json.dumps(said), *whole[2:]])))


def test_every_line_of_a_record_is_one_json_object_with_finite_numbers() -> None:
    said = [json.loads(line, parse_constant=pytest.fail) for line in lines.text([everything()]).splitlines()]

    assert [line["line"] for line in said] == ["header", *["result"] * (len(OUTCOMES) + 1), "diagnosis", "evidence", "footer"]


@pytest.mark.parametrize("kept", [1, 4, 12])
def test_a_record_without_its_footer_is_incomplete(tmp_path: Path, kept: int) -> None:
    whole = lines.text([everything()]).splitlines(keepends=True)

    (read,) = lines.read(written(tmp_path, "".join(whole[:kept])))

    assert not read.complete
    assert len(read.results) == kept - 1


def test_a_record_cut_off_in_the_middle_of_a_line_is_incomplete(tmp_path: Path) -> None:
    text = lines.text([everything()])

    (read,) = lines.read(written(tmp_path, text[: len(text) // 2]))

    assert not read.complete
    assert 0 < len(read.results) < len(OUTCOMES)


def test_a_record_that_lost_a_result_is_incomplete(tmp_path: Path) -> None:
    whole = lines.text([everything()]).splitlines(keepends=True)

    assert not lines.read(written(tmp_path, "".join(whole[:3] + whole[4:])))[0].complete


def test_a_record_that_lost_its_evidence_is_incomplete(tmp_path: Path) -> None:
    kept = [line for line in lines.text([everything()]).splitlines(keepends=True) if '"line": "evidence"' not in line]

    assert not lines.read(written(tmp_path, "".join(kept)))[0].complete


def test_a_record_with_a_result_that_its_footer_does_not_count_is_refused(tmp_path: Path) -> None:
    whole = lines.text([everything()]).splitlines(keepends=True)

    with pytest.raises(lines.RecordError, match=r"must hold 24 results and 1 lines of evidence, as .*, got 25 and 1$"):
        lines.read(written(tmp_path, "".join([*whole[:3], whole[2], *whole[3:]])))


def test_a_record_is_not_replaced_by_what_it_is_rendered_as(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, lines.text([everything()]))

    assert main(["report", "render", str(path), "--format", "html", "--output", str(path)]) == 2
    assert "--output must be another file than the record" in capsys.readouterr().err
    assert lines.read(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be a record that `posenc check --report` wrote, got no header"),
        ("hello\n", ":1 must be a JSON object, got b'hello'"),
        ("[]\n", ":1 must obey the schema of records"),
        ('{"line": "header", "format": 2, "target": "x", "header": {}}\n', ":1 must obey the schema of records"),
        ('{"line": "footer", "results": 0, "verdict": "", "exit_status": 0, "complete": true}\n', ":1 must be a header, got a footer"),
    ],
    ids=["empty", "text", "list", "other-format", "no-header"],
)
def test_what_is_no_record_is_refused_by_file_and_line(tmp_path: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, text)

    assert main(["report", "render", str(path)]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert str(path) in told
    assert told.count("\n") == 1


RECORD = lines.text([everything()])


@given(start=st.integers(0, len(RECORD)), end=st.integers(0, len(RECORD)), patch=st.text(max_size=4))
def test_a_damaged_record_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, start: int, end: int, patch: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.jsonl"
    path.write_text(RECORD[: min(start, end)] + patch + RECORD[max(start, end) :], encoding="utf-8", errors="replace")

    told = read_or_refused(path)

    assert "\n" not in told
    assert told == "read" or "must" in told


def read_or_refused(path: Path) -> str:
    try:
        lines.read(path)
    except lines.RecordError as error:
        return str(error)
    return "read"


def test_junit_tells_a_run_that_was_interrupted_as_an_error() -> None:
    document = junit.text([replace(everything(), complete=False), Report("unreached.py", {}, (), complete=False)])

    errors = ET.fromstring(document.split("\n", 1)[1]).iter("error")  # noqa: S314  our own document
    told = [(error.get("type"), error.get("message")) for error in errors]
    assert told.count(("Interrupted", INTERRUPTED)) == 2


def test_junit_counts_what_failed_erred_and_was_skipped() -> None:
    (suite,) = ET.fromstring(junit.text([everything()]).split("\n", 1)[1])  # noqa: S314  our own document

    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": str(len(OUTCOMES) + 2),
        "failures": str(len(Reason) + 5),
        "errors": "1",
        "skipped": "3",
    }
    assert len(suite.findall("testcase/failure")) == len(Reason) + 5


def test_junit_groups_checks_by_implementation_operation_and_dtype() -> None:
    document = junit.text([a_report(right(), right(dtype="float16"), right("t5.bucket/a", operation="t5.bucket"))])

    assert document.count("<testsuite ") == 3


def test_junit_has_a_case_for_the_evidence_that_is_an_error_where_it_lacks() -> None:
    lacking = enough(right(dtype="float16"), missing=("all 24 drawn calls were refused: 'no'",))
    text = junit.text([a_report(right(), right(dtype="float16"), evidence=(enough(right()), lacking))])

    suites = {suite.get("name", ""): suite for suite in ET.fromstring(text.split("\n", 1)[1])}  # noqa: S314  our own document
    assert suites["mine.py: mine: rope.rotate in float32"].get("errors") == "0"
    assert suites["mine.py: mine: rope.rotate in float16"].get("errors") == "1"
    assert "not enough evidence: all 24 drawn calls were refused: 'no'" in text
    assert "covered: rope.rotate: 24 golden cases" in text


def test_hostile_words_stay_words_in_every_format() -> None:
    hostile = replace(wrong(HOSTILE, reproduction=HOSTILE + "```"), outcome=Errored(HOSTILE), implementation=HOSTILE)
    report = Report(HOSTILE, {HOSTILE: HOSTILE}, (hostile,))

    tree = ET.fromstring(junit.text([report]).split("\n", 1)[1])  # noqa: S314  our own document
    page = markdown.text([report])
    outside_code = re.sub(r"`[^`]*`", "", page.split("````")[0].replace("\\`", ""))

    assert not tree.findall(".//script")
    assert not re.search(r"(?<!\\)<script", outside_code)
    assert "@team" not in outside_code
    assert "\x1b" not in page
    assert "<script>" not in badge.text([report])
    assert json.loads(lines.text([report]).splitlines()[0])["target"] == HOSTILE


def test_the_words_of_a_refusal_stay_words_in_every_format() -> None:
    report = Report("mine.py", {}, (), refused=f"</title>{HOSTILE}")

    assert not ET.fromstring(junit.text([report]).split("\n", 1)[1]).findall(".//script")  # noqa: S314  our own document
    assert not re.search(r"(?<!\\)[<#]", markdown.text([report]).removeprefix("## "))
    assert "<script>" not in badge.text([report])
    assert json.loads(lines.text([report]).splitlines()[-1])


def test_markdown_says_verdict_mistake_fix_and_thread() -> None:
    page = markdown.text([a_report(wrong(), right(), diagnoses={"mine:rope.rotate:float32": DIAGNOSIS})])

    assert page.startswith("## ❌ mine.py does not conform\n")
    assert "**rope.rotate/degrees**: takes the angle in degrees; should take the angle in radians" in page
    assert "seen in <https://example.org/one>" in page
    assert "2 checks: 1 passed, 1 failed." in page


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ((right(), right("b")), "conforms (2 of 2)"),
        ((right(), wrong()), "does not conform (1 of 2)"),
        ((right(), result(Waived("known", "", "so"))), "conforms (1 known deviation waived) (1 of 1)"),
        ((), "no verdict: nothing ran (0 of 0)"),
    ],
)
def test_a_badge_says_the_verdict_and_its_denominator(results: tuple[Result, ...], words: str) -> None:
    root = ET.fromstring(badge.text([a_report(*results)]))  # noqa: S314  our own document

    assert root.get("aria-label") == f"posenc: {words}"


def test_a_badge_says_conforms_only_with_evidence() -> None:
    assert "no verdict: not enough evidence (1 of 1)" in badge.text([a_report(right(), evidence=())])


def test_a_badge_s_title_says_what_was_covered_waived_and_not_excluded() -> None:
    known = result(Waived("known", "", "so"))
    evidence = enough(known, excluded=("degrees",), not_excluded=("not-turned",), covered={"head_dim": "6 to 512"})
    (title, *_) = ET.fromstring(badge.text([a_report(right(), known, evidence=(evidence,))]))  # noqa: S314  our own document

    assert (title.text or "").splitlines() == [
        "posenc: conforms (1 known deviation waived) (1 of 1)",
        "covered: rope.rotate: 24 golden cases, 9,000 values; head_dim 6 to 512; 1 of 2 known mistakes excluded",
        "waived: 1 check fails as the known deviations say",
        "not excluded: rope.rotate: not-turned would not have been noticed",
    ]


def test_changes_tell_regressions_fixes_new_and_gone() -> None:
    old = a_report(right("a"), wrong("b"), right("c"), result(Unsupported("x"), "e"))
    new = a_report(wrong("a"), right("b"), wrong("d"), result(NotJudged("y"), "e"))

    found = changes.between([old], [new])

    assert [now.check for _, now in found.regressions] == ["a"]
    assert [now.check for _, now in found.fixes] == ["b"]
    assert [now.check for _, now in found.others] == ["e"]
    assert [result.check for result in found.new] == ["d"]
    assert [result.check for result in found.gone] == ["c"]
    assert found.worse


def test_of_many_changed_checks_none_is_compared_with_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    worse, other = [right(f"rope.rotate/{i}") for i in range(3)], [wrong(f"rope.rotate/far-{i}") for i in range(3)]
    now = [replace(each, outcome=NotJudged("")) for each in other]
    monkeypatch.setattr(Result, "__eq__", lambda *_: pytest.fail("two results were compared"))

    found = changes.between([a_report(*worse, *other)], [a_report(*(wrong(each.check) for each in worse), *now)])
    assert (len(found.regressions), len(found.others), len(found.fixes)) == (3, 3, 0)


@pytest.mark.parametrize("now", [Unsupported("x"), NotJudged("y"), Errored("z"), HarnessError("ours")], ids=lambda now: type(now).__name__)
def test_what_passed_and_is_lost_is_worse(now: Outcome) -> None:
    found = changes.between([a_report(right("a"), right("b"))], [a_report(result(now, "a"), right("b"))])

    assert [after.check for _, after in found.regressions] == ["a"]
    assert found.worse


def test_a_check_that_passed_and_is_gone_is_worse() -> None:
    assert changes.between([a_report(right("a"), right("b"))], [a_report(right("b"))]).worse
    assert not changes.between([a_report(result(Unsupported("x"), "a"), right("b"))], [a_report(right("b"))]).worse


def test_drawn_cases_are_compared_by_operation_since_every_run_draws_its_own() -> None:
    old = a_report(*(right(f"rope.rotate/drawn-{number}", kind="drawn") for number in (1, 2, 3)))
    same = a_report(*(right(f"rope.rotate/drawn-{number}", kind="drawn") for number in (2, 7)))
    worse = a_report(right("rope.rotate/drawn-1", kind="drawn"), wrong("rope.rotate/drawn-9", kind="drawn"))

    assert not changes.between([old], [same]).worse
    assert [now.check for _, now in changes.between([old], [worse]).regressions] == ["rope.rotate/drawn"]


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ((), "no evidence any more"),
        ((enough(right(), golden=0, missing=("all refused",)),), "24 golden cases -> none"),
        ((enough(right(), golden=5),), "24 golden cases -> 5"),
        ((enough(right(), missing=("9 of 24 refused",)),), "enough evidence -> 9 of 24 refused"),
        ((enough(right(), excluded=("degrees",), not_excluded=("not-turned",)),), "not excluded any more: not-turned"),
    ],
    ids=["gone", "none", "few", "not-enough", "a-mistake"],
)
def test_less_evidence_is_worse(evidence: tuple[Evidence, ...], words: str) -> None:
    found = changes.between([a_report(right())], [a_report(right(), evidence=evidence)])

    assert found.less == (f"mine: rope.rotate in float32: {words}",)
    assert found.worse
    assert ("bad", f"less   {found.less[0]}") in list(changes.lines(found))


def test_more_evidence_is_no_change() -> None:
    assert not changes.between([a_report(right())], [a_report(right(), evidence=(enough(right(), golden=99, excluded=()),))]).worse


def test_a_draw_of_somewhat_fewer_golden_cases_is_no_change() -> None:
    assert not changes.between([a_report(right())], [a_report(right(), evidence=(enough(right(), golden=6),))]).worse


def test_an_incomplete_record_is_compared_with_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, lines.text([a_report(right(), complete=False)]))

    assert main(["report", "diff", str(path), str(path)]) == 2
    assert capsys.readouterr().err == "posenc: record must be complete, got one that was interrupted\n"


def test_two_implementations_of_one_operation_and_label_are_not_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = written(tmp_path, lines.text([replace(a_report(right()), target=target) for target in ("one.py", "other.py")]))
    once = tmp_path / "once.jsonl"
    once.write_text(lines.text([a_report(right())]), encoding="utf-8")

    for old, new in ((once, twice), (twice, once)):
        assert main(["report", "diff", str(old), str(new)]) == 2
        assert "record must name every implementation of an operation once, got" in capsys.readouterr().err


def test_the_same_twice_is_no_change() -> None:
    found = changes.between([everything()], [everything()])

    assert not found.worse
    assert [line for _, line in changes.lines(found)] == ["0 worse, 0 fixed, 0 otherwise changed, 0 new, 0 gone"]


def test_check_writes_every_format_and_render_reads_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "reports"

    assert main(["check", str(EXAMPLE), "--level", "smoke", "--report", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {name for name, _ in files.FORMATS.values()}

    assert main(["report", "render", str(folder / "record.jsonl")]) == 0
    assert capsys.readouterr().out == shown
    for name, (file, _) in files.FORMATS.items():
        if name != "record":
            assert main(["report", "render", str(folder / "record.jsonl"), "--format", name, "--output", str(tmp_path / "again")]) == 0
            assert (tmp_path / "again").read_bytes() == (folder / file).read_bytes()


def test_of_a_check_that_a_record_names_twice_what_fails_counts() -> None:
    found = changes.between([a_report(right("a"))], [a_report(wrong("a"), right("a"))])

    assert [now.check for _, now in found.regressions] == ["a"]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device here never ends")
def test_a_record_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LARGEST", 1000)

    with pytest.raises(lines.RecordError, match="/dev/zero must stay below 1000 bytes, got more"):
        lines.read(Path("/dev/zero"))


def test_diff_fails_where_something_got_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text(lines.text([a_report(right("a"))]), encoding="utf-8")
    new.write_text(lines.text([a_report(wrong("a"))]), encoding="utf-8")

    assert main(["report", "diff", str(old), str(new)]) == 1
    assert main(["report", "diff", str(new), str(old)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "worse  mine: rope.rotate/a in float32: passed -> wrong value: 8 of 12 differ"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record.jsonl"
    path.write_text("before", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", interrupted)

    with pytest.raises(KeyboardInterrupt):
        files.files.write(path, "after")

    assert [entry.name for entry in tmp_path.iterdir()] == ["record.jsonl"]
    assert path.read_text(encoding="utf-8") == "before"


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt
