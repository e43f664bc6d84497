"""Count the arithmetic of array code: arrays that pass every call on to NumPy and add up the numbers that it computes."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_compat.numpy as library
import numpy as np

#: What only moves, makes or looks at numbers.
FREE = {
    "__array_namespace_info__", "arange", "asarray", "astype", "broadcast_to", "concat", "expand_dims", "flip", "full", "isdtype",
    "matrix_transpose", "ones_like", "permute_dims", "repeat", "reshape", "roll", "stack", "take", "tile", "tril", "zeros", "zeros_like",
}  # fmt: skip
#: What works on every number that goes in, not on those that come out.
REDUCING = {"all", "any", "max", "min", "sum"}


@dataclass
class Counter:
    """How many additions, products, functions and comparisons were computed."""

    operations: int = 0

    def array(self, values: np.ndarray) -> "Counted":
        """Return an array whose arithmetic is counted here."""
        return Counted(values, self)


class Namespace:
    """NumPy as the array API standard has it, with a counter."""

    __name__ = "counting"

    def __init__(self, counter: Counter) -> None:
        """Keep the counter."""
        self._counter = counter

    def __getattr__(self, name: str) -> Any:
        """Return a dtype as it is, and a function that counts."""
        found = getattr(library, name)
        return _counting(name, found, self._counter) if callable(found) and not isinstance(found, type) else found


def _counting(name: str, function: Callable[..., Any], counter: Counter) -> Callable[..., Any]:
    def counted(*arguments: Any, **parameters: Any) -> Any:
        plain = [_plain(argument) for argument in arguments]
        result = function(*plain, **{key: _plain(value) for key, value in parameters.items()})
        counter.operations += work(name, plain, result)
        return Counted(np.asarray(result), counter) if isinstance(result, np.ndarray | np.generic) else result

    return counted


def _plain(argument: Any) -> Any:
    if isinstance(argument, Counted):
        return argument.values
    return [_plain(each) for each in argument] if isinstance(argument, list | tuple) else argument


def work(name: str, arguments: list[Any], result: Any) -> int:
    """Return how many operations a call takes: a product and a sum per term of a matrix product, else one per number."""
    if name in FREE:
        return 0
    if name == "matmul":
        return 2 * int(np.size(result)) * int(arguments[0].shape[-1])
    if name == "tensordot":
        return 2 * int(np.sqrt(np.size(arguments[0]) * np.size(arguments[1]) * np.size(result)))
    return int(np.size(arguments[0] if name in REDUCING else result))


class Counted:
    """An array whose arithmetic is counted."""

    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]  # equality of arrays is an array

    def __init__(self, values: np.ndarray, counter: Counter) -> None:
        """Keep the numbers and the counter."""
        self.values, self.counter = values, counter
        self.dtype, self.shape, self.ndim, self.size = values.dtype, values.shape, values.ndim, values.size
        self.device = "cpu"

    def __array_namespace__(self, *, api_version: str | None = None) -> Namespace:
        """Return what computes on such arrays."""
        del api_version
        return Namespace(self.counter)

    def __getitem__(self, key: Any) -> "Counted":
        """Return a part, which costs nothing."""
        plain = tuple(_plain(each) for each in key) if isinstance(key, tuple) else _plain(key)
        return Counted(np.asarray(self.values[plain]), self.counter)

    def __bool__(self) -> bool:
        """Return the only value as a truth."""
        return bool(self.values)

    def __float__(self) -> float:
        """Return the only value."""
        return float(self.values)

    def __int__(self) -> int:
        """Return the only value, whole."""
        return int(self.values)


def _operator(name: str, *, swapped: bool = False) -> Callable[..., Counted]:
    function = getattr(operator, name)

    def apply(self: Counted, *others: Any) -> Counted:
        operands = [self.values, *(_plain(other) for other in others)]
        result = function(*(reversed(operands) if swapped else operands))
        self.counter.operations += work(name, operands, result)
        return Counted(np.asarray(result), self.counter)

    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"):
    _short = _name.rstrip("_")
    setattr(Counted, f"__{_short}__", _operator(_name))
    setattr(Counted, f"__r{_short}__", _operator(_name, swapped=True))
for _name in ("neg", "invert", "abs", "lt", "le", "gt", "ge", "eq", "ne", "matmul"):
    setattr(Counted, f"__{_name}__", _operator(_name))
