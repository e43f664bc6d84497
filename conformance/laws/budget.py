"""The rounding that a profile allows, in closed formulas: what two sides of a law may differ by.

Every formula bounds first-order errors of the steps named in it; the constants are those of the oracle's budget table.
An error that both sides share (the frequency, in a law that compares an implementation with itself) is left out.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from conformance.judge import half_ulp
from conformance.profiles import FORMATS

#: Cosine and sine: three units each, so that a pair moves by at most sqrt(2) times that.
TABLE = 3 * math.sqrt(2)
#: Two products and a sum in both members of a pair: (sqrt(2) + 1) units of the pair's norm.
TURN = math.sqrt(2) + 1
#: How a clean layout reads its pairs and where it writes them.
READINGS = (("interleaved", "interleaved"), ("half", "half"), ("interleaved", "half"), ("half", "interleaved"))

Pairs = Callable[[str], np.ndarray]


@dataclass(frozen=True)
class Units:
    """Unit roundoffs of a profile: of a frequency or angle, of storing a table, of a product or sum; and the least error of a product."""

    step: float
    stored: float
    product: float
    least: float
    running: bool = False

    @property
    def turned(self) -> float:
        """The relative error of turning a pair by an angle that is exact: the radial part of every rotary budget."""
        return TABLE * self.step + self.stored + TURN * self.product


def roundoff(bits: int) -> float:
    """Return the unit roundoff of so many bits, a little more: what a few roundings on top of one another add."""
    return 2.0**-bits / (1.0 - 2.0 ** (2 - bits))


DOUBLE, SINGLE, HALF, BRAIN = (roundoff(bits) for bits in (53, 24, 11, 8))
NORMAL = 2.0**-126

UNITS: Mapping[str, Units] = {
    "float64": Units(DOUBLE, 0.0, DOUBLE, 2.0**-1022),
    "float32": Units(SINGLE, 0.0, SINGLE, NORMAL),
    "float32-loose-frequencies": Units(SINGLE, 0.0, SINGLE, NORMAL, running=True),
    "float16-table": Units(SINGLE, HALF, SINGLE, NORMAL),
    "bfloat16-table": Units(SINGLE, BRAIN, SINGLE, NORMAL),
    "float16-model": Units(SINGLE, HALF, HALF, 2.0**-25),
    "bfloat16-model": Units(SINGLE, BRAIN, BRAIN, NORMAL),
}


def rounding(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return the final rounding of a result: half a unit in the last place, half the smallest number where the value is zero."""
    known = dtype if dtype in FORMATS else "float64"
    bits, smallest = FORMATS[known]
    usual = np.isfinite(values) & (values != 0.0)
    return np.where(usual, half_ulp(np.where(usual, values, 1.0), known), 2.0 ** (smallest - bits))


def frequencies(width: int, base: float) -> np.ndarray:
    """Return ``base^(-2 j / width)``, which bounds the angle noise."""
    return np.asarray(base ** (-2.0 * np.arange(width // 2) / width))


def angle_noise(units: Units, positions: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the rounding of every angle, two units of it; none in pairs that turn by whole positions."""
    return np.asarray(2 * units.step * np.abs(positions)[..., None] * np.where(theta == 1.0, 0.0, theta))


def frequency_error(units: Units, theta: np.ndarray, base: float) -> np.ndarray:
    """Return the relative error of every frequency: 4 + 4 ln theta units, more where it is a running product, none for the first."""
    logarithm = np.abs(np.log(theta))
    running = 4 * abs(math.log(base)) + 2 * np.arange(theta.size) if units.running else 0.0
    return np.where(theta == 1.0, 0.0, compounded((4 + 4 * logarithm + running) * units.step))


def compounded(error: np.ndarray) -> np.ndarray:
    """Return what many relative errors on top of one another make of their sum."""
    return np.asarray(error / (1.0 - error))


def pair_norms(x: np.ndarray, reading: str) -> np.ndarray:
    """Return the norm of every pair of the last axis."""
    first, second = (x[..., 0::2], x[..., 1::2]) if reading == "interleaved" else np.split(x, 2, axis=-1)
    return np.asarray(np.hypot(first, second))


def spread(pairs: np.ndarray, writing: str) -> np.ndarray:
    """Return for every channel the value of its pair."""
    return np.repeat(pairs, 2, axis=-1) if writing == "interleaved" else np.concatenate([pairs, pairs], axis=-1)


def in_any_layout(per_pair: Pairs) -> np.ndarray:
    """Return for every channel the largest of the values that the clean layouts give its pair."""
    return np.asarray(np.maximum.reduce([spread(per_pair(reading), writing) for reading, writing in READINGS]))


def norm(x: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm along the last axis."""
    return np.asarray(np.sqrt(np.sum(x * x, axis=-1)))


def summed(count: int, size: np.ndarray) -> np.ndarray:
    """Return what our own float64 may be off by on both sides of a law that add up so many products: no profile makes it less."""
    return np.asarray(2 * (count + 2) * DOUBLE * size)


def dot_noise(units: Units, q: np.ndarray, k: np.ndarray, noise: tuple[np.ndarray, np.ndarray], gain: float) -> np.ndarray:
    """Return what every dot product of turned queries and keys may be off by; ``noise`` is the angle noise of both."""

    def one(reading: str) -> np.ndarray:
        sizes = pair_norms(q, reading)[..., :, None, :] * pair_norms(k, reading)[..., None, :, :]
        angles = noise[0][..., :, None, :] + noise[1][..., None, :, :]
        return np.asarray(np.sum(sizes * (np.minimum(2.0, angles) + 2 * units.turned), axis=-1))

    return np.asarray(gain**2 * np.maximum(one("interleaved"), one("half")) + 16 * units.least * q.shape[-1])
