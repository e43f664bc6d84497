"""Arrays without a library: a shape and a flat sequence of numbers, or of what is worked out where it is asked for."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product, starmap
from operator import mul
from typing import Any

Number = int | float


@dataclass(frozen=True)
class Tensor:
    """Numbers in C order: Python integers for an integer array, floats for a real one."""

    shape: tuple[int, ...]
    values: Sequence[Number]

    def __post_init__(self) -> None:
        """Refuse values that do not fill the shape."""
        if math.prod(self.shape) != len(self.values):
            message = f"values must fill the shape {self.shape}, got {len(self.values)}"
            raise ValueError(message)

    def at(self, *index: int) -> Number:
        """Return one number."""
        return self.values[self._flat(index)]

    def row(self, *index: int) -> Sequence[Number]:
        """Return the last axis at an index of the others."""
        start = self._flat(index)
        return self.values[start : start + self.shape[-1]]

    def column(self, *index: int) -> Sequence[Number]:
        """Return the last axis but one at an index of the others."""
        *others, last = index
        start, count, width = self._flat(others), self.shape[-2], self.shape[-1]
        return self.values[start + last : start + count * width : width]

    def in_batch(self, batch: int, token: int) -> Number:
        """Return the position of a token, from an array that may lack the batch axis."""
        return self.values[token if len(self.shape) == 1 else batch * self.shape[1] + token]

    def of_batch(self, batch: int) -> Sequence[Number]:
        """Return the positions of a batch row, from an array that may lack the batch axis."""
        return self.values if len(self.shape) == 1 else self.row(batch)

    def _flat(self, index: Sequence[int]) -> int:
        return sum(map(mul, self._steps, index))

    @cached_property
    def _steps(self) -> tuple[int, ...]:
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))


class Each(Sequence[Any]):
    """The elements of an array of that shape, in C order; each is worked out from its index, when it is asked for."""

    def __init__(self, shape: tuple[int, ...], at: Callable[..., Any]) -> None:
        """Keep what is needed; nothing is worked out here."""
        self.shape = shape
        self.at = at

    def __len__(self) -> int:
        """Return how many elements there are."""
        return math.prod(self.shape)

    def __getitem__(self, flat: Any) -> Any:
        """Return the element of a flat index."""
        index = []
        for size in reversed(self.shape):
            flat, part = divmod(flat, size)
            index.append(part)
        if flat:
            raise IndexError
        return self.at(*reversed(index))

    def __iter__(self) -> Iterator[Any]:
        """Yield every element."""
        return starmap(self.at, product(*map(range, self.shape)))


class Lazy(Sequence[Any]):
    """So many elements, each worked out once, and only if it is asked for: of a wide vector often few are."""

    def __init__(self, count: int, at: Callable[[int], Any]) -> None:
        """Keep what is needed; nothing is worked out here."""
        self.length = count
        self.at = at
        self.known: dict[int, Any] = {}

    def __len__(self) -> int:
        """Return how many elements there are."""
        return self.length

    def __getitem__(self, index: Any) -> Any:
        """Return one element, counted from 0."""
        if index not in self.known:
            if not 0 <= index < self.length:
                raise IndexError
            self.known[index] = self.at(index)
        return self.known[index]


Inputs = dict[str, Tensor]
#: A shape, and a ball for each element.
Result = tuple[tuple[int, ...], Sequence[Any]]
Results = dict[str, Result]


def over(shape: tuple[int, ...], at: Callable[..., Any]) -> tuple[tuple[int, ...], Each]:
    """Return a result of that shape, whose elements a function gives by their indices."""
    return shape, Each(shape, at)
