"""Compare what came back with what is right: the only place that decides about a value."""

import numpy as np

from conformance.profiles import FORMATS


def half_ulp(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return half the distance between neighbours of that dtype at each value: the final rounding."""
    bits, smallest = FORMATS[dtype]
    _, exponents = np.frexp(np.abs(values))
    return np.ldexp(0.5, np.maximum(exponents - 1, smallest) - (bits - 1))
