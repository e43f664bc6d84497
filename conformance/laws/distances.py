"""Laws of what depends on distances: biases, factors, logits and the attention that they lead to."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.calls.subject import CallRefusedError
from conformance.laws.inexact import Inexact, exact
from conformance.laws.roles import POSITIONS, at_origin, distances, meeting, placed, real, shifted
from conformance.laws.trial import Checker, Sides, Trial, at_most, exactly, same
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import plain
from refimpl.spec import Law

#: Forms of a bias whose later keys have other numbers than earlier ones at the same distance.
SIDED = ("row", "column", "reversed", "falcon")


def translation(trial: Trial) -> Iterator[Sides]:
    """A common shift of all positions changes nothing (but what rounds positions)."""
    call = trial.arguments
    if _rounds_positions(trial):
        message = "where positions are rounded a common shift changes the result"
        raise CallRefusedError(message)
    for name in trial.operation.results:
        yield same(trial.answer(call, name), trial.answer(shifted(trial, call), name), name)


def symmetric(trial: Trial) -> Iterator[Sides]:
    """Queries and keys that exchange places keep what is between them."""
    call = trial.arguments
    query, key = (call.arrays[name] for name in POSITIONS)
    exchanged = call.with_arrays(query_positions=key, key_positions=query)
    yield same(trial.answer(call), trial.answer(exchanged).transposed)


def row_constant(trial: Trial) -> Iterator[Sides]:
    """The difference between two keys is the same in every row (but not in the symmetric form, where rows mirror)."""
    if _by_distance(trial):
        yield from symmetric(trial)
        return
    rows = trial.answer(trial.arguments)
    steps = rows - rows[..., :1]
    yield same(steps, steps[..., :1, :])


def homogeneous(trial: Trial) -> Iterator[Sides]:
    """Twice the distance is twice the bias."""
    call = trial.arguments
    yield same(trial.answer(placed(call, lambda positions: 2 * positions)), 2.0 * trial.answer(call))


def multiplies(trial: Trial) -> Iterator[Sides]:
    """What is left after further tokens is what was left, times what is left after these."""
    call = trial.arguments
    query, key = (call.arrays[name] for name in POSITIONS)
    further = query + trial.example.shift
    left = trial.answer(call.with_arrays(query_positions=further))
    after = trial.answer(call.with_arrays(query_positions=further, key_positions=query))
    here = np.arange(query.shape[-1])
    right = trial.answer(call) * after[..., here, here][..., None]
    earlier = np.broadcast_to(~_later(query, key), left.values.shape)
    yield same(left[earlier], right[earlier])


def _later(query: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Return where a key comes after its query, for every head."""
    return np.asarray(key[..., None, None, :] > query[..., None, :, None])


def monotone(trial: Trial) -> Iterator[Sides]:
    """A key further away (or earlier, where rows don't mirror) never has more; never less where a learned weight rewards distance."""
    call, values = trial.arguments, trial.answer(trial.arguments)
    key = call.arrays["key_positions"]
    order = distances(call) if _by_distance(trial) else -key[..., None, None, :]
    weight = np.sign(call.arrays.get("distance_weight", np.array([-1.0])))[:, None, None, None]
    rise = weight * (values[..., None, :] - values[..., :, None])
    yield at_most(-rise, 0.0, where=np.broadcast_to(order[..., :, None] < order[..., None, :], rise.values.shape))


def _by_distance(trial: Trial) -> bool:
    """Whether what is returned depends on the distance alone, not on which of the two comes first."""
    return trial.arguments.parameters.get("form") not in SIDED


def _rounds_positions(trial: Trial) -> bool:
    """Whether the key's position is rounded before it is used."""
    return trial.arguments.parameters.get("form") == "falcon"


def zero_at_origin(trial: Trial) -> Iterator[Sides]:
    """Where the distance is 0 the bias is 0; in forms of the key's position alone nothing is."""
    call = meeting(trial)
    if trial.free_rows(call) or _rounds_positions(trial):
        message = "a bias of the key's position alone is 0 at no distance in particular"
        raise CallRefusedError(message)
    yield same(at_origin(call, trial.answer(call)), 0.0)


def saturation(trial: Trial) -> Iterator[Sides]:
    """Beyond the largest distance, on either side, nothing changes any more; a row per offset ends with the outermost."""
    call, known = trial.arguments, trial.arguments.parameters
    farthest = max(int(known[name]) for name in ("max_distance", "num_buckets") if name in known)
    for mover, fixed in (POSITIONS, POSITIONS[::-1])[: 1 if known.get("causal") else 2]:
        gap = farthest + call.arrays[fixed].max() - call.arrays[mover].min()
        near, far = (call.with_arrays(**{mover: call.arrays[mover] + gap + more}) for more in (0, trial.example.shift))
        yield same(trial.answer(near), trial.answer(far))
        if trial.operation.arrays.get("table", "").startswith("row"):
            first = (known["sign"] == "key_minus_query") == (mover == "query_positions")
            yield exactly(trial.values(near), call.arrays["table"][0 if first else -1][:, None, None])


def lookup(trial: Trial) -> Iterator[Sides]:
    """Every number is an entry of its column of the table; a constant added to the table is added to every number."""
    call, constant, (name,) = trial.arguments, float(trial.example.scalars[0]), real(trial.operation)
    table = call.arrays[name]
    axes = trial.operation.results["result"].split()
    entries = np.moveaxis(trial.values(call), axes.index(trial.operation.arrays[name].split()[-1]) - len(axes), -1)
    yield exactly(np.min(np.abs(entries[..., None, :] - table), axis=-2), 0.0)
    yield same(trial.answer(call.with_arrays(**{name: table + constant})), trial.answer(call) + constant)


def reduces_to_none(trial: Trial) -> Iterator[Sides]:
    """With learned tables or weights of zeros this is attention without positions."""
    call, without = _weightless(trial.arguments), plain(trial.operation.name)
    yield same(trial.answer(call), _plain_logits(call) if without is None else trial.right(without.name, call))


def _weightless(call: Arguments) -> Arguments:
    """Return the call with zeros for what is learned of distances, and without what is added to queries for their keys alone."""
    learned = (name for name in call.arrays if name.endswith(("_table", "_weight", "content_bias")))
    return call.with_arrays(**{name: np.zeros_like(call.arrays[name]) for name in learned})


def _plain_logits(call: Arguments) -> Inexact:
    """Return ``q k^T / sqrt(head_dim)``; consecutive query heads share a key head."""
    q, k = call.arrays["q"], call.arrays["k"]
    products = exact(q) @ exact(np.repeat(k, q.shape[1] // k.shape[1], axis=1)).transposed
    return products * float(q.shape[-1] ** -0.5)


LAWS: Mapping[Law, Checker] = {
    Law.TRANSLATION: translation,
    Law.SYMMETRIC: symmetric,
    Law.ROW_CONSTANT: row_constant,
    Law.HOMOGENEOUS: homogeneous,
    Law.MULTIPLIES: multiplies,
    Law.MONOTONE: monotone,
    Law.ZERO_AT_ORIGIN: zero_at_origin,
    Law.SATURATION: saturation,
    Law.LOOKUP: lookup,
    Law.REDUCES_TO_NONE: reduces_to_none,
}
