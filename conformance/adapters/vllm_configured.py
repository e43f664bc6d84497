"""What vLLM's models make of a configuration."""

from vllm.model_executor.layers.rotary_embedding import get_rope
from vllm.model_executor.models.registry import _TEXT_GENERATION_MODELS
from vllm.transformers_utils.config import patch_rope_parameters

from conformance.adapters.get_rope_models import Models
from conformance.adapters.vllm_adapter import adapter, kept, serving


def where(architecture: str) -> tuple[str, str] | None:
    """Return the module and the name of the class for an architecture."""
    module, name = _TEXT_GENERATION_MODELS.get(architecture, ("", ""))
    return (module if "." in module else f"vllm.model_executor.models.{module}", name) if module else None


ONE_PROCESS = {"get_tensor_model_parallel_world_size": lambda: 1}
MODELS = Models(adapter, where, get_rope, kept, serving, patch_rope_parameters, ONE_PROCESS)
adapter.implements("config.rotate", MODELS.rotate, lowest=0)
