"""A worker process and the conversation with it: start, call, stop when it hangs, start again when it dies."""

import functools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np

from conformance.adapt.adapter import near_miss
from conformance.calls.limits import MIB, Limits
from conformance.calls.manner import PLAIN, Manner
from conformance.calls.outcomes import FUTILE, NO_WORKER, UNSTARTED, Crashed, Exhausted, HarnessError, Outcome, TimedOut
from conformance.calls.subject import CallFailedError, CallNotMadeError, Reply, Subject, asked, words
from conformance.calls.takes import Takes
from conformance.isolate import conversation, environment, replies
from conformance.isolate.conversation import UnaskedFailureError
from conformance.isolate.described import Descriptor, Kin, in_order, offered, unlike
from conformance.isolate.interrupts import uninterrupted
from conformance.isolate.piling import Ledger
from conformance.isolate.process import Process
from conformance.isolate.targets import COMMAND, TargetError, configured
from conformance.protocol.errors import ImpatientError
from conformance.spec.declarations import operations
from conformance.spec.profiles import CAST
from refimpl.spec import check

#: After so many starts in a row that gave no worker there are no more: each may take as long as a target may take to start.
STARTS = 3
#: So many operations are named where another is asked for.
LISTED = 8
#: Where a dtype is kept: what was asked whatever the dtype.
ANY = ""
PREDICATE = "a predicate of its declaration"


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
        self._ended: Counter[tuple[int, str]] = Counter()
        self.left: dict[tuple[int, str], dict[str, None]] = {}
        self._process: Process | None = None
        self._kin = Kin()
        self._kin.sessions.add(self)
        self._greeted = False
        self._asking = False
        self._places: list[int] = []
        self._last: tuple[int, str] | None = None
        self._words = ""
        self._altered = False
        self._admitted: dict[tuple[int, str], bool] = {}
        self._ledger = Ledger(0)

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
            return self._answered(index, ANY, asked, [], replies.ADMITTED, by=f"{PREDICATE} ")[0]
        except CallFailedError as failure:
            self._kin.lose(index, ANY, PREDICATE, failure.outcome)
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
            manners=frozenset((*self.about["manners"], *(["refusing"] if self.about["rejects_bad_input"] else []))),
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
        """Return what the implementation of an operation gives, or its gradient: for people who paste a reproduction.

        ``TargetError`` says that the target doesn't have the operation, ``SpecificationError`` what is wrong with arrays or parameters.
        """
        offered = [each for each in self.implementations if label in (None, each.label)]
        found = next((each for each in offered if each.operation == operation), None)
        if found is None:
            names = [*dict.fromkeys(each.operation for each in offered)]
            more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
            message = f"operation must be one of {', '.join(names[:LISTED])}{more}, got {operation!r}{near_miss(operation, names)}"
            raise TargetError(message)
        given = tuple(map(np.asarray, arrays))
        check(operations()[operation], given, parameters)
        manner = Manner(views=views, cotangents=tuple(cotangents), before=tuple(before))
        return dict(self.request(found, dtype or found.dtypes[0], given, parameters, manner).values)

    def request(
        self,
        descriptor: Descriptor,
        dtype: str,
        arrays: Sequence[np.ndarray],
        parameters: Mapping[str, object],
        manner: Manner = PLAIN,
    ) -> Reply:
        """Make one call in the worker, unless the implementation has ended it too often after its answers."""
        if self._ended[descriptor.index, dtype] >= FUTILE:
            raise CallNotMadeError
        said = {"dtype": dtype, "parameters": dict(parameters), **manner.as_header()}
        names = list(operations()[descriptor.operation].results)[: 1 if manner.cotangents else None]
        call, given = words(descriptor.operation, arrays, parameters), [*arrays, *manner.beside]
        try:
            return conversation.received(*self._answered(descriptor.index, dtype, said, given, replies.CALLED, names, call=call))
        except CallFailedError as failure:
            self._kin.lose(descriptor.index, dtype, call, failure.outcome)
            raise

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
        call: str = "",
        alone: bool = False,
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Return what a worker answers in the name of an implementation, who is told of what that leaves.

        ``by`` says what of it does, ``call`` what is asked, in words; ``alone`` that the worker was asked nothing else: all is the call's.
        """
        self.notice()
        self._hand_over(index, dtype)
        self._relieve()
        self._running()
        before, after = self._last, self._words
        self._last, self._words = (index, dtype), call
        again = functools.partial(Session.exchange, index=index, said=said, arrays=arrays, forms=forms, results=results)
        self._ledger.asks(again, said)
        try:
            reply, values = again(self)
        except UnaskedFailureError as failure:
            if alone or (before is None and not self.program):
                raise
            self._verify_patient()
            piled = self._piled(failure.ending)
            answered = self._answered(index, dtype, said, arrays, forms, results, by=by, call=call, alone=True)
            if not piled:
                self._charge(before, after, failure.ending)
            return answered
        except CallFailedError as failure:
            if alone or not self._piled(failure.outcome):
                raise
            return self._answered(index, dtype, said, arrays, forms, results, by=by, call=call, alone=True)
        self._ledger.answered(self.held())
        self._kin.reach(f"{self._named(index)},", reply["reached"])
        self._kin.miss(reply["sought"], reply.get("message", ""))
        left = dict.fromkeys(f"{by}{each}" for each in reply["left"])
        self.left.setdefault(self._last, {}).update(left)
        self._altered = self._altered or bool(left)
        return reply, values

    def _relieve(self) -> None:
        """End a worker that holds more than half of what it may for unlike calls; one that leaks goes on to the limit."""
        process, ledger = self._process, self._ledger
        alone = self._kin.one_at_a_time  # a fresh worker would be this one's end
        if process is not None and not alone and process.watch.full(ledger.held) and self._piles(ledger.pile.size):
            self.close()

    def _piled(self, ending: Outcome) -> bool:
        """Whether a worker's memory ran out for unlike calls, of which the last is one."""
        return isinstance(ending, Exhausted) and ending.of_memory and self._piles(self.limits.memory * MIB)

    def _piles(self, size: float) -> bool:
        """Whether so many bytes are what unlike calls keep, as a fresh worker shows: that convicts nobody, and is written down."""
        ledger, last = self._ledger, self._last
        if last is None or ledger.calls < 2 or ledger.leaks:
            return False
        with self.fresh(hash_seed=self.hash_seed) as fresh:
            ledger.leaks = not ledger.piled(fresh, self.limits.memory * MIB)
        if ledger.unanswered is not None:
            self._kin.lose(*last, self._words, ledger.unanswered)
        if not ledger.leaks:
            self._kin.piles[last] = replace(ledger.pile, size=size)
        return not ledger.leaks

    def held(self) -> float:
        """Return how many bytes the worker holds, if there is one."""
        return self._process.watch.held() if self._process is not None else 0

    def exchange(
        self,
        *,
        index: int,
        said: Mapping[str, object],
        arrays: Sequence[np.ndarray],
        forms: Mapping[str, replies.Form],
        results: Sequence[str] | None,
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Return the reply of a worker, which is ended where there is none."""
        process = self._running()
        asked = {**said, "index": self._places[index] if self._places else index}
        self._asking = True
        try:
            replied = conversation.exchanged(process, asked, arrays, forms, results, self.limits.call_seconds, program=bool(self.program))
            self._asking = False
        except CallFailedError as failure:
            self._kin.miss((), str(failure.outcome))
            raise
        finally:
            if self._asking:  # interrupted, too: an answer that comes now is one that was asked for
                self.close()
        return replied

    def _verify_patient(self) -> None:
        """Raise ``TargetError`` where a program that is asked nothing says something, or ends, all the same: no call is to blame."""
        if not self.program or self._kin.patient:
            return
        process = self._running()
        self._kin.patient = process.channel.silent(ImpatientError.seconds)
        if not self._kin.patient:
            ending = conversation.unasked(process, program=True)
            self.close()
            said = ending.message if isinstance(ending, Crashed) else ending.words()
            raise TargetError(str(ImpatientError(self.program, said)))

    def _charge(self, answered: tuple[int, str] | None, call: str, ending: Crashed | Exhausted) -> None:
        """Write down what became of a worker after its last answer, or before anything was asked of it."""
        if self._piled(ending):
            return
        if answered is not None:
            self.late.setdefault(answered, _after(call, ending))
            self._ended[answered] += 1
        elif isinstance(ending, Crashed):
            self._kin.early[ending.message] = None

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
                self._charge(self._last, self._words, exceeded)
            self.close()
        elif (other and self._altered) or (self.under == CAST and ANY not in (before, dtype) and before != dtype):
            self.close()
        elif other:
            self._ledger = Ledger(process.watch.held())

    def keep_apart(self) -> None:
        """Give the next implementation a fresh worker: what the last one's calls leave behind may be nothing that is looked at."""
        self._altered = True

    def traces(self, index: int, dtype: str) -> Mapping[str, None]:
        """Return what an implementation left changed at a dtype, or whatever the dtype, in words."""
        return {**self.left.get((index, ANY), {}), **self.left.get((index, dtype), {})}

    def afterwards(self, index: int, dtype: str) -> Crashed | Exhausted | None:
        """Return what became of a worker after an implementation had answered at a dtype, or whatever the dtype."""
        return self.late.get((index, dtype), self.late.get((index, ANY)))

    def lost(self, index: int, dtype: str) -> Mapping[str, Crashed | TimedOut | Exhausted]:
        """Return which calls of an implementation ended a worker, or came too late, at a dtype, or whatever the dtype, and how."""
        return {**self._kin.lost[index, ANY], **self._kin.lost[index, dtype]}

    def piled(self, index: int, dtype: str) -> str:
        """Return in words what an implementation keeps of unlike calls at a dtype, if a worker was ended for that."""
        pile = self._kin.piles.get((index, dtype))
        return "" if pile is None else pile.words()

    def aftermath(self, index: int, dtype: str) -> tuple[str, ...]:
        """Return in words what an implementation left changed, and how a worker ended after its answer."""
        return (*self.traces(index, dtype), *self.endings(index, dtype))

    def endings(self, index: int, dtype: str) -> tuple[str, ...]:
        """Return in words how a worker ended after an implementation's answer, if it did."""
        self.notice()
        ending = self.afterwards(index, dtype)
        return () if ending is None else (f"after its answer: {ending.words() if isinstance(ending, Exhausted) else ending.message}",)

    def notice(self) -> None:
        """Write down what became of the worker after its last answer, if it didn't just wait for the next call."""
        process = self._process
        if process is None or self._last is None or process.channel.silent():
            return
        ending = conversation.unasked(process, program=bool(self.program))
        last, call = self._last, self._words
        self.close()
        self._verify_patient()
        self._charge(last, call, ending)

    def start(self) -> None:
        """Start the worker without waiting for it."""
        if self._process is None:
            if self._kin.one_at_a_time:
                self._close_others()
            with uninterrupted():
                self._process = self._started()
            self._greeted = self._asking = False
            self._altered = False
            self._last = None
            self.starts += 1

    def _started(self) -> Process:
        """Return a worker that has just been started."""
        return Process(self.target, self.limits, hash_seed=self.hash_seed, under=self.under)

    def close(self) -> None:
        """End the worker, whatever it is doing; one that does nothing ends by itself, unless one took too long for that."""
        with uninterrupted():
            process, self._process = self._process, None
            if process is None:
                return
            if self._greeted and not self._asking and self._kin.leaves:
                self._kin.leaves = process.leave()
            else:
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
    def at_hand(self) -> tuple[str, ...]:
        """What of right answers the target could see, in words, which convicts nobody."""
        return tuple(f"right answers are at hand: {words}" for words in self.reached)

    @property
    def withheld(self) -> tuple[str, ...]:
        """What of the environment the target asks for and doesn't get, in words."""
        return tuple(filter(None, [environment.told(os.environ, self._kin.missed)]))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the configuration that judges the target is warned of, and what of both isn't judged, in words."""
        path, plain = configured(self.target)
        others = [f"{name} is an Adapter too, and isn't judged: take it as {plain}:{name}" for name in self._kin.about.get("unjudged", ())]
        others += [f"before it was asked anything, once: {ending}" for ending in self._kin.early]
        others += [f"a worker started only when that was tried again, {n} times: {why}" for why, n in self._kin.restarts.items()]
        others += self.withheld
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
        kin, failed = self._kin, self._kin.failed[self.hash_seed]
        if len(failed) == STARTS:
            raise CallFailedError(Crashed(f"{self._unstarted()}, as was tried {STARTS} times in a row: {failed[-1]}"))
        try:
            process = self._ready()
        except OSError as error:
            if not kin.about:
                raise
            raise CallFailedError(HarnessError(f"{NO_WORKER}: {error}")) from error
        except TargetError as error:
            if not kin.about:
                raise
            if self._close_others():
                kin.one_at_a_time = True
                return self._running()
            failed.append(str(error))
            return self._running()  # what starts at times is no matter of the call that needs it
        if failed:
            kin.restarts[failed[-1]] += 1
        failed.clear()
        return process

    def _unstarted(self) -> str:
        """Return in words that no worker starts any more, or none under this seed of hashes where another starts under the usual one."""
        if self.hash_seed:
            with suppress(CallFailedError), self.fresh() as usual:
                usual._running()  # noqa: SLF001  another session of this class
                return f"{UNSTARTED} under PYTHONHASHSEED={self.hash_seed}"
        return f"{UNSTARTED} again"

    def _ready(self) -> Process:
        self.start()
        process = self._process
        if process is None:
            message = "a session must have a worker after start, got none"
            raise RuntimeError(message)
        if not self._greeted:
            about = self._greeting(process)
            self._kin.reach("the target", about.pop("reached"))
            self._kin.miss(about.pop("sought"))
            first = self._kin.about = self._kin.about or about
            if in_order(about) != in_order(first):
                self.close()
                message = f"{self.target} must describe itself alike at each start, got {unlike(first, about)}"
                raise TargetError(message)
            process.watch.settle()
            self._ledger = Ledger(process.watch.held())
            self._places = [offered(about).index(each) for each in offered(first)]
            self._greeted = True
        return process

    def _greeting(self, process: Process) -> dict[str, Any]:
        """Return what a worker says of itself, which is ended where it can't be called."""
        try:
            return conversation.greeting(process, self.first_words, self.target, self.limits.startup_seconds, program=bool(self.program))
        except BaseException:
            self.close()
            raise


def _after(call: str, ending: Crashed | Exhausted) -> Crashed | Exhausted:
    """Return how a worker ended, with the call after whose answer that was."""
    return replace(ending, message="; ".join(filter(None, (ending.message, f"after {call}" if call else ""))))
