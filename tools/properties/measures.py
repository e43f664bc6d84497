"""Measure what a scheme's layer does to positions; nothing here knows any scheme."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from refimpl import attention
from refimpl.attention import Layer
from refimpl.errors import SpecificationError
from refimpl.spec import Operation, Scheme, describe
from tools.properties.counting import Counter

Maker = Callable[..., Layer]

#: The tokens that properties are measured on.
HEADS, WIDTH, LENGTH = 2, 8, 256
#: Where the token stands from which distances are seen.
ORIGIN = LENGTH // 2
#: A model's width, for what it costs and learns.
MODEL_HEADS, MODEL_WIDTH = 8, 64
#: Differences below this are rounding: float64 holds sixteen digits, and no code is larger than 2^8.
SAME = 1e-9
#: The farthest position that is tried.
FAR = 2**20
SHIFT = 37

KEY = np.linspace(0.5, 2.0, HEADS * WIDTH).reshape(1, HEADS, 1, WIDTH)


@dataclass(frozen=True)
class Cost:
    """How many operations a scheme adds to attention: per token, per pair of tokens, and how many numbers it learns."""

    per_token: int
    per_pair: int
    learned: int


def made(maker: Maker, heads: int = HEADS, width: int = WIDTH) -> Layer:
    """Return a scheme's layer."""
    return maker(num_heads=heads, head_dim=width, like=np.zeros(1))


def tokens(count: int, seed: int) -> np.ndarray:
    """Return so many tokens of dyadic numbers."""
    return np.random.default_rng(seed).integers(-32, 33, (1, HEADS, count, WIDTH)) / 16


def codes(layer: Layer, positions: np.ndarray) -> np.ndarray:
    """Return for every position what a layer makes of one and the same key there, seen by queries at the origin."""
    count = positions.size
    keys = np.broadcast_to(KEY, (1, HEADS, count, WIDTH)).copy()
    parts = [act(keys, positions) for act in (layer.embed, layer.turn_key) if act is not None]
    if layer.logits is not None:
        queries = np.broadcast_to(np.eye(WIDTH), (1, HEADS, WIDTH, WIDTH)).copy()
        parts.append(np.swapaxes(layer.logits(queries, keys, np.full(WIDTH, ORIGIN), positions), -1, -2))
    if layer.mix is not None:
        alone = np.broadcast_to(np.eye(count), (1, HEADS, count, count)).copy()
        parts.append(layer.mix(alone, keys, np.full(count, ORIGIN), positions))
    rows = [np.moveaxis(np.broadcast_to(part, (1, HEADS, *part.shape[-2:]))[0], 0, 1).reshape(count, -1) for part in parts]
    return np.asarray(np.concatenate([np.zeros((count, 1)), *rows], axis=-1))


def different(rows: np.ndarray) -> int:
    """Return how many rows differ from one another by more than rounding."""
    return int(np.unique(np.round(rows / SAME) * SAME, axis=0).shape[0])


def unique(layer: Layer) -> int:
    """Return how many of the first positions have a code that no other has."""
    return different(codes(layer, np.arange(LENGTH)))


def linear(layer: Layer) -> bool:
    """Return whether one affine map takes every code to the code one step later: it is fitted on half of them, and tested on the rest."""
    rows = codes(layer, np.arange(LENGTH + 1))
    before, after = np.hstack([rows[:-1], np.ones((LENGTH, 1))]), rows[1:]
    fitted = np.random.default_rng(3).permutation(LENGTH) < LENGTH // 2
    step, *_ = np.linalg.lstsq(before[fitted], after[fitted], rcond=None)
    return bool(np.abs(before[~fitted] @ step - after[~fitted]).max() < 1e-6)


def cells(layer: Layer, side: int = 8) -> int:
    """Return how many cells of a square grid are told apart when half of the channels or heads take the row, half the column."""
    axis = codes(layer, ORIGIN - side // 2 + np.arange(side))
    return different(np.stack([np.concatenate([row, column]) for row in axis for column in axis]))


def accepts(layer: Layer, position: int) -> bool:
    """Return whether a token can stand at a position, where its code is finite."""
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return bool(np.all(np.isfinite(codes(layer, np.array([position])))))
    except SpecificationError:
        return False


def last(layer: Layer) -> int | None:
    """Return the last position that has a code, or ``None`` where there is no end."""
    if accepts(layer, FAR):
        return None
    low, high = 0, FAR
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if accepts(layer, middle) else (low, middle)
    return low


def deterministic(maker: Maker) -> bool:
    """Return whether a layer made anew gives the same bits."""
    one, other = (codes(made(maker), np.arange(LENGTH)) for _ in range(2))
    return one.tobytes() == other.tobytes()


def over(layer: Layer, positions: np.ndarray) -> np.ndarray:
    """Return causal self-attention over tokens that are always the same."""
    q, k, v = (tokens(positions.size, seed) for seed in (1, 2, 3))
    return np.asarray(attention.attend(layer, q, k, v, positions, positions, causal=True))


def relative(layer: Layer) -> bool:
    """Return whether a common shift of all positions changes nothing."""
    positions = np.arange(12)
    return bool(np.abs(over(layer, positions) - over(layer, positions + SHIFT)).max() < SAME)


def cached(layer: Layer) -> float:
    """Return the largest difference between attention token by token, keys and values kept, and attention over all tokens at once."""
    positions = np.arange(12)
    q, k, v = (tokens(positions.size, seed) for seed in (1, 2, 3))
    cache, rows = None, []
    for step in positions:
        now = slice(step, step + 1)
        cache = attention.append(layer, cache, k[:, :, now], v[:, :, now], positions[now])
        rows.append(attention.decode(layer, cache, q[:, :, now], positions[now]))
    return float(np.abs(np.concatenate(rows, axis=2) - over(layer, positions)).max())


def outlives_length(scheme: Scheme) -> bool:
    """Return whether a turned key stays right when the sequence grows by a token: always, where no operation is told the length."""
    told = [describe(function.__name__, function) for function in scheme.operations]
    return all(_same_beyond(contract) for contract in told if "length" in contract.parameters and "x" in contract.arrays)


def _same_beyond(contract: Operation) -> bool:
    """Return whether the longest sequence of the original length and one that is a token longer turn a key alike."""
    given = {"head_dim": WIDTH, "original_length": ORIGIN, "max_length": LENGTH, "length": ORIGIN}
    parameters = {name: value for name, value in given.items() if name in contract.parameters}
    factors = [np.full(WIDTH // 2, 1.0 + index) for index, axes in enumerate(contract.arrays.values()) if axes == "pair"]
    one, other = (contract.function(KEY, np.array([9]), *factors, **{**parameters, "length": ORIGIN + more}) for more in (0, 1))
    return bool(np.abs(one - other).max() < SAME)


def touches_values(layer: Layer) -> bool:
    """Return whether attention to a single token gives anything but its value."""
    q, k, v = (tokens(1, seed) for seed in (1, 2, 3))
    return bool(np.abs(attention.attend(layer, q, k, v, np.array([9]), np.array([5])) - v).max() > SAME)


def places(layer: Layer) -> tuple[str, ...]:
    """Return where a layer acts, in the order of attention."""
    acts = {
        "input": layer.embed,
        "queries": layer.turn_query,
        "keys": layer.turn_key,
        "logits": layer.logits,
        "values": layer.mix,
    }
    return tuple(place for place, act in acts.items() if act is not None)


def cost(maker: Maker) -> Cost:
    """Return what a scheme adds to attention, as the reference computes it; what acts on the input is counted once."""
    extra = [_operations(maker, count) for count in (4, 8, 16, 32)]
    # Through three lengths goes one parabola a + b n + c n^2; the fourth must lie on it.
    first, second = extra[1] - extra[0], extra[2] - extra[1]
    pair = Fraction(second - 2 * first, 96)
    token = Fraction(first, 4) - 12 * pair
    start = extra[0] - 4 * token - 16 * pair
    if start + 32 * token + 1024 * pair != extra[3]:
        message = f"the cost must grow with tokens and pairs of tokens only, got {extra} for 4, 8, 16 and 32 tokens"
        raise ValueError(message)
    return Cost(round(token), round(pair), made(maker, MODEL_HEADS, MODEL_WIDTH).learned)


def _operations(maker: Maker, count: int) -> int:
    """Return how many operations a layer needs beyond plain attention."""
    counter = Counter()
    layer = maker(num_heads=MODEL_HEADS, head_dim=MODEL_WIDTH, like=counter.array(np.zeros(1)))
    counter.operations = 0
    plain = _attending(counter, Layer(), count)
    embedded = _embedding(counter, layer, count)
    return embedded + _attending(counter, replace(layer, embed=None), count) - plain


def _attending(counter: Counter, layer: Layer, count: int) -> int:
    before = counter.operations
    x, positions = _tokens(counter, count)
    attention.attend(layer, x, x, x, positions, positions)
    return counter.operations - before


def _embedding(counter: Counter, layer: Layer, count: int) -> int:
    before = counter.operations
    if layer.embed is not None:
        layer.embed(*_tokens(counter, count))
    return counter.operations - before


def _tokens(counter: Counter, count: int) -> tuple[object, object]:
    x = np.random.default_rng(4).integers(1, 33, (1, MODEL_HEADS, count, MODEL_WIDTH)) / 16
    return counter.array(x), counter.array(np.arange(count))
