"""What goes wrong where nothing is encoded: vectors that turn all the same, masks by index, scales, groups of heads."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from conformance.mutants.building import Arrays, Function, Mistake, Parameters, altered
from conformance.mutants.rope_attention import INPUT_MISTAKES, MASK_MISTAKES
from conformance.mutants.rounding import rounded
from conformance.spec.mutant import Mutant
from refimpl import attention
from refimpl.arrays import Array
from refimpl.schemes import rope, sinusoidal

OPERATIONS = ("none.weights", "none.attend", "none.attend_selected")
Step = Callable[[Array, Array], Array]
See = Callable[..., Array]
#: From logits, scores, what is seen and ``top_k`` to what is selected.
Choose = Callable[[Array, Array, Array, int], Array]


def chosen(_: Array, scores: Array, seen: Array, top_k: int) -> Array:
    """Return the keys that score highest."""
    return attention.selected(scores, seen, top_k)


@dataclass(frozen=True)
class Plain:
    """Attention in steps, of which some are replaced."""

    see: See = attention.visible
    soften: Step = attention.softmax
    mix: Callable[[Array, Array], Array] = attention.average
    choose: Choose = chosen

    def weights(self, q: Array, k: Array, query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
        """Return the weights."""
        return self.soften(attention.logits(q, k), self.see(query_positions, key_positions, causal=causal))

    def attend(self, q: Array, k: Array, v: Array, query_positions: Array, key_positions: Array, *, causal: bool) -> Array:
        """Return the averages."""
        return self.mix(self.weights(q, k, query_positions, key_positions, causal=causal), v)

    def attend_selected(
        self, q: Array, k: Array, v: Array, scores: Array, query_positions: Array, key_positions: Array, *, top_k: int, causal: bool
    ) -> Array:
        """Return the averages over the keys that are selected."""
        logits, seen = attention.logits(q, k), self.see(query_positions, key_positions, causal=causal)
        return self.mix(self.soften(logits, self.choose(logits, scores, seen, top_k)), v)

    def of(self, operation: str) -> Function:
        """Return what takes an operation's place."""
        return getattr(self, operation.partition(".")[2])  # type: ignore[no-any-return]  # a method of that name


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
    Mistake(
        "softmax-over-queries",
        does="normalises along the queries",
        should="normalise along the keys",
        fix="take the softmax over the last axis",
        origin="in the style of transposed logits",
    ).made_by(Plain(soften=over_queries)),
    Mistake(
        "masked-after-softmax",
        does="hides keys after the softmax, so rows sum to less than 1",
        should="hide keys before the softmax",
        fix="set hidden logits to minus infinity",
        origin="in the style of masks multiplied onto the weights",
    ).made_by(Plain(soften=masked_last)),
    Mistake(
        "hidden-logits-zero",
        does="gives hidden keys the logit 0",
        should="give them minus infinity",
        fix="fill the mask with minus infinity instead of multiplying by it",
        origin="in the style of masks multiplied onto the logits",
    ).made_by(Plain(soften=zero_logits)),
    Mistake(
        "powers-of-two",
        does="raises 2 to the logits",
        should="raise e to the logits",
        fix="multiply the logits by log2(e) before exp2",
        origin="in the style of kernels that use exp2 and forget its scale",
    ).made_by(Plain(soften=base_two)),
    Mistake(
        "softmax-plus-one",
        does="adds 1 to the sum of exponentials, so rows sum to less than 1",
        should="divide by the sum",
        fix="leave out the attention sink",
        origin="in the style of softmax with an attention sink, which some models learn",
    ).made_by(Plain(soften=off_by_one)),
    Mistake(
        "always-causal",
        does="hides later keys whatever is asked for",
        should="see every key unless causal",
        fix="hide later keys only where causal is true",
        origin="in the style of decoder attention used in an encoder",
    ).made_by(Plain(see=always)),
)


#: Vectors, and where their tokens stand.
PLACES = {"q": "query_positions", "k": "key_positions", "x": "positions"}


def each(change: Step) -> Callable[[Arrays, Parameters], Arrays]:
    """Return what changes queries and keys by their positions."""
    return lambda arrays, _: {**arrays, **{name: change(arrays[name], arrays[PLACES[name]]) for name in PLACES if name in arrays}}


def turning(layout: str, direction: str = "positive") -> Step:
    """Return rope all the same; heads of odd width are left alone."""

    def turned(x: Array, positions: Array) -> Array:
        width = x.shape[-1]
        return x if width % 2 or not width else rope.rotate(x, positions, head_dim=width, layout=layout, direction=direction)

    return turned


def sinusoids_added(x: Array, positions: Array) -> Array:
    """Add sinusoids all the same."""
    flat = sinusoidal.encode(positions.reshape(-1), dim=max(2, x.shape[-1]), odd="zero_column")[:, : x.shape[-1]]
    return x + by_head(flat.reshape(*positions.shape, x.shape[-1]))


def by_head(tokens: Array) -> Array:
    """Return numbers of tokens with an axis of heads, where they have a batch."""
    return tokens if tokens.ndim == 2 else tokens[:, None]


LEFT_OVER: tuple[tuple[Mistake, Step], ...] = (
    Mistake(
        "encoding-still-added",
        does="adds sinusoids although no encoding was asked for",
        should="leave queries and keys as they are",
        fix="skip the absolute embedding where another encoding, or none, is configured",
        threads=("https://github.com/EleutherAI/gpt-neox/pull/147",),
    ).made_by(sinusoids_added),
    Mistake(
        "still-rotated",
        does="rotates queries and keys although no encoding was asked for",
        should="leave queries and keys as they are",
        fix="skip the rotation in layers without an encoding",
        threads=("https://github.com/airockchip/rknn-llm/issues/501", "https://github.com/timtoole02/Camelid/pull/535"),
    ).made_by(turning("interleaved")),
    Mistake(
        "still-rotated-in-halves",
        does="rotates queries and keys, channels half a head apart, although no encoding was asked for",
        should="leave queries and keys as they are",
        fix="skip the rotation in layers without an encoding (no_rope_layers has 0 there)",
        threads=("https://github.com/airockchip/rknn-llm/issues/501", "https://github.com/timtoole02/Camelid/pull/535"),
    ).made_by(turning("half")),
)


def part_turned(x: Array, positions: Array) -> Array:
    """Turn the first half of the channels."""
    half = x.shape[-1] // 2
    return np.concatenate([turning("half")(x[..., :half], positions), x[..., half:]], axis=-1)


def grown(x: Array, positions: Array) -> Array:
    """Multiply by the temperature of Llama 4's queries."""
    return x * by_head(1 + 0.1 * np.log1p(np.floor((np.maximum(positions, 0)[..., None] + 1) / 8_192)))


def emptied(x: Array, positions: Array) -> Array:
    """Take tokens at negative positions for padding."""
    return x * by_head((positions >= 0)[..., None])


def sorted_by_position(x: Array, positions: Array) -> Array:
    """Bring tokens into the order of their positions."""
    order = np.argsort(positions, axis=-1, kind="stable")
    return np.take_along_axis(x, by_head(order[..., None]) if order.ndim == 2 else order[None, None, :, None], axis=2)


def normalised(x: Array, _: Array) -> Array:
    """Give every vector the length of its width's root."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6)


STAY = "leave queries and keys as they are"
#: What befalls vectors of layers that don't turn, and is no rotation of the whole head.
UNTURNED: tuple[tuple[Mistake, Step], ...] = (
    Mistake(
        "turned-back",
        does="rotates clockwise although no encoding was asked for",
        should=STAY,
        fix="skip the rotation in layers without an encoding",
        origin="in the style of cached keys that are turned back where they were never turned",
    ).made_by(turning("half", "negative")),
    Mistake(
        "part-rotated",
        does="rotates the first half of the channels",
        should=STAY,
        fix="skip the rotation in layers without an encoding, that of a part of the head too",
        origin="in the style of partial rotation with a default fraction",
    ).made_by(part_turned),
    Mistake(
        "temperature-in-rotation",
        does="multiplies by Llama 4's attention temperature, which grows with the position",
        should=STAY,
        fix="multiply the queries by the temperature where attention does, not the keys too",
        origin="in the style of Llama 4, whose layers without rotation have a temperature",
    ).made_by(grown),
    Mistake(
        "normalised",
        does="divides every vector by its root mean square",
        should=STAY,
        fix="leave the norm of queries and keys to the attention",
        origin="in the style of models that normalise queries and keys after the rotation",
    ).made_by(normalised),
    Mistake(
        "scaled-by-width",
        does="divides by sqrt(head_dim)",
        should=STAY,
        fix="leave the scale of the logits to the attention",
        origin="in the style of kernels that fold the softmax scale into the rotation",
    ).made_by(lambda x, _: x / np.sqrt(x.shape[-1])),
    Mistake(
        "channels-regrouped",
        does="writes neighbouring channels half a head apart, as a rotation that changes the layout does",
        should=STAY,
        fix="skip the change of the layout with the rotation",
        origin="in the style of DeepSeek-V3's apply_rotary_pos_emb_interleave at position 0",
    ).made_by(lambda x, _: np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)),
    Mistake(
        "halves-turned-over",
        does="returns rotate_half of the vectors, what cos = 0 and sin = 1 make of them",
        should=STAY,
        fix="fill the tables of layers without rotation with cos = 1 and sin = 0, or skip them",
        origin="in the style of tables that are filled with the wrong constant",
    ).made_by(lambda x, _: np.concatenate([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], axis=-1)),
    Mistake(
        "zeroed",
        does="returns zeros, what empty tables make of the vectors",
        should=STAY,
        fix="fill the tables of layers without rotation with cos = 1 and sin = 0, or skip them",
        origin="in the style of tables that are allocated and never filled",
    ).made_by(lambda x, _: np.zeros_like(x)),
    Mistake(
        "padding-zeroed",
        does="sets vectors at negative positions to zero",
        should=STAY,
        fix="leave padding to the mask",
        origin="in the style of left padding whose positions are negative",
    ).made_by(emptied),
    Mistake(
        "sorted-by-position",
        does="returns the tokens in the order of their positions",
        should=STAY,
        fix="keep the order of the tokens",
        origin="in the style of tables that are gathered and scattered back",
    ).made_by(sorted_by_position),
    Mistake(
        "cut-to-bfloat16",
        does="rounds vectors to bfloat16",
        should=STAY,
        fix="keep the dtype of the vectors",
        origin="in the style of rotations that cast queries and forget to cast them back",
    ).made_by(lambda x, _: rounded(x, "bfloat16")),
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
    """Return all mutants of no encoding."""
    for mistake, step in (*LEFT_OVER, *UNTURNED):
        yield mistake.at("none.rotate", altered("none.rotate", arrays=each(step)))
    for operation in OPERATIONS:
        for mistake, see in MASK_MISTAKES:
            yield mistake.at(operation, Plain(see=see).of(operation))
        for mistake, change in (*INPUT_MISTAKES, *((mistake, each(step)) for mistake, step in LEFT_OVER)):
            yield mistake.at(operation, altered(operation, arrays=change))
        for mistake, plain in STEP_MISTAKES:
            yield mistake.at(operation, plain.of(operation))
    for operation in OPERATIONS[1:]:
        yield UNWEIGHTED.at(operation, Plain(soften=lambda logits, seen: attention.softmax(0.0 * logits, seen)).of(operation))
        yield TILED_VALUES.at(operation, Plain(mix=tiled_values).of(operation))
