"""Where the lecture notes behind the schemes err, with numbers measured as the page is made."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from refimpl import analysis, attention
from refimpl.attention import Layer
from refimpl.schemes import SCHEMES, alibi, rope, sinusoidal
from tools.properties import measures

HERE = np.zeros(1)
MOST_HEADS = 128
ROPE_WIDTH, STEPS = 128, 4096


@dataclass(frozen=True)
class Correction:
    """What the notes say, and what was measured."""

    title: str
    said: str
    found: str


def corrections() -> Iterator[Correction]:
    """Yield every correction."""
    yield cache_of_t5()
    yield slopes_of_alibi()
    yield decay_of_rope()
    yield far_tokens_of_rope()
    yield neighbours_of_sinusoids()
    yield clip_of_shaw()
    yield last_term_of_transformer_xl()
    yield sparsity_of_da_transformer()
    yield first_frequency()
    yield two_matrices()


def small(number: float) -> str:
    """Return a difference in words that are the same on every machine."""
    return "less than 1e-12" if number < 1e-12 else f"{number:.2g}"


def cache_of_t5() -> Correction:
    """Decode with T5's bias token by token, with keys and values that are never made again."""
    maker = SCHEMES["t5"].layer
    off = measures.cached(measures.made(maker)) if maker else math.nan
    return Correction(
        "T5 and the key-value cache",
        "With T5's bias every new token needs the keys and values of all tokens made again, so there can be no KV cache.",
        "The bias touches logits only. Twelve tokens decoded one by one, each key and value made once and kept, differ from attention "
        f"over all twelve at once by {small(off)}. Each step needs one new row of biases: a number per head and key. "
        "No scheme here needs keys or values again while its parameters stay. Only frequencies that depend on the length do "
        "(those of LongRoPE and dynamic NTK, in the table above).",
    )


def slopes_of_alibi() -> Correction:
    """Compare ALiBi's slopes with 1/2^k for every number of heads."""
    right = [heads for heads in range(1, MOST_HEADS + 1) if np.array_equal(_slopes(heads), 2.0 ** -np.arange(1.0, heads + 1))]
    first = ", ".join(f"{heads} heads: 2^{math.log2(_slopes(heads)[0]):g}" for heads in (2, 4, 8, 16))
    return Correction(
        "ALiBi's slopes",
        "For n heads the slopes are 1/2^k, k = 1 ... n.",
        f"Of 1 to {MOST_HEADS} heads this holds for {', '.join(map(str, right))} heads only. For a power of two the slopes are 2^(-8h/n), "
        f"so the first slope is: {first}. The paper prints the same rule for every number of heads. For other numbers the authors' code "
        "takes the slopes of the power of two below, then every second slope of twice that power.",
    )


def _slopes(heads: int) -> np.ndarray:
    return np.asarray(alibi.slopes(num_heads=heads, like=HERE))


def decay_of_rope() -> Correction:
    """Find where the alignment of equal vectors rises with the distance, and where the bound on it does."""
    distances = np.arange(float(STEPS + 1))
    aligned, bound = (measure(distances, head_dim=ROPE_WIDTH) for measure in (analysis.alignment, analysis.abel_bound))
    return Correction(
        "RoPE and decay",
        "When words are closer together they have a larger dot product, when farther away a smaller one; earlier methods lack this.",
        f"This is a tendency, not a law. The dot product of equal vectors (head_dim {ROPE_WIDTH}, base 10000) first rises from distance "
        f"{_first_rise(aligned)} to the next. RoFormer's bound first rises from distance {_first_rise(bound)}, and rises on "
        f"{int(np.sum(np.diff(bound) > 0))} of {STEPS} steps. Nor is it new: the dot product of two sinusoids is the same sum of cosines.",
    )


def _first_rise(values: np.ndarray) -> int:
    """Return the first distance after which the values rise."""
    return int(np.argmax(np.diff(values) > 0))


def far_tokens_of_rope() -> Correction:
    """Find the largest alignment beyond a long distance."""
    distances = np.arange(1000.0, float(STEPS))
    aligned = np.abs(analysis.alignment(distances, head_dim=ROPE_WIDTH))
    where = int(distances[np.argmax(aligned)])
    return Correction(
        "RoPE and tokens that are far away",
        "With theta_i = 10000^(-2i/d), tokens do not influence others that are relatively far away.",
        f"Beyond 1000 tokens equal vectors still align at up to {np.max(aligned):.2f} of what they do at distance 0, the most at distance "
        f"{where}: slow pairs hardly turn over thousands of tokens. Only a bias that grows without end, as ALiBi's, takes far tokens away.",
    )


def neighbours_of_sinusoids() -> Correction:
    """Compare the dot products of near and far sinusoids."""
    codes = sinusoidal.encode(np.array([1, 2, 500]), dim=ROPE_WIDTH)
    near, far = float(codes[0] @ codes[1]), float(codes[0] @ codes[2])
    return Correction(
        "Absolute encodings and distance",
        "Absolute embeddings are independent of one another: positions 1 and 2 are as far apart as 1 and 500.",
        "This may hold for a learned table, of which nothing is known before training. It doesn't hold for sinusoids "
        f"(dim {ROPE_WIDTH}): positions 1 and 2 have the dot product {near:.1f}, positions 1 and 500 have {far:.1f}.",
    )


def clip_of_shaw() -> Correction:
    """Count the pairs for which the printed clip of values differs from the one that is meant."""
    query, key = np.arange(16)[:, None], np.arange(16)[None, :]
    printed, meant = (np.maximum(-limit, np.minimum(limit, key - query)) for limit in (key, 4))
    return Correction(
        "Shaw's clip of values",
        "The edge of values is w[clip(j - i, j)].",
        "This is a slip for clip(j - i, k), the rule of the keys. With k = 4 the two differ for "
        f"{int(np.sum(printed != meant))} of {printed.size} pairs of 16 tokens, and the printed one asks for the row of distance "
        f"{int(np.abs(printed).max())} in a table that ends at 4.",
    )


def last_term_of_transformer_xl() -> Correction:
    """See how the printed and the meant last term change when both positions are shifted."""
    i, j = np.arange(8)[:, None], np.arange(8)[None, :]

    def term(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the product of two encodings."""
        one, other = (sinusoidal.encode(p.ravel(), dim=16).reshape(*p.shape, 16) for p in np.broadcast_arrays(first, second))
        return np.asarray(np.sum(one * other, axis=-1))

    printed, meant = (float(np.ptp(term(first, j))) for first in (j, i))
    return Correction(
        "Transformer-XL's last term",
        "The fourth term of the expansion is p_j W_q W_k^T p_j^T.",
        "Its first factor is p_i. The printed term doesn't depend on the query: with sinusoids and W = 1 it varies by "
        f"{small(printed)} over 8 x 8 pairs of positions, the right one by {meant:.2f}. In Transformer-XL it becomes v^T W_kR R_(i - j).",
    )


def sparsity_of_da_transformer() -> Correction:
    """Look at the weight of keys whose logits are clipped."""
    maker = SCHEMES["da_transformer"].layer
    layer = measures.made(maker) if maker else Layer()
    q = np.ones((1, measures.HEADS, 1, measures.WIDTH))
    k = np.concatenate([q, -q, -q], axis=2)
    positions = np.arange(3)
    mixed = attention.attend(layer, q, k, np.broadcast_to(np.array([0.0, 1.0, 1.0])[:, None], k.shape), np.array([2]), positions)
    return Correction(
        "DA-Transformer's sparsity",
        "The ReLU adds sparsity, since only positive attention is amplified.",
        "The ReLU clips logits, and a softmax follows: two keys whose products are negative keep "
        f"{float(mixed[0, 0, 0, 0]):.1%} of the weight beside one whose product is positive. No weight becomes 0.",
    )


def first_frequency() -> Correction:
    """Compare the first frequency counted from 0 with the one counted from 1."""
    first = float(rope.frequencies(head_dim=8, base=10_000.0, like=HERE)[0])
    return Correction(
        "Where frequencies begin",
        "theta_i = 10000^(-2i/d), i = 1 ... d/2.",
        "RoFormer's eq. 15 has -2(i - 1)/d, other places -2i/d. All code counts from 0, so that the first frequency is "
        f"{first:g} radian per token; counted from 1 it would be {10_000.0 ** (-2 / 8):g} for d = 8.",
    )


def two_matrices() -> Correction:
    """Turn a row by the transposed matrix."""
    x = np.array([1.25, -0.5])
    cos, sin = math.cos(3.0), math.sin(3.0)
    turned = rope.rotate(x.reshape(1, 1, 1, 2), np.array([3]), head_dim=2)[0, 0, 0]
    column, row = np.array([[cos, -sin], [sin, cos]]) @ x, x @ np.array([[cos, sin], [-sin, cos]])
    off = max(float(np.abs(turned - other).max()) for other in (column, row))
    return Correction(
        "Two rotation matrices",
        "The 2 x 2 rotation stands once as [cos sin; -sin cos], once as [cos -sin; sin cos].",
        "Both are right: the first for rows (x R), the second for columns (R x). At position 3 they give what `rope.rotate` gives, "
        f"to {small(off)}. Taking one matrix for the other is wrong: it reverses the direction.",
    )
