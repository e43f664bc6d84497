"""Ask code again under a declaration narrower than its own: whether it is right there, and whether it answers at all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from conformance.adapt import embedding, grid
from conformance.adapt.arrays import MalformedError
from conformance.calls.manner import AS_IT_IS
from conformance.calls.outcomes import FATAL, Failed, Passed, Reason
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply, Subject
from conformance.calls.takes import PLACES, Takes
from conformance.checks import golden_checks, vector_checks
from conformance.checks.evidence.known import answer, difference, unaltered
from conformance.diagnosis.ways import AS_DECLARED, SQUARE, Way
from conformance.isolate.traces import equal
from conformance.judge.journal import Task
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.spec import Operation, axis_names

#: So many calls are made at most, and so few must pass where a declaration has no more.
CALLS, FEW = 400, 3
#: Among so many drawn calls those are looked for that have a value.
DRAWN = 600
#: So many calls that raised are made again elsewhere.
RAISED = 3
#: So many calls that were wrong are made again under a declaration.
AGAIN = 8
#: So small a share of calls beyond a declaration may give something else by chance, as where a batch is as long as there are heads.
BY_CHANCE = 1 / 12
#: Right answers differ that lie so many half units in the last place of a float32 apart: far beyond rounding.
APART = 1000.0


@dataclass(frozen=True)
class Declaration:
    """Values of parameters, the calls that are taken, and in which way."""

    values: Mapping[str, Any]
    takes: Takes
    way: Way = AS_DECLARED


@dataclass
class Asking:
    """One implementation that is asked again, under declarations narrower than its own.

    Its mistake may be ``named`` already, by ``numbers`` that it takes for parameters.
    """

    subject: Subject
    task: Task
    named: bool = False
    numbers: Mapping[str, float] = field(default_factory=dict)
    left: int = field(default=CALLS)

    @property
    def operation(self) -> Operation:
        """What it offers."""
        return operations()[self.task.operation]

    def right(self, declaration: Declaration, count: int, seed: int = 0) -> bool:
        """Whether so many drawn calls inside a declaration are right, all of them."""
        task, passed = self._declaring(declaration), 0
        for checked in golden_checks.run(self._inside(declaration), task, golden_checks.drawn(task, seed), enough=count):
            self.left = 0 if isinstance(checked.judgement.outcome, FATAL) else self.left - 1
            if checked.failed or self.left <= 0:
                return False
            passed += isinstance(checked.judgement.outcome, Passed)
        return passed >= min(count, FEW)

    def still_wrong(self, declaration: Declaration, calls: Sequence[Vector]) -> bool:
        """Whether one of the smallest calls that were wrong is wrong under a declaration, too, which takes its parameters."""
        taken = (call for call in sorted(calls, key=lambda call: sum(array.size for array in call.inputs.values())) if not call.at)
        known = (call for call in taken if all(_has(call, *each) for each in declaration.values.items()))
        subject, task = self._inside(declaration), self._declaring(declaration)
        return any(vector_checks.check(subject, task, call).failed for call in islice(known, AGAIN))

    def wrong(self, declaration: Declaration, chosen: Callable[[Arguments], bool], count: int, seed: int) -> tuple[int, int]:
        """Return how many of so many chosen calls are wrong, and how many were judged, of many that are drawn."""
        task = self._declaring(declaration)
        stream = (one for one in islice(golden_checks.drawn(task, seed), DRAWN) if chosen(one[1]))
        checked = [*golden_checks.run(self._inside(declaration), task, islice(stream, count), enough=count)]
        failed = sum(one.failed for one in checked)
        return failed, failed + sum(isinstance(one.judgement.outcome, Passed) for one in checked)

    def answers(self, declaration: Declaration, last: int) -> bool:
        """Whether code returns anything for a call of which that is the last position."""
        _, call = next(golden_checks.drawn(self._declaring(declaration), 0))
        moved = {name: array + (last - array.max()) if name in PLACES.values() else array for name, array in call.arrays.items()}
        unbounded = replace(declaration, takes=replace(declaration.takes, highest=None))
        try:
            self._inside(unbounded).call(list(moved.values()), call.parameters)
        except (CallRefusedError, CallFailedError):
            return False
        return True

    def raises_within(self, calls: Sequence[Vector], last: int) -> bool:
        """Whether one of a few calls that raised does so too where its positions lie up to the last one that was answered."""
        for call in calls[:RAISED]:
            moved = [array % (last + 1) if name in PLACES.values() else array for name, array in call.inputs.items()]
            try:
                self._inside(Declaration({}, self.task.descriptor.takes)).call(moved, call.parameters)
            except (CallRefusedError, CallFailedError):
                return True
        return False

    def takes_no_more(self, declaration: Declaration, count: int) -> bool:
        """Whether code raises for what the declaration leaves out, or gives the same as inside: it doesn't look at what it is given.

        All that is declared must show in these calls: each value and saying by itself changes what is right for one of them. A few may
        give something else.
        """
        takes = self.task.descriptor.takes
        bounds = replace(takes, lowest=declaration.takes.lowest, highest=declaration.takes.highest)
        whole = replace(bounds, positions="whole") if declaration.takes.whole and takes.positions == "any" else bounds
        several = {name: values for name, values in declaration.values.items() if isinstance(values, tuple)}
        drawn = golden_checks.drawn(self._declaring(Declaration(several, whole)), seed=2)
        tried = [inside(self.operation, call, Declaration({}, whole)) for _, call in islice(drawn, count)]
        shown = all(any(self._changes(call, alone) for call in tried) for alone in _sayings(declaration, whole))
        unlike = sum(not self._alike(call, inside(self.operation, call, declaration), declaration.way) for call in tried)
        return shown and unlike <= BY_CHANCE * count

    def _changes(self, call: Arguments, declaration: Declaration) -> bool:
        """Whether what is right for a call isn't right for the one inside a declaration that it is taken for."""
        taken, right = inside(self.operation, call, declaration), unaltered(self.task)
        one, other = (answer(self.task.operation, right, each.arrays, each.parameters) for each in (call, taken))
        return max(difference(one, other, "float32"), difference(other, one, "float32")) > APART

    def _alike(self, call: Arguments, other: Arguments, way: Way) -> bool:
        """Whether two calls give the same bits, or the first raises, or gives arrays of another shape."""
        try:
            one = self._as_taken(call, way)
        except (CallRefusedError, CallFailedError):
            return True
        try:
            two = self._as_taken(other, way)
            return all(value.shape != two[name].shape or equal(value, two[name]) for name, value in one.items())
        except (CallRefusedError, CallFailedError):
            return False

    def _as_taken(self, call: Arguments, way: Way) -> Mapping[str, np.ndarray]:
        arrays = call.arrays if way is SQUARE else way.given(self.operation, call.arrays)
        return self.subject.call(list(arrays.values()), self._as_declared(call.parameters)).values

    def _as_declared(self, parameters: Mapping[str, object]) -> Mapping[str, object]:
        """Return the parameters that code takes: another convention than the one it declares is judged, and never asked for."""
        declared = self.task.descriptor.restrictions
        return {**parameters, **{name: value for name, value in declared.items() if isinstance(value, str | bool)}}

    def _declaring(self, declaration: Declaration) -> Task:
        """Return the task as it were under a declaration."""
        descriptor = self.task.descriptor
        restrictions = {**descriptor.restrictions, **declaration.values}
        return replace(self.task, descriptor=replace(descriptor, restrictions=restrictions, takes=declaration.takes))

    def _on_own_grid(self, arrays: dict[str, np.ndarray], takes: Takes) -> dict[str, np.ndarray]:
        """Return arrays whose places on a grid the implementation reads with its own axis first."""
        if not takes.gridded or takes.positions == self.task.descriptor.takes.positions:
            return arrays
        return {name: grid.exchanged(array) if name in PLACES.values() else array for name, array in arrays.items()}

    def _inside(self, declaration: Declaration) -> Subject:
        """Return the implementation as it is called under a declaration."""

        def call(arrays: Sequence[np.ndarray], parameters: Mapping[str, object]) -> Reply:
            replies: list[Reply] = []

            def once(given: Sequence[np.ndarray]) -> Mapping[str, np.ndarray]:
                named = self._on_own_grid(dict(zip(self.operation.arrays, given, strict=True)), declaration.takes)
                given_so = list(declaration.way.given(self.operation, named).values())
                replies.append(self.subject.ask(given_so, self._as_declared(parameters), AS_IT_IS))
                return declaration.way.back(self.operation, named, replies[-1].values)

            try:
                values = embedding.answer(self.operation, dict(zip(self.operation.arrays, arrays, strict=True)), declaration.takes, once)
            except embedding.OutsideError as outside:
                raise CallRefusedError(str(outside), declared=True) from None
            except MalformedError as error:
                raise CallFailedError(Failed(Reason.MALFORMED, str(error))) from None
            return replace(replies[-1], values=values)

        return replace(self.subject, call=call, call_in=None, takes=declaration.takes)


def _has(call: Vector, name: str, value: object) -> bool:
    """Whether a call has a value of a parameter, or one of several."""
    return call.parameters[name] in value if isinstance(value, tuple) else call.parameters[name] == value


def _sayings(declaration: Declaration, takes: Takes) -> Iterator[Declaration]:
    """Yield each value, and each saying beyond those, by itself, where calls can be moved inside it."""
    yield from (Declaration({name: value}, takes) for name, value in declaration.values.items() if not isinstance(value, tuple))
    for name in ("positions", "queries", "rows"):
        alone = replace(takes, **{name: getattr(declaration.takes, name)})
        if alone != takes:
            yield Declaration({}, alone)


def holds(operation: Operation, call: Arguments, declaration: Declaration) -> bool:
    """Whether a call lies inside a declaration as it is."""
    low, high = declaration.takes.lowest, declaration.takes.highest
    places = [call.arrays[name] for name in PLACES.values() if name in call.arrays]
    bounded = all((low is None or np.all(each >= low)) and (high is None or np.all(each <= high)) for each in places)
    known = all(call.parameters[name] in values for name, values in declaration.values.items() if isinstance(values, tuple))
    moved = inside(operation, call, declaration)
    alike = moved.parameters == call.parameters and all(np.array_equal(moved.arrays[name], array) for name, array in call.arrays.items())
    return bounded and known and alike


def inside(operation: Operation, call: Arguments, declaration: Declaration) -> Arguments:
    """Return the call inside a declaration that code which doesn't look at what lies outside takes it for."""
    takes, arrays = declaration.takes, dict(call.arrays)
    places = [name for name in PLACES.values() if name in arrays]
    rows = [name for name, axes in operation.arrays.items() if "[batch]" in axes]
    for name in rows if takes.one_row else ():
        batched = "batch" in (axis_names(operation.arrays[name], arrays[name].ndim) or ())
        arrays[name] = arrays[name][0] if batched else arrays[name]
    start = 0 if takes.positions == "from_zero" or not places else arrays[places[0]].flat[0]
    for name in places if takes.counted else ():
        arrays[name] = np.broadcast_to(start + np.arange(arrays[name].shape[-1]), arrays[name].shape)
    if takes.queries == "at_end" and arrays["key_positions"].shape[-1] >= arrays["query_positions"].shape[-1]:
        queries = arrays["query_positions"]
        last = arrays["key_positions"][..., arrays["key_positions"].shape[-1] - queries.shape[-1] :]
        arrays["query_positions"] = np.broadcast_to(last, np.broadcast_shapes(last.shape, queries.shape))
    if takes.heads == "equal":
        group = arrays["q"].shape[1] // max(arrays["k"].shape[1], 1)
        shared = [name for name, axes in operation.arrays.items() if "key_head" in axes.split()]
        arrays |= {name: np.repeat(arrays[name], group, axis=1) for name in shared}
    single = {name: value for name, value in declaration.values.items() if not isinstance(value, tuple)}
    return Arguments({name: np.array(array) for name, array in arrays.items()}, {**call.parameters, **single})
