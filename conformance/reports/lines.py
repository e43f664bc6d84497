"""The record: a header, one line per result and diagnosis, and a footer, without which it was cut off."""

import functools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from importlib import resources
from pathlib import Path
from typing import Any

from conformance.calls.outcomes import Diagnosis, Evidence, Failed, Outcome, Reason, Report, Result
from conformance.show.record import finite, outcome
from conformance.show.summary import verdict
from conformance.spec import strict_json
from conformance.spec.schema import Schema

FORMAT = 1
INFINITE = "infinite"
LARGEST = 256 << 20
KINDS: Mapping[str, type] = {kind.__name__: kind for kind in Outcome.__args__}


class RecordError(Exception):
    """A file that is no record, or not a whole one."""


def text(reports: Sequence[Report]) -> str:
    """Return the record of some targets."""
    return "".join(f"{json.dumps(line, allow_nan=False)}\n" for report in reports for line in _lines(report))


def _lines(report: Report) -> Iterator[dict[str, Any]]:
    yield {"line": "header", "format": FORMAT, "target": report.target, "header": finite(report.header)}
    for result in report.results:
        yield _said(result)
    for name, diagnosis in report.diagnoses.items():
        yield finite({"line": "diagnosis", "of": name, **asdict(diagnosis)})
    for evidence in report.evidence:
        yield finite({"line": "evidence", **asdict(evidence)})
    yield {
        "line": "footer",
        "results": len(report.results),
        "evidence": len(report.evidence),
        "verdict": verdict(report),
        "exit_status": int(report.status),
        "complete": report.complete,
        **({"refused": report.refused} if report.refused else {}),
        **{name: finite(words) for name, words in (("reached", report.reached), ("warnings", report.warnings)) if words},
    }


def _said(result: Result) -> dict[str, Any]:
    plain = {field.name: getattr(result, field.name) for field in fields(result)}
    positions = [[position, _ratio(ratio)] for position, ratio in result.errors_by_position]
    ours = {"outcome": outcome(result.outcome), "ratio": _ratio(result.ratio), "errors_by_position": positions}
    return dict(finite({"line": "result", **plain, **ours}))


def _ratio(ratio: float | None) -> float | str | None:
    """Return a multiple of the allowed error; nothing allowed and something wrong is infinite, which JSON lacks."""
    return ratio if ratio is None or math.isfinite(ratio) else INFINITE


def _number(said: float | str | None) -> float | None:
    return math.inf if said == INFINITE else said  # type: ignore[return-value]  # the schema admits no other string


@functools.cache
def _schema() -> Schema:
    schema = resources.files("conformance.reports").joinpath("schema.json").read_text(encoding="utf-8")
    return Schema(json.loads(schema))


def read(path: Path) -> list[Report]:
    """Return the reports of a record; one that was cut off is marked incomplete."""
    reports: list[_Unfinished] = []
    every = _contents(path).splitlines()
    for number, line in enumerate(every, start=1):
        said = _parsed(path, number, line, cut=number == len(every) > 1 and bool(reports) and not reports[-1].footer)
        if said is None:
            break
        if said["line"] == "header":
            reports.append(_Unfinished(said))
        elif reports and not reports[-1].footer:
            reports[-1].add(said)
        else:
            message = f"{path}:{number} must be a header, got a {said['line']}"
            raise RecordError(message)
    if not reports:
        message = f"{path} must be a record that `posenc check --report` wrote, got no header"
        raise RecordError(message)
    return [unfinished.report(path) for unfinished in reports]


def _contents(path: Path) -> bytes:
    """Return the bytes of a file; of one that is too large, or never ends, no more is read than shows it."""
    with path.open("rb") as stream:
        found = stream.read(LARGEST + 1)
    if len(found) > LARGEST:
        message = f"{path} must stay below {LARGEST} bytes, got more"
        raise RecordError(message)
    return found


def _parsed(path: Path, number: int, line: bytes, *, cut: bool) -> dict[str, Any] | None:
    """Return what a line says, ``None`` where it is one that may have been cut off in its middle, and was."""
    try:
        said = strict_json.read(line)
        wrong = _schema().wrong(said)
    except (ValueError, RecursionError) as error:
        if cut and not line.endswith(b"}"):
            return None
        why = f" ({error})" if isinstance(error, strict_json.NumberError) else ""
        message = f"{path}:{number} must be a JSON object, got {line[:40]!r}{why}"
        raise RecordError(message) from error
    if wrong is not None:
        message = f"{path}:{number} must obey the schema of records: {' '.join(wrong.message.split())[:200]}"
        raise RecordError(message)
    return dict(said)


class _Unfinished:
    """A report while its lines are read."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.header = header
        self.results: list[Result] = []
        self.diagnoses: dict[str, Diagnosis] = {}
        self.evidence: list[Evidence] = []
        self.footer: Mapping[str, Any] = {}

    def add(self, said: Mapping[str, Any]) -> None:
        """Take one line."""
        if said["line"] == "result":
            self.results.append(_result(said))
        elif said["line"] == "diagnosis":
            self.diagnoses[said["of"]] = Diagnosis(**_fields(Diagnosis, said))
        elif said["line"] == "evidence":
            self.evidence.append(Evidence(**_fields(Evidence, said)))
        else:
            self.footer = said

    def report(self, path: Path) -> Report:
        """Return the report, complete only if its footer says so and counts what is there; more than it counts was never written."""
        footer, there = self.footer, (len(self.results), len(self.evidence))
        counted = (footer.get("results", 0), footer.get("evidence", 0))
        if footer and any(here > said for here, said in zip(there, counted, strict=True)):
            wanted = f"{counted[0]} results and {counted[1]} lines of evidence, as its footer says"
            message = f"{path} must hold {wanted}, got {there[0]} and {there[1]}"
            raise RecordError(message)
        complete = bool(footer.get("complete")) and there == counted
        header = dict(self.header["header"])
        found = tuple(self.results), self.diagnoses, complete, tuple(self.evidence), self.footer.get("refused", "")
        reached, warnings = (tuple(self.footer.get(name, ())) for name in ("reached", "warnings"))
        return Report(self.header["target"], header, *found, reached=reached, warnings=warnings)


def _result(said: Mapping[str, Any]) -> Result:
    values = {field.name: said[field.name] for field in fields(Result) if field.name in said}
    positions = tuple((int(position), _number(ratio) or 0.0) for position, ratio in said["errors_by_position"])
    logits = tuple((int(position), float(error)) for position, error in said.get("logits", ()))
    read = {"outcome": _outcome(said["outcome"]), "ratio": _number(said["ratio"]), "errors_by_position": positions, "logits": logits}
    return Result(**{**values, **read})


def _outcome(said: Mapping[str, Any]) -> Outcome:
    kind = KINDS["".join(part.title() for part in said["kind"].split("_"))]
    values = {field.name: said[field.name] for field in fields(kind) if field.name in said}
    if kind is Failed:
        values["reason"] = next(reason for reason in Reason if reason.value == said["reason"])
    made: Outcome = kind(**values)
    return made


def _fields(kind: type[Diagnosis | Evidence], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line says, for the type that it was written from."""
    values: dict[str, Any] = {field.name: said[field.name] for field in fields(kind) if field.name in said}
    return values | {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
