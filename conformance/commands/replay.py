"""Put chosen cases to a program by hand: as lines to pipe into it, or asked and answered with what was expected."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from conformance.adapt.adapter import Adapter, Implementation
from conformance.adapt.selection import verify_names
from conformance.calls.limits import Limits
from conformance.calls.outcomes import Failed, Reason, TimedOut
from conformance.calls.subject import Reply
from conformance.isolate.tree import Tree
from conformance.judge.judge import compare
from conformance.protocol import lines
from conformance.protocol.command import adapted
from conformance.protocol.errors import CommandError, ImpatientError, ProgramEndedError, ProtocolError, UnaskedError
from conformance.protocol.program import Program
from conformance.spec.declarations import operations
from conformance.spec.profiles import REQUIRED
from conformance.spec.vectors import Vector, load, of_models

SHOWN = 8
USUAL = Limits()
Each = TypeVar("Each")
Answer = TypeVar("Answer")


def chosen(names: Sequence[str]) -> list[Vector]:
    """Return the cases of those names; a case that must be refused has nothing to compare with and isn't one."""
    named = {name.split("/", 1)[0] for name in names} & set(operations())
    every = {vector.id: vector for vector in [*load(named), *of_models(named)] if vector.error is None}
    verify_names("case", names, every)
    return [every[name] for name in names]


def call(vector: Vector, dtype: str, label: str) -> dict[str, object]:
    """Return the call of a case, its real arrays in the dtype."""
    arrays = {name: array if array.dtype.kind == "i" else array.astype(dtype) for name, array in vector.inputs.items()}
    return lines.call(vector.operation, label, dtype, arrays, vector.parameters)


def batches(every: Sequence[Each], batch: int) -> list[Sequence[Each]]:
    """Return what is asked, so many for each request."""
    return [every[start : start + batch] for start in range(0, len(every), batch)]


def requests(vectors: Sequence[Vector], dtype: str, batch: int = 1) -> Iterator[bytes]:
    """Yield the lines that a program would be sent, ``batch`` calls on each."""
    yield lines.line(lines.describe_request(0))
    for identity, together in enumerate(batches(vectors, batch), start=1):
        yield lines.line(lines.call_request(identity, [call(vector, dtype, "replay") for vector in together]))


def answers(command: str, vectors: Sequence[Vector], dtype: str, batch: int = 1, limits: Limits = USUAL) -> Iterator[str]:
    """Yield what a program answers to each case, and what was expected; ``batch`` calls go in one request.

    A program that ends, or gives no answer in time, is started again for the next request.
    Raises ``ProgramEndedError`` where it doesn't describe itself, and at the end where a case had no answer, or more than one;
    ``ImpatientError`` where it doesn't wait until it is asked.
    """
    wrong, names = list[str](), list[str]()
    with _Conversation(command, limits) as asked:
        offered = asked.offered()
        yield f"{offered.name} {offered.version or ''}".rstrip()
        every = [(vector, one) for vector in vectors for one in _offered(offered, vector.operation)]
        for together in batches(every, batch):
            before, lost = names[-1:], ""
            names = [vector.id if one is None or one.label == offered.name else f"{vector.id} ({one.label})" for vector, one in together]
            try:
                replies = asked.calls([call(vector, dtype, one.label if one else offered.name) for vector, one in together])
            except KeyboardInterrupt:
                done = next(index for index, each in enumerate(every) if each is together[0])
                yield f"not asked to the end: {', '.join(vector.id for vector, _ in every[done:])}"
                raise
            except ImpatientError:
                raise
            except (CommandError, ProgramEndedError) as error:
                lost = str(error)
            yield from _after(before, asked.late(), wrong)
            if lost:
                yield from (f"{name}: {lost}" for name in names)
                wrong += names
                names = []
                continue
            for name, (vector, one), answer in zip(names, together, replies, strict=True):
                yield from _told(name, vector, answer, dtype)
                outside = one.refuses(vector.parameters) if one else None
                if outside is not None:
                    yield f"  outside of what it declares: {outside}"
        asked.look()
        yield from _after(names[-1:], asked.late(), wrong)
    if wrong:
        message = f"every request must be answered once, got otherwise for {', '.join(wrong[:SHOWN])}{' ...' if wrong[SHOWN:] else ''}"
        raise ProgramEndedError(message)


def _after(last: Sequence[str], late: str, wrong: list[str]) -> Iterator[str]:
    """Tell of the last case, or of the description where that came last, what the program did after its answer."""
    if late:
        yield from [f"{name}: after its answer: {late}" for name in last] or [f"after its description: {late}"]
        wrong += last or ["the description"]


class _Conversation:
    """A program that is asked within limits, and started when it is asked first, and after it ended."""

    def __init__(self, command: str, limits: Limits) -> None:
        self.command, self.limits = command, limits
        self.program: Program | None = None
        self.tree = Tree()
        self.unasked, self.patient = "", False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def offered(self) -> Adapter:
        """Return what the program says that it is."""
        return self._within(self.limits.startup_seconds, lambda: adapted(self._started()))

    def calls(self, calls: Sequence[Mapping[str, object]]) -> list[dict[str, Any]]:
        """Return the answers to the calls of one request; each may take as long as one call."""
        self.look()
        try:
            return self._asked(calls)
        except UnaskedError as error:  # the fault of the request before, unless a program that was asked nothing else does the same
            self._verify_patient()
            answered = self._asked(calls)
            self.unasked = str(error)
            return answered

    def _asked(self, calls: Sequence[Mapping[str, object]]) -> list[dict[str, Any]]:
        if self.program is None:
            self.offered()
        program = self._started()
        return self._within(self.limits.call_seconds * len(calls), lambda: program.calls(calls))

    def look(self) -> None:
        """See whether the program said something, or ended, since its last answer."""
        try:
            if self.program is not None:
                self.program.verify_quiet()
        except UnaskedError as error:
            self.unasked = str(error)
            self._end()
            self._verify_patient()

    def _verify_patient(self) -> None:
        """Start the program again, and raise where it doesn't wait until it is asked: no case is to blame for that."""
        if self.patient:
            return
        self.offered()
        try:
            self._started().verify_patient()
        except UnaskedError as error:
            self._end()
            raise ImpatientError(self.command, str(error)) from error
        self.patient = True

    def late(self) -> str:
        """Return what the program did after the answer before the last, in words, once."""
        late, self.unasked = self.unasked, ""
        return late

    def _started(self) -> Program:
        if self.program is None:
            self.tree = Tree()
            self.program = Program(self.command, self.tree.environment(), apart=True)
            self.tree.grows_from(self.program.popen.pid)
        return self.program

    def _within(self, seconds: float, ask: Callable[[], Answer]) -> Answer:
        """Return an answer; where there is none the program is ended, which also wakes who waits for it."""
        over = threading.Event()

        def end() -> None:
            over.set()
            self.tree.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            return ask()
        except ProgramEndedError as error:
            self._end()
            if over.is_set():
                raise ProgramEndedError(TimedOut(seconds).words()) from error
            raise
        finally:
            timer.cancel()
            timer.join()
            if over.is_set():
                self._end()

    def _end(self) -> None:
        if self.program is not None:
            self.program.close()
            self.tree.kill()
            self.program = None


def _offered(adapter: Adapter, operation: str) -> list[Implementation] | list[None]:
    """Return all that a program offers as an operation; nothing, once, where it offers none."""
    return [one for one in adapter.implementations if one.operation == operation] or [None]


def _told(name: str, vector: Vector, answer: dict[str, object], dtype: str) -> Iterator[str]:
    for kind in ("unsupported", "error"):
        if kind in answer:
            yield f"{name}: {kind}: {answer[kind]}"
            return
    results = answer["results"]
    try:
        got = {part: lines.array(part, said) for part, said in results.items()} if isinstance(results, dict) else {}
    except ProtocolError as error:
        yield f"{name}: {Reason.MALFORMED.value}: {error}"
        return
    outcome = compare(vector, _reply(got), dtype, REQUIRED[dtype]).outcome
    told = f"{outcome.reason.value}: {outcome.message}" if isinstance(outcome, Failed) else type(outcome).__name__.lower()
    yield f"{name}: {told}"
    for part, expected in (vector.expected or {}).items():
        yield f"  expected {part} {_first(expected)}"
        yield f"  got      {part} {_first(got[part]) if part in got else 'nothing'}"


def _reply(got: Mapping[str, np.ndarray]) -> Reply:
    plain = {name: array.astype(np.int64 if array.dtype.kind in "iub" else np.float64) for name, array in got.items()}
    return Reply(plain, {name: array.dtype.name for name, array in got.items()})


def _first(values: np.ndarray) -> str:
    shown = " ".join(f"{float(value):.9g}" for value in values.ravel()[:SHOWN])
    return shown + (" ..." if values.size > SHOWN else "")
