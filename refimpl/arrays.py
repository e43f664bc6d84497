"""Array code that every scheme needs, written with the array API standard only."""

from collections.abc import Mapping, Sequence
from typing import Any

from refimpl.errors import SpecificationError
from refimpl.libraries import array_namespace, device

Array = Any

__all__ = [
    "Array",
    "arange",
    "array_namespace",
    "at_least_float32",
    "bfloat16",
    "cast_like",
    "constant",
    "exact_float64",
    "integers",
    "is_whole",
    "one_library",
    "outer",
    "picked",
    "reals",
    "row",
    "taken",
]


def _float64(xp: Any) -> Any:
    """Return the library's float64, or raise where it silently gives less."""
    if "float64" not in xp.__array_namespace_info__().dtypes(kind="real floating"):
        name = getattr(xp, "__name__", str(xp)).rsplit(".", 1)[-1]
        hint = "JAX without jax_enable_x64" if "jax" in getattr(xp, "__name__", "") else name
        message = f"float64 must be available, got {hint}"
        raise SpecificationError(message)
    return xp.float64


def exact_float64(x: Array) -> Array:
    """Return ``x`` as float64: exact for every narrower float, and for integers below 2^53."""
    xp = array_namespace(x)
    return xp.astype(x, _float64(xp))


def of_text(positions: Array, axes: int) -> Array:
    """Return positions of text, whose tokens stand at the same position on every one of some axes: ``[batch] token axis``."""
    return array_namespace(positions).stack([positions] * axes, axis=-1)


def at_least_float32(x: Array) -> Array:
    """Return ``x`` in its own dtype, half precision as float32, which holds it exactly."""
    xp = array_namespace(x)
    return xp.astype(x, xp.result_type(x, xp.float32), copy=False)


def bfloat16(x: Array) -> Array:
    """Return ``x`` in float64, rounded to the eight digits that bfloat16 has, ties to even."""
    xp, exact = array_namespace(x), exact_float64(x)
    highest = xp.floor(xp.log2(xp.where(exact == 0, constant(1, like=x), xp.abs(exact))))
    unit = 2.0 ** (highest - 7)
    return xp.round(exact / unit) * unit


def constant(value: float, *, like: Array) -> Array:
    """Return a float64 number as a 0-d array on the library and device of ``like``."""
    xp = array_namespace(like)
    return xp.asarray(float(value), dtype=_float64(xp), device=device(like))


def row(values: Sequence[float], *, like: Array) -> Array:
    """Return float64 numbers as a vector on the library and device of ``like``."""
    xp = array_namespace(like)
    return xp.asarray(list(values), dtype=_float64(xp), device=device(like))


def arange(count: int, *, like: Array) -> Array:
    """Return ``0, 1, ..., count - 1`` in float64 on the library and device of ``like``."""
    xp = array_namespace(like)
    return xp.arange(count, dtype=_float64(xp), device=device(like))


def one_library(arrays: Mapping[str, Array]) -> None:
    """Raise unless every argument is an array, and all are arrays of one library."""
    libraries = {name: _library(name, array) for name, array in arrays.items()}
    if len(set(libraries.values())) > 1:
        message = f"arrays must come from one library, got {', '.join(f'{name} from {library}' for name, library in libraries.items())}"
        raise SpecificationError(message)


def _library(name: str, x: Array) -> str:
    try:
        return str(array_namespace(x).__name__).removeprefix("array_api_compat.")
    except TypeError:
        message = f"{name} must be an array, got {type(x).__name__}"
        raise SpecificationError(message) from None


def integers(name: str, x: Array) -> Array:
    """Return ``x``, or raise where it isn't integer."""
    xp = array_namespace(x)
    if not xp.isdtype(x.dtype, "integral"):
        message = f"{name} must be integers, got {str(x.dtype).rsplit('.', 1)[-1]}"
        raise SpecificationError(message)
    return x


def nonnegative(name: str, x: Array) -> Array:
    """Return ``x``, or raise where a number is negative."""
    xp = array_namespace(x)
    if bool(xp.any(x < 0)):
        message = f"{name} must be at least 0, got {int(xp.min(x))}"
        raise SpecificationError(message)
    return x


def reals(name: str, x: Array, *, whole: bool = False) -> Array:
    """Return ``x``, or raise where it holds complex numbers or truth values; or integers, unless ``whole`` numbers will do."""
    refused = ("bool", "complex floating") if whole else ("bool", "integral", "complex floating")
    if _is(x, refused):
        message = f"{name} must be real numbers{'' if whole else ' in floating point'}, got {str(x.dtype).rsplit('.', 1)[-1]}"
        raise SpecificationError(message)
    return x


def is_whole(x: Array) -> bool:
    """Return whether ``x`` holds integers."""
    return _is(x, ("integral",))


def _is(x: Array, kinds: tuple[str, ...]) -> bool:
    """Return whether the dtype is of a kind; one that the library doesn't describe, such as NumPy's bfloat16, is of none."""
    try:
        return bool(array_namespace(x).isdtype(x.dtype, kinds))
    except TypeError:
        return False


def cast_like(value: Array, x: Array) -> Array:
    """Return ``value`` in the dtype of ``x``."""
    return array_namespace(value).astype(value, x.dtype)


def taken(x: Array, channels: Sequence[int], axis: int = -1) -> Array:
    """Return some channels of the last axis, or of another, in that order."""
    xp = array_namespace(x)
    return xp.take(x, xp.asarray(list(channels), dtype=xp.int64, device=device(x)), axis=axis)


def picked(values: Sequence[int], at: Array) -> Array:
    """Return some of the integers, by their indices, in the shape and dtype of these."""
    xp = array_namespace(at)
    every = xp.asarray(list(values), dtype=at.dtype, device=device(at))
    return xp.reshape(xp.take(every, xp.reshape(at, (-1,))), at.shape)


def outer(positions: Array, frequencies: Array) -> Array:
    """Return ``positions[..., None] * frequencies``, in float64."""
    return exact_float64(positions)[..., None] * frequencies
