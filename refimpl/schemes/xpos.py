"""xPos: rope whose pairs shrink in queries and grow in keys with the position, so that scores fade with the distance."""

from refimpl.arrays import Array, arange, exact_float64
from refimpl.attention import Layer
from refimpl.cases.xpos import CASES
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary
from refimpl.schemes import rope
from refimpl.spec import EvenCount, Law, Positions, Positive, Scheme, Source

#: What is added to the share of every pair; at 0 the first pair would vanish.
GAMMA = 0.4


def query_factor(positions: Positions, *, head_dim: EvenCount, scale_base: Positive = 512.0, centre: int = 0) -> Array:
    """Return ``zeta_j^((p - centre) / scale_base)`` with ``zeta_j = (2 j / head_dim + 0.4) / 1.4``: what multiplies a query's pair."""
    zeta = (2.0 * arange(head_dim // 2, like=positions) / head_dim + GAMMA) / (1.0 + GAMMA)
    return zeta ** (exact_float64(positions - centre)[..., None] / scale_base)


def key_factor(positions: Positions, *, head_dim: EvenCount, scale_base: Positive = 512.0, centre: int = 0) -> Array:
    """Return the reciprocal, what multiplies each pair of a key."""
    return 1.0 / query_factor(positions, head_dim=head_dim, scale_base=scale_base, centre=centre)


FORM = Rotary(rope.frequencies, query_factor, key_factor)
rotate_query = FORM.operation(
    rotary.rotate, "Turn queries to their positions, each pair times ``zeta_j^((p - centre) / scale_base)``.", name="rotate_query"
)
rotate_key = FORM.of_keys.operation(
    rotary.rotate, "Turn keys to their positions, each pair over ``zeta_j^((p - centre) / scale_base)``.", name="rotate_key"
)
rotate_query_key = FORM.operation(
    rotary.rotate_query_key, "Turn queries and keys to their own positions; powers of ``zeta_j`` multiply queries and divide keys."
)


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return how it acts in attention: queries and keys turn and fade, values don't, and nothing is learned."""
    query, key = (rotary.layer(turn)(num_heads=num_heads, head_dim=head_dim, like=like) for turn in (rotate_query, rotate_key))
    return Layer(turn_query=query.turn_query, turn_key=key.turn_key)


LAWS = (Law.LINEAR, Law.STEPWISE, Law.HEADS)

SCHEME = Scheme(
    name="xpos",
    operations=(rotate_query, rotate_key, rotate_query_key),
    source=Source("Sun et al. 2022, A Length-Extrapolatable Transformer", "https://arxiv.org/abs/2212.10554", equations="algorithm 1"),
    laws={"rotate_query": LAWS, "rotate_key": LAWS, "rotate_query_key": (*LAWS, Law.RELATIVE)},
    cases=CASES,
    summary="RoPE whose scores fade with the distance: pairs of queries shrink with the position, pairs of keys grow.",
    meanings={
        **rotary.MEANINGS,
        "q": "queries, before they are turned",
        "k": "keys, before they are turned; consecutive query heads share one where there are fewer",
        "query_positions": "position of every query, in tokens",
        "key_positions": "position of every key, in tokens",
        "query": "queries, turned and multiplied",
        "key": "keys, turned and divided",
        "scale_base": (
            "after how many positions pair j is multiplied by its zeta_j = (2 j / head_dim + 0.4) / 1.4 once; 512 in torchscale, 1 in the "
            "paper's algorithm"
        ),
        "centre": "the position at which nothing is multiplied; scores don't depend on it if queries and cached keys have the same one",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): the paper, torchscale, rotary-embedding-torch, x-transformers",
        "layout=half": "pairs (j, j + head_dim / 2), whose powers are repeated in the same way: flash-attention's default",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: no code is known",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): all code that is known",
        "direction=negative": "clockwise: no code is known",
    },
    notes=(
        (
            "The score of a query at m and a key at n has the factor `zeta_j^((m - n) / scale_base)` in pair j: it falls while m > n and "
            "grows where keys come later, so xPos is for causal attention."
        ),
        (
            "The powers overflow. `zeta_0` is 2/7, so a key's first pair grows by 3.5 in every scale_base positions from the centre: "
            "float16 ends after 8.85 times scale_base, float32 and bfloat16 after 70.8, float64 after 566.6; with 512 these are the "
            "positions 4533, 36,261 and 290,086. Queries vanish at about the same places. Drawn calls stay within 2.5 times scale_base; "
            "stored cases and runs of positions stay within 8.1."
        ),
        (
            "To go farther, released code centres the exponent on each call: torchscale on `ceil(length / 2)`, "
            "rotary-embedding-torch and x-transformers on half the length. Scores stay the same within a call. Keys that were "
            "cached under another centre are wrong by a power of `zeta_j`, while everything that is computed at once looks right; "
            "torchscale keeps keys unturned for that reason. Here the centre is a parameter, and angles count from 0 whatever it is."
        ),
        (
            "Algorithm 1 raises `zeta_j` to the position itself. Code divides the position by 512 first: with scale_base 1 a key's first "
            "pair leaves float32 at position 71."
        ),
    ),
    layer=layer,
)
