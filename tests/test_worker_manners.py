"""What golden values alone don't see: arrays that aren't contiguous, memory that is shared, one wrong answer in a thousand, gradients."""

import itertools
from collections.abc import Callable
from typing import Any

import law_implementations as right
import numpy as np
import pytest

from conformance.adapt.adapter import Adapter, Unsupported
from conformance.adapt.arrays import NumPy
from conformance.adapt.frameworks import FRAMEWORKS
from conformance.adapt.results import exact
from conformance.calls.manner import PLAIN, SWAPPED, Manner
from conformance.calls.outcomes import Reason
from conformance.calls.subject import CallRefusedError, Reply, Subject
from conformance.checks import law_checks
from conformance.in_process import InProcess
from conformance.judge.journal import Task

ARRAYS = (np.arange(1.0, 25.0).reshape(1, 2, 3, 4) / 16, np.array([3, 9, 4]))
PARAMETERS = {"head_dim": 4, "base": 100.0, "layout": "half", "direction": "positive"}


def session(function: Callable[..., Any], framework: str = "numpy", operation: str = "rope.rotate", **declared: Any) -> InProcess:
    adapter = Adapter("mine", framework=framework)
    adapter.implements(operation, **declared)(function)
    return InProcess(adapter)


def reply(function: Callable[..., Any], manner: Manner = PLAIN, framework: str = "numpy") -> Reply:
    opened = session(function, framework)
    return opened.request(opened.implementations[0], "float32", ARRAYS, PARAMETERS, manner)


def subject(opened: InProcess) -> tuple[Subject, Task]:
    (descriptor,) = opened.implementations
    return opened.subject(descriptor, "float32", "float32"), Task(descriptor, "float32", "float32")


def turning(torch: Any) -> Callable[..., Any]:
    """Return a rotation in torch."""

    def rotate(x: Any, positions: Any, *, head_dim: int, base: float, direction: str, layout: str = "half") -> Any:
        assert layout == "half"
        angles = positions.double()[..., None] * base ** (-2.0 * torch.arange(head_dim // 2).double() / head_dim)
        angles = angles[:, None] if positions.ndim > 1 else angles
        cos, sin = angles.cos().to(x.dtype), (angles if direction == "positive" else -angles).sin().to(x.dtype)
        first, second = x[..., : head_dim // 2], x[..., head_dim // 2 :]
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)

    return rotate


@pytest.mark.parametrize("shape", [(1, 2, 3, 4), (2, 1, 3, 4), (3, 4), (5,), (3, 1), (2, 2, 2, 0)])
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_strided_array_holds_the_same_numbers_elsewhere(name: str, shape: tuple[int, ...]) -> None:
    pytest.importorskip(name)
    library, values = FRAMEWORKS[name](), np.arange(float(np.prod(shape))).reshape(shape)
    strided = library.strided(library.floats(values, "float32"))

    assert exact(strided, library)[0].tolist() == values.tolist()
    contiguous = strided.is_contiguous() if name == "torch" else strided.flags.c_contiguous
    assert not contiguous or values.size == 0


def test_code_that_reads_the_buffer_gets_other_numbers_from_strided_arrays() -> None:
    plain, strided = reply(right.by_pointer), reply(right.by_pointer, Manner(views=SWAPPED))
    expected = reply(right.rotate)
    assert np.array_equal(plain.values["result"], expected.values["result"])
    assert not np.array_equal(strided.values["result"], expected.values["result"])
    assert np.allclose(reply(right.rotate, Manner(views=SWAPPED)).values["result"], expected.values["result"], rtol=1e-6)


def test_a_library_without_strides_is_called_plainly() -> None:
    pytest.importorskip("jax")
    library = FRAMEWORKS["jax"]()

    assert "strided" not in library.manners


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x, _positions, **_: x, ("result shares memory with x",)),
        (lambda x, _positions, **_: x[..., ::-1], ("result shares memory with x",)),
        (lambda x, _positions, **_: x.copy(), ()),
        (right.rotate, ()),
    ],
)
def test_a_result_that_shares_memory_with_an_input_is_told(function: Callable[..., Any], told: tuple[str, ...]) -> None:
    assert reply(function).aliases == told


def test_tensors_of_one_storage_share_memory() -> None:
    torch = pytest.importorskip("torch")

    assert reply(lambda x, _positions, **_: x.flip(-1), framework="torch").aliases == ()
    assert reply(lambda x, _positions, **_: x[:, :], framework="torch").aliases == ("result shares memory with x",)
    assert reply(turning(torch), framework="torch").aliases == ()


def test_a_result_of_numpy_is_told_where_another_library_is_declared() -> None:
    torch = pytest.importorskip("torch")
    told = ("result is an array of NumPy, where torch's are given",)

    assert reply(lambda x, positions, **parameters: turning(torch)(x, positions, **parameters).numpy(), framework="torch").foreign == told
    assert reply(turning(torch), framework="torch").foreign == ()
    assert reply(right.rotate).foreign == ()


def every(count: int, wrong: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    """Return a rotation each so-manieth call of which is wrong."""
    calls = itertools.count(1)

    def rotate(*arrays: np.ndarray, **parameters: Any) -> Any:
        result = right.rotate(*arrays, **parameters)
        return wrong(result) if next(calls) % count == 0 else result

    return rotate


def test_one_wrong_answer_in_many_is_found_by_repeating_and_told() -> None:
    told = reply(every(300, lambda y: y + 1), Manner(repeats=400))

    assert told.repeats == 299
    assert told.unlike.startswith("result must be the same for the same call, got ")
    assert told.unlike.endswith("when repeated 299 times")


def test_answers_that_are_the_same_are_repeated_as_often_as_was_asked() -> None:
    told = reply(right.rotate, Manner(repeats=50))

    assert (told.repeats, told.unlike) == (50, "")


def test_no_time_is_time_for_no_repetition() -> None:
    assert reply(right.rotate, Manner(repeats=50, seconds=0.0)).repeats == 0


def determinism(function: Callable[..., Any], examples: int = law_checks.PATIENT) -> law_checks.Found:
    put, task = subject(session(function))
    found = {each.finding.law: each for each in law_checks.run(put, task, examples=examples, seed=0)}
    return found[law_checks.DETERMINISM]


def test_the_law_of_determinism_has_one_call_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.laws.universal.OFTEN", Manner(repeats=1_100))
    wrong = determinism(every(1_000, lambda y: y + 1))

    assert wrong.failed
    assert wrong.finding.kind is Reason.NOT_DETERMINISTIC
    assert not determinism(right.rotate).failed


def gradient(function: Callable[..., Any], cotangent: np.ndarray, framework: str = "torch") -> np.ndarray:
    return reply(function, Manner(cotangents=(cotangent,)), framework).values["result"]


def test_the_gradient_of_a_rotation_is_the_rotation_back() -> None:
    torch = pytest.importorskip("torch")
    cotangent = np.roll(ARRAYS[0], 5)
    back = right.rotate(cotangent.astype(np.float32), ARRAYS[1], head_dim=4, base=100.0, layout="half", direction="negative")

    assert np.allclose(gradient(turning(torch), cotangent), back, atol=1e-6)


def test_code_without_a_gradient_refuses() -> None:
    torch = pytest.importorskip("torch")
    rotate = turning(torch)

    with pytest.raises(CallRefusedError, match="no gradient reaches x"):
        gradient(lambda x, positions, **parameters: rotate(x.detach(), positions, **parameters), ARRAYS[0])


def test_numpy_has_no_gradients() -> None:
    with pytest.raises(Unsupported, match="a library that differentiates must be asked"):
        NumPy().gradients(None, [], [])
