"""Put chosen cases to a program by hand: as lines to pipe into it, or asked and answered with what was expected."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from conformance.adapt.selection import verify_names
from conformance.calls.outcomes import Failed
from conformance.calls.subject import Reply
from conformance.judge.judge import compare
from conformance.protocol import lines
from conformance.protocol.program import Program
from conformance.spec.declarations import operations
from conformance.spec.profiles import REQUIRED
from conformance.spec.vectors import Vector, load

SHOWN = 8


def chosen(names: Sequence[str]) -> list[Vector]:
    """Return the cases of those names; a case that must be refused has nothing to compare with and isn't one."""
    every = {vector.id: vector for vector in load({name.split("/", 1)[0] for name in names} & set(operations())) if vector.error is None}
    verify_names("case", names, every)
    return [every[name] for name in names]


def call(vector: Vector, dtype: str, label: str) -> dict[str, object]:
    """Return the call of a case, its real arrays in the dtype."""
    arrays = {name: array if array.dtype.kind == "i" else array.astype(dtype) for name, array in vector.inputs.items()}
    return lines.call(vector.operation, label, dtype, arrays, vector.parameters)


def batches(vectors: Sequence[Vector], batch: int) -> list[Sequence[Vector]]:
    """Return the vectors, so many for each request."""
    return [vectors[start : start + batch] for start in range(0, len(vectors), batch)]


def requests(vectors: Sequence[Vector], dtype: str, batch: int = 1) -> Iterator[bytes]:
    """Yield the lines that a program would be sent, ``batch`` calls on each."""
    yield lines.line(lines.describe_request(0))
    for identity, together in enumerate(batches(vectors, batch), start=1):
        yield lines.line(lines.call_request(identity, [call(vector, dtype, "replay") for vector in together]))


def answers(command: str, vectors: Sequence[Vector], dtype: str, batch: int = 1) -> Iterator[str]:
    """Yield what a program answers to each case, and what was expected; ``batch`` calls go in one request."""
    program = Program(command)
    try:
        described = program.describe()
        yield f"{described['name']} {described.get('version', '')}".rstrip()
        for together in batches(vectors, batch):
            replies = program.calls([call(vector, dtype, described["name"]) for vector in together])
            for vector, answer in zip(together, replies, strict=True):
                yield from _told(vector, answer, dtype)
    finally:
        program.close()


def _told(vector: Vector, answer: dict[str, object], dtype: str) -> Iterator[str]:
    for kind in ("unsupported", "error"):
        if kind in answer:
            yield f"{vector.id}: {kind}: {answer[kind]}"
            return
    results = answer["results"]
    got = {name: lines.array(name, said) for name, said in results.items()} if isinstance(results, dict) else {}
    outcome = compare(vector, _reply(got), dtype, REQUIRED[dtype]).outcome
    told = f"{outcome.reason.value}: {outcome.message}" if isinstance(outcome, Failed) else type(outcome).__name__.lower()
    yield f"{vector.id}: {told}"
    for name, expected in (vector.expected or {}).items():
        yield f"  expected {name} {_first(expected)}"
        yield f"  got      {name} {_first(got[name]) if name in got else 'nothing'}"


def _reply(got: Mapping[str, np.ndarray]) -> Reply:
    plain = {name: array.astype(np.int64 if array.dtype.kind in "iub" else np.float64) for name, array in got.items()}
    return Reply(plain, {name: array.dtype.name for name, array in got.items()})


def _first(values: np.ndarray) -> str:
    shown = " ".join(f"{float(value):.9g}" for value in values.ravel()[:SHOWN])
    return shown + (" ..." if values.size > SHOWN else "")
