"""What goes wrong with every rule that slows rope's pairs by a factor; each mistake is said once, and befalls every such scheme."""

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.mutants.building import OPERATIONS, Mistake
from conformance.mutants.rope import FREQUENCY_MISTAKES
from conformance.mutants.rotary import Rotary, spectrum
from conformance.mutants.rounding import rounded
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

#: Frequencies from the parameters of an operation.
Ladder = Callable[..., Array]


def right(scheme: str) -> Ladder:
    """Return the right frequencies of a scheme, also of parameters that it refuses."""
    return functools.partial(inspect.unwrap(OPERATIONS[f"{scheme}.frequencies"].function), like=np.zeros(1))


def by_factor(scheme: str, change: Callable[[float], float]) -> Ladder:
    """Return the frequencies for another number in the place of the factor."""
    return lambda **parameters: right(scheme)(**{**parameters, "factor": change(parameters["factor"])})


def slowed_from(scheme: str, ladder: Rotary) -> Ladder:
    """Return another ladder of rope, slowed as much as the right one."""

    def frequencies(*, head_dim: int, base: float, **parameters: Any) -> Array:
        share = right(scheme)(head_dim=head_dim, base=base, **parameters) / spectrum(head_dim, base)
        return ladder.spectrum(head_dim, base) * share

    return frequencies


FACTOR_MISTAKES: tuple[tuple[Mistake, Callable[[float], float]], ...] = (
    Mistake(
        "not-stretched",
        does="ignores the factor",
        should="slow the pairs by the factor that is asked for",
        fix="read the factor from rope_scaling in every spelling, and keep it when converting",
        threads=("https://github.com/ggml-org/llama.cpp/pull/2772", "https://github.com/lablup/mlxcel/issues/1340"),
    ).made_by(lambda _: 1.0),
    Mistake(
        "multiplied",
        does="multiplies by the factor: pairs turn faster",
        should="slow them by the factor",
        fix="pass 1 / factor where a scale is asked for",
        threads=("https://github.com/ml-explore/mlx/pull/261",),
    ).made_by(lambda factor: 1.0 / factor),
    Mistake(
        "factor-squared",
        does="applies the factor twice",
        should="apply it once, to positions or to frequencies",
        fix="scale in one place only",
        threads=("https://github.com/lablup/mlxcel/issues/1324",),
        origin="in the style of positions that are scaled in two places",
    ).made_by(lambda factor: factor**2),
    Mistake(
        "factor-root",
        does="takes the root of the factor",
        should="take the factor as it is",
        fix="slow by the factor itself",
        origin="in the style of scales that are split between queries and keys",
    ).made_by(math.sqrt),
    Mistake(
        "factor-cut-to-integer",
        does="cuts the factor to an integer",
        should="take the factor as it is",
        fix="read the factor as a float",
        origin="in the style of lengths divided as integers",
    ).made_by(math.floor),
    Mistake(
        "factor-rounded-up-to-a-power",
        does="rounds the factor up to a power of two",
        should="take the factor as it is",
        fix="slow by the factor that is configured",
        origin="in the style of contexts that grow by doubling",
    ).made_by(lambda factor: 2.0 ** math.ceil(math.log2(factor))),
    Mistake(
        "logarithm-of-factor",
        does="takes 1 + ln(factor) for the factor",
        should="take the factor as it is",
        fix="keep the logarithm for attention factors",
        origin="in the style of scalings by the logarithm of the length",
    ).made_by(lambda factor: 1.0 + math.log(factor)),
    Mistake(
        "factor-capped-at-eight",
        does="clamps factors above 8 to 8",
        should="take the factor that is asked for",
        fix="don't clamp the factor",
        origin="in the style of one model's factor written into the code",
    ).made_by(lambda factor: min(factor, 8.0)),
    Mistake(
        "factor-below-two-ignored",
        does="treats a factor below 2 as 1",
        should="take the factor that is asked for",
        fix="compare with 1",
        origin="in the style of factors cut to integers before they are compared",
    ).made_by(lambda factor: factor if factor >= 2.0 else 1.0),
    Mistake(
        "bfloat16-factor",
        does="rounds the factor to bfloat16",
        should="keep the factor as it is",
        fix="compute frequencies from a float32 or wider factor",
        threads=("https://github.com/EleutherAI/gpt-neox/issues/1003",),
        kind="precision",
        origin="in the style of code that computes everything in the model's dtype",
    ).made_by(lambda factor: float(rounded(factor, "bfloat16"))),
    Mistake(
        "float16-reciprocal",
        does="rounds 1 / factor to float16",
        should="keep the reciprocal in float32 or wider",
        fix="divide by the factor itself",
        kind="precision",
        origin="in the style of a scale that is kept with the model's weights",
    ).made_by(lambda factor: 1.0 / float(rounded(1.0 / factor, "float16"))),
)


def factors(scheme: str) -> Iterator[tuple[Mistake, Ladder]]:
    """Return what goes wrong with the factor."""
    return ((mistake, by_factor(scheme, change)) for mistake, change in FACTOR_MISTAKES)


def ladders(scheme: str) -> Iterator[tuple[Mistake, Ladder]]:
    """Return what goes wrong with the ladder that is slowed."""
    return ((mistake, slowed_from(scheme, ladder)) for mistake, ladder in FREQUENCY_MISTAKES)


def inherited(scheme: str, threads: Mapping[str, tuple[str, ...]]) -> Iterator[Mutant]:
    """Return what goes wrong with the factor and the ladder whatever the rule is; ``threads`` are those of this scheme."""
    for mistake, ladder in (*factors(scheme), *ladders(scheme)):
        for mutant in of_ladder(scheme, mistake, ladder):
            cited = threads.get(mistake.slug, ())
            origin = "" if cited else mistake.origin or "reported for position interpolation"
            yield replace(mutant, threads=cited, origin=origin, inherited=True)


def of_ladder(scheme: str, mistake: Mistake, ladder: Ladder) -> Iterator[Mutant]:
    """Return the mistake of the frequencies, and of the rotation that is made with them."""
    yield mistake.at(f"{scheme}.frequencies", ladder)
    yield mistake.at(f"{scheme}.rotate", Rotary(theta=ladder).of(f"{scheme}.rotate"))
