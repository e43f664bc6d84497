"""A program as an adapter: what it describes becomes implementations, whose calls go over the line."""

import atexit
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from conformance.adapt.adapter import Adapter, Unsupported
from conformance.adapt.arrays import MalformedError
from conformance.protocol import lines
from conformance.protocol.errors import ProtocolError
from conformance.protocol.program import Program
from conformance.spec.declarations import operations
from refimpl.spec import Operation

#: The device of a program that doesn't say where it computes.
UNTOLD = "not told"
#: What a program may say of an implementation as an adapter does.
SETTINGS = ("profile", "positions", "queries", "rows", "heads", "lowest", "highest", "masked")


class ProgramError(Exception):
    """The program says that it failed."""


def adapter(command: str) -> Adapter:
    """Start a program, which is told by the end of its input when this process ends, and return the adapter that it describes."""
    program = Program(command)
    atexit.register(program.close)
    return adapted(program)


def adapted(program: Program) -> Adapter:
    """Return the adapter that a program describes."""
    described = program.describe()
    made = Adapter(described["name"], dtypes=("float32",), version=described.get("version"), device=described.get("device", UNTOLD))
    made.waits = program.wait
    for offered in described["implementations"]:
        _connect(made, program, offered)
    return made


def _connect(made: Adapter, program: Program, offered: Mapping[str, Any]) -> None:
    settings = {name: offered[name] for name in SETTINGS if name in offered}
    dtypes = tuple(offered.get("dtypes", ("float32",)))
    label = offered.get("label", made.name)
    connect = made.implements(offered["operation"], label=label, dtypes=dtypes, **settings, **offered.get("restrictions", {}))
    known = operations().get(offered["operation"])
    connect(_forwarded(program, known, label) if known else _unknown)


def _unknown(*_: object, **__: object) -> None:
    """Stand for an operation that doesn't exist: the target is refused before this is called."""


def _forwarded(program: Program, operation: Operation, label: str) -> Callable[..., np.ndarray | tuple[np.ndarray, ...]]:
    """Return a function that has the program compute an operation."""

    def forward(*arrays: np.ndarray, dtype: Any = None, **parameters: object) -> np.ndarray | tuple[np.ndarray, ...]:
        named = dict(zip(operation.arrays, arrays, strict=True))
        asked = _dtype(operation, named, dtype)
        (answer,) = program.calls([lines.call(operation.name, label, asked, named, parameters)])
        return _results(operation, answer)

    return forward


def _dtype(operation: Operation, arrays: Mapping[str, np.ndarray], dtype: Any) -> str:
    """Return the dtype of the real arrays, or the one that is asked for where there are none."""
    real = [array.dtype.name for name, array in arrays.items() if name not in operation.integers and array.dtype.kind not in "iu"]
    return real[0] if real else np.dtype(dtype).name if dtype is not None else "float64"


def _results(operation: Operation, answer: Mapping[str, Any]) -> np.ndarray | tuple[np.ndarray, ...]:
    if "unsupported" in answer:
        raise Unsupported(answer["unsupported"])
    if "error" in answer:
        raise ProgramError(answer["error"])
    results = answer["results"]
    if set(results) != set(operation.results):
        reason = f"results must be {', '.join(operation.results)}, got {', '.join(results)}"
        raise MalformedError(reason)
    try:
        arrays = [lines.array(name, results[name]) for name in operation.results]
    except ProtocolError as error:
        raise MalformedError(str(error)) from error
    return arrays[0] if len(arrays) == 1 else tuple(arrays)
