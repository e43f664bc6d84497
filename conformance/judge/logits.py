"""What an error means in attention logits ``q.k / sqrt(head_dim)``; docs/precision.md derives the formulas."""

import math
from collections.abc import Mapping

import numpy as np

from conformance.spec.arguments import farthest
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector

#: The operations whose error has a meaning in logits, by the end of their name.
ROTATIONS = ("rotate", "rotate_searched")
BIAS, CODE = "bias", "encode"
MEASURED = (*ROTATIONS, BIAS, CODE)
#: What the vectors whose positions climb from 1 to a million have in their names.
LADDER = "/by-position"
#: From this width on a head has fast pairs between 1 and a tenth of a radian per token, whose angles err the most.
WIDE = 64


def typical(relative: float) -> float:
    """Return the root mean square of a logit's error: both rotations off by that share of the length, errors unrelated."""
    return math.sqrt(2.0) * relative


def worst(relative: float, head_dim: int) -> float:
    """Return what no error of a logit exceeds, where query and key have length ``sqrt(head_dim)``."""
    return math.sqrt(head_dim) * relative * (2.0 + relative)


def family(operation: str) -> str:
    """Return an operation's name without its scheme."""
    return operation.split(".", 1)[1]


def errors(vector: Vector, values: Mapping[str, np.ndarray]) -> dict[int, float]:
    """Return the largest error at every position: of a bias in logits, else as a share of the right result's length.

    Elements that a vector samples don't make whole vectors, so nothing is said of these.
    """
    if vector.expected is None or vector.at or family(vector.operation) not in MEASURED:
        return {}
    right, got = vector.expected["result"], values["result"]
    if family(vector.operation) == BIAS:
        return largest(places(vector), _of_bias(right, got, free=vector.equality == "row_constant"))
    return largest(places(vector)[..., 0], relative(right, got))


def in_logits(vector: Vector, values: Mapping[str, np.ndarray]) -> tuple[tuple[int, float], ...]:
    """Return the typical error of a logit at every position, where the vector can tell: a bias, or the rotation of a wide head."""
    name, width = family(vector.operation), vector.parameters.get("head_dim")
    if name == BIAS:
        return tuple(sorted(errors(vector, values).items()))
    if name not in ROTATIONS or not isinstance(width, int) or width < WIDE:
        return ()
    return tuple((position, typical(error)) for position, error in sorted(errors(vector, values).items()))


def relative(right: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Return how long the error is as a share of the right result's length, over the last axis."""
    length = np.linalg.norm(right, axis=-1)
    error = np.linalg.norm(got - right, axis=-1)
    return np.asarray(np.divide(error, length, out=np.zeros_like(error), where=length > 0))


def places(vector: Vector) -> np.ndarray:
    """Return the position of every element of what the vector expects: of its token, or the farther one of query and key."""
    shape = next(iter((vector.expected or {}).values())).shape
    if family(vector.operation) == BIAS:
        query, key = (np.abs(vector.inputs[name]) for name in ("query_positions", "key_positions"))
        return np.broadcast_to(np.maximum(query[..., None, :, None], key[..., None, None, :]), shape)
    return np.broadcast_to(at_tokens(far(vector), len(shape))[..., None], shape)


def far(vector: Vector) -> np.ndarray:
    """Return how far every token lies from 0."""
    return farthest(operations()[vector.operation].arrays["positions"], vector.inputs["positions"])


def at_tokens(positions: np.ndarray, rank: int) -> np.ndarray:
    """Return positions so that they broadcast along the tokens of a result of that rank; heads come between batch and token."""
    return positions[:, None, :] if positions.ndim > 1 and rank > 3 else positions


def _of_bias(right: np.ndarray, got: np.ndarray, *, free: bool) -> np.ndarray:
    """Return the error of a bias; softmax doesn't see a constant per row, so where that is free the first key's is taken off."""
    difference = got - right
    with np.errstate(invalid="ignore"):  # where masked elements are taken from one another there is no number, and none is kept
        return np.asarray(np.abs(difference - difference[..., :1] if free else difference))


def largest(places: np.ndarray, found: np.ndarray) -> dict[int, float]:
    """Return the largest finite number at every position."""
    worst_at: dict[int, float] = {}
    for place, error in zip(places.ravel().tolist(), found.ravel().tolist(), strict=True):
        if math.isfinite(error):
            worst_at[int(place)] = max(worst_at.get(int(place), 0.0), error)
    return worst_at
