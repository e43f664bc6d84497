"""The cases of every bias: rows of the batch with positions of their own, as left padding makes them, and attention with a bias."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from refimpl.cases import digits
from refimpl.spec import Case

ROWS: dict[str, tuple[str, Any, Any]] = {
    "left-padding": ("the first row's positions used for every row", [[2, 3], [0, 1]], [[0, 1, 2, 3], [0, 0, 0, 1]]),
    "batch-equals-all": ("batch, head, query and key exchanged", [[0, 3], [5, 1]], [[2, 0], [1, 9]]),
    "batched-queries": ("an optional axis of the queries taken for another", [[9], [2]], [0, 2, 5]),
    "batched-keys": ("an optional axis of the keys taken for another", [2, 1], [[0, 2, 9], [9, 0, 3]]),
}


def batched(operation: str, ending: str = "", **given: Any) -> tuple[Case, ...]:
    """Return the cases of an operation with what it is given besides positions, for two heads, and batches that differ."""
    cases = (
        Case(f"{operation}/{name}{ending}", exposes=exposes, query_positions=queries, key_positions=keys, **given)
        for name, (exposes, queries, keys) in ROWS.items()
    )
    uneven = Case(f"{operation}/uneven-batches{ending}", exposes="batches that broadcast by accident", query_positions=[[0], [1]],
                  key_positions=[[0], [1], [2]], error="axis 'batch' is 3 in key_positions but 2 in query_positions", **given)
    return (*cases, uneven)


#: What a case of attention exposes, its heads, its other sizes, and the positions of queries and keys.
MET: dict[str, tuple[str, int, dict[str, int], Any, Any]] = {
    "first-positions": ("the bias divided by sqrt(head_dim) with the logits", 2, {"head_dim": 4}, [0, 1, 2], [0, 1, 2]),
    "one-channel": ("a division by head_dim instead of its root, right for width 1 only", 1, {"head_dim": 1}, [1, 2], [0, 1, 2]),
    "odd-width": ("an even width taken for granted", 2, {"head_dim": 5}, [2], [0, 9]),
    "common-width": ("a bias scaled for another width", 1, {"head_dim": 64}, [2], [0, 1]),
    "decoding": ("the query at 0 instead of after the cache", 2, {"head_dim": 4}, [9], [0, 2, 8, 9]),
    "chunk": ("all queries of a chunk at one position", 2, {"head_dim": 2}, [3, 4], [1, 2, 3, 4]),
    "later-keys": ("later keys without a bias of their own", 2, {"head_dim": 2}, [1], [0, 1, 2, 9]),
    "beyond-127": ("distances that end at 127", 2, {"head_dim": 1}, [300], [0, 150, 299]),
    "square": ("queries and keys exchanged", 3, {"head_dim": 3}, [0, 1, 2], [2, 1, 0]),
    "batch-equals-heads": ("batch and head exchanged", 2, {"head_dim": 2, "batch": 2}, [1], [0, 1]),
    "grouped-heads": ("key heads tiled instead of repeated, or the bias of the key's head", 4, {"head_dim": 2, "key_head": 2}, [2], [0, 1]),
    "one-key-head": ("as many key heads as heads taken for granted", 3, {"head_dim": 2, "key_head": 1}, [2, 9], [0, 1]),
    "batched": ("the first row's positions for every row", 2, {"head_dim": 2, "batch": 2}, [[0, 1], [5, 7]], [[0, 1, 2], [7, 5, 6]]),
    "batched-keys": ("an optional axis taken for another", 2, {"head_dim": 2, "batch": 2}, [2, 1], [[0, 1], [2, 3]]),
    "unsorted": ("positions replaced by their index", 2, {"head_dim": 2}, [9, 0], [2, 9, 2]),
    "negative-positions": ("negative positions clamped", 2, {"head_dim": 2}, [-2], [-9, -3, 1]),
    "byte-boundary": ("positions, or distances, in bfloat16", 2, {"head_dim": 2}, [257], [0, 1, 255, 256]),
    "half-boundary": ("positions in float16, exact to 2048 only", 2, {"head_dim": 2}, [2_049], [0, 1, 2_047, 2_048]),
    "far-apart": ("distances in float16, exact to 2048 only", 2, {"head_dim": 1}, [2_051], [0, 1, 2]),
    "page-boundary": ("positions that end at 2048 or 4096", 2, {"head_dim": 2}, [4_097], [4_094, 4_095, 4_098]),
    "million": ("positions that overflow or wrap", 2, {"head_dim": 1}, [1_048_575, 1_048_576], [1_048_574, 1_048_576]),
}
#: The same under a causal mask.
HIDDEN: dict[str, tuple[str, int, dict[str, int], Any, Any]] = {
    "causal": ("a mask that hides nothing", 2, {"head_dim": 2}, [0, 1, 2], [0, 1, 2]),
    "causal-decoding": ("a mask by index", 2, {"head_dim": 2}, [3, 4], [0, 1, 2, 3, 4]),
    "causal-unsorted": ("a mask by index where keys are not in order", 2, {"head_dim": 2}, [2, 9], [9, 0, 2, 1]),
    "causal-batched": ("the first row's mask for every row", 2, {"head_dim": 2, "batch": 2}, [[1, 2], [0, 9]], [[0, 1, 2], [0, 5, 9]]),
    "causal-half-boundary": ("positions compared in half precision", 2, {"head_dim": 1}, [2_048], [2_047, 2_049, 2_048]),
}
BLIND = "every query must see a key, got a query before all keys"
#: What must be refused, with the message.
REFUSED: dict[str, tuple[str, int, dict[str, int], Any, Any, str]] = {
    "blind-query": ("a query that sees no key", 2, {}, [0], [1], BLIND),
    "one-blind-query": ("only a mask that hides everything refused", 2, {}, [0, 2], [1], BLIND),
    "no-key-heads": ("a division by no heads", 2, {"key_head": 0}, [0], [0], "head must be a multiple of key_head (0), got 2"),
    "uneven-groups": ("groups that differ", 3, {"key_head": 2}, [0], [0], "head must be a multiple of key_head (2), got 3"),
    "real-positions": ("positions that aren't integers", 2, {}, [0.5], [0], "query_positions must be integers, got float64"),
}


#: What is asked of a bias besides the one that is asked for all: enough to tell every mistake of attention with a bias.
FEW = (
    "odd-width", "batch-equals-heads", "grouped-heads", "batched-keys", "negative-positions", "page-boundary", "far-apart",
    "causal-decoding", "causal-unsorted", "causal-batched", "causal-half-boundary",
)


def attended(
    operation: str, given: Callable[[int], Mapping[str, Any]], table: tuple[int, int] | None = None, names: Collection[str] = FEW
) -> Iterator[Case]:
    """Yield the cases of attention or its weights with those names, those that are refused, and those that need every digit.

    ``given`` returns what a number of heads takes besides queries, keys and positions; a ``table`` of that shape needs every digit too.
    """
    for name, (exposes, heads, sizes, queries, keys) in {**MET, **HIDDEN}.items():
        if name in names:
            yield met(f"{operation}/{name}", exposes, given(heads), {"head": heads, **sizes}, queries, keys, causal=name in HIDDEN)
    for name, (exposes, heads, sizes, queries, keys, error) in REFUSED.items():
        yield met(f"{operation}/{name}", exposes, given(heads), {"head": heads, **sizes}, queries, keys, causal=True, error=error)
    # One channel where the bias is a table: the values of neighbours differ in sign then, and show what half formats make of the table.
    shape = (1, 2, 2, 2 if table is None else 1)
    arrays: dict[str, tuple[int, ...]] = dict.fromkeys(("q", "k", "v")[:3 if operation == "attend" else 2], shape)
    arrays |= {} if table is None else {"table": table}
    yield from digits.narrowed(digits.named(operation), arrays, query_positions=[0, 1], key_positions=[0, 1], **given(2))


def overflowing(operation: str, **given: Any) -> Case:
    """Return a case of attention, or its weights, with one head and one channel, whose logits no exponential holds."""
    return Case(
        f"{operation}/large-logits", exposes="powers that overflow: a softmax without its row's greatest logit",
        sizes={"head": 1, "head_dim": 1}, q=[[[[64.0], [0.25]]]], k=[[[[64.0], [63.0]]]], query_positions=[0, 1], key_positions=[0, 1],
        **given,
    )


def again(operation: str, cases: Iterable[Case], **sizes: int) -> Iterator[Case]:
    """Yield cases of a bias once more, asked of attention with it or of its weights: one channel, one head of keys."""
    for case in cases:
        given: dict[str, Any] = {"sizes": {"head_dim": 1, "key_head": 1, **sizes, **case.sizes}, **case.arguments}
        yield Case(f"{operation}/{case.name.partition('/')[2]}", exposes=case.exposes, tags=case.tags, error=case.error, **given)


def chosen(cases: Iterable[Case], names: Collection[str]) -> list[Case]:
    """Return the cases with those names, without their operation."""
    return [case for case in cases if case.name.partition("/")[2] in names]


def met(name: str, exposes: str, given: Mapping[str, Any], sizes: Mapping[str, int], queries: Any, keys: Any, **others: Any) -> Case:
    """Return one case, whose sizes are its own and those that are given."""
    merged = {**given, "sizes": {"head_dim": 2, **sizes, **given.get("sizes", {})}}
    return Case(name, exposes=exposes, query_positions=queries, key_positions=keys, **merged, **others)
