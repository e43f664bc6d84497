"""Kernels that once conformed: wrong in settings that no released model has, in memory that is used again, in views and behind masks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from narrow_code import F32, Function, attend, encode, softmax, t5
from narrow_code import buckets as t5_buckets
from wrong_kernels import Kernel, masked_by, with_base

from refimpl.schemes import t5 as reference_t5


def limited(right: Function, **limits: Callable[[Any], Any]) -> Function:
    """Return code that takes other values of some parameters."""
    return lambda *arrays, **said: right(*arrays, **{**said, **{name: limit(said[name]) for name, limit in limits.items()}})


FIVE = {"convention": "t5"}
SET: list[Kernel] = [
    Kernel("a scale of 0 taken for 1", "sinusoidal.encode", limited(encode, scale=lambda scale: scale or 1.0), {}),
    Kernel("a negative scale taken for its absolute value", "sinusoidal.encode", limited(encode, scale=abs), {}),
    Kernel("a base of at least 2", "sinusoidal.encode", limited(encode, base=lambda base: max(base, 2.0)), {}),
    Kernel("a base of at least 2", "rope.rotate", with_base(lambda base: max(base, 2.0)), {}),
    Kernel("a base in 32 bits", "rope.rotate", with_base(lambda base: min(base, 2.0**31 - 1)), {}),
    Kernel("no bucket beyond 511", "t5.bucket", lambda *arrays, **said: np.minimum(reference_t5.bucket(*arrays, **said), 511), FIVE),
    Kernel(
        "no bucket beyond 1,023",
        "t5.bucket",
        lambda *arrays, **said: np.minimum(reference_t5.bucket(*arrays, **said), 1_023),
        {"convention": "deberta"},
    ),
    Kernel("max_distance in 16 bits", "t5.bias", t5(limited(t5_buckets, max_distance=lambda most: min(most, 32_767))), FIVE),
]


def unturned(mask: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Function:
    """Return attention without positions whose mask is made otherwise, from the logits and which of them are hidden."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool) -> np.ndarray:
        keys, values = (np.repeat(a, q.shape[1] // k.shape[1], axis=1) for a in (k, v))
        hidden = causal & (n[..., None, :] > m[..., :, None])
        z = q @ np.swapaxes(keys, -1, -2) / F32(np.sqrt(q.shape[-1]))
        return softmax(mask(z, hidden[:, None] if hidden.ndim == 3 else hidden)) @ values

    return kernel


def taking(much: float) -> Function:
    return lambda z, hidden: z - F32(much) * hidden


def putting(low: float) -> Function:
    return lambda z, hidden: np.where(hidden, F32(low), z)


AT_END: dict[str, Any] = {"causal": True, "queries": "at_end"}
HIDING: list[Kernel] = [
    Kernel(
        f"a mask that {does} {size:g}{', ' + ', '.join(map(str, declared.values())) if declared else ''}",
        operation,
        attention(mask(size)),
        declared,
    )
    for operation, attention in (("none.attend", unturned), ("rope.attend", masked_by))
    for does, mask, size in (("takes away", taking, 1e4), ("takes away", taking, 1e9), ("is", putting, -1e4), ("is", putting, -1e9))
    for declared in ({}, AT_END, {**AT_END, "positions": "from_zero"})
]


def sliding(right: Function, window: int) -> Function:
    """Return attention to the last keys only, as by a cache that slides."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
        if k.shape[2] <= window:
            return np.asarray(right(q, k, v, m, n, **said))
        return np.asarray(right(q, k[:, :, -window:], v[:, :, -window:], np.maximum(m, n[..., -window:].min()), n[..., -window:], **said))

    return kernel


def within(window: int) -> Function:
    """Return attention to keys that stand less than so many before the query."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **said: Any) -> np.ndarray:
        far = (m[..., :, None] - n[..., None, :] >= window) & (k.shape[2] > window)
        mask = masked_by(lambda z, hidden: np.where(hidden | (far[:, None] if far.ndim == 3 else far), F32(-np.inf), z))
        return np.asarray(mask(q, k, v, m, n, causal=causal, **said))

    return kernel


MODEL: dict[str, Any] = {"layout": "half", "direction": "positive", "head_dim": 128, "base": 500_000.0}
SLIDING: list[Kernel] = [
    *(Kernel(f"the last {n:,} keys only", "none.attend", sliding(unturned(putting(-np.inf)), n), {}) for n in (2_048, 4_096, 4_097)),
    *(Kernel(f"the last {n:,} keys only, {d}", "rope.attend", sliding(attend, n), d) for n in (2_048, 4_096) for d in ({}, AT_END)),
    Kernel("the last 4,096 keys only, in a model", "rope.attend", sliding(attend, 4_096), {**MODEL, **AT_END, "positions": "from_zero"}),
    Kernel("a window of 4,096 positions", "rope.attend", within(4_096), AT_END),
]

KERNELS = [*SET, *HIDING, *SLIDING]
