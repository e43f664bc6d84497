"""A worker process and the conversation with it: start, call, stop when it hangs, start again when it dies."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import numpy as np

from conformance.calls.limits import Limits
from conformance.calls.manner import PLAIN, Manner
from conformance.calls.outcomes import Crashed, Errored, Exhausted, Failed, HarnessError, Reason, TimedOut
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply, Subject
from conformance.calls.takes import WHEN, Takes
from conformance.isolate.channel import ChannelClosedError, ChannelError
from conformance.isolate.interrupts import uninterrupted
from conformance.isolate.process import Process
from conformance.isolate.targets import LibraryMissing, TargetError
from conformance.spec.declarations import operations
from conformance.spec.profiles import CAST


@dataclass(frozen=True)
class Descriptor:
    """One implementation as its worker describes it."""

    index: int
    label: str
    operation: str
    dtypes: tuple[str, ...]
    profile: Mapping[str, str]
    takes: Takes
    modifies_inputs: bool
    restrictions: Mapping[str, object]
    takes_dtype: bool
    admits: Callable[[Mapping[str, object]], bool] | None = field(default=None, compare=False, repr=False)

    @property
    def inside(self) -> Mapping[str, object]:
        """What parameters are drawn from: the restrictions, and what asks its predicates where it has some."""
        return self.restrictions if self.admits is None else {**self.restrictions, WHEN: self.admits}


class Session:
    """One target in one worker process, started at the first use and again after a crash or a hang."""

    def __init__(self, target: str, limits: Limits | None = None, *, under: str | None = None) -> None:
        """Start nothing yet; ``under`` names a circumstance of the target's framework, in which every call is made."""
        self.target = target
        self.limits = limits or Limits()
        self.under = under
        self.starts = 0
        self.late: dict[tuple[int, str], Crashed | Exhausted] = {}
        self._process: Process | None = None
        self._about: dict[str, Any] = {}
        self._last: tuple[int, str] | None = None
        self._altered = False
        self._calls = 0
        self._admitted: dict[tuple[int, str], bool] = {}

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the worker."""
        self.close()

    @property
    def about(self) -> Mapping[str, Any]:
        """What the worker said about itself: adapter, versions."""
        self._running()
        return self._about

    @property
    def implementations(self) -> tuple[Descriptor, ...]:
        """Every implementation that the target offers."""
        described = self.about["implementations"]
        return tuple(self._descriptor(index, **item) for index, item in enumerate(described))

    def _descriptor(
        self, index: int, *, dtypes: Sequence[str], takes: Mapping[str, Any], by_predicate: bool = False, **said: Any
    ) -> Descriptor:
        admits = functools.partial(self.admits, index) if by_predicate else None
        return Descriptor(index, dtypes=tuple(dtypes), takes=Takes(**takes), admits=admits, **said)

    def admits(self, index: int, parameters: Mapping[str, object]) -> bool:
        """Return whether a declaration's predicates take parameters; where these fail, the call is to show it."""
        key = index, repr(sorted(parameters.items()))
        if key not in self._admitted:
            self._admitted[key] = not self._asked({"index": index, "parameters": dict(parameters), "admits": True}).get("refusal")
        return self._admitted[key]

    def _asked(self, question: Mapping[str, object]) -> Mapping[str, Any]:
        """Return what a worker says of a declaration, nothing where it has no answer."""
        try:
            return self._exchanged(self._running(), question, [])[0]
        except CallFailedError:
            return {}

    def fresh(self) -> "Session":
        """Return another session on the same target, in which nothing has been called yet."""
        return Session(self.target, self.limits, under=self.under)

    @property
    def opened(self) -> str:
        """What a person writes to open it."""
        return f"Session({self.target!r}{f', under={self.under!r}' if self.under else ''})"

    def subject(self, descriptor: Descriptor, dtype: str, profile: str) -> Subject:
        """Return one implementation at one dtype as something to call."""
        call = functools.partial(self.request, descriptor, dtype)
        return Subject(
            operation=operations()[descriptor.operation],
            dtype=dtype,
            profile=profile,
            call=call,
            restrictions=descriptor.inside,
            takes=descriptor.takes,
            label=descriptor.label,
            call_in=call,
            manners=frozenset(self.about["manners"]),
        )

    def call(
        self,
        operation: str,
        arrays: Sequence[np.ndarray],
        parameters: Mapping[str, object],
        *,
        label: str | None = None,
        dtype: str | None = None,
        views: str = "",
        cotangents: Sequence[np.ndarray] = (),
        before: Sequence[np.ndarray] = (),
    ) -> dict[str, np.ndarray]:
        """Return what the implementation of an operation gives, or its gradient: for people who paste a reproduction."""
        found = next(d for d in self.implementations if d.operation == operation and label in (None, d.label))
        manner = Manner(views=views, cotangents=tuple(cotangents), before=tuple(before))
        return dict(self.request(found, dtype or found.dtypes[0], arrays, parameters, manner).values)

    def request(
        self,
        descriptor: Descriptor,
        dtype: str,
        arrays: Sequence[np.ndarray],
        parameters: Mapping[str, object],
        manner: Manner = PLAIN,
    ) -> Reply:
        """Make one call in the worker; one whose state an other implementation has changed is replaced first."""
        self.notice()
        if self._spoilt(descriptor, dtype):
            self.close()
        process = self._running()
        self._last = descriptor.index, dtype
        asked = {"index": descriptor.index, "dtype": dtype, "parameters": dict(parameters), "under": self.under, **manner.as_header()}
        reply, values = self._exchanged(process, asked, [*arrays, *manner.beside])
        answer = received(reply, values)
        self._altered = self._altered or bool(answer.left)
        return answer

    def _spoilt(self, descriptor: Descriptor, dtype: str) -> bool:
        """Whether the worker isn't fit for this call: another implementation altered it, or its modules were cast to another dtype."""
        index, before = self._last or (descriptor.index, dtype)
        return (self._altered and index != descriptor.index) or (self.under == CAST and before != dtype)

    def notice(self) -> None:
        """Write down what became of the worker after its last answer, if it didn't just wait for the next call."""
        process = self._process
        if process is None or self._last is None or process.channel.silent():
            return
        try:
            process.channel.receive(deadline=time.monotonic())
            ending: Crashed | Exhausted = Crashed("sent an answer that nobody asked for")
        except (ChannelError, TimeoutError) as error:
            ending = self._ending(process, error)
        self.close()
        self.late.setdefault(self._last, ending)

    def start(self) -> None:
        """Start the worker without waiting for it."""
        if self._process is None:
            with uninterrupted():
                self._process = self._started()
            self._about = {}
            self._altered = False
            self._last = None
            self.starts += 1

    def _started(self) -> Process:
        """Return a worker that has just been started."""
        return Process(self.target, self.limits)

    def close(self) -> None:
        """End the worker, whatever it is doing."""
        with uninterrupted():
            process, self._process = self._process, None
            if process is not None:
                process.end()

    @property
    def isolation(self) -> str:
        """How the limits are kept, in words."""
        return self._running().watch.mechanism

    def _running(self) -> Process:
        self.start()
        process = self._process
        if process is None:
            message = "a session must have a worker after start, got none"
            raise RuntimeError(message)
        if not self._about:
            self._about = self._greeting(process)
        return process

    def _exchanged(
        self, process: Process, header: Mapping[str, object], arrays: Sequence[np.ndarray]
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Send a request and return its reply: one that carries its number."""
        self._calls += 1
        try:
            reply, values = process.exchange({**header, "call": self._calls}, arrays, self.limits.call_seconds)
            _numbered(reply, self._calls)
        except TimeoutError as error:
            self.close()
            raise CallFailedError(TimedOut(self.limits.call_seconds)) from error
        except ChannelError as error:
            raise CallFailedError(self._ending(process, error)) from error
        return reply, values

    def _greeting(self, process: Process) -> dict[str, Any]:
        about = self._first_words(process)
        if about.get("status") == "ready":
            return about
        self.close()
        raise (LibraryMissing if about.get("status") == "library missing" else TargetError)(about.get("message", "no reason"))

    def _first_words(self, process: Process) -> dict[str, Any]:
        try:
            return process.channel.receive(deadline=time.monotonic() + self.limits.startup_seconds)[0]
        except TimeoutError as error:
            self.close()
            message = f"{self.target} must be ready within {self.limits.startup_seconds:g} s, got no answer"
            raise TargetError(message) from error
        except ChannelError as error:
            ending = self._ending(process, error)
            message = f"{self.target} can't be loaded: {ending.message if isinstance(ending, Crashed) else ending.words()}"
            raise TargetError(message) from error
        except BaseException:
            self.close()
            raise

    def _ending(self, process: Process, error: Exception) -> Crashed | Exhausted:
        """Return how the worker ended, or what was wrong with its frame, and end what is left of it."""
        ended = process.ending() if isinstance(error, ChannelClosedError) else f"sent garbage: {error}"
        self.close()
        return process.watch.check() or Crashed(ended)


def _numbered(reply: Mapping[str, Any], call: int) -> None:
    if reply.get("call") != call:
        message = f"a reply must be to call {call}, got one to {reply.get('call')!r}"
        raise ChannelError(message)


def received(reply: Mapping[str, Any], values: Sequence[np.ndarray]) -> Reply:
    """Return what a worker answered, or raise where that is no result."""
    match reply.get("status"):
        case "ok":
            return Reply(
                values=dict(zip(reply["results"], values, strict=True)),
                dtypes=reply["dtypes"],
                modified=tuple(reply["modified"]),
                left=tuple(reply["left"]),
                aliases=tuple(reply.get("aliases", ())),
                repeats=reply.get("repeats", 0),
                unlike=reply.get("unlike", ""),
                overwritten=tuple(reply.get("overwritten", ())),
            )
        case "unsupported":
            raise CallRefusedError(reply["reason"], declared=bool(reply.get("declared")))
        case "error":
            raise CallFailedError(Errored(reply["message"]))
        case "malformed":
            raise CallFailedError(Failed(Reason.MALFORMED, reply["message"]))
    raise CallFailedError(HarnessError(f"a reply must have a status, got {reply.get('status')!r}"))
