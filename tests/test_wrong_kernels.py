"""Kernels that go wrong only from somewhere on are convicted at core, whatever the seed; right ones in unlike styles never."""

from collections.abc import Iterator
from typing import Any

import pytest
from wrong_kernels import KERNELS, Kernel

from conformance import Adapter, golden_checks
from conformance.golden import answers
from conformance.in_process import InProcess
from conformance.run import Selection
from conformance.vector_checks import Checked
from conformance.vectors import Vector

SEEDS = (0, 1)
ASKED: dict[Any, Vector] = {}


@pytest.fixture(autouse=True)
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the oracle answer each call once, whichever kernels are asked."""
    golden = answers.golden

    def once(operation: str, arguments: Any, *, identity: str, profiles: Any, at: Any = None, **words: Any) -> Vector:
        key = operation, arguments.key, tuple(profiles), tuple((name, flat.tobytes()) for name, flat in (at or {}).items())
        if key not in ASKED:
            ASKED[key] = golden(operation, arguments, identity=identity, profiles=profiles, at=at, **words)
        return ASKED[key]

    monkeypatch.setattr(answers, "golden", once)


def judged(adapter: Adapter, seed: int) -> Iterator[Checked]:
    """Yield what golden values drawn at core say."""
    session = InProcess(adapter)
    for task in Selection(None, None, None, None, "core", seed).tasks(session.implementations):
        subject = session.subject(task.descriptor, task.dtype, task.profile)
        yield from golden_checks.run(subject, task, golden_checks.drawn(task, seed), enough=golden_checks.enough(task, "core"))
        yield from golden_checks.at_real_sizes(subject, task, seed, "core")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{kernel.operation}: {kernel.name}")
def test_a_kernel_that_is_wrong_from_somewhere_on_is_convicted_at_core(kernel: Kernel, seed: int) -> None:
    assert any(checked.failed for checked in judged(kernel.adapter, seed))
