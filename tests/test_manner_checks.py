"""Strided arrays and gradients are judged by golden values; sharing memory is told."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import law_implementations as right
import numpy as np
import pytest
from test_worker_manners import session, turning

from conformance.calls.manner import swappable
from conformance.calls.outcomes import Advisory, Errored, Failed, Passed
from conformance.checks import golden_checks, manner_checks, vector_checks
from conformance.in_process import InProcess
from conformance.judge.journal import Task

HALF: dict[str, Any] = {"layout": "half", "head_dim": 8}


def drawn(opened: InProcess, count: int = 24) -> tuple[Any, Task, list[Any]]:
    (descriptor,) = opened.implementations
    put, task = opened.subject(descriptor, "float32", "float32"), Task(descriptor, "float32", "float32")
    return put, task, list(islice(golden_checks.run(put, task, golden_checks.drawn(task, 0), enough=count), count))


def strided(function: Callable[..., Any], framework: str = "numpy", **declared: Any) -> list[Any]:
    put, task, checked = drawn(session(function, framework, **HALF, **declared))
    return [each.judgement.outcome for each in manner_checks.strided(put, task, checked)]


def gradients(function: Callable[..., Any]) -> list[Any]:
    put, task, checked = drawn(session(function, "torch", **HALF))
    return [each.judgement.outcome for each in manner_checks.gradients(put, task, checked, 0)]


def test_code_that_reads_the_buffer_is_convicted_and_right_code_is_not() -> None:
    assert all(isinstance(outcome, Passed) for outcome in strided(right.rotate))
    outcomes = strided(right.by_pointer)
    failed = [outcome.message for outcome in outcomes if isinstance(outcome, Failed)]
    assert any(message.endswith("its arrays were transposed ones (not contiguous)") for message in failed)


def test_an_exception_convicts_unless_contiguous_arrays_are_declared() -> None:
    torch = pytest.importorskip("torch")
    rotate = turning(torch)

    def viewing(x: Any, positions: Any, **parameters: Any) -> Any:
        return rotate(x.view(-1).view(x.shape), positions, **parameters)

    outcomes = strided(viewing, "torch")
    assert any(isinstance(outcome, Errored) and "contiguous=True declares" in outcome.message for outcome in outcomes)
    assert strided(viewing, "torch", contiguous=True) == []


def test_the_right_gradient_passes_and_one_that_turns_the_wrong_way_fails() -> None:
    torch = pytest.importorskip("torch")
    rotate = turning(torch)

    class Forward(torch.autograd.Function):  # type: ignore[misc,name-defined]  # torch is imported when the test runs
        @staticmethod
        def forward(ctx: Any, x: Any, positions: Any, parameters: Any) -> Any:
            ctx.kept = positions, parameters
            return rotate(x, positions, **parameters)

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            return rotate(cotangent, ctx.kept[0], **ctx.kept[1]), None, None

    def wrong(x: Any, positions: Any, **parameters: Any) -> Any:
        return Forward.apply(x, positions, parameters)

    rights, wrongs = gradients(batched(rotate)), gradients(batched(wrong))
    assert rights
    assert all(isinstance(outcome, Passed) for outcome in rights)
    assert any(isinstance(outcome, Failed) for outcome in wrongs)


def with_tables(torch: Any, backward: Callable[[Any, Any], Any], shared: dict[Any, Any] | None = None) -> Callable[..., Any]:
    """Return a rotation whose backward pass gets the tables that the forward pass kept; ``shared`` ones are written into one buffer."""

    class Forward(torch.autograd.Function):  # type: ignore[misc,name-defined]  # torch is imported when the test runs
        @staticmethod
        def forward(ctx: Any, x: Any, tables: Any) -> Any:
            ctx.tables = tables if shared is None else shared.setdefault(tables.shape, torch.empty_like(tables)).copy_(tables)
            return turned(x, *ctx.tables)

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            return backward(cotangent, ctx.tables), None

    def turned(x: Any, cos: Any, sin: Any) -> Any:
        first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)

    def rotate(x: Any, positions: Any, *, head_dim: int, base: float, direction: str, **_: Any) -> Any:
        angles = positions.double()[..., None] * base ** (-2.0 * torch.arange(head_dim // 2).double() / head_dim)
        angles = (angles[:, None] if positions.ndim > 1 else angles) * (1 if direction == "positive" else -1)
        return Forward.apply(x, torch.stack([angles.cos(), angles.sin()]).to(x.dtype))

    rotate.turned = turned  # type: ignore[attr-defined]
    return rotate


def test_gradients_that_another_call_or_pass_overwrites_are_convicted_and_others_are_not() -> None:
    torch = pytest.importorskip("torch")
    kept: dict[Any, Any] = {}
    turned = with_tables(torch, lambda cotangent, _: cotangent).turned  # type: ignore[attr-defined]

    def back(cotangent: Any, tables: Any) -> Any:
        return turned(cotangent, tables[0], -tables[1])

    def in_place(cotangent: Any, tables: Any) -> Any:
        return turned(cotangent, tables[0], tables[1].neg_())

    def into_one(cotangent: Any, tables: Any) -> Any:
        return kept.setdefault(cotangent.shape, torch.empty_like(cotangent)).copy_(back(cotangent, tables))

    right = gradients(with_tables(torch, back))
    assert right
    assert all(isinstance(outcome, Passed) for outcome in right)
    for wrong in (with_tables(torch, back, {}), with_tables(torch, in_place), with_tables(torch, into_one)):
        assert any(isinstance(outcome, Failed) for outcome in gradients(wrong))


def test_an_exception_where_nothing_could_be_transposed_is_told_and_convicts_nobody() -> None:
    torch = pytest.importorskip("torch")

    def in_complex(x: Any, positions: Any, *, head_dim: int, base: float, direction: str, **_: Any) -> Any:
        angles = positions.double()[..., None] * base ** (-2.0 * torch.arange(head_dim // 2).double() / head_dim)
        angles = (angles[:, None] if positions.ndim > 1 else angles) * (1 if direction == "positive" else -1)
        turned = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turned).flatten(-2).to(x.dtype)

    put, task, checked = drawn(session(in_complex, "torch", head_dim=8, layout="interleaved"))
    alone = [each for each in checked if not any(map(swappable, each.vector.inputs.values()))]
    told = [each.judgement.outcome for each in manner_checks.strided(put, task, alone)]
    assert not [outcome for outcome in told if isinstance(outcome, Errored | Failed)]
    assert any(isinstance(each, Advisory) and "every second element of larger ones (not contiguous)" in each.message for each in told)


def test_one_token_s_result_that_the_next_call_overwrites_is_convicted() -> None:
    kept: dict[Any, np.ndarray] = {}

    def decoding(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
        turned = right.rotate(x, positions, **parameters)
        if x.shape[2] > 1:
            return turned
        kept.setdefault((turned.shape, turned.dtype), np.empty_like(turned))[...] = turned
        return kept[turned.shape, turned.dtype]

    put, task, checked = drawn(session(decoding, **HALF))
    told = [each.judgement.outcome for each in manner_checks.refilled(put, task, checked)]
    assert any(isinstance(outcome, Failed) and "result changed" in outcome.message for outcome in told)


def tracked(function: Callable[..., Any]) -> list[Any]:
    put, task, checked = drawn(session(function, "torch", **HALF))
    return [each.judgement.outcome for each in manner_checks.tracked(put, task, checked)]


def test_code_that_answers_otherwise_in_training_is_convicted_and_code_that_refuses_it_is_not() -> None:
    torch = pytest.importorskip("torch")
    rotate = batched(turning(torch))

    def by_index(x: Any, positions: Any, **parameters: Any) -> Any:
        return rotate(x, torch.arange(positions.shape[-1]) if x.requires_grad else positions, **parameters)

    def by_numpy(x: Any, positions: Any, **parameters: Any) -> Any:
        return rotate(torch.tensor(x.numpy()), positions, **parameters)

    rights, wrongs, without = (tracked(each) for each in (rotate, by_index, by_numpy))
    assert rights
    assert all(isinstance(outcome, Passed) for outcome in rights)
    assert any(isinstance(each, Failed) and each.message.endswith("; its arrays require a gradient, as in training") for each in wrongs)
    assert all(isinstance(outcome, Advisory) for outcome in without)


def inferring(function: Callable[..., Any], **declared: Any) -> list[Any]:
    put, task, checked = drawn(session(function, "torch", **HALF, **declared))
    return [each.judgement.outcome for each in manner_checks.inferring(put, task, checked)]


def test_code_that_answers_otherwise_where_gradients_are_off_is_convicted_and_code_that_refuses_it_is_not() -> None:
    torch = pytest.importorskip("torch")
    rotate = batched(turning(torch))

    def by_index_where(off: Callable[[], bool]) -> Callable[..., Any]:
        def by_index(x: Any, positions: Any, **parameters: Any) -> Any:
            return rotate(x, torch.arange(positions.shape[-1]) if off() else positions, **parameters)

        return by_index

    def branching(x: Any, positions: Any, **parameters: Any) -> Any:
        return rotate(x if torch.is_grad_enabled() else x.detach().clone(), positions, **parameters)

    def refusing(x: Any, positions: Any, **parameters: Any) -> Any:
        if not torch.is_grad_enabled():
            message = "trains only"
            raise RuntimeError(message)
        return rotate(x, positions, **parameters)

    rights, without = inferring(branching), inferring(refusing)
    assert rights
    assert all(isinstance(outcome, Passed) for outcome in rights)
    assert without
    assert all(isinstance(outcome, Advisory) and "trains only" in outcome.message for outcome in without)
    for off, told in (
        (lambda: not torch.is_grad_enabled(), "torch.no_grad()"),
        (torch.is_inference_mode_enabled, "torch.inference_mode()"),
    ):
        wrongs = inferring(by_index_where(off))
        assert any(isinstance(each, Failed) and f"called under {told}" in each.message for each in wrongs)
    assert torch.is_grad_enabled()


def test_what_is_kept_or_written_over_where_gradients_are_off_is_convicted_and_careful_code_is_not() -> None:
    torch = pytest.importorskip("torch")
    rotate = batched(turning(torch))

    def keeping(key: Callable[..., object]) -> Callable[..., Any]:
        kept: dict[object, Any] = {}

        def careful_in_training(x: Any, positions: Any, **parameters: Any) -> Any:
            if torch.is_grad_enabled():
                return rotate(x, positions, **parameters)
            held = kept.setdefault(key(positions, **parameters), positions)
            return rotate(x, held, **parameters)

        return careful_in_training

    space: dict[object, Any] = {}

    def into_one(x: Any, positions: Any, **parameters: Any) -> Any:
        turned = rotate(x, positions, **parameters)
        return turned if torch.is_grad_enabled() else space.setdefault(turned.shape, torch.empty_like(turned)).copy_(turned)

    def beside(function: Callable[..., Any]) -> list[Any]:
        put, task, checked = drawn(session(function, "torch", **HALF))
        checked += list(golden_checks.beside(put, task, checked, (), 0))
        checked += list(manner_checks.refilled(put, task, checked))
        assert not [each for each in checked if each.failed]
        return [each.judgement.outcome for each in manner_checks.inferring(put, task, checked)]

    rights = beside(keeping(lambda positions, **_: str(positions.tolist())))
    assert rights
    assert all(isinstance(outcome, Passed) for outcome in rights)
    assert any(isinstance(outcome, Failed) for outcome in beside(keeping(lambda positions, **_: positions.shape)))
    told = [outcome.message for outcome in beside(into_one) if isinstance(outcome, Failed)]
    assert any("result changed" in message and "torch.no_grad()" in message for message in told)


def test_a_module_is_asked_in_eval_mode_too_and_left_in_its_own() -> None:
    torch = pytest.importorskip("torch")
    rotate = batched(turning(torch))

    class Module(torch.nn.Module):  # type: ignore[misc,name-defined]  # torch is imported when the test runs
        def __init__(self, *, wrong: bool) -> None:
            super().__init__()
            self.frozen = torch.nn.Dropout(0.5).eval()
            self.wrong = wrong

        def forward(self, x: Any, positions: Any, *, head_dim: int, base: float, direction: str, layout: str) -> Any:
            places = torch.arange(positions.shape[-1]) if self.wrong and not self.training else positions
            return rotate(self.frozen(x), places, head_dim=head_dim, base=base, direction=direction, layout=layout)

    right, wrong = Module(wrong=False), Module(wrong=True)
    assert all(isinstance(outcome, Passed) for outcome in inferring(right))
    assert (right.training, right.frozen.training) == (True, False)
    for function in (wrong, wrong.forward):
        assert any(isinstance(each, Failed) and "eval mode" in each.message for each in inferring(function))


def batched(rotate: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rotation that turns each row by its own positions."""

    def rotated(x: Any, positions: Any, **parameters: Any) -> Any:
        import torch

        if positions.ndim == 1:
            return rotate(x, positions, **parameters)
        return torch.cat([rotate(x[row : row + 1], one, **parameters) for row, one in enumerate(positions)])

    return rotated


def test_code_that_gives_no_gradient_is_told_and_not_convicted() -> None:
    torch = pytest.importorskip("torch")
    rotate = batched(turning(torch))
    outcomes = gradients(lambda x, positions, **parameters: rotate(x.detach(), positions, **parameters))

    assert outcomes
    assert set(outcomes) == {Advisory("gives no gradient: no gradient reaches x")}


def test_a_result_that_shares_memory_is_told_once() -> None:
    def sharing(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
        x[...] = right.rotate(x, positions, **parameters)
        return x

    _, task, checked = drawn(session(sharing, **HALF), 2)
    told = [result.outcome for result in manner_checks.aliases(task, checked)]

    assert told == [Advisory("result shares memory with x: what is written to the one changes the other")]
    _, task, checked = drawn(session(sharing, modifies_inputs=True, **HALF), 2)
    assert list(manner_checks.aliases(task, checked)) == []


def test_code_that_returns_numpy_for_another_library_is_told_and_not_convicted() -> None:
    torch = pytest.importorskip("torch")
    rotate = batched(turning(torch))
    _, _, checked = drawn(session(lambda *arrays, **named: rotate(*arrays, **named).numpy(), framework="torch", **HALF), 2)
    told = [result.outcome for result in vector_checks.advisories(checked)]

    assert told == [Advisory("result is an array of NumPy, where torch's are given: no gradient passes through it")]


@pytest.mark.parametrize("declared", [{"positions": "from_zero"}, {"positions": "consecutive"}, {"rows": "shared"}])
def test_right_code_that_takes_only_some_positions_has_right_gradients(declared: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    put, task, checked = drawn(session(turning(torch), "torch", **HALF, **declared))
    outcomes = [each.judgement.outcome for each in manner_checks.gradients(put, task, checked, 0)]

    assert outcomes
    assert all(isinstance(outcome, Passed) for outcome in outcomes)
