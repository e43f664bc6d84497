"""What goes wrong with attention itself: masks by index, scales, groups of heads, a softmax along the wrong axis."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from conformance.mutants.building import Arrays, Function, Mistake, Parameters, altered
from conformance.mutants.rope_attention import INPUT_MISTAKES, MASK_MISTAKES
from conformance.spec.mutant import Mutant
from refimpl import attention
from refimpl.arrays import Array
from refimpl.schemes import rope, sinusoidal

OPERATIONS = ("none.weights", "none.attend")
Soften = Callable[[Array, Array], Array]
See = Callable[..., Array]


@dataclass(frozen=True)
class Plain:
    """Attention in steps, of which some are replaced."""

    see: See = attention.visible
    soften: Soften = attention.softmax
    mix: Callable[[Array, Array], Array] = attention.average

    def weights(self, q: Array, k: Array, query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
        """Return the weights."""
        return self.soften(attention.logits(q, k), self.see(query_positions, key_positions, causal=causal))

    def attend(self, q: Array, k: Array, v: Array, query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
        """Return the averages."""
        return self.mix(self.weights(q, k, query_positions, key_positions, causal=causal), v)

    def of(self, operation: str) -> Function:
        """Return what takes an operation's place."""
        return self.weights if operation == "none.weights" else self.attend


def over_queries(logits: Array, seen: Array) -> Array:
    """Normalise along the queries; where nobody sees a key it has weight 0."""
    turned = np.broadcast_to(seen, logits.shape).swapaxes(-1, -2)
    powers = np.where(turned, np.exp(logits.swapaxes(-1, -2)), 0.0)
    return (powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-300)).swapaxes(-1, -2)


def masked_last(logits: Array, seen: Array) -> Array:
    """Hide keys after the softmax, so that what is left doesn't sum to 1."""
    return np.where(seen, attention.softmax(logits, np.ones_like(seen)), 0.0)


def zero_logits(logits: Array, seen: Array) -> Array:
    """Multiply logits by the mask: hidden keys have logit 0, not minus infinity."""
    return attention.softmax(np.where(seen, logits, 0.0), np.ones_like(seen))


def base_two(logits: Array, seen: Array) -> Array:
    """Raise 2 to the logits."""
    return attention.softmax(logits * np.log(2.0), seen)


def off_by_one(logits: Array, seen: Array) -> Array:
    """Add 1 to the sum of exponentials."""
    powers = np.where(seen, np.exp(logits), 0.0)
    return powers / (1.0 + powers.sum(axis=-1, keepdims=True))


def always(query_positions: Array, key_positions: Array, *, causal: bool) -> Array:  # noqa: ARG001  whatever is asked for
    """Hide later keys from every query that sees an earlier one."""
    seen = key_positions[..., None, :] <= query_positions[..., :, None]
    seen = seen | ~seen.any(axis=-1, keepdims=True)
    return seen if seen.ndim == 2 else seen[:, None]


STEP_MISTAKES: tuple[tuple[Mistake, Plain], ...] = (
    (
        Mistake(
            "softmax-over-queries",
            does="normalises along the queries",
            should="normalise along the keys",
            fix="take the softmax over the last axis",
            origin="in the style of transposed logits",
        ),
        Plain(soften=over_queries),
    ),
    (
        Mistake(
            "masked-after-softmax",
            does="hides keys after the softmax, so rows sum to less than 1",
            should="hide keys before the softmax",
            fix="set hidden logits to minus infinity",
            origin="in the style of masks multiplied onto the weights",
        ),
        Plain(soften=masked_last),
    ),
    (
        Mistake(
            "hidden-logits-zero",
            does="gives hidden keys the logit 0",
            should="give them minus infinity",
            fix="fill the mask with minus infinity instead of multiplying by it",
            origin="in the style of masks multiplied onto the logits",
        ),
        Plain(soften=zero_logits),
    ),
    (
        Mistake(
            "powers-of-two",
            does="raises 2 to the logits",
            should="raise e to the logits",
            fix="multiply the logits by log2(e) before exp2",
            origin="in the style of kernels that use exp2 and forget its scale",
        ),
        Plain(soften=base_two),
    ),
    (
        Mistake(
            "softmax-plus-one",
            does="adds 1 to the sum of exponentials, so rows sum to less than 1",
            should="divide by the sum",
            fix="leave out the attention sink",
            origin="in the style of softmax with an attention sink, which some models learn",
        ),
        Plain(soften=off_by_one),
    ),
    (
        Mistake(
            "always-causal",
            does="hides later keys whatever is asked for",
            should="see every key unless causal",
            fix="honour causal",
            origin="in the style of decoder attention used in an encoder",
        ),
        Plain(see=always),
    ),
)


def turned(arrays: Arrays, _: Parameters) -> Arrays:
    """Rotate queries and keys all the same, where their width is even."""
    width = arrays["q"].shape[-1]
    if width % 2:
        return arrays
    names = {"q": "query_positions", "k": "key_positions"}
    return {**arrays, **{name: rope.rotate(arrays[name], arrays[at], head_dim=width) for name, at in names.items()}}


def still_added(arrays: Arrays, _: Parameters) -> Arrays:
    """Add sinusoids to queries and keys all the same."""

    def moved(x: Array, positions: Array) -> Array:
        flat = sinusoidal.encode(positions.reshape(-1), dim=max(2, x.shape[-1]), odd="zero_column")[:, : x.shape[-1]]
        code = flat.reshape(*positions.shape, x.shape[-1])
        return x + (code if code.ndim == 2 else code[:, None])

    names = {"q": "query_positions", "k": "key_positions"}
    return {**arrays, **{name: moved(arrays[name], arrays[at]) for name, at in names.items()}}


LEFT_OVER: tuple[tuple[Mistake, Callable[[Arrays, Parameters], Arrays]], ...] = (
    (
        Mistake(
            "encoding-still-added",
            does="adds sinusoids although no encoding was asked for",
            should="leave queries and keys as they are",
            fix="skip the absolute embedding where another encoding, or none, is configured",
            threads=("https://github.com/EleutherAI/gpt-neox/pull/147",),
        ),
        still_added,
    ),
    (
        Mistake(
            "still-rotated",
            does="rotates queries and keys although no encoding was asked for",
            should="leave queries and keys as they are",
            fix="skip the rotation in layers without an encoding",
            origin="in the style of models that rotate in some layers only",
        ),
        turned,
    ),
)

UNWEIGHTED = Mistake(
    "values-averaged-equally",
    does="averages the values that are seen without weighing them",
    should="weigh them by the softmax",
    fix="multiply by the weights",
    origin="in the style of attention that was stubbed out",
)
TILED_VALUES = Mistake(
    "values-tiled",
    does="gives query head i the value head i mod value heads, with the keys in order",
    should="share each value head among consecutive query heads",
    fix="repeat_interleave the value heads as the key heads",
    origin="in the style of grouped attention with repeat instead of repeat_interleave",
)


def tiled_values(weights: Array, v: Array) -> Array:
    """Average the values of another head."""
    return attention.average(weights, v[:, np.arange(weights.shape[1]) % v.shape[1]])


def mutants() -> Iterator[Mutant]:
    """Return all mutants of attention without an encoding."""
    for operation in OPERATIONS:
        for mistake, see in MASK_MISTAKES:
            yield mistake.at(operation, Plain(see=see).of(operation))
        for mistake, change in (*INPUT_MISTAKES, *LEFT_OVER):
            yield mistake.at(operation, altered(operation, arrays=change))
        for mistake, plain in STEP_MISTAKES:
            yield mistake.at(operation, plain.of(operation))
    yield UNWEIGHTED.at("none.attend", Plain(soften=lambda logits, seen: attention.softmax(0.0 * logits, seen)).attend)
    yield TILED_VALUES.at("none.attend", Plain(mix=tiled_values).attend)
