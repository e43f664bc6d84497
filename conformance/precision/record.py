"""Word curves for a machine: one JSON document, every number finite."""

import json
from collections.abc import Sequence
from typing import Any

from conformance.judge import logits
from conformance.precision.curve import Curve, Point
from conformance.show.record import finite
from conformance.spec.profiles import PROFILES

FORMAT = 1


def text(target: str, curves: Sequence[Curve], undone: Sequence[str] = ()) -> str:
    """Return the document on one line; ``undone`` is what an interruption left unmeasured."""
    every = [_curve(curve) for curve in curves]
    said = {"format": FORMAT, "target": target, "complete": not undone, "curves": every, "undone": list(undone)}
    return json.dumps(finite(said), allow_nan=False) + "\n"


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "implementation": curve.implementation,
        "operation": curve.operation,
        "dtype": curve.dtype,
        "required": curve.required,
        "met": curve.met,
        "right_up_to": curve.reach,
        "wrong_from": {profile: curve.wrong_from(profile) for profile in PROFILES},
        "points": [_point(point) for point in curve.points],
        "faults": curve.faults,
        "depends_on_earlier_calls": curve.depends,
        "left": curve.left,
        "logits": None if curve.wide is None else _logits(curve.wide.head_dim, curve.wide.errors),
    }


def _point(point: Point) -> dict[str, Any]:
    return {"position": point.position, "error": point.error, "ratios": dict(point.ratios)}


def _logits(head_dim: int, errors: Sequence[tuple[int, float]]) -> dict[str, Any]:
    found = [
        {"position": position, "relative": error, "typical": logits.typical(error), "at_worst": logits.worst(error, head_dim)}
        for position, error in errors
    ]
    return {"head_dim": head_dim, "points": found}
