"""The process in which an implementation runs: load the target, describe it, answer calls until the channel closes."""

import inspect
import os
import platform
import socket
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance import embedding, targets
from conformance.adapter import Adapter, Implementation, Unsupported
from conformance.channel import Channel, ChannelClosedError
from conformance.declarations import features, operations
from conformance.frameworks import MalformedError, NumPy, exact, version
from conformance.protocol.errors import ProgramEndedError
from refimpl.spec import Operation

Answer = tuple[dict[str, Any], list[np.ndarray]]
#: The exit status of a worker whose program is gone (EX_SOFTWARE).
PROGRAM_ENDED = 70


@dataclass(frozen=True)
class Runner:
    """One implementation, ready to be called."""

    implementation: Implementation
    operation: Operation
    framework: NumPy
    takes_dtype: bool

    def run(self, arrays: Mapping[str, np.ndarray], parameters: Mapping[str, object], dtype: str) -> Answer:
        """Return the reply's header and its arrays."""
        refusal = self.implementation.refuses(parameters)
        if refusal is not None:
            raise Unsupported(refusal)
        call = _Call(self, parameters, dtype)
        positions = self.implementation.positions
        if embedding.natural(self.operation, arrays, positions):
            values = call(list(arrays.values()))
        else:
            values = embedding.embed(self.operation, arrays, positions, call)
        header = {"status": "ok", "results": list(values), "dtypes": call.dtypes, "modified": sorted(call.modified)}
        return header, list(values.values())


class _Call:
    """One call, or several for embedded positions: what it was given, what it returned, what it changed."""

    def __init__(self, runner: Runner, parameters: Mapping[str, object], dtype: str) -> None:
        self.runner = runner
        self.dtype = dtype
        self.keywords = dict(parameters)
        if runner.takes_dtype:
            self.keywords["dtype"] = runner.framework.dtype(dtype)
        self.dtypes: dict[str, str] = {}
        self.modified: set[str] = set()

    def __call__(self, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        framework = self.runner.framework
        given = [self._array(name, values) for name, values in zip(self.runner.operation.arrays, arrays, strict=True)]
        returned = self.runner.implementation.function(*given, **self.keywords)
        values = self._results(returned)
        if framework.mutable:
            self._compare(arrays, given)
        return values

    def _array(self, name: str, values: np.ndarray) -> Any:
        whole = values.dtype.kind != "f" or (name in self.runner.operation.numbers and np.array_equal(values, np.floor(values)))
        return self.runner.framework.integers(values) if whole else self.runner.framework.floats(values, self.dtype)

    def _results(self, returned: object) -> dict[str, np.ndarray]:
        names = list(self.runner.operation.results)
        parts = list(returned) if isinstance(returned, tuple | list) else [returned]
        if len(parts) != len(names):
            message = f"must return {len(names)} results ({', '.join(names)}), got {len(parts)}"
            raise MalformedError(message)
        values = {}
        for name, part in zip(names, parts, strict=True):
            values[name], self.dtypes[name] = exact(part, self.runner.framework)
        return values

    def _compare(self, arrays: Sequence[np.ndarray], given: Sequence[Any]) -> None:
        framework = self.runner.framework
        for name, original, array in zip(self.runner.operation.arrays, arrays, given, strict=True):
            now, before = exact(array, framework)[0], exact(self._array(name, original), framework)[0]
            if not np.array_equal(now, before, equal_nan=before.dtype.kind == "f"):
                self.modified.add(name)


class Worker:
    """Answer requests over a channel."""

    def __init__(self, adapter: Adapter, framework: NumPy) -> None:
        """Make every implementation of the adapter ready."""
        self.adapter = adapter
        self.runners = [_runner(implementation, framework) for implementation in adapter.implementations]

    def describe(self) -> dict[str, object]:
        """Return what the harness needs to know: versions, and every implementation."""
        return {
            "status": "ready",
            "adapter": self.adapter.name,
            "rejects_bad_input": self.adapter.rejects_bad_input,
            "versions": _versions(self.adapter),
            "implementations": [_description(runner) for runner in self.runners],
        }

    def answer(self, request: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Answer:
        """Return the reply to one call."""
        runner: Runner = self.runners[request["index"]]
        named = dict(zip(runner.operation.arrays, arrays, strict=True))
        try:
            return runner.run(named, request["parameters"], request["dtype"])
        except ProgramEndedError:
            raise
        except Unsupported as refusal:
            return {"status": "unsupported", "reason": str(refusal)}, []
        except MalformedError as error:
            return {"status": "malformed", "message": str(error)}, []
        except Exception as error:  # noqa: BLE001  whatever an implementation raises is its answer
            return {"status": "error", "message": _in_one_line(error)}, []


def serve(channel: Channel, target: str) -> None:
    """Load the target and answer until the harness closes the channel."""
    try:
        adapter = targets.load(target)
        worker = Worker(adapter, targets.framework(adapter))
    except targets.TargetError as error:
        kind = "library missing" if isinstance(error, targets.LibraryMissing) else "bad target"
        channel.send({"status": kind, "message": str(error)})
        return
    channel.send(worker.describe())
    while True:
        request, arrays = channel.receive()
        channel.send(*worker.answer(request, arrays))


def main(descriptor: int, target: str) -> None:
    """Serve on an inherited socket."""
    warnings.filterwarnings("error", message=".*will be truncated to dtype.*")
    channel = Channel(socket.socket(fileno=descriptor))
    status = 0
    try:
        serve(channel, target)
    except ChannelClosedError:
        pass
    except ProgramEndedError as error:
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        status = PROGRAM_ENDED
    finally:
        sys.stdout.flush()
        os._exit(status)


def _runner(implementation: Implementation, framework: NumPy) -> Runner:
    operation = operations()[implementation.operation]
    takes = "dtype" in inspect.signature(implementation.function).parameters
    return Runner(implementation, operation, framework, takes and features(operation) is None)


def _description(runner: Runner) -> dict[str, object]:
    implementation = runner.implementation
    return {
        "label": implementation.label,
        "operation": implementation.operation,
        "dtypes": implementation.dtypes,
        "profile": dict(implementation.profile),
        "positions": implementation.positions,
        "modifies_inputs": implementation.modifies_inputs,
        "restrictions": targets.plain_restrictions(implementation.restrictions),
        "takes_dtype": runner.takes_dtype,
    }


def _versions(adapter: Adapter) -> dict[str, str | None]:
    versions: dict[str, str | None] = {"python": platform.python_version(), adapter.framework: version(adapter.framework)}
    if adapter.version is not None:
        versions[adapter.name] = adapter.version
    return versions


def _in_one_line(error: Exception) -> str:
    """Return type, message and the innermost frame, without the machine's paths."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno} in {frames[-1].name})" if frames else ""  # noqa: PTH119  a name, no file
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}{where}"
