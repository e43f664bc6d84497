"""Sinusoidal encoding: write the position as sines and cosines of geometrically falling frequencies.

Moving by an offset turns every pair by an angle that does not depend on the position, so a fixed matrix does it.
"""

from typing import Annotated, Literal

from refimpl.arrays import Array, arange, array_namespace, outer
from refimpl.errors import SpecificationError
from refimpl.spec import Case, EvenCount, Law, Number, Positive, Scheme, Source, operation

Layout = Literal["interleaved", "halves", "halves_cosine_first"]
Spacing = Literal["paper", "endpoint"]
Odd = Literal["error", "zero_column"]
Width = Annotated[int, Number(minimum=2)]
Finite = Annotated[float, Number()]


def frequencies(dim: int, base: float, spacing: str, *, like: Array) -> Array:
    """Return the ``dim // 2`` radians per position: ``base^(-2 i / dim)``, or ``base^(-i / (dim // 2 - 1))`` to end at ``1 / base``."""
    index = arange(dim // 2, like=like)
    steps = dim / 2 if spacing == "paper" else max(1, dim // 2 - 1)
    return base ** (-index / steps)


def arrange(sine: Array, cosine: Array, layout: str) -> Array:
    """Put sines and cosines where the layout wants them."""
    xp = array_namespace(sine, cosine)
    if layout == "interleaved":
        return xp.reshape(xp.stack([sine, cosine], axis=-1), (sine.shape[0], 2 * sine.shape[1]))
    return xp.concat([sine, cosine] if layout == "halves" else [cosine, sine], axis=-1)


@operation
def encode(
    positions: Annotated[Array, "token"],
    *,
    dim: Width,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    spacing: Spacing = "paper",
    odd: Odd = "error",
    scale: Finite = 1.0,
) -> Annotated[Array, "token dim"]:
    """Return ``scale * sin(p w_i)`` and ``scale * cos(p w_i)`` in float64 (section 3.5); ``scale`` multiplies the values, not the angle.

    An odd ``dim`` has ``dim // 2`` pairs and one zero column at the end, where that is asked for.
    """
    if dim % 2 and odd == "error":
        message = f"dim must be even, got {dim}"
        raise SpecificationError(message)
    xp = array_namespace(positions)
    angles = outer(positions, frequencies(dim, base, spacing, like=positions))
    values = scale * arrange(xp.sin(angles), xp.cos(angles), layout)
    return xp.concat([values, xp.zeros_like(values[:, : dim % 2])], axis=-1)


@operation
def shift_matrix(
    offsets: Annotated[Array, "offset"], *, dim: EvenCount, base: Positive = 10_000.0, spacing: Spacing = "paper"
) -> Annotated[Array, "offset pair 2 2"]:
    """Return the matrix of every pair that moves ``[sin, cos]`` columns by an offset: ``[[cos, sin], [-sin, cos]]`` (section 3.5)."""
    xp = array_namespace(offsets)
    angles = outer(offsets, frequencies(dim, base, spacing, like=offsets))
    sine, cosine = xp.sin(angles), xp.cos(angles)
    return xp.stack([xp.stack([cosine, sine], axis=-1), xp.stack([-sine, cosine], axis=-1)], axis=-2)


CASES: tuple[Case, ...] = ()

SCHEME = Scheme(
    name="sinusoidal",
    operations=(encode, shift_matrix),
    source=Source("Vaswani et al. 2017, Attention Is All You Need", "https://arxiv.org/abs/1706.03762", equations="section 3.5"),
    laws={
        "encode": (Law.SHIFT_MATRIX, Law.CONSTANT_NORM, Law.DOT_PRODUCT, Law.BOUNDED),
        "shift_matrix": (Law.ORTHOGONAL, Law.COMPOSITION, Law.IDENTITY_AT_ORIGIN),
    },
    cases=CASES,
    summary="Write the position as sines and cosines of geometrically falling frequencies.",
)
