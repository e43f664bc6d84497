"""Which position an element of a result belongs to."""

import numpy as np

from conformance.judge.judge import PLACES
from conformance.spec.arguments import farthest
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector


def positions(vector: Vector, axes: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the position of every element, that of its query or its key, whichever is farther; ``None`` where it has none.

    Nothing is said where positions are negative: how far they lie doesn't tell them from others.
    """
    known = placed(vector, axes)
    if any(given.min(initial=0) < 0 for given in known.values()):
        return None
    every = operations()[vector.operation].arrays
    found = [_spread(farthest(every[PLACES[axis]], given), axes, axis, shape) for axis, given in known.items()]
    return np.maximum.reduce(found) if found else None


def placed(vector: Vector, axes: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return the positions along those axes of a result that have any."""
    return {axis: vector.inputs[PLACES[axis]] for axis in axes if PLACES.get(axis) in vector.inputs}


def _spread(places: np.ndarray, axes: tuple[str, ...], axis: str, shape: tuple[int, ...]) -> np.ndarray:
    own = ("batch", axis) if places.ndim > 1 else (axis,)
    if not set(own) <= set(axes):
        return np.broadcast_to(places.max(initial=0), shape)
    sizes = [shape[i] if name in own else 1 for i, name in enumerate(axes)]
    return np.broadcast_to(places.reshape(sizes), shape)
