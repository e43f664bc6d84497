"""Laws of turning: they hold for every rotary map, whichever channels it pairs and in whichever direction it turns.

A clean swap of layouts, or of the direction everywhere, breaks none of them: which member of the family it is, vectors say.
"""

import contextlib
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.budget import dot_noise, norm, summed
from conformance.laws.trial import Checker, Sides, Trial
from conformance.laws.turning import (
    STREAMS,
    Stream,
    arithmetic_error,
    given_gain,
    in_pairs,
    noise_of,
    placed,
    radial_error,
    reread,
    rewritten,
    stretch,
    turning_error,
)
from conformance.subject import CallRefusedError
from refimpl.spec import Law


def linear(trial: Trial) -> Iterator[Sides]:
    """Turning a sum of multiples is the sum of multiples of what is turned."""
    streams = STREAMS[trial.operation.name]
    one, other = trial.arguments, trial.arguments.with_arrays(**{s.vectors: trial.example.others[s.vectors] for s in streams})
    both = one.with_arrays(**{s.vectors: _combined(trial, one.arrays[s.vectors], other.arrays[s.vectors]) for s in streams})
    for s in streams:
        right = _combined(trial, trial.values(one, s.result), trial.values(other, s.result))
        yield Sides(trial.values(both, s.result), right, _linear_error(trial, s, (one, other, both)), s.result)


def _combined(trial: Trial, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    a, b = trial.example.scalars
    return np.asarray(a * one + b * other)


def _linear_error(trial: Trial, stream: Stream, calls: tuple[Arguments, Arguments, Arguments]) -> np.ndarray:
    gain = given_gain(trial.arguments) if "cos" in trial.arguments.arrays else stretch(trial).gain
    one, other, both = (
        arithmetic_error(trial.units, call.arrays[stream.vectors], gain) + trial.rounding(call, stream.result) for call in calls
    )
    a, b = trial.example.scalars
    return np.asarray(abs(a) * one + abs(b) * other + both)


def isometry(trial: Trial) -> Iterator[Sides]:
    """Turning keeps the length of every vector, times the attention factor."""
    size = stretch(trial)
    for s in STREAMS[trial.operation.name]:
        vectors = trial.arguments.arrays[s.vectors]
        right = size.gain * norm(vectors)
        radial = radial_error(trial.units, vectors, size.gain) + size.error * right + norm(trial.rounding(trial.arguments, s.result))
        yield Sides(norm(trial.values(trial.arguments, s.result)), right, radial + summed(vectors.shape[-1], right), s.result)


def identity_at_origin(trial: Trial) -> Iterator[Sides]:
    """At position 0 nothing turns: the vector comes back in the declared layout, times the attention factor."""
    streams, size = STREAMS[trial.operation.name], stretch(trial)
    call = _from_origin(trial, streams)
    for s in streams:
        right = size.gain * rewritten(trial, call.arrays[s.vectors])
        here = np.broadcast_to(_per_token(call.arrays[s.positions] == 0, right), right.shape)
        rounding = 0.0 if size.gain == 1.0 else trial.rounding(call, s.result)
        yield Sides(trial.values(call, s.result)[here], right[here], (size.error * np.abs(right) + rounding)[here], s.result)


def _from_origin(trial: Trial, streams: tuple[Stream, ...]) -> Arguments:
    """Return the call with every token at position 0, or counted from 0 where the code takes nothing else."""
    positions = {s.positions: trial.arguments.arrays[s.positions] for s in streams}
    if not trial.subject.counted:
        return placed(trial.arguments, streams, {name: np.zeros_like(array) for name, array in positions.items()})
    return placed(trial.arguments, streams, {name: array - array[..., :1] for name, array in positions.items()})


def _per_token(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return values of ``[batch] token`` so that they broadcast against ``batch head token channel``."""
    return values[:, None, :, None] if values.ndim == 2 else values[:, None] if like.ndim > 1 else values


def composition(trial: Trial) -> Iterator[Sides]:
    """Turning by one position and then by a shift is turning by their sum."""
    streams, size, shift = STREAMS[trial.operation.name], stretch(trial), trial.example.shift
    call = trial.arguments
    start = {s.positions: call.arrays[s.positions] for s in streams}
    inner = call.with_arrays(**{s.vectors: reread(trial, trial.values(call, s.result)) for s in streams})
    twice = placed(inner, streams, {name: np.full_like(array, shift) for name, array in start.items()})
    once = placed(call, streams, {name: array + shift for name, array in start.items()})
    for s in streams:
        noise = sum(noise_of(trial, c.arrays[s.positions]) for c in (call, twice, once))
        left, right = trial.values(twice, s.result), size.gain * trial.values(once, s.result)
        allowed = _two_turns(trial, s, (call, twice, once), np.asarray(noise))
        yield Sides(left, right, allowed, s.result)


def _two_turns(trial: Trial, stream: Stream, calls: tuple[Arguments, Arguments, Arguments], noise: np.ndarray) -> np.ndarray:
    """Return three turns' errors: the angles' rounding once each (the frequency's own error is shared), the rest per turn."""
    size, (first, second, _) = stretch(trial), calls
    vectors = first.arrays[stream.vectors]
    one = turning_error(trial.units, vectors, size.gain**2, noise)
    two = turning_error(trial.units, vectors, size.gain**2) + turning_error(trial.units, second.arrays[stream.vectors], size.gain)
    roundings = [trial.rounding(call, stream.result) for call in calls]
    inner = size.gain * in_pairs(roundings[0])
    return np.asarray(one + two + size.error * size.gain**2 * bound(vectors) + inner + roundings[1] + size.gain * roundings[2])


def bound(vectors: np.ndarray) -> np.ndarray:
    """Return the largest value that a channel of the turned vector can have."""
    return np.broadcast_to(norm(vectors)[..., None], vectors.shape)


def inverse(trial: Trial) -> Iterator[Sides]:
    """Turning back undoes turning, times the square of the attention factor; code that turns one way only has the transpose to show it."""
    yield from _transpose_undoes(trial)
    with contextlib.suppress(CallRefusedError):
        yield from _turning_back_undoes(trial)


def _transpose_undoes(trial: Trial) -> Iterator[Sides]:
    """The dot product of two vectors that are turned alike is theirs, times the square of the factor: ``R^T R = 1``."""
    size, call = stretch(trial), trial.arguments
    for s in STREAMS[trial.operation.name]:
        other = call.with_arrays(**{s.vectors: trial.example.others[s.vectors]})
        x, y = call.arrays[s.vectors], other.arrays[s.vectors]
        left, right = trial.values(call, s.result), trial.values(other, s.result)
        turned = size.gain**2 * (2 * trial.units.turned + 2 * size.error) * norm(x) * norm(y) + 16 * trial.units.least * x.shape[-1]
        final = np.sum(np.abs(left) * trial.rounding(other, s.result) + trial.rounding(call, s.result) * np.abs(right), axis=-1)
        own = summed(x.shape[-1], size.gain**2 * norm(x) * norm(y))
        yield Sides(np.sum(left * right, axis=-1), size.gain**2 * np.sum(x * y, axis=-1), turned + final + own, s.result)


def _turning_back_undoes(trial: Trial) -> Iterator[Sides]:
    """The other direction gives every vector back."""
    streams, size, call = STREAMS[trial.operation.name], stretch(trial), trial.arguments
    back = {"positive": "negative", "negative": "positive"}[str(call.parameters["direction"])]
    inner = call.with_arrays(**{s.vectors: reread(trial, trial.values(call, s.result)) for s in streams}).with_parameters(direction=back)
    for s in streams:
        right = size.gain**2 * rewritten(trial, call.arrays[s.vectors])
        allowed = _there_and_back(trial, s, (call, inner))
        yield Sides(trial.values(inner, s.result), right, allowed, s.result)


def _there_and_back(trial: Trial, stream: Stream, calls: tuple[Arguments, Arguments]) -> np.ndarray:
    """Return two turns' errors; the angle is the same in both, so its rounding cancels."""
    size, (first, second) = stretch(trial), calls
    vectors = first.arrays[stream.vectors]
    turns = turning_error(trial.units, vectors, size.gain**2) + turning_error(trial.units, second.arrays[stream.vectors], size.gain)
    inner = size.gain * in_pairs(trial.rounding(first, stream.result))
    return np.asarray(turns + 2 * size.error * size.gain**2 * bound(vectors) + inner + trial.rounding(second, stream.result))


def relative(trial: Trial) -> Iterator[Sides]:
    """The dot products of turned queries and keys do not change when both move by the same shift."""
    left, left_error = _dots(trial, trial.arguments)
    streams, shift = STREAMS[trial.operation.name], trial.example.shift
    moved = {s.positions: trial.arguments.arrays[s.positions] + shift for s in streams}
    right, right_error = _dots(trial, placed(trial.arguments, streams, moved))
    yield Sides(left, right, left_error + right_error, "query x key")


def _dots(trial: Trial, call: Arguments) -> tuple[np.ndarray, np.ndarray]:
    """Return every dot product of a turned query with a turned key, and what it may be off by."""
    streams, gain = STREAMS[trial.operation.name], stretch(trial).gain
    query, key = streams[0], streams[-1]
    other = call if query != key else call.with_arrays(**{key.vectors: trial.example.others[key.vectors]})
    turned = trial.values(call, query.result), trial.values(other, key.result)
    roundings = trial.rounding(call, query.result), trial.rounding(other, key.result)
    q, k = call.arrays[query.vectors], other.arrays[key.vectors]
    noise = noise_of(trial, call.arrays[query.positions]), noise_of(trial, other.arrays[key.positions])
    exact = dot_noise(trial.units, *_grouped(q, k), noise, gain)
    final = _products(np.abs(turned[0]), roundings[1]) + _products(roundings[0], np.abs(turned[1]))
    return _products(*turned), exact + final + summed(q.shape[-1], _lengths(*turned))


def _products(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    query, keys = _grouped(q, k)
    return np.asarray(query @ np.swapaxes(keys, -1, -2))


def _lengths(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the product of the norms of every query and key."""
    query, keys = _grouped(q, k)
    return np.asarray(norm(query)[..., :, None] * norm(keys)[..., None, :])


def _grouped(q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat keys for the consecutive query heads that share them."""
    return q, np.repeat(k, q.shape[1] // k.shape[1], axis=1)


LAWS: Mapping[Law, Checker] = {
    Law.LINEAR: linear,
    Law.ISOMETRY: isometry,
    Law.IDENTITY_AT_ORIGIN: identity_at_origin,
    Law.COMPOSITION: composition,
    Law.RELATIVE: relative,
    Law.INVERSE: inverse,
}
SPECIAL: Mapping[tuple[str, Law], Checker] = {}
