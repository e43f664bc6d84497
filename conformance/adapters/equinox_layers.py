"""Equinox's rotary layer, mapped over batch and heads as its documentation shows: written for equinox 0.13.8, others are reported."""

import equinox
import jax

from conformance.adapt.adapter import Adapter

SUPPORTED = "0.13.8"

adapter = Adapter("equinox", framework="jax", positions="from_zero", version=equinox.__version__)


@adapter.implements("rope.rotate", layout="half", direction="positive")
def rotate(x: jax.Array, positions: jax.Array, *, head_dim: int, base: float, **_: object) -> jax.Array:  # noqa: ARG001  the layer counts for itself
    """Turn every head's sequence; the layer numbers its rows from 0."""
    layer = equinox.nn.RotaryPositionalEmbedding(head_dim, theta=base, dtype=x.dtype)
    return jax.vmap(jax.vmap(layer))(x)
