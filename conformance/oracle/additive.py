"""The form of encodings that are added to the input (Vaswani et al. 2017, sections 3.4 and 3.5)."""

from collections.abc import Callable
from typing import Any

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.tensor import Inputs, Results, Tensor, over


def adding(encode: Callable[..., Results]) -> Callable[..., Results]:
    """Return the sum with the rows that ``encode`` gives for a vector of positions."""

    def add(a: Exact, inputs: Inputs, *, embedding_scale: str, **parameters: Any) -> Results:
        x, places = inputs["x"], inputs["positions"]
        _, rows = encode(a, {**inputs, "positions": Tensor((len(places.values),), places.values)}, **parameters)["result"]
        _, tokens, width = x.shape
        root = a.step("embedding scale", arb(width).sqrt()) if embedding_scale == "sqrt_dim" else arb(1)
        several = len(places.shape) > 1

        def entry(batch: int, token: int, channel: int) -> Ball:
            row = batch * tokens + token if several else token
            return a.sum(a.product(root, arb(x.at(batch, token, channel))), rows[row * width + channel])

        return {"result": over(x.shape, entry)}

    return add
