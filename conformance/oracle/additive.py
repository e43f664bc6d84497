"""The form of encodings that are added to the input (Vaswani et al. 2017, sections 3.4 and 3.5)."""

import math
from collections.abc import Callable
from typing import Any

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.tensor import Inputs, Results, Tensor, over


def adding(encode: Callable[..., Results], beside: int = 0) -> Callable[..., Results]:
    """Return the sum with the rows that ``encode`` gives for a vector of positions, which have so many axes beside it."""

    def add(a: Exact, inputs: Inputs, *, embedding_scale: str, **parameters: Any) -> Results:
        x, places = inputs["x"], inputs["positions"]
        batch_and_token, coordinates = places.shape[: len(places.shape) - beside], places.shape[len(places.shape) - beside :]
        flat = Tensor((math.prod(batch_and_token), *coordinates), places.values)
        _, rows = encode(a, {**inputs, "positions": flat}, **parameters)["result"]
        _, tokens, width = x.shape
        root = a.step("embedding scale", arb(width).sqrt()) if embedding_scale == "sqrt_dim" else arb(1)
        several = len(batch_and_token) > 1

        def entry(batch: int, token: int, channel: int) -> Ball:
            row = batch * tokens + token if several else token
            return a.sum(a.product(root, arb(x.at(batch, token, channel))), rows[row * width + channel])

        return {"result": over(x.shape, entry)}

    return add
