"""The cases of RetNet: rope's, which turn otherwise here, and decays of near and far keys in few and many heads."""

from collections.abc import Iterator
from typing import Any

from refimpl.cases import rope
from refimpl.cases.biases import batched
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

#: What a case of the decay exposes, its heads, and the positions of queries and keys.
DECAYS: dict[str, tuple[str, int, Any, Any]] = {
    "first-positions": ("heads counted from one", 2, [0, 1, 2], [0, 1, 2]),
    "one-head": ("the head axis dropped", 1, [3], [0, 2]),
    "later-keys": ("later keys that decay like earlier ones, or grow", 2, [2], [2, 3, 9]),
    "decoding": ("the query at 0 instead of after the cache", 3, [9], [0, 1, 2, 8, 9]),
    "unsorted": ("positions replaced by their index", 2, [9, 0], [2, 9, 2]),
    "square": ("head, query and key exchanged", 3, [0, 2, 9], [1, 0, 2]),
    "eight-heads": ("decays in half precision: 1 from the fifth or the eighth head on", 8, [64], [0, 63]),
    "twelve-heads": ("a number of heads that is a power of two taken for granted", 12, [300], [0, 44]),
    "many-heads": ("a decay that is 1 in single precision, and later keys with it", 24, [1, 131_071], [0, 2]),
    "a-thousand-tokens": ("the logarithm of a decay in half precision", 5, [1_000], [0, 500]),
    "byte-boundary": ("positions in bfloat16, exact to 256 only", 2, [257], [255, 256]),
    "half-boundary": ("positions in float16, exact to 2048 only", 2, [2_049], [2_046, 2_047, 2_048]),
    "page-boundary": ("a table of positions that ends at 4096", 2, [4_097], [4_094, 4_095]),
    "far": ("distances that underflow to what isn't 0", 4, [131_071], [0, 65_535, 131_070]),
    "million": ("positions that overflow or wrap", 2, [1_048_576], [0, 1_048_575]),
    "negative-positions": ("negative positions clamped", 2, [-2], [-9, -3, 1]),
}
SPREAD: dict[str, tuple[str, int, Any, Any]] = {
    "spread": ("rates that double whatever is asked for", 4, [2, 9], [0, 2]),
    "spread-over-one-head": ("a division by the number of heads less one", 1, [9], [0, 8]),
    "spread-over-two-heads": ("rates that end before 1/512 where there are few", 2, [9], [0, 8]),
    "spread-over-five-heads": ("rates that end before 1/512", 5, [257], [0, 255]),
    "spread-over-forty-heads": ("rates that go beyond 1/512", 40, [2_049], [0, 2_048]),
}


def turns() -> Iterator[Case]:
    """Yield the cases of the rotation."""
    build = named("rotate")
    yield from rope.rotation_cases("rotate")
    yield build("two-pairs", "rope's frequencies", head_dim=4, positions=[1, 3])
    yield build("three-pairs-of-a-small-base", "frequencies of channels for those of pairs", head_dim=6, base=100.0, positions=[1, 40])
    yield from narrowed(build, {"x": (1, 1, 2, 4)}, head_dim=4, positions=[0, 1])


def decays() -> Iterator[Case]:
    """Yield the cases of the decay."""
    build = named("decay")
    for rates, cases in (("doubling", DECAYS), ("spread", SPREAD)):
        for name, (exposes, heads, queries, keys) in cases.items():
            yield build(name, exposes, num_heads=heads, rates=rates, query_positions=queries, key_positions=keys)
    yield from batched("decay", num_heads=2)
    place: dict[str, Any] = {"query_positions": [0], "key_positions": [0]}
    yield build("no-heads", "no head at all", num_heads=0, **place, error="num_heads must be at least 1, got 0")
    yield build("unknown-rates", "rates that don't exist", num_heads=2, rates="even", **place,
                error="rates must be one of doubling, spread, got 'even'")
    yield build("real-positions", "positions that aren't integers", num_heads=2, query_positions=[0.5], key_positions=[0],
                error="query_positions must be integers, got float64")


CASES = (*turns(), *decays())
