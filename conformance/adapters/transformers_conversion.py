"""The permutation of weights as transformers converts checkpoints: Meta's, by its converter, and GGUF files, by its reader."""

from types import SimpleNamespace
from typing import Any

import torch
from transformers.core_model_loading import PermuteForRope
from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor

from conformance.adapters.transformers_adapter import adapter


@adapter.implements("rope.permute", label="checkpoint-converter", rotary_dim=None)
def by_converter(weight: torch.Tensor, *, num_heads: int, conversion: str, **_: object) -> torch.Tensor:
    """Return what the converter makes of a projection whose configuration has so many heads."""
    converter = PermuteForRope(inverse=conversion == "half_to_interleaved")
    config: Any = SimpleNamespace(num_attention_heads=num_heads)
    converted: Any = converter.convert({"q_proj": weight}, ["q_proj"], ["q_proj"], config)["q_proj"]
    return torch.as_tensor(converted[0] if isinstance(converted, list) else converted)


@adapter.implements("rope.permute", label="gguf-reader", rotary_dim=None, conversion="interleaved_to_half", dtypes=("float32",))
def by_reader(weight: torch.Tensor, *, num_heads: int, **_: object) -> torch.Tensor:
    """Return what the reader makes of a tensor of a Llama; it works on NumPy arrays."""
    moved = LlamaTensorProcessor()._reverse_permute_weights(weight.detach().numpy(), num_heads)  # noqa: SLF001  the reader's own function
    return torch.from_numpy(moved)
