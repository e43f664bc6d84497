"""Draw real arrays whose numbers are exact in a dtype: dyadic ones, full mantissas, energy in a few pairs, and magnitudes near the end."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.spec.arguments import is_position
from conformance.spec.profiles import FORMATS

#: ``2^83`` is 9.7e24: its square ends float32, it itself doesn't; float16 ends at ``2^16``.
HUGE = {"float64": 83, "float32": 83, "bfloat16": 83, "float16": 9}
#: ``2^-40`` is 9e-13: half precision would flush it to zero; float16 itself begins at ``2^-14``.
TINY = {"float64": -40, "float32": -40, "bfloat16": -40, "float16": -8}
#: ``2^16``: beside keys that are so large, hidden ones show whose logit is only lowered by 10,000, or set to that; beside ``2^21``, by a
#: million. float16 holds neither. No logit comes near 1e9, which models take for infinity.
OUTWEIGHING = (2.0**16, 2.0**21)
#: What multiplies some queries so that a softmax that doesn't subtract its maximum overflows.
LOUD = {"float64": 512.0, "float32": 512.0, "bfloat16": 64.0, "float16": 64.0}
SLOW_PAIRS = 2
#: How many bits a number has at most: the mean of up to 32 of float64 is then one too. With 53 bits it may lie halfway between two, where
#: the oracle can't decide if the weights differ by no more than e^-20,000.
MOST_BITS = 45
#: Weights below 2 times the farthest distance are left below ``2^(1 + 2)``.
STEEP = 2

Generator = np.random.Generator


def dyadic(rng: Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers ``k / 16`` with ``0 < |k| <= 32``, exact in every dtype."""
    return np.asarray(rng.integers(1, 33, shape) * rng.choice((-1, 1), shape) / 16.0)


def full(rng: Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return numbers between 1/8 and 2 in magnitude that use every bit of the dtype's significand, of float64's most."""
    bits = min(FORMATS[dtype][0], MOST_BITS)
    significands = rng.integers(1 << (bits - 2), 1 << (bits - 1), shape) * 2 + 1
    exponents = rng.integers(-2, 2, shape) - bits
    return np.asarray(np.ldexp(significands.astype(np.float64), exponents) * rng.choice((-1, 1), shape))


def reach(arrays: Mapping[str, np.ndarray]) -> int:
    """Return how far the positions of a call lie apart, at most."""
    ends = [int(end) for name, array in arrays.items() if is_position(name) and array.size for end in (array.min(), array.max())]
    return max(ends, default=0) - min(ends, default=0)


def to_tell(rng: Generator, weights: np.ndarray, far: int, *, every: bool = False) -> np.ndarray:
    """Return weights of distances made smaller, each by any power of two up to that, or every one by that, at which a far one tells.

    A sigmoid is flat where weight times distance is beyond 17.
    """
    most = max(math.ceil(math.log2(max(far, 1))) - STEEP, 0)
    return np.asarray(weights * np.exp2(-most if every else -rng.integers(0, most + 1, weights.shape)))


def exact(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round numbers to those of the dtype, of which the smallest are as far apart as the smallest normal ones."""
    bits, smallest = FORMATS[dtype]
    _, exponents = np.frexp(values)
    step = np.maximum(exponents - 1, smallest) - (bits - 1)
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -step)), step))


def sparse(values: np.ndarray, layout: str) -> np.ndarray:
    """Keep the first pair and the slowest ones of the last axis: dense numbers hide a wrong slow pair in sums over the width."""
    kept = np.zeros(values.shape[-1], dtype=bool)
    kept[list(_columns(layout, values.shape[-1]))] = True
    return np.where(kept, values, 0.0)


def _columns(layout: str, width: int) -> Iterator[int]:
    pairs = width // 2
    for pair in {0, *range(max(pairs - SLOW_PAIRS, 0), pairs)}:
        yield from (2 * pair, 2 * pair + 1) if layout.startswith("interleaved") else (pair, pair + pairs)


def circle(rng: Generator, shape: tuple[int, ...], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return cosines and sines of angles, rounded to the dtype."""
    angles = rng.uniform(0.0, 2.0 * math.pi, shape)
    return exact(np.cos(angles), dtype), exact(np.sin(angles), dtype)
