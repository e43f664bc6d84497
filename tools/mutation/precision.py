"""Mistakes of precision: one intermediate value is kept in a narrower format than it needs."""

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.mutants.rounding import LARGEST, rounded
from tools.mutation.operators import Change
from tools.mutation.sites import Place, Site

FORMATS = ("float32", "float16", "bfloat16")
#: What the changed source calls.
ROUND = "_round"
WHOLE = 2**24
COMPUTED = ast.BinOp | ast.Call | ast.UnaryOp


def intermediates(place: Place, _: Site) -> Iterator[Change]:
    """Yield everything that is computed rounded to each narrower format."""
    node = place.node
    if isinstance(node, COMPUTED) and not isinstance(getattr(node, "op", None), ast.Not) and not place.told:
        for dtype in FORMATS:
            yield dtype, ast.Call(ast.Name(ROUND, ast.Load()), [ast.Constant(dtype), node], [])


class Rounding:
    """Round what passes to a format; remember whether the format might not hold any of it (``met``), and whether it did not."""

    def __init__(self) -> None:
        """Have seen nothing."""
        self.met = self.changed = False

    def __call__(self, dtype: str, value: Any) -> Any:
        """Return numbers as the format keeps them, and all else as it is."""
        if not isinstance(value, float | np.floating | np.ndarray):
            return value
        values = np.asarray(value)
        if values.dtype.kind not in "fi" or not np.isfinite(values).any() or (dtype == "float32" and counts(values)):
            return value
        self.met = True
        near = narrowed(values, dtype)
        self.changed = self.changed or not np.array_equal(near, values, equal_nan=values.dtype.kind == "f")
        return near.astype(values.dtype) if isinstance(value, np.ndarray) else float(near)


def counts(values: np.ndarray) -> bool:
    """Whether all are whole numbers such as positions, distances and indices, which float32 holds up to 2^24."""
    with np.errstate(all="ignore"):
        return bool(np.all((np.abs(values) <= WHOLE) & (values == np.round(values))))


def narrowed(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return the nearest numbers of a format in float64; whole numbers stay finite."""
    with np.errstate(all="ignore"):
        if dtype == "float32":
            return values.astype(np.float32).astype(np.float64)
        near = np.asarray(rounded(values, dtype))
        return near if values.dtype.kind == "f" else np.clip(near, -LARGEST[dtype], min(LARGEST[dtype], 2.0**62))
