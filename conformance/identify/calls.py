"""Which calls a function takes, as its declaration says it."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.adapt.embedding import FARTHEST
from conformance.calls.takes import PLACES, Positions, Queries, Takes
from conformance.identify import reach
from conformance.identify.additive import Encoding
from conformance.identify.asking import Refused
from conformance.identify.biases import Bias, table_of
from conformance.identify.called import with_heads
from conformance.identify.findings import Identity
from conformance.identify.grids import Grid
from conformance.identify.scales import Scale
from conformance.identify.turns import Turns
from conformance.spec.declarations import operations

View = Turns | Encoding | Bias | Grid | Scale
#: The last token of a bias of counted tokens that is asked for: a million pairs of a query and a key.
SQUARE = 1_023
#: How many real positions are asked for at once.
FEW = (2, 5)
#: What answers may differ by where sums go in another order; where numbers are read as others, they differ by quarters.
ALIKE = 1e-3


def takes(identity: Identity) -> Takes:
    """Return how positions are counted, whether they come as one row for all, and between which ends."""
    view, operation = identity.view, operations()[str(identity.operation)]
    if not isinstance(view, View):
        return Takes(lowest=identity.lowest)
    known, positions = operation.arrays, _positions(view)
    if positions == "any" and operation.numbers and _refuses_real(view):
        positions = "whole"
    heads = 3 if with_heads(operation) else 1
    shared = positions in ("any", "whole") and any("[batch]" in axes for axes in known.values()) and not _takes_rows(view, heads)
    summed = isinstance(view, Turns) and "table" in known  # its rows end with the table
    ends = set(PLACES.values()) & set(known) and not summed and positions != "grid"
    lowest, highest = _bounds(identity, view, positions) if ends else (None, None)
    lowest = identity.lowest if lowest is None else lowest
    queries: Queries = "at_end" if getattr(view, "at_end", False) else "any"
    return Takes(positions, queries, "shared" if shared else "any", "any", lowest, highest, identity.masked, _breaks_on_views(view))


def _positions(view: View) -> Positions:
    if isinstance(view, Turns) and view.ignored is not None:  # the check is to show that mistake
        return "consecutive" if view.ignored == "offset" else "any"
    if isinstance(view, Turns):
        return "any" if view.positions == "only_zero" else view.positions
    if isinstance(view, Scale) and view.consecutive:
        return "consecutive"
    if (isinstance(view, Grid) and view.whole) or (isinstance(view, Encoding) and view.sides):
        return "grid"
    return "from_zero" if not isinstance(view, Grid) and view.counted else "any"


def _takes_rows(view: View, heads: int) -> bool:
    """Whether each sequence of a batch may have positions of its own: rows that are alike are answered as one is."""
    if isinstance(view, Bias | Grid | Scale):
        return view.takes_rows()
    if not isinstance(view, Turns) or view.probe.plan.given_tables or view.order == "token dim":
        return False
    x, positions = np.ones((2, heads, 4, view.width)), np.arange(4)
    try:
        return np.array_equal(replace(view, form="row token")(x, positions), view(x, positions))
    except Refused:
        return False


def _breaks_on_views(view: View) -> bool:
    """Whether arrays are refused, or read as others, whose heads and tokens, or the numbers of a vector, don't lie one after the other."""
    return _breaks_at(view, (2, 3, 4)) or _breaks_at(view, (1, 1, 1))


def _breaks_at(view: View, shape: tuple[int, int, int]) -> bool:
    vectors = 1 + np.arange(math.prod(shape) * getattr(view, "width", 1)).reshape(*shape, -1) % 7 / 4
    tokens = np.arange(shape[-1])
    places = tokens[:, None] * (1 + np.arange(view.count)) if isinstance(view, Grid) else tokens
    given: tuple[np.ndarray, ...] = (vectors, places) if isinstance(view, Turns | Grid) else (places,)
    if isinstance(view, Bias):
        given = (places, places, *([table_of(3, view.rows)] if view.tabled else []))
    plain, again, strided = (_answer(replace(view, probe=replace(view.probe, strided=way)), given) for way in (False, False, True))
    if plain is None or not _alike(plain, again):  # what changes by itself says nothing of views
        return False
    return not _alike(plain, strided)


def _answer(view: View, given: tuple[np.ndarray, ...]) -> list[np.ndarray] | None:
    asked: Any = view
    try:
        return [*asked(*given)]
    except Refused:
        return None


def _alike(one: list[np.ndarray], other: list[np.ndarray] | None) -> bool:
    if other is None or [part.shape for part in one] != [part.shape for part in other]:
        return False
    return all(np.allclose(*parts, rtol=ALIKE, atol=ALIKE, equal_nan=True) for parts in zip(one, other, strict=True))


def _refuses_real(view: View) -> bool:
    """Whether positions between two whole ones are refused, also right after whole ones: some code then looks them up in what it kept."""
    asked = (first + np.arange(count) for count in FEW for first in (0.5, 0, 1.5))
    return any(_refuses(view, positions) for positions in asked)


def _refuses(view: View, positions: np.ndarray) -> bool:
    try:
        if isinstance(view, Turns):
            view(np.ones((1, 1, positions.size, view.width)), positions)
        elif isinstance(view, Grid):
            view(np.ones((1, 1, positions.size, view.width)), positions[:, None] * (1 + np.arange(view.count)))
        elif isinstance(view, Encoding):
            view(positions)
    except Refused:
        return True
    return False


def _bounds(identity: Identity, view: View, positions: Positions) -> tuple[int | None, int | None]:
    """Return the ends beyond which positions are refused, in the operation's own numbers."""
    counted = positions == "from_zero" or (isinstance(view, Turns) and view.ignored is not None)
    farthest = reach.FARTHEST if not counted else SQUARE if isinstance(view, Bias) else FARTHEST
    highest = reach.last(view.reach, farthest)
    moved = identity.parameters.get("offset")
    start = 0 if moved is None else int(float(moved.value))
    end = farthest if highest is None else highest
    lowest = reach.first(view.reach) if not counted and reach.from_zero(view.reach, end, start) else None
    return None if lowest is None else lowest + start, None if highest is None else highest + start
