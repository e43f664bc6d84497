"""The form of biases: a number for every head, by the positions of query and key, of which every row of a batch may have its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact, hull, is_zero
from conformance.oracle.tensor import Inputs, Result, Results, over


@dataclass(frozen=True)
class Place:
    """Where a query and a key stand, and the last key of their row."""

    query: int
    key: int
    last: int


def places(inputs: Inputs) -> Callable[[int, int, int], Place]:
    """Return where a batch, query and key stand; positions may lack the batch."""
    queries, keys = inputs["query_positions"], inputs["key_positions"]
    last = cache(lambda batch: max(int(keys.in_batch(batch, key)) for key in range(keys.shape[-1])))
    return lambda batch, query, key: Place(int(queries.in_batch(batch, query)), int(keys.in_batch(batch, key)), last(batch))


def added(inputs: Inputs, heads: int, number: Callable[[int, Place], Ball]) -> Result:
    """Return a number for every head, query and key, and for every row of the batch where either side's positions have one."""
    at, (queries, keys) = places(inputs), (inputs[name].shape for name in ("query_positions", "key_positions"))
    batch = next((shape[:1] for shape in (queries, keys) if len(shape) > 1), ())
    return over((*batch, heads, queries[-1], keys[-1]), lambda *index: number(index[-3], at(index[0], *index[-2:])))


@dataclass(frozen=True)
class Weighed:
    """What a scheme brings: the weight of every head, and what it multiplies at a place; both of the inputs and parameters."""

    weights: Callable[..., Sequence[Ball]]
    steps: Callable[..., Callable[[int, Place], Ball]]

    def bias(self, a: Exact, inputs: Inputs, **parameters: Any) -> Results:
        """Return the products; no steps are exactly 0."""
        weights, steps = self.weights(a, inputs, **parameters), self.steps(a, inputs, **parameters)

        def product(head: int, place: Place) -> Ball:
            count = steps(head, place)
            return count if is_zero(count) else a.product(weights[head], count, "bias")

        return {"result": added(inputs, len(weights), product)}


@dataclass(frozen=True)
class LookedUp:
    """What a scheme brings: which rows of the table an offset, key minus query, may have; of the parameters."""

    rows: Callable[..., Sequence[int]]

    def bias(self, a: Exact, inputs: Inputs, **parameters: Any) -> Results:
        """Return the table's numbers; nothing is rounded but what decides a row."""
        table = inputs["table"]
        once = cache(lambda offset: self.rows(a, offset, **parameters))

        def read(head: int, place: Place) -> Ball:
            return hull([arb(table.at(row, head)) for row in once(place.key - place.query)])

        return {"result": added(inputs, table.shape[1], read)}
