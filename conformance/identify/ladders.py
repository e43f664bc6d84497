"""Frequencies of pairs as calls show them, and the operation that gives them."""

import functools
import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from conformance.diagnosis.search import digits
from conformance.identify.asking import Refused
from conformance.identify.findings import UNSET, Confidence, Seen
from conformance.identify.probe import Probe, others
from conformance.identify.rules import CHOSEN, ODD, Fit, Rule, Values, identified, of_any
from conformance.spec.choices import obeys
from refimpl.spec import Operation

#: What a running product of float32 numbers may be off by for each factor.
STEP = 2.0**-23
#: What frequencies are off by that were rounded to a half format.
HALVES = (("float16", 2.0**-12), ("bfloat16", 2.0**-9))
#: How wrong the growth of pairs may be.
NOISE = 2e-5
#: The dtypes in which a growth is read to its last digit, and the least error that is told apart.
FINEST, LEAST = ("float64", "float32"), 2.0**-40
#: Said of frequencies that are nearly those of an operation, and how far an angle may be off that is called right, in radians.
OFF, RIGHT = "frequencies are off by up to", 1e-3
#: How operations are asked: for pairs half a row apart that turn forward.
#: Said of frequencies that are those of the pairs after them.
FROM_ONE = "its pairs are counted from 1: each has the frequency of the next one, the first that of the second"
#: How many pairs turn, where the others have frequency 0.
TURNED = "turned_pairs"
READ: Mapping[str, tuple[object, ...]] = {"layout": ("half", "halves"), "direction": ("positive",), "scale": (1.0,), **CHOSEN}


@dataclass(frozen=True)
class Ladder:
    """Radians per position of the pairs with relative errors, as one call shows them.

    ``settings`` are parameters of that call alone; ``arrays`` what it was given besides vectors and positions.
    """

    theta: np.ndarray
    error: np.ndarray
    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    def off(self, operation: Operation, parameters: Values) -> np.ndarray:
        """Return how far what an operation gives for this call is from what was seen, over what is allowed."""
        settings = {name: value for name, value in self.settings.items() if name in operation.parameters}
        theta, _ = spectrum(operation, self.arrays, {**parameters, **settings})
        return np.asarray(self.apart(theta) / (8 * (self.error + STEP * (1 + np.arange(self.theta.size)))))

    def apart(self, theta: np.ndarray) -> np.ndarray:
        """Return how far frequencies are from those that were seen, relative to these."""
        ratio = np.divide(theta, self.theta, out=np.ones(self.theta.shape), where=theta != self.theta)  # pairs that rest are 0 in both
        return np.asarray(np.log(ratio))

    def only(self, pairs: slice) -> "Ladder":
        """Return the same, blind to the other pairs."""
        error = np.full(self.error.shape, np.inf)
        error[pairs] = self.error[pairs]
        return replace(self, error=error)

    def padded(self, pairs: int) -> "Ladder":
        """Return the same as the first of so many pairs, of which the others rest."""
        rest = (0, pairs - self.theta.size)
        return replace(self, theta=np.pad(self.theta, rest), error=np.pad(self.error, rest))


def spectrum(operation: Operation, arrays: Mapping[str, np.ndarray], parameters: Values) -> tuple[np.ndarray, float]:
    """Return the radians per position of an operation's pairs, and by how much they grow: its form says so, else its values."""
    form = getattr(operation.function, "form", None)
    if form is not None:
        factor = 1.0 if form.factor is None else form.factor(**_those(form.factor, parameters))
        return np.asarray(form.frequencies(*arrays.values(), **_those(form.frequencies, parameters))), factor
    circle = turned(operation, arrays, parameters, np.array([1]))[0]
    return np.asarray(np.angle(circle)), float(np.abs(circle).mean())


def _those(slot: Callable[..., Any], parameters: Values) -> dict[str, Any]:
    """Return the parameters that fill a slot of a form."""
    return {name: value for name, value in {**parameters, "like": np.zeros(1)}.items() if name in _names(slot)}


@functools.cache
def _names(slot: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(slot).parameters)


def turned(operation: Operation, arrays: Mapping[str, np.ndarray], parameters: Values, positions: np.ndarray) -> np.ndarray:
    """Return every pair at positions as complex numbers: what an operation turns 1 into, its tables, waves, or turns by its frequencies."""
    pairs: int = parameters.get("head_dim", parameters.get("dim", 0)) // 2
    ones = np.broadcast_to(np.arange(2 * pairs) < pairs, (1, 1, positions.size, 2 * pairs)).astype(float)
    given = {"x": ones, "positions": positions, **arrays}
    like = {"like": np.zeros(1)} if operation.takes_like else {}
    value = operation.function(*(given[name] for name in operation.arrays), **parameters, **like)
    if "positions" not in operation.arrays:
        return np.asarray(np.exp(1j * positions[:, None] * value))
    if isinstance(value, tuple):
        return np.asarray(value[0] + 1j * value[1])
    first, second = value[..., :pairs], value[..., pairs : 2 * pairs]
    return np.asarray(first + 1j * second)[0, 0] if "x" in operation.arrays else np.asarray(second + 1j * first)


def rules(ladders: Sequence[Ladder], candidates: Iterable[Operation], told: Values) -> list[Rule]:
    """Return the operations that may give frequencies; what a call is set to is known of each, and nothing that is optional is set."""
    set_to = {**told, **{name: value for ladder in ladders for name, value in ladder.settings.items()}}

    def compared(operation: Operation, parameters: Values) -> np.ndarray:
        return np.concatenate([ladder.off(operation, parameters) for ladder in ladders])

    return [Rule(one, known(one, set_to), compared) for one in candidates]


def known(operation: Operation, values: Values) -> dict[str, Any]:
    """Return what is known of the parameters of an operation, which is asked as values are read."""
    taken = operation.parameters
    read = {name: next(value for value in values if obeys(taken[name], value)) for name, values in READ.items() if name in taken}
    unset = {name: None for name, one in taken.items() if one.optional}
    return {**read, **unset, **{name: value for name, value in values.items() if name in taken}}


def rule(ladders: Sequence[Ladder], candidates: Sequence[Operation], told: Values, asked: Values) -> tuple[Fit | None, tuple[str, ...]]:
    """Return the operation that gives frequencies, the simplest also where they were rounded to a half format, and what is to be said."""
    if any(not np.all(np.isfinite(ladder.theta)) or np.any(ladder.theta < 0) for ladder in ladders):
        return None, ()
    turned = int(np.count_nonzero(ladders[0].theta))
    resting = turned < ladders[0].theta.size
    candidates = [candidate for candidate in candidates if (TURNED in candidate.parameters) == resting]
    if not candidates:
        return None, ()
    if resting:
        found, said = _ruled(ladders, candidates, {**told, TURNED: turned}, asked)
        shown = {name: Seen(value) for name, value in (("head_dim", told["head_dim"]), (TURNED, turned))}
        return found and replace(found, parameters={**found.parameters, **shown}), said
    return _from_one(ladders, candidates, told, asked) or _ruled(ladders, candidates, told, asked)


def _from_one(
    ladders: Sequence[Ladder], candidates: Sequence[Operation], told: Values, asked: Values
) -> tuple[Fit, tuple[str, ...]] | None:
    """Return the operation of which each pair has the frequency of the next one, where its numbers are round."""
    if not all(map(_next_ones, ladders)):
        return None
    before = [replace(one, theta=one.theta / one.theta[0], error=one.error + one.error[0]) for one in ladders]
    found, said = _ruled(before, candidates, told, asked)
    written = found is not None and all(digits(one.value) < ODD for one in found.parameters.values() if isinstance(one.value, float))
    return (found, (*said, FROM_ONE)) if found is not None and written else None


def _next_ones(ladder: Ladder) -> bool:
    """Whether frequencies fall by one ratio, which the first one is too, so that the one before it would be 1."""
    steps, logarithms = 1 + np.arange(ladder.theta.size), np.log(ladder.theta)
    even = np.abs(logarithms - steps * logarithms[0]) <= 8 * (ladder.error + steps * (ladder.error[0] + STEP))
    return steps.size > 1 and bool(np.all(even)) and bool(logarithms[0] < -8 * ladder.error[0])


def _simplest(candidates: Sequence[Operation]) -> Operation:
    return min(candidates, key=lambda operation: len(operation.parameters))


def _ruled(ladders: Sequence[Ladder], candidates: Sequence[Operation], told: Values, asked: Values) -> tuple[Fit | None, tuple[str, ...]]:
    simplest = _simplest(candidates)
    shortest = min(ladders, key=lambda ladder: ladder.settings.get("length", math.inf))
    calls = [ladders, [shortest]] if len(ladders) > 1 else [ladders]  # frequencies that follow the length are usual in a short sequence
    fast = (identified(rules([ladder.only(slice(2)) for ladder in each], [simplest], told), asked) for each in calls)
    certain = next(filter(None, fast), None)
    near = {} if certain is None else {name: one.value for name, one in certain.parameters.items() if one.confidence is Confidence.CERTAIN}
    found = identified(rules(ladders, candidates, told), asked, near) or _of_whole_wavelengths(ladders, candidates, told, asked)
    if found is not None:
        return found, _apart(ladders, known(found.operation, {**told, **found.values}), found.operation)
    for name, unit in HALVES:
        coarse = [replace(ladder, error=np.full(ladder.theta.shape, unit)) for ladder in ladders]
        found = identified(rules(coarse, [simplest], told), asked)
        if found is not None:
            return found, (f"frequencies are off by as much as {name} rounds them",)
    return None, ()


def _apart(ladders: Sequence[Ladder], values: Values, operation: Operation) -> tuple[str, ...]:
    """Say how far frequencies are off where that is more than a rounding, and to which position their angles are right."""
    form = getattr(operation.function, "form", None)
    if form is None or any(_names(form.frequencies) & operation.parameters.keys() - {*values, *one.settings} for one in ladders):
        return ()  # a number that no call shows
    asked = [_those(form.frequencies, {**values, **ladder.settings}) for ladder in ladders]
    off = [np.abs(one.apart(form.frequencies(*one.arrays.values(), **each))) for one, each in zip(ladders, asked, strict=True)]
    wide = [(each.max(), (each * ladder.theta).max()) for ladder, each in zip(ladders, off, strict=True) if np.any(each > 8 * ladder.error)]
    if not wide:
        return ()
    relative, turn = (float(max(each)) for each in zip(*wide, strict=True))
    return (f"{OFF} {relative:.1g} of themselves: angles are right to position {int(RIGHT / turn)}, and off by more than {RIGHT:g} beyond",)


def _of_whole_wavelengths(ladders: Sequence[Ladder], candidates: Sequence[Operation], told: Values, asked: Values) -> Fit | None:
    """Return the operation where all wavelengths are whole: slopes lead to its numbers only where half a position is allowed."""
    if not all(map(_whole_wavelengths, ladders)):
        return None
    wide = [replace(ladder, error=ladder.theta / (32 * np.pi)) for ladder in ladders]
    around = identified(rules(wide, candidates, told), asked)
    near = {} if around is None else {name: seen.value for name, seen in around.parameters.items()}
    return identified(rules(ladders, candidates, told), asked, near) if near else None


def _whole_wavelengths(ladder: Ladder) -> bool:
    """Whether every pair turns, and comes round after a whole number of positions."""
    if not np.all(ladder.theta > 0):
        return False
    wavelengths = 2 * np.pi / ladder.theta
    return bool(np.all(np.abs(wavelengths - np.rint(wavelengths)) <= 8 * wavelengths * ladder.error))


def followed(found: Fit, ladders: Sequence[Ladder], told: Values) -> tuple[str, ...]:
    """Return the parameters to which calls were set, and whose other values would have shown."""
    values = known(found.operation, {**told, **found.values})

    def shows(name: str) -> bool:
        others = {ladder.settings[name] for ladder in ladders if name in ladder.settings}
        set_to = (replace(ladder, settings={**ladder.settings, name: other}) for ladder in ladders for other in others)
        return any(np.any(np.abs(ladder.off(found.operation, values)) > 1) for ladder in set_to)

    names = dict.fromkeys(name for ladder in ladders for name in ladder.settings if name in found.operation.parameters)
    return tuple(filter(shows, names))


@dataclass(frozen=True)
class Growth:
    """By how much pairs grow in a call, and ``at`` other settings of it, with its relative error: nothing where they don't turn then."""

    size: float
    probe: Probe
    at: Callable[[Probe], tuple[float, float] | None]

    def among(self, names: Iterable[str]) -> list[tuple[Values, float]]:
        """Return the growth of the call, of calls that are set to another value of each parameter, and of one set to all of them."""
        asked = {name: self.probe.asked.get(name) for name in names if self.probe.follows(name)}
        other = {name: next((value for value in others(name) if value != asked[name]), None) for name in asked}
        each = [{name: value} for name, value in other.items() if value is not None]
        calls = each if len(each) < 2 else [*each, {name: value for one in each for name, value in one.items()}]
        found = [(settings, self._at(settings)) for settings in calls]
        return [({}, self.size), *((settings, size) for settings, size in found if size is not None)]

    def _at(self, settings: Values) -> float | None:
        found = self._found(self.probe.having(**settings))
        return None if found is None else found[0]

    def _found(self, probe: Probe) -> tuple[float, float] | None:
        try:
            return self.at(probe)
        except Refused:
            return None

    def precise(self) -> tuple["Growth", float]:
        """Return the same in the finest dtype that the function takes, with the relative error that it shows there."""
        for dtype in FINEST if self.probe.dtype in FINEST else ():
            probe = self.probe.at(dtype)
            found = self._found(probe)
            if found is not None:
                return replace(self, size=found[0], probe=probe), max(found[1], LEAST)
        return self, NOISE


def sized(lengths: np.ndarray) -> tuple[float, float]:
    """Return how long pairs are, and by how much that differs, relative to it."""
    size = float(np.median(lengths))
    return size, float(np.ptp(lengths)) / size if size else math.inf


def grown(found: Fit, seen: Ladder, told: Values, growth: Growth, noise: float) -> Mapping[str, Seen] | None:
    """Return the parameters that may be left out and on which the growth of the pairs depends, or nothing where it isn't the rule's.

    First those that the function has arguments of are what these say. Then they are numbers that give the growth whatever the other
    parameters are; if there are none, numbers that give that of one call.
    """
    operation, values = found.operation, known(found.operation, {**told, **found.values, **seen.settings})
    unset = {name: one for name, one in operation.parameters.items() if one.optional or name in CHOSEN}
    counting = _names(factor) if (factor := getattr(getattr(operation.function, "form", None), "factor", None)) else frozenset()
    said = {name: value for name, value in growth.probe.asked.items() if name in unset and obeys(unset[name], value)}

    def rule(calls: Sequence[tuple[Values, float]], *, free: Collection[str] = unset) -> Rule:
        def compared(operation: Operation, parameters: Values) -> np.ndarray:
            sizes = [spectrum(operation, seen.arrays, {**parameters, **settings})[1] / size for settings, size in calls]
            return np.asarray(np.log(sizes) / noise)

        return Rule(operation, {name: value for name, value in values.items() if name not in free}, compared)

    followed = identified([rule(growth.among(counting), free={*said, *CHOSEN})], said) if said else None
    if followed is not None and all(followed.parameters[name].holds(value) for name, value in said.items()):
        return {**dict.fromkeys(unset, UNSET), **followed.parameters}
    calls, chosen = growth.among(counting - unset.keys()), unset.keys() & CHOSEN
    several = identified([rule(calls)], {}) or (of_any(rule(calls), chosen) if chosen and len(calls) > 1 else None)
    fit = several or identified([rule(calls[:1])], {})
    return None if fit is None else fit.parameters
