"""What only a stored vector convicts is drawn too: with its parameters and sizes, and other numbers."""

import functools
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np
import pytest

from conformance import run
from conformance.adapt.selection import is_drawn
from conformance.calls.outcomes import Passed
from conformance.calls.takes import Takes
from conformance.checks import golden_checks
from conformance.checks.evidence import gathered, known
from conformance.golden import answers
from conformance.golden.calls import drawn
from conformance.golden.varied import varied
from conformance.judge.journal import Task
from conformance.mutants import for_operation
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector, load
from refimpl.schemes import mrope, rope, yarn
from tools.convictions import lock
from tools.narrow.declaring import Declaration

NAMES = sorted(operations())
ALONE = {name for name, conviction in lock.read().items() if conviction.alone}
#: What a run judges of an operation at least, besides, and how many more it looks through for what convicts a known mistake.
DRAWN, LOOKED = golden_checks.ENOUGH["core"], gathered.LOOK["core"]


def task(name: str) -> Task:
    return Declaration(name, "float32", 1).task


def calls(name: str, **declared: Any) -> list[Arguments]:
    restrictions, takes = declared.get("restrictions", {}), declared.get("takes", Takes())
    return list(varied(operations()[name], restrictions=restrictions, takes=takes, dtype="float32", seed=1))


def golden(name: str, every: Iterator[Arguments]) -> Iterator[Vector]:
    for call in every:
        try:
            yield answers.golden(name, call, identity=f"{name}/made", exposes="", profiles=("float32",))
        except answers.UnprovableError:  # such a call isn't judged
            continue


@functools.cache
def judged(name: str) -> list[Vector]:
    """Return what is drawn of an operation, like stored cases first."""
    return list(golden(name, chain(calls(name), others(name, 0, DRAWN))))


@functools.cache
def looked_through(name: str) -> list[Vector]:
    return list(golden(name, others(name, DRAWN, DRAWN + LOOKED)))


def others(name: str, first: int, end: int) -> Iterator[Arguments]:
    return islice(drawn(operations()[name], restrictions={}, takes=Takes(), dtype="float32", seed=1), first, end)


def convicts(name: str, function: Callable[..., Any]) -> bool:
    every = chain.from_iterable(source(name) for source in (judged, looked_through))
    given = ((vector, known.answer(name, function, vector.inputs, vector.parameters)) for vector in every)
    return any(known.convicted(vector, found, task(name)) for vector, found in given)


@pytest.mark.parametrize("name", sorted({name.split("/", 1)[0] for name in ALONE}))
def test_no_stored_vector_is_the_only_conviction_of_a_known_mistake(name: str) -> None:
    alone = [mutant for mutant in for_operation(name) if mutant.name in ALONE]

    assert [mutant.name for mutant in alone if not convicts(name, mutant.function)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_of_a_stored_case_is_drawn_and_hardly_any_stored_call(name: str) -> None:
    stored = [vector for vector in load([name]) if vector.error is None]
    came = calls(name)
    settings = [call.parameters for call in came]

    known_ones = {Arguments(vector.inputs, vector.parameters).key for vector in stored}
    assert 5 * sum(call.key in known_ones for call in came) <= len(came)  # a few positions may be the same by chance
    # Of one without arrays, or with lists of factors alone, a number is changed.
    least = 1 if all(array.endswith("factors") for array in operations()[name].arrays) else 0
    assert all(any(_apart(vector.parameters, each) == least for each in settings) for vector in stored)


def _apart(one: Mapping[str, object], other: Mapping[str, object]) -> int:
    return sum(one[name] != other[name] for name in one)


def test_an_mscale_of_zero_taken_for_set_is_convicted_without_a_stored_vector() -> None:
    def both_set(
        *, factor: float, mscale: float | None, mscale_all_dim: float | None, attention_factor: float | None, slope: float
    ) -> float:
        if attention_factor is None and None not in (mscale, mscale_all_dim) and 0.0 in (mscale, mscale_all_dim):
            return yarn.growth(factor, mscale or 0.0, slope) / yarn.growth(factor, mscale_all_dim or 0.0, slope)
        return yarn.attention_factor(
            factor=factor, mscale=mscale, mscale_all_dim=mscale_all_dim, attention_factor=attention_factor, slope=slope
        )

    assert convicts("yarn.attention_factor", both_set)


def test_one_section_for_height_and_width_in_turns_is_convicted_without_a_stored_vector() -> None:
    def alike(x: Any, positions: Any, *, sections: tuple[int, ...], order: str, head_dim: int, **parameters: Any) -> Any:
        """Read in turns as many pairs of width as of height: in most models these are as many."""
        if order != "interleaved":
            return mrope.rotate(x, positions, sections=sections, order=order, head_dim=head_dim, **parameters)
        followed = mrope.axes_of_pairs(sections, order)
        if len(sections) == len(("time", "height", "width")):
            followed = [pair % 3 if pair < 3 * sections[1] else 0 for pair in range(head_dim // 2)]
        angles = positions[..., followed] * rope.frequencies(head_dim=head_dim, base=parameters.pop("base"), like=x)
        return rope.apply(x, np.cos(angles), np.sin(angles), head_dim=head_dim, **parameters)

    assert convicts("mrope.rotate", alike)


def test_what_is_declared_bounds_what_is_drawn() -> None:
    takes = Takes("from_zero", queries="at_end", highest=5)
    bounded = calls("rope.attend", restrictions={"layout": "half", "base": 10_000.0}, takes=takes)

    assert bounded
    for call in bounded:
        assert (call.parameters["layout"], call.parameters["base"]) == ("half", 10_000.0)
        queries, keys = (call.arrays[each] for each in ("query_positions", "key_positions"))
        assert keys.max() <= 5
        assert np.array_equal(keys[..., -queries.shape[-1] :], queries)


@pytest.mark.parametrize(
    "case", ["varied-3", "varied-3-swapped-1", "beside-1-positions-of-other-signs", "drawn-3-no-grad", "drawn-12-refilled-2"]
)
def test_a_report_s_names_of_drawn_cases_can_be_asked_for(case: str) -> None:
    assert is_drawn(f"rope.rotate/{case}")


@pytest.mark.parametrize("case", ["varied", "varied-0", "drawn-3-", "drawn-3-No", "stored-3"])
def test_others_can_t(case: str) -> None:
    assert not is_drawn(f"rope.rotate/{case}")


def test_one_that_is_asked_for_is_judged() -> None:
    report = run.check("numpy", cases=["yarn.attention_factor/varied-3"], seed=1)

    assert {(each.check, type(each.outcome)) for each in report.results} == {("yarn.attention_factor/varied-3", Passed)}
