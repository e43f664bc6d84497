"""Laws of stretched contexts: what a constant factor in every pair does to frequencies and rotations."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.budget import frequencies, frequency_error
from conformance.laws.trial import Checker, Sides, Trial
from conformance.laws.turning import STREAMS, stretch, turning_error
from conformance.subject import CallRefusedError
from refimpl.spec import Law

#: The angle's rounding on both sides, and the quotient by the factor on one: two units each.
ANGLES = 6


def constant(call: Arguments, factor: int) -> Arguments:
    """Return the call with one factor for every pair, whichever way the operation is told."""
    if "factor" in call.parameters:
        return call.with_parameters(factor=float(factor))
    return call.with_arrays(**{name: np.full_like(array, factor) for name, array in call.arrays.items() if name.endswith("factors")})


def stretched_by(trial: Trial) -> int:
    """Return the factor of an example: 2, 3 or 4."""
    return 2 + trial.example.shift % 3


def rotation_interpolates(trial: Trial) -> Iterator[Sides]:
    """With factor s, position s p is turned as position p with factor 1."""
    if trial.subject.counted:
        message = "positions that count up have no multiples without others between"
        raise CallRefusedError(message)
    call, factor, (stream,) = trial.arguments, stretched_by(trial), STREAMS[trial.operation.name]
    places = call.arrays[stream.positions] // factor
    plain = constant(call, 1).with_arrays(**{stream.positions: places})
    stretched = constant(call, factor).with_arrays(**{stream.positions: factor * places})
    error = turning_error(trial.units, call.arrays[stream.vectors], stretch(trial).gain, _angle_error(trial, places))
    allowed = 2 * error + trial.rounding(stretched) + trial.rounding(plain)
    yield Sides(trial.values(stretched), trial.values(plain), allowed + 2 * stretch(trial).error * np.abs(trial.values(plain)))


def _angle_error(trial: Trial, places: np.ndarray) -> np.ndarray:
    """Return what the angles of either side may be off by: frequencies may be computed apart, so their error is not shared."""
    theta = frequencies(trial.whole("head_dim"), trial.number("base"))
    relative = 2 * frequency_error(trial.units, theta, trial.number("base")) + ANGLES * trial.units.step
    error = np.abs(places)[..., None] * theta * relative
    return np.asarray(error[:, None] if places.ndim == 2 else error)


def frequencies_interpolate(trial: Trial) -> Iterator[Sides]:
    """The frequencies of factor s, times s, are those of factor 1."""
    call, factor = trial.arguments, stretched_by(trial)
    plain, stretched = constant(call, 1), constant(call, factor)
    theta = frequencies(trial.whole("head_dim"), trial.number("base"))
    error = (2 * frequency_error(trial.units, theta, trial.number("base")) + ANGLES * trial.units.step) * theta
    yield Sides(factor * trial.values(stretched), trial.values(plain), error + factor * trial.rounding(stretched) + trial.rounding(plain))


LAWS: Mapping[Law, Checker] = {Law.INTERPOLATES: rotation_interpolates}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("position_interpolation.frequencies", Law.INTERPOLATES): frequencies_interpolate,
    ("longrope.frequencies", Law.INTERPOLATES): frequencies_interpolate,
}
