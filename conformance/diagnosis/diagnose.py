"""Name the known mistake, or the convention, whose output matches what an implementation returned; else say what is known of it.

``docs/diagnosis.md`` says how it is decided. A single mistake is looked for first, then what no scheme has (zeros, the input as it was),
then a number that is wrong, then both under a convention that wasn't declared, then two mistakes; the search ends with the first of these
rounds in which something fits.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from conformance.calls.outcomes import Diagnosis, Errored, Failed, Passed
from conformance.calls.subject import Subject
from conformance.calls.takes import Takes
from conformance.checks.evidence.known import CLEAR, answer, convicted
from conformance.checks.vector_checks import Checked
from conformance.diagnosis.asking import Asking
from conformance.diagnosis.by_configuration import by_configuration, of_wrong_layers, with_more
from conformance.diagnosis.caches import of_caches
from conformance.diagnosis.candidates import Candidate, called_as_declared, known, pairs_of_conventions, pairs_of_mistakes, with_conventions
from conformance.diagnosis.clues import clues, misshapen, on_axes
from conformance.diagnosis.conditions import conditions
from conformance.diagnosis.fits import fitted
from conformance.diagnosis.grading import Grade, explains, grade
from conformance.diagnosis.misread import misread, of_other_shape
from conformance.diagnosis.partly import partly
from conformance.diagnosis.plain import plain
from conformance.diagnosis.seen import Observation, Seen, compared, seen
from conformance.diagnosis.separating import separating, splitting
from conformance.diagnosis.sides import of_one_side
from conformance.diagnosis.taken import last, taken
from conformance.diagnosis.undeclared import Raised, joined, placed, undeclared
from conformance.diagnosis.unless import unless
from conformance.spec.vectors import Vector

#: How many explanations of the same rank a reader is ready to weigh. At most five fitted in any of 401 trials of
#: ``tools/accuracy``, which answer all vectors; what more than that explain was seen by too few calls, and the first would be a guess.
HANDFUL = 5
#: So many cases must show two mistakes: of thousands of pairs, one fits fewer by chance.
ENOUGH = 4
#: Roundings in unlike places differ by less than so many times what is allowed, where a call passes.
BY_FAR = 16.0
#: The name of the diagnosis that code takes positions up to one of those that were asked for.
HIGHEST = re.compile(r"[\w.]+/highest=-?\d+")
ANY_CALL = Takes()
#: How well something fits, and what.
Fit = tuple[Grade, Candidate]

__all__ = ["Observation", "diagnose", "explain", "explanations", "of_checks"]


def diagnose(operation: str, observations: Sequence[Observation], profile: str) -> Diagnosis | None:
    """Return the known mistake that explains all that was observed, or ``None``; so many that fit equally well are none."""
    with np.errstate(all="ignore"):
        everything = seen(observations, profile)
        return _named(operation, _found(operation, everything), everything)


def explanations(operation: str, observations: Sequence[Observation], profile: str) -> list[Candidate]:
    """Return everything that explains all that was observed, best first."""
    with np.errstate(all="ignore"):
        return _explained(_found(operation, seen(observations, profile)))


def explain(
    operation: str,
    observations: Sequence[Observation],
    profile: str,
    raised: Sequence[Raised] = (),
    answered: Sequence[Vector] | None = None,
    axes: str = "",
    denied: Callable[..., bool] | None = None,
    misreadings: Sequence[Candidate] = (),
    takes: Takes = ANY_CALL,
) -> Diagnosis | None:
    """Return the known mistake, else one without a name that describes what is known; ``None`` where nothing is.

    ``raised`` are the calls that gave an exception instead: what the code doesn't take and doesn't declare shows in them, beside those
    that were ``answered``, the observed ones or more. Where these are all, what the wrong ones have in common is told. An order of
    ``axes`` that is declared already isn't advised. What is ``denied`` by other calls isn't named. ``misreadings`` of a configuration
    are known mistakes too. Calls are made as the declaration says which code ``takes``.
    """
    with np.errstate(all="ignore"):
        everything = seen(observations, profile)
        found = _found(operation, everything, denied, misreadings, takes)
        taken_ = [one.vector for one in observations] if answered is None else answered
        why = undeclared(operation, taken_, raised, [one.vector for one in everything if one.shows])
        named = _named(operation, found, everything, [vector for vector, _ in raised])
        if named is not None or not any(one.shows for one in everything):
            named = joined(named, why)
        if named is not None:
            return named
        taken_only = [] if why is None else [f"it {why.does}; {why.fix}"]
        known_of_it = (
            *taken_only,
            *(_in_common(everything) if answered is None else ()),
            *_undecided(operation, found, everything),
            *partly(operation, everything),
            *clues(observations, profile),
            *(() if axes else on_axes(operation, [vector for vector, _ in raised] if not everything else misshapen(observations))),
        )
    return Diagnosis((), "", "", "", kind="unknown", description=known_of_it) if known_of_it else None


def of_checks(checked: Sequence[Checked], subject: Subject | None = None, *, configured: Path | None = None) -> Diagnosis | None:
    """Return what is known of the checks of one implementation that failed; where it can be asked again, also what to declare of it.

    It may be ``configured``: then a configuration says what it computes.
    """
    if configured is None:
        return _asked(checked, subject, of_caches(checked[0].task))
    misreadings = misread(checked[0].task.descriptor, configured)
    found = _asked(checked, subject, misreadings)
    checked = with_more(checked, subject)
    if (found is None or not found.named) and (wrong := of_wrong_layers(checked)):
        alone = _asked(wrong, None, misreadings)
        found = alone if alone is not None and alone.named else found
    if (found is None or not found.named) and (other := of_other_shape(misreadings, checked)):
        found = _diagnosis([other], ())
    return by_configuration(found, checked)


def _asked(checked: Sequence[Checked], subject: Subject | None, misreadings: Sequence[Candidate] = ()) -> Diagnosis | None:
    found = _of_checks(checked, misreadings)
    if subject is not None and found is not None and HIGHEST.fullmatch(found.name):
        end = int(found.name.rpartition("=")[2])
        if not Asking(subject, checked[0].task).raises_within([vector for vector, _ in _raised(checked)], end):
            return _to_its_end(found, checked, subject)
        found = _in_all([one for one in checked if one.vector.error is None])
    if subject is None or (found is not None and found.named and found.kind != "mistake"):
        return found
    if found is None or not found.named:
        return taken(Asking(subject, checked[0].task), checked) or _with_more(found, unless(Asking(subject, checked[0].task), checked))
    declared = taken(Asking(subject, checked[0].task, named=True, numbers=found.numbers), checked)
    if declared is None or declared.kind == "mistake":
        return declared or found
    return replace(found, fix=f"{found.fix}; or, where it is meant so, {declared.fix}")


def _with_more(found: Diagnosis | None, more: Iterable[str]) -> Diagnosis | None:
    """Return what is known, and what the code was asked again; a condition that calls show already isn't asked for."""
    if found is not None and any(known.startswith("wrong only") for known in found.description):
        return found
    description = (*more, *(found.description if found is not None else ()))
    return Diagnosis((), "", "", "", kind="unknown", description=description) if description else None


def _to_its_end(found: Diagnosis, checked: Sequence[Checked], subject: Subject) -> Diagnosis:
    """Return the declaration of the highest position with the last one that code takes: few calls end just there."""
    task = checked[0].task
    end = last(Asking(subject, task), checked)
    return found if end is None else placed(task.operation, "highest", end, _raised(checked))


def _raised(checked: Sequence[Checked]) -> list[Raised]:
    return [(one.vector, one.judgement.outcome.message) for one in checked if isinstance(one.judgement.outcome, Errored)]


def _of_checks(checked: Sequence[Checked], misreadings: Sequence[Candidate]) -> Diagnosis | None:
    """Return what the checks that failed show; without a name, also what these have in common.

    Stored vectors are asked first: they were made to show mistakes, where drawn ones may amplify what rounding makes of a mistake. What
    they show that no table knows must explain drawn calls too: many stored vectors ask for the same numbers.
    """
    asked = [one for one in checked if one.vector.error is None]
    stored = [one for one in asked if not one.vector.drawn]
    found = None
    for told in (stored, asked) if any(one.failed for one in stored) else (asked,):
        found = _explained_by(told, asked, misreadings)
        if found is not None and found.named:
            if told is asked or _in_table(found, asked, misreadings):
                return found
            found = None
    return _in_all(asked, () if found is None else found.description)


def _in_all(asked: Sequence[Checked], besides: Sequence[str] = ()) -> Diagnosis | None:
    """Return what all checks that failed have in common, and what is known besides, without a name."""
    passed = [one.vector for one in asked if isinstance(one.judgement.outcome, Passed)]
    common = conditions(passed, [one.vector for one in asked if one.failed])
    known_of_it = tuple(dict.fromkeys((*common, *besides)))
    return Diagnosis((), "", "", "", kind="unknown", description=known_of_it) if known_of_it else None


def _in_table(found: Diagnosis, asked: Sequence[Checked], misreadings: Sequence[Candidate]) -> bool:
    """Whether what is named is a known mistake, or several, and no number that was found."""
    operation = asked[0].task.operation
    known_ones = [*known(operation), *of_one_side(operation), *misreadings]
    return set(found.mutants) <= {one.name for one in known_ones}


def _contradicted(candidate: Candidate, asked: Sequence[Checked], *, small: bool) -> bool:
    """Whether a drawn call passed that would have been convicted, or came out wrong otherwise.

    Roundings differ from call to call: of those a call must have passed that would have been convicted by far. Of ``small`` calls alone it
    is asked where many explanations fit. Large calls that passed aren't kept.
    """
    drawn = [one for one in asked if one.vector.drawn and one.reply is not None and not (small and one.vector.at)]
    drawn.sort(key=lambda one: sum(array.size for array in one.vector.inputs.values()))
    answers = ((one, answer(candidate.operation, candidate.function, one.vector.inputs, one.vector.parameters)) for one in drawn)
    return any(given is not None and _denies(one, given, precision=candidate.precision) for one, given in answers)


def _denies(one: Checked, given: Mapping[str, np.ndarray], *, precision: bool) -> bool:
    """Whether a mistake would have been convicted where a call passed, or explains less than half of the wrong numbers that came."""
    if isinstance(one.judgement.outcome, Passed):
        return convicted(one.vector, given, one.task, beyond=BY_FAR if precision else CLEAR)
    if precision:
        return False
    several = one.vector.also.get(one.task.profile)  # then roundings decide, in what is wrong too
    came = [] if several else [_observed(one)]
    return any(not explains(each, each.part(given[each.name])) for seen in compared(came, one.task.profile) for each in seen.elements)


def _observed(one: Checked) -> Observation:
    return Observation(one.vector, dict(one.reply.values) if one.reply else {}, one.task.dtype, one.task.descriptor.takes.masked)


def _explained_by(told: Sequence[Checked], asked: Sequence[Checked], misreadings: Sequence[Candidate]) -> Diagnosis | None:
    """Return what the answers to some vectors show, and which of all that was asked gave none."""
    raised = _raised(asked)
    answered = [one.vector for one in asked if isinstance(one.judgement.outcome, Passed | Failed)]
    task, observed = asked[0].task, [_observed(one) for one in told if one.reply is not None]
    denied = partial(_contradicted, asked=asked)
    declared = task.descriptor
    return explain(task.operation, observed, task.profile, raised, answered, declared.axes, denied, misreadings, declared.takes)


def _in_common(everything: Sequence[Seen]) -> tuple[str, ...]:
    passed, failed = ([one.vector for one in everything if one.wrong is wrong] for wrong in (False, True))
    return conditions(passed, failed)


def _named(operation: str, found: Sequence[Fit], everything: Sequence[Seen], raised: Sequence[Vector] = ()) -> Diagnosis | None:
    """Return the best of what fits with what also does; nothing where it is one of many."""
    if not found or _many(found):
        return None
    explained = _explained(found)
    return _diagnosis(explained, separating(operation, explained, everything, raised))


def _undecided(operation: str, found: Sequence[Fit], everything: Sequence[Seen]) -> Iterator[str]:
    """Yield how many known mistakes fit equally well, and what would tell them apart, where these are too many to name one."""
    alike = _many(found)
    if alike:
        names = [candidate.name for candidate in alike]
        yield f"it can't be told which: {len(names)} known mistakes give this, {', '.join(names[:HANDFUL])} and {len(names) - HANDFUL} more"
        yield splitting(operation, alike, everything)


def _found(
    operation: str,
    everything: Sequence[Seen],
    denied: Callable[..., bool] | None = None,
    misreadings: Sequence[Candidate] = (),
    takes: Takes = ANY_CALL,
) -> list[Fit]:
    """Return what fits in the first round in which something does that no other call denies, best first.

    Where something was denied, roundings on top of a mistake explain nothing: no call denies these.
    """
    doubted = not any(one.shows for one in everything)
    for candidates in () if doubted else _rounds(operation, everything, misreadings, takes):
        found = _fitting(candidates, everything)
        sure = [fit for fit in found if not (doubted and fit[1].precision)]
        left = [fit for fit in sure if denied is None or not denied(fit[1], small=len(sure) > HANDFUL)]
        if left:
            return left
        doubted = doubted or bool(found)
    return []


def _rounds(operation: str, everything: Sequence[Seen], misreadings: Sequence[Candidate], takes: Takes) -> Iterator[Iterable[Candidate]]:
    singles = [*misreadings, *known(operation)]
    conventions = [candidate for candidate in singles if candidate.kind == "convention"]
    yield singles
    if takes.counted or takes.gridded:
        yield [called_as_declared(one, takes) for one in singles if one.kind == "mistake"]
    yield of_one_side(operation)
    yield plain(operation, everything)
    yield fitted(operation, everything)
    yield [*pairs_of_conventions(operation), *with_conventions(operation, [one for one in singles if one.kind != "convention"])]
    yield (candidate for convention in conventions for candidate in fitted(operation, everything, convention))
    if sum(one.shows for one in everything) >= ENOUGH:
        yield pairs_of_mistakes(operation)


def _fitting(candidates: Iterable[Candidate], everything: Sequence[Seen]) -> list[Fit]:
    """Return what fits, best first; of what fits equally well a mistake goes before a convention that would silence it.

    A parameter that isn't taken goes before other mistakes, the number of another model behind them.
    """
    graded = ((_grade(candidate, everything), candidate) for candidate in candidates)
    fits = [(found, candidate) for found, candidate in graded if found is not None]
    return sorted(fits, key=lambda fit: (fit[0], fit[1].precision, _silences(fit[1], everything), *fit[1].behind))


def _silences(candidate: Candidate, everything: Sequence[Seen]) -> bool:
    """Whether it is a convention that nobody asked for: declared, it would make any mistake pass that looks like it."""
    asked = (one.vector.parameters for one in everything)
    return bool(candidate.forces) and not any(candidate.forces.items() <= parameters.items() for parameters in asked)


def _many(found: Sequence[Fit]) -> list[Candidate]:
    """Return what fits as well as the best, where that is more than a handful."""
    alike = {candidate.name: candidate for grade, candidate in found if grade == found[0][0]}
    return list(alike.values()) if len(alike) > HANDFUL else []


def _explained(found: Sequence[Fit]) -> list[Candidate]:
    """Return what is worth a word, each name once: what fits worse than one that fits exactly isn't."""
    best = found[0][0] if found else Grade.EXACT
    named: dict[str, Candidate] = {}
    for fit, candidate in found:
        if fit == best or best != Grade.EXACT:
            named.setdefault(candidate.name, candidate)
    return list(named.values())


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
        numbers=best.numbers,
    )
