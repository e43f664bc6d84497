"""Laws of LongRoPE: two lists of factors, the length that chooses between them, and the attention factor."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.inexact import Inexact
from conformance.laws.roles import lasting, unstretched
from conformance.laws.trial import Checker, Sides, Trial, at_most, same
from conformance.spec.arguments import Arguments
from refimpl.spec import Law


def switches(trial: Trial) -> Iterator[Sides]:
    """Doubling the factors that don't count at a length changes nothing."""
    for beyond, unread in ((0, "long_factors"), (1, "short_factors")):
        call = lasting(trial, trial.arguments, trial.whole("original_length") + beyond)
        yield same(trial.answer(call), trial.answer(call.with_arrays(**{unread: 2 * call.arrays[unread]})))


def inconsistent_cache(trial: Trial) -> Iterator[Sides]:
    """A key turned at the original length scores otherwise than one turned a token later, by more than rounding explains.

    Key and query are alike and stand at position 2, so their score is the largest there is, unless the cached key was turned differently:
    with factor 1 instead of 4 it loses ``1 - cos 1.5`` of itself.
    """
    call, longest = _fastest_pair(trial), trial.whole("original_length")
    key, query = (trial.answer(call.with_parameters(length=longest + beyond))[0, 0, -1] for beyond in (0, 1))
    lost = (query * query).total() - (query * key).total()
    yield Sides(np.minimum(lost.values, lost.error), lost.error, np.zeros(()), "query x key")


def _fastest_pair(trial: Trial) -> Arguments:
    """Return a call with three equal tokens that have energy in the fastest pair alone, short factors of 1 and long factors of 4."""
    call, width = trial.arguments, trial.whole("head_dim")
    x = np.zeros((1, 1, 3, width))
    x[..., [0, width // 2 if call.parameters["layout"] == "half" else 1]] = 1.0
    ones = np.ones_like(call.arrays["short_factors"])
    return call.with_arrays(x=x, positions=np.arange(3), short_factors=ones, long_factors=4 * ones)


def _stretched(trial: Trial, by: int) -> Inexact:
    """Return the attention factor of a stretch."""
    return trial.answer(unstretched(trial.arguments).with_parameters(max_length=by * trial.whole("original_length")))


def grows(trial: Trial) -> Iterator[Sides]:
    """Twice the length has a larger attention factor, or the same."""
    by = 1 + trial.example.shift % 64
    yield at_most(_stretched(trial, by), _stretched(trial, 2 * by))


def stretches_add(trial: Trial) -> Iterator[Sides]:
    """The squares of the factors of two stretches, each less 1, add up to that of both together."""
    by = 2 + trial.example.shift % 31
    two, other, both = (_stretched(trial, stretch) for stretch in (2, by, 2 * by))
    yield same(two * two + other * other - 1.0, both * both)


LAWS: Mapping[Law, Checker] = {
    Law.SWITCHES: switches,
    Law.INCONSISTENT_CACHE: inconsistent_cache,
    Law.GROWS: grows,
    Law.STRETCHES_ADD: stretches_add,
}
