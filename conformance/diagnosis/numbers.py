"""Find a number from what came: where the difference to what was seen is least, and which short number that is."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

#: The differences for one value of the number, over what is allowed; nothing where there is no answer.
Differences = Callable[[float], np.ndarray | None]

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
DIGITS = 15
SIGMAS = 4.0
LONGEST_STEP = 0.1
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


def cost(differences: Differences, value: float) -> float:
    """Return the sum of squares, infinite where there is no answer."""
    found = differences(value)
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


def polished(sources: Sequence[Differences], start: float) -> tuple[float, float]:
    """Return the number that all vectors agree on, and its uncertainty: linear least squares, one vector after the other."""
    value, weight = start, 0.0
    for _ in range(ALONE):
        value, _ = _moved(sources[0], value, 0.0)
    for differences in sources:
        value, weight = _moved(differences, value, weight)
    return value, 1.0 / math.sqrt(weight) if weight else 0.0


def _moved(differences: Differences, value: float, weight: float) -> tuple[float, float]:
    """Return the number after one step of least squares, which counts as much as the vector weighs against those before."""
    slope, here = _slope(differences, value), differences(value)
    if slope is None or here is None or not np.isfinite(here).all():
        return value, weight
    weight += float(slope @ slope)
    step = float(slope @ here) / weight if weight else 0.0
    longest = LONGEST_STEP * abs(value)
    return value - max(-longest, min(step, longest)), weight


def _slope(differences: Differences, value: float) -> np.ndarray | None:
    step = STEP * (abs(value) or 1.0)
    above, below = differences(value + step), differences(value - step)
    if above is None or below is None or above.shape != below.shape:
        return None
    slope = (above - below) / (2 * step)
    return slope if np.isfinite(slope).all() else None


def shortest(value: float, uncertainty: float) -> float:
    """Return the number that is easiest to write within the uncertainty: few digits, or a fraction of small numbers."""
    near = SIGMAS * uncertainty + 1e-12 * abs(value)
    fraction = float(Fraction(value).limit_denominator(LARGEST_DENOMINATOR))
    rounded = [float(f"{value:.{digits}g}") for digits in range(1, DIGITS)]
    candidates = [*rounded[:3], fraction, *rounded[3:]]
    return next((candidate for candidate in candidates if abs(candidate - value) <= near), value)
