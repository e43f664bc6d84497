"""A mistake that shows only in training, or only where gradients are off, is named like any other, with the mode."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_manner_checks import HALF, batched, drawn
from test_worker_manners import session, turning

from conformance import run
from conformance.calls.manner import INFERENCE, NO_GRAD, TRACKED, WAYS
from conformance.calls.outcomes import Diagnosis, Passed
from conformance.checks import manner_checks
from conformance.run import by_values


def diagnosed(function: Callable[..., Any]) -> Diagnosis | None:
    """Return the diagnosis of a function that is right where it is called plainly."""
    opened = session(function, "torch", **HALF)
    put, task, checked = drawn(opened)
    assert all(isinstance(each.judgement.outcome, Passed) for each in checked)
    others = (*manner_checks.tracked(put, task, checked), *manner_checks.inferring(put, task, checked))
    return by_values.diagnosis(opened, task, [*checked, *others])


@pytest.mark.parametrize("mode", [NO_GRAD, INFERENCE, TRACKED])
def test_a_known_mistake_of_one_mode_is_named_with_the_mode(mode: str) -> None:
    torch = pytest.importorskip("torch")
    rotate = batched(turning(torch))
    wrong = {
        NO_GRAD: lambda _: not torch.is_grad_enabled(),
        INFERENCE: lambda _: torch.is_inference_mode_enabled(),
        TRACKED: lambda x: x.requires_grad,
    }[mode]

    def clamping(x: Any, positions: Any, **parameters: Any) -> Any:
        return rotate(x, positions.clamp(max=2047) if wrong(x) else positions, **parameters)

    found = diagnosed(clamping)

    assert found is not None
    assert found.mutants == ("rope.rotate/clamped-at-2048",)
    assert found.does.endswith(f", only where {WAYS[mode]}")


def test_what_has_no_name_is_told_with_the_mode() -> None:
    torch = pytest.importorskip("torch")
    rotate = batched(turning(torch))

    def odd(x: Any, positions: Any, **parameters: Any) -> Any:
        turned = rotate(x, positions, **parameters)
        return turned if torch.is_grad_enabled() else turned * (1.0 + positions.double().sin().mean())

    found = diagnosed(odd)

    assert found is not None
    assert not found.named
    assert found.description[0] == f"wrong only where {WAYS[NO_GRAD]}"


def test_right_code_has_no_diagnosis() -> None:
    torch = pytest.importorskip("torch")

    assert diagnosed(batched(turning(torch))) is None


def test_code_that_is_right_for_contiguous_arrays_alone_is_told_so(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "shifting.py"
    path.write_text(SHIFTING, encoding="utf-8")
    report = run.check(f"{path}", level="smoke", seed=1)

    (told,) = [each.description for each in report.diagnoses.values()]
    assert told[0].startswith("right for contiguous arrays, wrong for views such as transposed ones")


SHIFTING = """
import torch

from conformance import Adapter
from refimpl.schemes import transformer_xl

adapter = Adapter("shifting", framework="torch")


@adapter.implements("transformer_xl.shift")
def shift(scores, **parameters):
    scores = torch.as_strided(scores, scores.shape, torch.empty(scores.shape).stride())
    return torch.as_tensor(transformer_xl.shift(scores.clone(), **parameters))
"""
