"""What is said of wrong code is true of all calls that came, also of those that aren't compared; where few came, more are asked for."""

import functools
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pytest

from conformance import Adapter
from conformance.calls.outcomes import Diagnosis
from conformance.calls.subject import Subject
from conformance.checks import golden_checks
from conformance.checks.vector_checks import Checked
from conformance.diagnosis import diagnose
from conformance.diagnosis.diagnose import Observation, explain
from conformance.diagnosis.seen import DRAWN
from conformance.golden.answers import golden
from conformance.in_process import InProcess
from conformance.judge.journal import Task
from conformance.mutants import masking
from conformance.mutants.building import OPERATIONS, right
from conformance.mutants.rotary import Rotary
from conformance.run.orchestrator import Selection
from conformance.spec.arguments import Arguments
from refimpl import attention
from refimpl.forms import windowed
from refimpl.schemes import alibi, rope

Function = Callable[..., Any]
ROTATION = {"head_dim": 8, "base": 1e4, "layout": "half", "direction": "positive"}
ATTENTION = [name for name, contract in OPERATIONS.items() if "causal" in contract.parameters]


def opened(operation: str, function: Function, **declared: Any) -> tuple[Subject, Task]:
    """Return a function as it is asked in a run, in this process."""
    adapter = Adapter("made", framework="numpy")
    adapter.implements(operation, **declared)(function)
    session = InProcess(adapter)
    (task,) = Selection(None, None, None, None, "core", 0).tasks(session.implementations)
    return session.subject(task.descriptor, task.dtype, task.profile), task


def made(operation: str, function: Function, calls: Iterable[Arguments]) -> list[Checked]:
    """Return the judgements of calls as if they had been drawn."""
    subject, task = opened(operation, function)
    return [golden_checks.check(subject, task, f"{operation}/drawn-{i}", call) for i, call in enumerate(calls)]


def asked(operation: str, function: Function, count: int, **declared: Any) -> Diagnosis | None:
    """Return what is known of a function after so many drawn calls, where it can be asked again."""
    subject, task = opened(operation, function, **declared)
    return diagnose.of_checks(list(golden_checks.run(subject, task, golden_checks.drawn(task, 1), enough=count)), subject)


def named(found: Diagnosis | None) -> str:
    return found.name if found is not None and found.named else ""


def described(found: Diagnosis | None) -> str:
    return "" if found is None else "; ".join(found.description)


def of_window(distances: Sequence[int], seed: int) -> Arguments:
    """Return a call of attention with a window of 100, of one query and keys so far before it."""
    rng = np.random.default_rng(seed)
    places = {"query_positions": np.array([300]), "key_positions": 300 - np.array(distances)}
    q, k = (rng.standard_normal((1, 1, count, 8)).astype(np.float32).astype(float) for count in (1, len(distances)))
    return Arguments({"q": q, "k": k, **places}, {**ROTATION, "window": 100, "causal": True})


@pytest.fixture(autouse=True)
def without_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for no two mistakes, which takes long and finds none here."""
    monkeypatch.setattr(diagnose, "pairs_of_mistakes", lambda _: ())


def test_a_window_is_not_named_that_fits_the_calls_that_are_compared_and_not_another() -> None:
    rounded = Rotary(near=lambda m, n, window: windowed.within(m, n, window=1 << window.bit_length() - 1)).of("rerope.weights")

    def weights(q: np.ndarray, *others: np.ndarray, **given: Any) -> np.ndarray:
        return np.asarray(rounded(q, *others, **given)).astype(q.dtype)

    few = [of_window([0, 10, 30, 70], seed) for seed in range(DRAWN + 1)]
    assert named(diagnose.of_checks(made("rerope.weights", weights, few)))
    assert not named(diagnose.of_checks(made("rerope.weights", weights, [*few, of_window([0, 10, 30, 50, 55, 60, 63, 70], 99)])))


def rotations(heads: Iterable[int]) -> list[Arguments]:
    rng = np.random.default_rng(0)
    return [Arguments({"x": rng.integers(-9, 9, (1, count, 3, 8)) / 4, "positions": np.array([1, 5, 900])}, ROTATION) for count in heads]


def in_fours(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
    """Return rope of four heads at a time, which leaves the rest as they are."""
    turned, whole = np.array(rope.rotate(x, positions, **given)), x.shape[1] // 4 * 4
    turned[:, whole:] = x[:, whole:]
    return turned


def test_an_input_does_not_come_back_unchanged_where_it_is_turned_in_calls_that_are_not_compared() -> None:
    few = rotations([2] * (DRAWN + 1))

    assert named(diagnose.of_checks(made("rope.rotate", in_fours, few))) == "rope.rotate/not-turned"
    assert not named(diagnose.of_checks(made("rope.rotate", in_fours, [*few, *rotations([7])])))


def test_the_only_position_is_not_told_where_another_is_wrong_in_a_call_that_is_not_compared() -> None:
    def late(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        off = np.where(np.isin(positions, (5, 700)), 0.37, 0.0)[:, None] * np.cos(np.arange(x.shape[-1]) ** 2)
        return np.asarray(rope.rotate(x, positions, **given) + off).astype(x.dtype)

    few = rotations([1] * (DRAWN + 1))
    (other,) = rotations([9])
    another = Arguments({**other.arrays, "positions": np.array([1, 700, 900])}, ROTATION)

    assert "wrong at position 5 only" in described(diagnose.of_checks(made("rope.rotate", late, few)))
    assert "position 5 only" not in described(diagnose.of_checks(made("rope.rotate", late, [*few, another])))


@pytest.mark.parametrize("operation", ATTENTION)
def test_attention_whose_softmax_is_its_own_is_right(operation: str) -> None:
    function = masking.weighing(operation, attention.softmax)
    _, task = opened(operation, right(operation))
    (_, call) = next(each for each in golden_checks.drawn(task, 0) if each[1].parameters["causal"])

    assert function is not None
    got, asked_for = (np.asarray(each(*call.arrays.values(), **call.parameters)) for each in (function, right(operation)))
    assert np.allclose(got, asked_for, rtol=2.0**-44, atol=0)  # 2^9 units in the last place: exponentials of logits in the hundreds


def test_what_has_no_mask_has_no_softmax() -> None:
    assert masking.weighing("rope.rotate", attention.softmax) is None


@pytest.mark.parametrize(
    "operation",
    [
        *("alibi.attend", "t5.weights", "relative_bias.weights", "kerple.weights", "none.weights", "rerope.weights"),
        *("da_transformer.weights", "shaw.weights", "shaw.attend", "transformer_xl.weights", "none.attend_selected"),
    ],
)
def test_a_mask_that_is_a_number_is_named_in_all_attention(operation: str) -> None:
    function = masking.weighing(operation, functools.partial(masking.numbered, number=-10.0, added=False))
    assert function is not None
    _, task = opened(operation, right(operation))
    hiding = (call for _, call in golden_checks.drawn(task, 0) if call.parameters["causal"] and hides(call))
    seen = []
    for number, call in enumerate(islice(hiding, 3)):
        vector = golden(operation, call, identity=f"{operation}/drawn-{number}", exposes="", profiles=["float64"])
        seen.append(Observation(vector, {"result": np.asarray(function(*call.arrays.values(), **call.parameters))}, "float64"))

    found = explain(operation, seen, "float64")
    assert named(found) == f"{operation}/mask=-10"


def hides(call: Arguments) -> bool:
    """Whether a small causal call hides a key."""
    m, n = call.arrays["query_positions"], call.arrays["key_positions"]
    return n.size * m.size < 100 and bool((n[..., None, :] > m[..., :, None]).any())


def of_one_width(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
    return rope.rotate(x, positions, **{**given, "base": given["base"] * (2 if given["head_dim"] == 80 else 1)})


def test_the_width_that_alone_is_wrong_is_told_by_few_calls() -> None:
    subject, task = opened("rope.rotate", of_one_width)
    few = [call for _, call in islice(golden_checks.drawn(task, 1), 60) if call.parameters["head_dim"] != 80][:20]
    (other,) = rotations([2])
    wide = Arguments({**other.arrays, "x": np.tile(other.arrays["x"], 10)}, {**ROTATION, "head_dim": 80})
    told = described(diagnose.of_checks(made("rope.rotate", of_one_width, [*few, wide]), subject))
    assert told.startswith("right unless head_dim is 80, as far as was called: 8 of 8 further calls with it are wrong")


def test_heads_that_are_left_over_are_told_by_their_number() -> None:
    subject, _ = opened("rope.rotate", in_fours)
    checked = made("rope.rotate", in_fours, [*rotations([1, 2, 3, 5, 6, 7, 9]), *rotations([4, 8, 12, 16] * 4)])

    told = described(diagnose.of_checks(checked, subject))
    assert "right where the number of heads is a multiple of 4, as far as was called: 8 of 8 further calls with others are wrong" in told
    assert "only heads beyond the last multiple of 4 are wrong" in told


def test_a_bound_is_told_beyond_which_calls_are_wrong() -> None:
    def narrow(**given: Any) -> np.ndarray:
        return right("llama3.frequencies")(**{**given, "factor": given["factor"] * (1 if given["head_dim"] <= 128 else 2)})

    told = described(asked("llama3.frequencies", narrow, 40))
    assert "right while head_dim is at most 128, as far" in told or "wrong only" in told


def test_how_many_heads_share_a_key_head_is_told_as_that() -> None:
    def shared(q: np.ndarray, k: np.ndarray, *others: np.ndarray, **given: Any) -> np.ndarray:
        return alibi.attend(q, k, *others, **given) * (1 if q.shape[1] < 5 * k.shape[1] else 2)

    assert "wrong only with more than 4 query heads per key head" in described(asked("alibi.attend", shared, 40))


def test_a_bound_is_not_told_that_further_calls_belie() -> None:
    def of_large_bases(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        return rope.rotate(x, positions, **{**given, "base": given["base"] * (2 if given["base"] >= 500_000 else 1)})

    subject, task = opened("rope.rotate", of_large_bases)
    drawn = [call for _, call in islice(golden_checks.drawn(task, 1), 120) if np.abs(call.arrays["positions"]).max() > 9]
    narrow = [call for call in drawn if call.parameters["head_dim"] <= 80 and call.parameters["base"] < 500_000]
    wide = [call for call in drawn if call.parameters["head_dim"] > 80 and call.parameters["base"] >= 500_000]
    by_chance = [*narrow[:20], *wide[:2]]
    told = described(diagnose.of_checks(made("rope.rotate", of_large_bases, by_chance), subject))
    assert "right while head_dim" not in told
    assert "right while base is at most" in told


def test_nothing_is_told_of_calls_that_are_wrong_by_chance() -> None:
    calls: list[int] = []

    def once(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        calls.append(x.size)
        return rope.rotate(x, positions, **given) + (len(calls) == 20) * np.cos(np.arange(x.shape[-1]) ** 2)

    assert "further calls" not in described(asked("rope.rotate", once, 40, layout="half"))
    assert len(calls) > 40
