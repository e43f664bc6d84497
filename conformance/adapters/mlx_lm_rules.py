"""The layers that mlx-lm makes of a scaling rule, ``initialize_rope``, in the spelling of a configuration."""

import functools
from collections.abc import Mapping
from typing import Any

import mlx.core as mx
from mlx_lm.models.rope_utils import initialize_rope

from conformance.adapters.mlx_layers import LAYOUTS, first
from conformance.adapters.mlx_lm_adapter import adapter

turns = functools.partial(adapter.implements, layout=tuple(LAYOUTS), direction="positive", positions="consecutive")


def turned(
    x: mx.array, offset: int, scaling: Mapping[str, Any], *, head_dim: int, base: float, layout: str, longest: int | None = None
) -> mx.array:
    """Turn ``x`` by the layer."""
    return initialize_rope(head_dim, base, LAYOUTS[layout], dict(scaling), longest)(x, offset=offset)


@turns("position_interpolation.rotate")
def interpolate(x: mx.array, positions: mx.array, *, factor: float, direction: str, **given: Any) -> mx.array:  # noqa: ARG001  it has one
    """Turn by ``linear``."""
    return turned(x, first(positions), {"rope_type": "linear", "factor": factor}, **given)


@turns("llama3.rotate")
def rotate_llama3(
    x: mx.array,
    positions: mx.array,
    *,
    head_dim: int,
    base: float,
    layout: str,
    original_length: int,
    direction: str,  # noqa: ARG001  it has one
    **rule: float,
) -> mx.array:
    """Turn by ``llama3``, whose keys are the names of the parameters."""
    scaling = {"rope_type": "llama3", "original_max_position_embeddings": original_length, **rule}
    return turned(x, first(positions), scaling, head_dim=head_dim, base=base, layout=layout)


@turns("yarn.rotate", truncate=True, attention_factor=None, slope=0.1)
def rotate_yarn(
    x: mx.array,
    positions: mx.array,
    *,
    head_dim: int,
    base: float,
    layout: str,
    original_length: int,
    factor: float,
    beta_fast: float,
    beta_slow: float,
    mscale: float | None,
    mscale_all_dim: float | None,
    **_: Any,
) -> mx.array:
    """Turn by ``yarn``; what isn't given isn't in a configuration."""
    given = {"mscale": mscale, "mscale_all_dim": mscale_all_dim}
    scaling = {
        "rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original_length, "beta_fast": beta_fast,
        "beta_slow": beta_slow, **{name: value for name, value in given.items() if value is not None},
    }  # fmt: skip
    return turned(x, first(positions), scaling, head_dim=head_dim, base=base, layout=layout)


@turns("longrope.rotate", layout="half", short_mscale=None, long_mscale=None)
def rotate_longrope(
    x: mx.array,
    positions: mx.array,
    short_factors: mx.array,
    long_factors: mx.array,
    *,
    head_dim: int,
    base: float,
    layout: str,
    original_length: int,
    max_length: int,
    **_: Any,
) -> mx.array:
    """Turn by ``longrope``; the layer isn't told how long the sequence is."""
    lists = {"short_factor": short_factors.tolist(), "long_factor": long_factors.tolist()}
    scaling = {"rope_type": "longrope", "original_max_position_embeddings": original_length, **lists}
    return turned(x, first(positions), scaling, head_dim=head_dim, base=base, layout=layout, longest=max_length)


@turns("proportional_rope.rotate")
def rotate_proportional(
    x: mx.array, positions: mx.array, *, head_dim: int, base: float, layout: str, turned_pairs: int, factor: float, **_: Any
) -> mx.array:
    """Turn by ``proportional``; half a channel more keeps the library's cut from losing a pair."""
    share = min(1.0, (2 * turned_pairs + 0.5) / head_dim)
    scaling = {"rope_type": "proportional", "partial_rotary_factor": share, "factor": factor}
    return turned(x, first(positions), scaling, head_dim=head_dim, base=base, layout=layout)
