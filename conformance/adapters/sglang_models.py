"""The rotations of SGLang's Python part, each by the layer that ``get_rope`` makes, and what its models make of a configuration."""

# The adapter comes first: it says which release is needed before a module misses what another release lacks.
from conformance.adapters import sglang_adapter, sglang_configured, sglang_rotary

__all__ = ["adapter", "sglang_adapter", "sglang_configured", "sglang_rotary"]

adapter = sglang_adapter.adapter
