"""The adapter that the sglang modules fill: the Python part of SGLang 0.5.23, whose layers compute on the CPU by ``forward_native``."""

import logging
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from conformance.adapt.adapter import Adapter
from conformance.isolate.targets import LibraryMissing

NEEDED = "0.5.23"


def installed() -> str:
    """Return the release of SGLang that is installed, or raise where it is another than these modules are written for."""
    try:
        found = version("sglang")
    except PackageNotFoundError:
        found = "none"
    if found != NEEDED:
        message = f"sglang needs sglang {NEEDED}, got {found} (make check-sglang)"
        raise LibraryMissing(message)
    return found


adapter = Adapter("sglang", framework="torch", dtypes=("float32",), version=installed())

# What this package lacks, such as CUDA, it says on every import; and it looks for an accelerator unless told that there is none.
logging.disable(logging.WARNING)
os.environ["SGLANG_USE_CPU_ENGINE"] = "1"

import torch  # noqa: E402
from sglang.srt.layers.rotary_embedding import factory  # noqa: E402

#: How many layers are kept: the library keeps them all, but a server makes only a few.
KEPT = 16
torch.set_num_threads(1)


def make(head_dim: int, length: int, neox: bool, rope: Mapping[str, Any]) -> Any:  # noqa: FBT001  get_rope's
    """Return what turns queries and keys by a layer that ``get_rope`` makes; base and share are arguments of their own there."""
    if len(factory._ROPE_DICT) >= KEPT:  # noqa: SLF001  where the library keeps its layers
        factory._ROPE_DICT.clear()  # noqa: SLF001
    rule = dict(rope)
    base, share = rule.pop("rope_theta"), rule.pop("partial_rotary_factor", 1.0)
    layer = factory.get_rope(head_dim, head_dim, length, base, neox, rule, torch.float32, share)
    return getattr(layer, "forward_native", layer)
