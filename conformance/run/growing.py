"""Choose the calls for which a table would have to grow: those that reach farther than they begin or end."""

from collections.abc import Sequence

import numpy as np

from conformance.checks.vector_checks import Checked
from conformance.spec.arguments import farthest, is_position
from conformance.spec.declarations import operations


def growing(answered: Sequence[Checked]) -> list[Checked]:
    """Return the calls that reach farthest beyond their first row and last tokens, beyond either, and from 0."""
    placed = [checked for checked in answered if any(map(is_position, checked.vector.inputs))]
    return list(dict.fromkeys(placed[way.index(max(way))] for way in zip(*map(_ways, placed), strict=True) if max(way) > 1))


def _ways(checked: Checked) -> tuple[float, float, float, float]:
    """Return how many times as far a call reaches as both its first row and last tokens, for which careless tables are made, and as either.

    Last comes how far it reaches.
    """
    every = operations()[checked.vector.operation].arrays
    rows = [np.atleast_2d(farthest(every[name], array)) for name, array in checked.vector.inputs.items() if is_position(name)]
    reach, first, last = (_reach(seen) for seen in (rows, [row[:1] for row in rows], [row[:, -1:] for row in rows]))
    return min(reach / first, reach / last), reach / first, reach / last, reach


def _reach(rows: Sequence[np.ndarray]) -> float:
    """Return the farthest position, at least 1."""
    return max(float(row.max(initial=1)) for row in rows)
