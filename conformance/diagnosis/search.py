"""Find numbers from what came: where the differences to what was seen are least, within which ends, and which short number lies there."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

#: How much farther than what is known of a number others of as few digits must lie, for these to be what a person wrote.
LONELY = 10.0
#: How much finer than what is known of a number its last digit is.
FINER = 100.0
#: The differences for values of the numbers, over what is allowed; nothing where there is no answer.
Differences = Callable[..., np.ndarray | None]

#: Ratios at which the search starts: two to the octave, ten octaves each way.
GRID = tuple(2.0 ** (step / 2) for step in range(-20, 21))
#: How much better than what was asked a start must be.
BETTER = 0.5
MINIMA = 3
SECTIONS = 24
#: After that many sections the sum of squares is a fraction of what it was at first, if it is 0 anywhere between.
CLEAR = 10
NOWHERE = 0.25
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
STEP = 1e-8
LARGEST_DENOMINATOR = 12
DIGITS = 16
#: How far away the end of what fits is looked for, every step three times as far, and how closely, halving by halving.
TRIPLINGS, HALVINGS = 30, 12
SIGMAS = 4.0
#: The longest step, as a share of the number.
SHARE = 0.1
#: Steps with the first vector alone, whose start may be far off.
ALONE = 4


def minima(differences: Differences, asked: float | None, usual: Iterable[float]) -> Iterator[float]:
    """Yield what was asked, and the few values where the sum of squares is least and clearly less than there."""
    around = asked or 1.0
    yield around
    values = sorted({*(around * ratio for ratio in GRID), -around, *usual})
    costs, limit = [cost(differences, value) for value in values], cost(differences, around)
    limit = math.inf if asked is None else BETTER * limit
    low = [i for i in range(1, len(values) - 1) if costs[i] < limit and costs[i] <= min(costs[i - 1], costs[i + 1])]
    for i in sorted(low, key=lambda i: costs[i])[:MINIMA]:
        least = _section(differences, values[i - 1], values[i + 1])
        if least is not None:
            yield least


def cost(differences: Differences, *values: float) -> float:
    """Return the sum of squares, infinite where there is no answer."""
    found = differences(*values)
    with np.errstate(over="ignore"):
        return math.inf if found is None or not np.isfinite(found).all() else float(found @ found)


def _section(differences: Differences, low: float, high: float) -> float | None:
    """Return where the sum of squares is least between two values, by golden sections; ``None`` once it is clear that it isn't near 0."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    costs = [cost(differences, left), cost(differences, right)]
    worst = max(costs)
    for step in range(SECTIONS):
        if step == CLEAR and min(costs) > NOWHERE * worst:
            return None
        if costs[0] <= costs[1]:
            high, right = right, left
            left = high - GOLDEN * (high - low)
            costs = [cost(differences, left), costs[0]]
        else:
            low, left = left, right
            right = low + GOLDEN * (high - low)
            costs = [costs[1], cost(differences, right)]
    return (low + high) / 2


def polished(
    sources: Sequence[Differences], start: Sequence[float], longest: float | None = None, steps: Sequence[float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers that all sources agree on, and their uncertainties: linear least squares, one source after the other.

    No number moves by more than a share of it, or than ``longest``, at once; slopes are taken over ``steps``, or as rounding allows.
    """
    values, none = np.asarray(start, dtype=float), np.zeros((len(start), len(start)))
    weight = none
    for turn, differences in enumerate((*[sources[0]] * ALONE, *sources)):
        apart = STEP * np.where(values == 0, 1.0, np.abs(values)) if steps is None else np.asarray(steps)
        here = differences(*values)
        slopes = None if here is None or not np.isfinite(here).all() else _slopes(differences, values, apart, here)
        weight = weight if turn > ALONE else none
        if slopes is None or here is None:
            continue
        weight = weight + slopes.T @ slopes
        scale = np.where(values == 0, 1.0, np.abs(values))
        moved = scale * (np.linalg.pinv(weight * np.outer(scale, scale)) @ (scale * (slopes.T @ here)))
        far = SHARE * np.abs(values) if longest is None else longest
        values = values - np.clip(moved, -far, far)
    return values, np.sqrt(np.maximum(np.diag(np.linalg.pinv(weight)), 0.0))


def _slopes(differences: Differences, values: np.ndarray, steps: np.ndarray, here: np.ndarray) -> np.ndarray | None:
    """Return by how much the differences grow with every number, on one side of it at a limit; nothing where none is taken beside it."""
    columns = []
    for index, step in enumerate(steps):
        apart = np.where(np.arange(values.size) == index, step, 0.0)
        above, below = differences(*(values + apart)), differences(*(values - apart))
        sides = (above is not None) + (below is not None)
        above, below = here if above is None else above, here if below is None else below
        if not sides or above.shape != below.shape:
            return None
        with np.errstate(invalid="ignore"):  # what is infinite on both sides
            columns.append((above - below) / (sides * step))
    slopes = np.stack(columns, axis=1)
    return slopes if np.isfinite(slopes).all() else None


def ends(fits: Callable[[float], bool], value: float, least: float) -> tuple[float, float]:
    """Return the numbers, up and down from one that fits, beyond which none fits, looked for from a step on; infinity where all do."""
    return _end(fits, value, -least), _end(fits, value, least)


def _end(fits: Callable[[float], bool], value: float, step: float) -> float:
    inside, outside = value, value + step
    for _ in range(TRIPLINGS):
        if not fits(outside):
            break
        inside, outside = outside, outside + 2 * (outside - value)
    else:
        return math.copysign(math.inf, step)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if fits(middle) else (inside, middle)
    return inside


def within(value: float, uncertainty: float) -> float:
    """Return the number that is easiest to write within the uncertainty."""
    near = SIGMAS * uncertainty + 1e-12 * abs(value)
    return shortest(value, value - near, value + near)


def shortest(value: float, low: float, high: float) -> float:
    """Return the number that is easiest to write between two ends around a value: few digits, or a fraction of small numbers."""
    rounded = (float(f"{value:.{after}e}") for after in range(DIGITS))
    decimal = next((short for short in rounded if low <= short <= high), value)
    fraction = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    written = digits(fraction.numerator) + digits(fraction.denominator)
    return float(fraction) if low <= float(fraction) <= high and written < digits(decimal) - 1 else decimal


def as_known(value: float, low: float, high: float) -> float:
    """Return a number without the digits that are far finer than the two ends between which it is known to lie."""
    finest = (high - low) / FINER
    return round(value, -math.floor(math.log10(finest))) if 0 < finest < math.inf else value


def tells(short: float, low: float, high: float) -> bool:
    """Whether a number between two ends is more than chance: numbers of so many digits lie at least ten times as far apart."""
    return LONELY * (high - low) <= 10.0 ** (math.floor(math.log10(abs(short) or 1.0)) + 1 - digits(short))


def roundest(low: float, high: float) -> int:
    """Return the power of two between two ends, else the whole number with the most zeros at its end."""
    power: int = 1 << max(0, math.floor(math.log2(max(high, 1.0))))
    if low <= power:
        return power
    unit: int = next(10**zeros for zeros in range(DIGITS, -1, -1) if math.floor(high / 10**zeros) * 10**zeros >= low)
    return math.floor(high / unit) * unit


def digits(value: float) -> int:
    """Return how many significant digits a number has."""
    return len(f"{value:.15e}".split("e")[0].rstrip("0").replace(".", "").replace("-", ""))
