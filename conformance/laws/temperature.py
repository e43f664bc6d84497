"""Laws of attention temperature: queries keep their scale at first, and it never falls."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.trial import Checker, Sides, Trial, at_most, same
from refimpl.spec import Law


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


def _end(trial: Trial) -> int:
    """Return the first position that has grown."""
    if "floor_scale" in trial.operation.parameters:
        return trial.whole("floor_scale") - trial.whole("shift")
    return trial.whole("original_length")


LAWS: Mapping[Law, Checker] = {Law.SHARPENS: sharpens, Law.UNTOUCHED: untouched}
