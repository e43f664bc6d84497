"""Known mistakes, runnable: what a suite must convict, and what a diagnosis can name."""

from conformance.mutants import (
    additive,
    alibi,
    axial_rope,
    binary,
    by_turns,
    da_transformer,
    dual_chunk,
    dynamic_ntk,
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
    slots,
    partial_rope,
    proportional_rope,
    axial_rope,
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
    none,
)


def first_said() -> dict[str, Mutant]:
    """Return every mutant by its name; what a scheme says itself is not what it inherits."""
    known: dict[str, Mutant] = {}
    for mutant in (mutant for family in FAMILIES for mutant in family.mutants()):
        known.setdefault(mutant.name, mutant)
    return known


MUTANTS = first_said()


def for_operation(operation: str) -> tuple[Mutant, ...]:
    """Return the mutants of one operation, conventions first, then mistakes, then precision, each in the table's order."""
    kinds = ("convention", "mistake", "precision")
    own = [mutant for mutant in MUTANTS.values() if mutant.operation == operation]
    return tuple(sorted(own, key=lambda mutant: kinds.index(mutant.kind)))
