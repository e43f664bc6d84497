"""Frequencies from angles: read at 1, 2, 4, 8 ... positions, each reading making the next one unambiguous."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from conformance.identify.asking import Refused

Read = Callable[[np.ndarray], np.ndarray]
FARTHEST = 20
#: Of a float32 angle, with a few roundings: relative to it, and of one that is read off cosine and sine.
ROUNDING = 2.0**-22
READING = {"float64": 2e-6, "float32": 2e-6, "float16": 2.0**-9, "bfloat16": 2.0**-6}
SLACK = 4.0
#: Positions whose low bits a coarse number loses, among others.
ODD = np.array([3, 7, 11, 100, 257, 511, 1_023, 2_049, 4_095, 16_385, 65_535, 131_071, 524_287, 1_048_575])
#: Positions between whole ones, up to the first of these.
BETWEEN = np.append(0.0, 2.0 ** np.arange(-10, 1))
#: An angle that is off by so much of itself isn't of the arithmetic that comes next: more than twice its two roundings (of a frequency and
#: of an angle); for float32 a running product of 128 frequencies.
ARITHMETIC = ((2.0**-6, "coarser than bfloat16"), (2.0**-9, "bfloat16"), (2.0**-16, "float16"), (2.0**-51, "float32"), (0.0, "float64"))
#: How wrong an angle may be that is still read, in radians.
LEGIBLE = 1.0


@dataclass(frozen=True)
class Measured:
    """Radians per position of every pair with their errors, the angle at position 0, and the last power of two that still fits.

    ``between`` where positions between whole ones are turned by their own angles, which shows whole turns.
    """

    theta: np.ndarray
    error: np.ndarray
    start: np.ndarray
    farthest: int
    noise: float
    between: bool = False

    @property
    def offset(self) -> float | None:
        """The position at which position 0 stands, if all pairs agree on one."""
        reading = READING["float32"] + self.noise
        if np.all(np.abs(self.start) <= SLACK * reading):
            return 0.0
        if self.theta[0] == 0:
            return None
        guess = round(float(self.start[0] / self.theta[0]) * 1024) / 1024
        off = wrapped(self.start - guess * self.theta)
        return guess if np.all(np.abs(off) <= SLACK * (reading + np.abs(guess) * self.error)) else None


def wrapped(angle: np.ndarray) -> np.ndarray:
    """Return angles between minus pi and pi."""
    return np.asarray((angle + np.pi) % (2 * np.pi) - np.pi)


def measured(read: Read, dtype: str) -> Measured | None:
    """Return frequencies, or ``None`` where only position 0 is taken."""
    readings = _readings(read)
    if readings is None:
        return None
    noise, start = READING[dtype], readings[1][0]
    theta, error, farthest = _followed(*readings, noise)
    turns = _turns(read, theta, noise)
    whole = theta if turns is None else theta + 2 * np.pi * turns
    return Measured(whole, error, start, int(farthest), noise, between=turns is not None)


def _followed(positions: np.ndarray, angles: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return frequencies with their errors, and the last position that still fits, where the first one turns by less than half a turn."""
    start, farthest = angles[0], float(positions[1])
    theta = wrapped(angles[1] - start) / farthest
    error = np.full(theta.shape, noise) / farthest
    for position, angle in zip(positions[2:], angles[2:], strict=True):
        off = wrapped(angle - start - position * theta)
        if np.any(np.abs(off) > SLACK * (position * error + noise + ROUNDING * position * np.abs(theta))):
            break
        theta, farthest = theta + off / position, float(position)
        error = noise / position + ROUNDING * np.abs(theta)
    return theta, error, farthest


def _turns(read: Read, theta: np.ndarray, noise: float) -> np.ndarray | None:
    """Return how many whole turns pairs make besides from one position to the next, where positions between show them."""
    try:
        finer, _, farthest = _followed(BETWEEN, read(BETWEEN), noise)
    except Refused:
        return None
    return np.rint((finer - theta) / (2 * np.pi)) if farthest == BETWEEN[-1] else None


def _readings(read: Read) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the powers of two that are taken, from 0 and 1 on, with their angles."""
    for last in (FARTHEST, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0):
        positions = np.array([0, *(1 << power for power in range(last + 1))])
        positions = np.minimum(positions, max(1, (1 << last) - 1)) if last > 1 else positions
        try:
            return positions, read(positions)
        except Refused:
            continue
    return None


def coarse(read: Read, measured_: Measured) -> tuple[int, int] | None:
    """Return the last position that is turned by its angle and the first one that isn't, among odd ones, within the reach."""
    positions = ODD[measured_.farthest >= ODD]
    if not positions.size:
        return None
    exact = positions[:, None] * measured_.theta
    off = np.abs(wrapped(read(positions) - measured_.start - exact))
    slack = SLACK * (positions[:, None] * measured_.error + measured_.noise + ROUNDING * np.abs(exact))
    wrong = positions[np.any(off > slack, axis=1)]
    if not wrong.size:
        return None
    first = int(wrong[0])
    return max(1 << (first.bit_length() - 1), *positions[positions < first], 0), first


def arithmetic(read: Read, measured_: Measured) -> tuple[str, float] | None:
    """Return the arithmetic whose rounding the angles show, and how wrong they are relative to themselves."""
    positions = ODD[measured_.farthest >= ODD]
    if not positions.size:
        return None
    exact = positions[:, None] * measured_.theta
    off = np.abs(wrapped(read(positions) - measured_.start - exact))
    relative = np.where((off > READING["float32"]) & (np.abs(exact) > LEGIBLE), off / np.maximum(np.abs(exact), LEGIBLE), 0.0)
    worst = float(relative.max())
    return next(name for least, name in ARITHMETIC if worst >= least), worst
