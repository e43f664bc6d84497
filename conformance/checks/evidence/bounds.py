"""Which positions code doesn't take, as a declaration says it: real ones, or those below or beyond an end; or which heads."""

from collections.abc import Sequence

import numpy as np

from conformance.calls.takes import sharing
from conformance.spec.arguments import is_position
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector


def telling(taken: Sequence[Vector], refused: Sequence[Vector]) -> dict[str, object]:
    """Return the declaration of positions or heads that tells calls which were refused from those that were taken, or nothing.

    Code may take a single key head where it takes no groups: it is broadcast.
    """
    last, first = max(map(_highest, taken), default=0.0), min(map(lowest, taken), default=0.0)
    if not any(map(_real, taken)) and all(map(_real, refused)):
        return {"positions": "whole"}
    if all(_highest(one) > last for one in refused):
        return {"highest": int(last)}
    if all(lowest(one) < first for one in refused):
        return {"lowest": 0 if all(lowest(one) < 0 <= first for one in refused) else int(first)}
    if refused and all(map(_shared, refused)) and all(_shared(one) <= 1 for one in taken):
        return {"heads": "equal"}
    return {}


def _shared(vector: Vector) -> int:
    """Return how many key heads the query heads share, 0 where each has its own."""
    if vector.error is not None or not sharing(operations()[vector.operation]):
        return 0
    own, shared = (vector.inputs[name].shape[1] for name in "qk")
    return 0 if shared == own else shared


def written(declared: object) -> str:
    """Return what is declared as it is typed."""
    return f'"{declared}"' if isinstance(declared, str) else str(declared) if isinstance(declared, bool) else f"{declared:_}"


def _places(vector: Vector) -> np.ndarray:
    found = [array.ravel().astype(np.float64) for name, array in vector.inputs.items() if is_position(name)]
    return np.concatenate([np.zeros(0), *found])


def _real(vector: Vector) -> bool:
    places = _places(vector)
    return bool(np.any(places != np.floor(places)))


def _highest(vector: Vector) -> float:
    return float(_places(vector).max(initial=-np.inf))


def lowest(vector: Vector) -> float:
    """Return the lowest position of a call."""
    return float(_places(vector).min(initial=np.inf))
