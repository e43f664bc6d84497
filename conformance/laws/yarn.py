"""Laws of frequencies, plain and stretched."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.choices import agree
from conformance.laws.budget import angle_noise, frequencies, frequency_error
from conformance.laws.trial import Checker, Sides, Trial
from conformance.laws.turning import STREAMS, noise_of, stretch, turning_error
from conformance.subject import CallRefusedError
from refimpl.spec import Law

#: Quotient by the factor, two products and a sum, each one unit but the quotient, which has two.
BLEND = 5
RAMP = ("original_length", "beta_fast", "beta_slow", "truncate")


def _plain(trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    """Return plain rope's frequencies and their relative errors."""
    theta = frequencies(trial.whole("head_dim"), trial.number("base"))
    return theta, frequency_error(trial.units, theta, trial.number("base"))


def geometric(trial: Trial) -> Iterator[Sides]:
    """The first frequency is 1, and the square of every frequency is the product of its neighbours."""
    values, rounding = trial.values(trial.arguments), trial.rounding(trial.arguments)
    error = _plain(trial)[1] * np.abs(values) + rounding
    yield Sides(values[:1], np.ones(1), np.zeros(1))
    before, here, after = values[:-2], values[1:-1], values[2:]
    allowed = 2 * here * error[1:-1] + before * error[2:] + after * error[:-2]
    yield Sides(before * after, here**2, allowed)


def between(trial: Trial) -> Iterator[Sides]:
    """No frequency is above the plain one, or below the plain one divided by the factor."""
    values, rounding = trial.values(trial.arguments), trial.rounding(trial.arguments)
    theta, error = _plain(trial)
    allowed = (error + BLEND * trial.units.step) * theta + rounding
    yield Sides(np.maximum(values, theta), theta, allowed)
    slow = theta / trial.number("factor")
    yield Sides(np.minimum(values, slow), slow, (error + BLEND * trial.units.step) * slow + rounding)


def ratio_falls(trial: Trial) -> Iterator[Sides]:
    """The ratio to the plain frequency starts at 1 and never rises."""
    values, rounding = trial.values(trial.arguments), trial.rounding(trial.arguments)
    theta, error = _plain(trial)
    ratios = values / theta
    errors = (error + BLEND * trial.units.step) * np.abs(ratios) + rounding / theta
    yield Sides(ratios[:1], np.ones(1), errors[:1])
    rise = np.diff(ratios)
    yield Sides(np.where(rise > 0.0, rise, 0.0 * rise), np.zeros_like(rise), errors[1:] + errors[:-1])


def frequencies_reduce_to_rope(trial: Trial) -> Iterator[Sides]:
    """With factor 1 the frequencies are plain rope's."""
    call = trial.arguments.with_parameters(factor=1.0)
    theta, error = _plain(trial)
    yield Sides(trial.values(call), theta, (error + BLEND * trial.units.step) * theta + trial.rounding(call))


def rotation_reduces_to_rope(trial: Trial) -> Iterator[Sides]:
    """With factor 1 nothing that shapes the ramp matters any more."""
    one = trial.arguments.with_parameters(factor=1.0)
    other = one.with_parameters(**{name: trial.example.parameters[name] for name in RAMP})
    if not agree(other.parameters):
        message = "no other ramp was drawn for this width and base"
        raise CallRefusedError(message)
    stream = STREAMS[trial.operation.name][0]
    theta, _ = _plain(trial)
    positions, vectors = one.arrays["positions"], one.arrays["x"]
    blended = (BLEND / 2) * angle_noise(trial.units, positions, theta)
    noise = 2 * noise_of(trial, positions) + 2 * (blended[:, None] if positions.ndim == 2 else blended)
    gain = max(stretch(trial).gain, 1.0)
    allowed = 2 * turning_error(trial.units, vectors, gain, noise / 2) + trial.rounding(one) + trial.rounding(other)
    yield Sides(trial.values(one, stream.result), trial.values(other, stream.result), allowed)


def factor_reduces_to_rope(trial: Trial) -> Iterator[Sides]:
    """With factor 1 the attention factor is 1 unless it is given."""
    call = trial.arguments.with_parameters(factor=1.0, attention_factor=None)
    yield Sides(trial.values(call), np.ones(()), np.zeros(()))


def override(trial: Trial) -> Iterator[Sides]:
    """An attention factor that is given comes back as it is, whatever the other parameters say."""
    call = trial.arguments.with_parameters(attention_factor=1.0 + trial.example.shift % 16 / 16)
    right = np.asarray(call.parameters["attention_factor"], dtype=np.float64)
    yield Sides(trial.values(call), right, trial.rounding(call))


LAWS: Mapping[Law, Checker] = {
    Law.GEOMETRIC: geometric,
    Law.REDUCES_TO_ROPE: frequencies_reduce_to_rope,
    Law.BETWEEN: between,
    Law.RATIO_FALLS: ratio_falls,
    Law.OVERRIDE: override,
}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("yarn.attention_factor", Law.REDUCES_TO_ROPE): factor_reduces_to_rope,
    ("yarn.rotate", Law.REDUCES_TO_ROPE): rotation_reduces_to_rope,
}
