"""The cases of attention whose distances are kept within a window only: those of every rotation, and the window's own."""

from collections.abc import Iterator
from typing import Any

from refimpl.cases import digits, rope
from refimpl.cases.turned import SINGLE, attention
from refimpl.spec import Case

#: Keys on both sides of a window of 4 before the query, and after the query.
AROUND: dict[str, Any] = {"query_positions": [9], "key_positions": [0, 3, 4, 5, 6, 7, 8, 9, 12, 14], "sizes": SINGLE}
#: What a case of a window exposes, and what it asks for besides the usual.
WINDOWS: dict[str, tuple[str, dict[str, Any]]] = {
    "around-the-window": ("the last key within the window, or the first beyond it, on the wrong side", AROUND),
    "around-the-window-half": ("keys turned in the place of queries beyond the window", {**AROUND, "layout": "half"}),
    "around-the-window-causal": ("keys beyond the window hidden", {**AROUND, "causal": True}),
    "around-the-window-of-a-small-base": ("a base that is ignored beyond the window", {**AROUND, "base": 100.0}),
    "one-token": ("a window that holds the token itself only", {**AROUND, "window": 1}),
    "two-tokens": ("a window of one", {**AROUND, "window": 2}),
    "wide": ("a window that is ignored where it holds everything", {**AROUND, "window": 64}),
    "authors-window": ("the window counted from the first key", {"window": 512, "query_positions": [512, 2_000], "sizes": SINGLE,
                                                                 "key_positions": [0, 1, 1_487, 1_488, 1_489, 1_900]}),
    "other-window": ("a window of 512 whatever is asked for",
                     {"window": 600, "query_positions": [1_200], "key_positions": [0, 599, 600, 601, 700], "sizes": SINGLE}),
    "decoding": ("the window counted in keys of the cache",
                 {"query_positions": [20], "key_positions": [2, 11, 16, 17, 18, 20], "sizes": SINGLE}),
    "unsorted-keys": ("the window by index instead of position",
                      {"query_positions": [2, 9], "key_positions": [9, 0, 6, 1, 4], "sizes": SINGLE}),
    "batched": ("the first row's window for every row",
                {"sizes": {"batch": 2, **SINGLE}, "query_positions": [[9], [4]], "key_positions": [[0, 5, 8], [0, 1, 3]]}),
    "far-apart": ("distances that grow beyond the window", {"query_positions": [131_071], "key_positions": [0, 65_535, 131_066, 131_069],
                                                            "q": "sparse", "k": "sparse", "sizes": SINGLE}),
    "byte-boundary": ("positions in bfloat16, exact to 256 only",
                      {"query_positions": [257], "key_positions": [253, 255, 256], "sizes": SINGLE}),
    "half-boundary": ("positions in float16, exact to 2048 only",
                      {"query_positions": [2_049], "key_positions": [2_040, 2_047, 2_048], "sizes": SINGLE}),
    "end-of-a-table": ("a table that ends at 4096", {"query_positions": [4_097], "key_positions": [4_092, 4_095, 4_096], "sizes": SINGLE}),
    "million": ("positions that overflow, wrap or end",
                {"query_positions": [1_048_576], "key_positions": [1_048_571, 1_048_575], "q": "sparse", "k": "sparse", "sizes": SINGLE}),
    "odd-window": ("distances, or the window, in half precision",
                   {"window": 4_105, "query_positions": [8_200], "key_positions": [4_094, 4_095, 8_000], "sizes": SINGLE}),
    "eighty-wide": ("exponents in half precision, beyond the window too",
                    {"head_dim": 80, "window": 512, "query_positions": [2_049], "key_positions": [0, 1_530, 2_040], "sizes": SINGLE}),
    "grouped-query-heads": ("key heads tiled instead of repeated beyond the window",
                            {**AROUND, "sizes": {"query_head": 4, "key_head": 2}}),
}
USUAL: dict[str, Any] = {"head_dim": 8, "window": 4}


def windows(usual: dict[str, Any]) -> Iterator[Case]:
    """Yield the cases of the window."""
    for operation in ("weights", "attend"):
        build = digits.named(operation)
        for index, (name, (exposes, own)) in enumerate(WINDOWS.items()):
            common = {"causal": index > 1, "layout": ("interleaved", "half")[index % 2]}
            yield build(name, exposes, **{**usual, **common, **own})
        yield build("no-window", "a window without any token", **{**usual, "window": 0}, sizes=SINGLE, query_positions=[0],
                    key_positions=[0], error="window must be at least 1, got 0")


def rotations(usual: dict[str, Any]) -> Iterator[Case]:
    """Yield rope's own rotations with what is usual here."""
    for case in rope.rotation_cases("rotate"):
        yield Case(case.name, exposes=case.exposes, error=case.error, sizes=case.sizes, **{**usual, **case.arguments})


GROUPED: dict[str, Any] = {"head_dim": 8, "window": 4, "group_size": 2}
#: What a case of groups exposes, and what it asks for besides the usual: window 5 is no multiple of them.
GROUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "window-between-groups": ("the window divided without rounding down", {**AROUND, "window": 5, "group_size": 2}),
    "window-below-a-group": ("the window rounded up", {**AROUND, "window": 3, "group_size": 4}),
    "groups-of-three": ("groups of two whatever is asked for", {**AROUND, "group_size": 3}),
    "groups-of-one": ("groups where every position stands for itself", {**AROUND, "group_size": 1}),
    "one-group": ("distances that grow within the last group", {**AROUND, "group_size": 64}),
    "authors-sizes": ("sizes that are fixed", {"window": 1_024, "group_size": 8, "query_positions": [1_024, 2_047], "sizes": SINGLE,
                                               "key_positions": [0, 1, 7, 8, 1_023, 1_024, 2_040]}),
    "before-zero": ("positions rounded towards 0", {"query_positions": [-1], "key_positions": [-9, -8, -7, -6, -2], "sizes": SINGLE}),
    "first-of-groups": ("positions multiplied by the rounded reciprocal of the group size",
                        {"query_positions": [164, 205, 287], "group_size": 41, "sizes": SINGLE,
                         "key_positions": [0, 40, 41, 42, 81, 82, 83, 122, 123, 160, 163, 164, 165, 246, 280, 287]}),
    "edge-of-a-group": ("the distance divided instead of both positions",
                        {"query_positions": [8, 9], "key_positions": [1, 2, 3, 4], "group_size": 4, "sizes": SINGLE}),
}


def groups(usual: dict[str, Any]) -> Iterator[Case]:
    """Yield the cases of groups beyond the window."""
    for operation in ("weights", "attend"):
        build = digits.named(operation)
        for index, (name, (exposes, own)) in enumerate(GROUPS.items()):
            yield build(name, exposes, **{**usual, "causal": index % 2 == 0, "layout": ("half", "interleaved")[index % 2], **own})
        yield build("no-group", "groups without a position", **{**usual, "group_size": 0}, sizes=SINGLE, query_positions=[0],
                    key_positions=[0], error="group_size must be at least 1, got 0")


CHUNKED: dict[str, Any] = {"head_dim": 8, "chunk_size": 6, "local_size": 2}
#: Chunks of four tokens: a query in reach of the whole chunk before, one that isn't, and keys of all chunks around.
CHUNKS_AROUND: dict[str, Any] = {"query_positions": [9, 11], "key_positions": [0, 3, 4, 5, 7, 8, 9, 11, 12, 14], "sizes": SINGLE}
#: What a case of chunks exposes, and what it asks for besides the usual.
CHUNKS: dict[str, tuple[str, dict[str, Any]]] = {
    "around-chunks": ("the chunk before counted to those farther back", CHUNKS_AROUND),
    "around-chunks-half": ("keys counted from the start of the sequence", {**CHUNKS_AROUND, "layout": "half"}),
    "around-chunks-of-a-small-base": ("a base that is ignored in far chunks", {**CHUNKS_AROUND, "base": 100.0}),
    "edges-of-chunks": ("the first token of a chunk in the chunk before", {"query_positions": [4, 7, 8], "key_positions": [0, 3, 4, 7, 8],
                                                                          "sizes": SINGLE}),
    "edge-of-the-local-part": ("one token more, or less, at its distance",
                               {"query_positions": [10, 11], "key_positions": [4, 5, 6, 7], "chunk_size": 7, "sizes": SINGLE}),
    "chunks-of-one-token": ("chunks without a token", {**CHUNKS_AROUND, "chunk_size": 2, "local_size": 1}),
    "local-part-as-long-as-a-chunk": ("the size where chunks are too short for it", {**CHUNKS_AROUND, "chunk_size": 8, "local_size": 4}),
    "local-part-longer-than-a-chunk": ("distances to chunks two before", {**CHUNKS_AROUND, "chunk_size": 9, "local_size": 6}),
    "authors-sizes": ("sizes that are fixed", {"chunk_size": 3_072, "local_size": 256, "query_positions": [3_072, 3_073, 5_700, 9_000],
                                               "key_positions": [0, 2_815, 2_816, 3_000, 5_632, 5_700], "sizes": SINGLE}),
    "sizes-of-a-million-tokens": ("products of chunks that overflow, positions in half precision",
                                  {"chunk_size": 262_144, "local_size": 8_192, "query_positions": [262_145, 1_010_000], "q": "sparse",
                                   "k": "sparse", "key_positions": [0, 253_951, 253_952, 761_855, 761_856, 1_009_999], "sizes": SINGLE}),
    "odd-sizes": ("the size of a chunk in half precision", {"chunk_size": 4_105, "local_size": 9, "query_positions": [8_192],
                                                            "key_positions": [0, 4_090, 8_191], "sizes": SINGLE}),
    "eighty-wide": ("exponents in half precision, in far chunks too", {"head_dim": 80, "query_positions": [11], "sizes": SINGLE,
                                                                       "key_positions": [0, 3, 5, 9]}),
    "one-chunk": ("chunks that are ignored where one holds everything", {**CHUNKS_AROUND, "chunk_size": 64, "local_size": 32}),
    "decoding-in-chunks": ("chunks counted in keys of the cache",
                           {"query_positions": [23], "key_positions": [2, 11, 16, 17, 19, 20, 23], "sizes": SINGLE}),
    "unsorted-chunks": ("chunks by index instead of position",
                        {"query_positions": [2, 11], "key_positions": [9, 0, 6, 1, 4], "sizes": SINGLE}),
    "batched-chunks": ("the first row's chunks for every row",
                       {"sizes": {"batch": 2, **SINGLE}, "query_positions": [[11], [4]], "key_positions": [[0, 5, 8], [0, 1, 3]]}),
    "byte-boundary": ("positions in bfloat16, exact to 256 only",
                      {"query_positions": [259, 263], "key_positions": [253, 255, 257], "sizes": SINGLE}),
    "half-boundary": ("positions in float16, exact to 2048 only",
                      {"query_positions": [2_051], "key_positions": [2_040, 2_047, 2_048, 2_049], "sizes": SINGLE}),
    "end-of-a-table": ("a table that ends at 4096", {"query_positions": [4_099], "key_positions": [4_089, 4_095, 4_096], "sizes": SINGLE}),
    "million": ("positions that overflow, wrap or end", {"query_positions": [1_048_576], "key_positions": [1_048_571, 1_048_575],
                                                         "q": "sparse", "k": "sparse", "sizes": SINGLE}),
    "before-zero": ("positions below 0 in the first chunk",
                    {"query_positions": [-1, 2], "key_positions": [-9, -6, -5, -4, -1], "sizes": SINGLE}),
    "grouped-query-heads": ("key heads tiled instead of repeated in far chunks",
                            {**CHUNKS_AROUND, "sizes": {"query_head": 4, "key_head": 2}}),
}


def chunks(usual: dict[str, Any]) -> Iterator[Case]:
    """Yield the cases of chunks."""
    for operation in ("weights", "attend"):
        build = digits.named(operation)
        for index, (name, (exposes, own)) in enumerate(CHUNKS.items()):
            yield build(name, exposes, **{**usual, "causal": index % 2 == 1, "layout": ("interleaved", "half")[index // 2 % 2], **own})
        for name, size in (("no-chunk", 6), ("less-than-no-chunk", 7)):
            yield build(name, "chunks without a token", **{**usual, "local_size": size}, sizes=SINGLE, query_positions=[0],
                        key_positions=[0], error=f"local_size must be below chunk_size (6), got {size}")


REROPE = (*attention(USUAL, rotations(USUAL)), *windows(USUAL))
SELF_EXTEND = (*attention(GROUPED, rotations(GROUPED)), *windows(GROUPED), *groups(GROUPED))
DUAL_CHUNK = (*attention(CHUNKED, rotations(CHUNKED)), *chunks(CHUNKED))
