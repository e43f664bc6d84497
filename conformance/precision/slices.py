"""One token of a vector at a time: what has a table too short for all of a ladder may take its lower rungs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.spec import axis_names


def tokens(vector: Vector) -> Iterator[Vector]:
    """Yield the vector for each of its tokens, nothing where it has no axis of tokens or only one."""
    places = vector.inputs.get("positions")
    for token in range(places.shape[-1]) if places is not None and places.shape[-1] > 1 else ():
        yield _one(vector, token)


def _one(vector: Vector, token: int) -> Vector:
    declared = operations()[vector.operation]
    axes = {**declared.arrays, **declared.results}
    return replace(
        vector,
        inputs=_taken(vector.inputs, axes, token),
        expected=None if vector.expected is None else _taken(vector.expected, axes, token),
        allowed={profile: _taken(radii, axes, token) for profile, radii in vector.allowed.items()},
    )


def _taken(arrays: Mapping[str, np.ndarray], axes: Mapping[str, str], token: int) -> dict[str, np.ndarray]:
    return {name: _row(array, axis_names(axes[name], array.ndim) or (), token) for name, array in arrays.items()}


def _row(array: np.ndarray, names: tuple[str, ...], token: int) -> np.ndarray:
    return array.take([token], axis=names.index("token")) if "token" in names else array
