"""Laws of decoding and of sharding: a part that is computed alone is what it is in the whole."""

import contextlib
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.calls.subject import CallRefusedError
from conformance.calls.takes import sharing
from conformance.laws.draw import seen_by_all
from conformance.laws.trial import Checker, Sides, Trial, hidden
from conformance.laws.universal import equal_but_for_noise
from conformance.spec.arguments import Arguments
from refimpl.spec import Law, axis_names, bind

#: The axes along which steps follow one another.
STEPS = ("token", "query", "offset")

#: For an axis: the entries that a part keeps.
Cut = Mapping[str, np.ndarray]


def part_alone(trial: Trial, call: Arguments, cut: Cut) -> Iterator[Sides]:
    """Yield what a part of a call gives alone beside what it is in the whole, where they are not the same bits."""
    results = trial.operation.results
    part = cut_out(trial, call, cut)
    replies = trial.reply(call), trial.reply(part)
    for name in results:
        values = trial.values(call, name)
        sides = kept(results[name], values, cut), trial.values(part, name)
        places = kept(results[name], np.arange(values.size).reshape(values.shape), cut)
        yield from equal_but_for_noise(trial, part, sides, name, replies, (call, places.ravel()) if "key" in cut else None)


def cut_out(trial: Trial, call: Arguments, cut: Cut) -> Arguments:
    """Return a part of a call."""
    axes = trial.operation.arrays
    return call.with_arrays(**{name: kept(axes[name], array, cut) for name, array in call.arrays.items()})


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
    """A step or a chunk alone gives its rows of the whole, after a rejected draft too, and a key that a step can't see may be absent."""
    known = sizes(trial)
    for axis in (axis for axis in STEPS if axis in known):
        for count in range(1, known[axis] + 1):
            yield from part_alone(trial, trial.arguments, {axis: _latest(trial, axis, known[axis], count)})
        yield from _after_a_draft(trial, axis, known, known[axis] // 2)
    if "causal" in trial.operation.parameters:
        yield from _without_later_keys(trial)


def _latest(trial: Trial, axis: str, size: int, count: int) -> np.ndarray:
    """Return the last entries of an axis; the first where positions must count up from where they begin, not end with the keys."""
    takes = trial.subject.takes
    first = trial.subject.counted and (axis, takes.queries) != ("query", "at_end")
    return np.arange(count) if first else np.arange(size - count, size)


def _after_a_draft(trial: Trial, axis: str, known: Mapping[str, int], count: int) -> Iterator[Sides]:
    """Go back: the last entries are what they were, though what comes before them was asked for, and then others in their places."""
    stepped = (axis, "key") if axis == "query" and "key" in known else (axis,)
    if count == 0 or any(known[each] <= count for each in stepped) or _latest(trial, axis, known[axis], count)[0] == 0:
        return
    call, axes = trial.arguments, trial.operation.arrays
    last = {each: np.arange(known[each] - count, known[each]) for each in stepped}
    draft = call.with_arrays(**{name: _redrawn(axes[name], call.arrays[name], new, last) for name, new in trial.example.others.items()})
    step, prefix = (cut_out(trial, call, cut) for cut in ({axis: last[axis]}, {each: np.arange(known[each] - count) for each in stepped}))
    if call.parameters.get("causal") and hidden(prefix).all(axis=-1).any():
        return
    before = trial.reply(step)
    with contextlib.suppress(CallRefusedError):
        trial.ask(prefix)
        trial.ask(cut_out(trial, draft, {axis: last[axis]}))
    after = trial.ask(step)
    for name in trial.operation.results:
        sides = trial.values(step, name), np.asarray(after.values[name], dtype=np.float64)
        yield from equal_but_for_noise(trial, step, sides, name, (before, after))


def _redrawn(axes: str, array: np.ndarray, other: np.ndarray, cut: Cut) -> np.ndarray:
    """Return an array with other values at the entries of a cut."""
    new = np.zeros(array.shape, dtype=bool)
    for index, axis in enumerate(axis_names(axes, array.ndim) or ()):
        if axis in cut:
            np.moveaxis(new, index, 0)[cut[axis]] = True
    return np.where(new, other, array)


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
    known, own = sizes(trial), sharing(trial.operation)
    if own:
        group = known[own] // known["key_head"]
        yield from part_alone(trial, trial.arguments, {"key_head": np.array([-1]), own: np.arange(-group, 0)})
    else:
        yield from part_alone(trial, trial.arguments, {"head": np.array([-1])})


LAWS: Mapping[Law, Checker] = {
    Law.STEPWISE: stepwise,
    Law.HEADS: heads,
}
