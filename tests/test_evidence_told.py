"""What reports say of the evidence: enough or not, covered, waived, not excluded; in short, and in full."""

import json
from collections.abc import Iterator
from html import unescape
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from test_report import a_report, enough, result, right, screen, wrong

from conformance.calls.outcomes import INTERRUPTED, NOTHING_DRAWN, Evidence, Passed, Report, Unsupported, Waived
from conformance.calls.status import Status
from conformance.checks import golden_checks
from conformance.checks.vector_checks import Checked
from conformance.cli import main
from conformance.reports import files, lines, markdown, page
from conformance.show import record
from conformance.show.summary import precision, verdict

COVERED = {"layout": "half", "head_dim": "6 to 512", "base": "100 to 1e+08", "positions": "-4,097 to 1,048,576", "token": "1 to 9"}


def lacking(*words: str) -> Evidence:
    return enough(right(), golden=0, excluded=(), missing=words)


def evidence(**changes: object) -> Evidence:
    said = {"golden": 38, "values": 6_120, "covered": COVERED, "not_excluded": ("fast-sine", "degrees"), "alike": ("fast-sine",)}
    return enough(right(), **{**said, **changes})


def test_stored_vectors_alone_never_suffice() -> None:
    bare = a_report(right(), evidence=())

    assert bare.status is Status.NOT_JUDGED
    assert verdict(bare) == "no verdict: not enough evidence"
    assert "the stored vectors alone never suffice" in screen(right(), evidence=())


def test_an_operation_that_lacks_evidence_leaves_the_whole_without_a_verdict() -> None:
    other = right("t5.bias/far", operation="t5.bias")
    report = a_report(right(), other, evidence=(enough(right()), enough(other, golden=2, missing=("2 of 24 drawn calls were judged",))))

    assert report.status is Status.NOT_JUDGED
    assert [each.operation for each in report.lacking] == ["t5.bias"]


def test_a_conviction_goes_before_missing_evidence() -> None:
    assert a_report(right(), wrong(), evidence=()).status is Status.DIFFERS
    assert a_report(right(), wrong(), evidence=(lacking("all refused"),)).status is Status.DIFFERS


def test_an_interruption_goes_before_missing_evidence() -> None:
    assert a_report(right(), evidence=(), complete=False).status is Status.INTERRUPTED


def test_cases_that_were_asked_for_pass_and_nothing_conforms() -> None:
    report = a_report(right(), evidence=(), header={"cases": "rope.rotate/near"})

    assert report.status is Status.CONFORMS
    assert verdict(report) == "passes the cases that were asked for, which says nothing about others"


def test_a_waived_failure_is_counted_and_asks_for_evidence_all_the_same() -> None:
    known = result(Waived("known", "", "so"))

    assert verdict(a_report(right(), known)) == "conforms (1 known deviation waived)"
    assert "waived 1 check fails as the known deviations say" in screen(right(), known)
    assert verdict(a_report(right(), known, evidence=())) == "no verdict: not enough evidence"


def test_smoke_says_that_it_is_a_first_look() -> None:
    assert verdict(a_report(right(), header={"level": "smoke"})) == "conforms (as far as smoke looks)"


def test_the_screen_says_what_was_covered_and_not_excluded() -> None:
    shown = screen(right(), evidence=(evidence(),))

    assert "covered rope.rotate: 38 golden cases, 6,120 values; head_dim 6 to 512, base 100 to 1e+08, token 1 to 9, " in shown
    assert "positions -4,097 to 1,048,576; 2 of 4 known mistakes excluded" in shown
    assert "not excluded rope.rotate: degrees would not have been noticed" in shown
    assert "no effect rope.rotate: fast-sine made no difference at any call that was tried" in shown


def test_each_label_has_its_verdict_and_what_was_covered_beside_one_that_is_wrong() -> None:
    right_one, wrong_one = right(implementation="old"), wrong(implementation="new")
    both = (enough(right_one, covered=COVERED), enough(wrong_one))
    shown = screen(right_one, wrong_one, evidence=both)

    assert "conforms old: rope.rotate" in shown
    assert "covered old: rope.rotate" in shown
    assert "WRONG new: rope.rotate" in shown
    assert "covered new" not in shown


def test_a_label_that_lacks_evidence_is_missing_and_another_conforms_beside_it() -> None:
    old, new = right(implementation="old"), right(implementation="new")
    shown = screen(old, new, evidence=(enough(old), enough(new, golden=2, missing=("2 of 24 drawn calls were judged",))))

    assert "no verdict: not enough evidence" in shown
    assert "conforms old: rope.rotate" in shown
    assert "missing new: rope.rotate in float32: 2 of 24" in shown


@pytest.mark.parametrize("changes", [{}, {"complete": False}])
def test_what_conforms_is_not_said_again_nor_of_a_run_that_was_cut_off(changes: dict[str, bool]) -> None:
    old, new = right(implementation="old"), right(implementation="new")
    assert "conforms old" not in screen(old, new, evidence=(enough(old), enough(new)), **changes)


def test_what_is_wrong_is_told_without_what_was_covered() -> None:
    assert "covered" not in screen(wrong(), evidence=(evidence(),))
    assert "covered" in screen(wrong(), evidence=(evidence(),), verbose=True)


def many() -> Report:
    results = [right(f"rope.op{number}/a", operation=f"rope.op{number}") for number in range(7)]
    made = [enough(each, not_excluded=("fast-sine",), alike=("fast-sine",)) for each in results[:-1]]
    return a_report(*results, evidence=(*made, enough(results[-1], not_excluded=("degrees",))))


def test_many_operations_are_summed_up_and_told_apart_in_full() -> None:
    short = screen(*many().results, evidence=many().evidence)
    full = screen(*many().results, evidence=many().evidence, verbose=True)

    assert "covered 7 operations: 168 golden cases, 63,000 values; 14 of 21 known mistakes excluded" in short
    assert "not excluded rope.op6/degrees would not have been noticed" in short
    assert "no effect 6 known mistakes made no difference at any call that was tried (--verbose)" in short
    assert full.count("24 golden cases") == 7


def test_dtypes_of_an_operation_are_one_line() -> None:
    half = right(dtype="float16")
    shown = screen(right(), half, evidence=(evidence(), enough(half, golden=8, values=100, excluded=())))

    assert "covered rope.rotate: 46 golden cases, 6,220 values; head_dim" in shown


def test_what_is_missing_is_told_first_and_not_for_every_operation() -> None:
    results = [right(f"rope.op{number}/a", operation=f"rope.op{number}") for number in range(9)]
    made = tuple(enough(each, golden=0, excluded=(), missing=("all refused",)) for each in results)

    shown = screen(*results, evidence=made)

    assert shown.startswith("mine.py no verdict: not enough evidence missing mine: rope.op0 in float32: all refused missing")
    assert shown.count("all refused") == 4
    assert "missing 5 other operations (--verbose)" in shown
    assert screen(*results, evidence=made, verbose=True).count("all refused") == 9


@pytest.mark.parametrize("render", [markdown.text, page.text])
def test_every_report_says_what_was_covered_and_what_is_missing(render: object) -> None:
    enough_, missing = (render([a_report(right(), evidence=(each,))]) for each in (evidence(), lacking("all refused")))  # type: ignore[operator]  # one of two functions

    assert "38 golden cases" in enough_.replace("\\", "")
    assert "all refused" in missing
    assert "no verdict: not enough evidence" in missing


def test_the_document_lists_the_evidence() -> None:
    (said,) = record.document(a_report(right(), evidence=(evidence(),)))["evidence"]

    assert said["golden"] == 38
    assert said["not_excluded"] == ["fast-sine", "degrees"]
    assert said["covered"]["head_dim"] == "6 to 512"


def test_drawn_cases_count_for_precision() -> None:
    drawn = result(Passed(), "rope.rotate/drawn-1", kind="drawn", ratio=0.9, farthest=99)
    (row,) = precision(a_report(right(), drawn))

    assert (row.met, row.worst, row.reach) == ("float32", 0.9, 99)
    assert "drawn: 1 of 1 passed" in screen(right(), drawn)


def test_a_drawn_failure_is_repeated_by_its_name_and_seed() -> None:
    assert "posenc check mine.py --case rope.rotate/drawn-7 --seed 7" in screen(wrong("rope.rotate/drawn-7", kind="drawn"))


def test_an_operation_that_is_unsupported_everywhere_lacks_evidence_too() -> None:
    other = result(Unsupported("no"), "t5.bias/far", operation="t5.bias")

    assert a_report(right(), other, evidence=(enough(right()), enough(other, golden=0, missing=("refused",)))).status is Status.NOT_JUDGED


def test_nothing_conforms_of_which_all_is_a_known_deviation() -> None:
    assert " conforms " not in screen(result(Waived("known", "", "so")))


FAILING = """
import os
from conformance import Adapter
from refimpl.schemes import alibi

adapter = Adapter("failing")

@adapter.implements("alibi.bias")
def bias(*arrays, **parameters):
    {inside}
    return alibi.bias(*arrays, **parameters)
"""


def checked_as_known(folder: Path, inside: str) -> Report:
    """Return the report on code all of whose failures are known deviations."""
    path, known = folder / "failing.py", folder / "known.yaml"
    path.write_text(FAILING.format(inside=inside), encoding="utf-8")
    arguments = ["check", str(path), "--level", "smoke", "--seed", "1", "--baseline", str(known)]
    main([*arguments, "--update-baseline"])
    main([*arguments, "--report", str(folder / "report")])
    return lines.read(folder / "report" / "record.jsonl")[0]


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ("os._exit(3)", "not run after 3 crashes or time-outs"),
        ("if parameters: raise OSError('gone')", "gave no value to judge; mend what fails"),
    ],
    ids=["crashes", "raises"],
)
def test_failures_that_are_known_call_for_no_wider_declaration(tmp_path: Path, inside: str, words: str) -> None:
    report = checked_as_known(tmp_path, inside)
    shown = "".join((tmp_path / "report" / name).read_text(encoding="utf-8") for name, _ in files.FORMATS.values())

    assert report.status is Status.NOT_JUDGED
    assert verdict(report) == "no verdict: nothing that ran could be judged beside the known deviations"
    assert [each.missing[0].endswith(words) for each in report.evidence] == [True] * len(report.evidence)
    for fixed in ("takes no declaration", "the adapter doesn&#x27;t declare it"):  # a command's help, and the page's legend
        shown = shown.replace(fixed, "")
    assert "declar" not in shown
    assert words in shown


def test_an_interrupted_run_says_what_is_missing_and_advises_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = golden_checks.judgements

    def interrupted(*given: Any, **named: Any) -> Iterator[Checked]:
        yield from islice(plain(*given, **named), 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(golden_checks, "judgements", interrupted)
    arguments = ["check", "numpy", "--operation", "alibi.bias", "--operation", "binary.encode", "--report", str(tmp_path)]

    assert main([*arguments, "--json"]) == Status.INTERRUPTED

    (document,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert {words for each in document["evidence"] for words in each["missing"]} == {INTERRUPTED}
    for name in ("summary.md", "report.html", "junit.xml"):
        shown = unescape((tmp_path / name).read_text(encoding="utf-8"))
        assert INTERRUPTED in shown
        assert "widen" not in shown
        assert NOTHING_DRAWN not in shown
    assert main(arguments) == Status.INTERRUPTED
    shown = " ".join(capsys.readouterr().out.split())
    assert f"missing {INTERRUPTED}" in shown
    assert "widen" not in shown


def test_what_was_asked_to_its_end_before_an_interruption_keeps_what_it_lacks() -> None:
    shown = screen(right(), evidence=(lacking("all refused"),), complete=False)

    assert f"missing {INTERRUPTED} missing" in shown
    assert "all refused" in shown


def test_an_interruption_before_anything_was_drawn_is_why_nothing_was() -> None:
    shown = screen(right(), evidence=(), complete=False)

    assert INTERRUPTED in shown
    assert NOTHING_DRAWN not in shown
