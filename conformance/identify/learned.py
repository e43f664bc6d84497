"""Recover numbers that a bias has inside, one or more for every head: operations that are given them are fitted to each head."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.diagnosis.search import cost, ends, polished, shortest
from conformance.identify.findings import Identity, Seen
from conformance.identify.rules import written
from conformance.spec.declarations import operations
from refimpl.errors import SpecificationError
from refimpl.spec import Operation

#: Numbers to start from, how many of the nearest of them are followed, and how often; how often a step is halved for a limit.
STARTS, NEAREST, ROUNDS = (0.01, 0.05, 0.25, 1.0, 1.5, 4.0, -0.25, -1.0), 6, 8
HALVES, LONGEST, SLOPE, DECIMALS = 40, 0.5, 1e-6, 8
#: Shorter numbers may be so much farther off, over what is allowed, as single precision rounds; or so many times as far as the best.
FINEST, SLACK = 2.0**-8, 1.1
INSIDE = "the numbers of the heads are its own: no adapter can hand it others; make them arguments to have it judged"


@dataclass(frozen=True)
class Shown:
    """What a bias gives: (head, query, key), with what it hides."""

    values: np.ndarray
    hidden: np.ndarray
    queries: np.ndarray
    keys: np.ndarray
    tolerance: float


def identify(shown: Sequence[Shown]) -> Identity | None:
    """Return the operation that gives every head in all that was shown, with the numbers of each, or ``None``."""
    for operation in _candidates():
        names = [name for name, axes in operation.arrays.items() if axes == "head"]
        kinds = {name: one.choices for name, one in operation.parameters.items() if one.choices}
        for values in itertools.product(*kinds.values()):
            chosen = dict(zip(kinds, values, strict=True))
            heads = _heads(_Head(operation, chosen, shown, head, len(names)) for head in range(len(shown[0].values)))
            if heads:
                return _told(operation, chosen, dict(zip(names, zip(*heads, strict=True), strict=True)))
    return None


def _candidates() -> Iterator[Operation]:
    """Yield the operations on positions that are given numbers of the heads."""
    for known in operations().values():
        rest = {name: axes for name, axes in known.arrays.items() if name not in ("query_positions", "key_positions")}
        biased = [*known.results.values()] == ["[batch] head query key"]
        if biased and rest and set(rest.values()) == {"head"} and all(one.choices for one in known.parameters.values()):
            yield known


@dataclass(frozen=True)
class _Head:
    """One head, and an operation that may give it."""

    operation: Operation
    chosen: Mapping[str, Any]
    shown: Sequence[Shown]
    head: int
    count: int

    def off(self, *numbers: float) -> np.ndarray | None:
        """Return how far the operation is from the head, over what is allowed, or nothing where it refuses the numbers."""
        each = [np.array([number]) for number in numbers]
        try:
            with np.errstate(all="ignore"):
                return np.concatenate([self._off(shown, each) for shown in self.shown])
        except (SpecificationError, ArithmeticError):
            return None

    def _off(self, shown: Shown, numbers: Sequence[np.ndarray]) -> np.ndarray:
        right = self.operation.function(shown.queries, shown.keys, *numbers, **self.chosen)[0]
        hidden, seen = shown.hidden[self.head], shown.values[self.head]
        allowed = 4 * shown.tolerance * np.abs(seen[~hidden]).max(initial=1e-30)
        return np.asarray(np.where(hidden, 0.0, right - np.where(hidden, 0.0, seen)) / allowed).ravel()

    def fits(self, *numbers: float) -> bool:
        """Whether the numbers give the head."""
        off = self.off(*numbers)
        return off is not None and bool(np.all(np.abs(off) <= 1))

    def _farthest_off(self, *numbers: float) -> float:
        """Return how far the numbers are from the head at worst, over what is allowed; infinity where they are refused."""
        off = self.off(*numbers)
        return math.inf if off is None or not np.all(np.isfinite(off)) else float(np.abs(off).max())

    def numbers(self) -> Sequence[float] | None:
        """Return the numbers that give the head, as short as the values allow."""
        starts = sorted(itertools.product(STARTS, repeat=self.count), key=lambda start: cost(self.off, *start))[:NEAREST]
        for start in starts:
            found: Sequence[float] = start
            for _ in range(ROUNDS):
                found = self._accepted(found, [float(number) for number in polished([self.off], found, LONGEST, [SLOPE] * self.count)[0]])
                if self.fits(*found):
                    return self._short(found)
        return None

    def _accepted(self, before: Sequence[float], found: Sequence[float]) -> Sequence[float]:
        """Return the numbers that were found; where the operation refuses one of them, its limit in the place of that."""
        for i, number in enumerate(found if self.off(*found) is None else ()):
            low, high = before[i], number
            for _ in range(HALVES):
                middle = (low + high) / 2
                low, high = (low, middle) if self.off(*found[:i], middle, *found[i + 1 :]) is None else (middle, high)
            if low != before[i]:
                return [*found[:i], low, *found[i + 1 :]]
        return before if self.off(*found) is None else found

    def _short(self, found: Sequence[float]) -> Sequence[float]:
        short, most = list(found), max(FINEST, SLACK * self._farthest_off(*found))
        for i, exact in enumerate(found):

            def fits(value: float, i: int = i) -> bool:
                return self._farthest_off(*short[:i], value, *short[i + 1 :]) <= most

            number = rounded if fits(rounded := round(exact, DECIMALS)) else exact  # also where that is a limit, beyond which none is taken
            value = shortest(number, *ends(fits, number, abs(number) * 1e-9))
            short[i] = value if fits(value) else number
        return short


def _heads(heads: Iterator[_Head]) -> list[Sequence[float]] | None:
    found = []
    for head in heads:
        numbers = head.numbers()
        if numbers is None:
            return None
        found.append(numbers)
    return found


def _told(operation: Operation, chosen: Mapping[str, Any], numbers: Mapping[str, tuple[float, ...]]) -> Identity:
    shown = {name: Seen(value) for name, value in chosen.items()}
    words = ", ".join(f"{name} {value}" for name, value in chosen.items())
    listed = tuple(f"{name} of the heads: {', '.join(map(written, each))}" for name, each in numbers.items())
    count = len(next(iter(numbers.values())))
    return Identity(None, f"of {count} heads, {words}, with numbers inside", shown, listed, (INSIDE,), values_of=operation.name)
