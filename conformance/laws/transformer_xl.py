"""Laws of Transformer-XL: four terms that add up, distances that a common shift leaves alone, and memory as one long segment."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from conformance.arguments import Arguments
from conformance.laws import attention
from conformance.laws.attention import Noise, Scores
from conformance.laws.budget import angle_noise, frequencies
from conformance.laws.trial import Checker, Sides, Trial
from refimpl.spec import Law

#: Roundings of a logit beyond those of its dot products: storing each, adding biases first, three sums, the scale.
BEYOND_DOTS = 1 + 1 + 3 + 3


@dataclass(frozen=True)
class Lengths:
    """Magnitudes that bound the four terms of a call, and what its relative keys may be off by."""

    q: np.ndarray
    k: np.ndarray
    u: np.ndarray
    v: np.ndarray
    relative: np.ndarray
    stray: np.ndarray


def distances(call: Arguments) -> np.ndarray:
    """Return query minus key position as clamped; the sign doesn't matter to what it may be off by."""
    away = call.arrays["query_positions"][..., :, None] - call.arrays["key_positions"][..., None, :]
    clamp = call.parameters["clamp_length"]
    return np.asarray(away if clamp is None else np.minimum(away, int(clamp)))


def channel_error(trial: Trial, call: Arguments, *, angles: bool) -> np.ndarray:
    """Return what every channel of the sinusoid of a distance may be off by, in whichever layout its pair stands."""
    theta = frequencies(trial.whole("dim"), trial.number("base"))
    noise = np.minimum(2.0, angle_noise(trial.units, distances(call), theta)) * float(angles)
    channels = np.maximum(np.repeat(noise, 2, axis=-1), np.concatenate([noise, noise], axis=-1))
    return np.asarray(channels + 3 * trial.units.step + trial.units.stored)


def lengths(trial: Trial, call: Arguments, *, angles: bool) -> Lengths:
    """Return the magnitudes of a call: ``(batch, head, query or 1, key or 1, head_dim)``."""
    weight, width = np.abs(call.arrays["position_weight"]), trial.whole("dim")
    most = np.sum(weight, axis=0)
    strayed = np.moveaxis(np.tensordot(channel_error(trial, call, angles=angles), weight, axes=1), -2, -4)
    relative = most[:, None, None, :]
    stray = strayed + (width + 1) * trial.units.product * relative + 2 * width * trial.units.least
    u, v = (np.abs(call.arrays[name])[:, None, None, :] for name in ("content_bias", "position_bias"))
    return Lengths(np.abs(call.arrays["q"])[:, :, :, None, :], np.abs(call.arrays["k"])[:, :, None, :, :], u, v, relative, stray)


def term_errors(trial: Trial, call: Arguments, *, angles: bool = True) -> Mapping[str, np.ndarray]:
    """Return what every term may be off by: its dot product in any order, and its relative key."""
    size = lengths(trial, call, angles=angles)
    sides: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray | float]] = {
        "content_content": (size.q, size.k, 0.0),
        "content_position": (size.q, size.relative, size.stray),
        "global_content": (size.u, size.k, 0.0),
        "global_position": (size.v, size.relative, size.stray),
    }
    return {name: _dot_error(trial, call, *parts) for name, parts in sides.items()}


def _dot_error(trial: Trial, call: Arguments, one: np.ndarray, other: np.ndarray, stray: np.ndarray | float) -> np.ndarray:
    width = call.arrays["q"].shape[-1]
    error = np.sum(one * (stray + (width + 1) * trial.units.product * (other + stray)), axis=-1) + 2 * width * trial.units.least
    return np.broadcast_to(error, (*call.arrays["q"].shape[:3], call.arrays["k"].shape[2]))


def scores(trial: Trial, call: Arguments, *, angles: bool = True) -> Scores:
    """Return the budget of every logit: relative key, dot products in any order, biases added before or after, sums, the scale."""
    size, width = lengths(trial, call, angles=angles), call.arrays["q"].shape[-1]
    content, position = size.q + size.u, size.q + size.v
    most = np.sum(content * size.k + position * (size.relative + size.stray), axis=-1) / math.sqrt(width)
    strayed = np.sum(position * size.stray, axis=-1) / math.sqrt(width)
    return Scores(strayed + (width + BEYOND_DOTS) * trial.units.product * most + (8 * width + 8) * trial.units.least, most)


def logit_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what the logits of a call may be off by, their last rounding included."""
    return np.asarray(scores(trial, call).error + trial.rounding(call))


def moved(trial: Trial) -> Arguments:
    """Return the call with all positions moved by the drawn shift."""
    arrays = trial.arguments.arrays
    return trial.arguments.with_arrays(**{name: arrays[name] + trial.example.shift for name in ("query_positions", "key_positions")})


def same_terms(trial: Trial, one: Arguments, other: Arguments, left: str, right: str) -> Sides:
    """Return a term of one call beside a term of another that should be equal."""
    errors = term_errors(trial, one)[left] + term_errors(trial, other)[right]
    roundings = trial.rounding(one, left) + trial.rounding(other, right)
    return Sides(trial.values(one, left), trial.values(other, right), errors + roundings, left)


def terms_translation(trial: Trial) -> Iterator[Sides]:
    """A common shift of all positions changes no term."""
    for name in trial.operation.results:
        yield same_terms(trial, trial.arguments, moved(trial), name, name)


def logits_translation(trial: Trial) -> Iterator[Sides]:
    """A common shift of all positions changes no logit."""
    call, other = trial.arguments, moved(trial)
    yield Sides(trial.values(call), trial.values(other), logit_error(trial, call) + logit_error(trial, other))


def terms_linear(trial: Trial) -> Iterator[Sides]:
    """The content terms are linear in the query, and the global terms don't know it."""
    (a, b), one = trial.example.scalars, trial.arguments
    other = one.with_arrays(q=trial.example.others["q"])
    both = one.with_arrays(q=a * one.arrays["q"] + b * other.arrays["q"])
    errors = [term_errors(trial, call) for call in (one, other, both)]
    for name in ("content_content", "content_position"):
        left, right, whole = (error[name] + trial.rounding(call, name) for error, call in zip(errors, (one, other, both), strict=True))
        total = a * trial.values(one, name) + b * trial.values(other, name)
        yield Sides(trial.values(both, name), total, abs(a) * left + abs(b) * right + whole, name)
    for name in ("global_content", "global_position"):
        yield same_terms(trial, one, both, name, name)


def terms_global_query(trial: Trial) -> Iterator[Sides]:
    """Queries that equal a bias make content terms that equal its global term."""
    call = trial.arguments
    for bias, kind in (("content_bias", "content"), ("position_bias", "position")):
        asked = call.with_arrays(q=as_queries(call, call.arrays[bias]))
        yield same_terms(trial, asked, call, f"content_{kind}", f"global_{kind}")


def as_queries(call: Arguments, bias: np.ndarray) -> np.ndarray:
    """Return a bias of every head as the query of every token."""
    return np.broadcast_to(bias[:, None, :], call.arrays["q"].shape).copy()


def logits_global_query(trial: Trial) -> Iterator[Sides]:
    """A query without biases, and biases without a query, that hold the same numbers make the same logits."""
    call = trial.arguments
    bias = call.arrays["content_bias"]
    asked = call.with_arrays(q=as_queries(call, bias), content_bias=0.0 * bias, position_bias=0.0 * bias)
    biased = call.with_arrays(q=0.0 * call.arrays["q"], content_bias=bias, position_bias=bias)
    yield Sides(trial.values(asked), trial.values(biased), logit_error(trial, asked) + logit_error(trial, biased))


def additive(trial: Trial) -> Iterator[Sides]:
    """The logits of two queries, each with its biases, add up to those of their sums."""
    names, one = ("q", "content_bias", "position_bias"), trial.arguments
    other = one.with_arrays(**{name: trial.example.others[name] for name in names})
    both = one.with_arrays(**{name: one.arrays[name] + other.arrays[name] for name in names})
    allowed = sum(logit_error(trial, call) for call in (one, other, both))
    yield Sides(trial.values(both), trial.values(one) + trial.values(other), np.asarray(allowed))


def without_distance(trial: Trial) -> Arguments:
    """Return the call without a matrix for distances and without the bias of contents: plain attention."""
    arrays = trial.arguments.arrays
    return trial.arguments.with_arrays(**{name: 0.0 * arrays[name] for name in ("position_weight", "content_bias")})


def plain_logits(call: Arguments) -> np.ndarray:
    """Return ``q k / sqrt(head_dim)``."""
    q, k = call.arrays["q"], call.arrays["k"]
    return np.asarray(q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]))


def plain_weights(call: Arguments) -> np.ndarray:
    """Return the softmax of plain logits, hidden keys left out."""
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    hidden = (key[..., None, :] > query[..., :, None]) & bool(call.parameters["causal"])
    logits = np.where(hidden[:, None] if hidden.ndim == 3 else hidden, -np.inf, plain_logits(call))
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def logits_reduce(trial: Trial) -> Iterator[Sides]:
    """Without a matrix for distances and a bias of contents the logits are those of plain attention."""
    call = without_distance(trial)
    yield Sides(trial.values(call), plain_logits(call), logit_error(trial, call))


def weights_reduce(trial: Trial) -> Iterator[Sides]:
    """Without a matrix for distances and a bias of contents the weights are those of plain attention."""
    call = without_distance(trial)
    right = plain_weights(call)
    relative = attention.share_error(trial, scores(trial, call))
    yield Sides(trial.values(call), right, np.minimum(1.0, right * relative) + attention.share_rounding(trial, call))


def average_reduce(trial: Trial) -> Iterator[Sides]:
    """Without a matrix for distances and a bias of contents this is plain attention."""
    call = without_distance(trial)
    allowed = attention.average_error(trial, call, scores(trial, call))
    yield Sides(trial.values(call), plain_weights(call) @ call.arrays["v"], allowed)


def memory(same: Callable[..., Sides], *, keys_of: bool) -> Checker:
    """Return what falsifies that two segments, the second after the first as its memory, give the rows of one long segment."""

    def falsify(trial: Trial) -> Iterator[Sides]:
        whole = one_segment(trial)
        count = whole.arrays["k"].shape[-2]
        for start, stop in ((count // 2, count), (0, count // 2)):
            if stop > start:
                rows = partial(_rows, slice(start, stop), slice(stop if keys_of else None))
                yield same(trial, scores, segment(whole, start, stop), whole, again=rows)

    return falsify


def _rows(queries: slice, keys: slice, values: np.ndarray) -> np.ndarray:
    """Return the rows of some queries, and where a result has keys their columns."""
    return values[..., queries, keys]


def segment(whole: Arguments, start: int, stop: int) -> Arguments:
    """Return the queries of one segment, and the keys that have been seen when it ends."""
    arrays = dict(whole.arrays)
    arrays |= {"q": arrays["q"][..., start:stop, :], "query_positions": arrays["query_positions"][..., start:stop]}
    arrays |= {name: arrays[name][..., :stop, :] for name in ("k", "v") if name in arrays}
    return Arguments({**arrays, "key_positions": arrays["key_positions"][..., :stop]}, whole.parameters)


def one_segment(trial: Trial) -> Arguments:
    """Return a causal call with one query for every key, at consecutive positions."""
    call = trial.arguments.with_parameters(causal=True)
    keys, queries = call.arrays["key_positions"], call.arrays["q"]
    count = keys.shape[-1]
    positions = np.broadcast_to(keys[..., :1] + np.arange(count), keys.shape).copy()
    repeated = np.take(queries, np.arange(count) % queries.shape[-2], axis=-2)
    return call.with_arrays(q=repeated, query_positions=positions, key_positions=positions)


def meaningful(shape: tuple[int, ...], before: int) -> np.ndarray:
    """Return where a key is no later than its query."""
    return np.tri(shape[-2], shape[-1], before, dtype=bool)


def shift_is_gather(trial: Trial) -> Iterator[Sides]:
    """Every key that is no later than its query has the score of its distance."""
    call = trial.arguments
    scores_of, before = call.arrays["scores"], trial.whole("memory")
    rows, columns = np.nonzero(meaningful(scores_of.shape, before))
    right = scores_of[:, :, rows, columns - rows + scores_of.shape[2] - 1]
    yield Sides(trial.values(call)[:, :, rows, columns], right, np.zeros_like(right))


def shift_memory(trial: Trial) -> Iterator[Sides]:
    """The first query may as well belong to the memory: the others' rows stay."""
    call, before = trial.arguments, trial.whole("memory")
    table = call.arrays["scores"]
    if table.shape[2] > 1:
        later = call.with_arrays(scores=table[:, :, 1:]).with_parameters(memory=before + 1)
        here = meaningful(later.arrays["scores"].shape, before + 1)
        left, right = trial.values(call)[:, :, 1:], trial.values(later)
        yield Sides(np.where(here, left, 0.0), np.where(here, right, 0.0), np.zeros_like(right))


def shift_linear(trial: Trial) -> Iterator[Sides]:
    """The shift of a sum of multiples is the sum of multiples of shifts: nothing is computed."""
    (a, b), one = trial.example.scalars, trial.arguments
    other = one.with_arrays(scores=trial.example.others["scores"])
    both = one.with_arrays(scores=a * one.arrays["scores"] + b * other.arrays["scores"])
    here = meaningful(one.arrays["scores"].shape, trial.whole("memory"))
    right = a * trial.values(one) + b * trial.values(other)
    yield Sides(np.where(here, trial.values(both), 0.0), np.where(here, right, 0.0), np.zeros_like(right))


def terms_noise(trial: Trial, call: Arguments, result: str) -> np.ndarray:
    """Return what computing a term twice may change."""
    return np.asarray(term_errors(trial, call, angles=False)[result])


def logits_noise(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    """Return what computing logits twice may change."""
    return scores(trial, call, angles=False).error


def moved_noise(trial: Trial, call: Arguments, result: str) -> np.ndarray:
    """Return that moving scores twice changes nothing."""
    return np.zeros_like(trial.values(call, result))


LAWS: Mapping[Law, Checker] = {
    Law.ADDITIVE: additive,
    Law.MEMORY: memory(attention.same_average, keys_of=False),
    Law.GLOBAL_QUERY: logits_global_query,
    Law.SHIFT_IS_GATHER: shift_is_gather,
}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("transformer_xl.terms", Law.TRANSLATION): terms_translation,
    ("transformer_xl.terms", Law.LINEAR): terms_linear,
    ("transformer_xl.terms", Law.GLOBAL_QUERY): terms_global_query,
    ("transformer_xl.logits", Law.TRANSLATION): logits_translation,
    ("transformer_xl.logits", Law.REDUCES_TO_NONE): logits_reduce,
    ("transformer_xl.weights", Law.TRANSLATION): attention.weights_translation(scores),
    ("transformer_xl.weights", Law.MEMORY): memory(attention.same_weights, keys_of=True),
    ("transformer_xl.weights", Law.REDUCES_TO_NONE): weights_reduce,
    ("transformer_xl.attend", Law.TRANSLATION): attention.average_translation(scores),
    ("transformer_xl.attend", Law.REDUCES_TO_NONE): average_reduce,
    ("transformer_xl.shift", Law.MEMORY): shift_memory,
    ("transformer_xl.shift", Law.LINEAR): shift_linear,
}

#: What computing twice may change: the angle term is shared.
NOISE: Mapping[str, Noise] = {
    "transformer_xl.terms": terms_noise,
    "transformer_xl.logits": logits_noise,
    "transformer_xl.weights": attention.weights_noise(partial(scores, angles=False)),
    "transformer_xl.attend": attention.averages_noise(partial(scores, angles=False)),
    "transformer_xl.shift": moved_noise,
}
