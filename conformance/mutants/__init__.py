"""Known mistakes, runnable: what a suite must convict, and what a diagnosis can name."""

import functools
from collections.abc import Iterable
from types import ModuleType

from conformance.mutants import (
    additive,
    alibi,
    axial_positions,
    axial_rope,
    binary,
    by_turns,
    da_transformer,
    dual_chunk,
    dynamic_ntk,
    indexing,
    kerple,
    learned,
    lerope,
    longrope,
    mixed_rope,
    mrope,
    mrope_positions,
    none,
    ntk_aware,
    partial_rope,
    position_interpolation,
    proportional_rope,
    relative_bias,
    resonance,
    retnet,
    rope,
    rope_attention,
    rope_kernels,
    rope_lanes,
    rope_permute,
    selecting,
    shaw,
    sincos_2d,
    sinusoidal,
    slots,
    t5,
    temperature,
    transformer_xl,
    windowed,
    xpos,
    yarn,
)
from conformance.spec.mutant import Mutant

FAMILIES = (
    rope,
    transformer_xl,
    rope_attention,
    rope_kernels,
    rope_lanes,
    rope_permute,
    sinusoidal,
    sincos_2d,
    alibi,
    t5,
    relative_bias,
    da_transformer,
    kerple,
    mrope,
    mrope_positions,
    xpos,
    retnet,
    indexing,
    slots,
    partial_rope,
    proportional_rope,
    axial_rope,
    axial_positions,
    mixed_rope,
    position_interpolation,
    longrope,
    yarn,
    ntk_aware,
    dynamic_ntk,
    by_turns,
    resonance,
    lerope,
    dual_chunk,
    windowed,
    shaw,
    binary,
    learned,
    additive,
    temperature,
    selecting,
    none,
)


@functools.cache
def for_operation(operation: str) -> tuple[Mutant, ...]:
    """Return the mutants of one operation, conventions first, then mistakes, then precision, each in the table's order.

    Of two with one name the first counts: what a scheme says itself is not what it inherits.
    """
    known: dict[str, Mutant] = {}
    for mutant in (mutant for family in FAMILIES for mutant in _of_family(family, operation)):
        known.setdefault(mutant.name, mutant)
    kinds = ("convention", "mistake", "precision")
    return tuple(sorted(known.values(), key=lambda mutant: kinds.index(mutant.kind)))


def _of_family(family: ModuleType, operation: str) -> Iterable[Mutant]:
    """Return the mutants of one operation that a module has."""
    return slots.mutants(operation) if family is slots else (each for each in _every(family) if each.operation == operation)


@functools.cache
def _every(family: ModuleType) -> tuple[Mutant, ...]:
    return tuple(family.mutants())
