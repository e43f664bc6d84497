"""The form of biases: a number for every head, by the positions of query and key, of which every row of a batch may have its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from flint import arb

from conformance.oracle import attention, none
from conformance.oracle.arithmetic import Ball, Exact, hull, is_zero
from conformance.oracle.tensor import Inputs, Result, Results, over


class Place(NamedTuple):
    """Where a query and a key stand, and the last key of their row."""

    query: int
    key: int
    last: int


#: The number of a head at a place.
Number = Callable[[int, Place], Ball]


def places(inputs: Inputs) -> Callable[[int, int, int], Place]:
    """Return where a batch, query and key stand; positions may lack the batch."""
    queries, keys = inputs["query_positions"], inputs["key_positions"]
    last = cache(lambda batch: int(max(keys.of_batch(batch))))
    return lambda batch, query, key: Place(int(queries.in_batch(batch, query)), int(keys.in_batch(batch, key)), last(batch))


def added(inputs: Inputs, heads: int, number: Number) -> Result:
    """Return a number for every head, query and key, and for every row of the batch where either side's positions have one."""
    at, (queries, keys) = places(inputs), (inputs[name].shape for name in ("query_positions", "key_positions"))
    batch = next((shape[:1] for shape in (queries, keys) if len(shape) > 1), ())
    return over((*batch, heads, queries[-1], keys[-1]), lambda *index: number(index[-3], at(index[0], *index[-2:])))


def met(a: Exact, content: Ball, bias: Ball) -> Ball:
    """Return a scaled product plus a bias, which may be divided by the scale before, and multiplied with the sum."""
    return a.sum(content, bias if is_zero(bias) else a.spread("scale", bias))


@dataclass(frozen=True, kw_only=True)
class Bias(ABC):
    """A number for every head and place: alone, and in attention, where products are ``scaled`` before they meet it, or aren't."""

    scaled: bool = True

    @abstractmethod
    def numbers(self, a: Exact, inputs: Inputs, **parameters: Any) -> tuple[int, Number]:
        """Return how many heads there are, and the number of each at a place."""

    def bias(self, a: Exact, inputs: Inputs, **parameters: Any) -> Results:
        """Return every number."""
        return {"result": added(inputs, *self.numbers(a, inputs, **parameters))}

    def logits(self, a: Exact, inputs: Inputs, **parameters: Any) -> attention.Logit:
        """Return the logit of a batch, query head, query and key."""
        content, at, (_, number) = none.logits(a, inputs, scaled=self.scaled), places(inputs), self.numbers(a, inputs, **parameters)
        share = self.share(inputs, **parameters)
        return lambda batch, head, query, key: met(a, content(batch, head, query, key), number(head, at(batch, query, key)) * share)

    def share(self, inputs: Inputs, **parameters: Any) -> Ball | int:
        """Return what the bias is multiplied by before it is added: the whole of it counts."""
        del inputs, parameters
        return 1

    def weights(self, a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
        """Return the softmax of the logits over the keys that are seen."""
        return {"result": attention.weights(a, inputs, self.logits(a, inputs, **parameters), causal=causal)}

    def attend(self, a: Exact, inputs: Inputs, *, causal: bool, **parameters: Any) -> Results:
        """Return the average of the values that a query sees, by those weights."""
        return {"result": attention.attend(a, inputs, self.logits(a, inputs, **parameters), inputs["v"], causal=causal)}


@dataclass(frozen=True)
class Weighed(Bias):
    """What a scheme brings: the weight of every head, and what it multiplies at a place; both of the inputs and parameters."""

    heads: Callable[..., Sequence[Ball]]
    steps: Callable[..., Number]

    def numbers(self, a: Exact, inputs: Inputs, **parameters: Any) -> tuple[int, Number]:
        """Return the products; no steps are exactly 0."""
        weights, steps = self.heads(a, inputs, **parameters), self.steps(a, inputs, **parameters)

        def product(head: int, place: Place) -> Ball:
            count = steps(head, place)
            return count if is_zero(count) else a.product(weights[head], count, "bias")

        return len(weights), product


@dataclass(frozen=True)
class LookedUp(Bias):
    """What a scheme brings: which rows of the table an offset, key minus query, may have; of the parameters."""

    rows: Callable[..., Sequence[int]]

    def numbers(self, a: Exact, inputs: Inputs, **parameters: Any) -> tuple[int, Number]:
        """Return the table's numbers; nothing is rounded but what decides a row."""
        table = inputs["table"]
        once = cache(lambda offset: self.rows(a, offset, **parameters))

        def read(head: int, place: Place) -> Ball:
            return hull([arb(table.at(row, head)) for row in once(place.key - place.query)])

        return table.shape[1], read
