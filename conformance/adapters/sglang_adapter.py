"""The adapter that the sglang modules fill: the Python part of SGLang 0.5.23, whose layers compute on the CPU by ``forward_native``."""

import logging
import os
from collections.abc import Mapping
from typing import Any

from conformance.adapt.adapter import Adapter
from conformance.adapters.releases import installed

VERSION = installed("sglang", "0.5.23", target="sglang", command="check-sglang")
adapter = Adapter("sglang", framework="torch", dtypes=("float32",), version=VERSION)

# What this package lacks, such as CUDA, it says on every import; and it looks for an accelerator unless told that there is none.
logging.disable(logging.WARNING)
os.environ["SGLANG_USE_CPU_ENGINE"] = "1"

import torch  # noqa: E402
from sglang.srt.layers.rotary_embedding import factory  # noqa: E402

#: How many layers are kept: the library keeps them all, but a server makes only a few.
KEPT = 16
torch.set_num_threads(1)


def kept(**asked: Any) -> Any:
    """Return what turns queries and keys by a layer that ``get_rope`` makes."""
    if len(factory._ROPE_DICT) >= KEPT:  # noqa: SLF001  where the library keeps its layers
        factory._ROPE_DICT.clear()  # noqa: SLF001
    layer = factory.get_rope(**asked, dtype=torch.float32)
    return getattr(layer, "forward_native", layer)


def make(head_dim: int, length: int, neox: bool, rope: Mapping[str, Any]) -> Any:  # noqa: FBT001  get_rope's
    """Return the same for what posenc asks; base and share are arguments of their own there."""
    rule = dict(rope)
    base, share = rule.pop("rope_theta"), rule.pop("partial_rotary_factor", 1.0)
    widths = {"head_size": head_dim, "rotary_dim": head_dim, "partial_rotary_factor": share}
    return kept(**widths, max_position=length, base=base, is_neox_style=neox, rope_scaling=rule)
