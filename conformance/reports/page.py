"""A report as one HTML page: offline, for a keyboard too, light and dark, with filters, curves and a reproduction of every failure."""

import base64
import hashlib
import html
import math
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources

from conformance.calls.outcomes import Failed, HarnessError, NotJudged, Passed, Report, Result, Unsupported, Waived
from conformance.checks.evidence.told import told
from conformance.mutants.told import place
from conformance.reports import curve
from conformance.show.report import message
from conformance.show.summary import Conviction, convictions, counts, notes, precision, verdict
from conformance.show.terminal import clean

MARKS = {"passed": "✓", "failed": "✗", "unsupported": "-", "not judged": "?", "waived": "~", "note": "i", "harness": "!"}
#: What the marks mean.
MEANINGS = {
    "passed": "what came out is right",
    "failed": "what came out is wrong",
    "unsupported": "the adapter doesn't declare it",
    "not judged": "nothing tells whether it is right",
    "waived": "a known deviation",
    "note": "worth knowing, and no verdict",
    "harness": "posenc itself failed",
}
PRECISION = ("implementation", "operation", "dtype", "profile met", "error / allowed", "by position")
CHECKS = ("outcome", "implementation", "check", "dtype", "error / allowed", "what came out")
#: What a page may load and run: nothing from anywhere, but its own style, and the script of this digest.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"


def text(reports: Sequence[Report]) -> str:
    """Return the page."""
    title = ", ".join(f"{report.target} {verdict(report)}" for report in reports) or "nothing was judged"
    body = "\n".join(line for index, report in enumerate(reports) for line in _report(report, index))
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = POLICY.format(digest=digest)
    return _asset("page.html").format(title=_plain(title), policy=policy, style=_asset("page.css"), script=script, body=body)


def _asset(name: str) -> str:
    return resources.files("conformance.reports").joinpath(name).read_text(encoding="utf-8")


def _plain(words: object) -> str:
    """Return words that are only ever text, between tags and in attributes."""
    return html.escape(clean(str(words)), quote=True)


def _report(report: Report, index: int) -> Iterator[str]:
    yield f'<section class="report" aria-labelledby="report-{index}">'
    yield f'<h1 id="report-{index}" class="verdict status-{int(report.status)}">{_plain(report.target)} {_plain(verdict(report))}</h1>'
    yield f"<p class=counts>{_counted(report)}</p>"
    yield from _evidence(report)
    yield from (f'<p class="note">{_plain(words)}</p>' for words in notes(report))
    for number, conviction in enumerate(convictions(report)):
        yield from _conviction(conviction, f"wrong-{index}-{number}")
    yield from _precision(report)
    yield from _checks(report, index)
    yield from _header(report)
    yield "</section>"


def _evidence(report: Report) -> Iterator[str]:
    said = [_entry(label, words) for label, words in told(report, verbose=True)]
    if said:
        yield f'<h2>What this rests on</h2><dl class="evidence">{"".join(said)}</dl>'


def _counted(report: Report) -> str:
    found = counts(report.results)
    words = ", ".join(f"{count} {_plain(_kind_words(name))}" for name, count in sorted(found.items()))
    return f"{sum(found.values())} checks: {words or 'none'}"


def _kind_words(name: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _conviction(conviction: Conviction, identity: str) -> Iterator[str]:
    shown, diagnosis = conviction.smallest, conviction.diagnosis
    title = f"{conviction.implementation}: {conviction.operation} in {', '.join(conviction.dtypes)}"
    yield f'<article class="wrong" aria-labelledby="{identity}">'
    yield f'<h2 id="{identity}">{_plain(title)}: {len(conviction.failures)} of {conviction.judged} checks fail</h2><dl>'
    if diagnosis is not None:
        yield f"<dt>{_plain(diagnosis.label)}</dt><dd>{' + '.join(map(_mistake, diagnosis.mutants))}</dd>"
        yield _entry("does", diagnosis.does)
        yield _entry("should", diagnosis.should)
        yield _entry("fix", diagnosis.fix)
        yield from (f"<dt>seen in</dt><dd>{_link(thread)}</dd>" for thread in diagnosis.threads)
        if diagnosis.also_fits:
            yield _entry("also fits", diagnosis.others())
        yield from (_entry("tell apart", separating) for separating in diagnosis.separate)
    yield from (_entry("clues" if index == 0 else "", clue) for index, clue in enumerate(conviction.description))
    yield _entry("shown by", f"{shown.check} in {shown.dtype}", code=True)
    if shown.call:
        yield _entry("call", shown.call)
    yield _entry("got", message(shown.outcome))
    yield "</dl>"
    if shown.reproduction:
        yield from _reproduction(shown.reproduction)
    yield "</article>"


def _entry(name: str, words: str, *, code: bool = False) -> str:
    inner = f"<code>{_plain(words)}</code>" if code else _plain(words)
    return f"<dt>{_plain(name)}</dt><dd>{inner}</dd>"


def _mistake(name: str) -> str:
    """Return the name of a mistake, and where the documents tell it."""
    where = place(name)
    return f"<code>{_plain(name)}</code>" + (f" <span class=told>(see <code>{_plain(where)}</code>)</span>" if where else "")


def _link(address: str) -> str:
    """Return a link where the address is one that a browser may follow, else the words."""
    return f'<a href="{_plain(address)}" rel="noreferrer">{_plain(address)}</a>' if address.startswith("https://") else _plain(address)


def _reproduction(source: str) -> Iterator[str]:
    code = "\n".join(_plain(line) for line in source.rstrip("\n").split("\n"))
    yield '<details><summary>reproduce</summary><button type="button" class="copy">copy</button>'
    yield f'<pre tabindex="0"><code>{code}</code></pre></details>'


def _precision(report: Report) -> Iterator[str]:
    rows = precision(report)
    if not rows:
        return
    yield '<h2>Precision</h2><div class="wide" tabindex="0" role="region" aria-label="precision"><table class="precision"><thead><tr>'
    yield from (f"<th scope=col>{name}</th>" for name in PRECISION)
    yield "</tr></thead><tbody>"
    for row in rows:
        size = "" if row.worst is None else "∞" if math.isinf(row.worst) else f"{row.worst:.3g}"
        worst = "; ".join(filter(None, (size, row.beside)))
        cells = (row.implementation, row.operation, row.dtype, row.met or "none", worst)
        name = f"{row.implementation} {row.operation} in {row.dtype}"
        drawn = curve.svg(row.errors_by_position, _plain(name))
        yield f"<tr>{''.join(f'<td>{_plain(cell)}</td>' for cell in cells)}<td>{drawn}</td></tr>"
    yield "</tbody></table></div>"
    yield from _legend("the curves", ((curve.sample(name), words) for name, words in curve.MEANINGS.items()))


def _legend(of: str, signs: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f'<dl class="legend" aria-label="legend of {of}">'
    yield from (f"<div><dt>{sign}</dt><dd>{_plain(words)}</dd></div>" for sign, words in signs)
    yield "</dl>"


def _checks(report: Report, index: int) -> Iterator[str]:
    schemes = sorted({result.operation.split(".", 1)[0] for result in report.results})
    kinds = sorted({kind(result) for result in report.results})
    yield f'<h2 id="checks-{index}">All checks</h2><form class="filters" aria-label="filters of the checks" data-of="checks-of-{index}">'
    yield from _choice("scheme", schemes)
    yield from _choice("outcome", kinds)
    yield '<label>name contains <input type="search" name="words" autocomplete="off"></label> <output aria-live="polite"></output></form>'
    yield from _legend("outcomes", ((_mark(name), f"{name}: {words}") for name, words in MEANINGS.items()))
    passed, others = _parted(report.results)
    yield f'<div id="checks-of-{index}">'
    yield from _table("checks that didn't pass", sorted(others, key=lambda result: not result.convicts))
    for operation, results in passed.items():
        yield f"<details class=passed><summary>{_mark('passed')} {_plain(operation)}: {len(results)} passed</summary>"
        yield from _table(f"{operation}: what passed", results)
        yield "</details>"
    yield "</div>"


def _parted(results: Iterable[Result]) -> tuple[dict[str, list[Result]], list[Result]]:
    """Return what passed by its operation, and everything else."""
    passed: dict[str, list[Result]] = {}
    others: list[Result] = []
    for result in results:
        (passed.setdefault(result.operation, []) if kind(result) == "passed" else others).append(result)
    return passed, others


def _table(name: str, results: Sequence[Result]) -> Iterator[str]:
    if not results:
        return
    yield f'<table class="checks" aria-label="{_plain(name)}"><thead><tr>'
    yield from (f"<th scope=col>{column}</th>" for column in CHECKS)
    yield "</tr></thead><tbody>"
    yield from map(_check, results)
    yield "</tbody></table>"


def _mark(group: str) -> str:
    return f'<span class="mark" aria-hidden="true">{MARKS[group]}</span>'


def _choice(name: str, values: Sequence[str]) -> Iterator[str]:
    options = "".join(f'<option value="{_plain(value)}">{_plain(value)}</option>' for value in values)
    yield f'<label>{name} <select name="{name}"><option value="">all</option>{options}</select></label>'


def kind(result: Result) -> str:
    """Return the group of outcomes that a filter offers."""
    if result.convicts:
        return "failed"
    named = {Passed: "passed", Unsupported: "unsupported", NotJudged: "not judged", Waived: "waived", HarnessError: "harness"}
    return named.get(type(result.outcome), "note")


def _check(result: Result) -> str:
    group, scheme = kind(result), result.operation.split(".", 1)[0]
    name = result.check if result.check.startswith(f"{result.operation}/") else f"{result.operation}: {result.check}"
    ratio = "" if result.ratio is None else "∞" if math.isinf(result.ratio) else f"{result.ratio:.3g}"
    words = "" if isinstance(result.outcome, Passed) else _outcome(result)
    more = "".join(_reproduction(result.reproduction)) if result.reproduction else ""
    code = f"<code>{_plain(name).replace('/', '/<wbr>')}</code>"
    cells = f"<td>{_plain(result.implementation)}</td><td>{code}</td><td>{_plain(result.dtype)}</td><td class=number>{ratio}</td>"
    return (
        f'<tr class="is-{group.replace(" ", "-")}" data-scheme="{_plain(scheme)}" data-outcome="{group}">'
        f'<td class="outcome">{_mark(group)} {group}</td>{cells}<td>{words}{more}</td></tr>'
    )


def _outcome(result: Result) -> str:
    outcome = result.outcome
    if isinstance(outcome, Unsupported | NotJudged):
        return _plain(outcome.reason)
    if isinstance(outcome, Waived):
        return _plain(f"{outcome.reason}: {outcome.message}") + (f" {_link(outcome.link)}" if outcome.link else "")
    exposed = result.exposes if isinstance(outcome, Failed) else ""
    return _plain(message(outcome)) + (f" <span class=exposes>(made to show: {_plain(exposed)})</span>" if exposed else "")


def _header(report: Report) -> Iterator[str]:
    yield "<h2>Run with</h2><dl class=header>"
    yield from (_entry(str(name), str(value)) for name, value in report.header.items())
    yield "</dl>"
