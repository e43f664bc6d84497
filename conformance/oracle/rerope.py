"""ReRoPE (Su 2023): beyond the window every query stands at the window, and every key at 0."""

from typing import Any

from conformance.oracle import rope
from conformance.oracle.windowed import Windowed


def at_window(_: int, *, window: int, **__: Any) -> int:
    """Return the window."""
    return window


def at_zero(_: int, **__: Any) -> int:
    """Return 0."""
    return 0


FORM = Windowed(rope.thetas, queries=at_window, keys=at_zero)
weights, attend = FORM.weights, FORM.attend
