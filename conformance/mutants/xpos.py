"""What goes wrong with xPos: the powers of its pairs, where they are counted from, and which side they multiply."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, forcing
from conformance.mutants.positions import index
from conformance.mutants.rotary import Rotary
from conformance.mutants.rounding import to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.forms.rotary import QueryKey
from refimpl.schemes import rope, xpos

QUERY, KEY, BOTH = "xpos.rotate_query", "xpos.rotate_key", "xpos.rotate_query_key"
THREADS = "https://github.com/"
COPIED = "in the style of formulas copied without a term"
ONE_RULE = "in the style of rotations, which act on both sides alike"


def shares(head_dim: int) -> Array:
    """Return ``2 j / head_dim`` of every pair."""
    return 2.0 * np.arange(head_dim // 2) / head_dim


def zetas(head_dim: int) -> Array:
    """Return what every pair is multiplied by in one base of the scale."""
    return (shares(head_dim) + 0.4) / 1.4


def exponents(positions: Array, scale_base: float, centre: int) -> Array:
    """Return how often positions hold the base of the scale, from the centre on."""
    return (positions - centre) / scale_base


def fading(zeta: Callable[[int], Array] = zetas, exponent: Callable[[Array, float, int], Array] = exponents) -> Rotary:
    """Return the scheme with other zetas or other exponents."""

    def size(positions: Array, *, head_dim: int, scale_base: float, centre: int, sign: float = 1.0) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(zeta(head_dim) ** (sign * exponent(positions, scale_base, centre)[..., None]))

    return Rotary(size=size, key_size=lambda **rule: size(**rule, sign=-1.0))


def one(**_: object) -> float:
    """Multiply by nothing."""
    return 1.0


def narrowed(dtype: str) -> Rotary:
    """Return the scheme with powers in a half format."""
    narrow = to(dtype)
    return Rotary(size=lambda **rule: narrow(xpos.query_factor(**rule)), key_size=lambda **rule: narrow(xpos.key_factor(**rule)))


def rounded_exponents(dtype: str) -> Rotary:
    """Return the scheme with exponents of positions in a half format."""
    narrow = to(dtype)
    return fading(exponent=lambda positions, scale_base, centre: (narrow(positions * 1.0) - centre) / scale_base)


def middle(positions: Array) -> int:
    """Return half the length that the largest position tells."""
    return int(positions.max(initial=0) + 1) // 2


def in_the_other_layout(factor: Callable[..., Array]) -> Callable[..., Array]:
    """Return a rotation whose powers are laid out for the pairs of the other layout."""

    def rotated(x: Array, positions: Array, *, layout: str, scale_base: float, centre: int, **rule: Any) -> Array:
        size = factor(positions, head_dim=rule["head_dim"], scale_base=scale_base, centre=centre)
        wide = np.concatenate([size, size], axis=-1) if layout == "interleaved" else np.repeat(size, 2, axis=-1)
        return rope.rotate(x, positions, layout=layout, **rule) * (wide if wide.ndim == 2 else wide[:, None])

    return rotated


def misplaced(q: Array, k: Array, query_positions: Array, key_positions: Array, **rule: Any) -> QueryKey:
    """Turn both with powers that are laid out for other pairs."""
    query, key = (in_the_other_layout(factor) for factor in (xpos.query_factor, xpos.key_factor))
    return QueryKey(query(q, query_positions, **rule), key(k, key_positions, **rule))


ZETA = "use (2 j / head_dim + 0.4) / 1.4 for pair j"
EXPONENT = "raise zeta to (p - centre) / scale_base"
PIECES: tuple[tuple[Mistake, Rotary], ...] = (
    (Mistake("pairs-for-channels", "counts pairs where the formula counts channels: zeta is (j + 0.4 d) / (1.4 d)", ZETA,
             "use arange(0, head_dim, 2)", origin=COPIED), fading(lambda d: (shares(d) / 2 + 0.4) / 1.4)),
    (Mistake("zeta-from-pair-one", "counts pairs from one", ZETA, "start arange at 0", origin="in the style of sums that start at 1"),
     fading(lambda d: (shares(d) + 2.0 / d + 0.4) / 1.4)),
    (Mistake("zeta-not-divided", "doesn't divide by 1.4, so that fast pairs fade and slow pairs grow", ZETA, "divide by 1 + gamma",
             origin=COPIED), fading(lambda d: shares(d) + 0.4)),
    (Mistake("gamma-left-out", "takes 2 j / head_dim for zeta, which is 0 in the first pair", ZETA, "add gamma, and divide by 1 + gamma",
             origin=COPIED), fading(shares)),
    (Mistake("gamma-without-width", "adds 0.4 to a number of channels: zeta is (2 j + 0.4) / (1.4 d)", ZETA, "multiply gamma by head_dim",
             origin=COPIED), fading(lambda d: (shares(d) + 0.4 / d) / 1.4)),
    (Mistake("pairs-in-reverse", "has slow pairs fade and fast ones stay", ZETA, "count pairs as the frequencies do",
             origin="in the style of ladders that rise"), fading(lambda d: zetas(d)[::-1])),
    (Mistake("one-zeta", "multiplies all pairs by the mean of their powers' base", ZETA, "give every pair its own zeta",
             origin="in the style of RetNet, where a head has one decay"), fading(lambda d: np.full(d // 2, zetas(d).mean()))),
    (Mistake("scale-base-left-out", "raises zeta to the position itself", EXPONENT, "divide the position by scale_base",
             origin="the paper's algorithm 1, which divides by nothing"), fading(exponent=lambda p, _, centre: (p - centre) * 1.0)),
    (Mistake("whole-exponents", "rounds the exponent down, so that powers change once in scale_base positions", EXPONENT, "use /, not //",
             origin="in the style of divisions of integers"), fading(exponent=lambda p, base, centre: np.floor((p - centre) / base))),
    (Mistake("both-sides-of-the-centre-alike", "takes the distance from the centre for the exponent", EXPONENT, "keep the sign",
             origin="in the style of decays by distance"), fading(exponent=lambda p, base, centre: np.abs(p - centre) / base)),
    (Mistake("clamped-before-the-centre", "multiplies by nothing before the centre", EXPONENT, "keep negative exponents",
             origin="in the style of clamps against overflow"), fading(exponent=lambda p, base, centre: np.maximum(p - centre, 0) / base)),
    (Mistake("centre-of-the-call", "counts exponents from the middle of the call, which isn't that of earlier calls whose keys were cached",
             "count them from the centre that is given", "keep one centre for queries and cached keys, or keep keys unturned",
             threads=(f"{THREADS}Dao-AILab/flash-attention/issues/522",)),
     fading(exponent=lambda p, base, _: (p - middle(p)) / base)),
    (Mistake("index-for-exponent", "counts exponents by the index of the token, and angles by its position", EXPONENT,
             "use the positions for both", origin="in the style of scales that are made for a length"),
     fading(exponent=lambda p, base, centre: (index(p) - centre) / base)),
    (Mistake("angles-from-the-centre", "counts the angles from the centre too", "turn by the position itself",
             "subtract the centre in the exponent alone", origin="in the style of a centre that moves all positions"),
     Rotary(move=lambda positions, rule: positions - rule["centre"])),
    *((Mistake(f"{dtype}-powers", f"rounds the powers to {dtype}", "keep them in float32", "cast the result only", kind="precision",
               origin="in the style of buffers that are cast with the model"), narrowed(dtype)) for dtype in ("bfloat16", "float16")),
    *((Mistake(f"{dtype}-exponents", f"rounds positions to {dtype} where it takes exponents of them", "keep positions in float32 or wider",
               "count exponents with integers, and divide in float32", kind="precision",
               origin="in the style of positions that are counted in the dtype of the model"), rounded_exponents(dtype))
      for dtype in ("bfloat16", "float16")),
)  # fmt: skip
QUERIES: tuple[tuple[Mistake, Rotary], ...] = (
    (Mistake("queries-not-multiplied", "multiplies keys alone", "multiply queries by the powers too",
             "scale both sides: queries by zeta, keys by 1 / zeta", origin="in the style of decays that are left to one side"),
     Rotary(size=one)),
    (Mistake("sides-exchanged", "divides queries by the powers and multiplies keys by them", "multiply queries, and divide keys",
             "exchange the two", origin="in the style of signs that are lost"), Rotary(size=xpos.key_factor, key_size=xpos.query_factor)),
)  # fmt: skip
KEYS: tuple[tuple[Mistake, Rotary], ...] = (
    (Mistake("keys-not-inverted", "multiplies keys as queries: scores fade with the sum of both positions", "divide keys by the powers",
             "invert the scale for keys (downscale)", origin=ONE_RULE), Rotary(key_size=xpos.query_factor)),
    (Mistake("keys-not-divided", "multiplies queries alone", "divide keys by the powers too",
             "scale both sides: queries by zeta, keys by 1 / zeta", origin="in the style of decays that are left to one side"),
     Rotary(key_size=one)),
)  # fmt: skip
TOGETHER: tuple[tuple[Mistake, Rotary], ...] = (
    (Mistake("queries-bare-after-a-cache", "turns queries from position 0 on and multiplies them by nothing, as if no keys were cached",
             "turn and multiply queries by their own positions", "pass the offset and the scale on where keys are cached",
             threads=(f"{THREADS}lucidrains/rotary-embedding-torch/issues/27",)),
     Rotary(size=one, place=lambda queries, keys: (index(queries), keys))),
)  # fmt: skip
OWN = {QUERY: (*PIECES, *QUERIES), KEY: (*PIECES, *KEYS), BOTH: (*PIECES, *QUERIES, *KEYS, *TOGETHER)}
OTHER_LAYOUT = Mistake(
    "powers-of-the-other-layout", "repeats powers for pairs half a head apart while neighbours turn, or the other way round",
    "multiply both members of a pair by the same power", "repeat powers as cosines and sines are repeated",
    origin="in the style of scales that are concatenated whatever the layout",
)  # fmt: skip
FORCED: tuple[tuple[Mistake, dict[str, object]], ...] = (
    (Mistake("scale-base-ignored", "uses 512 for the base of the scale whatever is asked for", "use scale_base", "pass scale_base through",
             origin="in the style of defaults that stay"), {"scale_base": 512.0}),
    (Mistake("scale-base-of-the-window", "uses half a window, 64, for the base of the scale: powers overflow float32 after 4,500 positions",
             "use scale_base", "take a base that the longest input holds a few times, 512 or more",
             threads=(f"{THREADS}lucidrains/local-attention/issues/14", f"{THREADS}Dao-AILab/flash-attention/issues/96")),
     {"scale_base": 64.0}),
    (Mistake("centre-ignored", "counts exponents from 0 whatever is asked for", "count them from the centre", "subtract the centre",
             origin="in the style of defaults that stay"), {"centre": 0}),
)  # fmt: skip
LAID_OUT = {QUERY: in_the_other_layout(xpos.query_factor), KEY: in_the_other_layout(xpos.key_factor), BOTH: misplaced}


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong with xPos beyond what befalls every rotation."""
    for operation, mistakes in OWN.items():
        for mistake, rotary in mistakes:
            yield mistake.at(operation, rotary.of(operation))
        for mistake, forced in FORCED:
            yield mistake.at(operation, forcing(operation, forced))
        yield OTHER_LAYOUT.at(operation, LAID_OUT[operation])
