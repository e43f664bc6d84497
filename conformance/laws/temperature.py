"""Laws of attention temperature: queries keep their scale at first, and it never falls; a learned one rises by its slope."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.inexact import exact
from conformance.laws.trial import Checker, Sides, Trial, at_most, same
from refimpl.spec import Law

#: So many positions have a square among the first 2^20.
SQUARED = 1 << 10


def sharpens(trial: Trial) -> Iterator[Sides]:
    """Of two tokens, the later one's scale is at least the other's: of neighbours in a run, and of tokens moved together."""
    call = trial.arguments
    positions = call.arrays["positions"]
    came = trial.answer(call.with_arrays(positions=np.sort(positions, axis=-1)))
    yield at_most(came[..., :-1], came[..., 1:])
    if not trial.subject.counted:
        yield at_most(trial.answer(call), trial.answer(call.with_arrays(positions=positions + trial.example.shift)))


def untouched(trial: Trial) -> Iterator[Sides]:
    """Up to the first step, or the original length, the scale is 1: of the tokens that are asked for, and of the same moved there."""
    call, end = trial.arguments, _end(trial)
    positions = call.arrays["positions"]
    grown = trial.answer(call) - 1.0
    yield Sides(np.where(positions < end, grown.values, 0.0), np.zeros(positions.shape), grown.error)
    if not trial.subject.counted and end > 0:
        yield same(trial.answer(call.with_arrays(positions=positions % end)), 1.0)


def rises_twice(trial: Trial) -> Iterator[Sides]:
    """At the square of the number of keys the scale has risen twice as far above the bias; code that counts has no such positions."""
    if trial.subject.counted:
        return
    call, bias = trial.arguments, exact(trial.arguments.arrays["biases"][:, None])
    near = call.arrays["positions"] % SQUARED
    once, twice = (trial.answer(call.with_arrays(positions=positions)) for positions in (near, (near + 1) ** 2 - 1))
    yield same(twice - bias, 2.0 * (once - bias))


def _end(trial: Trial) -> int:
    """Return the first position that has grown."""
    if "floor_scale" in trial.operation.parameters:
        return trial.whole("floor_scale") - trial.whole("shift")
    return trial.whole("original_length")


LAWS: Mapping[Law, Checker] = {Law.SHARPENS: sharpens, Law.UNTOUCHED: untouched, Law.RISES_TWICE: rises_twice}
