"""What SGLang's models make of a configuration."""

import functools
import importlib.machinery
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

# The adapter comes first: it says which release is needed before a module misses what another release lacks.
from conformance.adapters.sglang_adapter import adapter, kept  # isort: split

import sglang.srt.models
from sglang.srt.layers.rotary_embedding.factory import get_rope
from sglang.srt.utils.hf_transformers_patches import normalize_rope_scaling_compat

from conformance.adapters.get_rope_models import Models

__all__ = ["adapter"]

#: What models import for a GPU, or for images and sound, and no rotation uses.
NEEDLESS = ("sgl_kernel", "torchaudio", "torchvision")


class _StandIns(MetaPathFinder, Loader):
    """Packages that are left out: whatever is imported from them can be named, and does nothing."""

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in NEEDLESS else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return mock.MagicMock(__path__=[], __spec__=spec, __name__=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        del module


@contextmanager
def without_needless() -> Iterator[None]:
    """Stand where models can be imported and made without what no rotation uses."""
    finder = _StandIns()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@functools.cache
def modules() -> Mapping[str, str]:
    """Return the module in which each class of the library's models is defined, as the text of the files has it."""
    files = sorted(Path(sglang.srt.models.__path__[0]).glob("*.py"))
    return {name: file.stem for file in files for name in re.findall(r"^class (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)}


def where(architecture: str) -> tuple[str, str] | None:
    """Return the module and the name of the class for an architecture."""
    module = modules().get(architecture)
    return (f"{sglang.srt.models.__name__}.{module}", architecture) if module else None


#: What a server of one process says of itself.
ONE = mock.MagicMock(**dict.fromkeys(("tp_size", "attn_tp_size", "moe_tp_size", "moe_ep_size"), 1), tp_rank=0, attn_tp_rank=0)
PLAIN = mock.MagicMock(**{"deterministic.rl_on_policy_target": None})
ALONE = {"get_parallel": lambda: ONE, "get_exec": lambda: PLAIN}
MODELS = Models(adapter, where, get_rope, kept, without_needless, normalize_rope_scaling_compat, ALONE)
adapter.implements("config.rotate", MODELS.rotate, lowest=0)
