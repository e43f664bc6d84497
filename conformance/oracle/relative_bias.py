"""Plain relative bias: one learned number per head for every clipped offset (Shaw et al. 2018, section 3.2; Liu et al. 2021, eq. 4)."""

from conformance.oracle.arithmetic import Exact
from conformance.oracle.bias import LookedUp


def rows(_: Exact, offset: int, *, max_distance: int, sign: str) -> tuple[int]:
    """Return the row of an offset: nothing is rounded."""
    away = offset if sign == "key_minus_query" else -offset
    return (max_distance + max(-max_distance, min(max_distance, away)),)


FORM = LookedUp(rows)
bias, weights, attend = FORM.bias, FORM.weights, FORM.attend
