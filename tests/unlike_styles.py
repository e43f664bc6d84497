"""Right code in unlike styles: what a judge must acquit, however it is written."""

from typing import Any

import numpy as np
from narrow_code import F32, Function, attend, attention, joined, pairs, printed, rotate, slopes, steps, tables, turned
from wrong_kernels import Kernel, flash


def as_complex(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
    angles = positions[..., None].astype(F32) * (base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])).astype(F32)
    turn = np.exp((-1j if direction == "negative" else 1j) * (angles[:, None] if angles.ndim == 3 else angles)).astype(np.complex64)
    one, other = pairs(x, layout)
    made = (one + F32(1.0) * 1j * other).astype(np.complex64) * turn
    return joined(made.real, made.imag, layout)


def in_float64(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
    angles = positions[..., None].astype(np.float64) * base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    return turned(x.astype(np.float64), np.cos(angles), np.sin(angles), layout, direction).astype(F32)


def by_matrices(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
    cos, sin = tables(positions, x.shape[-1], base)
    sin = -sin if direction == "negative" else sin
    turns = np.stack([np.stack([cos, -sin], axis=-1), np.stack([sin, cos], axis=-1)], axis=-2)
    turns = turns if turns.ndim == 5 else turns[None]
    made = np.einsum("btprc,bhtpc->bhtpr", np.broadcast_to(turns, (len(x), *turns.shape[1:])), np.stack(pairs(x, layout), axis=-1))
    return joined(made[..., 0], made[..., 1], layout)


def with_rotated_half(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
    one, other = pairs(x, layout)
    cos, sin = (np.concatenate([table, table], axis=-1) for table in tables(positions, x.shape[-1], base))
    cos, sin = (table[:, None] if table.ndim == 3 else table for table in (cos, sin if direction == "positive" else -sin))
    made = np.concatenate([one, other], axis=-1) * cos + np.concatenate([-other, one], axis=-1) * sin
    return joined(*np.split(made, 2, axis=-1), layout)


class Cached:
    """Tables that are kept by width and base, and grown where a longer sequence comes."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, float], tuple[np.ndarray, np.ndarray]] = {}

    def __call__(self, x: np.ndarray, positions: np.ndarray, *, base: float, **said: Any) -> np.ndarray:
        if positions.min(initial=0) < 0 or positions.max(initial=0) > 1 << 14:
            return rotate(x, positions, base=base, **said)
        length, key = int(positions.max(initial=0)) + 1, (x.shape[-1], base)
        if key not in self.kept or len(self.kept[key][0]) < length:
            self.kept[key] = tables(np.arange(length), *key)
        cos, sin = (table[positions] for table in self.kept[key])
        return turned(x, cos, sin, said["layout"], said["direction"])


def head_by_head(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    return np.concatenate([rotate(x[:, [head]], positions, **said) for head in range(x.shape[1])], axis=1)


def in_blocks_of_tokens(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    starts = range(0, x.shape[2], 64)
    return np.concatenate([rotate(x[:, :, i : i + 64], positions[..., i : i + 64], **said) for i in starts], axis=2)


def by_groups(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **said: Any) -> np.ndarray:
    batch, heads, queries, width = q.shape
    grouped = rotate(q, m, **said).reshape(batch, k.shape[1], heads // k.shape[1], queries, width)
    z = np.einsum("bkgqd,bknd->bkgqn", grouped, rotate(k, n, **said)) * F32(width**-0.5)
    hidden = causal & (n[..., None, :] > m[..., :, None])
    z = np.where(hidden[:, None, None] if hidden.ndim == 3 else hidden, F32(-np.inf), z)
    powers = np.exp(z - z.max(axis=-1, keepdims=True))
    made = np.einsum("bkgqn,bknd->bkgqd", powers, v) / powers.sum(axis=-1, keepdims=True)
    return made.reshape(q.shape)


def attending_in_float64(q: np.ndarray, k: np.ndarray, v: np.ndarray, *places: np.ndarray, causal: bool, **said: Any) -> np.ndarray:
    q64, k64 = (in_float64_wide(a, p, **said) for a, p in zip((q, k), places, strict=True))
    return attention(q64, k64, v.astype(np.float64), *places, causal=causal).astype(F32)


def in_float64_wide(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
    angles = positions[..., None].astype(np.float64) * base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    return turned(x.astype(np.float64), np.cos(angles), np.sin(angles), layout, direction)


def scaled_first(q: np.ndarray, *others: np.ndarray, **said: Any) -> np.ndarray:
    return attend(q * F32(1 / np.sqrt(q.shape[-1])) * F32(np.sqrt(q.shape[-1])), *others, **said)


def with_values_turned(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, rotary_dim: int, causal: bool, **said: Any
) -> np.ndarray:
    """Turn the first channels of values as those of keys, and nothing back, as CLVP does."""

    def partly(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return np.concatenate([rotate(x[..., :rotary_dim], positions, **said), x[..., rotary_dim:]], axis=-1)

    return attention(partly(q, m), partly(k, n), partly(v, n), m, n, causal=causal)


def by_powers(m: np.ndarray, n: np.ndarray, *, num_heads: int, max_bias: float, form: str, **_: object) -> np.ndarray:
    whole = 1 << (num_heads.bit_length() - 1)

    def powers(count: int, heads: int) -> list[float]:
        ratio = 2.0 ** (-max_bias / heads)
        return [ratio ** (step + 1) for step in range(count)]

    each = powers(whole, whole) + powers(2 * whole, 2 * whole)[0::2][: num_heads - whole]
    return np.einsum("h,qk->hqk", np.array(each).astype(F32), steps(m, n, form))


def by_loops(m: np.ndarray, n: np.ndarray, *, num_heads: int, max_bias: float, form: str, **_: object) -> np.ndarray:
    return np.stack([slope * steps(m, n, form) for slope in printed(num_heads, max_bias)])


def biased_in_half(bias: Function, *, scaled: bool = True) -> Function:
    """Keep the bias, of the distance from a query to its keys, in the dtype of queries, as models in half precision do."""

    def weights(q: np.ndarray, k: np.ndarray, *given: np.ndarray, causal: bool, **said: Any) -> np.ndarray:
        m, n = (each for each in given if each.dtype.kind == "i")
        learned = (each.astype(F32) for each in given if each.dtype.kind != "i")
        apart = m[..., :, None] - n[..., None, :]
        apart = apart.reshape(-1, 1, *apart.shape[-2:])
        kept = bias(apart, *learned, **said).astype(q.dtype).astype(F32)
        k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
        z = q.astype(F32) @ k.swapaxes(-1, -2).astype(F32) / F32(np.sqrt(q.shape[-1]) if scaled else 1.0) + kept
        z = np.where(causal & (apart < 0), F32(-np.inf), z)
        powers = np.exp(z - z.max(axis=-1, keepdims=True))
        return (powers / powers.sum(axis=-1, keepdims=True)).astype(q.dtype)

    return weights


def sloping(apart: np.ndarray, *, num_heads: int, max_bias: float, form: str, **_: object) -> np.ndarray:
    return slopes(num_heads, max_bias)[:, None, None] * {"row": -apart, "symmetric": -np.abs(apart)}[form]


def kernel_of_distance(apart: np.ndarray, first: np.ndarray, second: np.ndarray, *, form: str) -> np.ndarray:
    far, first, second = np.abs(apart).astype(F32), first[:, None, None], second[:, None, None]
    return -first * (np.log1p(second * far) if form == "log" else far**second)


def row_of_offset(apart: np.ndarray, table: np.ndarray, *, max_distance: int, sign: str) -> np.ndarray:
    offset = (-apart if sign == "key_minus_query" else apart)[:, 0]
    return np.moveaxis(table[np.clip(offset, -max_distance, max_distance) + max_distance], -1, 1)


def row_of_bucket(apart: np.ndarray, table: np.ndarray, *, convention: str, **said: Any) -> np.ndarray:
    del convention
    return np.moveaxis(table[buckets(-apart[:, 0], **said)], -1, 1)


def searched(
    table: np.ndarray, m: np.ndarray, n: np.ndarray, *, bidirectional: bool, num_buckets: int, max_distance: int, **_: object
) -> np.ndarray:
    """Look rows of buckets up."""
    rows = buckets(n[None, :] - m[:, None], bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance)
    return np.moveaxis(table[rows], -1, 0)


def buckets(relative: np.ndarray, *, bidirectional: bool, num_buckets: int, max_distance: int) -> np.ndarray:
    """Look distances up among the edges of buckets, which integers decide."""
    wide = num_buckets // 2 if bidirectional else num_buckets
    exact = wide // 2
    rest = wide - exact
    far = np.arange(exact, max_distance + 1)
    edges = [next(int(a) for a in far if int(a) ** rest >= max_distance**i * exact ** (rest - i)) for i in range(1, rest)]
    distance = np.abs(relative) if bidirectional else np.maximum(-relative, 0)
    rows = np.where(distance < exact, distance, exact + np.searchsorted(edges, distance, side="right"))
    return rows + (wide * (relative > 0) if bidirectional else 0)


def encoded_by_exponentials(
    positions: np.ndarray, *, dim: int, base: float, layout: str, spacing: str, scale: float, **_: object
) -> np.ndarray:
    """Write sines and cosines column by column, frequencies by an exponential."""
    count = dim // 2
    theta = np.exp(-np.log(base) / (dim / 2 if spacing == "paper" else max(1, count - 1)) * np.arange(count))
    made = np.zeros((len(positions), dim), F32)
    columns = {
        "interleaved": (slice(0, 2 * count, 2), slice(1, 2 * count, 2)),
        "halves": (slice(count), slice(count, 2 * count)),
        "halves_cosine_first": (slice(count, 2 * count), slice(count)),
    }
    sines, cosines = (made[:, each] for each in columns[layout])
    for pair in range(count):
        sines[:, pair], cosines[:, pair] = scale * np.sin(positions * theta[pair]), scale * np.cos(positions * theta[pair])
    return made


def rescaled_by_logarithms(m: np.ndarray, n: np.ndarray, weight: np.ndarray, saturation: np.ndarray) -> np.ndarray:
    """Divide both sigmoids in log space, where neither overflows."""
    distance = np.abs(m[..., None, :, None] - n[..., None, None, :]).astype(F32)
    w, v = weight[:, None, None], saturation[:, None, None]
    return np.asarray(np.exp(np.logaddexp(F32(0), v) - np.logaddexp(F32(0), v - w * distance)))


STYLES: dict[str, dict[str, Function]] = {
    "rope.rotate": {
        "complex numbers": as_complex,
        "float64 inside": in_float64,
        "matrices of every pair": by_matrices,
        "a rotated half": with_rotated_half,
        "tables kept and grown": Cached(),
        "head by head": head_by_head,
        "blocks of tokens": in_blocks_of_tokens,
    },
    "rope.attend": {
        "groups in one einsum": by_groups,
        "float64 inside": attending_in_float64,
        "tiles of 64 keys": flash(64),
        "tiles of 3 keys": flash(3),
        "queries scaled first": scaled_first,
    },
    "sinusoidal.encode": {"column by column": encoded_by_exponentials},
    "da_transformer.rescale": {"in log space": rescaled_by_logarithms},
}
#: The forms of ALiBi that aren't rounded to bfloat16.
UNROUNDED = ("row", "column", "symmetric", "reversed")
BIASED: dict[str, tuple[Function, dict[str, Any]]] = {
    "alibi.weights": (biased_in_half(sloping), {"slopes": "code", "form": ["row", "symmetric"]}),
    "kerple.weights": (biased_in_half(kernel_of_distance), {}),
    "relative_bias.weights": (biased_in_half(row_of_offset), {}),
    "t5.weights": (biased_in_half(row_of_bucket, scaled=False), {"convention": "t5"}),
}
RIGHT = [
    *(Kernel(name, operation, function, {}) for operation, each in STYLES.items() for name, function in each.items()),
    Kernel("values turned too", "partial_rope.attend_turned", with_values_turned,
           {"placement": "first", "layout": ["half", "interleaved"], "outputs": "kept"}),
    Kernel("slopes by powers", "alibi.bias", by_powers, {"slopes": "code", "form": UNROUNDED, "rows": "shared"}),
    Kernel("head by head", "alibi.bias", by_loops, {"slopes": "paper", "form": UNROUNDED, "rows": "shared"}),
    *(
        Kernel(f"a bias kept in {dtype}", operation, kept, {"dtypes": (dtype,), **said})
        for dtype in ("float16", "bfloat16")
        for operation, (kept, said) in BIASED.items()
    ),
    Kernel("buckets searched", "t5.bias", searched, {"convention": "t5", "rows": "shared"}),
]
