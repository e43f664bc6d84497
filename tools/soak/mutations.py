"""Damage bytes and trees in seeded, repeatable ways."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

DEEP = 2_000
PIECES = (
    *(b"\xff\xfe", b"\xc3", b"\x00", b"\xef\xbb\xbf", b"\\ud800", b"\\", b'"', b"'", b"\n", b"\r", b"\t", b"\x1b[31m", b"\x85"),
    *(b"NaN", b"Infinity", b"1e999", b"-1", b"1.0", b"0x10", b"1_000", b"9" * 30, b"9" * 5_000, b".nan", b".inf", b"null", b"true", b"~"),
    *(b"[", b"]", b"{", b"}", b"[" * DEEP, b'{"a":' * DEEP, b"- " * DEEP, b"," * 9, b": ", b"? "),
    *(b"&a ", b"*a", b"<<: *a", b"!!python/object/apply:os.system ['true']", b"!x ", b"%YAML 9.9\n", b"---\n", b"...\n", b"| \n", b"# "),
    *(b'"id":7,"id":8,', b'"shape":[0,1073741824,1073741824,1073741824],', b"=", b"A" * 20_000),
)
SCALARS = (
    *(None, True, False, 0, 1, -1, 1.0, 0.5, -0.0, 2**31, 2**63, 10**18, 1e308, 5e-324),
    *("", "x", "\ud800", "a\nb", "é" * 300, "<script>", "[!", "*", "float64", "int64", "exact", "9e9", "1/3"),
    *("999999999999999999e99", "failed", "result", "timed_out", "2026-13-01", "<1,,2", "infinite"),
)
SHAPES: tuple[Any, ...] = (
    *([], [0], [0, 2**23, 2**23, 2**23], [0, *[2**30] * 7], [-1], [[1]], [1.0], [None], [10**18, 1]),
    *({}, {"": 0}, {"a\nb": [1]}),
)
Node = tuple[Any, Any]


def seeded(seed: str) -> random.Random:
    """Return a generator that gives the same numbers for the same seed."""
    return random.Random(seed)  # noqa: S311  damage, not secrets


def damaged(chance: random.Random, whole: bytes) -> bytes:
    """Return bytes with one to three places damaged."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        whole = chance.choice(DAMAGES)(chance, whole)
    return whole


def _slice(chance: random.Random, whole: bytes) -> tuple[int, int]:
    start = chance.randint(0, len(whole))
    return start, min(len(whole), start + chance.choice((1, 2, 8, 64, 512)))


def _cut(chance: random.Random, whole: bytes) -> bytes:
    return whole[: chance.randint(0, len(whole))]


def _drop(chance: random.Random, whole: bytes) -> bytes:
    start, end = _slice(chance, whole)
    return whole[:start] + whole[end:]


def _repeat(chance: random.Random, whole: bytes) -> bytes:
    start, end = _slice(chance, whole)
    return whole[:end] + whole[start:end] * chance.choice((1, 1, 50)) + whole[end:]


def _move(chance: random.Random, whole: bytes) -> bytes:
    start, end = _slice(chance, whole)
    rest = whole[:start] + whole[end:]
    to = chance.randint(0, len(rest))
    return rest[:to] + whole[start:end] + rest[to:]


def _flip(chance: random.Random, whole: bytes) -> bytes:
    start, end = _slice(chance, whole)
    return whole[:start] + chance.randbytes(end - start) + whole[end:]


def _insert(chance: random.Random, whole: bytes) -> bytes:
    at = chance.randint(0, len(whole))
    return whole[:at] + chance.choice(PIECES) + whole[at:]


def _digits(chance: random.Random, whole: bytes) -> bytes:
    """Put something else where a digit stands."""
    places = [index for index, byte in enumerate(whole) if 48 <= byte <= 57]
    if not places:
        return whole
    at = chance.choice(places)
    return whole[:at] + chance.choice(PIECES) + whole[at + 1 :]


DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (_cut, _drop, _repeat, _move, _flip, _insert, _digits)


def changed(chance: random.Random, tree: Any) -> Any:
    """Change one to three nodes of a tree of mappings and lists, in place: another value, none, another name, twice."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places = list(_places(tree))
        if places:
            chance.choice(CHANGES)(chance, *chance.choice(places))
    return tree


def _places(tree: Any) -> Iterator[Node]:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def _another(chance: random.Random, parent: Any, key: Any) -> None:
    parent[key] = copy.deepcopy(chance.choice((*SCALARS, *SHAPES)))


def _number(chance: random.Random, parent: Any, key: Any) -> None:
    parent[key] = chance.choice((chance.randint(-(2**70), 2**70), chance.uniform(-9, 9), float(chance.randint(0, 9)), chance.randint(0, 9)))


def _none(_: random.Random, parent: Any, key: Any) -> None:
    del parent[key]


def _named(chance: random.Random, parent: Any, key: Any) -> None:
    value = parent.pop(key)
    if isinstance(parent, dict):
        parent[chance.choice(("x", "", "a\nb", "values", "error", f"{key} "))] = value


def _twice(_: random.Random, parent: Any, key: Any) -> None:
    if isinstance(parent, list):
        parent.append(parent[key])
    else:
        parent[f"{key}2"] = parent[key]


def _wrapped(chance: random.Random, parent: Any, key: Any) -> None:
    value = parent[key]
    for _ in range(chance.choice((1, 1, 14))):
        value = [value]
    parent[key] = value


CHANGES: tuple[Callable[[random.Random, Any, Any], None], ...] = (_another, _another, _number, _none, _named, _twice, _wrapped)
