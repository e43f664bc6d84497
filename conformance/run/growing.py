"""Choose the calls for which a table would have to grow: those that reach farther than a part of them does."""

from collections.abc import Callable, Sequence

import numpy as np

from conformance.checks.vector_checks import Checked
from conformance.spec.arguments import farthest, is_position
from conformance.spec.declarations import operations

#: What tables are made for, careless ones for a part: all rows; the first row and the last tokens, either, the last row, the first tokens,
#: every second token.
SEEN: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda rows: rows,
    lambda rows: np.concatenate([rows[0], rows[:, -1]]),
    lambda rows: rows[:1],
    lambda rows: rows[:, -1:],
    lambda rows: rows[-1:],
    lambda rows: rows[:, :1],
    lambda rows: rows[:, ::2],
)


def growing(answered: Sequence[Checked]) -> list[Checked]:
    """Return calls each of which reaches farther than those before it, and than a part that tables are made for; then the farthest.

    For each part there is one that is near and one that is far: tables may be long from the beginning.
    """
    reached = [(_reaches(checked), checked) for checked in answered if any(map(is_position, checked.vector.inputs))]
    placed = sorted(reached, key=lambda each: each[0][0])
    steps: dict[float, Checked] = {}
    for part in range(1, len(SEEN)):
        beyond = {reaches[0]: checked for reaches, checked in placed if reaches[0] > reaches[part]}
        for near_first in (sorted(beyond), sorted(beyond, reverse=True)):
            steps.update((reach, beyond[reach]) for reach in [each for each in near_first if each not in steps][:1])
    return list(dict.fromkeys([*(steps[reach] for reach in sorted(steps)), *(checked for _, checked in placed[-1:])]))


def _reaches(checked: Checked) -> tuple[float, ...]:
    """Return the farthest position, at least 1, of each part that is seen: no table grows for negative ones."""
    every, inputs = operations()[checked.vector.operation].arrays, checked.vector.inputs.items()
    rows = [np.atleast_2d(farthest(every[name], np.maximum(array, 0))) for name, array in inputs if is_position(name)]
    return tuple(max(float(seen(each).max(initial=1)) for each in rows) for seen in SEEN)
