"""ggml's CPU kernels through the shared libraries in the pywhispercpp wheel, called with ctypes.

Written for pywhispercpp 1.5.1 (ggml 0.13.1); other releases are reported. ggml multiplies frequencies one after the other, so the
error of a frequency grows with its pair.
"""

import ctypes
import importlib.metadata
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from conformance.adapt.adapter import Adapter

SUPPORTED = "1.5.1"
FLOAT32, INT32 = 0, 26
MODES = {"interleaved": 0, "half": 2}
AXES_MODES = {"contiguous": 8, "interleaved": 40}
VISION = 24
MOST_AXES = 4
OVERHEAD = 1 << 20

adapter = Adapter("ggml", framework="numpy", profile="float32-loose-frequencies", version=importlib.metadata.version("pywhispercpp"))


class _Memory(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


def _library(name: str) -> ctypes.CDLL:
    files = importlib.metadata.files("pywhispercpp") or []
    for file in files:
        if Path(file).parent.name == "pywhispercpp.libs" and Path(file).name.startswith(f"lib{name}-"):
            return ctypes.CDLL(str(file.locate()), mode=ctypes.RTLD_GLOBAL)
    message = f"pywhispercpp must carry lib{name}, got a wheel without it"
    raise ImportError(message)


def _function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


_pointer, _integer, _long, _real = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_float
_base, _cpu = _library("ggml-base"), _library("ggml-cpu")
_init = _function(_base, "ggml_init", _pointer, _Memory)
_free = _function(_base, "ggml_free", None, _pointer)
_data = _function(_base, "ggml_get_data", _pointer, _pointer)
_graph = _function(_base, "ggml_new_graph", _pointer, _pointer)
_expand = _function(_base, "ggml_build_forward_expand", None, _pointer, _pointer)
_new = _function(_base, "ggml_new_tensor", _pointer, _pointer, _integer, _integer, ctypes.POINTER(_long))
_compute = _function(_cpu, "ggml_graph_compute_with_ctx", _integer, _pointer, _pointer, _integer)
_rope_arguments = (_pointer, _pointer, _pointer, _pointer, _integer, _integer, _integer, *[_real] * 6)
_rope = _function(_base, "ggml_rope_ext", _pointer, _pointer, *_rope_arguments[1:])
_by_axes = (*_rope_arguments[:5], ctypes.POINTER(_integer), *_rope_arguments[5:])
_rope_multi = _function(_base, "ggml_rope_multi", _pointer, *_by_axes)
_rope_back = _function(_base, "ggml_rope_ext_back", _pointer, _pointer, *_rope_arguments[1:])


@contextmanager
def _context(size: int) -> Iterator[int]:
    context = _init(_Memory(size, None, False))  # noqa: FBT003  a C structure
    try:
        yield context
    finally:
        _free(context)


def _tensor(context: int, kind: int, values: np.ndarray) -> int:
    shape = (_long * values.ndim)(*reversed(values.shape))
    tensor: int = _new(context, kind, values.ndim, shape)
    ctypes.memmove(_data(tensor), values.ctypes.data, values.nbytes)
    return tensor


def _run(
    kernel: Any, x: np.ndarray, positions: np.ndarray, factors: np.ndarray | None, width: int, settings: tuple[Any, ...]
) -> np.ndarray:
    with _context(6 * x.nbytes + 8 * positions.nbytes + OVERHEAD) as context:
        slowing = None if factors is None else _tensor(context, FLOAT32, factors)
        operands = (_tensor(context, FLOAT32, x), _tensor(context, INT32, positions), slowing)
        result = kernel(context, *operands, width, *settings)
        graph = _graph(context)
        _expand(graph, result)
        if _compute(context, graph, 1):
            message = "ggml must compute its graph, got an error"
            raise RuntimeError(message)
        return np.frombuffer(ctypes.string_at(_data(result), x.nbytes), np.float32).reshape(x.shape)


def _turned(
    kernel: Any,
    x: np.ndarray,
    positions: np.ndarray,
    settings: tuple[Any, ...],
    factors: np.ndarray | None = None,
    part: int | None = None,
) -> np.ndarray:
    # ggml has one position per token and no batch axis there, so the sequences of a batch stand one after the other.
    batch, heads, tokens, width = x.shape
    rows = np.ascontiguousarray(x.transpose(0, 2, 1, 3), dtype=np.float32).reshape(batch * tokens, heads, width)
    shape = np.broadcast_shapes(positions.shape, (batch, tokens))
    places = np.ascontiguousarray(np.broadcast_to(positions, shape).reshape(-1), dtype=np.int32)
    slowing = None if factors is None else np.ascontiguousarray(factors, dtype=np.float32)
    turned = _run(kernel, rows, places, slowing, part or width, settings).reshape(batch, tokens, heads, width)
    return turned.transpose(0, 2, 1, 3)


def _plain(layout: str, base: float, scale: float = 1.0, attention_factor: float = 1.0) -> tuple[float, ...]:
    return (MODES[layout], 0, base, scale, 0.0, attention_factor, 32.0, 1.0)


@adapter.implements("rope.rotate", layout=tuple(MODES), direction="positive")
def rotate(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, **_: object) -> np.ndarray:
    """Turn queries or keys by ``ggml_rope_ext``."""
    return _turned(_rope, x, positions, _plain(layout, base))


@adapter.implements("partial_rope.rotate", layout=tuple(MODES), direction="positive", placement="first")
def rotate_part(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, rotary_dim: int, **_: object) -> np.ndarray:
    """Turn by ``ggml_rope_ext`` with ``n_dims`` below the width of a head."""
    return _turned(_rope, x, positions, _plain(layout, base), part=rotary_dim)


def _turned_on_axes(
    x: np.ndarray, positions: np.ndarray, sections: tuple[int, ...], mode: int, base: float, part: int | None = None
) -> np.ndarray:
    places = np.moveaxis(np.broadcast_to(positions, (len(x), *positions.shape[-2:])), -1, 0)
    settings = ((_integer * MOST_AXES)(*sections), mode, *_plain("half", base)[1:])
    return _turned(_rope_multi, x, places, settings, part=part)


def _fits(arguments: Mapping[str, Any]) -> bool:
    axes = len(arguments["sections"])
    return axes <= MOST_AXES if arguments["order"] == "contiguous" else axes == 3


@adapter.implements("mrope.rotate", order=tuple(AXES_MODES), layout="half", direction="positive", when=_fits)
def rotate_on_axes(x: np.ndarray, positions: np.ndarray, *, base: float, sections: tuple[int, ...], order: str, **_: object) -> np.ndarray:
    """Turn by ``ggml_rope_multi``, with the positions on the first axis again where axes are left over."""
    axes = [axis if axis < len(sections) else 0 for axis in range(MOST_AXES)]
    return _turned_on_axes(x, positions[..., axes], sections, AXES_MODES[order], base)


def _square(arguments: Mapping[str, Any]) -> bool:
    return len(arguments["axes"]) == 2 and len(set(arguments["axes"])) == 1


@adapter.implements(
    "axial_rope.rotate", order="joined", ladder="own", sides=(), layout="half", direction="positive", positions="whole", when=_square
)
def rotate_patches(x: np.ndarray, positions: np.ndarray, *, base: float, head_dim: int, **_: object) -> np.ndarray:
    """Turn by ``ggml_rope_multi`` in the mode for vision, as callers do it: by half of the head's width, and with four equal sections."""
    sections = (head_dim // 4,) * MOST_AXES
    return _turned_on_axes(x, positions[..., [0, 1, 0, 1]], sections, VISION, base, part=head_dim // 2)


@adapter.implements("rope.gradient", layout=tuple(MODES), direction="positive")
def gradient(
    x: np.ndarray,  # noqa: ARG001  the map is linear
    positions: np.ndarray,
    cotangent: np.ndarray,
    *,
    base: float,
    layout: str,
    **_: object,
) -> np.ndarray:
    """Turn the cotangent back by ``ggml_rope_ext_back``."""
    return _turned(_rope_back, cotangent, positions, _plain(layout, base))


@adapter.implements("position_interpolation.rotate", layout=tuple(MODES), direction="positive")
def interpolate(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, factor: float, **_: object) -> np.ndarray:
    """Turn by ``ggml_rope_ext`` with ``freq_scale = 1 / factor``."""
    return _turned(_rope, x, positions, _plain(layout, base, 1.0 / factor))


@adapter.implements("longrope.rotate", layout=tuple(MODES), direction="positive")
def rotate_longrope(
    x: np.ndarray,
    positions: np.ndarray,
    short_factors: np.ndarray,
    long_factors: np.ndarray,
    *,
    base: float,
    layout: str,
    original_length: int,
    length: int,
    max_length: int,
    short_mscale: float | None,
    long_mscale: float | None,
    **_: object,
) -> np.ndarray:
    """Turn by ``ggml_rope_ext`` with ``freq_factors`` and ``attn_factor``; ggml leaves the choice of both to its caller."""
    factors, given = (long_factors, long_mscale) if length > original_length else (short_factors, short_mscale)
    computed = math.sqrt(1.0 + math.log(max(max_length / original_length, 1.0)) / math.log(original_length))
    grown = computed if given is None else given
    return _turned(_rope, x, positions, _plain(layout, base, 1.0, grown), factors)


def _growth(factor: float, mscale: float = 1.0) -> float:
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1.0 else 1.0


def wanted_factor(factor: float, mscale: float | None, mscale_all_dim: float | None, given: float | None) -> float:
    """Return the attention factor that a loader reads from a model's configuration."""
    if given is not None:
        return given
    return _growth(factor, mscale) / _growth(factor, mscale_all_dim) if mscale and mscale_all_dim else _growth(factor)


@adapter.implements("yarn.rotate", layout=tuple(MODES), direction="positive", truncate=True, slope=0.1)
def rotate_yarn(
    x: np.ndarray,
    positions: np.ndarray,
    *,
    base: float,
    layout: str,
    factor: float,
    original_length: int,
    beta_fast: float,
    beta_slow: float,
    mscale: float | None,
    mscale_all_dim: float | None,
    attention_factor: float | None,
    **_: object,
) -> np.ndarray:
    """Turn by ``ggml_rope_ext`` with its extension factor on; ``1 + 0.1 ln factor``, which the kernel adds, is divided out."""
    wanted = wanted_factor(factor, mscale, mscale_all_dim, attention_factor)
    scale = wanted / (1.0 + 0.1 * math.log(factor))
    settings = (MODES[layout], original_length, base, 1.0 / factor, 1.0, scale, beta_fast, beta_slow)
    return _turned(_rope, x, positions, settings)
