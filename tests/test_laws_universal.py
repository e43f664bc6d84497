"""What holds for every operation, shown on implementations that break it; and how findings come about."""

import itertools
from collections.abc import Callable
from typing import Any

import law_implementations as rounding
import numpy as np
import pytest
from law_subjects import OPERATIONS, changed, convicting, findings, reference, subject

from conformance.calls.outcomes import Crashed, Errored, Reason, TimedOut
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply, Subject
from conformance.calls.takes import Takes
from conformance.laws import UNIVERSAL, Finding, run
from refimpl.spec import Law


def rotating(wrap: Callable[..., Any]) -> Subject:
    """Return a rotation in float32 whose result is wrapped."""

    def function(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> Any:
        return wrap(rounding.rotate(x, positions, **parameters), x, positions, parameters)

    return subject("rope.rotate", function)


def stateful() -> Subject:
    """Return a rotation with a cache of tables that grows with the positions and forgets the base."""
    cache: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def function(x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, layout: str, direction: str) -> np.ndarray:
        length = int(positions.max()) + 1
        if head_dim not in cache or len(cache[head_dim][0]) < length:
            cache[head_dim] = rounding.tables(np.arange(length), head_dim, base)
        cos, sin = (table[positions] for table in cache[head_dim])
        return rounding.turned(x, cos, sin, layout, direction)

    return subject("rope.rotate", function, takes=Takes("from_zero"))


def refusing(*_: Any, **__: Any) -> Any:
    """Take nothing."""
    raise CallRefusedError


def failing(outcome: Any) -> tuple[Subject, list[int]]:
    """Return a subject whose calls give no result, and the count of its calls."""
    calls: list[int] = []

    def call(*_: Any) -> Reply:
        calls.append(1)
        raise CallFailedError(outcome)

    return Subject(OPERATIONS["rope.rotate"], "float32", "float32", call), calls


def one(put: Subject, law: str, **settings: int) -> Finding:
    """Return what one law says."""
    return findings(put, **settings)[law]


def test_another_shape_is_told() -> None:
    found = one(rotating(lambda y, *_: y[..., :-1]), "shape")

    assert found.kind is Reason.SHAPE
    assert found.failure is not None
    assert found.failure.startswith("result must have shape (")


def test_another_shape_is_told_once() -> None:
    assert convicting(rotating(lambda y, *_: y[..., :-1])) == {"shape"}


@pytest.mark.parametrize(("got", "kind"), [(np.float16, Reason.DTYPE), (np.float32, None), (np.float64, None)])
def test_a_narrower_dtype_is_told_and_a_wider_one_is_not(got: type, kind: Reason | None) -> None:
    assert one(rotating(lambda y, *_: y.astype(got)), "dtype").kind is kind


def test_real_buckets_are_told() -> None:
    put = subject("t5.bucket", lambda relative, **parameters: rounding.bucket(relative, **parameters).astype(np.float32))

    assert one(put, "dtype").failure == "result must have an integer dtype, got float32"


def test_a_changed_input_is_told() -> None:
    def scribble(y: np.ndarray, x: np.ndarray, *_: Any) -> np.ndarray:
        x += 1
        return y

    found = one(rotating(scribble), "inputs unmodified")

    assert found.kind is Reason.INPUT_MODIFIED
    assert found.failure == "inputs must stay as they are, got x changed"


def test_a_result_that_drifts_is_not_deterministic() -> None:
    calls = itertools.count()
    found = one(rotating(lambda y, *_: y + np.float32(next(calls) * 2.0**-20)), "determinism")

    assert found.kind is Reason.NOT_DETERMINISTIC


def test_a_batch_that_shares_its_first_row_is_told() -> None:
    def first_row(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
        return rounding.rotate(x, positions if positions.ndim == 1 else positions[0], **parameters)

    assert "batch independence" in convicting(subject("rope.rotate", first_row))


def test_another_rounding_in_another_place_is_no_dependence_on_the_batch() -> None:
    def tail(y: np.ndarray, x: np.ndarray, *_: Any) -> np.ndarray:
        return y * np.float32(1 - 2.0**-24) if x.shape[0] == 1 else y

    assert "batch independence" not in convicting(rotating(tail))


def test_a_cache_that_forgets_a_parameter_depends_on_history() -> None:
    found = one(stateful(), "history independence", examples=60)

    assert found.kind is Reason.HISTORY


def test_a_wrong_rotation_does_not_depend_on_history() -> None:
    assert convicting(rotating(lambda y, *_: 2 * y)).isdisjoint(UNIVERSAL)


def test_a_subject_that_takes_nothing_passes_nothing() -> None:
    found = findings(subject("rope.rotate", refusing))

    assert {(finding.examples, finding.kind, finding.failure) for finding in found.values()} == {(0, None, None)}
    assert all(finding.refused > 0 for finding in found.values())


def test_a_subject_that_takes_half_of_it_is_judged_by_that_half() -> None:
    def only_half(*arrays: Any, layout: str, **parameters: Any) -> Any:
        if layout != "half":
            raise CallRefusedError
        return rounding.rotate(*arrays, layout=layout, **parameters)

    found = one(subject("rope.rotate", only_half), "isometry", examples=40)

    assert found.failure is None
    assert found.examples > 0
    assert found.refused > 0


def test_an_exception_is_told_once_and_the_rest_goes_on() -> None:
    put, calls = failing(Errored("ValueError: no"))

    found = findings(put)

    assert [finding.outcome for finding in found.values() if finding.failure] == [Errored("ValueError: no")]
    assert len(calls) > 10


@pytest.mark.parametrize("outcome", [Crashed("SIGSEGV"), TimedOut(30.0)])
def test_a_crash_or_a_hang_costs_one_call(outcome: Crashed | TimedOut) -> None:
    put, calls = failing(outcome)

    found = findings(put)

    assert [finding.outcome for finding in found.values() if finding.failure] == [outcome]
    assert len(calls) == 1


def test_a_counterexample_is_small_and_can_be_called_again() -> None:
    put = changed("rope.rotate", lambda y, _: 1.001 * y)
    found = one(put, "isometry")

    ((arrays, parameters),) = found.calls
    reply = put.call(list(arrays), parameters)
    assert arrays[0].size <= 16
    assert np.any(np.abs(np.linalg.norm(reply.values["result"], axis=-1) - np.linalg.norm(arrays[0], axis=-1)) > 1e-5)


def test_a_counterexample_is_replayed_on_another_subject() -> None:
    found = one(changed("rope.rotate", lambda y, _: 1.001 * y), "isometry")

    assert found.replay is not None
    assert found.replay(changed("rope.rotate", lambda y, _: 1.001 * y)) > 1.0
    assert found.replay(reference("rope.rotate")) <= 1.0


def test_a_counterexample_clearly_shows_the_mistake() -> None:
    found = one(changed("rope.rotate", lambda y, _: 1.001 * y), "composition")

    assert found.replay is not None
    assert found.replay(changed("rope.rotate", lambda y, _: 1.001 * y)) >= 10.0


def test_the_same_seed_finds_the_same() -> None:
    put = changed("rope.rotate", lambda y, _: 1.001 * y)

    first, second = (findings(put, seed=11) for _ in range(2))
    assert {name: found.failure for name, found in first.items()} == {name: found.failure for name, found in second.items()}
    assert {name: found.worst for name, found in first.items()} == {name: found.worst for name, found in second.items()}


def test_other_seeds_draw_other_examples() -> None:
    put = reference("rope.rotate", "float32")

    assert one(put, "composition", seed=1).worst != one(put, "composition", seed=2).worst


def test_the_universal_laws_come_first_and_then_those_that_are_asked_for() -> None:
    found = list(run(reference("rope.rotate"), [Law.LINEAR, Law.ISOMETRY], examples=5, seed=0))

    assert [finding.law for finding in found] == [*UNIVERSAL, "linear", "isometry"]


def test_more_examples_are_put_where_more_are_asked_for() -> None:
    counts = [one(reference("rope.rotate"), "isometry", examples=examples).examples for examples in (5, 40)]

    assert counts == [5, 40]


def test_positions_that_were_reached_are_told() -> None:
    farthest = one(reference("rope.rotate"), "relative", examples=40).farthest

    assert farthest is not None
    assert farthest > 100_000


def test_drawing_is_told_apart_from_checking() -> None:
    assert one(reference("rope.rotate"), "relative").drawing_seconds > 0.0
