"""Diagnose wrong values: those of plain calls, else those of one mode or of gradients alone."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from conformance.calls.manner import EXPANDED, MODES, PARTS, REVERSED, SWAPPED, TRACKED, WAYS, Manner
from conformance.calls.outcomes import Diagnosis, Errored, Failed, Reason
from conformance.checks import vector_checks
from conformance.checks.vector_checks import Checked
from conformance.isolate.session import Session
from conformance.isolate.targets import configured
from conformance.judge.journal import Task

STRIDED = (SWAPPED, REVERSED, EXPANDED, PARTS)
CONTIGUOUS = (
    "right for contiguous arrays, wrong for views such as transposed ones: go by strides, or make arrays contiguous first"
    " (contiguous=True declares that it takes no others)"
)
DIAGNOSED = (Reason.VALUE, Reason.SHAPE, Reason.NOT_FINITE)


def diagnosable(checked: Checked) -> bool:
    """Whether a diagnosis can say something about a check: it came to wrong values, or to none."""
    outcome = checked.judgement.outcome if checked.vector.error is None else None
    return isinstance(outcome, Errored) or (isinstance(outcome, Failed) and outcome.reason in DIAGNOSED)


def diagnosis(session: Session, task: Task, checked: Sequence[Checked]) -> Diagnosis | None:
    """Return the known mistake that wrong values show, and in which mode alone they come; else what is known of them."""
    plain = [each for each in checked if not each.manner.unlike_plain]
    by = configured(session.target)[0]
    if any(map(diagnosable, plain)):
        from conformance.diagnosis import diagnose

        found = diagnose.of_checks(plain, session.subject(task.descriptor, task.dtype, task.profile), configured=by)
        return _of_program(found) if found is not None and session.program else found
    if by is not None and any(one.failed for one in plain):
        from conformance.diagnosis.by_configuration import by_configuration
        from conformance.diagnosis.elsewhere import elsewhere

        return by_configuration(elsewhere(plain), plain)
    wrong = {each.manner.views for each in checked if diagnosable(each) and not each.manner.before and not each.manner.cotangents}
    mode = next((mode for mode in (*MODES, TRACKED) if mode in wrong), None)
    if mode is not None:
        return _in_mode(session, task, plain, mode, configured=by)
    turned = [each for each in checked if each.manner.cotangents]
    if any(map(diagnosable, turned)):
        from conformance.diagnosis.gradients import of_gradients

        return of_gradients(turned)
    strided = any(views.startswith(STRIDED) for views in wrong)
    return Diagnosis((), "", "", "", kind="unknown", description=(CONTIGUOUS,)) if strided else None


def _of_program(found: Diagnosis) -> Diagnosis:
    """Return a diagnosis with the words in which a program declares what it computes."""
    from conformance.mutants.catalogue import KNOWN

    known = [KNOWN[name] for name in found.mutants if name in KNOWN]
    forced = {name: value for one in known for name, value in getattr(one, "forces", {}).items()}
    if found.kind != "convention" or len(known) < len(found.mutants) or not forced:
        return found
    return replace(
        found, fix=f'declare {json.dumps(forced)} in its "restrictions", or honour the {" and the ".join(forced)} asked for'
    )


def _in_mode(session: Session, task: Task, plain: Sequence[Checked], mode: str, *, configured: Path | None) -> Diagnosis | None:
    """Return what all small calls show that are right when they are made plainly, made once more in a mode, by themselves."""
    from conformance.diagnosis import diagnose

    with session.fresh() as fresh:
        subject = fresh.subject(task.descriptor, task.dtype, task.profile)
        small = (each.vector for each in plain if each.reply is not None and not each.vector.at)
        asked = [vector_checks.check(subject, task, vector, Manner(views=mode)) for vector in small]
    found = diagnose.of_checks(asked, configured=configured) if any(map(diagnosable, asked)) else None
    if found is None:
        return None
    where = f"only where {WAYS[mode]}"
    if found.named:
        return replace(found, does=f"{found.does}, {where}")
    return replace(found, description=(f"wrong {where}", *found.description))
