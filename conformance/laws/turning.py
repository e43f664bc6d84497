"""Laws of turning: they hold for every rotary map, whichever channels it pairs and in whichever direction it turns.

A clean swap of layouts, or of the direction everywhere, breaks none of them: which member of the family it is, vectors say.
"""

import contextlib
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.calls.subject import CallRefusedError
from conformance.laws.inexact import Inexact, exact, norm
from conformance.laws.roles import combined, factor, far, from_origin, shifted, steps, turned, with_others
from conformance.laws.trial import Checker, Sides, Trial, exactly, same
from conformance.spec.arguments import Arguments, Parameters, members_apart
from refimpl.spec import Law

#: Cosine and sine of the turns that a call with tables of its own is turned further by.
QUARTER_TURNS = ((0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def linear(trial: Trial) -> Iterator[Sides]:
    """The result for a sum of multiples is the sum of multiples of results."""
    (a, b), names, one = trial.example.scalars, combined(trial.operation), trial.arguments
    other = with_others(trial, *names)
    both = one.with_arrays(**{name: a * one.arrays[name] + b * other.arrays[name] for name in names})
    for result in trial.operation.results:
        yield same(trial.answer(both, result), a * trial.answer(one, result) + b * trial.answer(other, result), result)


def isometry(trial: Trial) -> Iterator[Sides]:
    """Turning keeps the length of every vector, times the factor."""
    call = uniform(trial.arguments)
    for each in turned(trial.operation):
        yield same(trial.answer(call, each.result).norm(), gain(trial, call) * exact(call.arrays[each.vectors]).norm(), each.result)


def identity_at_origin(trial: Trial) -> Iterator[Sides]:
    """At position 0, or by a cosine of 1 and a sine of 0, nothing turns: the vector comes back in the declared layout, times the factor."""
    call, by = from_origin(trial), factor(trial, trial.arguments)
    if tabled(call):
        call = call.with_arrays(cos=np.ones_like(call.arrays["cos"]), sin=np.zeros_like(call.arrays["sin"]))
    for each in turned(trial.operation):
        right = exact(_rewritten(trial, call.arrays[each.vectors]))
        at_origin = np.ones_like(call.arrays["cos"][..., 0], dtype=bool) if tabled(call) else far(trial, each.positions, call) == 0
        here = np.broadcast_to(_per_vector(at_origin)[..., None], right.values.shape)
        yield same(_turned(trial, call, each.result)[here], (right if by.values == 1.0 else by * right)[here], each.result)


def composition(trial: Trial) -> Iterator[Sides]:
    """Turning and then turning further is turning by both at once."""
    call, (alone, once) = trial.arguments, _further(trial)
    twice = _again(trial, call, alone)
    for each in turned(trial.operation):
        right = gain(trial, twice)[..., None] * _turned(trial, once, each.result)
        yield same(_carried(trial, call, twice, each.result), right, each.result)


def inverse(trial: Trial) -> Iterator[Sides]:
    """Turning back undoes turning, times the square of the factor; code that turns one way only has the transpose to show it."""
    call = uniform(trial.arguments)
    stretch = gain(trial, call) * gain(trial, call)
    for each in turned(trial.operation):
        other = call.with_arrays(**{each.vectors: trial.example.others[each.vectors]})
        product = _turned(trial, call, each.result) * _turned(trial, other, each.result)
        yield same(product.total(), stretch * exact(call.arrays[each.vectors] * other.arrays[each.vectors]).total(), each.result)
    with contextlib.suppress(CallRefusedError):
        back = _again(trial, call, _reversed(call))
        for each in turned(trial.operation):
            right = stretch[..., None] * exact(_rewritten(trial, call.arrays[each.vectors]))
            yield same(_carried(trial, call, back, each.result), right, each.result)


def relative(trial: Trial) -> Iterator[Sides]:
    """The dot products of turned queries and keys do not change when both move by the same shift."""
    call = trial.arguments
    yield same(_dots(trial, call), _dots(trial, shifted(trial, call)), "query x key")


def passes(trial: Trial) -> Iterator[Sides]:
    """The channels beside those that turn are those of x, to the last bit."""
    call = trial.arguments
    for each in turned(trial.operation):
        rest = np.ones(call.arrays[each.vectors].shape[-1], dtype=bool)
        for stretch in _stretches(call.parameters, rest.size):
            rest[stretch] = False
        yield exactly(trial.values(call, each.result)[..., rest], call.arrays[each.vectors][..., rest], each.result)


def _stretches(parameters: Parameters, width: int) -> tuple[slice, ...]:
    """Return the stretches of channels whose pairs lie among themselves: one that is narrower than the head where parameters say so."""
    part = int(parameters.get("rotary_dim", width))
    return (slice(0, part) if parameters.get("placement", "first") == "first" else slice(width - part, width),)


def _turned(trial: Trial, call: Arguments, result: str) -> Inexact:
    """Return what turned vectors came to, all channels as far off as the worst one: which of them are paired is for vectors to say."""
    known = trial.answer(call, result)
    return Inexact(known.values, np.broadcast_to(known.error.max(axis=-1, keepdims=True), known.values.shape))


def _dots(trial: Trial, call: Arguments) -> Inexact:
    """Return every dot product of a turned query with a turned key."""
    query, key = turned(trial.operation)[0], turned(trial.operation)[-1]
    other = call if query != key else call.with_arrays(**{key.vectors: trial.example.others[key.vectors]})
    q, k = _turned(trial, call, query.result), _turned(trial, other, key.result)
    shared = np.repeat(np.arange(k.values.shape[1]), q.values.shape[1] // k.values.shape[1])
    return q @ k[:, shared].transposed


def tabled(call: Arguments) -> bool:
    """Whether cosines and sines are given."""
    return "cos" in call.arrays


def uniform(call: Arguments) -> Arguments:
    """Return the call with one cosine and sine per token where these are given, so that no law depends on the pairing."""
    given = {name: call.arrays[name] for name in ("cos", "sin") if name in call.arrays}
    return call.with_arrays(**{name: np.repeat(array[..., :1], array.shape[-1], axis=-1) for name, array in given.items()})


def gain(trial: Trial, call: Arguments) -> Inexact:
    """Return how much vectors are stretched, at most: by the factor, or by the tables that are given."""
    if not tabled(call):
        return factor(trial, call)
    return exact(_per_vector(np.hypot(call.arrays["cos"], call.arrays["sin"]).max(axis=-1))) * 1.0


def _per_vector(values: np.ndarray) -> np.ndarray:
    """Return values of ``[batch] token`` so that they broadcast against ``batch head token``."""
    return values[:, None] if values.ndim == 2 else values


def _further(trial: Trial) -> tuple[Arguments, Arguments]:
    """Return the drawn call turned by a shift (or a quarter) alone, and turned further by it."""
    call, shift = trial.arguments, trial.example.shift
    if not tabled(call):
        names = [each.positions for each in turned(trial.operation)]
        alone = {name: np.zeros_like(call.arrays[name]) + steps(trial, name, call) for name in names}
        return call.with_arrays(**alone), shifted(trial, call)
    (c, s), cos, sin = QUARTER_TURNS[shift % 3], call.arrays["cos"], call.arrays["sin"]
    quarter, both = {"cos": np.full_like(cos, c), "sin": np.full_like(sin, s)}, {"cos": c * cos - s * sin, "sin": s * cos + c * sin}
    return call.with_arrays(**quarter), call.with_arrays(**both)


def _reversed(call: Arguments) -> Arguments:
    """Return the call turned the other way."""
    if tabled(call):
        return call.with_arrays(sin=-call.arrays["sin"])
    return call.with_parameters(direction={"positive": "negative", "negative": "positive"}[str(call.parameters["direction"])])


def _again(trial: Trial, first: Arguments, then: Arguments) -> Arguments:
    """Return a call that is given what another came to."""
    results = {each.vectors: _reread(trial, trial.values(first, each.result)) for each in turned(trial.operation)}
    return then.with_arrays(**results)


def _carried(trial: Trial, first: Arguments, then: Arguments, result: str) -> Inexact:
    """Return what a call that was given another's result came to: what that was off by is turned with it, within its vector."""
    last, lost = _turned(trial, then, result), norm(_turned(trial, first, result).error)
    return Inexact(last.values, last.error + (gain(trial, then).values * lost)[..., None])


def _reread(trial: Trial, vectors: np.ndarray) -> np.ndarray:
    """Return a result in the channel order that the operation reads, for the layout that writes another one."""
    return _moved(trial, vectors, back="cotangent" not in trial.operation.arrays)


def _rewritten(trial: Trial, vectors: np.ndarray) -> np.ndarray:
    """Return vectors in the channel order that the operation writes."""
    return _moved(trial, vectors, back="cotangent" in trial.operation.arrays)


def _moved(trial: Trial, vectors: np.ndarray, *, back: bool) -> np.ndarray:
    """Return vectors whose pairs are moved from side by side to half a stretch apart, or back, in the layout that does so."""
    parameters, result = trial.arguments.parameters, vectors.copy()
    if parameters.get("layout") == "interleaved_to_half":
        for stretch in _stretches(parameters, vectors.shape[-1]):
            result[..., stretch] = (_to_interleaved if back else _to_half)(vectors[..., stretch])
    return result


def _to_half(x: np.ndarray) -> np.ndarray:
    """Move members of pairs from side by side to half their width apart."""
    return np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)


def _to_interleaved(x: np.ndarray) -> np.ndarray:
    """Move members of pairs from half their width apart to side by side."""
    return np.stack(np.split(x, 2, axis=-1), axis=-1).reshape(x.shape)


def together(law: Checker) -> Checker:
    """Return a law for calls in which both members of a pair turn by one angle: otherwise nothing turns."""

    def checked(trial: Trial) -> Iterator[Sides]:
        if members_apart(trial.arguments.parameters):
            message = "pairs whose members turn by unlike angles don't rotate"
            raise CallRefusedError(message, declared=True)
        yield from law(trial)

    checked.__doc__ = law.__doc__
    return checked


def moves_along(trial: Trial) -> Iterator[Sides]:
    """A common shift of all positions changes no output, or, where outputs don't turn back, no length of one."""
    before, after = (trial.answer(call) for call in (trial.arguments, shifted(trial, trial.arguments)))
    yield same(before.norm(), after.norm()) if trial.arguments.parameters["outputs"] == "kept" else same(before, after)


LAWS: Mapping[Law, Checker] = {
    Law.LINEAR: linear,
    Law.ISOMETRY: together(isometry),
    Law.IDENTITY_AT_ORIGIN: identity_at_origin,
    Law.COMPOSITION: together(composition),
    Law.RELATIVE: together(relative),
    Law.INVERSE: together(inverse),
    Law.PASSES: passes,
    Law.MOVES_ALONG: moves_along,
}
