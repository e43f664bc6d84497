"""mlx-lm: every module that fills its adapter."""

from conformance.adapters import mlx_lm_configured, mlx_lm_rules  # noqa: F401  each adds what it offers
from conformance.adapters.mlx_lm_adapter import SUPPORTED, adapter

__all__ = ["SUPPORTED", "adapter"]
