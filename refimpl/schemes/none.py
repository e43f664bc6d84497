"""No encoding: vectors as they are, and attention that can't tell one order of keys from another. What schemes are compared with."""

from typing import Annotated

from refimpl import attention
from refimpl.arrays import Array
from refimpl.cases.none import CASES
from refimpl.forms.attention import Attention
from refimpl.forms.rotary import Features, Keys, Queries
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Count, Law, Positions, Scheme, Source, operation


@operation
def rotate(x: Features, positions: Positions, *, head_dim: Count) -> Features:
    """Return ``x`` itself, wherever its tokens stand: what a layer without rotation (NoPE) does to queries and keys."""
    del positions, head_dim
    return x


def logits(
    q: Queries,
    k: Keys,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
) -> Annotated[Array, "batch query_head query key"]:
    """Return ``q k^T / sqrt(head_dim)``, wherever queries and keys stand."""
    del query_positions, key_positions
    return attention.logits(q, k)


FORM = Attention(logits)
weights = FORM.weights(
    """Return the attention weights ``softmax(q k^T / sqrt(head_dim))``, in the dtype of ``q`` (eq. 1).

    Positions act through the causal mask only, which hides keys whose position exceeds the query's; a query that sees no key raises.
    """
)
attend = FORM.attend("Return ``softmax(q k^T / sqrt(head_dim)) v``, in the dtype of ``v`` (eq. 1).")


@operation
def attend_selected(
    q: Queries,
    k: Keys,
    v: Keys,
    scores: Annotated[Array, "batch query key"],
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *,
    top_k: Count,
    causal: bool = False,
) -> Queries:
    """Return attention over the ``top_k`` keys that score highest of those that a query sees, in the dtype of ``v``.

    A query that sees no more keys attends to all of them. Only the order of scores counts. Which of several keys that score alike is the
    last one selected is free.
    """
    seen = attention.visible(query_positions, key_positions, causal=causal)
    weights = attention.softmax(attention.logits(q, k), attention.selected(scores, seen, top_k))
    return attention.average(weights, v)


def layer(*, num_heads: int, head_dim: int, like: Array) -> attention.Layer:
    """Return the layer that does nothing and learns nothing."""
    del num_heads, head_dim, like
    return attention.Layer()


SCHEME = Scheme(
    name="none",
    operations=(rotate, weights, attend, attend_selected),
    source=Source("Vaswani et al. 2017, Attention Is All You Need", "https://arxiv.org/abs/1706.03762", equations="1"),
    laws={
        "rotate": (Law.LINEAR, Law.ISOMETRY, Law.IDENTITY_AT_ORIGIN, Law.COMPOSITION, Law.RELATIVE, Law.STEPWISE, Law.HEADS),
        "weights": (Law.WEIGHTS_SUM_TO_ONE, Law.PERMUTATION, Law.TRANSLATION, Law.CAUSAL, Law.STEPWISE, Law.HEADS),
        "attend": (Law.CONSTANT_VALUES, Law.PERMUTATION, Law.TRANSLATION, Law.CAUSAL, Law.STEPWISE, Law.HEADS),
        "attend_selected": (
            Law.SELECTED, Law.CONSTANT_VALUES, Law.PERMUTATION, Law.TRANSLATION, Law.CAUSAL, Law.STEPWISE, Law.HEADS,
        ),
    },
    cases=CASES,
    summary="No encoding: attention alone can't tell one order of its keys from another.",
    meanings={
        "x": "queries or keys of a layer that doesn't turn them",
        "positions": "the place of every token in the sequence, which nothing reads",
        "head_dim": "all channels of one head",
        "q": "one query per token and query head",
        "k": "one key per token and key head; consecutive query heads share a key head",
        "v": "one value per token and key head",
        "scores": "how much every query wants each key, as an indexer says (`partial_rope.index_scores`); all heads share them",
        "top_k": "how many keys a query attends to, of those that it sees (index_topk)",
        "query_positions": "the place of every query in the sequence, which only the mask reads",
        "key_positions": "the place of every key in the sequence, which only the mask reads",
        "causal": "whether a query sees only the keys whose position doesn't exceed its own",
    },
    notes=(
        (
            "Without a mask, keys and values that are reordered together give the same result, and reordered queries give reordered "
            "rows: to attention alone a sentence is a bag of words. This is the reason for every other scheme here."
        ),
        (
            "With a causal mask the order is no longer invisible: a query sees only what precedes it, and the number of keys that it "
            "sees grows with its position. Decoders without any encoding work for this reason; the law is therefore stated without a "
            "mask."
        ),
        (
            "Some models leave out the rotation in part of their layers (NoPE): every fourth of Llama 4 and SmolLM3, those of full "
            "attention in Cohere 2 and EXAONE 4. Code that turns every layer answers fluently, and worse the longer the text is."
        ),
        (
            "Sparse attention with an indexer (DeepSeek-AI 2025, eq. 2, https://arxiv.org/abs/2512.02556) attends to the index_topk keys "
            "that score highest: `attend_selected`, of queries and keys that have been turned. DeepSeek-V3.2 and GLM-5 select 2048 tokens "
            "of those that the causal mask leaves, once for all heads; a query that sees fewer attends to all of them. No sequence of up "
            "to index_topk tokens shows a mistake in the selection, so cases select a few of a few more."
        ),
        (
            "Keys that score exactly alike, as those do whose products an indexer clips at 0, leave the last choice free where they stand "
            "at the end of the selection: code differs there, and unstable sorts differ from run to run. Such rows aren't judged."
        ),
    ),
    layer=layer,
)
