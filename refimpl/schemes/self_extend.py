"""SelfExtend: rope whose positions are grouped beyond a window, so that a longer sequence has no longer distances than training had."""

from refimpl.arrays import Array
from refimpl.cases.windowed import SELF_EXTEND as CASES
from refimpl.forms import windowed
from refimpl.forms.windowed import Windowed
from refimpl.schemes import rope
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Count, Law, Scheme, Source


def grouped(
    query_positions: BatchedQueryPositions, key_positions: BatchedKeyPositions, *, window: Count, group_size: Count
) -> tuple[Array, Array]:
    """Return ``floor(m / G) + W - floor(W / G)`` for queries and ``floor(n / G)`` for keys, with window ``W`` and group size ``G``."""
    return query_positions // group_size + (window - window // group_size), key_positions // group_size


FORM = Windowed(rope.frequencies, far=grouped)
weights = FORM.attention.weights(
    "Return weights of rope by ``m - n`` within the window, and by ``floor(m / G) - floor(n / G) + W - floor(W / G)`` beyond it."
)
attend = FORM.attention.attend("Return attention with rope whose positions are grouped beyond the window; the values are not rotated.")


SCHEME = Scheme(
    name="self_extend",
    operations=(weights, attend),
    source=Source(
        "Jin et al. 2024, LLM Maybe LongLM: Self-Extend LLM Context Window Without Tuning",
        "https://arxiv.org/abs/2401.01325",
        equations="section 3.2 and the pseudo-code of its appendix",
    ),
    laws={name: (*laws, Law.GROUP_TRANSLATION, Law.WITHIN_WINDOW) for name, laws in windowed.LAWS.items()},
    cases=CASES,
    summary="RoPE in attention with positions that are grouped beyond a window.",
    meanings={
        **windowed.MEANINGS,
        "window": "the distance, in tokens, from which on positions are grouped (the paper's neighbor window)",
        "group_size": "how many neighbouring positions stand for one beyond the window",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): the paper's rope; no code with it is known here",
        "layout=half": "pairs (j, j + head_dim / 2): the authors' patches of transformers' models",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves, which shows in no logit: transformers' DeepSeek-V3",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): the authors' code and nearly all other",
        "direction=negative": "clockwise: nanochat's helper; no code with it is known here",
    },
    notes=(
        (
            "The paper rounds W / G down. The authors' patches of transformers 4.38 divide by / and stand between two positions where the "
            "group size doesn't divide the window; the patch for 4.40 was mended (https://github.com/datamllab/LongLM/commit/715c1e3)."
        ),
        (
            "The authors' patches don't move queries as long as the longest position is below the window. No key lies beyond the window "
            "then, so only logits that a causal mask hides differ."
        ),
        (
            "Both roundings make the distance at the window's edge W - 1, W or W + 1. A cache must hold keys that aren't turned. "
            "llama.cpp's --grp-attn-n divides the positions of whole blocks in its cache instead, which is another rule."
        ),
        (
            "The source is about causal attention. Without a mask, keys after the query keep their distance here. "
            "Positions below 0 are rounded down, too."
        ),
    ),
    layer=windowed.layer(FORM, window=8, group_size=4),
)
