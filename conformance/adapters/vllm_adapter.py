"""The adapter that the vllm modules fill: the Python part of vLLM 0.33, whose layers compute on the CPU by ``forward_native``."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from conformance.adapt.adapter import Adapter
from conformance.adapters.releases import installed

VERSION = installed("vllm", "0.33", target="vllm", command="check-vllm")
adapter = Adapter("vllm", framework="torch", dtypes=("float32",), version=VERSION)

# What this package lacks, such as CUDA, it says on every import.
logging.disable(logging.WARNING)

import torch  # noqa: E402
from vllm.config import DeviceConfig, VllmConfig, set_current_vllm_config  # noqa: E402
from vllm.model_executor.layers import rotary_embedding  # noqa: E402

#: How many layers are kept: the library keeps them all, but a server makes only a few.
KEPT = 16
torch.set_num_threads(1)


@contextmanager
def serving(longest: int = 1) -> Iterator[None]:
    """Stand where the library's layers are made: in a configuration of the CPU, of a server whose sequences have at most so many tokens."""
    config = VllmConfig(device_config=DeviceConfig(device="cpu"))
    config.model_config = SimpleNamespace(max_model_len=longest)
    with set_current_vllm_config(config):
        yield


def kept(longest: int = 1, **asked: Any) -> Any:
    """Return what turns queries and keys by a layer that ``get_rope`` makes."""
    if len(rotary_embedding._ROPE_DICT) >= KEPT:  # noqa: SLF001  where the library keeps its layers
        rotary_embedding._ROPE_DICT.clear()  # noqa: SLF001
    with serving(longest):
        layer = rotary_embedding.get_rope(**asked, dtype=torch.float32)
    return getattr(layer, "forward_native", layer)


def make(head_dim: int, length: int, neox: bool, rope: Mapping[str, Any], longest: int = 1) -> Any:  # noqa: FBT001  get_rope's
    """Return the same for what posenc asks."""
    return kept(longest, head_size=head_dim, max_position=length, is_neox_style=neox, rope_parameters=dict(rope))
