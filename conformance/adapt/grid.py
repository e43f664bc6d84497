"""Tokens that fill a grid row by row: how long its sides are, and where each token stands."""

import math

import numpy as np

from conformance.calls.takes import Takes


def sides(positions: np.ndarray, takes: Takes) -> tuple[int, ...]:
    """Return how long the sides are of the smallest grid that holds places, the slowest first."""
    return tuple(int(each.max()) + 1 if each.size else 0 for each in np.moveaxis(slowest_first(positions, takes), -1, 0))


def places(sides: tuple[int, ...], takes: Takes) -> np.ndarray:
    """Return the places of all tokens of a grid, in their order."""
    return slowest_first(np.indices(sides).reshape(len(sides), -1).T, takes)


def is_whole(positions: np.ndarray, takes: Takes) -> bool:
    """Whether places are those of all tokens of a grid, in their order."""
    found = sides(positions, takes)
    return math.prod(found) == len(positions) and np.array_equal(positions, places(found, takes))


def slowest_first(positions: np.ndarray, takes: Takes) -> np.ndarray:
    """Return places with the row before the column, or such places as the code has them: what exchanges them puts them back."""
    return exchanged(positions) if takes.positions == "grid_xy" else positions


def exchanged(positions: np.ndarray) -> np.ndarray:
    """Return places with row and column exchanged."""
    return np.concatenate([positions[..., :-2], positions[..., :-3:-1]], axis=-1)
