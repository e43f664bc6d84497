"""Dual chunk attention (An et al. 2024): keys of far chunks meet queries at one place, and count from the beginning of their chunk."""

from typing import Any

from conformance.oracle import rope
from conformance.oracle.windowed import Windowed


def near(query: int, key: int, *, chunk_size: int, local_size: int, **_: Any) -> bool:
    """Return whether a key is in the query's chunk or after it, or in the chunk before and no farther away than ``chunk_size`` counts."""
    tokens = chunk_size - local_size
    back = query // tokens - key // tokens
    return back < 1 or (back == 1 and query % tokens + tokens <= chunk_size)


def last(_: int, *, chunk_size: int, local_size: int, **__: Any) -> int:
    """Return the last place of a chunk that follows another, or the size where that comes first."""
    return min(2 * (chunk_size - local_size) - 1, chunk_size)


def in_chunk(position: int, *, chunk_size: int, local_size: int, **_: Any) -> int:
    """Return the place in a chunk."""
    return position % (chunk_size - local_size)


FORM = Windowed(rope.thetas, near=near, queries=last, keys=in_chunk)
weights, attend = FORM.weights, FORM.attend
