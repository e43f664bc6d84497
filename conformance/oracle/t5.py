"""T5 relative bias, from the authors' code (Raffel et al. 2019, section 2.1); buckets are decided in integers."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from flint import arb, fmpq

from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.bias import LookedUp
from conformance.oracle.tensor import Inputs, over

Buckets = tuple[tuple[int, ...], Sequence[tuple[int, ...]]]


@dataclass(frozen=True)
class Range:
    """How the distances of one direction are shared among its buckets."""

    buckets: int
    exact: int
    max_distance: int

    def step(self, distance: int) -> int:
        """Return the largest ``k`` with ``a^(nb - e) e^k >= D^k e^(nb - e)``."""
        width, e = self.buckets - self.exact, self.exact
        left, right = distance**width, e**width
        return bisect_left(range(1, width + 1), 1, key=lambda k: left * e**k < self.max_distance**k * right)

    def logarithmic(self, a: Exact, distance: int) -> Ball:
        """Return ``ln(a / e) / ln(D / e) * (nb - e)``, whose floor is that ``k``."""
        near, far = (a.step("bucket", arb(fmpq(length, self.exact))) for length in (distance, self.max_distance))
        share = a.step("bucket", a.step("logarithm", near.log()) / a.step("logarithm", far.log()))
        return a.step("bucket", share * (self.buckets - self.exact))


@dataclass(frozen=True)
class Side:
    """How DeBERTa shares the distances of one side: ``e`` exact, and as many logarithmic (``make_log_bucket_position``)."""

    exact: int
    max_distance: int

    def step(self, distance: int) -> int:
        """Return the least ``k`` with ``a^(e - 1) e^k <= (D - 1)^k e^(e - 1)``, at most ``e``: all beyond share the last row."""
        width, e = self.exact - 1, self.exact
        left, right = distance**width, e**width
        return bisect_left(range(e), 1, key=lambda k: left * e**k <= (self.max_distance - 1) ** k * right)

    def logarithmic(self, a: Exact, distance: int) -> Ball:
        """Return ``ln(a / e) / ln((D - 1) / e) (e - 1)``, whose ceiling is that ``k``."""
        near, far = (a.step("bucket", arb(fmpq(length, self.exact))) for length in (distance, self.max_distance - 1))
        share = a.step("bucket", a.step("logarithm", near.log()) / a.step("logarithm", far.log()))
        return a.step("bucket", share * (self.exact - 1))

    def away(self, a: Exact, distance: int) -> list[int]:
        """Return how many rows from the middle a distance may lie."""
        if distance <= self.exact:
            return [distance]
        # The ceiling of x is minus the floor of -x; nothing is decided beyond the largest distance.
        floors = a.floors(-self.logarithmic(a, min(distance, 2 * self.max_distance)), -self.step(distance))
        return [self.exact + min(-floor, self.exact) for floor in floors]


def signed(a: Exact, relative: int, *, num_buckets: int, max_distance: int) -> tuple[int, ...]:
    """Return every row that DeBERTa may read: the middle, less the bucket with the sign of the relative position."""
    sign = (relative > 0) - (relative < 0)
    away = Side(num_buckets // 4, max_distance).away(a, abs(relative))
    return a.settle(max(0, min(num_buckets - 1, num_buckets // 2 - sign * rows)) for rows in away)


def clamped(relative: int, *, bidirectional: bool, num_buckets: int) -> tuple[int, ...]:
    """Return the row of an offset that is clamped to the table."""
    return (max(0, min(num_buckets - 1, relative + num_buckets // 2 if bidirectional else -relative)),)


def reached(
    a: Exact, relative: int, *, bidirectional: bool, num_buckets: int, max_distance: int, convention: str = "t5"
) -> tuple[int, ...]:
    """Return every bucket that a key at that distance from the query may land in; exactly one in real arithmetic."""
    if convention == "deberta":
        return signed(a, relative, num_buckets=num_buckets, max_distance=max_distance)
    if convention == "clamped":
        return clamped(relative, bidirectional=bidirectional, num_buckets=num_buckets)
    return truncated(a, relative, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance)


def truncated(a: Exact, relative: int, *, bidirectional: bool, num_buckets: int, max_distance: int) -> tuple[int, ...]:
    """Return every bucket that T5's own rule may give."""
    buckets = num_buckets // 2 if bidirectional else num_buckets
    shared = Range(buckets, buckets // 2, max_distance)
    start = buckets if bidirectional and relative > 0 else 0
    distance = abs(relative) if bidirectional else max(-relative, 0)
    if distance < shared.exact:
        return (start + distance,)
    # Nothing is decided beyond the largest distance: every form clamps to the last bucket.
    steps = a.floors(shared.logarithmic(a, min(distance, 2 * max_distance)), shared.step(distance))
    return a.settle(start + min(buckets - 1, shared.exact + max(step, 0)) for step in steps)


def bucket(a: Exact, inputs: Inputs, **parameters: Any) -> dict[str, Buckets]:
    """Return the bucket of every key position minus query position."""
    relative = inputs["relative_positions"]
    once = cache(lambda distance: reached(a, int(distance), **parameters))
    return {"result": over(relative.shape, lambda *index: once(relative.at(*index)))}


FORM = LookedUp(reached, scaled=False)
bias, weights, attend = FORM.bias, FORM.weights, FORM.attend
