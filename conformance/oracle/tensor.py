"""Arrays without a library: a shape and a flat tuple of numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Number = int | float


@dataclass(frozen=True)
class Tensor:
    """Numbers in C order: Python integers for an integer array, floats for a real one."""

    shape: tuple[int, ...]
    values: tuple[Number, ...]

    def __post_init__(self) -> None:
        """Refuse values that do not fill the shape."""
        if math.prod(self.shape) != len(self.values):
            message = f"values must fill the shape {self.shape}, got {len(self.values)}"
            raise ValueError(message)

    def at(self, *index: int) -> Number:
        """Return one number."""
        return self.values[self._flat(index)]

    def row(self, *index: int) -> tuple[Number, ...]:
        """Return the last axis at an index of the others."""
        start = self._flat((*index, 0))
        return self.values[start : start + self.shape[-1]]

    def in_batch(self, batch: int, token: int) -> Number:
        """Return the position of a token, from an array that may lack the batch axis."""
        return self.at(token) if len(self.shape) == 1 else self.at(batch, token)

    def _flat(self, index: Sequence[int]) -> int:
        flat = 0
        for size, part in zip(self.shape, index, strict=True):
            flat = flat * size + part
        return flat
