"""Positional encodings of transformers, each called as its model calls it."""

from conformance.adapters import (  # noqa: F401  each fills the adapter
    transformers_axial,
    transformers_biases,
    transformers_blended,
    transformers_configured,
    transformers_conversion,
    transformers_dynamic,
    transformers_gptj,
    transformers_grids,
    transformers_indexers,
    transformers_learned,
    transformers_longrope,
    transformers_mrope,
    transformers_mrope_positions,
    transformers_ntk,
    transformers_partial,
    transformers_patches,
    transformers_roformer,
    transformers_rotary,
    transformers_scaled,
    transformers_shaw,
    transformers_sinusoids,
    transformers_tables,
    transformers_temperature,
    transformers_xl,
)
from conformance.adapters.transformers_adapter import SUPPORTED, adapter

__all__ = ["SUPPORTED", "adapter"]
