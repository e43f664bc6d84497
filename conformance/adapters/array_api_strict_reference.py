"""The reference on the strictest array library, on a device that is not its default: nothing beyond the standard passes."""

import array_api_strict
from array_api_strict import Device

from conformance.adapt.adapter import Adapter
from conformance.adapters.through_reference import connect

DEVICE = "device1"

array_api_strict.set_array_api_strict_flags(boolean_indexing=False, data_dependent_shapes=False, enabled_extensions=())

adapter = Adapter(
    "array_api_strict",
    framework="array_api_strict",
    dtypes=("float64", "float32"),
    device=DEVICE,
    version=array_api_strict.__version__,
    rejects_bad_input=True,
)
connect(adapter, like=array_api_strict.empty(0, device=Device(DEVICE)))
