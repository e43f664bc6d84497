"""Laws of ladders: numbers that fall by a constant ratio, as frequencies and slopes do."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.bias import slope_error
from conformance.laws.budget import frequencies, frequency_error
from conformance.laws.trial import Checker, Sides, Trial
from refimpl.spec import Law

#: An attention factor is a logarithm, a product and a sum: three units.
FACTOR = 3


def _frequency_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what every frequency may be off by."""
    theta = frequencies(int(call.parameters["head_dim"]), trial.number("base"))
    return np.asarray(frequency_error(trial.units, theta, trial.number("base")) * theta + trial.rounding(call))


def frequencies_nested(trial: Trial) -> Iterator[Sides]:
    """Every second frequency of a head twice as wide is a frequency of this one."""
    call = trial.arguments
    finer = call.with_parameters(head_dim=2 * trial.whole("head_dim"))
    allowed = _frequency_error(trial, call) + _frequency_error(trial, finer)[::2]
    yield Sides(trial.values(call), trial.values(finer)[::2], allowed)


def frequencies_reach(trial: Trial) -> Iterator[Sides]:
    """Two frequencies as far from the first pair as from the end multiply to 1 / base."""
    rungs = trial.values(trial.arguments)[1:]
    error = _frequency_error(trial, trial.arguments)[1:]
    end = np.full_like(rungs, 1.0 / trial.number("base"))
    yield Sides(rungs * rungs[::-1], end, error * rungs[::-1] + rungs * error[::-1])


def _slope_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what every slope may be off by."""
    relative = slope_error(Trial(trial.subject, replace(trial.example, arguments=call)))
    return np.asarray(relative * np.abs(trial.values(call)) + trial.rounding(call))


def slopes_nested(trial: Trial) -> Iterator[Sides]:
    """The slopes of twice the power of two that fits hold every slope: the even ones first, then the odd ones."""
    call = trial.arguments
    heads = trial.whole("num_heads")
    finer = call.with_parameters(num_heads=2 << (heads.bit_length() - 1))
    order = np.r_[1 : int(finer.parameters["num_heads"]) : 2, 0 : 2 * heads : 2][:heads]
    allowed = _slope_error(trial, call) + _slope_error(trial, finer)[order]
    yield Sides(trial.values(call), trial.values(finer)[order], allowed)


def slopes_reach(trial: Trial) -> Iterator[Sides]:
    """The last slope of the largest power of two is 2^(-max_bias)."""
    last = (1 << (trial.whole("num_heads").bit_length() - 1)) - 1
    slopes, allowed = trial.values(trial.arguments), _slope_error(trial, trial.arguments)
    yield Sides(slopes[last], np.asarray(2.0 ** -trial.number("max_bias")), allowed[last])


def logarithmic(trial: Trial) -> Iterator[Sides]:
    """Doubling the factor adds a tenth of ln 2 to the attention factor, where nothing overrides it."""
    once = max(1.0, trial.number("factor"))
    plain = trial.arguments.with_parameters(attention_factor=None, mscale=None, mscale_all_dim=None, factor=once)
    doubled = plain.with_parameters(factor=2.0 * once)
    one, two = trial.values(plain), trial.values(doubled)
    allowed = FACTOR * trial.units.step * (np.abs(one) + np.abs(two)) + trial.rounding(plain) + trial.rounding(doubled)
    yield Sides(two - one, np.asarray(0.1 * math.log(2.0)), allowed)


LAWS: Mapping[Law, Checker] = {
    Law.NESTED: frequencies_nested,
    Law.REACH: frequencies_reach,
    Law.LOGARITHMIC: logarithmic,
}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("alibi.slopes", Law.NESTED): slopes_nested,
    ("alibi.slopes", Law.REACH): slopes_reach,
}
