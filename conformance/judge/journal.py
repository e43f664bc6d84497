"""What was called in a session, so that a failure can be blamed on an earlier call."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from conformance.calls.manner import MODES, PLAIN, Manner
from conformance.calls.outcomes import NotJudged, Outcome, Unsupported
from conformance.calls.subject import CallFailedError, CallNotMadeError, CallRefusedError, Reply, Subject, asked
from conformance.calls.takes import Takes
from conformance.isolate.described import Descriptor
from conformance.isolate.session import Session
from conformance.spec.declarations import operations


@dataclass(frozen=True)
class Task:
    """One implementation at one dtype, and the profile that is asked of it."""

    descriptor: Descriptor
    dtype: str
    profile: str

    @property
    def operation(self) -> str:
        """The operation's full name."""
        return self.descriptor.operation

    @property
    def takes(self) -> Takes:
        """The calls that are asked of it."""
        return asked(self.descriptor.takes, operations()[self.operation], self.dtype)

    @property
    def first(self) -> bool:
        """Whether the dtype is the implementation's first, which is asked for most."""
        return self.dtype == self.descriptor.dtypes[0]


@dataclass(frozen=True)
class Call:
    """Arrays and parameters, given to one implementation."""

    task: Task
    arrays: tuple[np.ndarray, ...]
    parameters: Mapping[str, object]
    manner: Manner = PLAIN

    def make(self, session: Session) -> Reply:
        """Make the call in a session."""
        return session.request(self.task.descriptor, self.task.dtype, self.arrays, self.parameters, self.manner)

    def outcome(self, session: Session) -> Reply | Outcome:
        """Make the call in a session, and return what came, or why nothing did."""
        try:
            return self.make(session)
        except CallNotMadeError as error:
            return NotJudged(str(error))
        except CallRefusedError as refusal:
            return Unsupported(str(refusal))
        except CallFailedError as error:
            return error.outcome

    def differing(self, other: "Call") -> tuple[str, ...]:
        """Return the parameters that differ."""
        names = dict.fromkeys((*self.parameters, *other.parameters))
        return tuple(name for name in names if self.parameters.get(name) != other.parameters.get(name))

    def same_arrays(self, other: "Call") -> bool:
        """Whether both calls are given the same numbers."""
        return len(self.arrays) == len(other.arrays) and all(map(np.array_equal, self.arrays, other.arrays))

    def looks_like(self, other: "Call") -> bool:
        """Whether both calls are alike in all but the numbers in their arrays."""
        alike = self.task == other.task and not self.differing(other)
        return alike and [a.shape for a in self.arrays] == [a.shape for a in other.arrays] and not self.same_arrays(other)

    @property
    def reach(self) -> int:
        """The largest integer among the arrays: how far a cache would grow."""
        return max((int(array.max(initial=0)) for array in self.arrays if array.dtype.kind == "i"), default=0)


class Journal:
    """The distinct calls of a session, the first and the latest of each kind."""

    def __init__(self) -> None:
        """Start empty."""
        self._calls: dict[str, Call] = {}
        self._first: dict[str, Call] = {}

    def subject(self, session: Session, task: Task) -> Subject:
        """Return the task's implementation as something to call; every call is written down."""
        plain = session.subject(task.descriptor, task.dtype, task.profile)
        return dataclasses.replace(plain, call=self._noted(task, plain.call))

    def suspects(self, call: Call) -> Iterator[Call]:
        """Yield the first call that differs in its numbers alone, then calls with other parameters.

        Of these the farthest reaching of each way to differ, the most similar first, then the next. All are made without gradients, as
        the call is, where it is.
        """
        manner = Manner(views=call.manner.views) if call.manner.views in MODES else PLAIN
        yield from (dataclasses.replace(suspect, manner=manner) for suspect in self._suspects(call))

    def _suspects(self, call: Call) -> Iterator[Call]:
        yield from (first for first in self._first.values() if first.looks_like(call))
        ways = dict[tuple[bool, bool, tuple[str, ...]], list[Call]]()
        for other in self._calls.values():
            if other.task.operation != call.task.operation or other.differing(call):
                ways.setdefault((other.task != call.task, not other.same_arrays(call), other.differing(call)), []).append(other)
        alike = [ways[way] for way in sorted(ways, key=lambda way: (*way[:2], len(way[2])))]
        for turn in zip_longest(*(sorted(way, key=lambda other: -other.reach) for way in alike)):
            yield from (other for other in turn if other is not None)

    def note(self, kind: str, call: Call) -> None:
        """Write a call down, unless one of the kind reaches farther."""
        self._first.setdefault(kind, call)
        known = self._calls.get(kind)
        if known is None or call.reach >= known.reach:
            self._calls[kind] = call

    def _noted(self, task: Task, make: Callable[[Sequence[np.ndarray], Mapping[str, object]], Reply]) -> Callable[..., Reply]:
        def call(arrays: Sequence[np.ndarray], parameters: Mapping[str, object]) -> Reply:
            reply = make(arrays, parameters)
            shapes = [array.shape for array in arrays]
            self.note(f"{task.descriptor.index} {task.dtype} {json.dumps(parameters)} {shapes}", Call(task, tuple(arrays), parameters))
            return reply

        return call
