"""The cases of attention without an encoding: every way to be wrong about a mask, a scale or a group of heads."""

from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

WIDTH = {"head_dim": 4}


def attention_cases(name: str) -> tuple[Case, ...]:
    """Return the cases that attention and its weights share."""
    return (
        Case(f"{name}/first-positions", exposes="an encoding that is still added", sizes=WIDTH, query_positions=[0, 1, 2],
             key_positions=[0, 1, 2]),
        Case(f"{name}/one-channel", exposes="a division by head_dim instead of its root, right for width 1 only", sizes={"head_dim": 1},
             query_positions=[1, 2], key_positions=[0, 1, 2]),
        Case(f"{name}/odd-width", exposes="an even width taken for granted", sizes={"head_dim": 5}, query_positions=[2],
             key_positions=[0, 9]),
        Case(f"{name}/common-width", exposes="logits that overflow or are scaled late", sizes={"head_dim": 64, "query_head": 1},
             query_positions=[2], key_positions=[0]),
        Case(f"{name}/decoding", exposes="one query taken for all", sizes=WIDTH, query_positions=[257], key_positions=[255, 256, 257]),
        Case(f"{name}/one-key", exposes="a softmax over queries: a lone key has weight 1", sizes=WIDTH, query_positions=[0, 1, 9],
             key_positions=[0]),
        Case(f"{name}/single-token", exposes="an axis of length 1 dropped", sizes={**WIDTH, "query_head": 1}, query_positions=[9],
             key_positions=[9]),
        Case(f"{name}/square", exposes="queries and keys swapped", sizes={"head_dim": 3, "query_head": 3}, query_positions=[0, 1, 2],
             key_positions=[2, 1, 0]),
        Case(f"{name}/batch-equals-heads", exposes="batch and head swapped", sizes={**WIDTH, "batch": 2}, query_positions=[1],
             key_positions=[0, 1]),
        Case(f"{name}/far", exposes="positions that still act", sizes=WIDTH, query_positions=[131_071], key_positions=[0, 65_535]),
        Case(f"{name}/negative-positions", exposes="negative positions taken for padding", sizes=WIDTH, query_positions=[-1],
             key_positions=[-9, -2]),
        Case(f"{name}/grouped-heads", exposes="key heads tiled instead of repeated", sizes={**WIDTH, "query_head": 4, "key_head": 2},
             query_positions=[2], key_positions=[0, 1]),
        Case(f"{name}/one-key-head", exposes="as many key heads as query heads taken for granted",
             sizes={**WIDTH, "query_head": 3, "key_head": 1}, query_positions=[2, 9], key_positions=[0, 1]),
        Case(f"{name}/sparse", exposes="a channel left out of the sum", sizes={"head_dim": 8, "query_head": 1}, q="sparse", k="sparse",
             query_positions=[2], key_positions=[0, 1]),
        Case(f"{name}/causal", exposes="future keys seen", sizes=WIDTH, causal=True, query_positions=[0, 1, 2], key_positions=[0, 1, 2]),
        Case(f"{name}/causal-unsorted", exposes="the mask by index instead of position", sizes=WIDTH, causal=True, query_positions=[2, 9],
             key_positions=[9, 0, 2, 1]),
        Case(f"{name}/causal-decoding", exposes="the mask aligned to the first key instead of the last", sizes=WIDTH, causal=True,
             query_positions=[3, 4], key_positions=[0, 1, 2, 3, 4]),
        Case(f"{name}/causal-batched", exposes="the first row's mask for every row", sizes={**WIDTH, "batch": 2}, causal=True,
             query_positions=[[1, 2], [0, 9]], key_positions=[[0, 1, 2], [0, 5, 9]]),
        Case(f"{name}/causal-half-boundary", exposes="positions compared in half precision", sizes=WIDTH, causal=True,
             query_positions=[2_048], key_positions=[2_047, 2_049, 2_048]),
        Case(f"{name}/causal-page-boundary", exposes="a mask that ends at 4096", sizes=WIDTH, causal=True, query_positions=[4_096],
             key_positions=[4_095, 4_096, 4_097]),
        Case(f"{name}/causal-million", exposes="positions compared in single precision or wrapped", sizes=WIDTH, causal=True,
             query_positions=[1_048_575], key_positions=[0, 1_048_575, 1_048_576]),
        Case(f"{name}/blind-query", exposes="a query that sees no key", sizes=WIDTH, causal=True, query_positions=[0], key_positions=[1],
             error="every query must see a key, got a query before all keys"),
        Case(f"{name}/large-logits", exposes="powers that overflow: a softmax without its row's greatest logit", query_positions=[0, 1],
             key_positions=[0, 1], q=[[[[64.0], [0.25]]]], k=[[[[64.0], [63.0]]]]),
        Case(f"{name}/unseen-key", exposes="a mask that is asked for every key instead of every query", causal=True,
             query_positions=[[0, 1], [1, 2]], key_positions=[[0, 1, 9], [0, 9, 1]], sizes={**WIDTH, "batch": 2}),
        Case(f"{name}/one-blind-query", exposes="only a mask that hides everything refused", causal=True, query_positions=[0, 2],
             key_positions=[1], sizes=WIDTH,
             error="every query must see a key, got a query before all keys"),
        Case(f"{name}/no-key-heads", exposes="a division by the number of key heads", query_positions=[0], key_positions=[0],
             sizes={**WIDTH, "query_head": 2, "key_head": 0}, error="query_head must be a multiple of key_head (0), got 2"),
        Case(f"{name}/uneven-groups", exposes="query heads that don't divide among the key heads",
             sizes={**WIDTH, "query_head": 3, "key_head": 2}, query_positions=[1], key_positions=[0],
             error="query_head must be a multiple of key_head (2), got 3"),
        Case(f"{name}/real-positions", exposes="positions that aren't integers", sizes=WIDTH, query_positions=[0.5], key_positions=[0],
             error="query_positions must be integers, got float64"),
    )


CASES = (
    *attention_cases("weights"),
    *attention_cases("attend"),
    *narrowed(named("weights"), {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2)}, query_positions=[0, 1], key_positions=[0, 1]),
    *narrowed(named("attend"), {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2), "v": (1, 1, 2, 2)}, query_positions=[0, 1], key_positions=[0, 1]),
    Case("attend/fewer-values", exposes="values that don't belong to the keys", query_positions=[0], key_positions=[0, 1],
         k=[[[[1.0, 0.5], [0.25, 1.0]]]], v=[[[[1.0, 0.5]]]], sizes={"query_head": 1},
         error="axis 'key' is 1 in v but 2 in k"),
)
