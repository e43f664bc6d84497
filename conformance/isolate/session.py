"""A worker process and the conversation with it: start, call, stop when it hangs, start again when it dies."""

import functools
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

import numpy as np

from conformance.calls.limits import Limits
from conformance.calls.manner import PLAIN, Manner
from conformance.calls.outcomes import Crashed, Errored, Exhausted, Failed, HarnessError, Outcome, Reason, TimedOut
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply, Subject, asked
from conformance.calls.takes import WHEN, Takes
from conformance.isolate import replies
from conformance.isolate.channel import ChannelClosedError, ChannelError
from conformance.isolate.interrupts import uninterrupted
from conformance.isolate.process import Process
from conformance.isolate.targets import COMMAND, LibraryMissing, TargetError, configured
from conformance.protocol.errors import UnaskedError
from conformance.spec.declarations import operations
from conformance.spec.profiles import CAST

#: After so many starts in a row that gave no worker there are no more: each may take as long as a target may take to start.
STARTS = 3
#: Of the number of a call: JSON of any language holds it.
NUMBER_BITS = 53
NUMBERED = "a reply must carry the number of its call, got"
GARBAGE = "sent garbage:"
#: What a call ends with where another reply comes than its own; of a worker that was called before, that is one which that call left.
OTHERS = Crashed(f"{GARBAGE} {NUMBERED} another")
UNASKED = Crashed("sent an answer that nobody asked for")
#: Where a dtype is kept: what was asked whatever the dtype.
ANY = ""


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


@dataclass
class Kin:
    """What the sessions of one target share: what its worker first said of itself, who they are, whether only one worker can run.

    ``failed`` says why each of the last starts in a row under a hash seed gave no worker; ``reached`` who imported or opened what holds
    right answers.
    """

    about: Mapping[str, Any] = field(default_factory=dict)
    sessions: "WeakSet[Session]" = field(default_factory=WeakSet)
    one_at_a_time: bool = False
    failed: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    reached: dict[str, None] = field(default_factory=dict)

    def reach(self, who: str, words: Sequence[str]) -> None:
        """Keep what a worker says that somebody reached."""
        self.reached.update(dict.fromkeys(f"{who} {each}" for each in words))


class Session:
    """One target in one worker process, started at the first use and again after a crash or a hang."""

    #: What a worker may say of itself.
    first_words: Mapping[str, replies.Form] = replies.DECLARED
    #: Whether a fresh one has a worker of its own.
    isolated = True

    def __init__(self, target: str, limits: Limits | None = None, *, under: str | None = None) -> None:
        """Start nothing yet; ``under`` names a circumstance of the target's framework, in which every call is made."""
        self.target = target
        self.limits = limits or Limits()
        self.under = under
        self.hash_seed = 0
        self.starts = 0
        self.late: dict[tuple[int, str], Crashed | Exhausted] = {}
        self.left: dict[tuple[int, str], dict[str, None]] = {}
        self._process: Process | None = None
        self._kin = Kin()
        self._kin.sessions.add(self)
        self._greeted = False
        self._places: list[int] = []
        self._last: tuple[int, str] | None = None
        self._altered = False
        self._admitted: dict[tuple[int, str], bool] = {}

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the worker."""
        self.close()

    @property
    def about(self) -> Mapping[str, Any]:
        """What the worker first said about itself: adapter, versions."""
        if not self._kin.about:
            self._running()
        return self._kin.about

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
            self._admitted[key] = not self._asked(index, parameters).get("refusal")
        return self._admitted[key]

    def _asked(self, index: int, parameters: Mapping[str, object]) -> Mapping[str, Any]:
        """Return what a worker says of a declaration, nothing where it has no answer."""
        asked = {"parameters": dict(parameters), "admits": True}
        try:
            return self._answered(index, ANY, asked, [], replies.ADMITTED, by="a predicate of its declaration ")[0]
        except CallFailedError:
            return {}

    def fresh(self, *, hash_seed: int = 0) -> Self:
        """Return another session on the same target, in which nothing has been called yet; sets may have another order in it."""
        return self._another().joining(self._kin, hash_seed)

    def joining(self, kin: Kin, hash_seed: int) -> Self:
        """Return it, as one of those that share what is known of the target."""
        self._kin, self.hash_seed = kin, hash_seed
        kin.sessions.add(self)
        return self

    def _another(self) -> Self:
        """Return a session like this one, of which nothing is known yet."""
        return type(self)(self.target, self.limits, under=self.under)

    @property
    def program(self) -> str:
        """The command of a program; nothing for what is no program."""
        return self.target.removeprefix(COMMAND) if self.target.startswith(COMMAND) else ""

    @property
    def opened(self) -> str:
        """What a person writes to open it; nothing for a program, which is put a case to by a command."""
        return "" if self.program else f"Session({self.target!r}{f', under={self.under!r}' if self.under else ''})"

    def subject(self, descriptor: Descriptor, dtype: str, profile: str) -> Subject:
        """Return one implementation at one dtype as something to call."""
        call, operation = functools.partial(self.request, descriptor, dtype), operations()[descriptor.operation]
        return Subject(
            operation=operation,
            dtype=dtype,
            profile=profile,
            call=call,
            restrictions=descriptor.inside,
            takes=asked(descriptor.takes, operation, dtype),
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
        """Make one call in the worker."""
        said = {"dtype": dtype, "parameters": dict(parameters), "under": self.under, **manner.as_header()}
        names = list(operations()[descriptor.operation].results)[: 1 if manner.cotangents else None]
        return received(*self._answered(descriptor.index, dtype, said, [*arrays, *manner.beside], replies.CALLED, names))

    def _answered(
        self,
        index: int,
        dtype: str,
        said: Mapping[str, object],
        arrays: Sequence[np.ndarray],
        forms: Mapping[str, replies.Form],
        results: Sequence[str] | None = None,
        *,
        by: str = "",
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Return what a worker answers in the name of an implementation, who is told of what that leaves; ``by`` says what of it does."""
        self.notice()
        self._hand_over(index, dtype)
        process = self._running()
        before, self._last = self._last, (index, dtype)
        asked = {**said, "index": self._places[index] if self._places else index}
        try:
            reply, values = self._exchanged(process, asked, arrays, forms, results)
        except CallFailedError as failure:
            ending = self._of_before(process, failure.outcome)
            if before is None or ending is None:
                raise
            answered = self._answered(index, dtype, said, arrays, forms, results, by=by)  # in a fresh worker only its own faults end it
            self.late.setdefault(before, ending)
            return answered
        self._kin.reach(f"{self._named(index)},", reply["reached"])
        left = dict.fromkeys(f"{by}{each}" for each in reply["left"])
        self.left.setdefault(self._last, {}).update(left)
        self._altered = self._altered or bool(left)
        return reply, values

    def _of_before(self, process: Process, outcome: Outcome) -> Crashed | None:
        """Return what came of the call before, where that is why a call has this outcome."""
        if self.program and isinstance(outcome, Crashed) and process.popen.returncode == UnaskedError.status:
            return outcome
        return UNASKED if outcome == OTHERS else None

    def _named(self, index: int) -> str:
        """Return what an implementation is called."""
        described = self.about["implementations"][index]
        return f"{described['label']}, {described['operation']}"

    def _hand_over(self, index: int, dtype: str) -> None:
        """End a worker that isn't fit for what comes next: its modules were cast to another dtype, or another left something in it."""
        process = self._process
        if process is None or self._last is None:
            return
        other, before = self._last[0] != index, self._last[1]
        if other and process.watch.crowded():
            exceeded = process.watch.check()
            if exceeded is not None:
                self.late.setdefault(self._last, exceeded)
            self.close()
        elif (other and self._altered) or (self.under == CAST and ANY not in (before, dtype) and before != dtype):
            self.close()

    def traces(self, index: int, dtype: str) -> Mapping[str, None]:
        """Return what an implementation left changed at a dtype, or whatever the dtype, in words."""
        return {**self.left.get((index, ANY), {}), **self.left.get((index, dtype), {})}

    def afterwards(self, index: int, dtype: str) -> Crashed | Exhausted | None:
        """Return what became of a worker after an implementation had answered at a dtype, or whatever the dtype."""
        return self.late.get((index, dtype), self.late.get((index, ANY)))

    def aftermath(self, index: int, dtype: str) -> tuple[str, ...]:
        """Return in words what an implementation left changed, and how a worker ended after its answer."""
        return (*self.traces(index, dtype), *self.endings(index, dtype))

    def endings(self, index: int, dtype: str) -> tuple[str, ...]:
        """Return in words how a worker ended after an implementation's answer, if it did."""
        self.notice()
        ending = self.afterwards(index, dtype)
        return () if ending is None else (f"ends after its answer: {ending.words() if isinstance(ending, Exhausted) else ending.message}",)

    def notice(self) -> None:
        """Write down what became of the worker after its last answer, if it didn't just wait for the next call."""
        process = self._process
        if process is None or self._last is None or process.channel.silent():
            return
        try:
            process.channel.receive(deadline=time.monotonic())
            ending: Crashed | Exhausted = UNASKED
        except (ChannelError, TimeoutError) as error:
            ending = self._ending(process, error)
        self.close()
        self.late.setdefault(self._last, ending)

    def start(self) -> None:
        """Start the worker without waiting for it."""
        if self._process is None:
            if self._kin.one_at_a_time:
                self._close_others()
            with uninterrupted():
                self._process = self._started()
            self._greeted = False
            self._altered = False
            self._last = None
            self.starts += 1

    def _started(self) -> Process:
        """Return a worker that has just been started."""
        return Process(self.target, self.limits, hash_seed=self.hash_seed)

    def close(self) -> None:
        """End the worker, whatever it is doing."""
        with uninterrupted():
            process, self._process = self._process, None
            if process is not None:
                process.end()

    @property
    def open(self) -> bool:
        """Whether it has a worker."""
        return self._process is not None

    @property
    def reached(self) -> tuple[str, ...]:
        """Who imported or opened what holds right answers, in words."""
        return tuple(self._kin.reached)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the configuration that judges the target is warned of, and what of both isn't judged, in words."""
        path, plain = configured(self.target)
        others = (f"{name} is an Adapter too, and isn't judged: take it as {plain}:{name}" for name in self._kin.about.get("unjudged", ()))
        if path is None:
            return tuple(others)
        from conformance.adapt.configured import told

        return (*told(path), *others)

    @property
    def isolation(self) -> str:
        """How the limits are kept, and whether the worker could open the memory of the harness, in words."""
        mechanism = self._running().watch.mechanism
        return f"{mechanism}, the memory of the harness {'open' if self.about['reaches_parent'] else 'closed'} to it"

    def _close_others(self) -> bool:
        """End the workers of the other sessions on the target, and say whether there was one."""
        others = [session for session in self._kin.sessions if session is not self and session.open]
        for session in others:
            session.close()
        return bool(others)

    def _running(self) -> Process:
        """Return the worker, ready to be called; where the target was ready before, one that isn't any more is the outcome of a call."""
        kin, failed, again = self._kin, self._kin.failed[self.hash_seed], "its worker can't be started again"
        if self.hash_seed:
            again = f"its worker can't be started under PYTHONHASHSEED={self.hash_seed}"
        if len(failed) == STARTS:
            raise CallFailedError(Crashed(f"{again}, as was tried {STARTS} times in a row: {failed[-1]}"))
        try:
            process = self._ready()
        except OSError as error:
            if not kin.about:
                raise
            raise CallFailedError(HarnessError(f"the system starts no worker again: {error}")) from error
        except TargetError as error:
            if not kin.about:
                raise
            if self._close_others():
                kin.one_at_a_time = True
                return self._running()
            failed.append(str(error))
            raise CallFailedError(Crashed(f"{again}: {error}")) from error
        failed.clear()
        return process

    def _ready(self) -> Process:
        self.start()
        process = self._process
        if process is None:
            message = "a session must have a worker after start, got none"
            raise RuntimeError(message)
        if not self._greeted:
            about = self._greeting(process)
            self._kin.reach("the target", about.pop("reached"))
            first = self._kin.about = self._kin.about or about
            if _in_order(about) != _in_order(first):
                self.close()
                message = f"{self.target} must describe itself alike at each start, got {_unlike(first, about)}"
                raise TargetError(message)
            process.watch.settle()
            self._places = [_implementations(about).index(each) for each in _implementations(first)]
            self._greeted = True
        return process

    def _exchanged(
        self,
        process: Process,
        header: Mapping[str, object],
        arrays: Sequence[np.ndarray],
        forms: Mapping[str, replies.Form],
        results: Sequence[str] | None = None,
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Send a request and return its reply: one that carries its number, which nobody can guess, and has one of the forms."""
        call = secrets.randbits(NUMBER_BITS)
        try:
            reply, values = process.exchange({**header, "call": call}, arrays, self.limits.call_seconds)
            _numbered(reply, call)
            replies.verify(reply, forms)
            if results is not None:
                replies.verify_results(reply, values, results)
        except TimeoutError as error:
            self.close()
            raise CallFailedError(TimedOut(self.limits.call_seconds)) from error
        except ChannelError as error:
            raise CallFailedError(self._ending(process, error)) from error
        return reply, values

    def _greeting(self, process: Process) -> dict[str, Any]:
        about = self._first_words(process)
        if about["status"] == "ready":
            return about
        self.close()
        words = f"{about['message']}{process.last_words if self.program else ''}"
        raise (LibraryMissing if about["status"] == "library missing" else TargetError)(words)

    def _first_words(self, process: Process) -> dict[str, Any]:
        try:
            words = process.channel.receive(deadline=time.monotonic() + self.limits.startup_seconds)[0]
            replies.verify(words, self.first_words)
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
        return words

    def _ending(self, process: Process, error: Exception) -> Crashed | Exhausted:
        """Return how the worker ended, or what was wrong with its frame, and end what is left of it."""
        ended = process.ending() if isinstance(error, ChannelClosedError) else f"{GARBAGE} {error}"
        self.close()
        return process.watch.check() or Crashed(ended)


def _implementations(about: Mapping[str, Any]) -> list[Any]:
    """Return what a worker says that it offers; one that identifies a function offers nothing."""
    return list(about.get("implementations", ()))


def _in_order(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a worker says of itself, whatever the order of its implementations, which a set may have given."""
    return {**about, "implementations": sorted(_implementations(about), key=repr)}


def _unlike(first: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in words what a worker says of itself that the first one didn't."""
    names = [name for name in {**first, **now} if first.get(name) != now.get(name)]
    return f"another {', '.join(names)}"


def _numbered(reply: Mapping[str, Any], call: int) -> None:
    if reply.get("call") != call:
        message = f"{NUMBERED} {'another' if 'call' in reply else 'none'}"
        raise ChannelError(message)


def received(reply: Mapping[str, Any], values: Sequence[np.ndarray]) -> Reply:
    """Return what a worker answered, or raise where that is no result."""
    match reply["status"]:
        case "ok":
            return Reply(
                values=dict(zip(reply["results"], values, strict=True)),
                dtypes=reply["dtypes"],
                modified=tuple(reply["modified"]),
                aliases=tuple(reply["aliases"]),
                repeats=reply["repeats"],
                unlike=reply["unlike"],
                overwritten=tuple(reply["overwritten"]),
            )
        case "unsupported":
            raise CallRefusedError(reply["reason"] or "no reason is given", declared=reply["declared"])
        case "error":
            raise CallFailedError(Errored(reply["message"]))
        case "misfit":
            raise CallFailedError(Failed(Reason.ADAPTER, reply["message"]))
    raise CallFailedError(Failed(Reason.MALFORMED, reply["message"]))
