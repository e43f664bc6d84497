"""Laws of two lists of factors: the length that chooses between them, and the attention factor."""

from collections.abc import Iterator, Mapping

from conformance.laws.inexact import Inexact
from conformance.laws.roles import lasting, unstretched
from conformance.laws.trial import Checker, Sides, Trial, at_most, same
from refimpl.spec import Law


def switches(trial: Trial) -> Iterator[Sides]:
    """Doubling the factors that don't count at a length changes nothing."""
    for beyond, unread in ((0, "long_factors"), (1, "short_factors")):
        call = lasting(trial, trial.arguments, trial.whole("original_length") + beyond)
        yield same(trial.answer(call), trial.answer(call.with_arrays(**{unread: 2 * call.arrays[unread]})))


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
    Law.GROWS: grows,
    Law.STRETCHES_ADD: stretches_add,
}
