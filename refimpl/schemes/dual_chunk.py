"""Dual chunk attention: rope whose positions begin anew in every chunk, so that a longer sequence has no longer distances than training."""

from refimpl.arrays import Array, array_namespace
from refimpl.cases.windowed import DUAL_CHUNK as CASES
from refimpl.errors import SpecificationError
from refimpl.forms import windowed
from refimpl.forms.windowed import Windowed, pairs
from refimpl.schemes import rope
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Count, Law, Scheme, Source


def length(chunk_size: int, local_size: int) -> int:
    """Return how many tokens a chunk has: ``s = chunk_size - local_size``."""
    if local_size >= chunk_size:
        message = f"local_size must be below chunk_size ({chunk_size}), got {local_size}"
        raise SpecificationError(message)
    return chunk_size - local_size


def near(query_positions: BatchedQueryPositions, key_positions: BatchedKeyPositions, *, chunk_size: Count, local_size: Count) -> Array:
    """Return where a key lies in the query's chunk, or in the chunk before it while ``m mod s <= local_size``."""
    query, key = pairs(query_positions, key_positions)
    long = length(chunk_size, local_size)
    apart = query // long - key // long
    return (apart <= 0) | ((apart == 1) & (query % long <= local_size))


def far(
    query_positions: BatchedQueryPositions, key_positions: BatchedKeyPositions, *, chunk_size: Count, local_size: Count
) -> tuple[Array, Array]:
    """Return ``min(2 s - 1, chunk_size)`` for queries and ``n mod s`` for keys, with chunks of ``s`` tokens."""
    long = length(chunk_size, local_size)
    xp = array_namespace(query_positions, key_positions)
    return xp.full_like(query_positions, min(2 * long - 1, chunk_size)), key_positions % long


FORM = Windowed(rope.frequencies, near=near, far=far)
weights = FORM.attention.weights(
    "Return weights of rope by ``m - n`` near the query, and by ``min(2 s - 1, chunk_size) - n mod s`` in chunks farther back."
)
attend = FORM.attention.attend("Return attention with rope whose positions begin anew in every chunk; the values are not rotated.")


SCHEME = Scheme(
    name="dual_chunk",
    operations=(weights, attend),
    source=Source(
        "An et al. 2024, Training-Free Long-Context Scaling of Large Language Models, and its code (ChunkLlama)",
        "https://arxiv.org/abs/2402.17463",
        equations="section 3: intra-chunk, inter-chunk and successive-chunk attention",
    ),
    laws={name: (*laws, Law.GROUP_TRANSLATION, Law.WITHIN_WINDOW) for name, laws in windowed.LAWS.items()},
    cases=CASES,
    summary="RoPE in attention with positions that begin anew in every chunk of a sequence.",
    meanings={
        **windowed.MEANINGS,
        "chunk_size": "the farthest distance that occurs, in tokens; chunks have chunk_size - local_size of them",
        "local_size": "how far behind the end of the chunk before, in tokens, a query still has its distance to it",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): the paper's rope, and vLLM's dual chunks with is_neox_style=False",
        "layout=half": "pairs (j, j + head_dim / 2): the authors' patches of transformers' models, and Qwen2.5-1M",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves, which shows in no logit: transformers' DeepSeek-V3",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): the authors' code and nearly all other",
        "direction=negative": "clockwise: nanochat's helper; no code with it is known here",
    },
    notes=(
        (
            "The parameters are those of the authors' code and of vLLM. The paper says it by the trained length c and chunks of s tokens: "
            "its c - 1 is chunk_size here, and its s is chunk_size - local_size."
        ),
        (
            "Queries for the chunk before stand at min(m mod s + s, chunk_size). Up to chunk_size that is their own distance to its keys, "
            "beyond it the place where they stand for all chunks farther back: two rotations are enough. The code computes three."
        ),
        (
            "Where a chunk is no longer than local_size, queries for chunks farther back stand at 2 s - 1, the last place of the "
            "chunk after their own, as in the code."
        ),
        (
            "A cache holds keys turned to n mod s, which no longer sequence moves. The authors' code also multiplies cosine and sine by "
            "YaRN's factor of the length, and vLLM logits in long sequences; both are no part of this scheme."
        ),
        "The source is about causal attention. Without a mask, keys after the query keep their distance here.",
    ),
    layer=windowed.layer(FORM, chunk_size=10, local_size=4),
)
