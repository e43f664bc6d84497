"""A linear map at every position: is it a rotation in pairs, which pairs, how long, how large, and if it is none, why not."""

from dataclasses import dataclass

import numpy as np

from conformance.identify.asking import Refused
from conformance.identify.turns import LONGEST, Turns

#: Positions at which the whole map is looked at; fewer where not all are taken.
PLACES = ((0, 1, 2, 3, 5, 11, 100, 1_000, 10_007, 100_003), (0, 1, 2, 3, 5, 11, 100, 500), (0, 1, 2, 3, 5, 11), (0, 1, 2, 3), (0, 1), (0,))
TOLERANCE = {"float64": 2e-5, "float32": 2e-5, "float16": 2.0**-7, "bfloat16": 2.0**-4}
#: Where the first and the second member of a pair are read, and where they are written. Pairings are read off the matrix, not searched by
#: running operations forward: so code in a layout that no operation declares is told from code that doesn't turn.
LAYOUTS = ("half", "interleaved", "interleaved_to_half", "half_to_interleaved")


@dataclass(frozen=True)
class Pairing:
    """Which channels turn, in which pairs."""

    layout: str
    first: int
    width: int

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the channels of the first and the second members."""
        return self._members(interleaved=self.layout.startswith("interleaved"))

    def written(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the channels where first and second members are written."""
        return self._members(interleaved=self.layout.endswith("interleaved"))

    def _members(self, *, interleaved: bool) -> tuple[np.ndarray, np.ndarray]:
        pair = np.arange(self.width // 2)
        ends = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + self.width // 2)
        return ends[0] + self.first, ends[1] + self.first


@dataclass(frozen=True)
class Rotation:
    """A rotation in pairs, multiplied by a number."""

    pairing: Pairing
    growth: float


def matrices(turns: Turns) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and the matrix at each of them: (position, written, read)."""
    last: Refused | None = None
    for places in PLACES:
        positions = np.array(places)
        if turns.positions != "any" and positions.max() >= LONGEST // 4:
            continue
        basis = np.broadcast_to(np.eye(turns.width)[:, None, None, :], (turns.width, 1, len(places), turns.width))
        try:
            found = turns(basis.copy(), positions)[:, 0].transpose(1, 2, 0)
        except Refused as refusal:
            last = refusal
            continue
        if np.all(np.isfinite(found)):
            return positions, found
    raise last or Refused("no position was taken")


def rotation(maps: np.ndarray, tolerance: float) -> Rotation | None:
    """Return the pairing in which every map is a rotation times one number, or ``None``."""
    width = maps.shape[1]
    touched = np.flatnonzero(np.abs(maps - np.eye(width)).max(axis=(0, 2)) > tolerance)
    windows = {(int(touched[0]), int(touched[-1]) + 1), (0, width)} if touched.size else {(0, width)}
    for low, high in sorted(windows, key=lambda ends: ends[1] - ends[0]):
        for layout in LAYOUTS:
            pairing = Pairing(layout, low, high - low)
            growth = _growth(maps, pairing, tolerance)
            if growth is not None:
                return Rotation(pairing, growth)
    return None


def turned(maps: np.ndarray, pairing: Pairing) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine, each times the growth, of every map's pairs."""
    (a, b), (c, d) = pairing.read(), pairing.written()
    return (maps[:, c, a] + maps[:, d, b]) / 2, (maps[:, d, a] - maps[:, c, b]) / 2


def _growth(maps: np.ndarray, pairing: Pairing, tolerance: float) -> float | None:
    if pairing.width % 2 or not pairing.width:
        return None
    cos, sin = turned(maps, pairing)
    (a, b), (c, d) = pairing.read(), pairing.written()
    again = np.zeros_like(maps)
    again += np.eye(maps.shape[1])
    again[:, pairing.first : pairing.first + pairing.width] = 0.0
    again[:, c, a], again[:, d, b], again[:, d, a], again[:, c, b] = cos, cos, sin, -sin
    size = np.hypot(cos, sin)
    growth = float(np.median(size))
    fits = np.abs(again - maps).max() <= tolerance * max(1.0, growth) and np.ptp(size) <= 4 * tolerance * growth
    return growth if fits and growth > tolerance else None


def trouble(maps: np.ndarray, tolerance: float) -> str:
    """Return why the maps are no rotation in pairs, in words."""
    if np.abs(maps - maps[0]).max() <= tolerance:
        return _still(maps[0], tolerance)
    size = np.linalg.norm(maps, axis=1)
    squares = np.einsum("tij,tik->tjk", maps, maps)
    growth = np.mean(np.einsum("tii->ti", squares), axis=1)
    if np.abs(squares - growth[:, None, None] * np.eye(maps.shape[1])).max() <= 8 * tolerance * growth.max():
        return _orthogonal(maps, growth, tolerance)
    mixed = _mixed(maps, tolerance)
    return mixed or f"linear in x but no rotation: unit vectors come out with lengths from {size.min():.3g} to {size.max():.3g}"


def _still(matrix: np.ndarray, tolerance: float) -> str:
    square = matrix.T @ matrix
    kept = np.abs(square - np.eye(len(matrix)) * np.mean(np.diag(square))).max() <= 8 * tolerance
    values = np.linalg.svd(matrix, compute_uv=False)
    if np.abs(matrix - np.eye(len(matrix))).max() <= tolerance:
        return "it returns x unchanged at every position"
    how = "norm-preserving" if kept else f"not norm-preserving (it stretches by {values.min():.3g} to {values.max():.3g})"
    return f"one matrix for all positions, {how}: nothing depends on the position"


def _orthogonal(maps: np.ndarray, growth: np.ndarray, tolerance: float) -> str:
    if np.ptp(growth) > 8 * tolerance:
        return "a rotation whose length depends on the position: no scheme known here grows so"
    partners = (np.abs(maps) > tolerance).any(axis=0).sum(axis=0).max()
    if partners > 2:
        return f"norm-preserving, but a channel turns into {partners} channels: no pairs, so no frequencies"
    return "norm-preserving and in pairs, but the pairs are in no order that is known"


def _mixed(maps: np.ndarray, tolerance: float) -> str | None:
    """Say where two rows of a pair turn by different angles: tables tiled as halves under adjacent pairs, or the reverse."""
    width = maps.shape[1]
    for layout in ("interleaved", "half"):
        pairing = Pairing(layout, 0, width - width % 2)
        (a, b), (c, d) = pairing.read(), pairing.written()
        left = maps.copy()
        left[:, c, a] = left[:, d, b] = left[:, d, a] = left[:, c, b] = 0.0
        if np.abs(left).max() <= tolerance:
            other = "tiled as halves" if layout == "interleaved" else "repeated for neighbours"
            where = "neighbours (2j, 2j + 1)" if layout == "interleaved" else "half a head apart (j, j + d/2)"
            drift = np.abs(np.linalg.norm(maps, axis=1) - 1).max()
            return (
                f"pairs are {where}, but the two rows of a pair turn by different angles (lengths off by {drift:.2g}): "
                f"not a rotation; so are cosines and sines {other}, as in V-JEPA 2's map"
            )
    return None
