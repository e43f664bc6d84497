"""Kernels that once conformed are convicted at core, whatever the seed; right ones in unlike styles never."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from careless_caches import SEEN, Grown
from escaped_kernels import FAR_BELOW, HALF_PREFILL, KERNELS, MODEL, OTHERWISE, TILED, VIEWED, Buffered, known_by_ends, placed, reused
from test_wrong_kernels import SEEDS, asked_once, judged, named, subjects
from unlike_styles import RIGHT
from wrong_kernels import Kernel

from conformance.adapt.arrays import NumPy
from conformance.adapt.frameworks import FRAMEWORKS
from conformance.adapt.results import exact
from conformance.calls.manner import WAYS
from conformance.calls.outcomes import Passed
from conformance.checks import golden_checks
from conformance.checks.vector_checks import Checked
from conformance.in_process import InProcess, assert_conforms
from conformance.judge.journal import Call
from conformance.run.asking_again import ask_again
from conformance.run.case import Case
from conformance.run.orchestrator import Selection
from refimpl.schemes import rope

__all__ = ["asked_once"]


def otherwise(adapter: Any, seed: int) -> Iterator[Checked]:
    """Yield what is said of small calls that are made otherwise than plainly."""
    for subject, task in subjects(adapter, seed):
        plain = list(islice(golden_checks.run(subject, task, golden_checks.drawn(task, seed), enough=24), 24))
        assert not [check for check in plain if check.failed]
        yield from golden_checks.otherwise(subject, task, plain, seed)


def convictions(adapter: Any, seed: int) -> list[str]:
    """Return what is said of small calls that are convicted where they are made otherwise, of which there are some."""
    told = [checked.judgement.outcome.message for checked in otherwise(adapter, seed) if checked.failed]
    assert told
    return told


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_a_kernel_that_once_conformed_is_convicted_at_core(kernel: Kernel, seed: int) -> None:
    assert any(checked.failed for checked in judged(kernel.adapter, seed))


def test_places_as_they_are_are_right_in_half_precision() -> None:
    kernel = Kernel("right", "rope.attend", placed(np.asarray), HALF_PREFILL)
    assert not [each for each in judged(kernel.adapter, 0) if each.failed]


@pytest.mark.parametrize("kernel", TILED, ids=named)
def test_a_kernel_that_is_wrong_in_plain_calls_too_is_not_told_of_views(kernel: Kernel) -> None:
    told = [checked.judgement.outcome.message for checked in judged(kernel.adapter, 0) if checked.failed]
    assert told
    assert not [message for message in told if "not contiguous" in message]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", FAR_BELOW, ids=named)
def test_a_mask_that_no_logit_comes_near_is_right(kernel: Kernel, seed: int) -> None:
    assert not [checked for checked in judged(kernel.adapter, seed) if checked.failed]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", VIEWED, ids=named)
def test_a_kernel_that_reads_views_wrongly_is_convicted_by_them_alone(kernel: Kernel, seed: int) -> None:
    endings = tuple(f"{way} (not contiguous)" for way in ("from the end to the start", "broadcast ones", "parts of larger ones"))
    assert all(message.endswith(endings) for message in convictions(kernel.adapter, seed))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", OTHERWISE, ids=named)
def test_a_kernel_that_is_wrong_for_rows_placed_alike_or_matrices_transposed_is_convicted(kernel: Kernel, seed: int) -> None:
    assert convictions(kernel.adapter, seed)


def test_views_that_are_read_wrongly_in_the_second_dtype_alone_are_convicted() -> None:
    def rotated(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
        lies = x.dtype == np.float16 and not x.flags.c_contiguous
        return np.asarray(rope.rotate(np.zeros_like(x) if lies else x, positions, **said))

    with pytest.raises(AssertionError, match="not contiguous"):
        assert_conforms(rotated, "rope.rotate", dtypes=("float32", "float16"), seed=1, head_dim=(8, 16))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("which", range(len(reused())), ids=[named(kernel) for kernel in reused()])
def test_a_kernel_that_takes_an_array_for_its_numbers_is_convicted_where_these_were_written_to(which: int, seed: int) -> None:
    assert all(message.endswith("and were written to since") for message in convictions(reused()[which].adapter, seed))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("which", range(len(known_by_ends())), ids=[named(kernel) for kernel in known_by_ends()])
def test_a_kernel_that_takes_an_array_for_one_with_the_same_ends_is_convicted(which: int, seed: int) -> None:
    assert all(message.endswith("and were written to since") for message in convictions(known_by_ends()[which].adapter, seed))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("declared", [{}, {**MODEL, "positions": "from_zero"}], ids=["any", "a model"])
def test_a_kernel_whose_results_the_next_call_overwrites_is_convicted(declared: dict[str, Any], seed: int) -> None:
    kernel = Kernel("a buffer", "rope.rotate", Buffered(), declared)
    told = set(convictions(kernel.adapter, seed))
    assert told
    assert all(message.startswith("results must stay as they are when the next call is made, got result changed") for message in told)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", RIGHT, ids=named)
def test_right_code_passes_with_views_and_in_arrays_that_are_used_again(kernel: Kernel, seed: int) -> None:
    every = list(otherwise(kernel.adapter, seed))
    assert any(checked.manner.before for checked in every)
    assert all(isinstance(checked.judgement.outcome, Passed) for checked in every)


def asked_twice(kernels: tuple[Kernel, Kernel], checked: Iterable[Checked], seed: int) -> list[Call]:
    """Return the calls that a fresh process answers otherwise than one that gave what was checked."""
    session, fresh = (InProcess(kernel.adapter) for kernel in kernels)
    case = Case(*Selection(None, None, None, None, "core", seed).tasks(session.implementations))
    case.checked.extend(checked)
    ask_again(fresh, [case])
    return case.changed


def changed(kernels: tuple[Kernel, Kernel], seed: int) -> list[Call]:
    """Return the calls that a fresh process answers otherwise than one that was asked all that core asks."""
    return asked_twice(kernels, (each for each in judged(kernels[0].adapter, seed) if isinstance(each, Checked)), seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("declared", [{}, {**MODEL, "lowest": 0}], ids=["any", "a model"])
def test_a_table_that_is_too_short_until_a_first_row_reaches_farther_is_convicted(declared: dict[str, Any], seed: int) -> None:
    one, other = (Kernel("grown", "rope.rotate", Grown(SEEN["the first row"], 4_096), declared) for _ in range(2))
    assert changed((one, other), seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", RIGHT, ids=named)
def test_right_code_passes_however_it_is_written_and_answers_the_same_in_another_order(kernel: Kernel, seed: int) -> None:
    every = list(judged(kernel.adapter, seed))
    assert not [check for check in every if check.failed]
    golden = [check for check in every if isinstance(check, Checked)]
    assert sum(isinstance(check.judgement.outcome, Passed) for check in golden) >= golden_checks.ENOUGH["core"]
    assert asked_twice((kernel, kernel), golden, seed) == []


def test_arrays_that_cannot_be_written_to_are_never_used_again() -> None:
    pytest.importorskip("jax")
    assert "refilled" in NumPy().manners
    assert "refilled" not in FRAMEWORKS["jax"]().manners


@pytest.mark.parametrize("shape", [(), (3,), (1, 2, 3, 4), (2, 2, 2, 0)])
@pytest.mark.parametrize("name", ["numpy", "torch"])
@pytest.mark.parametrize("way", WAYS)
def test_a_view_holds_the_same_numbers_in_every_way(way: str, name: str, shape: tuple[int, ...]) -> None:
    pytest.importorskip(name)
    library = FRAMEWORKS[name]()
    for values in (np.arange(float(np.prod(shape))).reshape(shape), np.ones(shape)):
        assert exact(library.view(library.floats(values, "float32"), way), library)[0].tolist() == values.tolist()
