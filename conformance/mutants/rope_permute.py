"""What goes wrong where weights move to another layout: the direction, the heads, the part that turns, the axis, and the bias."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from conformance.mutants.building import Function, Mistake, altered, conventions, forcing
from conformance.mutants.rounding import to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import rope

PERMUTE = "rope.permute"
OPPOSITE = {"interleaved_to_half": "half_to_interleaved", "half_to_interleaved": "interleaved_to_half"}
#: From the order of the channels of a part, as it should be, to another.
Order = Callable[[Sequence[int]], Sequence[int]]


def ordered(order: Order) -> Function:
    """Return a permutation whose channels of a part come in another order."""

    def permuted(weight: Array, *, num_heads: int, head_dim: int, rotary_dim: int | None, placement: str, conversion: str) -> Array:
        width = head_dim if rotary_dim is None else rotary_dim
        first = 0 if placement == "first" else head_dim - width
        rows = weight.reshape(num_heads, head_dim, -1).copy()
        part = rows[:, first : first + width]
        rows[:, first : first + width] = part[:, list(order(rope.members(width, conversion)))]
        return rows.reshape(weight.shape)

    return permuted


def of_heads(heads: Callable[[int, int, Sequence[int]], int]) -> Function:
    """Return a permutation of the rows as if there were another number of heads, which divides them or else is right."""

    def permuted(weight: Array, *, num_heads: int, head_dim: int, rotary_dim: int | None, **rule: str) -> Array:
        count = heads(num_heads, head_dim, weight.shape)
        width, left = divmod(weight.shape[0], count)
        if left or width % 2 or (rotary_dim or 0) > width:
            count, width = num_heads, head_dim
        return rope.permute(weight, num_heads=count, head_dim=width, rotary_dim=rotary_dim, **rule)  # type: ignore[arg-type]  # choices

    return permuted


def heads_of_queries(num_heads: int, head_dim: int, shape: Sequence[int]) -> int:
    """Return how many heads fill the input, as those of queries do."""
    return max(shape[1] // head_dim, 1) if len(shape) == 2 else num_heads


def part_at_front(weight: Array, *, num_heads: int, head_dim: int, rotary_dim: int | None, placement: str, conversion: str) -> Array:
    """Write the part that turns before the channels that rest."""
    rule = {"rotary_dim": rotary_dim, "placement": placement, "conversion": conversion}
    moved = rope.permute(weight, num_heads=num_heads, head_dim=head_dim, **rule)  # type: ignore[arg-type]  # as they were given
    rest = 0 if placement == "first" or rotary_dim is None else head_dim - rotary_dim
    return np.roll(moved.reshape(num_heads, head_dim, -1), -rest, axis=1).reshape(weight.shape)


def by_columns(weight: Array, *, num_heads: int, head_dim: int, **rule: object) -> Array:
    """Move the columns of a square weight."""
    square = weight.ndim == 2 and weight.shape[0] == weight.shape[1]
    turned = weight.T if square else weight
    moved = rope.permute(turned, num_heads=num_heads, head_dim=head_dim, **rule)  # type: ignore[arg-type]  # as they were given
    return moved.T if square else moved


def some_heads(chosen: slice) -> Function:
    """Return a permutation of some heads only."""

    def permuted(weight: Array, *, num_heads: int, head_dim: int, **rule: object) -> Array:
        moved = rope.permute(weight, num_heads=num_heads, head_dim=head_dim, **rule)  # type: ignore[arg-type]  # as they were given
        rows = weight.reshape(num_heads, head_dim, -1).copy()
        rows[chosen] = moved.reshape(rows.shape)[chosen]
        return rows.reshape(weight.shape)

    return permuted


def interleaved_heads(weight: Array, *, num_heads: int, head_dim: int, **rule: object) -> Array:
    """Take rows as if heads came last: channel by channel."""
    rows = np.swapaxes(weight.reshape(head_dim, num_heads, -1), 0, 1).reshape(weight.shape)
    moved = rope.permute(rows, num_heads=num_heads, head_dim=head_dim, **rule)  # type: ignore[arg-type]  # as they were given
    return np.swapaxes(moved.reshape(num_heads, head_dim, -1), 0, 1).reshape(weight.shape)


def halves_swapped(order: Sequence[int]) -> Sequence[int]:
    """Return the second members first."""
    half = len(order) // 2
    return [*order[half:], *order[:half]]


def twice(order: Sequence[int]) -> Sequence[int]:
    """Return the order of a part that is moved two times."""
    return [order[channel] for channel in order]


BY_HEAD = "view the rows as (heads, head_dim) first"
MISTAKES: tuple[tuple[Mistake, Function], ...] = (
    (Mistake("not-permuted", "returns the weight as it came", "move the rows of every head to the other layout",
             "permute queries' and keys' weights at loading, or turn in the layout that they were trained in",
             threads=("https://github.com/Dao-AILab/flash-attention/issues/288", "https://github.com/NeuraLegion/shainet/pull/111")),
     lambda weight, **_: weight.copy()),
    (Mistake("permuted-twice", "moves the rows two times, as where a checkpoint was converted already", "move the rows once",
             "ask whether the weights are in the other layout already", origin="in the style of converters run on converted weights"),
     ordered(twice)),
    (Mistake("inverse", "moves the rows the other way: heads of 2 or 4 channels look right", "move them as the conversion says",
             "exchange the axes of pairs and members in the view", origin="in the style of converters written for the way back"),
     altered(PERMUTE, parameters=lambda chosen: {**chosen, "conversion": OPPOSITE[chosen["conversion"]]})),
    (Mistake("heads-as-one", "moves the rows of all heads as those of one", "move the rows head by head", BY_HEAD,
             origin="in the style of code that is tried with one head"), of_heads(lambda *_: 1)),
    (Mistake("heads-of-queries", "takes as many heads as fill the input, also where keys have fewer",
             "take the number of key heads for keys", "pass num_key_value_heads for the key's weight",
             threads=("https://github.com/huggingface/transformers/pull/31788", "https://github.com/huggingface/transformers/issues/31766")),
     of_heads(heads_of_queries)),
    (Mistake("heads-divided", "divides the number of query heads by that of key heads", "take the number of key heads for keys",
             "n_head = n_head_kv, not n_head // n_head_kv: they differ unless heads are the square of key heads, as in Llama 2 70B",
             threads=("https://github.com/ggml-org/llama.cpp/pull/3364",)),
     of_heads(lambda num_heads, *rest: max(heads_of_queries(num_heads, *rest) // num_heads, 1))),
    (Mistake("heads-for-width", "exchanges the number of heads and their width", "view rows as (heads, head_dim)", BY_HEAD,
             origin="in the style of views with exchanged sizes"), of_heads(lambda _, head_dim, __: head_dim)),
    (Mistake("heads-last", "takes rows as (head_dim, heads)", "take them as (heads, head_dim)", BY_HEAD,
             origin="in the style of layers that keep heads last"), interleaved_heads),
    (Mistake("first-head-only", "moves the rows of the first head only", "move the rows of every head", BY_HEAD,
             origin="in the style of code that is tried with one head"), some_heads(slice(1))),
    (Mistake("last-head-left", "leaves the rows of the last head where they are", "move the rows of every head", "count heads from 0",
             origin="in the style of loops that end early"), some_heads(slice(-1))),
    (Mistake("columns-moved", "moves columns instead of rows where both are as many", "move rows: channels of the output",
             "transpose weights that are kept as (input, output) first", origin="in the style of frameworks that keep weights transposed"),
     by_columns),
    (Mistake("bias-left", "leaves biases as they are", "move their rows as those of the weight",
             "permute the biases of queries and keys too",
             threads=("https://github.com/vllm-project/vllm/pull/55335",)),
     lambda weight, **rule: weight.copy() if weight.ndim == 1 else rope.permute(weight, **rule)),
    (Mistake("width-of-head", "moves all channels of a head where a part turns", "move the channels that turn",
             "slice rotary_dim rows of each head", origin="in the style of converters written for Llama, whose heads turn as a whole"),
     forcing(PERMUTE, {"rotary_dim": None})),
    (Mistake("part-at-front", "writes the part that turns before the channels that rest", "write it where it was",
             "put both back in the order that they had", origin="in the style of code that joins [turned, rest]"), part_at_front),
    (Mistake("members-swapped", "writes the second members of all pairs where the first belong", "keep the order of the two members",
             "join first members and second members in this order", origin="in the style of code that splits imaginary and real parts"),
     ordered(halves_swapped)),
    (Mistake("pairs-in-reverse", "writes pairs from the last to the first", "keep the order of pairs", "don't flip them",
             origin="in the style of frequencies that are kept in ascending order"), ordered(lambda order: order[::-1])),
)


def mutants() -> Iterator[Mutant]:
    """Return the mutants of the permutation of weights."""
    yield from conventions(PERMUTE, {}, ("placement", "conversion"))
    for mistake, function in MISTAKES:
        yield mistake.at(PERMUTE, function)
    for dtype in ("bfloat16", "float16"):
        yield Mistake(
            f"{dtype}-weight", f"rounds the weight to {dtype}", "keep every number as it is", "move rows in the dtype that they have",
            kind="precision", origin="in the style of converters that cast as they load",
        ).at(PERMUTE, altered(PERMUTE, result=to(dtype)))  # fmt: skip
