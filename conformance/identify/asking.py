"""The conversation with the process that holds the functions: which there are, and what they return."""

import math
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from conformance.calls.limits import Limits
from conformance.calls.outcomes import FATAL, FUTILE, Exhausted, Outcome, TimedOut
from conformance.calls.subject import CallFailedError
from conformance.identify.inside import SEPARATOR
from conformance.isolate import replies
from conformance.isolate.process import Process
from conformance.isolate.session import ANY, Session

#: What Python says of a call whose arguments aren't the function's.
ARGUMENTS = ("keyword argument", "positional argument", "keyword-only")
#: Where an exception came from, whose file may have the name of a library, and where one of the call itself does.
PLACE, OWN = re.compile(r" \([^()]*:\d+ in [^()]*\)"), " (inside.py:"
MODULE = "conformance.identify.inside"
OVER, INTERRUPTED = "the time is over (--seconds)", "it was interrupted"
#: A refusal that came so often again when the call was repeated is taken for what it is from then on.
OFTEN = 20
LOST = f"its process was lost {FUTILE} times after an answer"


@dataclass(frozen=True)
class Argument:
    """One argument of a function, as its signature has it."""

    name: str
    required: bool
    default: object


@dataclass(frozen=True)
class Signature:
    """What is known of a function before it is called."""

    index: int
    label: str
    framework: str
    positional: tuple[Argument, ...]
    keywords: tuple[Argument, ...]
    any_positional: bool
    any_keyword: bool
    declared: tuple[str, Mapping[str, object]] | None = None
    training: bool = False


class Refused(Exception):  # noqa: N818  an answer, not an error
    """The function gave no result for a call, and why.

    ``fatal`` where its process came to an end, or had to; ``exceeded`` where it had to for the time or the memory of a call.
    """

    def __init__(self, reason: str, *, fatal: bool = False, exceeded: bool = False) -> None:
        """Say why."""
        super().__init__(reason)
        self.fatal, self.exceeded = fatal, exceeded

    @property
    def hopeless(self) -> bool:
        """Whether other arrays can't help: it doesn't take such arguments, or takes the process down."""
        reason = str(self)
        ours = OWN in reason or not PLACE.search(reason)
        return self.fatal or (ours and reason.startswith("TypeError") and any(words in reason for words in ARGUMENTS))


class OutOfTimeError(Exception):
    """A function is asked no more: all the time is over, it was interrupted, or it has ended its process too often after its answers."""


class Strangers(Session):
    """The functions of one target in one worker process."""

    first_words = replies.UNDECLARED

    def __init__(
        self, target: str, framework: str | None = None, limits: Limits | None = None, seconds: float = math.inf
    ) -> None:
        """Start nothing yet; so many seconds from now on calls are made."""
        super().__init__(target, limits)
        self.framework = framework or ""
        self.until = time.monotonic() + seconds
        self.stopped = False
        self.unanswered: dict[int, dict[str, None]] = {}
        self.refusals: Counter[tuple[int, str]] = Counter()

    def stop(self) -> None:
        """Begin no call from now on, and end the one that was interrupted."""
        self.stopped, self.until = True, -math.inf
        self.close()

    @property
    def over(self) -> bool:
        """Whether the time is over, or it was interrupted."""
        return time.monotonic() > self.until

    def spent(self, index: int) -> str:
        """Why a function is asked no more, in words; nothing where it is."""
        return INTERRUPTED if self.stopped else OVER if self.over else LOST if self._ended[index, ANY] >= FUTILE else ""

    @property
    def functions(self) -> tuple[Signature, ...]:
        """Every function of the target."""
        return tuple(signature(index, described) for index, described in enumerate(self.about["functions"]))

    @property
    def alone(self) -> bool:
        """Whether the target is one function, not an adapter."""
        return bool(self.about["alone"])

    def _twice(self, index: int, header: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Return an answer, the second time where a call ended its worker: what calls before it had left is why if it comes then."""
        try:
            return self._answered(index, ANY, header, arrays, replies.ANSWERED)
        except CallFailedError as error:
            if not isinstance(error.outcome, FATAL):
                raise
            self.unanswered.setdefault(index, {})[f"a call had no answer: {_words(error.outcome)}"] = None
            if isinstance(error.outcome, TimedOut):
                raise
        answered = self._answered(index, ANY, header, arrays, replies.ANSWERED)
        self._ended[index, ANY] += 1
        return answered

    def faults(self, index: int) -> tuple[str, ...]:
        """Return in words which calls of a function had no answer, and how its process ended after an answer."""
        return (*self.unanswered.get(index, ()), *self.endings(index, ANY))

    def _another(self) -> Self:
        """Return a session that has nothing called yet, with the time and the patience that are left to this one."""
        other = type(self)(self.target, self.framework, self.limits)
        other.until, other.unanswered, other.late, other._ended = self.until, self.unanswered, self.late, self._ended  # noqa: SLF001  its own
        return other

    def _started(self) -> Process:
        """Return a worker that answers undeclared calls."""
        return Process(f"{self.target}{SEPARATOR}{self.framework}", self.limits, MODULE, hash_seed=self.hash_seed)

    def _named(self, index: int) -> str:
        """Return what a function is called."""
        return str(self.about["functions"][index]["label"])

    def answer(
        self, index: int, arguments: Sequence[Any], keywords: Mapping[str, Any], dtype: str, *, strided: bool = False
    ) -> tuple[list[np.ndarray], bool]:
        """Return what a function returns, or raise ``Refused``; one complex array is true and its real and imaginary parts.

        ``strided`` arrays are views whose numbers don't lie one after the other. Raises ``OutOfTimeError`` where it is asked no more.
        """
        if self.spent(index):
            raise OutOfTimeError
        header, arrays = request(arguments, keywords, dtype, strided=strided)
        reply, values = self._replied(index, header, arrays)
        if reply["status"] != "ok":
            first = reply["message"]
            if self.refusals[index, first] < OFTEN:
                reply, values = self._replied(index, header, arrays)
            if reply["status"] != "ok":
                self.refusals[index, first] += reply["message"] == first
                raise Refused(first)
            self.unanswered.setdefault(index, {})[f"a call that was answered when it was made again ended with {first}"] = None
        return values, reply["complex"]

    def _replied(self, index: int, header: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Return the reply to a call, or raise ``Refused`` where none comes."""
        try:
            return self._twice(index, header, arrays)
        except CallFailedError as error:
            outcome = error.outcome
            raise Refused(_words(outcome), fatal=isinstance(outcome, FATAL), exceeded=isinstance(outcome, TimedOut | Exhausted)) from error


def request(
    arguments: Sequence[Any], keywords: Mapping[str, Any], dtype: str, *, strided: bool = False
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the header that says a call, and the arrays that go with it."""
    arrays: list[np.ndarray] = []
    first = [_sent(value, arrays) for value in arguments]
    named = {name: _sent(value, arrays) for name, value in keywords.items()}
    return {"dtype": dtype, "strided": strided, "arguments": first, "keywords": named}, arrays


def _sent(value: Any, arrays: list[np.ndarray]) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        return {"value": value}
    if value.dtype.kind == "c":
        arrays += [value.real.astype(np.float64), value.imag.astype(np.float64)]
        return {"complex": len(arrays) - 2}
    arrays.append(value.astype(np.int64 if value.dtype.kind == "i" else np.float64))
    return {"array": len(arrays) - 1}


def _words(outcome: Outcome) -> str:
    return str(getattr(outcome, "message", None) or getattr(outcome, "words", lambda: outcome)())


def signature(index: int, described: Mapping[str, Any]) -> Signature:
    """Return what the worker says of a function."""
    positional, keywords = (tuple(Argument(**item) for item in described[kind]) for kind in ("positional", "keywords"))
    plain = {name: described[name] for name in ("label", "framework", "training", "any_positional", "any_keyword")}
    declared = None if described["declared"] is None else tuple(described["declared"])
    return Signature(index=index, positional=positional, keywords=keywords, declared=declared, **plain)
