"""Where code turns that doesn't turn the part of a head that should, as it is told by the process that sees the whole head."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, product

import numpy as np

#: How far the lengths of pairs may be from those of the input, and how little a pair may be turned, for it to count as turned.
ALIKE, TURNED = 0.01, 0.001
#: How many channels lie before those that turn, and how many after them.
BESIDE = re.compile(r"\((\d+) before, (\d+) after those that do\)")


def places(before: int, turning: int, after: int) -> Iterator[tuple[str, str, list[int]]]:
    """Yield where else code turns: the name of that mistake, the words for it, and the channels."""
    whole, pairs = before + turning + after, turning // 2
    end, first = ("last", whole - turning) if after else ("first", 0)
    yield "other-end", f"the {end} {turning} channels turned", [*range(first, first + turning)]
    across = [*range(pairs), *range(whole // 2, whole // 2 + pairs)]
    yield "pairs-of-the-head", f"the first {pairs} pairs (j, j + {whole // 2}) turned", across
    yield "width-of-head", f"all {whole} channels turned", [*range(whole)]


def elsewhere(beside: tuple[int, int], given: np.ndarray, got: np.ndarray) -> str:
    """Return that channels before and after those that turn must stay, and what became of the whole head."""
    before, after = beside
    came = _what_came(before, given, after, got) if given.shape == got.shape else f"shape {got.shape}"
    return f"channels that don't turn ({before} before, {after} after those that do) must stay as they are, got {came}"


def beside_of(message: str) -> tuple[int, int] | None:
    """Return how many channels lie before and after those that turn, where a message tells that others changed."""
    found = BESIDE.search(message)
    return None if found is None else (int(found[1]), int(found[2]))


def _what_came(before: int, given: np.ndarray, after: int, got: np.ndarray) -> str:
    found = places(before, given.shape[-1] - before - after, after)
    resting = [*range(before), *range(given.shape[-1] - after, given.shape[-1])]
    return next((words for _, words, channels in found if _turned(given, got, channels, resting)), _changed(given, got))


def _changed(given: np.ndarray, got: np.ndarray) -> str:
    changed = np.flatnonzero(_differs(given, got))
    rows = [[int(channel) for _, channel in row] for _, row in groupby(enumerate(changed), lambda each: each[1] - each[0])]
    told = " and ".join(f"{row[0]} to {row[-1]}" if row[1:] else f"{row[0]}" for row in rows)
    return f"channel{'s' if len(changed) > 1 else ''} {told} changed"


def _differs(given: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Return which channels changed."""
    return np.asarray((given != got).any(axis=tuple(range(given.ndim - 1))))


def _turned(given: np.ndarray, got: np.ndarray, channels: Sequence[int], resting: Sequence[int]) -> bool:
    """Whether these channels turned in pairs, one that should rest among them, and no others changed."""
    if [*np.flatnonzero(_differs(given, got))] != [*channels] or len(channels) % 2 or not np.isfinite(got).all():
        return False
    half, neighbours = np.reshape(channels, (2, -1)), np.reshape(channels, (-1, 2)).T
    ways = product((half, neighbours), repeat=2)
    return any(_in_pairs(given, got, read, written, resting) for read, written in ways)


def _in_pairs(given: np.ndarray, got: np.ndarray, read: np.ndarray, written: np.ndarray, resting: Sequence[int]) -> bool:
    """Whether pairs that are read and written so keep their lengths, but for one factor, and a pair that should rest has turned."""
    one, other = given[..., read[0]] + 1j * given[..., read[1]], got[..., written[0]] + 1j * got[..., written[1]]
    turns = other[one != 0] / one[one != 0]
    turned = (other * np.conj(one))[..., np.isin(read, resting).any(axis=0)]
    lengths = np.abs(turns)
    kept = lengths.size > 0 and np.ptp(lengths) <= ALIKE * lengths.max()
    return bool(kept and (np.abs(turned.imag) > TURNED * np.abs(turned)).any())
