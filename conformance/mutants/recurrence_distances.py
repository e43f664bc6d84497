"""What goes wrong with Transformer-XL's distances, and with the sinusoid that encodes them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.rounding import LARGEST, rounded
from refimpl.arrays import Array
from refimpl.schemes import transformer_xl

DISTANCE = "take the query's position minus the key's, at most clamp_length"


def absolute(query_positions: Array, key_positions: Array, *, sign: str, clamp_length: int | None) -> Array:
    """Take the key's position for the distance."""
    return transformer_xl.distances(0 * query_positions, -key_positions, sign=sign, clamp_length=clamp_length)


def one_more(query_positions: Array, key_positions: Array, *, sign: str, clamp_length: int | None) -> Array:
    """Count distances from one."""
    return transformer_xl.distances(query_positions + 1, key_positions, sign=sign, clamp_length=clamp_length)


def unclamped(query_positions: Array, key_positions: Array, *, sign: str, clamp_length: int | None) -> Array:
    """Never clamp."""
    del clamp_length
    return transformer_xl.distances(query_positions, key_positions, sign=sign, clamp_length=None)


def clamped_both_ways(query_positions: Array, key_positions: Array, *, sign: str, clamp_length: int | None) -> Array:
    """Clamp negative distances too."""
    away = transformer_xl.distances(query_positions, key_positions, sign=sign, clamp_length=None)
    return away if clamp_length is None else np.clip(away, -clamp_length, clamp_length)


def clamped_short(query_positions: Array, key_positions: Array, *, sign: str, clamp_length: int | None) -> Array:
    """Clamp one distance too early, at the last row of a table of so many distances."""
    shorter = None if clamp_length is None else clamp_length - 1
    return transformer_xl.distances(query_positions, key_positions, sign=sign, clamp_length=shorter)


def magnitude(query_positions: Array, key_positions: Array, *, sign: str, clamp_length: int | None) -> Array:
    """Forget which of the two comes first."""
    away = np.abs(transformer_xl.distances(query_positions, key_positions, sign="query_minus_key", clamp_length=clamp_length))
    return away if sign == "query_minus_key" else -away


def only_earlier(query_positions: Array, key_positions: Array, *, sign: str, clamp_length: int | None) -> Array:
    """Give later keys distance 0."""
    away = np.maximum(transformer_xl.distances(query_positions, key_positions, sign="query_minus_key", clamp_length=clamp_length), 0)
    return away if sign == "query_minus_key" else -away


def held_in(dtype: str) -> Callable[..., Array]:
    """Return distances of positions that were rounded to a half format, saturated where it ends."""
    most = LARGEST[dtype]

    def held(positions: Array) -> Array:
        return rounded(np.clip(positions, -most, most), dtype)

    return lambda m, n, **chosen: transformer_xl.distances(held(m), held(n), **chosen)


DISTANCE_MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    Mistake(
        "absolute-positions",
        does="encodes the key's position: nothing is subtracted or shifted",
        should=DISTANCE,
        fix="subtract, or shift the scores after the product",
        threads=("https://github.com/wenet-e2e/wenet/issues/1611",),
    ).made_by(absolute),
    Mistake(
        "distance-from-one",
        does="counts distances from one: the token itself is one away",
        should=DISTANCE,
        fix="let the table end at distance 0",
        origin="in the style of tables from K to 1; XLNet's begins at K and is cut after the shift",
    ).made_by(one_more),
    Mistake(
        "clamp-ignored",
        does="tells apart distances beyond clamp_length",
        should=DISTANCE,
        fix="clamp the distances before the sinusoid",
        origin="in the style of options that one path forgets",
    ).made_by(unclamped),
    Mistake(
        "clamped-both-ways",
        does="clamps negative distances at -clamp_length too",
        should=DISTANCE,
        fix="take the minimum only",
        origin="XLNet in transformers 5.23.0: fwd_pos_seq.clamp(-clamp_len, clamp_len)",
    ).made_by(clamped_both_ways),
    Mistake(
        "clamped-one-early",
        does="clamps at clamp_length - 1",
        should=DISTANCE,
        fix="clamp at clamp_length, which is a distance of its own",
        origin="in the style of off-by-one boundaries",
    ).made_by(clamped_short),
    Mistake(
        "magnitude",
        does="takes the magnitude of the distance: earlier and later keys are one",
        should=DISTANCE,
        fix="negate the sines of later keys",
        threads=("https://github.com/speechbrain/speechbrain/pull/3073",),
    ).made_by(magnitude),
    Mistake(
        "later-keys-at-zero",
        does="gives every later key distance 0",
        should=DISTANCE,
        fix="take the sinusoid of the negative distance",
        origin="in the style of code that was written for a causal mask",
    ).made_by(only_earlier),
)


def waves(
    away: Array,
    *,
    dim: int,
    base: float,
    layout: str,
    exponent: Callable[[Array, int], Array] = lambda i, dim: 2.0 * i / dim,
    table: Callable[[Array], Array] = np.asarray,
    cosine_first: bool = False,
) -> Array:
    """Return the sinusoid with some steps replaced."""
    angles = away[..., None] * base ** -exponent(np.arange(dim // 2), dim)
    sine, cosine = table(np.sin(angles)), table(np.cos(angles))
    both = [cosine, sine] if cosine_first else [sine, cosine]
    return np.concatenate(both, axis=-1) if layout == "halves" else np.stack(both, axis=-1).reshape(*away.shape, dim)


def other_base(away: Array, *, base: float, **chosen: Any) -> Array:
    """Use 10000 whatever is asked for."""
    del base
    return transformer_xl.sinusoids(away, base=10_000.0, **chosen)


TABLE = "take sine and cosine of distance times base^(-2 i / dim)"
WAVE_MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    Mistake(
        "endpoint-spacing",
        does="spaces frequencies by i / (dim / 2 - 1)",
        should=TABLE,
        fix="divide by dim, not by dim / 2 - 1",
        origin="in the style of tensor2tensor's timing signal",
    ).made_by(partial(waves, exponent=lambda i, dim: i / max(1, dim // 2 - 1))),
    Mistake(
        "exponent-halved",
        does="leaves out the 2 of the exponent",
        should=TABLE,
        fix="put 2 i / dim into the exponent",
        origin="in the style of frequencies that fall half as fast",
    ).made_by(partial(waves, exponent=lambda i, dim: i / dim)),
    Mistake(
        "cosine-first",
        does="puts cosines where sines belong",
        should=TABLE,
        fix="concatenate sine, then cosine",
        origin="in the style of the other order of halves",
    ).made_by(partial(waves, cosine_first=True)),
    Mistake(
        "base-ignored",
        does="uses base 10000 whatever is asked for",
        should=TABLE,
        fix="pass the base to the frequencies",
        origin="in the style of constants in the code",
    ).made_by(other_base),
)
PRECISION = tuple(
    Mistake(
        f"{dtype}-positions",
        does=f"holds positions in {dtype} before it subtracts",
        should="subtract integers",
        fix="subtract positions as integers or in float32",
        kind="precision",
        origin="in the style of models that are cast to half as a whole",
    ).made_by(held_in(dtype))
    for dtype in ("bfloat16", "float16")
)
