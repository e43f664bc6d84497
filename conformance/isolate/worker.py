"""What an adapter answers in its worker process: what it declares, and the reply to each call."""

import functools
import importlib
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from time import monotonic, process_time
from typing import Any

import numpy as np

from conformance.adapt import embedding, signatures
from conformance.adapt.adapter import Adapter, AdapterError, Implementation, Unsupported
from conformance.adapt.arrays import MalformedError, MisfitError, NumPy, UnfilledError
from conformance.adapt.calling import Calling
from conformance.adapt.frameworks import version
from conformance.adapt.meta import Loader
from conformance.adapt.results import exact
from conformance.adapt.wording import attribute, told, told_with_place, words
from conformance.calls.manner import Manner
from conformance.isolate import audit, serving, targets, traces
from conformance.isolate.serving import Answer
from conformance.protocol.errors import ProgramEndedError
from conformance.spec.declarations import features, operations
from conformance.spec.profiles import META
from refimpl.spec import Operation

#: How many times as long as their CPU repeated calls may take, on a busy machine or where they wait.
BUSY = 4


@dataclass(frozen=True)
class Runner:
    """One implementation, ready to be called inside of a context."""

    implementation: Implementation
    operation: Operation
    framework: NumPy
    takes_dtype: bool
    under: str | None = None
    foreign: AbstractContextManager[object] = field(default_factory=nullcontext)
    calling: Calling = field(init=False)
    kept: traces.Kept = field(init=False)

    def __post_init__(self) -> None:
        """Keep no result yet."""
        one = self.implementation
        object.__setattr__(self, "calling", Calling(self.operation, one, self.framework, self.foreign))
        object.__setattr__(self, "kept", traces.Kept(self.framework))

    def run(self, arrays: Mapping[str, np.ndarray], parameters: Mapping[str, object], dtype: str, manner: Manner) -> Answer:
        """Return the reply's header and its arrays."""
        refusal = self.refusal(parameters)
        if refusal is not None:
            return {"status": "unsupported", "reason": refusal, "declared": True}, []
        call = _Call(self, parameters, dtype, manner)
        values, repeats, unlike = _repeatedly(functools.partial(self._values, call, arrays), manner)
        header = {
            "status": "ok",
            "results": list(values),
            "dtypes": call.dtypes,
            "modified": sorted(call.modified),
            "left": [*self.kept.changes(), *_listed(self.implementation.function, "configuration_changes")],
            "aliases": sorted(call.aliases),
            "foreign": sorted(call.foreign),
            "repeats": repeats,
            "unlike": unlike,
            "overwritten": sorted(call.overwritten),
            "layers": _listed(self.implementation.function, "layers_asked"),
        }
        return header, list(values.values())

    def refusal(self, parameters: Mapping[str, object]) -> str | None:
        """Return why the declaration doesn't take parameters."""
        with self.foreign if self.implementation.by_predicate else nullcontext():
            return self.implementation.refuses(parameters)

    def _values(self, call: "_Call", arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if call.manner.cotangents:
            return call.gradient(list(arrays.values()))
        if call.manner.as_it_is:
            return call(list(arrays.values()))
        return embedding.answer(self.operation, arrays, self.implementation.takes, call)


class _Call:
    """One call, or several for embedded positions: what it was given, what it returned, what it changed."""

    def __init__(self, runner: Runner, parameters: Mapping[str, object], dtype: str, manner: Manner) -> None:
        self.runner = runner
        self.manner = manner
        self.dtype = dtype
        self.keywords = dict(parameters)
        if runner.takes_dtype:
            self.keywords["dtype"] = runner.framework.dtype(dtype)
        self.dtypes: dict[str, str] = {}
        self.modified: set[str] = set()
        self.aliases: set[str] = set()
        self.foreign: set[str] = set()
        self.earlier: list[tuple[str, Any, np.ndarray]] = []
        self.overwritten: set[str] = set()

    def __call__(self, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        named = self._named(arrays)
        given = self._refilled(named) if self.manner.before else self._given(named)
        parts = self._parts(named, given)
        values = self._results(named, parts)
        self.overwritten.update(name for name, part, was in self.earlier if not traces.equal(exact(part, self.runner.framework)[0], was))
        if self.runner.framework.mutable:
            self.aliases.update(self._shared(parts, given))
            self._compare(named, given)
        return values

    def gradient(self, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the gradient in the features, under the name of the first result."""
        framework, operation, calling = self.runner.framework, self.runner.operation, self.runner.calling
        laid = (calling.cotangent(name, values) for name, values in zip(operation.results, self.manner.cotangents, strict=True))
        made = (framework.expanded(framework.floats(values, self.dtype)) for values in laid)
        cotangents = [self._viewed(array, self.manner.way(index)) for index, array in enumerate(made, start=len(arrays))]
        was = [exact(cotangent, framework)[0] for cotangent in cotangents]
        named = self._named(arrays)
        given = self._given(named)
        parts = functools.partial(self._parts_of, named, list(given))
        with self.runner.foreign:
            gradients = framework.gradients(parts, list(given.values()), cotangents)
        if not all(traces.equal(exact(cotangent, framework)[0], before) for cotangent, before in zip(cotangents, was, strict=True)):
            self.modified.add("cotangent")
        owner, result = features(operation), next(iter(operation.results))
        gradient = dict(zip(given, gradients, strict=True)).get(calling.role(owner or ""))
        if gradient is None:
            message = f"no gradient reaches {owner}"
            raise Unsupported(message)
        value, self.dtypes[result] = exact(gradient, framework)
        return {result: calling.feature(str(owner), value, calling.sizes(named))}

    def _named(self, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the arrays of the operation by their names."""
        return dict(zip(self.runner.operation.arrays, arrays, strict=True))

    def _given(self, named: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return the arrays that the function is given, by their names in its call."""
        made = self.runner.calling.arrays(named, self.keywords)
        return {name: self._array(name, values, self.manner.way(index)) for index, (name, values) in enumerate(made.items())}

    def _refilled(self, named: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return the arrays of an earlier call, into which others' numbers were written since."""
        before = self._named(self.manner.before)
        framework, given = self.runner.framework, self._given(before)
        parts = self._parts(before, given)
        for array, values in zip(given.values(), self._given(named).values(), strict=True):
            framework.refill(array, values)
        own = [not any(framework.owns(part) and framework.shares(part, array) for array in given.values()) for part in parts]
        results = zip(self.runner.operation.results, parts, own, strict=True)
        self.earlier = [(name, part, exact(part, framework)[0]) for name, part, mine in results if mine]
        return given

    def _array(self, name: str, values: np.ndarray, way: str) -> Any:
        framework = self.runner.framework
        if values.dtype.kind == "c":
            array = framework.floats(values.real, self.dtype) + 1j * framework.floats(values.imag, self.dtype)
        elif values.dtype.kind != "f" or (name in self.runner.operation.numbers and np.array_equal(values, np.floor(values))):
            array = framework.integers(values)
        else:
            array = framework.floats(values, self.dtype)
        return self._viewed(array, way)

    def _viewed(self, array: Any, way: str) -> Any:
        return self.runner.framework.view(array, way) if way else array

    def _parts_of(self, named: Mapping[str, np.ndarray], names: Sequence[str], given: Sequence[Any]) -> list[Any]:
        return self._parts(named, dict(zip(names, given, strict=True)))

    def _parts(self, named: Mapping[str, np.ndarray], given: Mapping[str, Any]) -> list[Any]:
        """Call the function; return its results as it gave them."""
        framework, calling, under = self.runner.framework, self.runner.calling, self.runner.under
        circumstance = framework.under(under, self.dtype) if under else nullcontext()
        with framework.mode(self.manner.views, self.runner.implementation.function), circumstance:
            return calling({**given, **calling.counts(named)}, self.keywords)

    def _results(self, named: Mapping[str, np.ndarray], parts: list[Any]) -> dict[str, np.ndarray]:
        values, calling = {}, self.runner.calling
        for name, part in zip(self.runner.operation.results, parts, strict=True):
            values[name], self.dtypes[name] = exact(part, self.runner.framework)
            if named and isinstance(part, np.ndarray) and not self.runner.framework.owns(part):
                self.foreign.add(f"{name} is an array of NumPy, where {self.runner.framework.module}'s are given")
        self.runner.kept.keep(parts, list(values.values()))
        return {name: calling.result(name, value, named, self.keywords) for name, value in values.items()}

    def _shared(self, parts: Sequence[Any], given: Mapping[str, Any]) -> Iterator[str]:
        """Yield in words which results share memory with which arrays."""
        framework = self.runner.framework
        for name, part in zip(self.runner.operation.results, parts, strict=True):
            for array, value in given.items():
                if framework.owns(part) and framework.shares(part, value):
                    yield f"{name} shares memory with {array}"

    def _compare(self, named: Mapping[str, np.ndarray], given: Mapping[str, Any]) -> None:
        """Keep the names of the arrays that the call changed; complex ones aren't looked at."""
        framework = self.runner.framework
        for (name, original), array in zip(self.runner.calling.arrays(named, self.keywords).items(), given.values(), strict=True):
            now = original if original.dtype.kind == "c" else exact(array, framework)[0]
            if not np.array_equal(now, original) and not traces.equal(now, exact(self._array(name, original, ""), framework)[0]):
                self.modified.add(name)


def _repeatedly(make: Callable[[], dict[str, np.ndarray]], manner: Manner) -> tuple[dict[str, np.ndarray], int, str]:
    """Return what a call gives, how often it was repeated, and in words where other bits came."""
    first, count = make(), 0
    spent, until = process_time() + manner.seconds, monotonic() + BUSY * manner.seconds
    while count < manner.repeats and process_time() < spent and monotonic() < until:
        count += 1
        unlike = _unlike(first, make)
        if unlike:
            return first, count, f"{unlike} when repeated {count} times"
    return first, count, ""


def _unlike(first: Mapping[str, np.ndarray], make: Callable[[], Mapping[str, np.ndarray]]) -> str:
    """Return in words how the same call ends differently, nothing if it doesn't."""
    try:
        again = make()
    except ProgramEndedError:
        raise
    except Exception as error:  # noqa: BLE001  whatever an implementation raises is its answer
        return traces.raised(told_with_place(error))
    names = (name for name, value in first.items() if not traces.equal(value, again[name]))
    return next((traces.difference(name, first[name], again[name]) for name in names), "")


class Worker:
    """Answer requests over a channel."""

    def __init__(self, adapter: Adapter, framework: NumPy, under: str | None = None) -> None:
        """Make every implementation of the adapter ready; ``under`` names a circumstance of the framework, in which all are called."""
        self.adapter = adapter
        self.waits = adapter.waits
        self.framework = framework
        self.runners = [_runner(implementation, framework, under) for implementation in adapter.implementations]

    def call_within(self, foreign: AbstractContextManager[object]) -> None:
        """Call what is foreign inside of a context from now on."""
        self.runners = [replace(runner, foreign=foreign) for runner in self.runners]

    def describe(self) -> dict[str, object]:
        """Return what the harness needs to know: versions, and every implementation."""
        return {
            "status": "ready",
            "adapter": self.adapter.name,
            "rejects_bad_input": self.adapter.rejects_bad_input,
            "unjudged": [*self.adapter.unjudged],
            "versions": _versions(self.adapter),
            "device": _place(self.adapter, self.framework),
            "circumstances": self.framework.circumstances,
            "manners": self.framework.manners,
            "implementations": [_description(runner) for runner in self.runners],
        }

    def answer(self, request: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Answer:
        """Return the reply to one call."""
        runner: Runner = self.runners[request["index"]]
        parameters = {name: tuple(value) if isinstance(value, list) else value for name, value in request["parameters"].items()}
        if request.get("admits"):
            return {"status": "ok", "refusal": runner.refusal(parameters)}, []
        named = dict(zip(runner.operation.arrays, arrays, strict=False))
        manner = Manner.of(request, arrays[len(named) :])
        try:
            return runner.run(named, parameters, request["dtype"], manner)
        except ProgramEndedError:
            raise
        except Unsupported as refusal:
            declared = isinstance(refusal, embedding.OutsideError)
            return {"status": "unsupported", "reason": words(refusal), "declared": declared}, []
        except (AdapterError, MisfitError) as error:
            where = f"{signatures.place(runner.implementation.function)}: " if isinstance(error, MisfitError) else ""
            lost = runner.under == META and isinstance(error, UnfilledError)
            return {"status": "malformed" if lost else "misfit", "message": f"{where}{error}"}, []
        except MalformedError as error:
            return {"status": "malformed", "message": str(error)}, []
        except Exception as error:  # noqa: BLE001  whatever an implementation raises is its answer
            return {"status": "error", "message": told_with_place(error)}, []


def declared(target: str, under: str | None = None) -> Worker:
    """Return what answers for a target that declares what it implements."""
    if under == META:
        with suppress(ModuleNotFoundError):  # a target that needs torch says so
            Loader(importlib.import_module("torch")).watch()
    adapter = targets.load(target)
    return Worker(adapter, targets.framework(adapter), under)


def _runner(implementation: Implementation, framework: NumPy, under: str | None) -> Runner:
    operation = operations()[implementation.operation]
    takes = any(each.name == "dtype" for each in signatures.parameters(implementation.function) or ())
    return Runner(implementation, operation, framework, takes and features(operation) is None, under)


def _listed(function: object, name: str) -> list[Any]:
    """Return what a function of a configuration tells of its last call, such as the layer; nothing for any other function."""
    told = attribute(function, name)
    return told if isinstance(told, list) else []


def _description(runner: Runner) -> dict[str, object]:
    implementation = runner.implementation
    return {
        "label": implementation.label,
        "operation": implementation.operation,
        "dtypes": implementation.dtypes,
        "profile": dict(implementation.profile),
        "takes": implementation.takes.as_data(),
        "modifies_inputs": implementation.modifies_inputs,
        "restrictions": targets.plain_restrictions(implementation.restrictions),
        "takes_dtype": runner.takes_dtype,
        "axes": implementation.form.axes or "",
        "call": implementation.form.call or "",
        "by_predicate": implementation.by_predicate,
    }


def _versions(adapter: Adapter) -> dict[str, str | None]:
    versions: dict[str, str | None] = {"python": platform.python_version(), adapter.framework: version(adapter.framework)}
    if adapter.version is not None:
        versions[adapter.name] = adapter.version
    return versions


def _place(adapter: Adapter, framework: NumPy) -> str:
    """Return the device on which arrays lie, or refuse one that isn't there; a program names its own."""
    if adapter.waits is None and framework.devices and adapter.device not in (None, *framework.devices):
        message = f"device of {adapter.name} must be {' or '.join(framework.devices)} for {adapter.framework}, got {adapter.device!r}"
        raise targets.TargetError(message)
    try:
        return framework.place
    except Exception as error:
        if adapter.device is None:
            raise
        message = f"device of {adapter.name} must be one that {adapter.framework} has here, got {adapter.device!r}: {told(error)}"
        raise targets.TargetError(message) from error


def main(descriptor: int, target: str, under: str | None = None) -> None:
    """Serve on an inherited socket, under a circumstance of the target's framework."""
    if targets.configured(target)[1] not in targets.BUNDLED:
        audit.watch()
    serving.main(descriptor, target, functools.partial(declared, under=under))
