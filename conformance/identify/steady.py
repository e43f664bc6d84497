"""Ask the same again, and after other calls: whether answers change although calls don't, and what they change with."""

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conformance.checks.evidence import known
from conformance.checks.neighbour_checks import SHOWS
from conformance.identify.asking import Refused, Strangers
from conformance.identify.memory import Neighbour, before_zero, neighbours
from conformance.identify.probe import Exchange
from conformance.isolate import traces

#: How many calls are repeated, and how often in all: what changes in one call of twenty shows in all but one function of 20,000.
FEW, TIMES = 3, 200
#: After so many seconds it is enough.
SECONDS = 5.0
FROM_CALL_TO_CALL = "answers differ from call to call"
HISTORY = "answers depend on what was called before"
DIFFERS = "answers differ from one fresh worker to the next"
HASH_ORDER = "depends on hash order: other answers come under PYTHONHASHSEED=1; sort what a set gives"
#: In so many fresh workers each way answers must follow what they are said to depend on.
EACH_WAY = 3

Answer = list[np.ndarray] | Refused


@dataclass(frozen=True)
class Unsteady:
    """What answers change with, and a call that shows it."""

    what: str
    example: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.what}: {self.example}"


def unsteady(
    strangers: Strangers, seen: Sequence[Exchange], before: Sequence[Exchange] = (), *, checked: bool = False
) -> Unsteady | None:
    """Return what changes the answers besides the calls: nothing that can be seen, calls before, a process, or the order of sets.

    ``before`` are calls that were made before those seen. Code that is ``checked`` gave the same in other workers just now: it is only
    called again, and beside other calls, since what changes in few calls may not have changed in those of its check. Raises
    ``OutOfTimeError`` where it is asked no more.
    """
    seen, before = (seen, before) if seen else (before, ())
    seen = [each for each in seen if not _ended(each.answer)]
    answered = [each for each in seen if each.answered and not before_zero(each)]
    after = itertools.dropwhile(lambda each: not each.answered, seen)
    asked = [*itertools.islice(itertools.filterfalse(lambda each: each.answered, after), 1), *answered[-FEW:]] or list(seen[:1])
    return _unsteady(strangers, (*before, *seen), asked, checked=checked) if asked else None


def _unsteady(strangers: Strangers, made: Sequence[Exchange], asked: Sequence[Exchange], *, checked: bool) -> Unsteady | None:
    groups = neighbours(made)
    beside, start = [*groups[0], *groups[1]], len(groups[0])
    with strangers.fresh() as session:
        alone = _answers(session, asked)
        after = _until(session, _after(beside))[1::2]
        example = next(_changes(session, asked, alone), None)
    if example is not None:
        return Unsteady(FROM_CALL_TO_CALL, example)
    remembered = _remembered(strangers, asked, beside, after, start)
    if remembered is not None or checked:
        return remembered
    before = [each.answer for each in asked]
    example = _unlike(asked, before, alone)
    if example is not None:
        repeats = _repeats(strangers, asked, dict(zip(map(id, asked), alone, strict=True)))
        repeats = repeats and _repeats(strangers, made, dict(zip(map(id, asked), before, strict=True)))
        return Unsteady(HISTORY if repeats else DIFFERS, example)
    with strangers.fresh(hash_seed=1) as session:
        other = _answers(session, asked)
    example = _unlike(asked, alone, other)
    if example is None:
        return None
    repeats = _repeats(strangers, asked, dict(zip(map(id, asked), alone, strict=True)))
    repeats = repeats and _repeats(strangers, asked, dict(zip(map(id, asked), other, strict=True)), hash_seed=1)
    return Unsteady(HASH_ORDER if repeats else DIFFERS, example)


def _remembered(
    strangers: Strangers, asked: Sequence[Exchange], beside: Sequence[Neighbour], after: Sequence[Answer], start: int
) -> Unsteady | None:
    """Return what shows that a call is answered otherwise after one that differs from it in one respect: what was kept of that.

    Those from ``start`` on are asked alone in another process than those before.
    """
    calls, alone = [each.call for each in beside[: len(after)]], dict[int, Answer]()
    for begin, end in ((0, start), (start, len(calls))):
        with strangers.fresh() as session:
            alone.update(enumerate(_until(session, calls[begin:end]), begin))
    apart = [i for i, one in alone.items() if _apart(one, after[i], calls[i].probe.dtype)]
    for i in sorted({beside[i].what: i for i in reversed(apart)}.values()):  # the first of each kind
        call, what = calls[i], beside[i].what
        repeats = _repeats(strangers, [beside[i].beside, call], {id(call): after[i]})
        if repeats and _repeats(strangers, [call], {id(call): alone[i]}):
            then = f"and, after a call with other {what}," if what else "and then"
            return Unsteady(HISTORY, f"{_called(call)} gave {_change(alone[i], after[i], then)}")
    if not apart:
        return None
    first, call = apart[0], calls[apart[0]]
    repeats = _repeats(strangers, calls[start if first >= start else 0 : first + 1], {id(call): alone[first]})
    repeats = repeats and _repeats(strangers, [*asked, *_after(beside[: first + 1])], {id(call): after[first]})
    return Unsteady(HISTORY if repeats else DIFFERS, f"{_called(call)} gave {_change(alone[first], after[first])}")


def _after(beside: Sequence[Neighbour]) -> list[Exchange]:
    """Return every call right after the one beside which it stands."""
    return [each for neighbour in beside for each in (neighbour.beside, neighbour.call)]


def _until(session: Strangers, calls: Sequence[Exchange]) -> list[Answer]:
    """Return the answers to the first calls: until time is over, or one ends its process and all that it keeps.

    Time counts from the first answer on, for which a process is started and imports what it needs.
    """
    until, answers = math.inf, list[Answer]()
    for call in calls:
        answer = _answer(session, call)
        if _ended(answer) or time.monotonic() > until:
            break
        answers.append(answer)
        until = min(until, time.monotonic() + SECONDS)
    return answers


def _apart(one: Answer, other: Answer, dtype: str) -> bool:
    """Whether two answers differ by more than rounding: what was kept may have been computed in other company."""
    if isinstance(one, Refused) or isinstance(other, Refused) or len(one) != len(other):
        return bool(_change(one, other))
    return known.difference(_named(one), _named(other), dtype) > SHOWS


def _named(answer: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    return {str(index): part for index, part in enumerate(answer)}


def _repeats(strangers: Strangers, made: Sequence[Exchange], answers: Mapping[int, Answer], **how: int) -> bool:
    """Whether calls that are made in this order have the answers, where one is given, in every fresh worker that is started so."""
    for _ in range(EACH_WAY):
        with strangers.fresh(**how) as session:
            found = [(each, answer) for each, answer in zip(made, _answers(session, made), strict=True) if id(each) in answers]
        asked, other = zip(*found, strict=True)
        if _unlike(asked, [answers[id(each)] for each in asked], other) is not None:
            return False
    return True


def _answers(session: Strangers, asked: Sequence[Exchange]) -> list[Answer]:
    return [_answer(session, each) for each in asked]


def _answer(session: Strangers, exchange: Exchange) -> Answer:
    try:
        return replace(exchange.probe, strangers=session).answer(exchange.arrays)[0]
    except Refused as refusal:
        return refusal


def _changes(session: Strangers, asked: Sequence[Exchange], first: Sequence[Answer]) -> Iterator[str]:
    """Yield in words what other answers a call has that is made again at once."""
    until = time.monotonic() + SECONDS
    for exchange, answer in zip(asked, first, strict=True):
        if _ended(answer):
            continue
        directly = _answer(session, exchange)  # after itself, as all that follow
        for _ in range(TIMES // len(asked)):
            if time.monotonic() > until:
                return
            words = _change(directly, _answer(session, exchange))
            if words:
                yield f"{_called(exchange)} gave {words}"


def _unlike(asked: Sequence[Exchange], first: Sequence[Answer], other: Sequence[Answer]) -> str | None:
    """Return in words the first call with two answers in two sessions."""
    found = ((each, _change(one, two)) for each, one, two in zip(asked, first, other, strict=True))
    return next((f"{_called(each)} gave {words}" for each, words in found if words), None)


def _ended(answer: Answer) -> bool:
    return isinstance(answer, Refused) and answer.fatal


def _change(one: Answer, other: Answer, then: str = "and then") -> str:
    """Return in words how two answers differ, nothing where they don't; one that ended shows nothing, an exception has any words."""
    if _ended(one) or _ended(other):
        return ""
    if isinstance(one, Refused) or isinstance(other, Refused):
        return "" if type(one) is type(other) else f"{_kind(one)} {then} {_kind(other)}"
    if len(one) != len(other):
        return f"{len(one)} arrays {then} {len(other)}"
    different = next(((a, b) for a, b in zip(one, other, strict=True) if not traces.equal(a, b)), None)
    if different is None:
        return ""
    a, b = different
    if a.shape != b.shape:
        return f"shape {a.shape} {then} {b.shape}"
    where = traces.first_difference(a, b)
    return f"{a[where]:.9g} {then} {b[where]:.9g} at {where}"


def _kind(answer: Answer) -> str:
    return str(answer) if isinstance(answer, Refused) else "an answer"


def _called(exchange: Exchange) -> str:
    return f"{exchange.probe.plan.words()} in {exchange.probe.dtype}"
