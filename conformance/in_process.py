"""Judge a function inside the test that calls it: no worker, so a crash ends the test and what was called before can't be undone."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from conformance.adapt.adapter import Adapter
from conformance.adapt.wording import told_with_place
from conformance.calls.manner import PLAIN, Manner
from conformance.calls.outcomes import Diagnosis, HarnessError, NotJudged, Result
from conformance.calls.subject import Reply
from conformance.calls.takes import Positions
from conformance.isolate import targets
from conformance.isolate.conversation import received
from conformance.isolate.described import Descriptor
from conformance.isolate.library import Library
from conformance.isolate.session import Session
from conformance.isolate.worker import Worker
from conformance.run import any_seed
from conformance.run.questions import EVIDENCE, SMOKE, Judge
from conformance.show.report import message

#: How many examples each law gets.
EXAMPLES = {"smoke": 5, "core": 12, "full": 120}


class _Undone(Library):
    """Undo what a function replaces in the standard library, or sets of NumPy's errors: our own code runs here too."""

    def __enter__(self) -> None:
        """Begin a call."""
        self.errors = np.geterr()
        super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End it."""
        super().__exit__(kind, error, trace)
        np.seterr(**self.errors)


class InProcess(Session):
    """An adapter in this process, with the face of a session."""

    isolated = False

    def __init__(self, adapter: Adapter) -> None:
        """Make every implementation ready."""
        super().__init__(adapter.name)
        self.adapter = adapter
        self.worker = Worker(adapter, targets.framework(adapter))
        self.worker.call_within(_Undone())

    @property
    def about(self) -> Mapping[str, Any]:
        """What a worker would say about itself."""
        return self.worker.describe()

    def fresh(self, *, hash_seed: int = 0) -> "InProcess":
        """Return the same functions: neither their memory nor the hash seed can be changed from here."""
        del hash_seed
        return InProcess(self.adapter)

    def _asked(self, index: int, parameters: Mapping[str, object]) -> Mapping[str, Any]:
        """Return what a worker would say of a declaration."""
        return self.worker.answer({"index": index, "parameters": dict(parameters), "admits": True}, [])[0]

    def request(
        self,
        descriptor: Descriptor,
        dtype: str,
        arrays: Sequence[np.ndarray],
        parameters: Mapping[str, object],
        manner: Manner = PLAIN,
    ) -> Reply:
        """Make one call."""
        asked = {"index": descriptor.index, "dtype": dtype, "parameters": dict(parameters), **manner.as_header()}
        try:
            answer = self.worker.answer(asked, [*arrays, *manner.beside])
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  what would skip or end the test is an exception of the function
            answer = {"status": "error", "message": told_with_place(error)}, []
        return received(*answer)


def assert_conforms(
    function: Callable[..., Any],
    operation: str,
    *,
    framework: str = "numpy",
    dtypes: str | tuple[str, ...] = ("float32",),
    profile: str | None = None,
    positions: Positions = "any",
    level: str = "core",
    seed: int | None = None,
    **restrictions: Any,
) -> None:
    """Raise ``AssertionError`` unless a function conforms to an operation, and say what, where, how bad, and which known mistake it is.

    The function takes the operation's arrays by position, in the framework named, and its parameters by keyword; ``restrictions`` say
    which parameters it can do (``layout="half"``) and which calls it takes (``queries="at_end"``), as in an adapter.
    ``TargetError`` says that an operation or parameter doesn't exist, or that the function can't be called as it is declared, ``TypeError``
    that something else is given than a function.
    """
    __tracebackhide__ = True  # pytest then shows the test's own lines
    if not callable(function):
        message = f"function must be callable, got {function!r}"
        raise TypeError(message)
    adapter = Adapter(getattr(function, "__name__", "function"), framework=framework, dtypes=dtypes, profile=profile, positions=positions)
    adapter.implements(operation, **restrictions)(function)
    targets.verify(adapter)
    judge = Judge(InProcess(adapter), examples=EXAMPLES[level], seed=any_seed() if seed is None else seed, level=level)
    asked = [question for question in judge.questions if level != "smoke" or question.level == "smoke" or question.vector is None]
    answers = [(question, judge.answer(question)) for question in asked]
    wrong = [(question, result) for question, result in answers if result.convicts or isinstance(result.outcome, HarnessError)]
    if wrong:
        diagnosis = judge.diagnosis(wrong[0][0])
        if judge.report.fault:
            raise targets.TargetError(judge.report.fault)
        told = _told(operation, [result for _, result in wrong], len(answers), diagnosis)
        raise AssertionError("\n".join([*told, f"seed: {judge.seed}"]))
    evidence = [result for _, result in answers if result.kind == EVIDENCE]
    lacking = [f"{each.operation} in {each.dtype}: {each.outcome.reason}" for each in evidence if isinstance(each.outcome, NotJudged)]
    if lacking:
        raise AssertionError("\n".join([*lacking, f"seed: {judge.seed}"]))


def _told(operation: str, wrong: Sequence[Result], count: int, diagnosis: Diagnosis | None) -> list[str]:
    lines = [f"{operation} must conform, got {len(wrong)} of {count} checks wrong"]
    if diagnosis is not None and diagnosis.named:
        lines += [f"{diagnosis.label}: {diagnosis.name}: {diagnosis.does}", f"should: {diagnosis.should}", f"fix: {diagnosis.fix}"]
        lines += [f"seen in: {thread}" for thread in diagnosis.threads]
    lines += [f"known: {known}" for known in (() if diagnosis is None else diagnosis.description)]
    return lines + [f"{result.check} in {result.dtype}: {message(result.outcome)}" for result in wrong[:SMOKE]]
