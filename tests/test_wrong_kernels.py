"""Kernels that go wrong only from somewhere on are convicted at core, whatever the seed."""

import math
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from wrong_kernels import KERNELS, Kernel

from conformance import Adapter
from conformance.calls.subject import Subject
from conformance.checks import golden_checks, law_checks, vector_checks
from conformance.checks.evidence.gathered import Gathered
from conformance.checks.vector_checks import Checked
from conformance.diagnosis import diagnose
from conformance.golden import answers
from conformance.in_process import InProcess
from conformance.judge.journal import Task
from conformance.run.orchestrator import Selection
from conformance.spec.vectors import Vector, load

SEEDS = (0, 1)
#: Kernels whose mistake is known, and its name.
KNOWN = {
    "rope.rotate: from batch row 1 on the first row's positions": "first-row-for-all",
    "rope.rotate: from position 2^12 on a table's last row": "clamped-at-4096",
    "rope.rotate: positions in bfloat16": "bfloat16-positions",
    "rope.attend: key heads tiled": "heads-tiled",
    "rope.attend: a mask by indices": "causal-from-first-key",
}
ASKED: dict[Any, Vector] = {}


@pytest.fixture(autouse=True)
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the oracle answer each call once, whichever kernels are asked; what is kept are its answers, not the calls."""
    golden = answers.golden

    def once(operation: str, arguments: Any, *, identity: str, profiles: Any, at: Any = None, **words: Any) -> Vector:
        elements = [(name, flat.tobytes()) for name, flat in (at or {}).items()]
        key = operation, tuple(profiles), sha256(arguments.key + repr(elements).encode()).digest()
        if key not in ASKED:
            ASKED[key] = replace(golden(operation, arguments, identity=identity, profiles=profiles, at=at, **words), inputs={})
        return replace(ASKED[key], inputs=arguments.arrays)

    monkeypatch.setattr(answers, "golden", once)


def named(kernel: Kernel) -> str:
    return f"{kernel.operation}: {kernel.name}"


def subjects(adapter: Adapter, seed: int) -> Iterator[tuple[Subject, Task]]:
    """Yield what core judges of an adapter, opened in this process."""
    session = InProcess(adapter)
    for task in Selection(None, None, None, None, "core", seed).tasks(session.implementations):
        yield session.subject(task.descriptor, task.dtype, task.profile), task


def judged(adapter: Adapter, seed: int) -> Iterator[Checked | law_checks.Found]:
    """Yield what golden values drawn at core say, and parts of the large calls."""
    for subject, task in subjects(adapter, seed):
        gathered = Gathered(task, "core")
        gathered.open.clear()  # what is known of mistakes is not asked: the kernels are unknown
        for checked in golden_checks.judgements(subject, subject, task, gathered, seed=seed, level="core"):
            gathered.add(checked)
            yield checked
        yield from law_checks.whole_and_parts(subject, task, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_a_kernel_that_is_wrong_from_somewhere_on_is_convicted_at_core(kernel: Kernel, seed: int) -> None:
    assert any(checked.failed for checked in judged(kernel.adapter, seed))


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if named(kernel) in KNOWN], ids=named)
def test_a_kernel_whose_mistake_is_known_is_named(kernel: Kernel) -> None:
    ((subject, task),) = subjects(kernel.adapter, 0)
    stored = [vector for vector in load([kernel.operation]) if vector.error is None]
    found = diagnose.of_checks(list(vector_checks.run(subject, task, stored, enough=math.inf)))

    assert found is not None
    assert found.name == f"{kernel.operation}/{KNOWN[named(kernel)]}"

