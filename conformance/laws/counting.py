"""Laws of positions on several axes: text counts on, and grids take as many positions as they have on their longest axis."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.trial import Checker, Sides, Trial, exactly, same
from refimpl.spec import Law

#: So many tokens of text are put in front at most.
LONGEST = 8


def _ends(trial: Trial) -> list[int]:
    """Return the numbers at which grids and the text after them begin, in turn."""
    parameters, ends = trial.arguments.parameters, [0]
    for before, *sides in zip(*(parameters[name] for name in ("text", "times", "heights", "widths")), strict=True):
        ends += [ends[-1] + before, ends[-1] + before + math.prod(sides)]
    return ends[1:] or ends


def counts_on(trial: Trial) -> Iterator[Sides]:
    """Tokens past the last grid stand as far behind the first of them as their numbers are higher, on every axis; one alone, too."""
    call, end = trial.arguments, _ends(trial)[-1]
    numbers = call.arrays["positions"]
    first = trial.answer(call.with_arrays(positions=np.full_like(numbers, end)))
    yield exactly(first.values, first.values[..., :1])
    later = trial.answer(call.with_arrays(positions=end + numbers))
    yield same(later, first + numbers[..., None])
    yield exactly(trial.answer(call.with_arrays(positions=end + numbers[..., -1:])).values, later.values[..., -1:, :])


def follows(trial: Trial) -> Iterator[Sides]:
    """A grid, and the text after it, begins one past the largest position of all tokens before, on every axis."""
    ends = _ends(trial)
    came = trial.answer(trial.arguments.with_arrays(positions=np.arange(ends[-1] + 1))).values
    yield exactly(came[ends], np.array([[came[:end].max(initial=-1) + 1] for end in ends]))


def moved_by_text(trial: Trial) -> Iterator[Sides]:
    """With more text in front every token stands that much later, as its number is that much higher."""
    call, more = trial.arguments, 1 + trial.example.shift % LONGEST
    text = call.parameters["text"]
    moved = call.with_arrays(positions=call.arrays["positions"] + more)
    later = moved.with_parameters(text=(text[0] + more, *text[1:])) if text else moved
    yield same(trial.answer(later), trial.answer(call) + more)


LAWS: Mapping[Law, Checker] = {Law.COUNTS_ON: counts_on, Law.FOLLOWS: follows, Law.MOVED_BY_TEXT: moved_by_text}
