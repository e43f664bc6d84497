"""The steps that schemes are written in: as they are (``Exact``), or each widened by its budget (``Widened``)."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from typing import NamedTuple, TypeVar

from flint import arb, fmpq

from conformance.oracle.budget import PROFILES, ROWS, Format, Stage
from conformance.oracle.tensor import Lazy, Number

Ball = arb
Outcome = TypeVar("Outcome")

#: An angle known worse than this says nothing about its cosine.
WIDEST_ANGLE = 0.5


class UndecidedError(Exception):
    """The ball is still too wide to decide; more precision may help."""


def is_zero(x: Ball) -> bool:
    """Return whether ``x`` is exactly 0."""
    return bool(x.is_zero())


def is_power_of_two(x: Ball) -> bool:
    """Return whether ``x`` is exactly plus or minus a power of two."""
    return x.bits() == 1 and x.is_exact()


def representable(x: Ball, form: Format) -> bool:
    """Return whether ``x`` is exactly one normal number (or zero) of the format."""
    bits = x.bits()
    if bits > form.precision or not (x.is_exact() and x.is_finite()):
        return False
    return not bits or int(x.man_exp()[1]) + bits - 1 >= form.least_normal


def floor(x: Ball) -> int:
    """Return the largest integer that does not exceed ``x``, which is exact."""
    mantissa, exponent = (int(part) for part in x.man_exp())
    return mantissa << exponent if exponent >= 0 else mantissa >> -exponent


def eight_bits(x: Ball) -> float:
    """Return the number of eight bits that is nearest to an exact one; of two the even one."""
    mantissa, exponent = (int(part) for part in x.man_exp())
    lost = max(abs(mantissa).bit_length() - 8, 0)
    nearest, rest = divmod(2 * mantissa, 2 << lost)
    more = rest > 1 << lost or (rest == 1 << lost and nearest % 2)
    return math.ldexp(nearest + more, exponent + lost)


def power_of_two(exponent: int) -> Ball:
    """Return ``2^exponent``, exactly."""
    return arb(2) ** exponent


#: An upper bound of the magnitude of a number; the method itself, since it is asked for at every step.
size: Callable[[Ball], Ball] = Ball.abs_upper


def too_wide(angle: Ball) -> bool:
    """Return whether an angle is too uncertain to judge anything by it."""
    return not angle.rad() <= WIDEST_ANGLE


def hull(balls: Sequence[Ball]) -> Ball:
    """Return one ball around all; a single one is returned as it is."""
    whole = balls[0]
    for ball in balls[1:]:
        whole = whole.union(ball)
    return whole


class Exact:
    """Real arithmetic: nothing is widened but by the ball arithmetic itself."""

    #: Whether nothing strays, so that no magnitude is asked for and nothing needs to be written so that errors cancel.
    certain = True

    def error(self, step: str, magnitude: Ball, stored: Ball | None = None, **counts: Ball | int) -> Ball:
        """Return by how much a step of that magnitude may stray; ``stored`` is what a half format stores, if not the magnitude."""
        del step, magnitude, stored, counts
        return arb(0)

    def holds(self, x: Ball, step: str) -> bool:
        """Return whether the step needs no rounding to give ``x``."""
        del x, step
        return True

    def rotation_error(self, norm: Ball, position: int, *, multiplied: bool = False) -> Ball:
        """Return by how much turning a pair to that norm, the angle given, may stray; the table may be ``multiplied`` by a factor."""
        del norm, position, multiplied
        return arb(0)

    def floors(self, x: Ball, decided: int | None = None) -> tuple[int, ...]:
        """Return every integer that ``floor(x)`` may be; ``decided`` is the exact one where it was found without ``x``."""
        if decided is not None:
            return (decided,)
        low, high = floor(x.lower()), floor(x.upper())
        if low != high:
            boundary = "a floor"
            raise UndecidedError(boundary)
        return (low,)

    def bfloat16(self, x: Ball) -> Ball:
        """Return ``x`` rounded to the eight bits of bfloat16, of whatever exponent; or all between what its ends become."""
        ends = self.settle(eight_bits(end) for end in (x.lower(), x.upper()))
        if self.certain and len(ends) > 1:
            boundary = "a rounding to bfloat16"
            raise UndecidedError(boundary)
        return hull([arb(end) for end in ends])

    def settle(self, outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
        """Return the different outcomes on either side of a discontinuity, the exact one first where it was decided."""
        return tuple(dict.fromkeys(outcomes))

    def step(self, name: str, x: Ball, magnitude: Ball | None = None, **counts: Ball | int) -> Ball:
        """Return ``x`` as the named step gives it."""
        del name, magnitude, counts
        return x

    def spread(self, step: str, x: Ball, magnitude: Ball | None = None, **counts: Ball | int) -> Ball:
        """Return ``x`` widened by the named step, exact or not."""
        del step, magnitude, counts
        return x

    @cached_property
    def parameter(self) -> Callable[[Number], Ball]:
        """A number that the caller chose: its binary64 value, rounded to the computing format."""
        return cache(lambda value: self.step("parameter", arb(value)))

    def powers(self, step: str, base: Ball, exponents: Sequence[fmpq]) -> Sequence[Ball]:
        """Return ``base^exponent`` of every pair, by its logarithm; exactly 1 where that is 0."""
        whole = base.log()

        def power(pair: int) -> Ball:
            logarithm = whole * arb(exponents[pair])
            return self.step(step, logarithm.exp(), logarithm=size(logarithm), base_logarithm=size(whole), pair=pair)

        return Lazy(len(exponents), power)

    def angle(self, position: float, frequency: Ball) -> Ball:
        """Return ``position * frequency``; exact at the origin and for the frequency 1."""
        return self.step("angle", self.parameter(position) * frequency)

    def angle_error(self, position: int, frequency: Ball) -> Ball:
        """Return by how much the angle of a position may stray, the frequency given."""
        del position, frequency
        return arb(0)

    def cosine(self, angle: Ball) -> Ball:
        """Return the cosine as computed; no number where the angle is too uncertain."""
        return arb.nan() if too_wide(angle) else self.step("cosine", angle.cos(), arb(1))

    def sine(self, angle: Ball) -> Ball:
        """Return the sine as computed; no number where the angle is too uncertain."""
        return arb.nan() if too_wide(angle) else self.step("sine", angle.sin(), size(angle).min(arb(1)))

    def product(self, x: Ball, y: Ball, step: str = "product") -> Ball:
        """Return ``x y``: 0 where either is, whatever the other; a power of two only moves the exponent."""
        if x.is_zero() or y.is_zero():
            return arb(0)
        return x * y if self.certain or is_power_of_two(x) or is_power_of_two(y) else self.step(step, x * y)

    def sum(self, x: Ball, y: Ball, step: str = "sum") -> Ball:
        """Return ``x + y``; adding 0 changes nothing."""
        if x.is_zero() or y.is_zero():
            return x if y.is_zero() else y
        return x + y if self.certain else self.step(step, x + y)


class Rounding(NamedTuple):
    """What some roundings in a format cost: so much of the magnitude, and no less than what an underflow does."""

    relative: Ball
    least: Ball

    def of(self, magnitude: Ball) -> Ball:
        """Return what they cost at that magnitude."""
        cost = (self.relative * magnitude).abs_upper()
        return self.least if cost < self.least else cost  # noqa: FURB136  max takes far longer


def rounding(form: Format, units: Ball | int) -> Rounding:
    """Return what so many roundings cost: their products are covered by ``gamma(n) = n u / (1 - n u)``."""
    relative = units * power_of_two(form.roundoff)
    return Rounding(relative / (1 - relative), arb(0) if units == 0 else power_of_two(form.underflow))


class Widened(Exact):
    """The arithmetic of a profile: every step strays by its budget. Remembers whether a discontinuity was straddled."""

    certain = False

    def __init__(self, profile: str) -> None:
        """Read the profile off the budget."""
        self.profile = PROFILES[profile]
        self.straddled = False
        self._fixed = cache(self._counted)
        self._stored = cache(self._half)
        self._costs = cache(self._rounded)
        self._form = cache(lambda step: self.profile.stored.get(ROWS[step].stage, self.profile.computing))

    def error(self, step: str, magnitude: Ball, stored: Ball | None = None, **counts: Ball | int) -> Ball:
        """Return ``gamma(units) * magnitude``, or what an underflow costs, plus the rounding of what is stored in half."""
        strayed = (self._fixed if not counts or "terms" in counts else self._counted)(step, **counts).of(magnitude)
        half = self._stored(step)
        return strayed if half is None else strayed + half.of(size(magnitude if stored is None else stored) + strayed)

    def _counted(self, step: str, **counts: Ball | int) -> Rounding:
        row = ROWS["loose frequency" if self.profile.loose and step == "frequency" else step]
        return rounding(self.profile.computing, sum((weight * counts[name] for name, weight in row.per.items()), row.units))

    def _rounded(self, step: str) -> tuple[Rounding, Rounding | None] | None:
        """Return what the roundings of a step cost, and that of what is stored in half; nothing where there are none."""
        computed, half = self._counted(step), self._half(step)
        return None if computed.least.is_zero() and half is None else (computed, half)

    def _half(self, step: str) -> Rounding | None:
        form = self.profile.stored.get(ROWS[step].stage)
        return None if form is None else rounding(form, 1)

    def step(self, name: str, x: Ball, magnitude: Ball | None = None, **counts: Ball | int) -> Ball:
        """Return ``x`` as the named step gives it: unchanged where it is exact, else widened."""
        if x.bits() <= self._form(name).precision and self.holds(x, name):
            return x
        return self.spread(name, x, magnitude, **counts)

    def spread(self, step: str, x: Ball, magnitude: Ball | None = None, **counts: Ball | int) -> Ball:
        """Return ``x`` widened by the named step, exact or not; most cost the same roundings each time, or none."""
        if counts:
            return arb(x, self.error(step, x.abs_upper() if magnitude is None else magnitude, x, **counts))
        costs = self._costs(step)
        if costs is None:
            return x
        computed, half = costs
        whole = x.abs_upper() if magnitude is None else magnitude
        strayed = computed.of(whole)
        if half is not None:
            strayed += half.of((whole if magnitude is None else x.abs_upper()) + strayed)
        return arb(x, strayed)

    def angle_error(self, position: int, frequency: Ball) -> Ball:
        """Return what rounding the position and its product with the frequency may cost."""
        angle, exact = self.angle(position, frequency), self.parameter(position)
        return arb(0) if angle.is_exact() else self.error("angle", size(angle)) + exact.rad() * size(frequency)

    def holds(self, x: Ball, step: str) -> bool:
        """Return whether ``x`` is no number, or exactly one of the format that the step ends in."""
        form = self._form(step)
        return bool(x.bits() <= form.precision) and (not x.is_finite() or representable(x, form))

    def rotation_error(self, norm: Ball, position: int, *, multiplied: bool = False) -> Ball:
        """Bound ``(a cos - b sin, a sin + b cos)`` for any angle: the table errs in both entries, so do both products, then the sums.

        At position 0 only a factor errs, in the one entry that isn't 0.
        """
        if (position == 0 and not multiplied) or is_zero(norm):
            return arb(0)
        relative, underflow = self._rotation[multiplied]
        return size(relative * norm) + underflow

    @cached_property
    def _rotation(self) -> tuple[tuple[Ball, Ball], tuple[Ball, Ball]]:
        """The bound without a factor of the table, and with one."""
        cosine, factor, stored, product, total = (self.error(step, arb(1)) for step in ("cosine", "factor", "table", "product", "sum"))
        lowest, diagonal = self.profile.stored.get(Stage.ARITHMETIC, self.profile.computing), arb(2).sqrt()

        def bound(computed: Ball) -> tuple[Ball, Ball]:
            table = computed + stored * (1 + computed)
            return (1 + diagonal * table) * (1 + diagonal * product) * (1 + total) - 1, 8 * power_of_two(lowest.underflow)

        return bound(cosine), bound(cosine + factor * (1 + cosine))

    def floors(self, x: Ball, decided: int | None = None) -> tuple[int, ...]:
        """Return every integer that the widened ball reaches, the exact one first where it was decided."""
        low, high = floor(x.lower()), floor(x.upper())
        return tuple(dict.fromkeys([*([] if decided is None else [decided]), *range(low, high + 1)]))

    def settle(self, outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
        """Return the different outcomes on either side of a discontinuity, and remember if there are several."""
        different = super().settle(outcomes)
        self.straddled = self.straddled or len(different) > 1
        return different
