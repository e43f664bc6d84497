"""Say along which axes of a result the wrong elements begin or end: kernels go wrong from a tile, a head or a length on."""

from collections.abc import Iterator, Mapping

import numpy as np

#: So many elements, some right and some wrong, say where wrong ones begin; fewer may lie so by chance.
ENOUGH, FEW = 32, 3
#: Where as many of the elements inside were wrong by chance, so unlikely would it be that all outside are right.
UNLIKELY = 0.01
#: What an axis counts, where its name doesn't say it.
COUNTED = {
    "batch": "batch row",
    "query_head": "head",
    "key_head": "head",
    "head_dim": "channel",
    "dim": "channel",
    "bits": "bit",
}


def extent(places: Mapping[str, np.ndarray], sizes: Mapping[str, int], wrong: np.ndarray) -> str:
    """Return where the wrong elements lie, or nothing; ``places`` gives every judged element's index by axis, ``sizes`` its length."""
    told = _narrowed(places, sizes, wrong) if wrong.size >= ENOUGH and wrong.sum() >= FEW else ()
    return " and ".join(told)


def _narrowed(places: Mapping[str, np.ndarray], sizes: Mapping[str, int], wrong: np.ndarray) -> Iterator[str]:
    """Yield where wrong elements lie along one axis, then along others inside of that."""
    for axis, indices in places.items():
        inside = (indices >= indices[wrong].min()) & (indices <= indices[wrong].max())
        if _no_chance(indices, inside, wrong) and not _parted(indices[inside], wrong[inside]):
            yield _told(axis, indices, wrong, sizes.get(axis))
            yield from _narrowed({other: at[inside] for other, at in places.items() if other != axis}, sizes, wrong[inside])
            return


def _no_chance(indices: np.ndarray, inside: np.ndarray, wrong: np.ndarray) -> bool:
    """Whether so many elements inside of a range are wrong that it is no chance that none outside is."""
    share, others = wrong.sum() / inside.sum(), np.unique(indices[~inside]).size
    return bool((~inside).sum() >= FEW and 2 * share >= 1 and (1 - share) ** others < UNLIKELY)


def _parted(indices: np.ndarray, wrong: np.ndarray) -> bool:
    """Whether so many neighbours within a range are right that it is no chance: then only parts of it are wrong."""
    _, number = np.unique(indices, return_inverse=True)
    right = np.bincount(number, wrong) == 0
    runs = np.cumsum(~right)
    longest = np.bincount(runs, np.bincount(number) * right).max()
    return bool((1 - wrong.mean()) ** longest < UNLIKELY)


def _told(axis: str, indices: np.ndarray, wrong: np.ndarray, size: int | None) -> str:
    name = COUNTED.get(axis, axis)
    low, high = int(indices[wrong].min()), int(indices[wrong].max())
    if low > indices.min() and high == indices.max():
        return "".join(_from(name, indices, low, size))
    if low == high:
        return f"only at {name} {low}"
    return f"up to {name} {high}" if low == indices.min() else f"from {name} {low} to {high}"


def _from(name: str, indices: np.ndarray, low: int, size: int | None) -> Iterator[str]:
    """Yield from where on it is wrong, how far it is known to be right, and that it is the tail where it is short."""
    yield f"from {name} {low} on"
    right = int(indices[indices < low].max())
    if right < low - 1:
        yield f" (right up to {right})"
    if size is not None and 8 * (size - low) <= size:
        yield f", the last {size - low} of {size}"
