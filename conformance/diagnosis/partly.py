"""Which convention that wasn't declared explains most of what is wrong, where nothing explains all of it."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from conformance.diagnosis.candidates import Candidate, known, pairs_of_conventions
from conformance.diagnosis.seen import FAR, Element, Seen

#: So many wrong numbers have the values of a convention by more than chance, that share of all that are wrong, and so many times more
#: than are right against it.
ENOUGH = 8
SHARE = 0.5
TIMES = 10


def partly(operation: str, everything: Sequence[Seen]) -> Iterator[str]:
    """Yield the convention that gives most of the wrong numbers, if there is one, and what to declare.

    Calls that ask for the convention say nothing of it; of the others, most wrong numbers must have its values, zeros and infinities aside,
    and hardly any may be right where it would be wrong.
    """
    conventions = (*(one for one in known(operation) if one.forces), *pairs_of_conventions(operation))
    possible = [one for one in conventions if any(_asks(seen, one.forces) for seen in everything)]
    counted = [(_counted(one, everything), one) for one in possible]
    fitting = [(had, one) for (had, wrong, against), one in counted if had >= max(ENOUGH, SHARE * wrong, TIMES * against)]
    if fitting:
        _, best = max(fitting, key=lambda each: each[0])
        yield f"most of it is an undeclared convention: it {best.does}; {best.fix}"


def _asks(seen: Seen, forces: Mapping[str, object]) -> bool:
    return forces.items() <= seen.vector.parameters.items()


def _counted(convention: Candidate, everything: Sequence[Seen]) -> tuple[int, int, int]:
    """Return how many wrong numbers have the convention's values, how many are wrong, and how many are right where it would be wrong."""
    counts = [_of(element, other) for element, other in _answered(convention, everything)]
    had, wrong, against = (sum(each) for each in zip(*counts, strict=True)) if counts else (0, 0, 0)
    return had, wrong, against


def _answered(convention: Candidate, everything: Sequence[Seen]) -> Iterator[tuple[Element, np.ndarray]]:
    """Yield what came of every call that doesn't ask for a convention, and what the convention gives."""
    for seen in everything:
        answer = {} if _asks(seen, convention.forces) else convention.answer(seen.vector) or {}
        both = ((element, answer[element.name]) for element in seen.elements if element.name in answer)
        yield from ((element, other) for element, other in both if other.shape == element.right.shape)


def _of(element: Element, other: np.ndarray) -> tuple[int, int, int]:
    slack = element.slack(element.allowed, other)
    has = element.far & (element.distance(other) <= slack) & np.isfinite(other) & (other != 0)
    apart = np.abs(other - element.right) > FAR * np.nan_to_num(slack, nan=np.inf)
    return int(has.sum()), int(element.far.sum()), int((apart & ~element.wrong).sum())
