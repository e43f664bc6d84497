"""Laws of ladders: numbers that fall by a constant ratio, as frequencies and slopes do, and what stretches them."""

import math
from collections.abc import Iterator, Mapping
from itertools import chain

import numpy as np

from conformance.calls.subject import CallRefusedError
from conformance.laws.inexact import Inexact, exact
from conformance.laws.roles import GIVEN, lasting, placed, unstretched
from conformance.laws.trial import Checker, Sides, Trial, at_most, exactly, same
from conformance.spec.arguments import Arguments
from conformance.spec.choices import ENDS, agree
from conformance.spec.declarations import plain
from refimpl.spec import Law

#: Parameters that say where frequencies are stretched.
RAMP = ("original_length", "truncate", *chain.from_iterable(ENDS))


def geometric(trial: Trial) -> Iterator[Sides]:
    """The first frequency is 1, and the square of every frequency is the product of its neighbours."""
    rungs = trial.answer(trial.arguments)
    yield exactly(rungs.values[:1], 1.0)
    yield same(rungs[:-2] * rungs[2:], rungs[1:-1] * rungs[1:-1])


def nested(trial: Trial) -> Iterator[Sides]:
    """Every second frequency of a head twice as wide is a frequency of this one; slopes of more heads hold even ones first, then odd."""
    call, heads = trial.arguments, trial.arguments.parameters.get("num_heads")
    if heads is None:
        finer = call.with_parameters(head_dim=2 * trial.whole("head_dim"))
        yield same(trial.answer(call), trial.answer(finer)[::2])
        return
    finer = call.with_parameters(num_heads=2 * _series(trial))
    order = np.r_[1 : 2 * _series(trial) : 2, 0 : 2 * int(heads) : 2][: int(heads)]
    yield same(trial.answer(call), trial.answer(finer)[order])


def reach(trial: Trial) -> Iterator[Sides]:
    """Two frequencies as far from the first pair as from the end multiply to 1 / base; the last slope of a series is 2^(-max_bias)."""
    rungs = trial.answer(trial.arguments)
    if "base" in trial.arguments.parameters:
        yield same(rungs[1:] * rungs[1:][::-1], 1.0 / trial.number("base"))
    else:
        yield same(rungs[_series(trial) - 1], 2.0 ** -trial.number("max_bias"))


def slopes_in_unit_interval(trial: Trial) -> Iterator[Sides]:
    """Slopes lie between 0 and 1, those of the first series start where they must, and all fall by one ratio."""
    slopes, whole = trial.answer(trial.arguments), _series(trial)
    yield exactly((slopes.values > 0.0) & (slopes.values < 1.0), 1.0)
    series, halves = slopes[:whole], slopes[whole:]
    yield same(series[:1], 2.0 ** (-trial.number("max_bias") / whole))
    yield same(series[:-2] * series[2:], series[1:-1] * series[1:-1])
    yield same(halves[:1] * halves[:1], series[:1][: halves.values.size])
    yield same(halves[1:] * halves[1:], (series[:-1] * series[1:])[: max(halves.values.size - 1, 0)])


def _series(trial: Trial) -> int:
    """Return how many heads have slopes of the first series: the largest power of two that fits, or by the paper's rule all."""
    heads = trial.whole("num_heads")
    return heads if trial.arguments.parameters["slopes"] == "paper" else 1 << (heads.bit_length() - 1)


def between(trial: Trial) -> Iterator[Sides]:
    """No frequency is above the plain one, or below the plain one divided by the factor."""
    values, unslowed = trial.answer(trial.arguments), _plain(trial)
    yield at_most(values, unslowed)
    yield at_most(unslowed, trial.number("factor") * values)


def ratio_falls(trial: Trial) -> Iterator[Sides]:
    """The ratio to the plain frequency starts at 1, or below it where the fastest pair is slowed too, and never rises."""
    ratios = trial.answer(trial.arguments) * (1.0 / _plain(trial).values)
    yield at_most(ratios[:1], 1.0) if trial.arguments.parameters.get("fastest") == "slowed" else same(ratios[:1], 1.0)
    yield at_most(ratios[1:], ratios[:-1])


def _plain(trial: Trial) -> Inexact:
    """Return the frequencies without what the scheme does to them."""
    return trial.right((plain(trial.operation.name) or trial.operation).name, trial.arguments)


def reduces_to_rope(trial: Trial) -> Iterator[Sides]:
    """With factors of 1 the operation is plain rope's, whatever shapes the ramp and at any length; what multiplies is 1."""
    without = plain(trial.operation.name)
    for call in _ramps(trial, unstretched(trial.arguments)):
        yield same(trial.answer(call), 1.0) if without is None else same(trial.answer(call), trial.right(without.name, call))


def _ramps(trial: Trial, call: Arguments) -> Iterator[Arguments]:
    """Yield a call with other ramps, at lengths before and beyond the original one, and with starts that hold all or nothing."""
    parameters = call.parameters
    other = call.with_parameters(**{name: trial.example.parameters[name] for name in RAMP if name in parameters})
    yield call
    if "max_length" in parameters and not call.arrays:
        yield call.with_parameters(max_length=max(1, int(parameters["original_length"]) // 2))
    elif "length" in parameters:
        yield from (lasting(trial, call, int(parameters["original_length"]) + beyond) for beyond in (0, 1))
    elif "start_tokens" in parameters:
        yield call.with_parameters(start_tokens=1 + max(0, int(call.arrays["positions"].max())))
    elif agree(other.parameters):
        yield other


def interpolates(trial: Trial) -> Iterator[Sides]:
    """Stretched by s in every pair, position s p is what position p is unstretched: s times the frequency is the plain one."""
    call, by = trial.arguments, 2 + trial.example.shift % 3
    once, stretched = unstretched(call), unstretched(call, by)
    if "positions" not in call.arrays:
        yield same(by * trial.answer(stretched), trial.answer(once))
        return
    if trial.subject.counted:
        message = "positions that count up have no multiples without others between"
        raise CallRefusedError(message)
    near, far = placed(once, lambda positions: positions // by), placed(stretched, lambda positions: positions // by * by)
    yield same(trial.answer(far), trial.answer(near))


def whole_wavelengths(trial: Trial) -> Iterator[Sides]:
    """Every frequency times the whole number nearest to its wavelength is a turn."""
    rungs = trial.answer(trial.arguments)
    with np.errstate(divide="ignore", invalid="ignore"):
        yield same(rungs * np.rint(2 * math.pi / rungs.values), 2 * math.pi)


def nearest(trial: Trial) -> Iterator[Sides]:
    """In half a position less than rope's wavelength no pair turns once, and in half a position more than the longest every pair has."""
    rungs, parameters = trial.answer(trial.arguments), trial.arguments.parameters
    own = 2 * math.pi * trial.number("base") ** (2 * np.arange(rungs.values.size) / trial.whole("head_dim"))
    yield at_most((own - 0.5) * rungs, 2 * math.pi)
    yield at_most(exact(2 * math.pi), (own * float(parameters.get("factor", 1.0)) + 0.5) * rungs)


def falls(trial: Trial) -> Iterator[Sides]:
    """No frequency is above the one before it."""
    rungs = trial.answer(trial.arguments)
    yield at_most(rungs[1:], rungs[:-1])


def however_many(trial: Trial) -> Iterator[Sides]:
    """The pairs that turn have the frequencies that they have where all turn, and the others have frequency 0."""
    rungs, count = trial.answer(trial.arguments), trial.whole("turned_pairs")
    yield same(rungs[:count], trial.answer(trial.arguments.with_parameters(turned_pairs=rungs.values.size))[:count])
    yield exactly(rungs.values[count:], 0.0)


def exponential(trial: Trial) -> Iterator[Sides]:
    """Every frequency is e to its exponent times the frequency that it is with exponents of 0."""
    exponents = trial.arguments.arrays["exponents"].astype(np.float64)
    without = trial.answer(trial.arguments.with_arrays(exponents=np.zeros_like(exponents)))
    yield same(trial.answer(trial.arguments), without * np.exp(exponents))


def apart(trial: Trial) -> Iterator[Sides]:
    """One more in one exponent leaves the frequencies of all other pairs as they are."""
    exponents = trial.arguments.arrays["exponents"]
    own = np.arange(exponents.size) == trial.example.shift % exponents.size
    changed = trial.answer(trial.arguments.with_arrays(exponents=exponents + own))
    yield same(trial.answer(trial.arguments)[~own], changed[~own])


def plain_within_length(trial: Trial) -> Iterator[Sides]:
    """At the original length, and at half of it, the operation is plain rope's."""
    without, longest = plain(trial.operation.name), trial.whole("original_length")
    for length in (longest, max(1, longest // 2)):
        call = lasting(trial, trial.arguments, length)
        yield same(trial.answer(call), trial.right((without or trial.operation).name, call))


def slows_with_length(trial: Trial) -> Iterator[Sides]:
    """Twice the length has no higher frequency."""
    longer = trial.arguments.with_parameters(length=2 * trial.whole("length"))
    yield at_most(trial.answer(longer), trial.answer(trial.arguments))


def inconsistent_cache(trial: Trial) -> Iterator[Sides]:
    """A vector that is turned in a sequence of the original length fits itself less, turned in one of twice that length.

    That is demanded where more is lost, by proven values, than twice what rounding may make of the score.
    """
    longest = trial.whole("original_length")
    key = lasting(trial, trial.arguments, longest)
    calls = key, key.with_parameters(length=2 * longest)
    lost = _lost(*map(trial.answer, calls))
    demanded = _lost(*(trial.right(trial.operation.name, call) for call in calls)).values > 2 * lost.error
    left, right = (np.where(demanded, side, 0.0) for side in (np.minimum(lost.values, lost.error), lost.error))
    yield Sides(left, right, np.zeros(right.shape), "query x key")


def _lost(key: Inexact, query: Inexact) -> Inexact:
    """Return how much less vectors fit their own keys than themselves."""
    return (query * query).total() - (query * key).total()


def logarithmic(trial: Trial) -> Iterator[Sides]:
    """Doubling the factor adds the slope times ln 2 to the attention factor, where nothing overrides it."""
    once = max(1.0, trial.number("factor"))
    plain = trial.arguments.with_parameters(attention_factor=None, mscale=None, mscale_all_dim=None, factor=once)
    yield same(trial.answer(plain.with_parameters(factor=2.0 * once)) - trial.answer(plain), trial.number("slope") * math.log(2.0))


def override(trial: Trial) -> Iterator[Sides]:
    """An attention factor that is given comes back as it is, whatever the other parameters say."""
    given = 1.0 + trial.example.shift % 16 / 16
    names = [name for name in GIVEN if name in trial.operation.parameters]
    yield same(trial.answer(trial.arguments.with_parameters(**dict.fromkeys(names, given))), given)


def halves(trial: Trial) -> Iterator[Sides]:
    """Four times the width gives half the scale."""
    wider = trial.arguments.with_parameters(qk_head_dim=4 * trial.whole("qk_head_dim"))
    yield same(2.0 * trial.answer(wider), trial.answer(trial.arguments))


def unstretched_scale(trial: Trial) -> Iterator[Sides]:
    """Without a stretch, or with a strength of 0 or none, the square of the scale is one over the width."""
    for given in ({"factor": 1.0}, {"factor": 0.5}, {"mscale_all_dim": None}, {"mscale_all_dim": 0.0}):
        scale = trial.answer(trial.arguments.with_parameters(**given))
        yield same(float(trial.whole("qk_head_dim")) * scale * scale, 1.0)


def square_of_growth(trial: Trial) -> Iterator[Sides]:
    """What two doublings of the factor add, less twice what one adds, is twice the square of a tenth of the strength times ln 2."""
    call, once, strength = trial.arguments, max(1.0, trial.number("factor")), (0.5, 1.0, 2.0)[trial.example.shift % 3]
    first, second, third = (trial.answer(call.with_parameters(factor=by * once, mscale_all_dim=strength)) for by in (1.0, 2.0, 4.0))
    plain = trial.answer(call.with_parameters(mscale_all_dim=None))
    yield same(third - 2.0 * second + first, plain * (2.0 * (0.1 * strength * math.log(2.0)) ** 2))


LAWS: Mapping[Law, Checker] = {
    Law.GEOMETRIC: geometric,
    Law.NESTED: nested,
    Law.REACH: reach,
    Law.SLOPES_IN_UNIT_INTERVAL: slopes_in_unit_interval,
    Law.BETWEEN: between,
    Law.RATIO_FALLS: ratio_falls,
    Law.REDUCES_TO_ROPE: reduces_to_rope,
    Law.INTERPOLATES: interpolates,
    Law.WHOLE_WAVELENGTHS: whole_wavelengths,
    Law.NEAREST: nearest,
    Law.FALLS: falls,
    Law.HOWEVER_MANY: however_many,
    Law.EXPONENTIAL: exponential,
    Law.APART: apart,
    Law.PLAIN_WITHIN_LENGTH: plain_within_length,
    Law.SLOWS_WITH_LENGTH: slows_with_length,
    Law.INCONSISTENT_CACHE: inconsistent_cache,
    Law.LOGARITHMIC: logarithmic,
    Law.OVERRIDE: override,
    Law.HALVES: halves,
    Law.UNSTRETCHED: unstretched_scale,
    Law.SQUARE_OF_GROWTH: square_of_growth,
}
