"""Laws of logits in terms: four of them that add up, and scores of distances that are moved to their keys."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.roles import with_others
from conformance.laws.trial import Checker, Sides, Trial, exactly, same
from conformance.spec.arguments import Arguments
from refimpl.spec import Law


def linear(trial: Trial) -> Iterator[Sides]:
    """The content terms are linear in the query, and the global terms don't know it."""
    (a, b), one, other = trial.example.scalars, trial.arguments, with_others(trial, "q")
    both = one.with_arrays(q=a * one.arrays["q"] + b * other.arrays["q"])
    for name in trial.operation.results:
        left, right, whole = (trial.answer(call, name) for call in (one, other, both))
        yield same(whole, left if name.startswith("global") else a * left + b * right, name)


def additive(trial: Trial) -> Iterator[Sides]:
    """The logits of two queries, each with its biases, add up to those of their sums."""
    names, one = ("q", "content_bias", "position_bias"), trial.arguments
    other = with_others(trial, *names)
    both = one.with_arrays(**{name: one.arrays[name] + other.arrays[name] for name in names})
    yield same(trial.answer(both), trial.answer(one) + trial.answer(other))


def global_query(trial: Trial) -> Iterator[Sides]:
    """Queries that equal a bias make content terms that equal its global term, and the same logits as that bias without queries."""
    call = trial.arguments
    content, position = (call.arrays[name] for name in ("content_bias", "position_bias"))
    if "result" in trial.operation.results:
        asked = call.with_arrays(q=_as_queries(call, content), content_bias=0.0 * content, position_bias=0.0 * content)
        biased = call.with_arrays(q=0.0 * call.arrays["q"], content_bias=content, position_bias=content)
        yield same(trial.answer(asked), trial.answer(biased))
        return
    for bias, kind in ((content, "content"), (position, "position")):
        asked = call.with_arrays(q=_as_queries(call, bias))
        yield same(trial.answer(asked, f"content_{kind}"), trial.answer(call, f"global_{kind}"), kind)


def _as_queries(call: Arguments, bias: np.ndarray) -> np.ndarray:
    """Return a bias of every head as the query of every token."""
    return np.broadcast_to(bias[:, None, :], call.arrays["q"].shape).copy()


def shift_is_gather(trial: Trial) -> Iterator[Sides]:
    """Every key that is no later than its query has the score of its distance."""
    scores = trial.arguments.arrays["scores"]
    rows, columns = np.nonzero(np.tri(scores.shape[-2], scores.shape[-1], trial.whole("memory"), dtype=bool))
    yield exactly(trial.values(trial.arguments)[:, :, rows, columns], scores[:, :, rows, columns - rows + scores.shape[2] - 1])


def memory(trial: Trial) -> Iterator[Sides]:
    """The first query may as well belong to the memory: the others' rows stay."""
    call, before = trial.arguments, trial.whole("memory")
    if call.arrays["scores"].shape[2] > 1:
        later = call.with_arrays(scores=call.arrays["scores"][:, :, 1:]).with_parameters(memory=before + 1)
        yield same(trial.answer(call)[:, :, 1:], trial.answer(later))


LAWS: Mapping[Law, Checker] = {
    Law.LINEAR: linear,
    Law.ADDITIVE: additive,
    Law.GLOBAL_QUERY: global_query,
}

SHIFT: Mapping[Law, Checker] = {
    Law.SHIFT_IS_GATHER: shift_is_gather,
    Law.MEMORY: memory,
}
