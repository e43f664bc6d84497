"""The form of rotations that keep distances within a window: logits of one rotation there, and of another beyond it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.oracle import attention
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Inputs, Number, Tensor

#: From a position to another one, and the parameters that say which.
Moved = Callable[..., Number]


def everywhere(positions: Tensor, moved: Moved, **rule: Any) -> Tensor:
    """Return every position moved."""
    return replace(positions, values=[moved(int(position), **rule) for position in positions.values])


@dataclass(frozen=True)
class Windowed(Rotary):
    """What a scheme brings besides: where queries and keys stand for each other beyond the window."""

    queries: Moved = field(kw_only=True)
    keys: Moved = field(kw_only=True)

    def logits(self, a: Exact, inputs: Inputs, **parameters: Any) -> attention.Logit:
        """Return the logit by the positions that are given where a key lies less than the window before the query, else by others."""
        query, key = inputs["query_positions"], inputs["key_positions"]
        beyond = {
            "query_positions": everywhere(query, self.queries, **parameters),
            "key_positions": everywhere(key, self.keys, **parameters),
        }
        near, far = super().logits(a, inputs, **parameters), super().logits(a, {**inputs, **beyond}, **parameters)

        def logit(batch: int, head: int, m: int, n: int) -> Ball:
            distance = query.in_batch(batch, m) - key.in_batch(batch, n)
            return (near if distance < parameters["window"] else far)(batch, head, m, n)

        return logit
