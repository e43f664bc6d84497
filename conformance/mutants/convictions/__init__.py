"""Which vector or law must convict which mutant: the case that exposes the mistake, and the law that it breaks."""

from conformance.mutants.convictions import alibi, rope, sinusoidal, t5, yarn

SCHEMES = (rope, sinusoidal, alibi, t5, yarn)
CONVICTED_BY: dict[str, tuple[str, ...]] = {name: convicted for scheme in SCHEMES for name, convicted in scheme.CONVICTED_BY.items()}
