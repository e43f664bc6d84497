"""A zoo of tiny implementations of ``rope.rotate``: one that is right, and one for every way to go wrong."""

import os
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from conformance import Adapter, Unsupported

Rotation = Callable[..., Any]


def rotate(x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, **_: object) -> np.ndarray:
    """Turn pairs of neighbours, in float64, and cast last."""
    angles = positions[..., None] * base ** (-2.0 * np.arange(head_dim // 2) / head_dim)
    angles = angles[:, None] if angles.ndim == 3 else angles
    pairs = x.astype(np.float64).reshape(*x.shape[:-1], -1, 2)
    first, second = pairs[..., 0], pairs[..., 1]
    turned = np.stack([first * np.cos(angles) - second * np.sin(angles), first * np.sin(angles) + second * np.cos(angles)], axis=-1)
    return turned.reshape(x.shape).astype(x.dtype)


def connected(function: Rotation, **said: Any) -> Adapter:
    """Return an adapter that offers one rotation."""
    adapter = Adapter(function.__name__, **said)
    adapter.implements("rope.rotate", layout="interleaved", direction="positive")(function)
    return adapter


def exits(x: np.ndarray, positions: np.ndarray, **_: Any) -> None:
    """End the process with a last word."""
    sys.stderr.write("out of luck\n")
    sys.stderr.flush()
    os._exit(7)


def is_killed(x: np.ndarray, positions: np.ndarray, **_: Any) -> None:
    """Die of a signal."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(x: np.ndarray, positions: np.ndarray, **_: Any) -> None:
    """Never come back."""
    while True:
        time.sleep(1.0)


def hangs_where_wide(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Never come back from a head that is wider than nearly all stored vectors."""
    if parameters["head_dim"] > 8:
        hangs(x, positions)
    return rotate(x, positions, **parameters)


def raises(x: np.ndarray, positions: np.ndarray, **_: Any) -> Any:
    """Raise."""
    message = "no such kernel"
    raise RuntimeError(message)


def raises_of_several_tokens(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Raise where there are several tokens."""
    return raises(x, positions) if x.shape[2] > 1 else rotate(x, positions, **parameters)


def first_of_batch(x: np.ndarray, _: np.ndarray, **__: Any) -> np.ndarray:
    """Return an axis too few."""
    return np.asarray(x[0])


def refuses(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Refuse all but the smallest width, from inside."""
    if parameters["head_dim"] > 2:
        message = "only width 2"
        raise Unsupported(message)
    return rotate(x, positions, **parameters)


def transposes(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Return a wrong shape."""
    return rotate(x, positions, **parameters)[..., None]


def widens(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Return float64 for float32."""
    return rotate(x.astype(np.float64), positions, **parameters)


def narrows(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Return float16 for float32."""
    return rotate(x, positions, **parameters).astype(np.float16)


def divides(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Return NaN in one place."""
    result = rotate(x, positions, **parameters)
    result[..., 0] = np.nan
    return result


def forgets(x: np.ndarray, positions: np.ndarray, **_: Any) -> None:
    """Return nothing."""


def doubles(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return two results for one."""
    result = rotate(x, positions, **parameters)
    return result, result


def counts_from_one(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Count positions from one."""
    return rotate(x, positions + 1, **parameters)


def overwrites(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Write the result into the input."""
    x[...] = rotate(x, positions, **parameters)
    return x.copy()


_cache: dict[int, float] = {}


def remembers(x: np.ndarray, positions: np.ndarray, *, base: float, **parameters: Any) -> np.ndarray:
    """Keep the first base that a width was used with."""
    return rotate(x, positions, base=_cache.setdefault(parameters["head_dim"], base), **parameters)


_calls = count()


def drifts(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Be a little different at every call."""
    return rotate(x, positions, **parameters) * np.float32(1.0 + 0.001 * (next(_calls) % 7))


def talks(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Print megabytes."""
    os.write(1, b"\x00noise" * 200_000)
    return rotate(x, positions, **parameters)


def numbers_rows(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Count rows from 0, whatever positions say."""
    return rotate(x, np.arange(positions.shape[-1]), **parameters)


def starts_at_first(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Use the first position only, and count on from there."""
    return rotate(x, positions[..., :1] + np.arange(positions.shape[-1]), **parameters)


right = connected(rotate)
crash_by_exit = connected(exits)
crash_by_signal = connected(is_killed)
hang = connected(hangs)
hang_where_wide = connected(hangs_where_wide)
exception = connected(raises)
axis_too_few = connected(first_of_batch)
exception_of_several_tokens = connected(raises_of_several_tokens)
refusal = connected(refuses)
wrong_shape = connected(transposes)
wider = connected(widens)
narrower = connected(narrows)
not_a_number = connected(divides)
nothing = connected(forgets)
two_results = connected(doubles)
off_by_one = connected(counts_from_one)
modifies = connected(overwrites)
modifies_as_declared = connected(overwrites, modifies_inputs=True)
cache_without_base = connected(remembers)
random = connected(drifts)
noisy = connected(talks)
from_zero = connected(numbers_rows, positions="from_zero")
from_zero_undeclared = connected(numbers_rows)
consecutive = connected(starts_at_first, positions="consecutive")
empty = Adapter("empty")
