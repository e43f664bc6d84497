"""Which vector or law must convict which mutant: the case that exposes the mistake, and the law that it breaks."""

from conformance.mutants.convictions import (
    alibi,
    binary,
    da_transformer,
    learned,
    longrope,
    none,
    position_interpolation,
    relative_bias,
    rope,
    shaw,
    sinusoidal,
    t5,
    transformer_xl,
    yarn,
)

SCHEMES = (
    rope, transformer_xl, sinusoidal, alibi, t5, relative_bias, da_transformer, position_interpolation, longrope, yarn, shaw,
    binary, learned, none,
)
CONVICTED_BY: dict[str, tuple[str, ...]] = {name: convicted for scheme in SCHEMES for name, convicted in scheme.CONVICTED_BY.items()}
