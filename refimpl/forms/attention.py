"""The form of attention: a scheme that brings the logits of queries and keys has their softmax, and the average of values by it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from refimpl import attention
from refimpl.arrays import Array, cast_like, exact_float64
from refimpl.forms.joining import declared


@dataclass(frozen=True)
class Attention:
    """The slot ``logits(q, k, ..., query_positions, key_positions, ...)``, which float64 queries make float64; ``values`` is their name."""

    logits: Callable[..., Array]
    values: str = "v"

    @property
    def arguments(self) -> dict[str, inspect.Parameter]:
        """What the slot takes, and the mask."""
        causal = inspect.Parameter("causal", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool)
        return {**inspect.signature(self.logits).parameters, "causal": causal}

    def weights(self, says: str) -> Callable[..., Any]:
        """Return the weights as an operation; ``says`` is its summary."""

        def weights(q: Array, *others: Array, **rule: Any) -> Array:
            return cast_like(self.shares(q, *others, **rule), q)

        weights.__doc__ = says
        return declared(weights, self, [*self.arguments.values()], inspect.signature(self.logits).return_annotation)

    def attend(self, says: str) -> Callable[..., Any]:
        """Return the averages as an operation, whose values lie as the keys do; ``says`` is its summary."""

        def attend(q: Array, k: Array, v: Array, *others: Array, **rule: Any) -> Array:
            return attention.average(self.shares(q, k, *others, **rule), v)

        attend.__doc__ = says
        q, k, *others = self.arguments.values()
        return declared(attend, self, [q, k, k.replace(name=self.values), *others], q.annotation)

    def shares(self, q: Array, *others: Array, causal: bool = False, **rule: Any) -> Array:
        """Return the softmax of the logits over the keys that a query sees, in float64."""
        given = inspect.signature(self.logits).bind_partial(q, *others).arguments
        seen = attention.visible(given["query_positions"], given["key_positions"], causal=causal)
        return attention.softmax(self.logits(exact_float64(q), *others, **rule), seen)
