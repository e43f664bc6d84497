"""What goes wrong where attention sees the keys alone that score highest: which are selected, for whom, and what the others still do."""

from collections.abc import Iterator

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.none import Choose, Plain, chosen
from conformance.mutants.rounding import rounded
from conformance.spec.mutant import Mutant
from refimpl import attention
from refimpl.arrays import Array

OPERATION = "none.attend_selected"
HIGHEST = "select the top_k keys that score highest of those that the query sees"
EACH = "let every query select by its own scores"


def among(open_to: Array, scores: Array, seen: Array, top_k: int) -> Array:
    """Select among other keys than are seen; where none of these is seen, attend to all that are."""
    kept = seen & attention.selected(scores, open_to, top_k)
    return kept | (seen & ~kept.any(axis=-1, keepdims=True))


def of_each_head(logits: Array, _: Array, seen: Array, top_k: int) -> Array:
    """Let every head select by its own logits."""
    return np.concatenate([attention.selected(logits[:, head], seen, top_k) for head in range(logits.shape[1])], axis=1)


def of_the_chunk(_: Array, scores: Array, seen: Array, top_k: int) -> Array:
    """Select among as many keys as there are queries."""
    return among(seen & (np.arange(scores.shape[-1]) < scores.shape[-2]), scores, seen, top_k)


def padded(
    q: Array, k: Array, v: Array, scores: Array, query_positions: Array, key_positions: Array, *, top_k: int, causal: bool
) -> Array:  # fmt: skip
    """Attend to the first key once more for every key that a query lacks."""
    taken = chosen(q, scores, attention.visible(query_positions, key_positions, causal=causal), top_k)
    often = np.where(taken, 1.0, 0.0)
    often[..., 0] += min(top_k, k.shape[2]) - often.sum(axis=-1)
    with np.errstate(divide="ignore"):
        logits = attention.logits(q, k) + np.log(often)
    return attention.average(attention.softmax(logits, often > 0.0), v)


SELECTIONS: tuple[tuple[Mistake, Choose], ...] = (
    Mistake(
        "all-attended",
        does="attends to every key that a query sees",
        should=HIGHEST,
        fix="hide the other keys",
        origin="in the style of code that loads the model as one with dense attention",
    ).made_by(lambda _, scores, seen, top_k: seen | (0.0 * scores[:, None] > top_k)),
    Mistake(
        "one-more",
        does="selects one key more than top_k",
        should=HIGHEST,
        fix="keep top_k entries of the order, not those up to index top_k",
        origin="in the style of partitions at an index",
    ).made_by(lambda _, scores, seen, top_k: attention.selected(scores, seen, top_k + 1)),
    Mistake(
        "one-fewer",
        does="selects one key fewer than top_k",
        should=HIGHEST,
        fix="compare with >= the score of the last one that is selected, not >",
        origin="in the style of thresholds",
    ).made_by(lambda _, scores, seen, top_k: attention.selected(scores, seen, max(top_k - 1, 1))),
    Mistake(
        "lowest-selected",
        does="selects the keys that score lowest",
        should=HIGHEST,
        fix="sort in descending order",
        origin="in the style of sorts and partitions that ascend",
    ).made_by(lambda _, scores, seen, top_k: attention.selected(-scores, seen, top_k)),
    Mistake(
        "magnitudes-selected",
        does="selects the keys whose scores are largest in magnitude",
        should="select by the scores with their signs: head weights may be negative",
        fix="leave the magnitude out",
        origin="in the style of top-k over gradients and weights",
    ).made_by(lambda _, scores, seen, top_k: attention.selected(np.abs(scores), seen, top_k)),
    Mistake(
        "scores-in-bfloat16",
        does="compares scores that are rounded to bfloat16",
        should="compare scores in the dtype in which they are given",
        fix="cast after the selection",
        origin="in the style of caches of an indexer that are narrower than its scores",
    ).made_by(lambda _, scores, seen, top_k: attention.selected(rounded(scores, "bfloat16"), seen, top_k)),
    Mistake(
        "selected-before-the-mask",
        does="selects among all keys and hides later ones then, so that fewer are left",
        should=HIGHEST,
        fix="set scores of hidden keys to minus infinity before the top-k",
        threads=("https://github.com/HKUSTDial/flash-sparse-attention/issues/146",),
    ).made_by(lambda _, scores, seen, top_k: among(np.ones_like(seen), scores, seen, top_k)),
    Mistake(
        "later-keys-selected",
        does="selects among all keys, and attends to those of later positions too",
        should=HIGHEST,
        fix="set scores of hidden keys to minus infinity before the top-k",
        threads=("https://github.com/huggingface/transformers/issues/45820",),
    ).made_by(lambda _, scores, seen, top_k: attention.selected(scores, np.ones_like(seen), top_k)),
    Mistake(
        "unmasked-where-all-are-selected",
        does="hides nothing where there are no more than top_k keys",
        should="hide later keys all the same",
        fix="build the causal mask where the selection is skipped",
        threads=("https://github.com/osaurus-ai/vmlx-swift/pull/429",),
    ).made_by(
        lambda _, scores, seen, top_k: attention.selected(scores, seen if top_k < scores.shape[-1] else np.ones_like(seen), top_k)
    ),
    Mistake(
        "selected-for-all-queries",
        does="lets a query attend to what any query selects",
        should=EACH,
        fix="mask query by query instead of gathering the keys of all queries into one list",
        threads=("https://github.com/huggingface/transformers/issues/45758",),
    ).made_by(lambda _, scores, seen, top_k: seen & attention.selected(scores, seen, top_k).any(axis=-2, keepdims=True)),
    Mistake(
        "selected-by-the-first-query",
        does="selects for all queries by the scores of the first",
        should=EACH,
        fix="index the selection by query",
        origin="in the style of decoding kernels that are written for one token of a step",
    ).made_by(lambda _, scores, seen, top_k: attention.selected(np.broadcast_to(scores[:, :1], scores.shape), seen, top_k)),
    Mistake(
        "selected-by-the-first-row",
        does="selects for all rows of a batch by the scores of the first",
        should="let every row of a batch select by its own scores",
        fix="index the selection by row",
        origin="in the style of masks that are built once for a batch",
    ).made_by(lambda _, scores, seen, top_k: attention.selected(np.broadcast_to(scores[:1], scores.shape), seen, top_k)),
    Mistake(
        "selected-by-each-head",
        does="lets every head select keys of its own, by its logits",
        should="select once for all heads, by the scores",
        fix="sum the heads of the indexer before the top-k, and use one selection for all heads",
        threads=("https://github.com/ml-explore/mlx-lm/pull/531",),
    ).made_by(of_each_head),
    Mistake(
        "last-keys-selected",
        does="selects the last keys that a query sees, what sorts make of scores that are all 0",
        should=HIGHEST,
        fix="look at the scores: a sum over heads may return zeros for large shapes",
        threads=("https://github.com/ml-explore/mlx-lm/pull/1454",),
    ).made_by(
        lambda _, scores, seen, top_k: attention.selected(np.broadcast_to(np.arange(float(scores.shape[-1])), scores.shape), seen, top_k)
    ),
    Mistake(
        "first-key-kept",
        does="always selects the first key, in place of another",
        should=HIGHEST,
        fix="let scores decide alone, as in training",
        threads=("https://github.com/ml-explore/mlx-lm/pull/1552",),
    ).made_by(
        lambda _, scores, seen, top_k: attention.selected(np.where(np.arange(scores.shape[-1]) == 0, np.inf, scores), seen, top_k)
    ),
    Mistake(
        "selected-in-the-chunk",
        does="looks at as many keys as there are queries, from the first on",
        should=HIGHEST,
        fix="score the keys of the cache too, not those of a chunk's length",
        threads=("https://github.com/hw-native-sys/pypto-lib/issues/592",),
    ).made_by(of_the_chunk),
)
PADDED = Mistake(
    "first-key-for-padding",
    does="fills up the list of a query that sees fewer than top_k keys with the first key, and attends to it again",
    should="attend to every key that is selected once",
    fix="mark padding of a list of keys, and give it the logit minus infinity",
    origin="in the style of lists of keys that are padded with 0",
)
ONES = Mistake(
    "ones-added",
    does="adds 1 to the logits of selected keys, and hides nothing",
    should="hide the keys that aren't selected",
    fix="add minus infinity where a key isn't selected, and 0 where it is",
    threads=("https://github.com/HKUSTDial/flash-sparse-attention/issues/146",),
)


def added(logits: Array, taken: Array) -> Array:
    """Add a mask of ones and zeros to logits."""
    return attention.softmax(logits + taken, np.ones_like(taken))


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong with a selection, beyond what goes wrong with attention."""
    for mistake, choose in SELECTIONS:
        yield mistake.at(OPERATION, Plain(choose=choose).attend_selected)
    yield PADDED.at(OPERATION, padded)
    yield ONES.at(OPERATION, Plain(soften=added).attend_selected)
