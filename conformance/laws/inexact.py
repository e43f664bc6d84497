"""Arrays that say how far each of their numbers may be off, so that an equation says itself what its two sides may differ by."""

from dataclasses import dataclass
from typing import Any

import numpy as np

#: What a sum or product of our own may be off by, in float64, as a share of it.
OWN = 4 * 2.0**-53


@dataclass(frozen=True)
class Inexact:
    """Numbers, and what each may be off by: endless where it isn't judged."""

    values: np.ndarray
    error: np.ndarray
    #: NumPy leaves sums and products of arrays with these numbers to them.
    __array_ufunc__ = None

    def __getitem__(self, where: Any) -> "Inexact":
        """Return some of the numbers."""
        return Inexact(self.values[where], self.error[where])

    def __neg__(self) -> "Inexact":
        """Return the opposites."""
        return Inexact(-self.values, self.error)

    def __add__(self, other: "Inexact | np.ndarray | float") -> "Inexact":
        """Return the sums: errors add up."""
        right = exact(other)
        values = np.asarray(self.values + right.values)
        return Inexact(values, self.error + right.error + OWN * np.abs(values))

    __radd__ = __add__

    def __sub__(self, other: "Inexact | np.ndarray | float") -> "Inexact":
        """Return the differences: errors add up."""
        return self + -exact(other)

    def __mul__(self, other: "Inexact | np.ndarray | float") -> "Inexact":
        """Return the products: each error counts as often as the other factor says."""
        right = exact(other)
        values = np.asarray(self.values * right.values)
        crossed = _times(np.abs(self.values) + self.error, right.error) + _times(self.error, np.abs(right.values))
        return Inexact(values, crossed + OWN * np.abs(values))

    __rmul__ = __mul__

    def __matmul__(self, other: "Inexact") -> "Inexact":
        """Return the sums of products over the last axis of the one and the last but one of the other."""
        left, right = np.abs(self.values), np.abs(other.values)
        crossed = _sums(left + self.error, other.error) + _sums(self.error, right)
        own = OWN * self.values.shape[-1] * _sums(left, right)
        return Inexact(np.asarray(self.values @ other.values), crossed + own)

    @property
    def transposed(self) -> "Inexact":
        """The numbers with their last two axes exchanged."""
        return Inexact(np.swapaxes(self.values, -1, -2), np.swapaxes(self.error, -1, -2))

    def total(self) -> "Inexact":
        """Return the sums over the last axis."""
        own = OWN * self.values.shape[-1] * np.sum(np.abs(self.values), axis=-1)
        return Inexact(np.sum(self.values, axis=-1), np.sum(self.error, axis=-1) + own)

    def norm(self) -> "Inexact":
        """Return the lengths along the last axis: an error is at most as long as it is."""
        values = norm(self.values)
        return Inexact(values, norm(self.error) + OWN * self.values.shape[-1] * values)


def exact(values: "Inexact | np.ndarray | float") -> Inexact:
    """Return numbers that aren't off."""
    if isinstance(values, Inexact):
        return values
    array = np.asarray(values, dtype=np.float64)
    return Inexact(array, np.zeros_like(array))


def norm(x: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm along the last axis."""
    return np.asarray(np.sqrt(np.sum(x * x, axis=-1)))


def _times(size: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return products that are endless where a factor is, even beside 0."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isposinf(size) | np.isposinf(error), np.inf, size * error)


def _sums(size: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return sums of products that are endless where a factor is, even beside 0."""
    endless = np.isposinf(size), np.isposinf(error)
    known = (~endless[0]).astype(float) @ (~endless[1]).astype(float) == size.shape[-1]
    return np.where(known, np.where(endless[0], 0.0, size) @ np.where(endless[1], 0.0, error), np.inf)
