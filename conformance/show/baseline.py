"""Known deviations: a file that says which failures are expected, why, where it is told, under which versions, and until when."""

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from conformance.adapt.adapter import near_file
from conformance.calls.outcomes import CONVICTIONS, Failed, NotJudged, Outcome, Reason, Report, Result, Waived
from conformance.show.record import outcome
from conformance.show.report import message
from conformance.show.summary import named_twice
from conformance.spec import document, files

FORMAT = 1
SHOWN = 200
UNEXPLAINED = "to be explained"
#: What a condition compares as a beginning, not as a version.
WORDS = ("platform", "device")


class BaselineError(Exception):
    """A file of deviations that can't be used."""


@dataclass(frozen=True)
class Deviation:
    """One entry: which checks (a glob), with which outcome, why; the rest is optional."""

    match: str
    outcome: str
    reason: str
    link: str = ""
    when: Mapping[str, str] = field(default_factory=dict)
    expires: dt.date | None = None

    def holds(self, header: Mapping[str, object]) -> bool:
        """Return whether the run is one that the entry speaks of."""
        return all(_holds(name, condition, header.get(name)) for name, condition in self.when.items())

    def covers(self, result: Result) -> bool:
        """Return whether the entry speaks of a check."""
        return fnmatchcase(identity(result), self.match)

    def excuses(self, result: Result, today: dt.date) -> bool:
        """Return whether a failure is the one that the entry expects, in time."""
        expired = self.expires is not None and today > self.expires
        return not expired and self.covers(result) and result.convicts and kind(result.outcome) == self.outcome


def identity(result: Result) -> str:
    """Return what a check is called in a file: ``implementation:rope.rotate/far:float32``, or ``.../law relative:...``.

    Drawn cases, of which every run has its own, are called ``rope.rotate/drawn`` together.
    """
    if result.kind == "drawn":
        return f"{result.implementation}:{result.operation}/drawn:{result.dtype}"
    check = result.check if result.check.startswith(f"{result.operation}/") else f"{result.operation}/{result.kind} {result.check}"
    return f"{result.implementation}:{check}:{result.dtype}"


def kind(came: Outcome) -> str:
    """Return the name of an outcome, as records say it."""
    return str(outcome(came)["kind"])


def _holds(name: str, condition: str, actual: object) -> bool:
    if actual is None:
        return False
    if name in WORDS:
        return str(actual).lower().startswith(condition.lower())
    try:
        return Version(str(actual)) in SpecifierSet(condition, prereleases=True)
    except InvalidVersion:
        return False


def read(path: Path) -> list[Deviation]:
    """Return the entries of a file."""
    if not path.exists():
        reason = f"{path} must be a file of known deviations, got none{near_file(path) or ' (--update-baseline writes one)'}"
        raise BaselineError(reason)
    try:
        said = document.read(document.contents(path))
    except document.DocumentError as error:
        raise BaselineError(f"{path}: {error}") from error  # noqa: TRY003, EM102  the file's name is all that is added
    schema = json.loads(resources.files("conformance.show").joinpath("deviations.json").read_text(encoding="utf-8"))
    wrong = best_match(Draft202012Validator(schema).iter_errors(said))
    if wrong is not None:
        where = "/".join(map(str, wrong.absolute_path)) or "the file"
        reason = f"{path}: {' '.join(where.split())[:SHOWN]} must obey the schema of deviations: {' '.join(wrong.message.split())[:200]}"
        raise BaselineError(reason)
    return [_deviation(path, entry) for entry in said["deviations"]]


def _deviation(path: Path, entry: Mapping[str, Any]) -> Deviation:
    try:
        for name, condition in entry.get("when", {}).items():
            if name not in WORDS:
                SpecifierSet(condition)
        expires = dt.date.fromisoformat(entry["expires"]) if "expires" in entry else None
    except (InvalidSpecifier, ValueError) as error:
        told = f"{entry['match'][:SHOWN]!r} must have versions as specifiers (<0.14) and dates as YYYY-MM-DD, got {str(error)[:SHOWN]!r}"
        reason = f"{path}: {told}"
        raise BaselineError(reason) from error
    return Deviation(**{**entry, "expires": expires})


def waive(report: Report, deviations: Sequence[Deviation], today: dt.date) -> Report:
    """Return the report with the failures that are expected waived."""
    active = [entry for entry in deviations if entry.holds(report.header)]
    return replace(report, results=tuple(_waived(result, active, today) for result in report.results))


def _waived(result: Result, active: Sequence[Deviation], today: dt.date) -> Result:
    entry = next((entry for entry in active if entry.excuses(result, today)), None)
    if entry is None:
        return result
    return replace(result, outcome=Waived(entry.reason, entry.link, message(result.outcome)))


def stale(report: Report, deviations: Sequence[Deviation], today: dt.date) -> Iterator[Result]:
    """Yield a failure for every entry that covers checks of the report (before waiving) and excuses none of them.

    That no drawn case fails says nothing of an entry: the next run draws others.
    """
    for entry in deviations:
        covered = [result for result in report.results if entry.covers(result)] if entry.holds(report.header) else []
        lasting = any(result.kind != "drawn" for result in covered)
        reason = _why_stale(entry, covered, today) if lasting else None
        if reason is not None:
            yield _failure(entry, reason)


def unmatched(deviations: Sequence[Deviation], reports: Sequence[Report]) -> Iterator[Result]:
    """Yield a failure for every entry that speaks of some run and covers no check of any."""
    for entry in deviations:
        spoken = [report for report in reports if entry.holds(report.header)]
        if spoken and not any(entry.covers(result) for report in spoken for result in report.results):
            yield _failure(entry, "the known deviation matches no check")


def _failure(entry: Deviation, reason: str) -> Result:
    implementation, _, rest = entry.match.partition(":")
    operation = rest.split("/", 1)[0]
    return Result(implementation, operation, entry.match, "baseline", "float32", "float32", Failed(Reason.STALE, reason))


def _why_stale(entry: Deviation, covered: Sequence[Result], today: dt.date) -> str | None:
    if any(entry.excuses(result, today) for result in covered):
        return None
    if entry.expires is not None and today > entry.expires and any(result.convicts for result in covered):
        return f"the known deviation expired on {entry.expires}"
    others = sorted({kind(result.outcome) for result in covered})
    return f"the known deviation must end in {entry.outcome}, got {', '.join(others)}"


def updated(reports: Sequence[Report], known: Sequence[Deviation], *, whole: bool = True) -> str:
    """Return the file that expects exactly what failed: entries that still excuse something are kept, failures without one are added.

    Entries for other circumstances are kept, those of checks that weren't judged, and, unless nothing of the targets was left out, those
    of checks that weren't run.
    """
    every = [result for report in reports for result in report.results if result.kind != "baseline"]
    failures = [result for result in every if isinstance(result.outcome, (*CONVICTIONS, Waived))]
    kept = [entry for entry in known if any(_expected(entry, result) for result in failures) or _unasked(entry, reports, whole=whole)]
    missing = [result for result in failures if not any(_expected(entry, result) for entry in kept)]
    names = dict.fromkeys((_literal(identity(result)), kind(result.outcome)) for result in missing)
    entries = [_plain(entry) for entry in (*kept, *(Deviation(match, came, UNEXPLAINED) for match, came in names))]
    return yaml.safe_dump({"format": FORMAT, "deviations": entries}, sort_keys=False, allow_unicode=True, width=120)


def _unasked(entry: Deviation, reports: Sequence[Report], *, whole: bool) -> bool:
    """Whether a run says nothing of what an entry speaks of."""
    spoken = [report for report in reports if entry.holds(report.header)]
    covered = [result for report in spoken for result in report.results if entry.covers(result)]
    return not spoken or any(isinstance(result.outcome, NotJudged) for result in covered) or not (whole or covered)


def _expected(entry: Deviation, result: Result) -> bool:
    return entry.covers(result) and (isinstance(result.outcome, Waived) or kind(result.outcome) == entry.outcome)


def _literal(name: str) -> str:
    """Return a glob that matches one name only."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _plain(entry: Deviation) -> dict[str, Any]:
    optional = {"link": entry.link, "when": dict(entry.when), "expires": str(entry.expires) if entry.expires else ""}
    said = {"match": entry.match, "outcome": entry.outcome, "reason": entry.reason}
    return {**said, **{name: value for name, value in optional.items() if value}}


class Baseline:
    """The file of known deviations in one run: read before anything is judged, written anew after everything was."""

    def __init__(self, path: Path, *, update: bool = False, whole: bool = True, today: dt.date | None = None) -> None:
        """Read the file; it may be absent where it is to be written. ``whole`` says that nothing of the targets is left out."""
        self.path, self.update, self.whole = path, update, whole
        self.today = today or dt.datetime.now(tz=dt.UTC).date()
        if update and path.exists() and not path.is_file():
            reason = f"{path} must be a regular file where --update-baseline reads it and writes it anew, got another kind"
            raise BaselineError(reason)
        self.known = [] if update and not path.exists() else read(path)
        self.reports: list[Report] = []

    def applied(self, report: Report, *, last: bool) -> Report:
        """Return the report of one target with what is known waived, and with what isn't true any more as failures."""
        self.reports.append(report)
        if twice := named_twice(self.reports):
            reason = f"{self.path} must name every implementation of an operation once, got {twice}"
            raise BaselineError(reason)
        failures = [] if self.update else [*stale(report, self.known, self.today)]
        if last and self.whole and not self.update:
            failures += unmatched(self.known, self.reports)
        waived = waive(report, self.known, self.today)
        return replace(waived, results=(*waived.results, *failures))

    def write(self) -> bool:
        """Write the file that expects exactly what failed, if that was asked for and everything ran."""
        wanted = self.update and all(report.complete and not report.refused for report in self.reports)
        if wanted:
            files.write(self.path, updated(self.reports, self.known, whole=self.whole))
        return wanted
