"""What one call gets: arrays by name, and parameters."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Values by name, each of the type that the operation declares.
Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Arguments:
    """What one call gets: arrays by name, in the declared order, and every parameter."""

    arrays: Mapping[str, np.ndarray]
    parameters: Parameters

    def with_arrays(self, **arrays: np.ndarray) -> "Arguments":
        """Return the same call with other arrays."""
        return Arguments({**self.arrays, **arrays}, self.parameters)

    def with_parameters(self, **parameters: object) -> "Arguments":
        """Return the same call with other parameters."""
        return Arguments(self.arrays, {**self.parameters, **parameters})

    @functools.cached_property
    def key(self) -> bytes:
        """The call as bytes, to tell equal calls."""
        arrays = b"".join(repr((name, a.dtype.str, a.shape)).encode() + a.tobytes() for name, a in self.arrays.items())
        return arrays + repr(sorted(self.parameters.items())).encode()

    @property
    def farthest(self) -> int | None:
        """The largest position, if the call has any."""
        sizes = [int(np.abs(array).max()) for name, array in self.arrays.items() if is_position(name) and array.size]
        return max(sizes, default=None)


def is_position(name: str) -> bool:
    """Whether an array of that name holds positions or their differences."""
    return name.endswith("positions") or name == "offsets"
