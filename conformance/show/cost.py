"""What a case costs beyond the implementation's own time, and beyond the drawing of its inputs."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from conformance import laws
from conformance.adapt import signatures
from conformance.adapt.adapter import Implementation
from conformance.adapt.arrays import NumPy
from conformance.adapt.calling import Calling
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply, Subject
from conformance.checks import golden_checks
from conformance.golden import answers
from conformance.isolate import targets
from conformance.isolate.session import Session
from conformance.judge import judge
from conformance.judge.journal import Task
from conformance.spec.declarations import features, operations
from conformance.spec.vectors import Vector, load
from refimpl.schemes import SCHEMES

LEVEL = "core"
EXAMPLES = 20
PASSES = 5
SEED = 0


@dataclass
class Recorder:
    """Passes calls on to an implementation and remembers them."""

    subject: Subject
    calls: list[tuple[Sequence[np.ndarray], Mapping[str, object]]] = field(default_factory=list)

    def __call__(self, arrays: Sequence[np.ndarray], parameters: Mapping[str, object]) -> Reply:
        """Remember the calls that were answered."""
        reply = self.subject.call(arrays, parameters)
        self.calls.append((arrays, parameters))
        return reply


@dataclass(frozen=True)
class Cost:
    """Seconds that some cases took, and whose they were."""

    cases: int
    total: float
    drawing: float
    own: float

    @property
    def each(self) -> float:
        """The harness's own milliseconds per case."""
        return 1e3 * (self.total - self.drawing - self.own) / max(self.cases, 1)

    def __add__(self, other: "Cost") -> "Cost":
        """Add up."""
        return Cost(self.cases + other.cases, self.total + other.total, self.drawing + other.drawing, self.own + other.own)


NOTHING = Cost(0, 0.0, 0.0, 0.0)


@dataclass
class Golden:
    """Seconds that the golden cases drawn of a target take, those of them that the oracle takes, and those in which it is called."""

    cases: int = 0
    total: float = 0.0
    oracle: float = 0.0
    calls: float = 0.0

    @property
    def words(self) -> str:
        """What they cost, and which shares of it are whose."""
        shares = (f"{name} {seconds / (self.total or 1.0):.0%}" for name, seconds in (("the oracle", self.oracle), ("calls", self.calls)))
        return f"{self.total:.2f} s for {self.cases} cases in the first dtypes: {', '.join(shares)}"


def golden(target: str) -> Golden:
    """Return what the drawn cases of a target's first dtypes cost, small and large."""
    cost = Golden()
    with Session(target) as session:
        for descriptor in session.implementations:
            dtype = descriptor.dtypes[0]
            task = Task(descriptor, dtype, descriptor.profile[dtype])
            _add_golden(cost, session.subject(descriptor, dtype, task.profile), task)
    return cost


def _add_golden(cost: Golden, subject: Subject, task: Task) -> None:
    mannered = None if subject.call_in is None else _clocked(subject.call_in, cost, "calls")
    timed = replace(subject, call=_clocked(subject.call, cost, "calls"), call_in=mannered)
    started = time.perf_counter()
    with patch.object(answers, "golden", _clocked(answers.golden, cost, "oracle")):
        small = golden_checks.run(timed, task, golden_checks.drawn(task, SEED), enough=golden_checks.enough(task, LEVEL))
        cost.cases += sum(1 for _ in small) + sum(1 for _ in golden_checks.at_real_sizes(timed, task, SEED, LEVEL))
    cost.total += time.perf_counter() - started


def _clocked(function: Callable[..., Any], cost: Golden, name: str) -> Callable[..., Any]:
    """Return the function with its seconds added to a cost."""

    def clocked(*arguments: Any, **keywords: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*arguments, **keywords)
        finally:
            setattr(cost, name, getattr(cost, name) + time.perf_counter() - started)

    return clocked


def costs(target: str) -> tuple[Cost, Cost]:
    """Return what the vectors and the drawn examples of a target cost."""
    adapter = targets.load(target)
    framework = targets.framework(adapter)
    vectors, examples = NOTHING, NOTHING
    with Session(target) as session:
        for descriptor, implementation in zip(session.implementations, adapter.implementations, strict=True):
            dtype = descriptor.dtypes[0]
            subject = session.subject(descriptor, dtype, descriptor.profile[dtype])
            vectors += _vectors(subject, implementation, framework)
            examples += _examples(subject, implementation, framework)
    return vectors, examples


def _vectors(subject: Subject, implementation: Implementation, framework: NumPy) -> Cost:
    """Time the vectors that the implementation takes, best of some passes: the first one wakes everything up."""
    taken = [vector for vector in load({subject.operation.name}) if vector.error is None and _judged(subject, vector)]
    recorder = Recorder(subject)
    passes = [_pass(replace(subject, call=recorder), taken) for _ in range(PASSES)]
    return Cost(len(taken), min(passes), 0.0, _own(recorder, implementation, framework) / PASSES)


def _pass(subject: Subject, vectors: Sequence[Vector]) -> float:
    started = time.perf_counter()
    for vector in vectors:
        _judged(subject, vector)
    return time.perf_counter() - started


def _judged(subject: Subject, vector: Vector) -> bool:
    try:
        reply = subject.call(list(vector.inputs.values()), vector.parameters)
    except (CallRefusedError, CallFailedError):
        return False
    judge.compare(vector, reply, subject.dtype, subject.profile)
    return True


def _examples(subject: Subject, implementation: Implementation, framework: NumPy) -> Cost:
    scheme, short = subject.operation.name.split(".", 1)
    recorder = Recorder(subject)
    started = time.perf_counter()
    findings = list(laws.run(replace(subject, call=recorder), SCHEMES[scheme].laws.get(short, ()), examples=EXAMPLES, seed=SEED))
    total = time.perf_counter() - started
    drawing = sum(finding.drawing_seconds for finding in findings)
    return Cost(sum(finding.examples for finding in findings), total, drawing, _own(recorder, implementation, framework))


def _own(recorder: Recorder, implementation: Implementation, framework: NumPy) -> float:
    """Return the seconds that the implementation itself needs for the calls, here and without a harness."""
    return sum(_timed(recorder.subject, implementation, framework, *call) for call in recorder.calls)


def _timed(
    subject: Subject,
    implementation: Implementation,
    framework: NumPy,
    arrays: Sequence[np.ndarray],
    parameters: Mapping[str, object],
) -> float:
    calling = Calling(subject.operation, implementation, framework)
    named = dict(zip(subject.operation.arrays, arrays, strict=True))
    made = calling.arrays(named, parameters).items()
    given = {name: framework.integers(array) if array.dtype.kind != "f" else framework.floats(array, subject.dtype) for name, array in made}
    keywords = {**parameters, **_dtype(subject, implementation, framework)}
    started = time.perf_counter()
    calling({**given, **calling.counts(named)}, keywords)
    return time.perf_counter() - started


def _dtype(subject: Subject, implementation: Implementation, framework: NumPy) -> dict[str, object]:
    asked = any(each.name == "dtype" for each in signatures.parameters(implementation.function) or ())
    wanted = asked and features(operations()[subject.operation.name]) is None
    return {"dtype": framework.dtype(subject.dtype)} if wanted else {}


def lines(target: str) -> Iterator[str]:
    """Yield what a case costs, in words."""
    yield f"reading the vectors  {_loading(target):.2f} s of {target}'s operations"
    vectors, examples = costs(target)
    yield f"harness per vector   {_words(vectors)} vectors)"
    yield f"harness per example  {_words(examples)} examples)"
    yield f"drawing per example  {_milliseconds(examples.drawing, examples):.2f} ms, by Hypothesis"
    yield f"golden cases drawn   {golden(target).words}"


def _loading(target: str) -> float:
    """Return the seconds that the vectors of a target take to be read: a process reads each file once, so this comes first."""
    offered = {implementation.operation for implementation in targets.load(target).implementations}
    started = time.perf_counter()
    load(offered)
    return time.perf_counter() - started


def _words(cost: Cost) -> str:
    return f"{cost.each:.2f} ms beyond the implementation's own {_milliseconds(cost.own, cost):.2f} ms ({cost.cases}"


def _milliseconds(seconds: float, cost: Cost) -> float:
    return 1e3 * seconds / max(cost.cases, 1)
