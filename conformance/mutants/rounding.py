"""Round float64 numbers to the half formats, in which some code keeps what must stay exact."""

from collections.abc import Callable

import numpy as np

from conformance.spec.profiles import FORMATS
from refimpl.arrays import Array

LARGEST = {"float16": 65_504.0, "bfloat16": float.fromhex("0x1.fep127")}


def rounded(values: Array, dtype: str) -> Array:
    """Return the nearest numbers of that format, ties to even, infinite beyond its largest."""
    bits, smallest = FORMATS[dtype]
    exact = np.asarray(values, dtype=np.float64)
    _, exponents = np.frexp(exact)
    unit = np.ldexp(1.0, np.maximum(exponents - 1, smallest) - (bits - 1))
    nearest = np.rint(exact / unit) * unit
    return np.where(np.abs(nearest) > LARGEST[dtype], np.copysign(np.inf, exact), nearest)


def to(dtype: str) -> Callable[[Array], Array]:
    """Return the rounding to that format as a function of one array."""
    return lambda values: rounded(values, dtype)
