"""Between which positions a function answers."""

from collections.abc import Callable, Sequence

import numpy as np

from conformance.identify.asking import Refused

#: The farthest position that is asked for.
FARTHEST = 1 << 20
#: What returns the result of a call that reaches a position, or raises ``Refused``.
Reach = Callable[[int], Sequence[np.ndarray]]


def taken(reach: Reach, position: int) -> bool:
    """Whether a position is answered, or would be within wider limits: a call that exceeds them shows no end of a table."""
    try:
        reach(position)
    except Refused as refusal:
        return refusal.exceeded
    return True


def from_zero(reach: Reach, end: int, start: int = 0) -> bool:
    """Whether positions below 0 are refused, or read a table from its end; 0 reads the row ``start`` of it.

    ``end`` is the last position that was taken: a table that grows ends there.
    """
    below = -1 - start
    return not taken(reach, -1) or not taken(reach, below) or (_alike(reach, below, end) and not _alike(reach, 0, end))


def first(reach: Reach) -> int:
    """Return from where on positions that aren't below 0 are taken: 0, or 1 where code counts from there."""
    return 1 if not taken(reach, 0) and taken(reach, 1) else 0


def _alike(reach: Reach, position: int, other: int) -> bool:
    """Whether two positions are answered alike."""
    try:
        return all(map(np.array_equal, reach(position), reach(other)))
    except Refused:
        return False


def last(reach: Reach, farthest: int = FARTHEST) -> int | None:
    """Return the last position that is taken, ``None`` where the farthest still is."""
    if taken(reach, farthest):
        return None
    low, high = 0, farthest
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if taken(reach, middle) else (low, middle)
    return low
