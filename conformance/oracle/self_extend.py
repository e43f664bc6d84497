"""SelfExtend (Jin et al. 2024): beyond the window positions are grouped, and queries moved so that both parts meet."""

from typing import Any

from conformance.oracle import rope
from conformance.oracle.windowed import Windowed


def query(position: int, *, window: int, group_size: int, **_: Any) -> int:
    """Return the group of a query, moved."""
    return position // group_size + window - window // group_size


def key(position: int, *, group_size: int, **_: Any) -> int:
    """Return the group of a key."""
    return position // group_size


FORM = Windowed(rope.thetas, queries=query, keys=key)
weights, attend = FORM.weights, FORM.attend
