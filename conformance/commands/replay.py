"""Put chosen cases to a program by hand: as lines to pipe into it, or asked and answered with what was expected."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from conformance.adapt.adapter import Adapter, Implementation
from conformance.adapt.selection import verify_names
from conformance.calls.outcomes import Failed, Reason
from conformance.calls.subject import Reply
from conformance.isolate.tree import Tree
from conformance.judge.judge import compare
from conformance.protocol import lines
from conformance.protocol.command import adapted
from conformance.protocol.errors import ProtocolError
from conformance.protocol.program import Program
from conformance.spec.declarations import operations
from conformance.spec.profiles import REQUIRED
from conformance.spec.vectors import Vector, load, of_models

SHOWN = 8
Each = TypeVar("Each")


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


def answers(command: str, vectors: Sequence[Vector], dtype: str, batch: int = 1) -> Iterator[str]:
    """Yield what a program answers to each case, and what was expected; ``batch`` calls go in one request."""
    tree = Tree()
    program = Program(command, tree.environment())
    tree.grows_from(program.popen.pid)
    try:
        offered = adapted(program)
        yield f"{offered.name} {offered.version or ''}".rstrip()
        every = [(vector, one) for vector in vectors for one in _offered(offered, vector.operation)]
        for together in batches(every, batch):
            replies = program.calls([call(vector, dtype, one.label if one else offered.name) for vector, one in together])
            for (vector, one), answer in zip(together, replies, strict=True):
                name = vector.id if one is None or one.label == offered.name else f"{vector.id} ({one.label})"
                yield from _told(name, vector, answer, dtype)
                outside = one.refuses(vector.parameters) if one else None
                if outside is not None:
                    yield f"  outside of what it declares: {outside}"
    finally:
        program.close()
        tree.kill()


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
