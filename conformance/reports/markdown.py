"""A report as Markdown, for a pull request or a job summary: verdict, what is wrong, how precise, what was counted."""

import re
from collections.abc import Iterator, Sequence

from conformance.calls.outcomes import Report
from conformance.calls.status import Status
from conformance.checks.evidence.told import told
from conformance.show.report import COMMANDS, message
from conformance.show.summary import Conviction, advisories, convictions, counts, notes, precision, verdict
from conformance.show.terminal import clean

SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&])")
THREADS = 3
WRONG_SHOWN = 20


def text(reports: Sequence[Report]) -> str:
    """Return the document."""
    return "\n".join(line for report in reports for line in _document(report)) + "\n"


def _document(report: Report) -> Iterator[str]:
    mark = {Status.CONFORMS: "✅", Status.DIFFERS: "❌"}.get(report.status, "⚠️")
    yield f"## {mark} {plain(report.target)} {plain(verdict(report))}"
    yield ""
    yield from _evidence(report)
    found = convictions(report)
    for conviction in found[:WRONG_SHOWN]:
        yield from _conviction(conviction)
    if len(found) > WRONG_SHOWN:
        yield f"… and {len(found) - WRONG_SHOWN} more operations that are wrong.\n"
    yield from _precision(report)
    noted = [*notes(report), *(f"{words} ({count} times)" if count > 1 else words for words, count in advisories(report))]
    yield from (*(f"- note: {plain(words)}" for words in noted), "") if noted else ()
    yield from _counts(report)


def _evidence(report: Report) -> Iterator[str]:
    said = [f"- **{plain(label)}**: {plain(words)}" for label, words in told(report)]
    yield from (*said, "") if said else ()


def _conviction(conviction: Conviction) -> Iterator[str]:
    shown, diagnosis = conviction.smallest, conviction.diagnosis
    of = f"{len(conviction.failures)} of {conviction.judged} checks fail"
    yield f"### {plain(conviction.implementation)}: {plain(conviction.operation)} in {', '.join(conviction.dtypes)}: {of}"
    yield ""
    if diagnosis is not None:
        yield f"- **{plain(diagnosis.name)}**: {plain(diagnosis.does)}; should {plain(diagnosis.should)}"
        yield f"- **fix**: {plain(diagnosis.fix)}"
        yield from (f"- to tell apart: {plain(separating)}" for separating in diagnosis.separate)
        yield from (f"- seen in <{thread}>" for thread in diagnosis.threads[:THREADS] if re.fullmatch(r"https://[^\s<>]+", thread))
    yield from (f"- clue: {plain(clue)}" for clue in conviction.description)
    yield f"- shown by `{clean(shown.check).replace('`', '')}`: {plain(message(shown.outcome))}"
    yield from (f"- call: {plain(call)}" for call in filter(None, [shown.call]))
    yield ""
    if shown.reproduction:
        yield from ("<details><summary>reproduce</summary>", "", _fenced(shown.reproduction), "", "</details>", "")


def _fenced(source: str) -> str:
    """Return code between fences that are longer than any run of ticks inside."""
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", source)), default=0))
    code = "\n".join(clean(line) for line in source.rstrip("\n").split("\n"))
    return f"{ticks}{'sh' if source.startswith(COMMANDS) else 'python'}\n{code}\n{ticks}"


def _precision(report: Report) -> Iterator[str]:
    rows = precision(report)
    if rows:
        yield "| implementation | operation | dtype | profile met | worst error / allowed | right up to |"
        yield "|---|---|---|---|---|---|"
    for row in rows:
        worst = "; ".join(filter(None, ("" if row.worst is None else f"{row.worst:.3g}", row.beside)))
        reach = "" if row.reach is None else f"{row.reach:,}"
        cells = (row.implementation, row.operation, row.dtype, row.met or "none", worst, reach)
        yield f"| {' | '.join(plain(cell) for cell in cells)} |"
    if rows:
        yield ""


def _counts(report: Report) -> Iterator[str]:
    found = counts(report.results)
    words = ", ".join(f"{count} {_words(name)}" for name, count in sorted(found.items(), key=lambda item: (item[0] != "Passed", item[0])))
    yield f"{sum(found.values())} checks: {words or 'none'}."
    yield ""
    yield " · ".join(f"{plain(str(key))} {plain(str(value))}" for key, value in report.header.items())
    yield ""


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def plain(words: str) -> str:
    """Return words that mean nothing to Markdown or HTML, and fit a cell."""
    return SPECIAL.sub(r"\\\1", clean(" ".join(words.split()))).replace("@", "@\u200b")
