"""Hypothesis strategies for people's own tests: whole calls of any operation, or their parts."""

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.adapt.adapter import near_miss
from conformance.isolate.targets import verify_restrictions
from conformance.laws import draw
from conformance.spec.declarations import operations
from refimpl.spec import Operation

Call = tuple[Mapping[str, np.ndarray], Mapping[str, object]]


def _operation(name: str, restrictions: Mapping[str, object]) -> Operation:
    """Return an operation, or raise where there is none of that name, or where it can't be restricted like that."""
    known = operations()
    if name not in known:
        message = f"operation must be one of those that `posenc list` shows, got {name!r}{near_miss(name, known)}"
        raise ValueError(message)
    verify_restrictions(known[name], restrictions)
    return known[name]


def calls(operation: str, *, farthest: int | None = None, **restrictions: object) -> SearchStrategy[Call]:
    """Draw arrays (by name, float64 and int64, exact in every dtype) and all parameters; restrictions fix or list parameters."""
    drawn = draw.arguments(_operation(operation, restrictions), restrictions=restrictions, farthest=farthest)
    return drawn.map(lambda arguments: (dict(arguments.arrays), dict(arguments.parameters)))


def parameters(operation: str, **restrictions: object) -> SearchStrategy[dict[str, object]]:
    """Draw the parameters of an operation, such that they agree with each other."""
    return draw.parameters(_operation(operation, restrictions), restrictions)


def positions(shape: int | Sequence[int], *, farthest: int = 1_048_576, negative: bool = False) -> SearchStrategy[np.ndarray]:
    """Draw integer positions, half of them from those where mistakes begin to show: 255 to 257, 2047 to 2049, 131,071."""
    return draw.places((shape,) if isinstance(shape, int) else tuple(shape), farthest, signed=negative)


def inputs(shape: int | Sequence[int]) -> SearchStrategy[np.ndarray]:
    """Draw numbers ``k / 16`` with ``|k| <= 32``: exact in every dtype down to bfloat16, so that rounding of an input excuses nothing."""
    return draw.dyadic((shape,) if isinstance(shape, int) else tuple(shape))


def lengths(*, longest: int = 8192) -> SearchStrategy[int]:
    """Draw lengths of sequences, those around powers of two among them."""
    return st.one_of(st.integers(1, min(16, longest)), st.sampled_from([n for n in (1, *draw.LISTED) if n <= longest]))


def head_dims(*, widest: int = 128) -> SearchStrategy[int]:
    """Draw even widths of heads, not only powers of two."""
    return st.sampled_from([width for width in (2, 4, 6, 8, 10, 16, 64, 80, 96, 128, 256) if width <= widest])
