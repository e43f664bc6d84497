"""Positional encodings of transformers, each called as its model calls it."""

from conformance.adapters import (
    transformers_axial,
    transformers_biases,
    transformers_configured,
    transformers_dynamic,
    transformers_gptj,
    transformers_llama3,
    transformers_longrope,
    transformers_mrope,
    transformers_ntk,
    transformers_partial,
    transformers_rotary,
    transformers_shaw,
    transformers_sinusoids,
    transformers_tables,
    transformers_temperature,
    transformers_xl,
    transformers_yarn,
)
from conformance.adapters.transformers_adapter import SUPPORTED, adapter

__all__ = [
    "SUPPORTED",
    "adapter",
    "transformers_axial",
    "transformers_biases",
    "transformers_configured",
    "transformers_dynamic",
    "transformers_gptj",
    "transformers_llama3",
    "transformers_longrope",
    "transformers_mrope",
    "transformers_ntk",
    "transformers_partial",
    "transformers_rotary",
    "transformers_shaw",
    "transformers_sinusoids",
    "transformers_tables",
    "transformers_temperature",
    "transformers_xl",
    "transformers_yarn",
]
