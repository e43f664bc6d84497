"""A report as JUnit XML: one suite per implementation, operation and dtype, one case per check."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from conformance.outcomes import HarnessError, NotJudged, Report, Result, Unsupported, Waived
from conformance.report import message

#: What XML 1.0 can't hold, not even escaped.
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SKIPPED = (Unsupported, NotJudged, Waived)


def text(reports: Sequence[Report]) -> str:
    """Return the document."""
    root = Element("testsuites", name="posenc")
    for report in reports:
        for name, results in _suites(report):
            _suite(root, report, name, results)
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suites(report: Report) -> Iterator[tuple[str, list[Result]]]:
    def name(result: Result) -> str:
        return f"{report.target}: {result.implementation}: {result.operation} in {result.dtype}"

    judged = [result for result in report.results if result.kind != "advisory"]
    for suite, results in groupby(sorted(judged, key=name), key=name):
        yield suite, list(results)


def _suite(root: Element, report: Report, name: str, results: Sequence[Result]) -> None:
    counts = {
        "tests": len(results),
        "failures": sum(result.convicts for result in results),
        "errors": sum(isinstance(result.outcome, HarnessError) for result in results),
        "skipped": sum(isinstance(result.outcome, SKIPPED) for result in results),
    }
    seconds = f"{sum(result.seconds for result in results):.3f}"
    suite = SubElement(root, "testsuite", {"name": _safe(name), "time": seconds, **{key: str(count) for key, count in counts.items()}})
    properties = SubElement(suite, "properties")
    for key, value in report.header.items():
        SubElement(properties, "property", name=_safe(str(key)), value=_safe(str(value)))
    for result in results:
        _case(suite, result)


def _case(suite: Element, result: Result) -> None:
    case = SubElement(
        suite, "testcase", classname=_safe(f"{result.operation}.{result.kind}"), name=_safe(result.check), time=f"{result.seconds:.3f}"
    )
    words = _safe(message(result.outcome))
    if result.convicts:
        failure = SubElement(case, "failure", message=words, type=type(result.outcome).__name__)
        failure.text = _safe("\n".join(filter(None, (result.exposes, result.reproduction))))
    elif isinstance(result.outcome, HarnessError):
        SubElement(case, "error", message=words, type="HarnessError")
    elif isinstance(result.outcome, SKIPPED):
        SubElement(case, "skipped", message=_safe(result.outcome.reason))


def _safe(words: str) -> str:
    return FORBIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), words)
