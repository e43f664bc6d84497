"""What goes wrong with DA-Transformer's factors, and with the logits that they multiply."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from conformance.mutants.building import Mistake, altered
from conformance.mutants.none import zero_logits
from conformance.mutants.positions import position_mutants
from conformance.mutants.rope_attention import INPUT_MISTAKES, MASK_MISTAKES
from conformance.spec.mutant import Mutant
from refimpl import attention
from refimpl.arrays import Array

PAPER = "in the style of formulas read from secondary sources: the authors published no code"
COPIED = "in the style of formulas copied without a term"
OPERATIONS = ("rescale", "weights", "attend")


def sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + e^(-x))``."""
    return np.where(x >= 0, 1.0, np.exp(-np.abs(x))) / (1.0 + np.exp(-np.abs(x)))


def between(query: Array, key: Array) -> Array:
    """Return how far every query is from every key, for every head."""
    return np.abs(query[..., None, :, None] - key[..., None, None, :]).astype(np.float64)


def factor(reach: Array, limit: Array) -> Array:
    """Return ``(1 + e^v) sigmoid(w R - v)``."""
    return (1.0 + np.exp(limit)) * sigmoid(reach - limit)


def product(logits: Array, factors: Array) -> Array:
    """Return logits clipped at 0, then multiplied."""
    return np.maximum(logits, 0.0) * factors


def overflowing(reach: Array, limit: Array) -> Array:
    """Return a quotient of powers; no number where they overflow, which is what the mistake is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (1.0 + np.exp(limit)) * np.exp(reach) / (np.exp(reach) + np.exp(limit))


@dataclass(frozen=True)
class Aware:
    """The scheme with some steps replaced."""

    distance: Callable[[Array, Array], Array] = between
    factor: Callable[[Array, Array], Array] = factor
    logit: Callable[[Array, Array], Array] = product
    see: Callable[..., Array] = attention.visible
    soften: Callable[[Array, Array], Array] = attention.softmax
    learned: Callable[[Array], Array] = np.asarray

    def rescale(self, query: Array, key: Array, weight: Array, limit: Array) -> Array:
        """Return the factor of every head, query and key."""
        w, v = (self.learned(x)[:, None, None] for x in (weight, limit))
        return self.factor(w * self.distance(query, key), v)

    def weights(self, q: Array, k: Array, query: Array, key: Array, weight: Array, limit: Array, *, causal: bool) -> Array:
        """Return the weights."""
        logits = self.logit(attention.logits(q, k), self.rescale(query, key, weight, limit))
        return self.soften(logits, self.see(query, key, causal=causal))

    def attend(self, q: Array, k: Array, values: Array, *others: Array, causal: bool) -> Array:
        """Return the average of the values."""
        return attention.average(self.weights(q, k, *others, causal=causal), values)


RIGHT = Aware()
FACTOR_MISTAKES: tuple[tuple[Mistake, Aware], ...] = (
    Mistake(
        "distance-signed",
        does="uses query minus key with its sign: later keys fall below 1",
        should="use the distance",
        fix="take the magnitude",
        origin=COPIED,
    ).made_by(replace(RIGHT, distance=lambda m, n: (m[..., None, :, None] - n[..., None, None, :]).astype(np.float64))),
    Mistake(
        "distance-from-one",
        does="counts a token as one away from itself",
        should="give a token distance 0 from itself, where the factor is 1",
        fix="don't add 1 to the distance",
        origin="in the style of off-by-one boundaries",
    ).made_by(replace(RIGHT, distance=lambda m, n: between(m, n) + 1.0)),
    Mistake(
        "distance-normalised",
        does="divides the distance by the number of keys",
        should="use the real distance, in tokens",
        fix="don't normalise",
        origin=PAPER,
    ).made_by(replace(RIGHT, distance=lambda m, n: between(m, n) / n.shape[-1])),
    Mistake(
        "numerator-missing",
        does="returns the plain sigmoid, between 0 and 1",
        should="multiply it by 1 + e^v, so that distance 0 has factor 1",
        fix="multiply by 1 + exp(v)",
        origin=COPIED,
    ).made_by(replace(RIGHT, factor=lambda reach, limit: sigmoid(reach - limit))),
    Mistake(
        "numerator-linear",
        does="multiplies the sigmoid by 1 + v",
        should="multiply it by 1 + e^v",
        fix="exponentiate v before 1 is added",
        origin=PAPER,
    ).made_by(replace(RIGHT, factor=lambda reach, limit: (1.0 + limit) * sigmoid(reach - limit))),
    Mistake(
        "saturation-ignored",
        does="leaves the saturation out: twice a sigmoid",
        should="shift the sigmoid by v and multiply it by 1 + e^v",
        fix="use both learned numbers",
        origin=COPIED,
    ).made_by(replace(RIGHT, factor=lambda reach, limit: 2.0 * sigmoid(reach) + 0.0 * limit)),
    Mistake(
        "saturation-added",
        does="adds v to the exponent's other side: sigmoid(w R + v)",
        should="subtract it: sigmoid(w R - v)",
        fix="negate v in the sigmoid",
        origin="in the style of signs lost when a quotient is rewritten",
    ).made_by(replace(RIGHT, factor=lambda reach, limit: (1.0 + np.exp(-limit)) * sigmoid(reach + limit))),
    Mistake(
        "weight-positive",
        does="makes the weight positive: far keys always gain",
        should="keep its sign",
        fix="don't clip or square the weight",
        origin=PAPER,
    ).made_by(replace(RIGHT, factor=lambda reach, limit: factor(np.abs(reach), limit))),
    Mistake(
        "rising-only",
        does="clips w R at 0 instead of the logits: negative weights do nothing",
        should="clip the logits, not the distances",
        fix="apply the ReLU to q k",
        origin=PAPER,
    ).made_by(replace(RIGHT, factor=lambda reach, limit: factor(np.maximum(reach, 0.0), limit))),
    Mistake(
        "powers-overflow",
        does="divides powers that overflow: e^(w R) (1 + e^v) / (e^(w R) + e^v)",
        should="stay finite for every distance",
        fix="use a sigmoid",
        origin="in the style of quotients of exponentials",
    ).made_by(replace(RIGHT, factor=overflowing)),
    Mistake(
        "heads-in-reverse",
        does="gives the heads their learned numbers in reverse",
        should="give head h its own",
        fix="keep the order of the heads",
        origin="in the style of head orders that change on one device",
    ).made_by(replace(RIGHT, learned=lambda x: x[::-1])),
    Mistake(
        "first-head-for-all",
        does="uses the first head's learned numbers for all",
        should="use two numbers per head",
        fix="index the learned numbers by head",
        origin=PAPER,
    ).made_by(replace(RIGHT, learned=lambda x: np.broadcast_to(x[:1], x.shape))),
)


LOGIT_MISTAKES: tuple[tuple[Mistake, Aware], ...] = (
    Mistake(
        "relu-missing",
        does="multiplies negative logits too",
        should="clip logits at 0 first",
        fix="apply ReLU to q k",
        origin=COPIED,
    ).made_by(replace(RIGHT, logit=lambda z, r: z * r)),
    Mistake(
        "magnitude-for-relu",
        does="takes the magnitude of logits",
        should="clip them at 0",
        fix="apply ReLU to q k",
        origin=PAPER,
    ).made_by(replace(RIGHT, logit=lambda z, r: np.abs(z) * r)),
    Mistake(
        "factor-added",
        does="adds the factor to the clipped logit",
        should="multiply by it",
        fix="multiply",
        origin="in the style of biases: the scheme multiplies",
    ).made_by(replace(RIGHT, logit=lambda z, r: np.maximum(z, 0.0) + r)),
    Mistake(
        "factor-missing",
        does="leaves the distances out",
        should="multiply clipped logits by the factor",
        fix="multiply on every path",
        origin=COPIED,
    ).made_by(replace(RIGHT, logit=lambda z, r: np.maximum(z, 0.0) + 0.0 * r)),
    Mistake(
        "clipped-below-one",
        does="never lets a factor raise a logit",
        should="let factors reach 1 + e^v",
        fix="don't clip the factor",
        origin=PAPER,
    ).made_by(replace(RIGHT, logit=lambda z, r: np.maximum(z, 0.0) * np.minimum(r, 1.0))),
    Mistake(
        "mask-before-relu",
        does="masks before the ReLU, which turns minus infinity into 0: hidden keys are seen",
        should="mask after the product",
        fix="apply the mask last",
        origin="in the style of masks that are added to q k",
    ).made_by(replace(RIGHT, soften=zero_logits)),
)


POSITION_SLUGS = (
    "positions-ignored", "first-position-counts", "first-row-for-all", "clamped-at-2048", "clamped-at-4096", "negative-positions-clamped",
)


def attention_mutants(name: str) -> Iterator[Mutant]:
    """Return what befalls attention and its weights."""
    operation = f"da_transformer.{name}"
    for mistake, aware in LOGIT_MISTAKES:
        yield mistake.at(operation, getattr(aware, name))
    for mistake, see in MASK_MISTAKES:
        yield mistake.at(operation, getattr(replace(RIGHT, see=see), name))
    for mistake, change in INPUT_MISTAKES:
        yield mistake.at(operation, altered(operation, arrays=change))


def mutants() -> Iterator[Mutant]:
    """Return all mutants of DA-Transformer."""
    for name in OPERATIONS:
        for mistake, aware in FACTOR_MISTAKES:
            yield mistake.at(f"da_transformer.{name}", getattr(aware, name))
        yield from position_mutants(f"da_transformer.{name}", POSITION_SLUGS)
    for name in ("weights", "attend"):
        yield from attention_mutants(name)
