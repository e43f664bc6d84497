"""Laws of decoding and of sharding: a part that is computed alone is what it is in the whole."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.draw import seen_by_all
from conformance.laws.trial import Checker, Sides, Trial
from conformance.laws.universal import equal_but_for_noise
from conformance.spec.arguments import Arguments
from refimpl.spec import Law, axis_names, bind

#: The axes along which steps follow one another.
STEPS = ("token", "query", "offset")

#: For an axis: the entries that a part keeps.
Cut = Mapping[str, np.ndarray]


def part_alone(trial: Trial, call: Arguments, cut: Cut) -> Iterator[Sides]:
    """Yield what a part of a call gives alone beside what it is in the whole, where they are not the same bits."""
    axes, results = trial.operation.arrays, trial.operation.results
    part = call.with_arrays(**{name: kept(axes[name], array, cut) for name, array in call.arrays.items()})
    replies = trial.reply(call), trial.reply(part)
    for name in results:
        values = trial.values(call, name)
        sides = kept(results[name], values, cut), trial.values(part, name)
        places = kept(results[name], np.arange(values.size).reshape(values.shape), cut)
        yield from equal_but_for_noise(trial, part, sides, name, replies, (call, places.ravel()) if "key" in cut else None)


def kept(axes: str, array: np.ndarray, cut: Cut) -> np.ndarray:
    """Return the entries of an array that a part keeps."""
    for index, axis in enumerate(axis_names(axes, array.ndim) or ()):
        array = np.take(array, cut[axis], axis=index) if axis in cut else array
    return array


def sizes(trial: Trial) -> Mapping[str, int]:
    """Return the size of every axis of the drawn call."""
    call = trial.arguments
    return bind(trial.operation.arrays, {name: array.shape for name, array in call.arrays.items()}, call.parameters)


def stepwise(trial: Trial) -> Iterator[Sides]:
    """A step alone and a chunk alone give their rows of the whole, and a key that a step can't see may be absent."""
    known = sizes(trial)
    for axis in (axis for axis in STEPS if axis in known):
        for count in range(1, known[axis] + 1):
            yield from part_alone(trial, trial.arguments, {axis: _latest(trial, axis, known[axis], count)})
    if "causal" in trial.operation.parameters:
        yield from _without_later_keys(trial)


def _latest(trial: Trial, axis: str, size: int, count: int) -> np.ndarray:
    """Return the last entries of an axis; the first where positions must count up from where they begin, not end with the keys."""
    takes = trial.subject.takes
    first = trial.subject.counted and (axis, takes.queries) != ("query", "at_end")
    return np.arange(count) if first else np.arange(size - count, size)


def _without_later_keys(trial: Trial) -> Iterator[Sides]:
    """Decode the earliest query with the keys that it sees and no others."""
    call = trial.arguments.with_parameters(causal=True)
    call = call.with_arrays(**seen_by_all(call.arrays))
    query, key = (np.atleast_2d(call.arrays[name]) for name in ("query_positions", "key_positions"))
    step = np.argmin(query.max(axis=0), keepdims=True)
    seen = np.flatnonzero((key <= query[:, step]).any(axis=0))
    yield from part_alone(trial, call, {"query": step, "key": seen})


def heads(trial: Trial) -> Iterator[Sides]:
    """The last head alone, with the key head that it shares, is what it is among all."""
    known = sizes(trial)
    if "key_head" in known:
        own = "query_head" if "query_head" in known else "head"
        group = known[own] // known["key_head"]
        yield from part_alone(trial, trial.arguments, {"key_head": np.array([-1]), own: np.arange(-group, 0)})
    else:
        yield from part_alone(trial, trial.arguments, {"head": np.array([-1])})


LAWS: Mapping[Law, Checker] = {
    Law.STEPWISE: stepwise,
    Law.HEADS: heads,
}
