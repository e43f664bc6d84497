"""A report as JUnit XML: one suite per implementation, operation and dtype, one case per check and one for the evidence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from conformance.calls.outcomes import INTERRUPTED, Advisory, Evidence, HarnessError, NotJudged, Report, Result, Unsupported, Waived
from conformance.checks.evidence.told import told
from conformance.show.report import message
from conformance.show.summary import Precision, at_hand, precision

#: What XML 1.0 can't hold, not even escaped.
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SKIPPED = (Unsupported, NotJudged, Waived)


def text(reports: Sequence[Report]) -> str:
    """Return the document."""
    root = Element("testsuites", name="posenc")
    for report in reports:
        if report.refused:
            _unjudged(root, report.target, report.refused, "Refused")
        elif not report.complete:
            _unjudged(root, report.target, INTERRUPTED, "Interrupted")
        evidence = {_name(report, each): each for each in (*report.evidence, *report.lacking)}
        notes = _notes(report)
        suites = {name: list[Result]() for name in sorted(evidence)} | dict(_suites(report))
        for name, results in suites.items():
            _suite(root, report, name, results, evidence.get(name), (*at_hand(report), *notes.get(name, ())))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _unjudged(root: Element, target: str, why: str, kind: str) -> None:
    """Add a suite of one case for a target that can't be judged, or wasn't to its end, which is an error."""
    name, counts = _safe(target), {"tests": "1", "failures": "0", "errors": "1", "skipped": "0"}
    case = SubElement(SubElement(root, "testsuite", {"name": name, "time": "0.000", **counts}), "testcase", classname="target", name=name)
    SubElement(case, "error", message=_safe(why), type=kind)


def _notes(report: Report) -> dict[str, dict[str, None]]:
    """Return by suite what is worth knowing outside the verdict, each once."""
    found: dict[str, dict[str, None]] = {}
    for result in report.results:
        if isinstance(result.outcome, Advisory):
            found.setdefault(_name(report, result), {})[result.outcome.message] = None
    for row in precision(report):
        if row.beside:
            found.setdefault(_name(report, row), {})[row.beside] = None
    return found


def _name(report: Report, of: Result | Evidence | Precision) -> str:
    """Return the name of the suite that something belongs to."""
    return f"{report.target}: {of.implementation}: {of.operation} in {of.dtype}"


def _suites(report: Report) -> Iterator[tuple[str, list[Result]]]:
    name = partial(_name, report)
    judged = [result for result in report.results if result.kind != "advisory"]
    for suite, results in groupby(sorted(judged, key=name), key=name):
        yield suite, list(results)


def _suite(
    root: Element, report: Report, name: str, results: Sequence[Result], evidence: Evidence | None, notes: Sequence[str]
) -> None:
    lacks = evidence is not None and bool(evidence.missing)
    counts = {
        "tests": len(results) + (evidence is not None),
        "failures": sum(result.convicts for result in results),
        "errors": sum(isinstance(result.outcome, HarnessError) for result in results) + lacks,
        "skipped": sum(isinstance(result.outcome, SKIPPED) for result in results),
    }
    seconds = f"{sum(result.seconds for result in results):.3f}"
    suite = SubElement(root, "testsuite", {"name": _safe(name), "time": seconds, **{key: str(count) for key, count in counts.items()}})
    properties = SubElement(suite, "properties")
    for key, value in report.header.items():
        SubElement(properties, "property", name=_safe(str(key)), value=_safe(str(value)))
    for result in results:
        _case(suite, result)
    if evidence is not None:
        _evidence(suite, report, evidence)
    if notes:
        SubElement(suite, "system-out").text = _safe("\n".join(f"note: {words}" for words in notes))


def _evidence(suite: Element, report: Report, evidence: Evidence) -> None:
    """Add a case that is an error where evidence isn't enough, and says in its output what was covered."""
    case = SubElement(suite, "testcase", classname=_safe(f"{evidence.operation}.evidence"), name="evidence", time="0.000")
    if evidence.missing:
        kind = "Interrupted" if evidence.missing == (INTERRUPTED,) else "NotEnoughEvidence"
        SubElement(case, "error", message=_safe(f"not enough evidence: {'; '.join(evidence.missing)}"), type=kind)
    alone = replace(report, results=(), evidence=(replace(evidence, missing=()),))
    SubElement(case, "system-out").text = _safe("\n".join(f"{label}: {words}" for label, words in told(alone, verbose=True)))


def _case(suite: Element, result: Result) -> None:
    case = SubElement(
        suite, "testcase", classname=_safe(f"{result.operation}.{result.kind}"), name=_safe(result.check), time=f"{result.seconds:.3f}"
    )
    words = _safe(message(result.outcome))
    if result.convicts:
        failure = SubElement(case, "failure", message=words, type=type(result.outcome).__name__)
        failure.text = _safe("\n".join(filter(None, (result.exposes, result.call, result.reproduction))))
    elif isinstance(result.outcome, HarnessError):
        SubElement(case, "error", message=words, type="HarnessError")
    elif isinstance(result.outcome, SKIPPED):
        SubElement(case, "skipped", message=_safe(result.outcome.reason))


def _safe(words: str) -> str:
    return FORBIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), words)
