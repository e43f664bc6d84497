"""Decide whether evidence is enough, and say what is missing and what helps.

The numbers and their arguments are told in docs/conforms.md.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from conformance.calls.outcomes import UNJUDGED, Evidence, NotJudged, Unsupported
from conformance.checks.evidence.bounds import telling, written
from conformance.checks.evidence.contradicting import contradiction
from conformance.checks.vector_checks import Checked
from conformance.judge.journal import Task

#: How many drawn golden cases a verdict needs at an implementation's first dtype, and at each further one.
GOLDEN = {"smoke": 4, "core": 8, "full": 8}
FURTHER = 4
#: The share of the drawn calls that the code may refuse inside its declaration.
REFUSED = 0.25
#: The share of the known mistakes that show within the declaration which may stay unnoticed, and of all that must show.
UNNOTICED = 0.1
SHOWN = 0.25
NAMED = 3
REASONS = 2
MEND = "mend what fails"
BY_VALUES = "declare it by values (head_dim={64, 128})"
DECLARABLE = "its parameters, positions, queries, rows, heads, lowest or highest"


def missing(task: Task, evidence: Evidence, checked: Sequence[Checked], level: str, *, exhausted: bool) -> Evidence:
    """Return the evidence with what is missing of it.

    Mistakes were looked for at the first dtype; ``exhausted`` says that the declaration has no other calls: these are enough then.
    """
    needed = GOLDEN[level] if task.first else FURTHER
    found = [*_golden(task, evidence, checked, min(needed, len(checked)) if exhausted else needed), *_refused(evidence, checked)]
    return replace(evidence, missing=tuple(found or ([*_unnoticed(evidence, narrow=exhausted)] if task.first else [])))


def _golden(task: Task, evidence: Evidence, checked: Sequence[Checked], needed: int) -> Iterator[str]:
    """Say which cases came to nothing, where too few were judged."""
    if evidence.golden >= max(needed, 1):
        return
    if not checked:
        yield f"no call could be drawn: {contradiction(task) or f'no values that are tried lie inside the declaration; {BY_VALUES}'}"
        return
    if evidence.golden == 0 and evidence.refused == len(checked) > 0:
        advice = f"{_reasons(checked)}; declare what the code takes ({DECLARABLE}), or take more"
        refused = f"all {len(checked)} drawn calls were refused: {advice}"
        yield f"none of {len(checked)} drawn calls can be judged: {why}" if (why := _unjudged(checked)) else refused
        return
    others = [one for one in checked if isinstance(one.judgement.outcome, Unsupported | NotJudged)]
    failed = len(checked) - evidence.golden - len(others)
    reasons = [*([f"{failed} gave no value to judge"] if failed else []), *([_reasons(others)] if others else [])]
    came = f"{evidence.golden} of {len(checked)} drawn calls were judged, {needed} must be{': ' if reasons else ''}{', '.join(reasons)}"
    yield f"{came}; {MEND if evidence.golden + failed >= needed else f'widen the declaration, or {BY_VALUES}'}"


def _refused(evidence: Evidence, checked: Sequence[Checked]) -> Iterator[str]:
    """Say what the code refused, where that is more than a declaration may leave unsaid."""
    asked = evidence.golden + evidence.refused
    if evidence.golden == 0 or evidence.refused <= REFUSED * asked:
        return
    refused = [one for one in checked if isinstance(one.judgement.outcome, Unsupported) and one.judgement.outcome.raised]
    hint = difference(refused, [one for one in checked if one.reply is not None]) or f"declare what the code takes ({DECLARABLE})"
    yield f"{evidence.refused} of {asked} drawn calls inside the declaration were refused: {_reasons(refused)}; {hint}, or take more"


def _unnoticed(evidence: Evidence, *, narrow: bool) -> Iterator[str]:
    """Say which mistakes would have passed, where that are more than a few, or where the declaration lets hardly any show.

    Where it is so ``narrow`` that every call was judged, there is nothing more to see.
    """
    unnoticed = [name for name in evidence.not_excluded if name not in evidence.alike]
    shown = len(evidence.excluded) + len(unnoticed)
    known = shown + len(evidence.alike)
    if len(unnoticed) > UNNOTICED * shown:
        named = _named(unnoticed)
        yield f"{len(unnoticed)} of {shown} known mistakes would not have been noticed: {named}; take the calls that show them"
    elif shown < SHOWN * known and not narrow:
        yield f"{shown} of {known} known mistakes show within the declaration; declare more positions, or more values of parameters"


def _reasons(checked: Sequence[Checked]) -> str:
    """Return why calls came to nothing, the most frequent reasons first."""
    outcomes = (one.judgement.outcome for one in checked)
    reasons = Counter(outcome.reason for outcome in outcomes if isinstance(outcome, Unsupported | NotJudged))
    return ", ".join(f"{reason!r}" for reason, _ in reasons.most_common(REASONS)) + (", ..." if len(reasons) > REASONS else "")


def _unjudged(checked: Sequence[Checked]) -> str:
    """Return why calls came to nothing, where posenc has nothing to judge them by; nothing where the code refused one."""
    reasons = {one.judgement.outcome.reason for one in checked if isinstance(one.judgement.outcome, Unsupported)}
    return ", ".join(sorted(each.removeprefix(UNJUDGED) for each in reasons)) if all(each.startswith(UNJUDGED) for each in reasons) else ""


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def difference(refused: Sequence[Checked], taken: Sequence[Checked]) -> str:
    """Return the declaration that would tell the calls which were refused from those which were taken, if a simple one does."""
    for name, declared in telling([one.vector for one in taken], [one.vector for one in refused]).items():
        return f"declare {name}={written(declared)}"
    for name in refused[0].vector.parameters:
        values = {one.vector.parameters[name] for one in taken}
        if not values & {one.vector.parameters[name] for one in refused}:
            listed = ", ".join(sorted(map(repr, values)))
            return f"declare {name}={listed}" if len(values) == 1 else f"declare {name}={{{listed}}}"
    return ""
