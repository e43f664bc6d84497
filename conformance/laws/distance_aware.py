"""Laws of DA-Transformer: a factor that depends on the distance only, and attention over logits that are clipped and multiplied by it."""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.attention import (
    WIDEST,
    Scores,
    average_error,
    average_translation,
    averages_noise,
    grouped,
    share_error,
    share_rounding,
    weights_noise,
    weights_translation,
)
from conformance.laws.trial import Checker, Sides, Trial
from refimpl.spec import Law


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return ``1 / (1 + e^(-x))`` without overflow."""
    power = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0.0, 1.0, power) / (1.0 + power))


def per_head(call: Arguments, name: str) -> np.ndarray:
    """Return a learned number of every head, beside every query and key."""
    return np.asarray(call.arrays[name][:, None, None])


def distances(call: Arguments) -> np.ndarray:
    """Return how far every query is from every key."""
    return np.asarray(np.abs(call.arrays["query_positions"][:, None] - call.arrays["key_positions"]))


def cap(call: Arguments) -> np.ndarray:
    """Return ``1 + e^v`` for every head."""
    return np.asarray(1.0 + np.exp(per_head(call, "saturation")))


def factor(call: Arguments) -> np.ndarray:
    """Return what every logit is multiplied by."""
    return np.asarray(cap(call) * sigmoid(per_head(call, "distance_weight") * distances(call) - per_head(call, "saturation")))


def softplus(x: np.ndarray) -> np.ndarray:
    """Return ``ln(1 + e^x)``."""
    return np.asarray(np.logaddexp(0.0, x))


def factor_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what a factor may be off by: product and sum of the exponent, then 12 units, 6 of them stored, and what underflows.

    Two exponentials of four units (or one, stored in half), two sums, a quotient and a product; an error of the exponent counts by the
    slope of the sigmoid's logarithm, ``sigmoid(-x)``, taken where it is steepest. Or the power of its logarithm, whichever is more.
    """
    reach, limit = per_head(call, "distance_weight") * distances(call), per_head(call, "saturation")
    astray = (trial.units.product + trial.units.step) * (np.abs(reach) + np.abs(reach - limit))
    steepest = astray * sigmoid(limit - reach + astray)
    steps = 6 * (trial.units.product + trial.units.step)
    power = steepest + _logarithm_error(trial, limit, limit - reach)
    relative = np.maximum(np.expm1(np.minimum(steepest, WIDEST)) + steps, np.expm1(np.minimum(power, WIDEST)))
    return np.asarray(factor(call) * relative + 4 * trial.units.least * cap(call))


def _logarithm_error(trial: Trial, limit: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Return what ``ln(1 + e^v) - ln(1 + e^(v - w R))`` and its power may be off by: two powers and logarithms, a difference, a power."""
    once, step = trial.units.product, trial.units.step
    ends = sum((once + 4 * step) * sigmoid(x) + (once + 5 * step) * softplus(x) for x in (limit, beyond))
    return np.asarray(ends + (once + step) * np.abs(softplus(limit) - softplus(beyond)) + once + 4 * step)


def rescale_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what a factor may be off by as it is returned."""
    return np.asarray(factor_error(trial, call) + trial.rounding(call))


def translation(trial: Trial) -> Iterator[Sides]:
    """A common shift of all positions changes nothing."""
    call = trial.arguments
    moved = call.with_arrays(**{name: call.arrays[name] + trial.example.shift for name in ("query_positions", "key_positions")})
    yield Sides(trial.values(call), trial.values(moved), rescale_error(trial, call) + rescale_error(trial, moved))


def symmetric(trial: Trial) -> Iterator[Sides]:
    """Queries and keys that exchange places keep what is between them."""
    call = trial.arguments
    swapped = call.with_arrays(query_positions=call.arrays["key_positions"], key_positions=call.arrays["query_positions"])
    right, error = (np.swapaxes(a, -1, -2) for a in (trial.values(swapped), rescale_error(trial, swapped)))
    yield Sides(trial.values(call), right, rescale_error(trial, call) + error)


def identity_at_origin(trial: Trial) -> Iterator[Sides]:
    """At distance 0 a logit stays as it is."""
    call = trial.arguments
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    if not trial.subject.counted:
        call = call.with_arrays(key_positions=query[np.arange(key.size) % query.size])
    here = distances(call) == 0
    left = trial.values(call)[:, here]
    yield Sides(left, np.ones_like(left), rescale_error(trial, call)[:, here])


def bounded(trial: Trial) -> Iterator[Sides]:
    """Every factor lies between 0 and ``1 + e^v``."""
    call = trial.arguments
    values, most = trial.values(call), cap(call)
    outside = np.maximum(np.maximum(-values, values - most), 0.0)
    steps = 6 * (trial.units.product + trial.units.step)
    yield Sides(outside, np.zeros_like(values), steps * most + trial.rounding(call) + 4 * trial.units.least * most)


def monotone(trial: Trial) -> Iterator[Sides]:
    """A key further away has no smaller factor where its weight is positive, and no greater one where it is negative."""
    call = trial.arguments
    values, error, reach = trial.values(call), rescale_error(trial, call), distances(call)
    nearer = reach[:, :, None] < reach[:, None, :]
    rise = np.sign(call.arrays["distance_weight"])[:, None, None, None] * (values[..., None, :] - values[..., :, None])
    fall = np.where(nearer, np.maximum(-rise, 0.0), 0.0)
    yield Sides(fall, np.zeros_like(fall), error[..., None, :] + error[..., :, None])


def weightless(call: Arguments) -> Arguments:
    """Return the call with distances that weigh nothing."""
    return call.with_arrays(distance_weight=np.zeros_like(call.arrays["distance_weight"]))


def rescale_reduces(trial: Trial) -> Iterator[Sides]:
    """Where distances weigh nothing every factor is 1."""
    call = weightless(trial.arguments)
    left = trial.values(call)
    yield Sides(left, np.ones_like(left), rescale_error(trial, call))


def clipped(call: Arguments) -> np.ndarray:
    """Return ``ReLU(q k^T) / sqrt(head_dim)``."""
    q, k = grouped(call)
    return np.asarray(np.maximum(q @ np.swapaxes(k, -1, -2), 0.0) / math.sqrt(q.shape[-1]))


def scores(trial: Trial, call: Arguments) -> Scores:
    """Return the budget of every logit: the dot product in any order, the factor, their product, and three units for the scale."""
    q, k = grouped(call)
    width = q.shape[-1]
    products = np.abs(q) @ np.swapaxes(np.abs(k), -1, -2) / math.sqrt(width)
    unit, logit, times = trial.units.product, clipped(call), factor(call)
    dot, strayed = width * unit * products + 2 * width * trial.units.least, factor_error(trial, call)
    error = (dot * (times + strayed) + logit * strayed) * (1 + 4 * unit) + 4 * unit * logit * times + 2 * trial.units.least
    return Scores(np.asarray(error), np.asarray(logit * times))


def softmax(trial: Trial, call: Arguments) -> np.ndarray:
    """Return the weights of logits that are clipped and not rescaled."""
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    seen = (key <= query[:, None]) | (not trial.arguments.parameters["causal"])
    logits = np.where(seen, clipped(call), -np.inf)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def weights_reduce(trial: Trial) -> Iterator[Sides]:
    """Where distances weigh nothing the weights are a softmax of clipped logits."""
    call = weightless(trial.arguments)
    right = softmax(trial, call)
    allowed = np.minimum(1.0, right * share_error(trial, scores(trial, call))) + share_rounding(trial, call)
    yield Sides(trial.values(call), right, allowed)


def average_reduces(trial: Trial) -> Iterator[Sides]:
    """Where distances weigh nothing the values are averaged by a softmax of clipped logits."""
    call = weightless(trial.arguments)
    values = np.repeat(call.arrays["values"], call.arrays["q"].shape[1] // call.arrays["k"].shape[1], axis=1)
    yield Sides(trial.values(call), softmax(trial, call) @ values, average_error(trial, call, scores(trial, call)))


LAWS: Mapping[Law, Checker] = {Law.SYMMETRIC: symmetric}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("da_transformer.rescale", Law.TRANSLATION): translation,
    ("da_transformer.rescale", Law.IDENTITY_AT_ORIGIN): identity_at_origin,
    ("da_transformer.rescale", Law.BOUNDED): bounded,
    ("da_transformer.rescale", Law.MONOTONE): monotone,
    ("da_transformer.rescale", Law.REDUCES_TO_NONE): rescale_reduces,
    ("da_transformer.weights", Law.TRANSLATION): weights_translation(scores),
    ("da_transformer.weights", Law.REDUCES_TO_NONE): weights_reduce,
    ("da_transformer.attend", Law.TRANSLATION): average_translation(scores),
    ("da_transformer.attend", Law.REDUCES_TO_NONE): average_reduces,
}


def _factors(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    return factor_error(trial, call)


#: What computing twice may change.
NOISE: Mapping[str, Callable[[Trial, Arguments, str], np.ndarray]] = {
    "da_transformer.rescale": _factors,
    "da_transformer.weights": weights_noise(scores),
    "da_transformer.attend": averages_noise(scores),
}
