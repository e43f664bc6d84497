"""Laws of LongRoPE: two lists of factors, the length that chooses between them, and the attention factor."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.budget import angle_noise, frequencies, frequency_error
from conformance.laws.interpolation import constant
from conformance.laws.trial import Checker, Sides, Trial
from conformance.laws.turning import stretch, turning_error
from refimpl.spec import Law

#: Logarithms, quotient, sum and root of an attention factor: three units.
FACTOR = 3
#: The quotient by a factor that is 1, or none: two units.
DIVIDED = 2
#: The angles of positions up to 2, on either side: two units each.
NEAR = 8


def _at(call: Arguments, beyond: int) -> Arguments:
    """Return the call at the original length, or so many tokens beyond it."""
    return call.with_parameters(length=int(call.parameters["original_length"]) + beyond)


def _doubled(call: Arguments, name: str) -> Arguments:
    """Return the call with one list of factors doubled."""
    return call.with_arrays(**{name: 2 * call.arrays[name]})


def _switches(trial: Trial) -> Iterator[tuple[Arguments, Arguments]]:
    """Yield pairs of calls that differ in the list that doesn't count."""
    yield _at(trial.arguments, 0), _doubled(_at(trial.arguments, 0), "long_factors")
    yield _at(trial.arguments, 1), _doubled(_at(trial.arguments, 1), "short_factors")


def frequencies_switch(trial: Trial) -> Iterator[Sides]:
    """Doubling the factors that don't count at a length changes no frequency."""
    for one, other in _switches(trial):
        left, right = trial.values(one), trial.values(other)
        allowed = DIVIDED * trial.units.step * (np.abs(left) + np.abs(right)) + trial.rounding(one) + trial.rounding(other)
        yield Sides(left, right, allowed)


def rotation_switches(trial: Trial) -> Iterator[Sides]:
    """Doubling the factors that don't count at a length turns nothing further."""
    error = turning_error(trial.units, trial.arguments.arrays["x"], stretch(trial).gain)
    for one, other in _switches(trial):
        yield Sides(trial.values(one), trial.values(other), 2 * error + trial.rounding(one) + trial.rounding(other))


def inconsistent_cache(trial: Trial) -> Iterator[Sides]:
    """A key turned at the original length scores otherwise than one turned a token later, by more than rounding explains.

    Key and query are alike and stand at position 2, so their score is the largest there is, unless the cached key was turned differently:
    with factor 1 instead of 4 it loses ``1 - cos 1.5`` of itself.
    """
    call = _fastest_pair(trial)
    cached, fresh = _at(call, 0), _at(call, 1)
    key, query = (trial.values(each)[0, 0, -1] for each in (cached, fresh))
    final = np.sum((np.abs(key) + 3 * np.abs(query)) * (trial.rounding(cached) + trial.rounding(fresh))[0, 0, -1])
    size = stretch(trial)
    turned = 4 * (trial.units.turned + size.error + NEAR * trial.units.step) * size.gain**2 * np.sum(call.arrays["x"][0, 0, -1] ** 2)
    demanded = np.asarray(turned + final)
    yield Sides(np.minimum(query @ query - query @ key, demanded), demanded, np.zeros(()), "query x key")


def _fastest_pair(trial: Trial) -> Arguments:
    """Return a call with three equal tokens that have energy in the fastest pair alone, short factors of 1 and long factors of 4."""
    call, width = constant(trial.arguments, 1), trial.whole("head_dim")
    x = np.zeros((1, 1, 3, width))
    x[..., [0, width // 2 if call.parameters["layout"] == "half" else 1]] = 1.0
    return call.with_arrays(x=x, positions=np.arange(3), long_factors=4 * call.arrays["long_factors"])


def frequencies_reduce(trial: Trial) -> Iterator[Sides]:
    """With factors of 1 the frequencies are plain rope's, at any length."""
    theta = frequencies(trial.whole("head_dim"), trial.number("base"))
    error = (frequency_error(trial.units, theta, trial.number("base")) + DIVIDED * trial.units.step) * theta
    for call in (_at(constant(trial.arguments, 1), beyond) for beyond in (0, 1)):
        yield Sides(trial.values(call), theta, error + trial.rounding(call))


def rotation_reduces(trial: Trial) -> Iterator[Sides]:
    """With factors of 1 and nothing stretched the length doesn't matter."""
    plain = constant(trial.arguments, 1).with_parameters(max_length=trial.whole("original_length"))
    yield _same_turn(trial, _at(plain, 0), _at(plain, 1))


def searched_reduces(trial: Trial) -> Iterator[Sides]:
    """With factors of 1 it doesn't matter where the start ends."""
    plain = constant(trial.arguments, 1)
    everything = 1 + max(0, int(plain.arrays["positions"].max()))
    yield _same_turn(trial, plain.with_parameters(start_tokens=0), plain.with_parameters(start_tokens=everything))


def _same_turn(trial: Trial, one: Arguments, other: Arguments) -> Sides:
    """Return both turned vectors, and what they may differ by where a quotient by 1 is rounded, or not computed."""
    theta, positions = frequencies(trial.whole("head_dim"), trial.number("base")), one.arrays["positions"]
    angles = (1 + DIVIDED) * angle_noise(trial.units, positions, theta)
    error = turning_error(trial.units, one.arrays["x"], 1.0, angles[:, None] if positions.ndim == 2 else angles)
    return Sides(trial.values(one), trial.values(other), 2 * error + trial.rounding(one) + trial.rounding(other))


def factor_reduces(trial: Trial) -> Iterator[Sides]:
    """Where nothing is stretched the attention factor is 1."""
    original = trial.whole("original_length")
    for length in (original, max(1, original // 2)):
        yield Sides(trial.values(trial.arguments.with_parameters(max_length=length)), np.ones(()), np.zeros(()))


def _stretched(trial: Trial, by: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the attention factor of a stretch, and what it may be off by."""
    call = trial.arguments.with_parameters(max_length=by * trial.whole("original_length"))
    value = trial.values(call)
    return value, np.asarray(FACTOR * trial.units.step * np.abs(value) + trial.rounding(call))


def grows(trial: Trial) -> Iterator[Sides]:
    """Twice the length has a larger attention factor, or the same."""
    by = 1 + trial.example.shift % 64
    (once, error), (twice, another) = _stretched(trial, by), _stretched(trial, 2 * by)
    yield Sides(np.minimum(once, twice), once, error + another)


def stretches_add(trial: Trial) -> Iterator[Sides]:
    """The squares of the factors of two stretches, each less 1, add up to that of both together."""
    by = 2 + trial.example.shift % 31
    two, other, both = (_stretched(trial, stretch) for stretch in (2, by, 2 * by))
    allowed = sum(2 * value * error for value, error in (two, other, both)) + sum(error**2 for _, error in (two, other, both))
    yield Sides(two[0] ** 2 + other[0] ** 2 - 1.0, both[0] ** 2, np.asarray(allowed))


LAWS: Mapping[Law, Checker] = {
    Law.SWITCHES: rotation_switches,
    Law.INCONSISTENT_CACHE: inconsistent_cache,
    Law.GROWS: grows,
    Law.STRETCHES_ADD: stretches_add,
}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("longrope.frequencies", Law.SWITCHES): frequencies_switch,
    ("longrope.frequencies", Law.REDUCES_TO_ROPE): frequencies_reduce,
    ("longrope.attention_factor", Law.REDUCES_TO_ROPE): factor_reduces,
    ("longrope.rotate", Law.REDUCES_TO_ROPE): rotation_reduces,
    ("longrope.rotate_searched", Law.REDUCES_TO_ROPE): searched_reduces,
}
