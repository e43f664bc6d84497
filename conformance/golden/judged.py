"""Which elements of a call at a real size are judged, and what of the call is zero so that the oracle has less to do."""

import inspect
import math
from collections.abc import Mapping

import numpy as np

from conformance.golden import sampling
from conformance.golden.extents import WINDOW, apart, projected, weighs
from conformance.spec.arguments import Arguments, result_shape
from refimpl.schemes import SCHEMES
from refimpl.spec import Operation, axis_names

Generator = np.random.Generator
#: How many elements of a result are judged, at least and at most; of rows that weigh all keys so many at least, and of each so many.
FEWEST, ELEMENTS, ROWS, EACH = 12, 320, 3, 3
#: How many channels of a judged query aren't zero, where all keys are weighed.
LIVE = 1
#: Axes of queries, and of a matrix.
FULL, MATRIX = 4, 2
#: What multiplies keys before a window.
EARLY = 256.0
#: How many of the last of very many keys are looked at.
LAST = 3
#: How many products of channels the oracle is asked for in one call.
PRODUCTS = 800


def judged(operation: Operation, call: Arguments, rng: Generator) -> dict[str, np.ndarray]:
    """Return what is judged of every result of a call, by flat index."""
    return {name: _elements(operation, call, name, rng) for name in operation.results}


def _elements(operation: Operation, call: Arguments, name: str, rng: Generator) -> np.ndarray:
    shape = result_shape(operation, call, name)
    axes = axis_names(operation.results[name], len(shape)) or ()
    cost = _cost(operation, call)
    if weighs(operation):
        return sampling.rows(shape, 3, min(max(PRODUCTS // cost, ROWS), FEWEST), EACH if cost <= WINDOW else 1, rng)
    at = sampling.elements(axes, shape, max(min(ELEMENTS, PRODUCTS // cost), FEWEST), rng)
    return sampling.with_anchors(at, shape[-1]) if axes[-1:] == ("key",) else at


def _cost(operation: Operation, call: Arguments) -> int:
    """Return how many products one element takes: one for each channel of a query, and for each key where it weighs all of them."""
    if apart(operation) or "q" not in call.arrays:
        return 1
    channels = LIVE * (call.arrays["q"].shape[-1] if projected(operation) else 1)
    if _over_heads(operation):
        return channels * int(call.arrays["q"].shape[1])
    return channels * call.arrays["k"].shape[2] if weighs(operation) else channels


def _over_heads(operation: Operation) -> bool:
    """Whether an element takes all heads of a query."""
    return not any({"head", "query_head"} & {*axes.split()} for axes in operation.results.values())


def _queries(operation: Operation, call: Arguments, name: str, flat: np.ndarray) -> list[np.ndarray]:
    """Return where the queries of elements of a result lie, by batch, head and query: all heads where an element takes all."""
    places = np.unravel_index(flat, result_shape(operation, call, name))
    if not _over_heads(operation):
        return list(places[:3])
    batch, query = (np.repeat(place, call.arrays["q"].shape[1]) for place in places[:2])
    return [batch, np.tile(np.arange(call.arrays["q"].shape[1]), len(flat)), query]


def thinned(operation: Operation, call: Arguments, at: Mapping[str, np.ndarray], rng: Generator) -> Arguments:
    """Leave few channels in judged queries, and few weights: what is zero costs the oracle nothing, and is nothing special to code."""
    if "q" not in call.arrays or apart(operation):
        return call
    axes = {name: operation.arrays[name].split() for name, a in call.arrays.items() if a.ndim < FULL}
    weights = {name: _few(call.arrays[name], rng) for name, own in axes.items() if "head" in own[:2] and "query" not in own}
    q = call.arrays["q"].copy()
    for name, flat in at.items():
        judged = np.unique(np.stack(_queries(operation, call, name, flat)), axis=1)
        for batch, head, query in judged.T:
            q[batch, head, query, np.arange(q.shape[-1]) != _live(q.shape[-1], rng)] = 0.0
    if not weighs(operation):
        return call.with_arrays(q=q, **weights)
    count = call.arrays["k"].shape[2]
    raised = _late if count > 2 * WINDOW else _early if count > WINDOW else _risen
    thin = call.with_arrays(q=q, **weights)
    return thin.with_arrays(**raised(thin))


def tuned(operation: Operation, call: Arguments, at: Mapping[str, np.ndarray]) -> Arguments:
    """Let judged queries look loudly at one channel of a fast pair of keys that are alike, and values go with the turn of their keys.

    Else the average of thousands of values would hardly tell one position from the next, and in half precision not at all.
    """
    q, k = call.arrays["q"].copy(), call.arrays["k"]
    fast = _fast(operation, call)
    loud = 2.0 ** (math.log2(q.shape[-1]) // 2)  # logits of 1 to 3, of which half precision keeps enough
    for name, flat in at.items():
        rows = tuple(_queries(operation, call, name, flat))
        q[rows] = np.where(np.arange(q.shape[-1]) == fast, np.copysign(loud, q[rows]), 0.0)
    changed = {"q": q, "k": np.broadcast_to(_significand(k[..., :1, :]), k.shape)}
    if "v" in call.arrays:
        changed["v"] = _going_along(call.arrays["v"], call.arrays["key_positions"])
    return call.with_arrays(**changed)


def _going_along(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return values whose signs go with the turn of a fast pair at their places, in every second channel a quarter turn ahead."""
    quarters = np.arange(values.shape[-1]) % 2 * (math.pi / 2)
    return np.asarray(np.copysign(values, np.cos(np.expand_dims(places, (-3, -1)) + quarters)))


def _fast(operation: Operation, call: Arguments) -> int:
    """Return a channel of the fastest pair: the first, or the first of the part of a head that turns."""
    forms = (getattr(function, "form", None) for function in SCHEMES[operation.name.partition(".")[0]].operations)
    parts = next((form.parts for form in forms if form is not None and hasattr(form, "parts")), None)
    if parts is None:
        return 0
    rule = {name: call.parameters[name] for name in inspect.signature(parts).parameters if name in call.parameters}
    return int(parts(call.arrays["key_positions"], **rule)[0].channels[0])


def _significand(values: np.ndarray) -> np.ndarray:
    """Return numbers between 1 and 2 in magnitude, with all their bits."""
    return np.asarray(2.0 * np.frexp(values)[0])


def _live(width: int, rng: Generator) -> int:
    """Return the channel of a query that isn't zero: one of a fast pair, in either layout, or any; slow pairs hardly turn."""
    return (0, width // 2, int(rng.integers(width)))[int(rng.integers(3))]


def _early(call: Arguments) -> dict[str, np.ndarray]:
    """Return keys of which those before a window are so large that they are looked at, and values; most others are zero."""
    count = call.arrays["k"].shape[2]
    kept = np.zeros((count, 1))
    kept[: count - WINDOW] = kept[sampling.edges(count)] = 1.0
    factors = {"k": np.where(np.arange(count) < count - WINDOW, EARLY, 1.0)[:, None] * kept, "v": kept}
    return {name: call.arrays[name] * factor for name, factor in factors.items() if name in call.arrays}


def _late(call: Arguments) -> dict[str, np.ndarray]:
    """Return queries and keys, the last of which are so large that they are looked at, in turns of opposite sign; most others are zero."""
    k, kept = call.arrays["k"], np.zeros((call.arrays["k"].shape[2], 1))
    kept[sampling.edges(len(kept))] = 1.0
    keys = k * kept
    keys[..., -LAST:, :] = EARLY * _significand(k[..., -1:, :]) * (-1.0) ** np.arange(LAST)[:, None]
    return {"q": _significand(call.arrays["q"]), "k": keys} | {name: call.arrays[name] * kept for name in ("v",) if name in call.arrays}


def _risen(call: Arguments) -> dict[str, np.ndarray]:
    """Double the second half of the keys, so that maxima rise, and let values at edges weigh as much as the others, the last alone too.

    Else a running sum that isn't rescaled, or one key forgotten among thousands, would stay below what rounding may do. What is allowed
    goes with the largest value, so all are alike, and positive, in the last channel, which is always judged: there a sum of weights shows
    that is off by a few keys.
    """
    count = call.arrays["k"].shape[2]
    edges = sampling.edges(count)
    louder = np.ones((count, 1))
    louder[edges] = 2.0 ** round(math.log2(count / len(edges)))
    louder[-1] = 2.0 ** round(math.log2(count))
    rising = np.where(np.arange(count) < count // 2, 1.0, 2.0)[:, None]
    averaged = {name: call.arrays[name] * louder for name in ("v", "values") if name in call.arrays}
    for name, array in averaged.items():
        array[..., -1] = np.abs(call.arrays[name][..., -1])
    return {"k": call.arrays["k"] * rising, **averaged}


def _few(weights: np.ndarray, rng: Generator) -> np.ndarray:
    """Leave few rows, or columns where there are no more than two axes, that aren't zero."""
    kept = weights.copy()
    if kept.ndim > MATRIX:
        kept[rng.permutation(kept.shape[0])[LIVE:]] = 0.0
    elif kept.ndim == MATRIX:
        kept[:, rng.permutation(kept.shape[1])[LIVE:]] = 0.0
    return kept
