"""Choose the sizes of axes: few enough values that the oracle answers at once, and every axis long now and then."""

import functools
import math
from dataclasses import dataclass

import numpy as np

from conformance.calls.takes import Takes, sharing
from conformance.spec.arguments import Parameters
from conformance.spec.ranges import SIZES
from refimpl.spec import Operation, fixed_size

Generator = np.random.Generator
Sizes = dict[str, int]

#: How many values the results of a call have together where a row is short, and the numbers of a table.
VALUES, TABLE = 260, 1 << 17
#: How many whole rows a call has where rows are long, and how many values leave room for more than one.
ROWS = (2, 1, 4, 1, 3, 6)
WIDE = 768
#: How many products lie behind a call in which queries meet keys; where one axis is long there may be more.
WORK, LONG_WORK = 1_024, 4_096
#: What a pair of a query and a key costs besides its products, in products.
PAIRING = 3
#: What is long in a call: nothing in particular, the sequence, the batch, the heads; decoding has one query, or one token.
SCENES = ("any", "decoding", "long", "batch", "heads")
LONG = ("token", "key", "offset", "...")
ALONE = ("token", "query")
#: How many rows a square weight has at most.
SQUARE = 64
#: What a scene has as many of as positions have axes: code that tells the axes by how many there are shows there.
AS_MANY_AS_AXES = {"any": "batch", "heads": "token"}


@dataclass(frozen=True)
class Sizing:
    """What decides the sizes of one call's axes."""

    operation: Operation
    parameters: Parameters
    takes: Takes
    scene: str
    rows: int

    def draw(self, rng: Generator) -> Sizes:
        """Choose every axis that parameters leave open, in any order, as long as the whole stays small."""
        axes = self._axes()
        sizes = {axis: self._settled(axis) or self._least(axis) for axis in axes}
        free = [axis for axis in axes if axis in SIZES and self._settled(axis) is None]
        for axis in sorted(rng.permutation(np.array(free, dtype=object)), key=self._last):
            fitting = [size for size in SIZES[axis] if size >= sizes[axis] and self._fits({**sizes, axis: size})] or [sizes[axis]]
            sizes[axis] = max(fitting) if self._stretched(axis) else fitting[int(rng.integers(len(fitting)))]
        if self.takes.queries == "at_end" and {"query", "key"} <= sizes.keys():
            sizes["query"], sizes["key"] = self._at_end(*sorted((sizes["query"], sizes["key"])))
        return self._derived(sizes)

    def _at_end(self, queries: int, keys: int) -> tuple[int, int]:
        """Return as many keys as queries in one scene where there is a mask: the first of these sees one key only."""
        count = min(max(queries, self._least("key")), keys)
        return (count, count) if self.scene == "any" and self.parameters.get("causal") else (queries, keys)

    def _axes(self) -> list[str]:
        words = " ".join(self.operation.arrays.values()).replace("[", "").replace("]", "").split()
        return [*dict.fromkeys("group" if axis == self._grouped else axis for axis in words)]

    def _settled(self, axis: str) -> int | None:
        """Return the size that something gives an axis: a weight is square in every scene but one, where it may be."""
        if self.takes.heads == "equal" and axis in ("group", "key_head"):
            return 1 if axis == "group" else fixed_size(sharing(self.operation), self.parameters)
        rows = fixed_size("projection", self.parameters) if axis == "input" and self.scene != "any" else None
        if rows is not None and rows <= SQUARE:
            return rows
        return fixed_size("axis" if self.on_axes and AS_MANY_AS_AXES.get(self.scene) == axis else axis, self.parameters)

    @property
    def on_axes(self) -> bool:
        """Whether positions have several axes."""
        return "axis" in self._axes()

    @functools.cached_property
    def _grouped(self) -> str | None:
        """The axis of heads that share key heads, unless a parameter counts them."""
        axis = sharing(self.operation)
        return axis if axis and fixed_size(axis, self.parameters) is None else None

    def _least(self, axis: str) -> int:
        """Return 2 for queries in one scene, and 2 for weighed keys, since a single one weighs 1 in any case; 3 with a mask."""
        if axis == "query" and self.scene == "any":
            return 2
        if axis != "key" or "causal" not in self.operation.parameters:
            return 1
        return 3 if self.parameters["causal"] else 2

    def _last(self, axis: str) -> bool:
        return not self._stretched(axis)

    def _stretched(self, axis: str) -> bool:
        named = {"long": LONG, "batch": ("batch",), "heads": ("head", "key_head", "group"), "decoding": ("key",), "any": ()}
        return axis in named[self.scene]

    def _fits(self, sizes: Sizes) -> bool:
        whole = self._derived(sizes)
        if self.scene == "decoding" and any(sizes.get(axis, 1) > 1 for axis in ALONE):
            return False
        work = LONG_WORK if self.scene == "long" else WORK
        return self._possible(whole) and self._values(whole) <= self._budget and self._work(whole) <= work and self._table(whole) <= TABLE

    @functools.cached_property
    def _budget(self) -> int:
        fixed = [math.prod(fixed_size(axis, self.parameters) or 1 for axis in _words(axes)) for axes in self.operation.results.values()]
        return max(WIDE if self.scene == "decoding" else VALUES, min(self.rows * sum(fixed), max(sum(fixed), WIDE)))

    def _possible(self, sizes: Sizes) -> bool:
        """Whether key heads are shared by whole groups, and positions that count up stay inside their bounds."""
        if sizes.get("head", 0) % sizes.get("key_head", 1):
            return False
        highest = self.takes.highest
        if not self.takes.counted or highest is None:
            return True
        least = 0 if self.takes.positions == "from_zero" else max(self.takes.lowest or 0, 0)
        return all(sizes.get(axis, 1) <= highest - least + 1 for axis in ("token", "query", "key"))

    def _values(self, sizes: Sizes) -> int:
        return sum(math.prod(self._size(axis, sizes) for axis in _words(axes)) for axes in self.operation.results.values())

    def _size(self, axis: str, sizes: Sizes) -> int:
        return sizes[axis] if axis in sizes else fixed_size(axis, self.parameters) or 1

    def _work(self, sizes: Sizes) -> int:
        """Return how many products a call takes, each channel of a query met by that of each key."""
        if "q" not in self.operation.arrays or not self._pairs:
            return 0
        pairs = math.prod(sizes.get(axis, 1) for axis in ("batch", "head", "query_head", "query", "key"))
        return pairs * (sizes["head_dim"] * sizes.get("dim", 1) + PAIRING)

    @functools.cached_property
    def _pairs(self) -> bool:
        """Whether queries meet keys in a result, or on the way to it."""
        return "causal" in self.parameters or any({"query", "key"} <= {*_words(axes)} for axes in self.operation.results.values())

    def _table(self, sizes: Sizes) -> int:
        return max((math.prod(self._size(axis, sizes) for axis in _words(axes)) for axes in self.operation.arrays.values()), default=1)

    def _derived(self, sizes: Sizes) -> Sizes:
        """Add the sizes that follow from others: grouped heads, tables with a row per distance, two channels per pair."""
        found = dict(sizes)
        if self._grouped is not None:
            found[self._grouped] = sizes["group"] * sizes["key_head"]
        if "pair" in sizes and "head_dim" in sizes:
            found["head_dim"] = 2 * sizes["pair"]
        if "row" in sizes:
            found["row"] = 2 * int(self.parameters["max_distance"]) + 1
        if "distance" in sizes:
            found["distance"] = found["key"] = int(self.parameters["memory"]) + sizes["query"]
        return found


@functools.cache
def _words(axes: str) -> tuple[str, ...]:
    return tuple(axes.replace("[", "").replace("]", "").split())
