"""Choose the elements of a large result that are judged: beside the edges of tiles, in every head and batch row, and at random."""

import math
from collections.abc import Sequence

import numpy as np

#: Sizes of tiles, blocks and pages, beside whose multiples kernels go wrong.
TILES = (32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384)
#: So many rows, where there are that many, are the last and other edges; those that follow may be any.
SURE = 3
#: Axes of which every index is sampled.
EVERY = ("batch", "head", "query_head", "key_head")
#: How many of the last rows of all batches and heads are sampled, which kernels take together in tiles.
LAST = 16

Generator = np.random.Generator


def edges(size: int) -> list[int]:
    """Return the indices of an axis beside which mistakes begin: the ends, both sides of powers of two, and of the last whole tiles."""
    beside = [edge + step for edge in TILES for step in (-1, 0, 1)]
    tails = [size // tile * tile - step for tile in TILES[:3] for step in (0, 1)]
    return sorted({index for index in (0, 1, size - 2, size - 1, *beside, *tails) if 0 <= index < size})


def elements(axes: Sequence[str], shape: tuple[int, ...], count: int, rng: Generator) -> np.ndarray:
    """Return flat indices, about so many: every edge of every axis beside others' edges and random indices, last rows, then random ones."""
    if not shape:
        return np.zeros(1, dtype=np.int64)
    wanted = [np.arange(size) if axis in EVERY else np.array(edges(size)) for axis, size in zip(axes, shape, strict=True)]
    parts = [*(_crossed(which, shape, wanted, rng) for which in range(len(shape))), _last(axes, shape, rng)]
    random = _random(shape, max(count - sum(part.size for part in parts), count // 4), rng)
    return np.unique(np.concatenate([*parts, np.ravel_multi_index(tuple(random), shape)]))


def _last(axes: Sequence[str], shape: tuple[int, ...], rng: Generator) -> np.ndarray:
    """Return an element of each of the last rows of all batches and heads."""
    inside = math.prod(size for axis, size in zip(axes, shape, strict=True) if axis not in EVERY)
    rows = math.prod(shape) // inside
    last = np.arange(max(rows - LAST, 0), rows)
    return last * inside + rng.integers(inside, size=last.size)


def _random(shape: tuple[int, ...], count: int, rng: Generator) -> np.ndarray:
    return np.stack([rng.integers(size, size=count) for size in shape])


def _crossed(which: int, shape: tuple[int, ...], wanted: Sequence[np.ndarray], rng: Generator) -> np.ndarray:
    """Return elements at every wanted index of one axis; half of the other indices are wanted ones, the others random."""
    count = wanted[which].size
    indices = _random(shape, count, rng)
    for axis, each in enumerate(wanted):
        indices[axis] = np.where(rng.random(count) < 1 / 2, each[rng.integers(each.size, size=count)], indices[axis])
    indices[which] = wanted[which]
    return np.asarray(np.ravel_multi_index(tuple(indices), shape))


def with_anchors(at: np.ndarray, width: int) -> np.ndarray:
    """Return the elements and the first of every row that they lie in, against which a row is judged whose constant is free."""
    return np.unique(np.concatenate([at, at - at % width]))


def rows(shape: tuple[int, ...], lead: int, count: int, each: int, rng: Generator) -> np.ndarray:
    """Return some elements, by flat index, of each of a few rows; ``lead`` axes tell rows, one of which is the last, others at edges."""
    chosen = np.stack([_spread(size, count, rng) for size in shape[:lead]])
    rest = [np.unique(np.concatenate([rng.choice(edges(size), each), [size - 1]])) for size in shape[lead:]]
    grid = np.meshgrid(np.arange(count), *rest, indexing="ij")
    indices = (*(axis[grid[0].ravel()] for axis in chosen), *(part.ravel() for part in grid[1:]))
    return np.unique(np.ravel_multi_index(indices, shape))


def _spread(size: int, count: int, rng: Generator) -> np.ndarray:
    """Return indices of one axis: all of them in random order where they are few, else its last, other edges and random ones."""
    if size <= count:
        return np.resize(rng.permutation(size), count)
    edge, anywhere = rng.permutation(edges(size)[:-1]), rng.integers(size, size=count)
    chosen = np.concatenate([[size - 1], edge, anywhere])[:count]
    chosen[SURE:] = np.where(rng.random(max(count - SURE, 0)) < 2 / 3, chosen[SURE:], anywhere[SURE:])
    return rng.permutation(chosen)
