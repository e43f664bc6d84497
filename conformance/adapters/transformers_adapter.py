"""The adapter that the transformers modules fill: written for transformers 5.23.0, other releases are accepted and reported."""

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
