"""The reference on NumPy: float64 throughout, cast last."""

import importlib.util

import numpy as np

from conformance.adapt.adapter import Adapter
from conformance.adapters.through_reference import connect

BFLOAT16 = ("bfloat16",) if importlib.util.find_spec("ml_dtypes") else ()

adapter = Adapter(
    "numpy",
    framework="numpy",
    dtypes=("float64", "float32", "float16", *BFLOAT16),
    version=np.__version__,
    rejects_bad_input=True,
)
connect(adapter, like=np.empty(0))
