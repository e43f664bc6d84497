"""ReRoPE: rope whose relative positions are clamped at a window, so that no longer distance than in training occurs."""

from refimpl.arrays import Array, array_namespace
from refimpl.cases.windowed import REROPE as CASES
from refimpl.forms import windowed
from refimpl.forms.windowed import Windowed
from refimpl.schemes import rope
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Count, Law, Scheme, Source


def clamped(query_positions: BatchedQueryPositions, key_positions: BatchedKeyPositions, *, window: Count) -> tuple[Array, Array]:
    """Return the window for every query and 0 for every key: all lie as far apart as the window is long."""
    xp = array_namespace(query_positions, key_positions)
    return xp.full_like(query_positions, window), xp.zeros_like(key_positions)


FORM = Windowed(rope.frequencies, far=clamped)
weights = FORM.attention.weights(
    "Return the weights ``softmax(q R_(-min(m - n, window)) k^T / sqrt(head_dim))`` of rope with clamped distances, in the dtype of ``q``."
)
attend = FORM.attention.attend("Return attention with rope whose distances are clamped at the window; the values are not rotated.")


SCHEME = Scheme(
    name="rerope",
    operations=(weights, attend),
    source=Source("Su 2023, ReRoPE", "https://kexue.fm/archives/9708", equations="its second matrix of relative positions"),
    laws={name: (*laws, Law.TRANSLATION, Law.SATURATION, Law.WITHIN_WINDOW) for name, laws in windowed.LAWS.items()},
    cases=CASES,
    summary="RoPE in attention, with distances clamped at a window: all keys beyond it lie equally far.",
    meanings={**windowed.MEANINGS, "window": "the distance, in tokens, from which on all keys lie equally far from a query"},
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): the paper's rope; no code with it is known here",
        "layout=half": "pairs (j, j + head_dim / 2): the author's patch of transformers' Llama",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves, which shows in no logit: transformers' DeepSeek-V3",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): the author's code and nearly all other",
        "direction=negative": "clockwise: nanochat's helper; no code with it is known here",
    },
    notes=(
        (
            "The source is about causal attention. Without a mask, keys after the query keep their distance here; the author's code treats "
            "those that lie the window or more after it as far keys, which its causal mask hides. Declare causal=True where nothing else "
            "is meant."
        ),
        (
            "A cache must hold keys that aren't turned: a key that was turned to its position can't be moved to the window. The author's "
            "code turns all keys anew at every step (https://github.com/bojone/rerope/blob/main/rerope_patch.py)."
        ),
        (
            "At the distance of the window both rotations give the same, so that < and <= make no difference. The author's code also "
            "multiplies queries by max(1, ln(m + 1) / ln(training length)): that is temperature.log_scale, and no part of this scheme."
        ),
    ),
    layer=windowed.layer(FORM, window=8),
)
