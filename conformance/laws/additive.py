"""Laws of sinusoidal encodings: they hold for every order of channels and every spacing of frequencies."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.inexact import Inexact, exact
from conformance.laws.roles import shifted
from conformance.laws.trial import Checker, Sides, Trial, at_most, same
from refimpl.spec import Law


def scale(trial: Trial) -> float:
    """Return what values are multiplied by: 1 where an encoding has no such parameter."""
    return float(trial.arguments.parameters.get("scale", 1.0))


def constant_norm(trial: Trial) -> Iterator[Sides]:
    """Every pair adds the square of the scale to the squared norm."""
    code = trial.answer(trial.arguments)
    yield same((code * code).total(), scale(trial) ** 2 * (trial.whole("dim") // 2))


def bounded(trial: Trial) -> Iterator[Sides]:
    """No value leaves the interval from -1 to 1, times the scale."""
    code = trial.answer(trial.arguments)
    for side in (code, -code):
        yield at_most(side, abs(scale(trial)))


def dot_product(trial: Trial) -> Iterator[Sides]:
    """The dot product of two encodings does not change when both positions move by the same shift."""
    here, there = (trial.answer(call) for call in (trial.arguments, shifted(trial, trial.arguments)))
    yield same(here @ here.transposed, there @ there.transposed)


def shift_matrix(trial: Trial) -> Iterator[Sides]:
    """A matrix moves every encoding by the shift: then ``v(p) + v(p + 2 c) = k v(p + c)`` in each channel, with one ``k`` for all ``p``."""
    (middle, outer), (other_middle, other_outer) = (_around(trial, start) for start in (0, 1))
    yield same(outer * other_middle, other_outer * middle)


def _around(trial: Trial, start: int) -> tuple[Inexact, Inexact]:
    """Return the middle of three encodings a shift apart, and the sum of the outer two."""
    positions = trial.arguments.arrays["positions"] + start
    first, middle, last = (trial.answer(trial.arguments.with_arrays(positions=positions + step * trial.example.shift)) for step in range(3))
    return middle, first + last


def unique(trial: Trial) -> Iterator[Sides]:
    """Two encodings lie at least as far apart as the first pairs of all axes, which turn by whole positions: ``2 |sin((p - q) / 2)|``."""
    code, positions = trial.answer(trial.arguments), trial.arguments.arrays["positions"]
    places = positions.reshape(len(positions), -1)
    least = 2 * abs(scale(trial)) * np.linalg.norm(np.sin((places[:, None] - places[None]) / 2), axis=-1)
    yield at_most(exact(least), (code[:, None] - code[None]).norm())


LAWS: Mapping[Law, Checker] = {
    Law.SHIFT_MATRIX: shift_matrix,
    Law.CONSTANT_NORM: constant_norm,
    Law.DOT_PRODUCT: dot_product,
    Law.BOUNDED: bounded,
    Law.UNIQUE: unique,
}
