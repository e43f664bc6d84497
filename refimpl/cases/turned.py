"""The cases of attention over turned queries and keys: what goes wrong around any rotation, and a scheme's own ones asked once more."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from refimpl.cases import digits
from refimpl.spec import Case

SINGLE = {"query_head": 1, "key_head": 1}

#: What of a rotation every scheme is asked again.
EVERY = ("small-base", "inexact-base", "interleaved-to-half")
#: What a case exposes, what it asks for besides the usual, and the positions of queries and keys.
MET: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    "half-negative": ("only one of the two turned the other way", {"layout": "half", "direction": "negative"}, [9, 1], [2, 5]),
    "page-boundary": ("a table that ends at 4096", {"layout": "half", "sizes": SINGLE}, [4_097], [4_094, 4_095, 4_098]),
    "far": ("half tables, half frequencies", {"q": "sparse", "k": "sparse", "sizes": SINGLE}, [131_071], [65_535, 131_070]),
    "grouped-heads": ("key heads tiled instead of repeated", {"sizes": {"query_head": 4, "key_head": 2}}, [2], [0, 1]),
    "batch-equals-heads": ("positions broadcast along the heads", {"sizes": {"batch": 2}}, [[1], [9]], [[0, 2], [5, 4]]),
    "negative-positions": ("negative positions clamped", {"sizes": SINGLE}, [-1], [-9, -2, 1]),
}
#: The same under a mask.
HIDDEN: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    "causal-decoding": ("the mask aligned to the first key instead of the last", {"layout": "half", "sizes": SINGLE}, [3, 4],
                        [0, 1, 2, 3, 4]),
    "causal-unsorted": ("the mask by index instead of position", {"sizes": SINGLE}, [2, 9], [9, 0, 2, 1]),
    "causal-batched": ("the first row's mask for every row", {"sizes": {"batch": 2, **SINGLE}}, [[1, 2], [0, 9]], [[0, 1, 2], [0, 5, 9]]),
}
BLIND = "every query must see a key, got a query before all keys"
#: What must be refused, with the message.
REFUSED: dict[str, tuple[str, dict[str, Any], Any, Any, str]] = {
    "no-key-heads": ("a division by no heads", {"sizes": {"query_head": 2, "key_head": 0}}, [0], [0],
                     "query_head must be a multiple of key_head (0), got 2"),
    "uneven-groups": ("groups that differ", {"sizes": {"query_head": 3, "key_head": 2}}, [1], [0],
                      "query_head must be a multiple of key_head (2), got 3"),
    "blind-query": ("a query that sees no key", {"sizes": SINGLE}, [0], [1], BLIND),
    "one-blind-query": ("only a mask that hides everything refused", {"sizes": SINGLE}, [0, 2], [1], BLIND),
}


def attention(
    usual: dict[str, Any], rotations: Iterable[Case], names: Collection[str] = (), operations: Collection[str] = ("weights", "attend")
) -> Iterator[Case]:
    """Yield the cases of attention and of its weights: those of every rotation, and some of the rotation's own once more."""
    for operation in operations:
        yield from attended(operation, usual)
        yield from again(operation, rotations, names)


def attended(operation: str, usual: dict[str, Any]) -> Iterator[Case]:
    """Yield the cases of attention or its weights, with what is usual where a case asks for nothing else."""
    build = digits.named(operation)
    for name, (exposes, own, queries, keys) in {**MET, **HIDDEN}.items():
        yield build(name, exposes, **{**usual, **own}, query_positions=queries, key_positions=keys, causal=name in HIDDEN)
    for name, (exposes, own, queries, keys, error) in REFUSED.items():
        yield build(name, exposes, **{**usual, **own}, query_positions=queries, key_positions=keys, causal=True, error=error)
    yield build("large-logits", "powers that overflow: a softmax without its row's greatest logit", **usual, sizes=SINGLE,
                q=large(usual["head_dim"], 0.25), k=large(usual["head_dim"], 63.0), query_positions=[0, 1], key_positions=[0, 1])
    arrays = dict.fromkeys(("q", "k", "v")[: 2 if operation == "weights" else 3], (1, 1, 2, usual["head_dim"]))
    yield from digits.narrowed(build, arrays, **usual, query_positions=[0, 1], key_positions=[0, 1])


def large(head_dim: int, second: float) -> list[list[list[list[float]]]]:
    """Return a large vector and one whose first channel is given, with nothing in the others."""
    return [[[[first] + [0.0] * (head_dim - 1) for first in (64.0, second)]]]


def again(operation: str, cases: Iterable[Case], names: Collection[str] = ()) -> Iterator[Case]:
    """Yield some cases of the rotation once more, asked of attention: what turns meets itself and the origin."""
    for case in cases:
        name = case.name.removeprefix("rotate/")
        if name in (*EVERY, *names) and name != case.name:
            given: dict[str, Any] = {key: value for key, value in case.arguments.items() if key not in ("x", "positions")}
            places: Any = case.arguments["positions"]
            given |= {"query_positions": places[-1:], "key_positions": [*places, 0], "sizes": SINGLE, "tags": case.tags}
            yield Case(f"{operation}/{name}", exposes=case.exposes, error=case.error, **given)
