"""Laws of attention: weights that sum to one, averages of values, and keys that are hidden, reordered or decoded one by one."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.draw import seen_by_all
from conformance.laws.trial import Checker, Sides, Trial, exactly, same
from conformance.spec.arguments import Arguments
from refimpl.spec import Law


def weights_sum_to_one(trial: Trial) -> Iterator[Sides]:
    """Every row of weights is non-negative and sums to 1."""
    weights = trial.answer(trial.arguments)
    yield exactly(np.minimum(weights.values, 0.0), 0.0)
    yield same(weights.total(), 1.0)


def averaged(call: Arguments) -> str:
    """Return the name of the array that attention averages; a scheme whose v is something else calls it ``values``."""
    return "values" if "values" in call.arrays else "v"


def constant_values(trial: Trial) -> Iterator[Sides]:
    """Attention over equal values, with equal edges at every distance, returns their sum, whatever the weights are."""
    call, name = trial.arguments, averaged(trial.arguments)
    equal = {each: np.broadcast_to(a[..., :1, :], a.shape).copy() for each, a in call.arrays.items() if each in (name, "value_table")}
    left, value = trial.answer(call.with_arrays(**equal)), equal[name][..., :1, :]
    edge = equal["value_table"][0] if "value_table" in equal else 0.0
    right = np.repeat(value, left.values.shape[1] // value.shape[1], axis=1) + edge
    yield same(left, right)


def causal(trial: Trial) -> Iterator[Sides]:
    """What a hidden key (or its value) holds changes nothing, and a hidden key has no weight."""
    call, name = _causal_call(trial), averaged(trial.arguments)
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    last = query.max(axis=-1, keepdims=True) < key
    changed = call.with_arrays(**{each: _changed(trial, each, last) for each in ("k", name, "scores") if each in call.arrays})
    left = trial.answer(call)
    yield same(left, trial.answer(changed))
    if name not in call.arrays:
        hidden = key[..., None, :] > query[..., :, None]
        yield exactly(left.values[np.broadcast_to(hidden[:, None] if hidden.ndim == 3 else hidden, left.values.shape)], 0.0)


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
    """Return keys, values or scores with other contents where no query sees them."""
    rows = hidden[:, None] if hidden.ndim == 2 else hidden
    here = rows if name == "scores" else rows[..., None]
    return np.where(here, trial.example.others[name] + trial.example.scalars[0], trial.arguments.arrays[name])


def permutation(trial: Trial) -> Iterator[Sides]:
    """Without a mask, keys reordered with their values change no average and reorder the weights; reordered queries reorder the rows."""
    call = trial.arguments.with_parameters(causal=False)
    arrays = call.arrays
    keys, queries = (_order(trial, arrays[name].shape[2]) for name in ("k", "q"))
    moved = trial.answer(call.with_arrays(**{name: arrays[name][:, :, keys] for name in ("k", "v", "scores") if name in arrays}))
    yield same(trial.answer(call), moved if "v" in arrays else moved[..., np.argsort(keys)])
    reordered = {"q": arrays["q"][:, :, queries], **({"scores": arrays["scores"][:, queries]} if "scores" in arrays else {})}
    yield same(trial.answer(call), trial.answer(call.with_arrays(**reordered))[:, :, np.argsort(queries)])


def _order(trial: Trial, count: int) -> np.ndarray:
    """Return an order that depends on the example: backwards, from another start."""
    return np.roll(np.arange(count)[::-1], trial.example.shift)


def memory(trial: Trial) -> Iterator[Sides]:
    """Two segments, the second after the first as its memory, give the rows of one long segment."""
    whole = _one_segment(trial)
    count = whole.arrays["k"].shape[-2]
    for start, stop in ((count // 2, count), (0, count // 2)):
        if stop > start:
            keys = slice(None) if "v" in whole.arrays else slice(stop)
            yield same(trial.answer(_segment(whole, start, stop)), trial.answer(whole)[..., start:stop, keys])


def _segment(whole: Arguments, start: int, stop: int) -> Arguments:
    """Return the queries of one segment, and the keys that have been seen when it ends."""
    arrays = dict(whole.arrays)
    arrays |= {"q": arrays["q"][..., start:stop, :], "query_positions": arrays["query_positions"][..., start:stop]}
    arrays |= {name: arrays[name][..., :stop, :] for name in ("k", "v") if name in arrays}
    return Arguments({**arrays, "key_positions": arrays["key_positions"][..., :stop]}, whole.parameters)


def _one_segment(trial: Trial) -> Arguments:
    """Return a causal call with one query for every key, at consecutive positions."""
    call = trial.arguments.with_parameters(causal=True)
    keys, queries = call.arrays["key_positions"], call.arrays["q"]
    count = keys.shape[-1]
    positions = np.broadcast_to(keys[..., :1] + np.arange(count), keys.shape).copy()
    repeated = np.take(queries, np.arange(count) % queries.shape[-2], axis=-2)
    return call.with_arrays(q=repeated, query_positions=positions, key_positions=positions)


def weighed(trial: Trial) -> Iterator[Sides]:
    """Scores with a sum of multiples of head weights are that sum of multiples of scores."""
    (a, b), one, weights = trial.example.scalars, trial.arguments, trial.example.others["head_weights"]
    both = one.with_arrays(head_weights=a * one.arrays["head_weights"] + b * weights)
    yield same(trial.answer(both), a * trial.answer(one) + b * trial.answer(one.with_arrays(head_weights=weights)))


def selected(trial: Trial) -> Iterator[Sides]:
    """Scores that are raised alike, or multiplied by one positive number, select the same keys; where all are selected so do any."""
    call, scores = trial.arguments, trial.arguments.arrays["scores"]
    yield same(trial.answer(call), trial.answer(call.with_arrays(scores=scores + 4.0)))
    yield same(trial.answer(call), trial.answer(call.with_arrays(scores=scores / 4.0)))
    if call.parameters["top_k"] >= scores.shape[-1]:
        yield same(trial.answer(call), trial.answer(call.with_arrays(scores=trial.example.others["scores"])))


LAWS: Mapping[Law, Checker] = {
    Law.SELECTED: selected,
    Law.WEIGHED: weighed,
    Law.WEIGHTS_SUM_TO_ONE: weights_sum_to_one,
    Law.CONSTANT_VALUES: constant_values,
    Law.CAUSAL: causal,
    Law.PERMUTATION: permutation,
    Law.MEMORY: memory,
}
