"""Which convention that wasn't declared explains part of what is wrong, where nothing explains all of it."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from conformance.diagnosis.candidates import Candidate, known, pairs_of_conventions
from conformance.diagnosis.seen import FAR, Element, Seen

#: So many wrong numbers have the values of a convention by more than chance, and so many times more than are right against it.
ENOUGH = 8
TIMES = 10


def partly(operation: str, everything: Sequence[Seen]) -> Iterator[str]:
    """Yield the convention that gives some of the wrong numbers, if there is one, and what to declare.

    Calls that ask for the convention say nothing of it; of the others, many wrong numbers must have its values, and hardly any may be
    right where it would be wrong.
    """
    conventions = (*(one for one in known(operation) if one.forces), *pairs_of_conventions(operation))
    possible = [one for one in conventions if any(_asks(seen, one.forces) for seen in everything)]
    counted = [(_counted(one, everything), one) for one in possible]
    fitting = [(explained, one) for (explained, against), one in counted if explained >= max(ENOUGH, TIMES * against)]
    if fitting:
        _, best = max(fitting, key=lambda each: each[0])
        yield f"part of it is an undeclared convention: it {best.does}; {best.fix}"


def _asks(seen: Seen, forces: Mapping[str, object]) -> bool:
    return forces.items() <= seen.vector.parameters.items()


def _counted(convention: Candidate, everything: Sequence[Seen]) -> tuple[int, int]:
    """Return how many wrong numbers have the convention's values, and how many numbers are right where it would be wrong."""
    explained = against = 0
    for seen in everything:
        answer = None if _asks(seen, convention.forces) else convention.answer(seen.vector)
        for element in seen.elements if answer is not None else ():
            other = answer[element.name]  # type: ignore[index]  # there is an answer
            if other.shape == element.right.shape:
                had, not_had = _of(element, other)
                explained, against = explained + had, against + not_had
    return explained, against


def _of(element: Element, other: np.ndarray) -> tuple[int, int]:
    slack = element.slack(element.allowed, other)
    apart = np.abs(other - element.right) > FAR * np.nan_to_num(slack, nan=np.inf)
    return int((element.far & (element.distance(other) <= slack)).sum()), int((apart & ~element.wrong).sum())
