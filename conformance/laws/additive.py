"""Laws of sinusoidal encodings: they hold for every order of channels and every spacing of frequencies."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.budget import TABLE, angle_noise
from conformance.laws.trial import Checker, Sides, Trial
from refimpl.spec import Law


def wave_frequencies(trial: Trial) -> np.ndarray:
    """Return the radians per position of every pair, which decide the angle noise."""
    width, base = trial.whole("dim"), trial.number("base")
    steps = width / 2 if trial.arguments.parameters["spacing"] == "paper" else max(1, width // 2 - 1)
    return np.asarray(base ** (-np.arange(width // 2) / steps))


def channel_noise(trial: Trial, positions: np.ndarray) -> np.ndarray:
    """Return the angle noise of every channel, the larger of what the orders of channels give it; none for a column of zeros."""
    noise = angle_noise(trial.units, positions, wave_frequencies(trial))
    channels = np.maximum(np.repeat(noise, 2, axis=-1), np.concatenate([noise, noise], axis=-1))
    missing = trial.whole("dim") - channels.shape[-1]
    return np.concatenate([channels, np.zeros((*channels.shape[:-1], missing))], axis=-1)


def value_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what every value may be off by, but for its angle: its sine, its storing, its scale, its rounding."""
    units, scale = trial.units, abs(trial.number("scale"))
    kept = units.stored + (0.0 if scale == 1.0 else units.product)
    return np.asarray(scale * 3 * units.step + kept * np.abs(trial.values(call)) + trial.rounding(call))


def constant_norm(trial: Trial) -> Iterator[Sides]:
    """Every pair adds the square of the scale to the squared norm."""
    call = trial.arguments
    values = trial.values(call)
    left = np.sum(values**2, axis=-1)
    right = np.full_like(left, trial.number("scale") ** 2 * (trial.whole("dim") // 2))
    yield Sides(left, right, 2 * np.sum(np.abs(values) * value_error(trial, call), axis=-1))


def bounded(trial: Trial) -> Iterator[Sides]:
    """No value leaves the interval from -1 to 1, times the scale."""
    values = trial.values(trial.arguments)
    beyond = np.maximum(np.abs(values) - abs(trial.number("scale")), 0.0)
    yield Sides(np.where(np.isnan(values), np.nan, beyond), np.zeros_like(values), value_error(trial, trial.arguments))


def dot_product(trial: Trial) -> Iterator[Sides]:
    """The dot product of two encodings does not change when both positions move by the same shift."""
    positions = trial.arguments.arrays["positions"]
    here, there = (trial.arguments.with_arrays(positions=p) for p in (positions, positions + trial.example.shift))
    left, right = trial.values(here), trial.values(there)
    allowed = _dot_error(trial, here) + _dot_error(trial, there)
    yield Sides(left @ left.T, right @ right.T, allowed)


def _dot_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return the noise of all pairs of rows; a row with itself has no angle noise, but what is left of it is second order."""
    values, scale = np.abs(trial.values(call)), abs(trial.number("scale"))
    one = value_error(trial, call) + scale * np.minimum(2.0, channel_noise(trial, call.arrays["positions"]))
    return np.asarray(one @ values.T + values @ one.T + one @ one.T)


def shift_matrix(trial: Trial) -> Iterator[Sides]:
    """A matrix moves every encoding by the shift: then ``v(p) + v(p + 2 c) = k v(p + c)`` in each channel, with one ``k`` for all ``p``."""
    positions, shift = trial.arguments.arrays["positions"], trial.example.shift
    middle, outer = _around(trial, positions, shift)
    reference_middle, reference_outer = _around(trial, positions + 1, shift)
    left, right = outer[0] * reference_middle[0], reference_outer[0] * middle[0]
    allowed = _product_error(outer, reference_middle) + _product_error(reference_outer, middle)
    yield Sides(left, right, allowed)


Inexact = tuple[np.ndarray, np.ndarray]


def _around(trial: Trial, positions: np.ndarray, shift: int) -> tuple[Inexact, Inexact]:
    """Return the middle of three encodings a shift apart, and the sum of the outer two, each with what it may be off by."""
    first, middle, last = (_inexact(trial, positions + step * shift) for step in range(3))
    return middle, (first[0] + last[0], first[1] + last[1])


def _inexact(trial: Trial, positions: np.ndarray) -> Inexact:
    call = trial.arguments.with_arrays(positions=positions)
    noise = abs(trial.number("scale")) * np.minimum(2.0, channel_noise(trial, positions))
    return trial.values(call), value_error(trial, call) + noise


def _product_error(one: Inexact, other: Inexact) -> np.ndarray:
    return np.asarray(np.abs(one[0]) * other[1] + one[1] * np.abs(other[0]) + one[1] * other[1])


def unique(trial: Trial) -> Iterator[Sides]:
    """Two encodings lie at least as far apart as their first pairs, which turn by whole positions: ``2 |sin((p - q) / 2)|``."""
    call, scale = trial.arguments, abs(trial.number("scale"))
    values, positions = trial.values(call), call.arrays["positions"]
    apart = np.sqrt(np.sum((values[:, None] - values[None]) ** 2, axis=-1))
    least = 2 * scale * np.abs(np.sin((positions[:, None] - positions[None]) / 2))
    # The first pair's angles are exact, so only two channels of either row err: their values, not their angles.
    error = math.sqrt(2) * np.max(value_error(trial, call), axis=-1)
    yield Sides(np.minimum(apart, least), least, error[:, None] + error[None])


def orthogonal(trial: Trial) -> Iterator[Sides]:
    """The matrix times its transpose is the identity."""
    matrices = trial.values(trial.arguments)
    error = _entry_error(trial, trial.arguments)
    sizes = np.abs(matrices)
    allowed = error @ np.swapaxes(sizes, -1, -2) + sizes @ np.swapaxes(error, -1, -2)
    yield Sides(matrices @ np.swapaxes(matrices, -1, -2), np.broadcast_to(np.eye(2), matrices.shape), allowed)


def _entry_error(trial: Trial, call: Arguments) -> np.ndarray:
    return np.asarray(3 * trial.units.step + trial.units.stored * np.abs(trial.values(call)) + trial.rounding(call))


def matrix_at_origin(trial: Trial) -> Iterator[Sides]:
    """The matrix of offset 0 is the identity, exactly."""
    offsets = trial.arguments.arrays["offsets"]
    matrices = trial.values(trial.arguments.with_arrays(offsets=np.zeros_like(offsets)))
    yield Sides(matrices, np.broadcast_to(np.eye(2), matrices.shape), np.zeros_like(matrices))


def matrix_addition(trial: Trial) -> Iterator[Sides]:
    """The matrix of a sum of offsets is the product of their matrices."""
    offsets, shift = trial.arguments.arrays["offsets"], trial.example.shift
    calls = [trial.arguments.with_arrays(offsets=p) for p in (offsets, np.full_like(offsets, shift), offsets + shift)]
    noise = sum(angle_noise(trial.units, call.arrays["offsets"], wave_frequencies(trial)) for call in calls)
    tables = 3 * (TABLE * trial.units.step + trial.units.stored)
    roundings = math.sqrt(2) * sum(np.max(trial.rounding(call), axis=(-1, -2)) for call in calls)
    left = trial.values(calls[0]) @ trial.values(calls[1])
    allowed = np.broadcast_to((noise + tables + roundings)[..., None, None], left.shape)
    yield Sides(left, trial.values(calls[2]), allowed)


LAWS: Mapping[Law, Checker] = {
    Law.SHIFT_MATRIX: shift_matrix,
    Law.CONSTANT_NORM: constant_norm,
    Law.DOT_PRODUCT: dot_product,
    Law.BOUNDED: bounded,
    Law.ORTHOGONAL: orthogonal,
}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("sinusoidal.encode", Law.UNIQUE): unique,
    ("sinusoidal.shift_matrix", Law.IDENTITY_AT_ORIGIN): matrix_at_origin,
    ("sinusoidal.shift_matrix", Law.COMPOSITION): matrix_addition,
}
