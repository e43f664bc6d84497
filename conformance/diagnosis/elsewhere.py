"""Which channels of a head turn that should not: what comes back then is no result, and has no values."""

from collections.abc import Sequence

from conformance.calls.elsewhere import beside_of, places
from conformance.calls.outcomes import Diagnosis, Failed, Reason
from conformance.checks.vector_checks import Checked

#: So large a share of the calls must tell it: what else becomes of a head looks like a turn by chance now and then.
MOSTLY = 0.5


def elsewhere(checked: Sequence[Checked]) -> Diagnosis | None:
    """Return where else code turns, where most calls that are wrong say so of one place."""
    wrong = [one.judgement.outcome for one in checked if one.failed]
    messages = [one.message for one in wrong if isinstance(one, Failed) and one.reason is Reason.MALFORMED]
    beside = {beside_of(message) for message in messages}
    told = beside.pop() if len(beside) == 1 and len(messages) == len(wrong) else None
    turning = checked[0].task.descriptor.restrictions.get("head_dim")
    if told is None or not isinstance(turning, int):
        return None
    before, after = told
    said = ((sum(each.endswith(words) for each in messages), name, words) for name, words, _ in places(before, turning, after))
    often, name, words = max(said)
    if often <= MOSTLY * len(messages):
        return None
    end = before + turning
    should = f"turn channels {before} to {end - 1}, and leave the others as they are"
    fix = f"slice x[..., {before}:{end}], turn it as a head of its own, and put the others back beside it"
    return Diagnosis((f"{checked[0].task.operation}/{name}",), f"returns a head with {words}", should, fix)
