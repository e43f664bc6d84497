"""Laws of attention without an encoding: it sees a set of keys, not a sequence."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws import attention
from conformance.laws.attention import plain_scores, same_average, same_weights
from conformance.laws.trial import Checker, Sides, Trial
from refimpl.spec import Law


def permutation(trial: Trial) -> Iterator[Sides]:
    """Without a mask, keys reordered with their values change no average and reorder the weights; reordered queries reorder the rows."""
    call = trial.arguments.with_parameters(causal=False)
    arrays, averaged = call.arrays, "v" in call.arrays
    same = same_average if averaged else same_weights
    keys, queries = (_order(trial, arrays[name].shape[2]) for name in ("k", "q"))
    moved = call.with_arrays(**{name: arrays[name][:, :, keys] for name in ("k", "v") if name in arrays})
    yield same(trial, plain_scores, call, moved, np.asarray if averaged else lambda result: result[..., np.argsort(keys)])
    turned = call.with_arrays(q=arrays["q"][:, :, queries])
    yield same(trial, plain_scores, call, turned, lambda result: result[:, :, np.argsort(queries)])


def _order(trial: Trial, count: int) -> np.ndarray:
    """Return an order that depends on the example: backwards, from another start."""
    return np.roll(np.arange(count)[::-1], trial.example.shift)


LAWS: Mapping[Law, Checker] = {Law.PERMUTATION: permutation}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("none.weights", Law.TRANSLATION): attention.weights_translation(plain_scores),
    ("none.attend", Law.TRANSLATION): attention.average_translation(plain_scores),
}

NOISE = {
    "none.weights": attention.weights_noise(plain_scores),
    "none.attend": attention.averages_noise(plain_scores),
}
