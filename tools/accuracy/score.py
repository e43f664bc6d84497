"""Count answers, and say them on a screen."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tools import documents
from tools.accuracy.answers import HELD_OUT, RIGHT, UNTOLD, Answer, Answered, share

#: What is counted apart: a value that is another, and a value that is less precise.
KINDS: Mapping[str, tuple[str, ...]] = {"value": ("mistake", "convention"), "precision": ("precision",)}
#: What is counted, in words short enough for a screen.
COLUMNS = {
    "trials": tuple(Answer),
    "caught": tuple(answer for answer in Answer if answer is not Answer.PASSED),
    "shown": tuple(answer for answer in Answer if answer not in UNTOLD),
    "first": RIGHT,
    "three": (Answer.AMONG,),
    "more": (Answer.LISTED,),
    "none": (Answer.NOT_NAMED,),
    "also": (Answer.ALSO,),
    "wrong": (Answer.MISNAMED,),
}
LEGEND = """\
trials: asked; caught: by a vector or a law; shown: by a vector, by enough
first: named right first; three: right among three; more: further down
none: not named; also: misnamed, others fit as well; wrong: misnamed alone
"""
LONGEST = 16


def of_kind(found: Sequence[Answered], kind: str) -> list[Answered]:
    """Return the trials of mistakes of value, or of precision."""
    return [each for each in found if each.kind in KINDS[kind]]


def counts(found: Sequence[Answered]) -> list[int]:
    """Return a number for every column."""
    of = Counter(each.answer for each in found)
    return [sum(of[answer] for answer in answers) for answers in COLUMNS.values()]


def rate(found: Sequence[Answered], without: Sequence[Answer] = UNTOLD) -> str:
    """Return the share that was named right first of all but those with some answers, and but for what needn't be named."""
    left = [each for each in found if each.answer not in without and (each.kind, each.answer) != (HELD_OUT, Answer.NOT_NAMED)]
    return f"{100 * share(left, RIGHT, without=()):.2f} %" if left else "-"


def verdict(found: Sequence[Answered]) -> str:
    """Return the rates in a sentence."""
    return f"Named right first: {rate(found)} of what is shown, {rate(found, [Answer.PASSED])} of what is caught."


def table(found: Sequence[Answered], column: str) -> Iterator[tuple[str, ...]]:
    """Yield a head and a row for every value of a column (``scheme``, ``dtype``), and all of them together."""
    yield (column, *COLUMNS, "right")
    groups = dict.fromkeys(_value(each, column) for each in found)
    for group in groups:
        yield _row(group, [each for each in found if _value(each, column) == group])
    yield _row("all", found)


def _value(each: Answered, column: str) -> str:
    return str(getattr(each if hasattr(each, column) else each.trial, column))


def _row(name: str, found: Sequence[Answered]) -> tuple[str, ...]:
    return (name, *(f"{count:,}" for count in counts(found)), rate(found))


def aligned(found: Sequence[Answered], column: str) -> list[str]:
    """Return the table as lines of a screen."""
    return documents.aligned(list(table(found, column)), gap=" ", longest=LONGEST)


def confused(found: Sequence[Answered], *answers: Answer) -> Iterator[str]:
    """Yield a line for every trial that got one of the answers: what it was, and what it was called."""
    for each in found:
        if each.answer in answers:
            yield f"{each.trial.words}: {', '.join(each.named) or 'nothing named'}"
