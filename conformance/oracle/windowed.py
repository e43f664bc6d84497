"""The form of rotations that keep distances near a query: logits of one rotation there, and of another elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Inputs, Number, Tensor

#: From a position to another one, and the parameters that say which.
Moved = Callable[..., Number]


def within(query: int, key: int, *, window: int, **_: Any) -> bool:
    """Return whether a key lies less than a window before the query, or after it."""
    return query - key < window


def everywhere(positions: Tensor, moved: Moved, **rule: Any) -> Tensor:
    """Return every position moved."""
    return replace(positions, values=[moved(int(position), **rule) for position in positions.values])


@dataclass(frozen=True)
class Windowed(Rotary):
    """What a scheme brings besides: which keys are near, and where queries and keys stand for each other if they aren't."""

    near: Callable[..., bool] = field(default=within, kw_only=True)
    queries: Moved = field(kw_only=True)
    keys: Moved = field(kw_only=True)

    def logits(self, a: Exact, inputs: Inputs, **parameters: Any) -> attention.Logit:
        """Return the logit by the positions that are given for a near key, else by others."""
        query, key = inputs["query_positions"], inputs["key_positions"]
        beyond = {
            "query_positions": everywhere(query, self.queries, **parameters),
            "key_positions": everywhere(key, self.keys, **parameters),
        }
        near, far = super().logits(a, inputs, **parameters), super().logits(a, {**inputs, **beyond}, **parameters)

        def logit(batch: int, head: int, m: int, n: int) -> Ball:
            inside = self.near(int(query.in_batch(batch, m)), int(key.in_batch(batch, n)), **parameters)
            return (near if inside else far)(batch, head, m, n)

        return logit
