"""How much wider one profile is than another, by position: the lines of the picture."""

import numpy as np

from conformance.judge import logits
from conformance.judge.judge import half_ulp
from conformance.spec.vectors import Vector


def by_position(vector: Vector, profile: str, required: str, dtype: str) -> dict[int, float]:
    """Return the most that a profile allows at every position as a multiple of what the required one does: no code within it errs more."""
    if vector.expected is None or logits.family(vector.operation) not in logits.MEASURED:
        return {}
    wide, usual = (_allowed(vector, name, dtype) for name in (profile, required))
    return {} if wide is None or usual is None else logits.largest(logits.places(vector), wide / usual)


def _allowed(vector: Vector, profile: str, dtype: str) -> np.ndarray | None:
    radius = vector.allowed.get(profile, {}).get("result")
    if radius is None or vector.expected is None:
        return None
    return np.asarray(radius + half_ulp(np.abs(vector.expected["result"]) + np.nan_to_num(radius), dtype))
