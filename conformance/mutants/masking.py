"""Attention whose softmax is replaced, whatever makes its logits: what goes wrong with masks goes wrong with every scheme."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from conformance.mutants.building import OPERATIONS, Function
from conformance.mutants.none import Plain
from conformance.mutants.rotary import Rotary
from conformance.mutants.shaw import Related
from refimpl import attention
from refimpl.arrays import Array, exact_float64
from refimpl.forms import rotary
from refimpl.forms.attention import Attention

Soften = Callable[[Array, Array], Array]


def numbered(logits: Array, seen: Array, *, number: float, added: bool) -> Array:
    """Return weights where hidden logits are a number, or have one added."""
    return attention.softmax(np.where(seen, logits, logits + number if added else number), np.ones_like(seen))


def weighing(operation: str, soften: Soften) -> Function | None:
    """Return an operation of attention with another softmax of its logits and of what is seen, or nothing where it isn't one."""
    if "causal" not in OPERATIONS[operation].parameters:
        return None
    if "top_k" in OPERATIONS[operation].parameters:
        return Plain(soften=soften).of(operation)
    form = getattr(OPERATIONS[operation].function, "form", None)
    if isinstance(form, rotary.Rotary):  # its values turn
        return Rotary(soften=soften).of(operation)
    if not isinstance(form, Attention):  # its values have edges, which no form has
        return Related(soften=soften).of(operation)
    weights = partial(shares, form.logits, soften)
    return partial(averages, weights) if form.values in OPERATIONS[operation].arrays else weights


def shares(logits: Function, soften: Soften, /, q: Array, *others: Array, causal: bool, **rule: Any) -> Array:
    """Return the weights of queries and keys."""
    given = inspect.signature(logits).bind_partial(q, *others).arguments
    seen = attention.visible(given["query_positions"], given["key_positions"], causal=causal)
    return soften(logits(exact_float64(q), *others, **rule), seen)


def averages(weights: Function, /, q: Array, k: Array, v: Array, *others: Array, **rule: Any) -> Array:
    """Return the averages of values."""
    return attention.average(weights(q, k, *others, **rule), v)
