"""The table of schemes: one line each, in the order in which they are listed."""

from refimpl.schemes import alibi, rope, sinusoidal, t5, yarn
from refimpl.spec import Operation, Scheme, describe

SCHEMES: dict[str, Scheme] = {
    module.SCHEME.name: module.SCHEME for module in (rope, sinusoidal, alibi, t5, yarn)
}


def operations() -> dict[str, Operation]:
    """Return every operation of every scheme by its full name (``rope.rotate``), read off the signatures."""
    return {
        f"{scheme.name}.{function.__name__}": describe(f"{scheme.name}.{function.__name__}", function)
        for scheme in SCHEMES.values()
        for function in scheme.operations
    }
