"""Name the known mistake, or the convention, whose output matches what an implementation returned; else say what is known of it.

``docs/diagnosis.md`` says how it is decided. A single mistake is looked for first, then a number that is wrong, then both under a
convention that wasn't declared, then two mistakes; the search ends with the first of these rounds in which something fits.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from conformance.diagnosis.candidates import Candidate, known, pairs_of_conventions, pairs_of_mistakes, with_conventions
from conformance.diagnosis.clues import clues
from conformance.diagnosis.fits import fitted
from conformance.diagnosis.grading import Grade, grade
from conformance.diagnosis.seen import Observation, Seen, seen
from conformance.diagnosis.separating import separating
from conformance.outcomes import Diagnosis

__all__ = ["Observation", "diagnose", "explain", "explanations"]


def diagnose(operation: str, observations: Sequence[Observation], profile: str) -> Diagnosis | None:
    """Return the known mistake that explains all that was observed, or ``None``."""
    with np.errstate(all="ignore"):
        everything = seen(observations, profile)
        found = _found(operation, everything)
        return _diagnosis(found, separating(operation, found, everything)) if found else None


def explanations(operation: str, observations: Sequence[Observation], profile: str) -> list[Candidate]:
    """Return everything that explains all that was observed, best first."""
    with np.errstate(all="ignore"):
        return _found(operation, seen(observations, profile))


def explain(operation: str, observations: Sequence[Observation], profile: str) -> Diagnosis | None:
    """Return the known mistake, else one without a name that describes what is known; ``None`` where nothing is wrong."""
    found = diagnose(operation, observations, profile)
    if found is not None:
        return found
    with np.errstate(all="ignore"):
        known_of_it = clues(observations, profile)
    return Diagnosis((), "", "", "", kind="unknown", description=known_of_it) if known_of_it else None


def _found(operation: str, everything: Sequence[Seen]) -> list[Candidate]:
    """Return what fits in the first round in which something does."""
    if not any(one.shows for one in everything):
        return []
    return next(filter(None, (_best(candidates, everything) for candidates in _rounds(operation, everything))), [])


def _rounds(operation: str, everything: Sequence[Seen]) -> Iterator[Iterable[Candidate]]:
    singles = known(operation)
    conventions = [candidate for candidate in singles if candidate.kind == "convention"]
    yield singles
    yield fitted(operation, everything)
    yield [*pairs_of_conventions(operation), *with_conventions(operation, [one for one in singles if one.kind != "convention"])]
    yield (candidate for convention in conventions for candidate in fitted(operation, everything, convention))
    yield pairs_of_mistakes(operation)


def _best(candidates: Iterable[Candidate], everything: Sequence[Seen]) -> list[Candidate]:
    """Return what fits, best first; what fits worse than one that fits exactly isn't worth a word."""
    graded = ((_grade(candidate, everything), candidate) for candidate in candidates)
    fits = sorted(((found, candidate) for found, candidate in graded if found is not None), key=lambda fit: fit[0])
    best = fits[0][0] if fits else Grade.EXACT
    return [candidate for found, candidate in fits if found == best or best != Grade.EXACT]


def _grade(candidate: Candidate, everything: Sequence[Seen]) -> Grade | None:
    unrounded = candidate.before_rounding if candidate.unrounded is not None else None
    return grade(candidate.answer, everything, precision=candidate.precision, unrounded=unrounded)


def _diagnosis(candidates: Sequence[Candidate], separate: tuple[str, ...]) -> Diagnosis:
    best = candidates[0]
    return Diagnosis(
        mutants=best.names,
        does=best.does,
        should=best.should,
        fix=best.fix,
        threads=best.threads,
        also_fits=tuple(dict.fromkeys(other.name for other in candidates[1:])),
        kind=best.kind,
        separate=separate,
    )
