"""Laws of DA-Transformer: a factor that depends on the distance, and attention over logits that are clipped and multiplied by it."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.roles import at_origin, meeting
from conformance.laws.trial import Checker, Sides, Trial, at_most, same
from conformance.spec.arguments import Arguments
from refimpl.spec import Law


def identity_at_origin(trial: Trial) -> Iterator[Sides]:
    """At distance 0 a logit stays as it is."""
    call = meeting(trial)
    yield same(at_origin(call, trial.answer(call)), 1.0)


def bounded(trial: Trial) -> Iterator[Sides]:
    """Every factor lies between 0 and ``1 + e^v``."""
    factors = trial.answer(trial.arguments)
    yield at_most(-factors, 0.0)
    yield at_most(factors, 1.0 + np.exp(trial.arguments.arrays["saturation"])[:, None, None])


def reduces_to_none(trial: Trial) -> Iterator[Sides]:
    """Where distances weigh nothing every factor is 1, and attention is that without positions; all negative logits count as zeros."""
    call = trial.arguments.with_arrays(distance_weight=np.zeros_like(trial.arguments.arrays["distance_weight"]))
    if "q" not in call.arrays:
        yield same(trial.answer(call), 1.0)
        return
    q, k = (np.abs(call.arrays[name]) for name in ("q", "k"))
    for given, counted in ((k, k), (-k, 0.0 * k)):
        yield same(trial.answer(call.with_arrays(q=q, k=given)), trial.right(*_plain(trial, call.with_arrays(q=q, k=counted))))


def _plain(trial: Trial, call: Arguments) -> tuple[str, Arguments]:
    """Return the same attention without positions, and how it is called."""
    named = call.with_arrays(v=call.arrays["values"]) if "values" in call.arrays else call
    return f"none.{trial.operation.name.partition('.')[2]}", named


LAWS: Mapping[Law, Checker] = {
    Law.IDENTITY_AT_ORIGIN: identity_at_origin,
    Law.BOUNDED: bounded,
    Law.REDUCES_TO_NONE: reduces_to_none,
}
