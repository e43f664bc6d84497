"""What goes wrong with dynamic NTK scaling: how the stretch follows the length, and what is made of it."""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from conformance.mutants import ntk_aware
from conformance.mutants.building import Mistake
from conformance.mutants.positions import length_mutants
from conformance.mutants.rotary import spectrum
from conformance.mutants.rounding import rounded
from conformance.mutants.stretched import Ladder, inherited, of_ladder
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes.dynamic_ntk import Growth, lasting, stretch

SCHEME = "dynamic_ntk"
#: The stretch from the factor, the original length, the length, and how it grows.
Stretch = Callable[[float, int, int, Growth], float]


def halved(original: int, length: int) -> int:
    """Return the length whose ratio to the original one is rounded to float16."""
    return math.ceil(original * float(rounded(length / original, "float16")))


STRETCHES: tuple[tuple[Mistake, Stretch], ...] = (
    Mistake(
        "at-its-longest",
        does="takes factor^2 - (factor - 1) at every length: the stretch of original_length * factor tokens",
        should="follow the length of the sequence",
        fix="compute the base again as the sequence grows",
        threads=("https://github.com/vllm-project/vllm/issues/3488", "https://github.com/vllm-project/vllm/issues/5093"),
    ).made_by(lambda factor, *_: factor**2 - factor + 1.0),
    Mistake(
        "factor-for-the-stretch",
        does="takes the factor itself at every length: NTK-aware scaling",
        should="take factor n / L - (factor - 1)",
        fix="compute the stretch from the length of the sequence",
        origin="in the style of code that knows the static rule",
    ).made_by(lambda factor, *_: factor),
    Mistake(
        "never-stretched",
        does="computes the base once, at the original length: plain rope",
        should="compute it again for a longer sequence",
        fix="pass the length of the sequence on",
        threads=("https://github.com/ml-explore/mlx-lm/pull/1553",),
        origin="in the style of tables that are built when a model is made; the thread reads the length from the axis of heads",
    ).made_by(lambda *_: 1.0),
    Mistake(
        "one-not-subtracted",
        does="takes factor n / L for the stretch",
        should="subtract factor - 1, so that it starts at 1",
        fix="subtract factor - 1",
        origin="in the style of formulas that are cut short",
    ).made_by(lambda factor, original, length, growth: factor * lasting(original, length, growth) / original),
    Mistake(
        "one-not-subtracted-when-longer",
        does="takes factor n / L for the stretch of longer sequences: it jumps from 1 to the factor",
        should="subtract factor - 1, so that it goes on from 1",
        fix="subtract factor - 1",
        origin="in the style of formulas that are cut short, behind a test of the length",
    ).made_by(
        lambda factor, original, length, growth: (
            factor * lasting(original, length, growth) / original if lasting(original, length, growth) > original else 1.0
        )
    ),
    Mistake(
        "whole-factor-subtracted",
        does="subtracts the factor: the stretch starts at 0",
        should="subtract factor - 1",
        fix="put factor - 1 into brackets",
        origin="in the style of brackets that are left out",
    ).made_by(lambda factor, original, length, growth: max(stretch(factor, original, length, growth) - 1.0, 0.25)),
    Mistake(
        "short-sequences-speed-up",
        does="lowers the base in sequences shorter than the original length",
        should="leave it as it is there",
        fix="take the longer of the two lengths",
        origin="in the style of code without the maximum",
    ).made_by(
        lambda factor, original, length, growth: (
            stretch(factor, original, length, growth) if length > original else max(1.0 + factor * (length - original) / original, 0.25)
        )
    ),
    Mistake(
        "length-less-one",
        does="takes the last position for the length",
        should="add 1: positions are counted from 0",
        fix="take the largest position plus 1",
        origin="in the style of positions and lengths confused",
    ).made_by(lambda factor, original, length, growth: stretch(factor, original, max(1, length - 1), growth)),
    Mistake(
        "doubled-when-reached",
        does="doubles the length that counts as soon as the sequence is as long, not when it is longer",
        should="round the logarithm up: a sequence that just fits is no longer",
        fix="take ceil(log2(n / L)), not floor(log2(n / L)) + 1",
        origin="in the style of floor + 1 in the place of ceil",
    ).made_by(lambda factor, original, length, growth: stretch(factor, original, length + 1 if growth == "doublings" else length, growth)),
    Mistake(
        "float16-ratio",
        does="takes the ratio of the lengths in float16, which just beyond a doubling rounds to it",
        should="divide and round up in float32 or wider",
        fix="compute the number of doublings from integers, or in float64",
        kind="precision",
        origin="in the style of tables that are built in the dtype of the model",
    ).made_by(
        lambda factor, original, length, growth: stretch(
            factor, original, halved(original, length) if growth == "doublings" else length, growth
        )
    ),
    Mistake(
        "whole-multiples",
        does="divides lengths as integers",
        should="keep the fraction",
        fix="divide as floats",
        origin="in the style of lengths divided as integers",
    ).made_by(lambda factor, original, length, growth: stretch(factor, original, max(1, length // original) * original, growth)),
    Mistake(
        "original-length-fixed",
        does="takes the original length for 2048 whatever is asked for",
        should="take the length that is asked for",
        fix="read max_position_embeddings",
        origin="in the style of one model's number written into the code",
    ).made_by(lambda factor, _, length, growth: stretch(factor, 2_048, length, growth)),
)


FASTEST_SLOWED: tuple[Mistake, Ladder] = Mistake(
    "fastest-pair-slowed",
    does="slows pair j by stretch^(2 (j + 1) / head_dim): also the fastest",
    should="slow it by stretch^(2 j / (head_dim - 2)): the fastest not at all",
    fix="multiply the base, and nothing else",
    origin="in the style of the static rule's other convention, 'NTK-RoPE-fixed'",
).made_by(functools.partial(ntk_aware.slowed, fastest="slowed"))


def raised(head_dim: int, base: float, factor: float) -> Array:
    """Return the frequencies of the raised base, also for a factor below 1."""
    return spectrum(head_dim, base * factor ** (head_dim / (head_dim - 2)))


def ladder(chosen: Stretch, rule: Ladder = raised) -> Ladder:
    """Return the frequencies that a rule makes of a stretch."""
    return lambda head_dim, base, factor, original_length, length, growth: rule(
        head_dim=head_dim, base=base, factor=chosen(factor, original_length, length, growth)
    )


def mutants() -> Iterator[Mutant]:
    """Return all mutants of dynamic NTK scaling; what goes wrong with a raised base does so here."""
    for mistake, chosen in STRETCHES:
        yield from of_ladder(SCHEME, mistake, ladder(chosen))
    for mistake, rule in (*ntk_aware.LADDERS, FASTEST_SLOWED):
        if not mistake.threads:
            yield from (replace(mutant, inherited=True) for mutant in of_ladder(SCHEME, mistake, ladder(stretch, rule)))
    yield from length_mutants(f"{SCHEME}.rotate", "https://github.com/huggingface/transformers/issues/25104")
    yield from inherited(SCHEME, {})
