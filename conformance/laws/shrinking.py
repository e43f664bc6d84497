"""Make a counterexample small."""

import contextlib
import itertools
import random
from collections.abc import Sequence

import numpy as np
from hypothesis import Phase, find
from hypothesis.errors import HypothesisException

from conformance.calls.subject import Subject
from conformance.laws.examples import example_for, silent
from conformance.laws.judging import Check, judge
from conformance.laws.trial import Example, Trial

#: How many smaller examples are tried for a law that is broken.
ATTEMPTS = 100
#: A smaller example must still be that many times the allowed off, unless the one that was met is less.
CLEARLY = 10.0


class _EnoughError(BaseException):
    """Shrinking has had its share."""


def smallest(subject: Subject, check: Check, met: Example, known: Sequence[Example], *, examples: int, seed: int) -> Example:
    """Return a small example that breaks the law: one that is small for another law already, else after a bounded number of attempts."""
    clear = min(CLEARLY, _ratio(subject, check, met))
    shared = [example for example in known if _ratio(subject, check, example) >= clear]
    return min(shared or [met, *_smaller(subject, check, clear, examples=examples, seed=seed)], key=_size)


def _ratio(subject: Subject, check: Check, example: Example) -> float:
    """Return how many times the allowed an example is off where it breaks the law, else 0."""
    verdict = judge(Trial(subject, example), check)
    return 0.0 if verdict is None or verdict.message is None else verdict.ratio


def _smaller(subject: Subject, check: Check, clear: float, *, examples: int, seed: int) -> list[Example]:
    """Return the examples that clearly broke the law while it was drawn for again and shrunk."""
    found: list[Example] = []
    attempts = itertools.count()

    def broken(example: Example) -> bool:
        if found and next(attempts) > ATTEMPTS:
            raise _EnoughError
        if _ratio(subject, check, example) >= clear > 0.0:
            found.append(example)
        return bool(found) and found[-1] is example

    with contextlib.suppress(HypothesisException, _EnoughError):
        chosen = silent(examples, Phase.generate, Phase.shrink)
        find(example_for(subject), broken, settings=chosen, random=random.Random(seed))  # noqa: S311  nothing secret
    return found


def _size(example: Example) -> tuple[int, float]:
    """Order examples by how many numbers they hold, and then how large those are."""
    arrays = example.arguments.arrays.values()
    return sum(array.size for array in arrays), sum(float(np.abs(array).sum()) for array in arrays)
