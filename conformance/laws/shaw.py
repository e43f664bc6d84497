"""Laws of Shaw's relative representations: what a learned vector per distance can and can't change."""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from conformance.arguments import Arguments
from conformance.laws import attention
from conformance.laws.attention import Scores, grouped
from conformance.laws.trial import Checker, Sides, Trial
from refimpl.spec import Law

POSITIONS = ("query_positions", "key_positions")
#: One rounding of a scaled query, one of a key plus its edge, three of the scale, one of the sum of two logits.
STEPS = 6


def rows(call: Arguments) -> np.ndarray:
    """Return the row of every query and key, with an axis for the batch where either has one."""
    query, key = (call.arrays[name] for name in POSITIONS)
    later = key[..., None, :] - query[..., :, None]
    most = int(call.parameters["max_distance"])
    last = most if call.parameters["clip"] == "symmetric" else most - 1
    return np.asarray(most + np.clip(later if call.parameters["sign"] == "key_minus_query" else -later, -most, last))


def edges(call: Arguments, table: str) -> np.ndarray:
    """Return the vector of every query and key, the same for all heads: ``(batch or 1, 1, query, key, head_dim)``."""
    chosen = call.arrays[table][rows(call)]
    return np.asarray(chosen[:, None] if chosen.ndim == 4 else chosen[None, None])


def scores(trial: Trial, call: Arguments) -> Scores:
    """Return the budget of ``q (k + a)^T / sqrt(d)``, as one product or as two."""
    q, k = grouped(call)
    width, reach = q.shape[-1], np.abs(k)[:, :, None] + np.abs(edges(call, "key_table"))
    most = (reach @ np.abs(q)[..., None])[..., 0] / math.sqrt(width)
    return Scores((width + STEPS) * trial.units.product * most + 4 * width * trial.units.least, most)


def logit_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what every logit may be off by, its rounding included."""
    return np.asarray(scores(trial, call).error + trial.rounding(call))


def linear(trial: Trial) -> Iterator[Sides]:
    """A sum of multiples of queries has the same sum of multiples of logits."""
    a, b = trial.example.scalars
    one, other = trial.arguments, trial.arguments.with_arrays(q=trial.example.others["q"])
    both = one.with_arrays(q=a * one.arrays["q"] + b * other.arrays["q"])
    allowed = abs(a) * logit_error(trial, one) + abs(b) * logit_error(trial, other) + logit_error(trial, both)
    yield Sides(trial.values(both), a * trial.values(one) + b * trial.values(other), allowed)


def same_logits(trial: Trial, one: Arguments, other: Arguments) -> Sides:
    """Return the logits of two calls, which should be equal."""
    return Sides(trial.values(one), trial.values(other), logit_error(trial, one) + logit_error(trial, other))


def same_weights(trial: Trial, one: Arguments, other: Arguments) -> Sides:
    """Return the weights of two calls, which should be equal."""
    return attention.same_weights(trial, scores, one, other)


def mixed_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what an average of values and their edges may be off by, as one average or as two."""
    parts = call.arrays["v"][:, :, None].repeat(call.arrays["q"].shape[1] // call.arrays["v"].shape[1], axis=1), edges(call, "value_table")
    most = sum(np.abs(part).max(axis=-2) for part in parts)
    spread = sum(part.max(axis=-2) - part.min(axis=-2) for part in parts)
    relative, keys = attention.share_error(trial, scores(trial, call)).max(axis=-1)[..., None], call.arrays["k"].shape[-2]
    steps = (2 * keys + 4) * trial.units.product * most + 8 * keys * trial.units.least
    return np.asarray(np.minimum(spread, relative * most) + steps + trial.rounding(call))


def same_mixed(trial: Trial, one: Arguments, other: Arguments) -> Sides:
    """Return the attention of two calls, which should be equal."""
    return Sides(trial.values(one), trial.values(other), mixed_error(trial, one) + mixed_error(trial, other))


Same = Callable[[Trial, Arguments, Arguments], Sides]


def translation(same: Same) -> Checker:
    """Return what falsifies that a common shift of all positions changes nothing."""

    def falsify(trial: Trial) -> Iterator[Sides]:
        moved = {name: trial.arguments.arrays[name] + trial.example.shift for name in POSITIONS}
        yield same(trial, trial.arguments, trial.arguments.with_arrays(**moved))

    return falsify


def saturation(same: Same) -> Checker:
    """Return what falsifies that keys at max_distance or beyond, all on one side, may be anywhere there."""

    def falsify(trial: Trial) -> Iterator[Sides]:
        call, hidden = trial.arguments, bool(trial.arguments.parameters.get("causal"))
        for mover, fixed in (("query_positions", "key_positions"), ("key_positions", "query_positions"))[: 1 if hidden else 2]:
            gap = trial.whole("max_distance") + call.arrays[fixed].max() - call.arrays[mover].min()
            near, far = (call.with_arrays(**{mover: call.arrays[mover] + gap + more}) for more in (0, trial.example.shift))
            yield same(trial, near, far)

    return falsify


def without(call: Arguments) -> Arguments:
    """Return the call with tables of zeros."""
    return call.with_arrays(**{name: np.zeros_like(array) for name, array in call.arrays.items() if name.endswith("_table")})


def plain_logits(call: Arguments) -> np.ndarray:
    """Return ``q k^T / sqrt(d)``."""
    q, k = grouped(call)
    return np.asarray(q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]))


def plain_weights(call: Arguments) -> np.ndarray:
    """Return the softmax of plain logits over the keys that are seen."""
    query, key = (call.arrays[name] for name in POSITIONS)
    seen = (key[..., None, :] <= query[..., :, None]) | (not call.parameters["causal"])
    logits = np.where(seen if seen.ndim == 2 else seen[:, None], plain_logits(call), -np.inf)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def plain_attention(call: Arguments) -> np.ndarray:
    """Return the average of values by plain weights."""
    return np.asarray(plain_weights(call) @ np.repeat(call.arrays["v"], call.arrays["q"].shape[1] // call.arrays["v"].shape[1], axis=1))


def weight_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what every weight may be off by."""
    relative = attention.share_error(trial, scores(trial, call))
    return np.asarray(np.minimum(1.0, plain_weights(call) * relative) + attention.share_rounding(trial, call))


def reduces_to_none(plain: Callable[[Arguments], np.ndarray], error: Callable[[Trial, Arguments], np.ndarray]) -> Checker:
    """Return what falsifies that tables of zeros leave plain attention."""

    def falsify(trial: Trial) -> Iterator[Sides]:
        call = without(trial.arguments)
        yield Sides(trial.values(call), plain(call), error(trial, call))

    return falsify


def constant_values(trial: Trial) -> Iterator[Sides]:
    """Attention over equal values, with equal edges at every distance, returns their sum, whatever the weights are."""
    arrays = {name: trial.arguments.arrays[name] for name in ("v", "value_table")}
    equal = {name: np.broadcast_to(array[..., :1, :], array.shape).copy() for name, array in arrays.items()}
    call = trial.arguments.with_arrays(**equal)
    left, value, edge = trial.values(call), equal["v"][..., :1, :], equal["value_table"][0]
    each = np.repeat(value, left.shape[1] // value.shape[1], axis=1)
    right = np.broadcast_to(each + edge, left.shape)
    keys, most = call.arrays["k"].shape[-2], np.abs(each) + np.abs(edge)
    allowed = (2 * keys + 4) * trial.units.product * most + 8 * keys * trial.units.least + trial.rounding(call)
    yield Sides(left, right, allowed)


LAWS: Mapping[Law, Checker] = {Law.REDUCES_TO_NONE: reduces_to_none(plain_logits, logit_error)}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("shaw.logits", Law.LINEAR): linear,
    ("shaw.logits", Law.TRANSLATION): translation(same_logits),
    ("shaw.weights", Law.TRANSLATION): translation(same_weights),
    ("shaw.attend", Law.TRANSLATION): translation(same_mixed),
    ("shaw.logits", Law.SATURATION): saturation(same_logits),
    ("shaw.weights", Law.SATURATION): saturation(same_weights),
    ("shaw.attend", Law.SATURATION): saturation(same_mixed),
    ("shaw.weights", Law.REDUCES_TO_NONE): reduces_to_none(plain_weights, weight_error),
    ("shaw.attend", Law.REDUCES_TO_NONE): reduces_to_none(plain_attention, mixed_error),
    ("shaw.attend", Law.CONSTANT_VALUES): constant_values,
}

#: What computing twice may change.
NOISE: Mapping[str, Callable[[Trial, Arguments, str], np.ndarray]] = {
    "shaw.logits": lambda trial, call, _: scores(trial, call).error,
    "shaw.weights": attention.weights_noise(scores),
    "shaw.attend": lambda trial, call, _: mixed_error(trial, call),
}
