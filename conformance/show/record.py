"""Word a report for a machine: one JSON document with stable keys and finite numbers."""

import json
import math
from dataclasses import asdict, fields
from typing import Any

from conformance.calls.outcomes import Failed, Outcome, Report, Result
from conformance.show.summary import Conviction, Precision, convictions, counts, precision, verdict

FORMAT = 1


def text(report: Report) -> str:
    """Return the document on one line, so that several targets make JSON lines."""
    return json.dumps(document(report), allow_nan=False) + "\n"


def document(report: Report) -> dict[str, Any]:
    """Return everything that the report holds, and what follows from it."""
    found: dict[str, Any] = finite(
        {
            "format": FORMAT,
            "target": report.target,
            "verdict": verdict(report),
            "exit_status": int(report.status),
            "complete": report.complete,
            "refused": report.refused,
            "reached": report.reached,
            "warnings": report.warnings,
            "header": report.header,
            "counts": {"total": len(report.results), **_counts(report)},
            "wrong": [_conviction(conviction) for conviction in convictions(report)],
            "precision": [_precision(row) for row in precision(report)],
            "evidence": [asdict(evidence) for evidence in report.evidence],
            "results": [_result(result) for result in report.results],
        }
    )
    return found


def _counts(report: Report) -> dict[str, int]:
    found = counts(report.results)
    return {_snake(kind.__name__): found[kind.__name__] for kind in Outcome.__args__}


def _conviction(conviction: Conviction) -> dict[str, Any]:
    return {
        "implementation": conviction.implementation,
        "operation": conviction.operation,
        "dtypes": conviction.dtypes,
        "failed": len(conviction.failures),
        "judged": conviction.judged,
        "diagnosis": None if conviction.diagnosis is None else asdict(conviction.diagnosis),
        "smallest": conviction.smallest.check,
        "worst_ratio": None if conviction.worst is None else conviction.worst.ratio,
        "reproduction": conviction.smallest.reproduction,
    }


def _precision(row: Precision) -> dict[str, Any]:
    return {**asdict(row), "declared": row.declared}


def _result(result: Result) -> dict[str, Any]:
    plain = {field.name: getattr(result, field.name) for field in fields(result) if field.name != "outcome"}
    return {**plain, "outcome": outcome(result.outcome)}


def outcome(came: Outcome) -> dict[str, Any]:
    """Return an outcome as data, with the name of its type."""
    said = {field.name: getattr(came, field.name) for field in fields(came)}
    if isinstance(came, Failed):
        said["reason"] = came.reason.value
    return {"kind": _snake(type(came).__name__), **said}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def finite(value: object) -> Any:
    """Return JSON's own types: numbers that aren't finite become null, what JSON lacks becomes its text."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [finite(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
