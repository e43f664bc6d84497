"""Which array library an array is of, as the array API standard has it; the one importer of array-api-compat."""

from typing import Any

import array_api_compat
from array_api_compat import device, is_numpy_array

__all__ = ["array_namespace", "device"]


def array_namespace(*arrays: Any) -> Any:
    """Return the array API of arrays: NumPy's own, since to wrap it imports all of its parts, and a wrapper of any other library."""
    if arrays and all(map(is_numpy_array, arrays)):
        return arrays[0].__array_namespace__()
    return array_api_compat.array_namespace(*arrays)
