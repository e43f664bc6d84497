"""Positional encodings that transformers 4.57 is the last to have, each called as its model calls it."""

# The adapter comes first: it says which release is needed before a module misses what another release lacks.
from conformance.adapters import transformers4_adapter, transformers4_shaw, transformers4_xl

__all__ = ["adapter", "transformers4_adapter", "transformers4_shaw", "transformers4_xl"]

adapter = transformers4_adapter.adapter
