"""Laws of attention over turned queries and keys."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from conformance.arguments import Arguments
from conformance.draw import seen_by_all
from conformance.laws.budget import angle_noise, dot_noise, frequencies, norm
from conformance.laws.trial import Checker, Sides, Trial
from refimpl.spec import Law

WIDEST = 20.0


@dataclass(frozen=True)
class Scores:
    """What every logit may be off by, and the most that it can be."""

    error: np.ndarray
    most: np.ndarray


#: What every logit of an operation may be off by: all that a scheme has to say for the laws of its attention.
Budget = Callable[[Trial, Arguments], Scores]
Noise = Callable[[Trial, Arguments, str], np.ndarray]
#: Puts what a rearranged call gave back in place.
Rearrange = Callable[[np.ndarray], np.ndarray]


def turned_scores(trial: Trial, call: Arguments, *, angles: bool = True) -> Scores:
    """Return the budget of logits of turned queries and keys: angles, turning, the dot product in any order, the scale."""
    q, k = grouped(call)
    noise = tuple(_noise(trial, call.arrays[name]) * float(angles) for name in ("query_positions", "key_positions"))
    width = q.shape[-1]
    most = norm(q)[..., :, None] * norm(k)[..., None, :] / math.sqrt(width)
    turned = dot_noise(trial.units, q, k, (noise[0], noise[1]), 1.0) / math.sqrt(width)
    return Scores(turned + (width - 1 + 1 + 3) * trial.units.product * most, most)


def plain_scores(trial: Trial, call: Arguments) -> Scores:
    """Return the budget of plain logits: products and their sum in any order, three units for the scale, and what underflows."""
    q, k = grouped(call)
    width = q.shape[-1]
    most = np.abs(q) @ np.swapaxes(np.abs(k), -1, -2) / math.sqrt(width)
    return Scores((width - 1 + 1 + 3) * trial.units.product * most + 2 * width * trial.units.least, most)


def grouped(call: Arguments) -> tuple[np.ndarray, np.ndarray]:
    """Return queries and keys with one key head per query head."""
    q, k = call.arrays["q"], call.arrays["k"]
    return q, np.repeat(k, q.shape[1] // k.shape[1], axis=1)


def _noise(trial: Trial, positions: np.ndarray) -> np.ndarray:
    noise = angle_noise(trial.units, positions, frequencies(trial.whole("head_dim"), trial.number("base")))
    return noise[:, None] if positions.ndim == 2 else noise


def share_error(trial: Trial, scores: Scores) -> np.ndarray:
    """Return the relative error of every weight: its own logit's, the largest, and those of exponential, sum and quotient."""
    exponent = scores.error + 4 * trial.units.product * scores.most
    worst = exponent + exponent.max(axis=-1, keepdims=True)
    steps = (8 + scores.error.shape[-1] + 2) * trial.units.product
    return np.asarray(np.expm1(np.minimum(worst, WIDEST)) + steps)


def share_rounding(trial: Trial, call: Arguments) -> np.ndarray:
    """Return the absolute error of a weight: its rounding, and what underflow takes."""
    return trial.rounding(call) + 4 * trial.units.least


def weights_sum_to_one(trial: Trial) -> Iterator[Sides]:
    """Every row of weights is non-negative and sums to 1."""
    call = trial.arguments
    values = trial.values(call)
    yield Sides(np.minimum(values, 0.0), np.zeros_like(values), np.zeros_like(values))
    total = np.sum(values, axis=-1)
    allowed = (values.shape[-1] + 2) * trial.units.product * total + np.sum(share_rounding(trial, call), axis=-1)
    yield Sides(total, np.ones_like(total), allowed)


def same_weights(trial: Trial, budget: Budget, one: Arguments, other: Arguments, again: Rearrange = np.asarray) -> Sides:
    """Return the weights of two calls, which should be equal once those of the other are put back in place."""
    left, right = trial.values(one), again(trial.values(other))
    relative = np.expm1(np.log1p(share_error(trial, budget(trial, one))) + np.log1p(again(share_error(trial, budget(trial, other)))))
    roundings = share_rounding(trial, one) + again(share_rounding(trial, other))
    return Sides(left, right, np.minimum(1.0, np.minimum(left, right) * relative) + roundings)


def weights_translation(budget: Budget) -> Checker:
    """Return what falsifies that a common shift of all positions changes no weight."""

    def falsify(trial: Trial) -> Iterator[Sides]:
        yield same_weights(trial, budget, trial.arguments, _moved(trial))

    return falsify


def weights_noise(budget: Budget) -> Noise:
    """Return what weights may be off by when their logits are within the budget."""

    def noise(trial: Trial, call: Arguments, _: str) -> np.ndarray:
        relative = share_error(trial, budget(trial, call))
        return np.asarray(np.minimum(1.0, trial.values(call) * relative) + share_rounding(trial, call))

    return noise


def _moved(trial: Trial) -> Arguments:
    arrays = trial.arguments.arrays
    return trial.arguments.with_arrays(**{name: arrays[name] + trial.example.shift for name in ("query_positions", "key_positions")})


def average_error(trial: Trial, call: Arguments, scores: Scores) -> np.ndarray:
    """Return what an average of values may be off by: at most their spread, plus its own products and sums."""
    relative = share_error(trial, scores).max(axis=-1)[..., None]
    spread, most = _spread(call)
    keys = call.arrays["k"].shape[-2]
    steps = (2 * keys + 2) * trial.units.product * most + keys * 4 * trial.units.least
    return np.asarray(np.minimum(spread, relative * most) + steps + trial.rounding(call))


def same_average(trial: Trial, budget: Budget, one: Arguments, other: Arguments, again: Rearrange = np.asarray) -> Sides:
    """Return the averages of two calls, which should be equal once those of the other are put back in place."""
    allowed = average_error(trial, one, budget(trial, one)) + again(average_error(trial, other, budget(trial, other)))
    return Sides(trial.values(one), again(trial.values(other)), allowed)


def _spread(call: Arguments) -> tuple[np.ndarray, np.ndarray]:
    """Return for every query head and channel how far its values lie apart, and the largest of them."""
    v = np.repeat(call.arrays[values_of(call)], call.arrays["q"].shape[1] // call.arrays["k"].shape[1], axis=1)
    return v.max(axis=-2, keepdims=True) - v.min(axis=-2, keepdims=True), np.abs(v).max(axis=-2, keepdims=True)


def average_translation(budget: Budget) -> Checker:
    """Return what falsifies that a common shift of all positions does not change what is attended to."""

    def falsify(trial: Trial) -> Iterator[Sides]:
        yield same_average(trial, budget, trial.arguments, _moved(trial))

    return falsify


def averages_noise(budget: Budget) -> Noise:
    """Return what averages may be off by when their logits are within the budget."""

    def noise(trial: Trial, call: Arguments, _: str) -> np.ndarray:
        return average_error(trial, call, budget(trial, call))

    return noise


def values_of(call: Arguments) -> str:
    """Return the name of the array that attention averages; a scheme whose v is something else calls it ``values``."""
    return "values" if "values" in call.arrays else "v"


def constant_values(trial: Trial) -> Iterator[Sides]:
    """Attention over equal values returns that value, whatever the weights are."""
    name = values_of(trial.arguments)
    v = trial.arguments.arrays[name]
    call = trial.arguments.with_arrays(**{name: np.broadcast_to(v[..., :1, :], v.shape).copy()})
    left = trial.values(call)
    right = np.broadcast_to(np.repeat(v[..., :1, :], left.shape[1] // v.shape[1], axis=1), left.shape)
    keys = v.shape[-2]
    allowed = (2 * keys + 2) * trial.units.product * np.abs(right) + keys * 8 * trial.units.least + trial.rounding(call)
    yield Sides(left, right, allowed)


def causal(trial: Trial) -> Iterator[Sides]:
    """What a hidden key (or its value) holds changes nothing, and a hidden key has no weight."""
    call = _causal_call(trial)
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    hidden = key[..., None, :] > query[..., :, None]
    last = query.max(axis=-1, keepdims=True) < key
    changed = call.with_arrays(**{name: _changed(trial, name, last) for name in ("k", values_of(call)) if name in call.arrays})
    left = trial.values(call)
    yield Sides(left, trial.values(changed), _repeated(trial, call, left))
    if values_of(call) not in call.arrays:
        shares = left[np.broadcast_to(hidden[:, None] if hidden.ndim == 3 else hidden, left.shape)]
        yield Sides(shares, np.zeros_like(shares), np.zeros_like(shares))


def _causal_call(trial: Trial) -> Arguments:
    """Return the call under a mask that hides the last key from every query, where positions can be chosen."""
    call = trial.arguments.with_parameters(causal=True)
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    takes = trial.subject.takes
    if takes.counted or takes.queries == "at_end" or key.shape[-1] == 1:
        return Arguments(seen_by_all(call.arrays), call.parameters)
    first, latest = np.minimum(key[..., :1], query.min()), query.max()
    between = np.minimum(key[..., 1:-1], latest)
    return call.with_arrays(key_positions=np.concatenate([first, between, np.full_like(first, latest + 1)], axis=-1))


def _changed(trial: Trial, name: str, hidden: np.ndarray) -> np.ndarray:
    """Return keys or values with other contents where no query sees them."""
    here = hidden[:, None, :, None] if hidden.ndim == 2 else hidden[:, None]
    return np.where(here, trial.example.others[name] + trial.example.scalars[0], trial.arguments.arrays[name])


def _repeated(trial: Trial, call: Arguments, values: np.ndarray) -> np.ndarray:
    """Return what the same weights may differ by when the exponentials, sums and products are made again."""
    keys = call.arrays["k"].shape[-2]
    return np.asarray((2 * keys + 10) * trial.units.product * np.abs(values) + 2 * trial.rounding(call) + keys * 8 * trial.units.least)


LAWS: Mapping[Law, Checker] = {
    Law.WEIGHTS_SUM_TO_ONE: weights_sum_to_one,
    Law.CONSTANT_VALUES: constant_values,
    Law.CAUSAL: causal,
}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("rope.weights", Law.TRANSLATION): weights_translation(turned_scores),
    ("rope.attend", Law.TRANSLATION): average_translation(turned_scores),
}

#: What computing twice may change: the angle term is shared.
NOISE: Mapping[str, Noise] = {
    "rope.weights": weights_noise(partial(turned_scores, angles=False)),
    "rope.attend": averages_noise(partial(turned_scores, angles=False)),
}
