"""Choose the calls for which a table would have to grow: those that reach farther than they begin or end."""

from collections.abc import Callable, Sequence

import numpy as np

from conformance.checks.vector_checks import Checked
from conformance.spec.arguments import farthest, is_position
from conformance.spec.declarations import operations


def growing(answered: Sequence[Checked]) -> list[Checked]:
    """Return the calls that reach farthest beyond their first row and last tokens, beyond either, and from 0."""
    placed = [checked for checked in answered if any(map(is_position, checked.vector.inputs))]
    ways = (_beyond_both, _beyond_first_row, _beyond_last_token, _reach)
    return list(dict.fromkeys(max(placed, key=way) for way in ways if max(map(way, placed)) > 1)) if placed else []


def _reach(checked: Checked, seen: Callable[[np.ndarray], np.ndarray] = np.asarray) -> float:
    """Return the farthest position, at least 1, of all that are seen."""
    every = operations()[checked.vector.operation].arrays
    rows = (np.atleast_2d(farthest(every[name], array)) for name, array in checked.vector.inputs.items() if is_position(name))
    return max(float(seen(row).max(initial=1)) for row in rows)


def _beyond_first_row(checked: Checked) -> float:
    return _reach(checked) / _reach(checked, lambda rows: rows[:1])


def _beyond_last_token(checked: Checked) -> float:
    return _reach(checked) / _reach(checked, lambda rows: rows[:, -1:])


def _beyond_both(checked: Checked) -> float:
    """Return how many times as far a call reaches as both its first row and its last tokens, which careless tables are made for."""
    return min(_beyond_first_row(checked), _beyond_last_token(checked))
