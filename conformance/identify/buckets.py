"""Recover a rule of buckets from the row that every offset reads: T5's, DeBERTa's, one row per offset.

It stays beside the search: where a logarithm is a whole number, rounding decides in which bucket a distance is, and one that is run
forward decides one way only. Borders show the rest, the same for all distances that could be asked for.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from conformance.diagnosis.search import roundest
from conformance.identify.findings import Confidence, Identity, Seen
from conformance.identify.rules import taking

#: How near a logarithm must be to a whole number for rounding to decide.
TIE = 1e-5
#: Half of so many buckets with a sign are exact.
POWERS = tuple(1 << power for power in range(1, 10))
INDICES = "an adapter: no operation gives the indices of queries and keys; give the function that reads a table by them"
SIGNED = "an adapter: no operation has buckets with a sign; give the part that adds the middle and cuts"


def identify(offsets: np.ndarray, rows: np.ndarray, count: int | None) -> Identity | None:
    """Return the rule by which offsets (key minus query) read rows, of which there are ``count`` where that is known."""
    borders = _borders(offsets, rows)
    for rule in (plain, _clamped, _t5, _deberta):
        found = rule(offsets[borders], rows[borders], count)
        if found is not None:
            return found
    return None


def _borders(offsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return where rows change, and the middle: every rule is monotone, so what fits both ends of a run fits all of it."""
    changes = np.concatenate([[True], np.diff(rows) != 0, [True]])
    return np.asarray(changes[:-1] | changes[1:] | (np.abs(offsets) <= 1))


def _row(offsets: np.ndarray, rows: np.ndarray, offset: int) -> int | None:
    at = np.flatnonzero(offsets == offset)
    return int(rows[at[0]]) if at.size else None


def plain(offsets: np.ndarray, rows: np.ndarray, count: int | None) -> Identity | None:
    """Return the table with one row per offset, clipped."""
    middle, later = _row(offsets, rows, 0), _row(offsets, rows, 1)
    if middle is None or later is None or middle < 1 or abs(later - middle) != 1:
        return None
    highest = count - 1 if count is not None else int(rows.max())
    sign = later - middle
    if highest != 2 * middle or not np.array_equal(rows, np.clip(sign * offsets, -middle, middle) + middle):
        return None
    parameters = {"max_distance": Seen(middle), "sign": Seen("key_minus_query" if sign > 0 else "query_minus_key")}
    return Identity(_reading("sign"), f"a number for every offset up to {middle}, clipped", parameters)


def clipped(offsets: np.ndarray, rows: np.ndarray) -> Identity | None:
    """Return what numbers of rows are that are offsets, clipped at both ends and moved; nothing where they aren't that."""
    middle, later = _row(offsets, rows, 0), _row(offsets, rows, 1)
    lowest, highest = int(rows.min()), int(rows.max())
    inside = rows[0] == rows[1] and rows[-1] == rows[-2]
    if middle is None or later is None or abs(later - middle) != 1 or not inside:
        return None
    sign = later - middle
    if not np.array_equal(rows, np.clip(sign * offsets + middle, lowest, highest)):
        return None
    of, moved = ("key minus query" if sign > 0 else "query minus key"), f", plus {middle}" if middle else ""
    what = f"indices, not numbers of a table: {of}, clipped to {lowest - middle} and {highest - middle}{moved}"
    return Identity(None, what, {"sign": Seen(of.replace(" ", "_"))}, unseen=(INDICES,))


def _clamped(offsets: np.ndarray, rows: np.ndarray, count: int | None) -> Identity | None:
    middle = _row(offsets, rows, 0)
    highest = count - 1 if count is not None else int(rows.max())
    if middle == (highest + 1) // 2 and highest % 2 and np.array_equal(rows, np.clip(offsets + middle, 0, highest)):
        return _found("clamped", {"bidirectional": Seen(value=True), "num_buckets": Seen(highest + 1)})
    if middle == 0 and highest > 0 and np.array_equal(rows, np.clip(-offsets, 0, highest)) and offsets.min() <= -highest:
        return _found("clamped", {"bidirectional": Seen(value=False), "num_buckets": Seen(highest + 1)})
    return None


def _t5(offsets: np.ndarray, rows: np.ndarray, count: int | None) -> Identity | None:
    buckets = count if count is not None else int(rows.max()) + 1
    for bidirectional in (True, False):
        half = buckets // 2 if bidirectional else buckets
        exact = half // 2
        if exact < 1 or (bidirectional and buckets % 2):
            continue
        upper = half * (offsets > 0) if bidirectional else 0
        away = np.abs(offsets) if bidirectional else np.maximum(-offsets, 0)
        fits = _distances(away, rows - upper, exact, half)
        if fits is not None:
            return _found("t5", {"bidirectional": Seen(bidirectional), "num_buckets": Seen(buckets), "max_distance": fits})
    return None


def _distances(away: np.ndarray, rows: np.ndarray, exact: int, half: int) -> Seen | None:
    """Return the largest distance of T5's rule that gives these rows, and all others that do."""
    if not np.array_equal(rows[away < exact], away[away < exact]):
        return None
    far = away >= exact
    logarithm = np.log(np.maximum(away[far], 1) / exact)

    def fits(distance: int) -> bool:
        level = exact + logarithm / np.log(distance / exact) * (half - exact)
        low, high = (np.minimum(half - 1, np.floor(level + shift)) for shift in (-TIE, TIE))
        return bool(np.all((rows[far] == low) | (rows[far] == high)))

    return _chosen([distance for distance in range(exact + 1, _farthest(away, rows)) if fits(distance)])


def _deberta(offsets: np.ndarray, rows: np.ndarray, count: int | None) -> Identity | None:
    buckets = count if count is not None else int(rows.max()) + 1
    exact = buckets // 4
    if buckets % 4 or buckets < 8:
        return None
    away = np.abs(offsets)

    def fits(distance: int) -> bool:
        low, high = (np.clip(2 * exact - np.sign(offsets) * step, 0, buckets - 1) for step in _steps(away, exact, distance))
        return bool(np.all((rows == low) | (rows == high)))

    found = _chosen([distance for distance in range(exact + 2, _farthest(away, rows)) if fits(distance)])
    if found is None:
        return None
    return _found("deberta", {"bidirectional": Seen(value=True), "num_buckets": Seen(buckets), "max_distance": found})


def _steps(away: np.ndarray, exact: int, distance: int) -> list[np.ndarray]:
    """Return how far from the middle DeBERTa's buckets of distances are, on both sides of a tie."""
    with np.errstate(divide="ignore"):
        level = np.log(np.maximum(away, 1) / exact) / np.log((distance - 1) / exact) * (exact - 1)
    return [np.where(away <= exact, away, exact + np.ceil(level + shift)) for shift in (-TIE, TIE)]


def signed(offsets: np.ndarray, rows: np.ndarray) -> Identity | None:
    """Return DeBERTa's rule where buckets have a sign, as they do before the middle is added and they are cut."""
    sign = _row(offsets, rows, 1)
    if sign not in (-1, 1) or not np.array_equal(rows, -rows[::-1]):
        return None
    borders = _borders(offsets, rows) & (offsets >= 0)
    away, steps = offsets[borders], sign * rows[borders]

    def fits(exact: int, distance: int) -> bool:
        low, high = _steps(away, exact, distance)
        return bool(np.all((steps == low) | (steps == high)))

    for exact in POWERS:
        distance = _chosen([distance for distance in range(exact + 2, _farthest(away, steps)) if fits(exact, distance)])
        if distance is not None:
            found = _found("deberta", {"bidirectional": Seen(value=True), "num_buckets": Seen(4 * exact), "max_distance": distance})
            of = "query minus key" if sign > 0 else "key minus query"
            what = f"{found.what}; as signed numbers of {of}, without the {2 * exact} added"
            return replace(found, what=what, unseen=(*found.unseen, SIGNED))
    return None


def _farthest(away: np.ndarray, rows: np.ndarray) -> int:
    """Return a distance beyond any that a rule can have which is in its last bucket where these rows are."""
    last = rows[np.argmax(away)]
    return 4 * int(away[rows != last].max(initial=16))


def _chosen(distances: list[int]) -> Seen | None:
    """Return the distance that one would write, of those that fit."""
    if not distances:
        return None
    low, high = distances[0], distances[-1]
    return Seen(roundest(low, high), low, high, Confidence.CERTAIN if low == high else Confidence.LIKELY)


def _reading(parameter: str) -> str:
    """Return the operation that reads a table by its rows, and has a parameter."""
    return next(known.name for known in taking("table", "query_positions", "key_positions") if parameter in known.parameters)


def _found(convention: str, parameters: Mapping[str, Seen]) -> Identity:
    words = {"t5": "T5's buckets", "deberta": "DeBERTa's buckets", "clamped": "one bucket per offset, clamped"}
    count, distance = parameters["num_buckets"].value, parameters.get("max_distance")
    both = "both directions" if parameters["bidirectional"].value else "the past only"
    unseen: tuple[str, ...] = ("max_distance: one bucket per offset doesn't read it",)
    reach = ""
    if distance is not None:
        reach = f", to distance {distance.value}"
        unseen = (f"max_distance: {distance.low} to {distance.high} give the same rows",) if distance.low != distance.high else ()
    words_ = f"{words[convention]}: {count}, {both}{reach}"
    return Identity(_reading("convention"), words_, {"convention": Seen(convention), **parameters}, (), unseen)
