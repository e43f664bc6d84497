"""The table of schemes: one line each, in the order in which they are listed."""

from refimpl.schemes import (
    alibi,
    axial_rope,
    binary,
    da_transformer,
    dual_chunk,
    dynamic_ntk,
    kerple,
    learned,
    lerope,
    llama3,
    longrope,
    mixed_rope,
    mrope,
    none,
    ntk_aware,
    ntk_by_parts,
    partial_rope,
    position_interpolation,
    proportional_rope,
    relative_bias,
    rerope,
    resonance_rope,
    resonance_yarn,
    retnet,
    rope,
    self_extend,
    shaw,
    sincos_2d,
    sinusoidal,
    t5,
    temperature,
    transformer_xl,
    xpos,
    yarn,
)
from refimpl.spec import Operation, Scheme, describe

SCHEMES: dict[str, Scheme] = {
    module.SCHEME.name: module.SCHEME
    for module in (
        rope,
        partial_rope,
        proportional_rope,
        axial_rope,
        mixed_rope,
        mrope,
        xpos,
        sinusoidal,
        sincos_2d,
        alibi,
        t5,
        relative_bias,
        da_transformer,
        kerple,
        retnet,
        position_interpolation,
        longrope,
        yarn,
        ntk_aware,
        dynamic_ntk,
        ntk_by_parts,
        llama3,
        resonance_rope,
        resonance_yarn,
        lerope,
        rerope,
        self_extend,
        dual_chunk,
        shaw,
        transformer_xl,
        binary,
        learned,
        temperature,
        none,
    )
}


def operations() -> dict[str, Operation]:
    """Return every operation of every scheme by its full name (``rope.rotate``), read off the signatures."""
    return {
        f"{scheme.name}.{function.__name__}": describe(f"{scheme.name}.{function.__name__}", function)
        for scheme in SCHEMES.values()
        for function in scheme.operations
    }
