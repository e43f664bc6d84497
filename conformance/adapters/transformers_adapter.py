"""The adapter that the transformers modules fill: written for transformers 5.23.0, other releases are accepted and reported."""

import sys
from typing import Any

import torch
import transformers

from conformance.adapt.adapter import Adapter

SUPPORTED = "5.23.0"

# Cases are small: more threads wait for one another longer than they compute.
torch.set_num_threads(1)

adapter = Adapter(
    "transformers",
    framework="torch",
    dtypes=("float32", "bfloat16", "float16"),
    version=transformers.__version__,
)


def initialised(module: Any, config: Any = None) -> Any:
    """Return a module after what its model calls on each of its own when it is loaded: what no checkpoint holds is computed once more."""
    name = next(kind.__module__ for kind in type(module).__mro__ if kind.__module__.startswith("transformers."))
    own = (each for each in vars(sys.modules[name]).values() if getattr(each, "__module__", "") == name)
    model = next(each for each in own if each.__name__.endswith("PreTrainedModel"))
    whole = model.__new__(model)
    whole.config = config or module.config
    whole._init_weights(module)  # noqa: SLF001  the library's own name
    return module
