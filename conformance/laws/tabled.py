"""Laws of operations that are given their cosines and sines, or return them: no angle is rounded where tables are given."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.budget import TABLE, TURN, angle_noise, frequencies, norm, summed
from conformance.laws.trial import Checker, Sides, Trial
from conformance.laws.turning import arithmetic_error, given_gain, in_pairs, reread, rewritten
from refimpl.spec import Law

QUARTER_TURNS = ((0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def uniform(arguments: Arguments) -> Arguments:
    """Return the same call with one cosine and sine per token, so that no law depends on the pairing."""
    first = {name: np.repeat(arguments.arrays[name][..., :1], arguments.arrays[name].shape[-1], axis=-1) for name in ("cos", "sin")}
    return arguments.with_arrays(**first)


def gain_of(call: Arguments) -> np.ndarray:
    """Return how much every vector is stretched by uniform tables."""
    gain = np.hypot(call.arrays["cos"], call.arrays["sin"])[..., 0]
    return np.asarray(gain[:, None] if gain.ndim == 2 else gain)


def isometry(trial: Trial) -> Iterator[Sides]:
    """Turning by one cosine and sine per token stretches every vector by their norm."""
    call = uniform(trial.arguments)
    right = gain_of(call) * norm(call.arrays["x"])
    floor = 4 * trial.units.least * math.sqrt(call.arrays["x"].shape[-1])
    turned = TURN * trial.units.product * right + floor + norm(trial.rounding(call))
    yield Sides(norm(trial.values(call)), right, turned + summed(call.arrays["x"].shape[-1], right))


def identity_at_origin(trial: Trial) -> Iterator[Sides]:
    """A cosine of 1 and a sine of 0 turn nothing."""
    cos = trial.arguments.arrays["cos"]
    call = trial.arguments.with_arrays(cos=np.ones_like(cos), sin=np.zeros_like(cos))
    right = rewritten(trial, call.arrays["x"])
    yield Sides(trial.values(call), right, np.zeros_like(right))


def composition(trial: Trial) -> Iterator[Sides]:
    """Turning by the given tables and then by quarter turns is turning by tables that are a quarter further."""
    call = trial.arguments
    cos, sin = call.arrays["cos"], call.arrays["sin"]
    c, s = QUARTER_TURNS[trial.example.shift % 3]
    twice = call.with_arrays(x=reread(trial, trial.values(call)), cos=np.full_like(cos, c), sin=np.full_like(sin, s))
    once = call.with_arrays(cos=c * cos - s * sin, sin=s * cos + c * sin)
    turns = 2 * arithmetic_error(trial.units, call.arrays["x"], given_gain(call))
    allowed = turns + in_pairs(trial.rounding(call)) + trial.rounding(twice) + trial.rounding(once)
    yield Sides(trial.values(twice), trial.values(once), allowed)


def inverse(trial: Trial) -> Iterator[Sides]:
    """Turning back by the same tables gives every vector back, times the square of their norm."""
    call = uniform(trial.arguments)
    back = call.with_arrays(x=reread(trial, trial.values(call)), sin=-call.arrays["sin"])
    right = (gain_of(call) ** 2)[..., None] * rewritten(trial, call.arrays["x"])
    turns = 2 * arithmetic_error(trial.units, call.arrays["x"], given_gain(call) ** 2) + 8 * trial.units.least
    allowed = turns + given_gain(call) * in_pairs(trial.rounding(call)) + trial.rounding(back)
    yield Sides(trial.values(back), right, allowed + summed(2, np.abs(right)))


def on_circle(trial: Trial) -> Iterator[Sides]:
    """The squares of cosine and sine add up to 1."""
    call = trial.arguments
    cos, sin = trial.values(call, "cos"), trial.values(call, "sin")
    size = np.abs(cos) + np.abs(sin)
    units = 3 * trial.units.step * size + trial.units.stored * (cos**2 + sin**2)
    roundings = np.abs(cos) * trial.rounding(call, "cos") + np.abs(sin) * trial.rounding(call, "sin")
    yield Sides(cos**2 + sin**2, np.ones_like(cos), 2 * (units + roundings) + summed(2, np.ones_like(cos)), "cos, sin")


def tables_at_origin(trial: Trial) -> Iterator[Sides]:
    """At position 0 every cosine is 1 and every sine is 0, exactly."""
    positions = trial.arguments.arrays["positions"]
    start = np.zeros_like(positions) if not trial.subject.counted else positions - positions[..., :1]
    call = trial.arguments.with_arrays(positions=start)
    for name, value in (("cos", 1.0), ("sin", 0.0)):
        left = trial.values(call, name)[start == 0]
        yield Sides(left, np.full_like(left, value), np.zeros_like(left), name)


def addition(trial: Trial) -> Iterator[Sides]:
    """Cosine and sine of a sum follow from those of its terms."""
    positions, shift = trial.arguments.arrays["positions"], trial.example.shift
    calls = [trial.arguments.with_arrays(positions=p) for p in (positions, np.full_like(positions, shift), positions + shift)]
    theta = frequencies(trial.whole("head_dim"), trial.number("base"))
    noise = sum(angle_noise(trial.units, call.arrays["positions"], theta) for call in calls)
    c, s = ([trial.values(call, name) for call in calls] for name in ("cos", "sin"))
    allowed = noise + 3 * (TABLE * trial.units.step + trial.units.stored) + _roundings(trial, calls) + summed(2, np.ones_like(c[0]))
    yield Sides(c[0] * c[1] - s[0] * s[1], c[2], allowed, "cos")
    yield Sides(s[0] * c[1] + c[0] * s[1], s[2], allowed, "sin")


def _roundings(trial: Trial, calls: list[Arguments]) -> np.ndarray:
    return np.asarray(sum(trial.rounding(call, name) for call in calls for name in ("cos", "sin")))


LAWS: Mapping[Law, Checker] = {
    Law.TABLES_ON_CIRCLE: on_circle,
}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("rope.apply", Law.ISOMETRY): isometry,
    ("rope.apply", Law.IDENTITY_AT_ORIGIN): identity_at_origin,
    ("rope.apply", Law.COMPOSITION): composition,
    ("rope.apply", Law.INVERSE): inverse,
    ("rope.tables", Law.IDENTITY_AT_ORIGIN): tables_at_origin,
    ("rope.tables", Law.COMPOSITION): addition,
}
