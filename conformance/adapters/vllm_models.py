"""The rotations of vLLM's Python part, each by the layer that ``get_rope`` makes, and what its models make of a configuration."""

# The adapter comes first: it says which release is needed before a module misses what another release lacks.
from conformance.adapters import vllm_adapter, vllm_configured, vllm_rotary

__all__ = ["adapter", "vllm_adapter", "vllm_configured", "vllm_rotary"]

adapter = vllm_adapter.adapter
