"""A scheme that fills the slots of rotations inherits their mistakes, made of what fills the slots."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import numpy as np
import pytest

from conformance.mutants import building, for_operation, slots
from conformance.mutants.composing import composed
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.forms import rotary
from refimpl.schemes import SCHEMES, rope
from refimpl.spec import EvenCount, Positive, describe, operation

RULE = {"head_dim": 4, "base": 10_000.0, "layout": "half", "direction": "positive"}
POSITIONS = np.arange(3)
#: Three times two products and a sum of numbers below 8 in float64, in another order: 8 roundings of a number below 2^5 on each side.
ROUNDING = 2.0 ** (3 + 1 + 5 - 53)


def frequencies(*, head_dim: EvenCount, base: Positive = 10_000.0, like: Array) -> Annotated[Array, "pair"]:
    """Return half the frequencies of rope."""
    return rope.frequencies(head_dim=head_dim, base=base, like=like) / 2


def three() -> float:
    return 3.0


@pytest.fixture
def inherited(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Mutant]:
    """What a scheme inherits that turns half as fast, times three, and says nothing about mistakes."""
    rotate = rotary.Rotary(frequencies, three).operation(rotary.rotate)
    made = {"halved.frequencies": operation(frequencies), "halved.rotate": rotate}
    monkeypatch.setitem(SCHEMES, "halved", replace(rope.SCHEME, name="halved", operations=tuple(made.values())))
    for name, function in made.items():
        monkeypatch.setitem(building.OPERATIONS, name, describe(name, function))
    return {mutant.name: mutant for name in made for mutant in slots.mutants(name)}


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((1, 2, 3, 4))


def test_a_rotation_inherits_what_yarn_s_does(inherited: Mapping[str, Mutant]) -> None:
    slugs = {name.partition("/")[2] for name in inherited if name.startswith("halved.rotate/")}
    own = {mutant.name.partition("/")[2] for mutant in for_operation("yarn.rotate")}

    assert {"turned-twice", "minus-forgotten", "base-ignored", "positions-ignored", "layout=half", "float16-tables"} <= slugs <= own
    assert {"halved.frequencies/base-ignored", "halved.frequencies/bfloat16-frequencies"} <= set(inherited)


def test_a_mistake_is_made_of_what_fills_the_slots(inherited: Mapping[str, Mutant], x: np.ndarray) -> None:
    twice = inherited["halved.rotate/turned-twice"].function(x, POSITIONS, **RULE)
    late = inherited["halved.rotate/positions-from-one"].function(x, 2 * POSITIONS - 1, **RULE)

    assert np.abs(twice - 3 * rope.rotate(x, POSITIONS, **RULE)).max() <= ROUNDING
    assert np.abs(late - twice).max() <= ROUNDING


def test_two_of_them_make_one(inherited: Mapping[str, Mutant], x: np.ndarray) -> None:
    one, two = (inherited[f"halved.rotate/{name}"].function for name in ("turned-twice", "sine-and-cosine-swapped"))
    both = composed(one, two)

    assert both is not None
    assert np.abs(both(x, POSITIONS, **RULE) - 3 * swapped(x)).max() <= ROUNDING


def swapped(x: np.ndarray) -> np.ndarray:
    """Return rope with the two tables swapped."""
    cos, sin = rope.tables(POSITIONS, head_dim=4)
    turned: np.ndarray = rope.apply(x, sin, cos, layout="half")
    return turned


@pytest.mark.parametrize(("operation", "width"), [("partial_rope.rotate", "rotary_dim"), ("axial_rope.rotate", "axes[i]")])
def test_mistakes_in_the_exponent_of_a_part_name_the_part_s_width(operation: str, width: str) -> None:
    mistakes = {mutant.name: mutant for mutant in slots.mutants(operation)}
    mistake = mistakes[f"{operation}/exponent-without-two"]

    assert (mistake.does, mistake.should) == (f"uses the exponent j / {width}", f"use 2 j / {width}")
    assert mistake.fix == f"divide j by {width} / 2"
