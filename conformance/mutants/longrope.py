"""What goes wrong with LongRoPE: which list of factors counts, what it does to frequencies, and the start that it leaves alone."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, altered
from conformance.mutants.composing import assembled
from conformance.mutants.longrope_choice import CHOICE_MISTAKES, LENGTH_MISTAKES, Choice, right_list
from conformance.mutants.longrope_factor import FACTOR_MISTAKES, GIVEN_MISTAKES, grown
from conformance.mutants.longrope_ladders import LADDER_MISTAKES, Ladder, slowed
from conformance.mutants.longrope_searched import CONTINUED, START_MISTAKES, continued, searched
from conformance.mutants.positions import length_mutants
from conformance.mutants.rope import ANGLE_MISTAKES, TURN_MISTAKES, half_mistakes
from conformance.mutants.rotary import Rotary
from conformance.mutants.yarn import INTERLEAVED_MISSING
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import longrope

FREQUENCIES, FACTOR = "longrope.frequencies", "longrope.attention_factor"
ROTATE, SEARCHED = "longrope.rotate", "longrope.rotate_searched"


@assembled
def frequencies(*, ladder: Ladder = slowed, choice: Choice = right_list) -> Callable[..., Array]:
    """Return the operation with other frequencies, or with another list."""

    def made(short: Array, long: Array, *, head_dim: int, base: float, original_length: int, length: int) -> Array:
        return ladder(head_dim, base, choice(short, long, original_length, length))

    return made


def stacked_tables(x: Array, positions: Array, short: Array, long: Array, **parameters: Any) -> Array:
    """Turn by rows of two tables in one, of which the second begins at the original length, where no position is beyond that."""
    original = parameters["original_length"]
    beyond = parameters["length"] - 1 > original
    rows = positions if beyond else np.where(positions == original, 0, positions)
    return longrope.rotate(x, rows, short, long, **{**parameters, "length": original + beyond})


STACKED_TABLES = Mistake(
    "switch-within-one-table",
    does="keeps the long table behind the short one, switches one token late, and reads the wrong table's row in between",
    should="choose the table by the number of tokens before a row is looked up",
    fix="compare the last position plus 1 with the original length",
    origin="SGLang 0.5.23, Phi3LongRoPEScaledRotaryEmbedding",
)
SIZE_WHEN_LONG = Mistake(
    "factor-with-long-only",
    does="multiplies by the attention factor beyond the original length only",
    should="multiply at any length",
    fix="apply the factor with the short list too",
    origin="in the style of Phi-3.5-MoE's two factors",
)
SIZE_IN_HALF_LAYOUT = replace(INTERLEAVED_MISSING, origin="reported for YaRN")


def size_where(applies: Callable[[dict[str, Any]], bool]) -> Callable[..., Array]:
    """Return the rotation whose attention factor counts only where parameters say so."""

    def rotate(*arrays: Array, **parameters: Any) -> Array:
        rotary = Rotary() if applies(parameters) else Rotary(size=grown(lambda *_: 1.0))
        return rotary.of(ROTATE)(*arrays, **parameters)

    return rotate


def frequency_mutants() -> Iterator[Mutant]:
    """Return what goes wrong with frequencies, in every operation that has them."""
    for mistake, ladder in LADDER_MISTAKES:
        yield mistake.at(FREQUENCIES, frequencies(ladder=ladder))
        yield mistake.at(ROTATE, Rotary(theta=frequencies(ladder=ladder)).of(ROTATE))
        yield mistake.at(SEARCHED, searched(ladder=ladder))
    for mistake, choice in CHOICE_MISTAKES:
        yield mistake.at(FREQUENCIES, frequencies(choice=choice))
        yield mistake.at(ROTATE, Rotary(theta=frequencies(choice=choice)).of(ROTATE))


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong beyond the slots of a rotation, and with angles and tables where there are no slots."""
    yield from frequency_mutants()
    for mistake, rotary in (*ANGLE_MISTAKES, *TURN_MISTAKES, *half_mistakes("bfloat16"), *half_mistakes("float16")):
        yield mistake.at(SEARCHED, searched(rotary=rotary))
    for mistake, size in FACTOR_MISTAKES:
        yield mistake.at(FACTOR, grown(size))
        yield mistake.at(ROTATE, Rotary(size=grown(size)).of(ROTATE))
    for mistake, factor in GIVEN_MISTAKES:
        yield mistake.at(FACTOR, factor)
        yield mistake.at(ROTATE, Rotary(size=factor).of(ROTATE))
    for mistake, change in LENGTH_MISTAKES:
        yield mistake.at(ROTATE, altered(ROTATE, parameters=change))
    yield from length_mutants(
        ROTATE, "https://github.com/huggingface/transformers/pull/33129", "https://github.com/trymirai/uzu/pull/604"
    )
    yield STACKED_TABLES.at(ROTATE, stacked_tables)
    yield SIZE_WHEN_LONG.at(ROTATE, size_where(lambda p: p["length"] > p["original_length"]))
    yield SIZE_IN_HALF_LAYOUT.at(ROTATE, size_where(lambda p: p["layout"] == "half"))
    for mistake, start in START_MISTAKES:
        yield mistake.at(SEARCHED, searched(start=start))
    yield CONTINUED.at(SEARCHED, continued)
