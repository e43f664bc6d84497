"""Code that once conformed without evidence, each beside its right twin: adapters for ``narrow_code:NAME``, in plain float32 NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance import Adapter, Unsupported
from conformance.mutants.rounding import rounded
from conformance.spec.vectors import load

Function = Callable[..., Any]
F32 = np.float32


def tables(positions: np.ndarray, width: int, base: float) -> tuple[np.ndarray, np.ndarray]:
    angles = positions[..., None].astype(F32) * (base ** (-np.arange(0, width, 2) / width)).astype(F32)
    return np.cos(angles), np.sin(angles)


def pairs(x: np.ndarray, layout: str) -> tuple[np.ndarray, np.ndarray]:
    half = x.shape[-1] // 2
    return (x[..., :half], x[..., half:]) if layout == "half" else (x[..., 0::2], x[..., 1::2])


def joined(one: np.ndarray, other: np.ndarray, layout: str) -> np.ndarray:
    if layout == "interleaved":
        return np.stack([one, other], axis=-1).reshape(*one.shape[:-1], -1)
    return np.concatenate([one, other], axis=-1)


def turned(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, layout: str, direction: str) -> np.ndarray:
    cos, sin = (t[:, None] if t.ndim == 3 else t for t in (cos, -sin if direction == "negative" else sin))
    one, other = pairs(x, layout)
    return joined(one * cos - other * sin, one * sin + other * cos, layout)


def rotate(
    x: np.ndarray, positions: np.ndarray, *, base: float, layout: str = "half", direction: str = "positive", **_: object
) -> np.ndarray:
    return turned(x, *tables(positions, x.shape[-1], base), layout, direction)


def softmax(z: np.ndarray, summed: type | None = None) -> np.ndarray:
    powers = np.exp(z - z.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True, dtype=summed)).astype(z.dtype)


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, bias: np.ndarray | float = 0.0
) -> np.ndarray:
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    z = q @ np.swapaxes(k, -1, -2) / F32(np.sqrt(q.shape[-1])) + F32(bias)
    hidden = causal & (n[..., None, :] > m[..., :, None])
    hidden = hidden[:, None] if hidden.ndim == 3 else hidden
    return softmax(np.where(hidden, F32(-np.inf), z)) @ v


def attend(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool = False, **parameters: Any
) -> np.ndarray:
    return attention(rotate(q, m, **parameters), rotate(k, n, **parameters), v, m, n, causal=causal)


def unrotated(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **_: object) -> np.ndarray:
    return attention(q, k, v, m, n, causal=causal)


def forgets_the_past(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **parameters: Any
) -> np.ndarray:
    places = n[..., : m.shape[-1]] if m.shape[-1] <= n.shape[-1] else m
    return attention(rotate(q, places, **parameters), rotate(k, n, **parameters), v, m, n, causal=causal)


def slopes(heads: int, max_bias: float = 8.0) -> np.ndarray:
    whole = 2 ** int(np.floor(np.log2(heads)))
    first = 2.0 ** (-max_bias / whole * np.arange(1, whole + 1))
    rest = 2.0 ** (-max_bias / (2 * whole) * np.arange(1, 2 * (heads - whole), 2))
    return np.concatenate([first, rest]).astype(F32)


def steps(m: np.ndarray, n: np.ndarray, form: str) -> np.ndarray:
    row = n[..., None, :] - m[..., :, None]
    keys, last = n[..., None, :], n.max(axis=-1)[..., None, None]
    column = keys + 0 * row
    forms = {"row": row, "reversed": column - last, "column": column, "symmetric": -np.abs(row), "falcon": column}
    return kept(forms[form].astype(F32), form)


def kept(x: np.ndarray, form: str) -> np.ndarray:
    """Return numbers in bfloat16 where the form keeps them so."""
    return rounded(x, "bfloat16").astype(F32) if form == "falcon" else x


def alibi(rule: Callable[[int, float], np.ndarray]) -> Function:
    """Return the bias with slopes by some rule, or by the paper's where it is asked for."""

    def bias(m: np.ndarray, n: np.ndarray, *, num_heads: int, max_bias: float, slopes: str, form: str) -> np.ndarray:
        each = printed if slopes == "paper" else rule
        return kept(kept(each(num_heads, max_bias), form)[:, None, None] * steps(m, n, form)[..., None, :, :], form)

    return bias


def with_bias(scale: Callable[[int], float]) -> Function:
    def attend(*arrays: np.ndarray, causal: bool, **rule: Any) -> np.ndarray:
        bias, width = alibi(slopes)(*arrays[-2:], **rule), arrays[0].shape[-1]
        return attention(*arrays, causal=causal, bias=bias * F32(width**-0.5 if rule["form"] == "falcon" else scale(width)))

    return attend


def thirds(heads: int, max_bias: float) -> np.ndarray:
    return (3.0 ** -np.arange(1, heads + 1) + 0 * max_bias).astype(F32)


def printed(heads: int, max_bias: float) -> np.ndarray:
    return (2.0 ** (-max_bias * np.arange(1, heads + 1) / heads)).astype(F32)


def buckets(relative: np.ndarray, *, bidirectional: bool, num_buckets: int, max_distance: int) -> np.ndarray:
    start = 0
    if bidirectional:
        num_buckets //= 2
        start = (relative > 0) * num_buckets
        distance = np.abs(relative)
    else:
        distance = np.maximum(-relative, 0)
    exact = num_buckets // 2
    scale = np.log(np.maximum(distance, 1) / exact) / np.log(max_distance / exact) * (num_buckets - exact)
    far = np.minimum(exact + np.maximum(scale, 0).astype(np.int64), num_buckets - 1)
    return start + np.where(distance < exact, distance, far)


def t5(rule: Function) -> Function:
    def bias(table: np.ndarray, m: np.ndarray, n: np.ndarray, **parameters: Any) -> np.ndarray:
        parameters.pop("convention", None)
        return np.moveaxis(table[rule(n[None, :] - m[:, None], **parameters)], -1, 0)

    return bias


def linear_buckets(relative: np.ndarray, *, bidirectional: bool, num_buckets: int, max_distance: int) -> np.ndarray:
    wide = num_buckets // 2 if bidirectional else num_buckets
    distance = np.abs(relative) if bidirectional else np.maximum(-relative, 0)
    return np.where(bidirectional & (relative > 0), wide, 0) + np.minimum(distance * wide // max_distance, wide - 1)


def twice_as_far(relative: np.ndarray, *, bidirectional: bool, num_buckets: int, max_distance: int) -> np.ndarray:
    return buckets(relative, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=2 * max_distance)


def doubled_distance(relative: np.ndarray, *, bidirectional: bool, num_buckets: int, max_distance: int) -> np.ndarray:
    return buckets(relative, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=2 * max_distance + 7)


def encode(positions: np.ndarray, *, dim: int, base: float, layout: str, spacing: str, scale: float, **_: object) -> np.ndarray:
    steps = dim / 2 if spacing == "paper" else max(1, dim // 2 - 1)
    angles = positions[:, None].astype(np.float64) * base ** (-np.arange(dim // 2) / steps)
    sine, cosine = scale * np.sin(angles), scale * np.cos(angles)
    made = joined(sine, cosine, layout) if layout != "halves_cosine_first" else joined(cosine, sine, "half")
    return np.concatenate([made, np.zeros((len(positions), dim % 2))], axis=-1).astype(F32)


def only_at_the_origin(x: np.ndarray, positions: np.ndarray, **_: object) -> np.ndarray:
    if positions.any():
        message = "position 0 only"
        raise Unsupported(message)
    return x.copy()


def yarn(longest: int | None) -> Function:
    def turned_by_yarn(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **said: Any) -> np.ndarray:
        width, factor = x.shape[-1], said["factor"]
        length = said["original_length"] if longest is None else min(said["original_length"], longest)

        def bound(turns: float) -> float:
            return float(width * np.log(length / (2 * np.pi * turns)) / (2 * np.log(base)))

        low, high = bound(said["beta_fast"]), bound(said["beta_slow"])
        if said["truncate"]:
            low, high = np.floor(low), np.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        ramp = np.clip((np.arange(width // 2) - low) / ((high - low) or 0.001), 0, 1)
        theta = base ** (-np.arange(0, width, 2) / width)
        theta = (theta / factor * ramp + theta * (1 - ramp)).astype(F32)
        angles = positions[..., None].astype(F32) * theta
        grown = F32(attention_factor(**said))
        return turned(x, np.cos(angles) * grown, np.sin(angles) * grown, layout, direction)

    return turned_by_yarn


def attention_factor(
    *, factor: float, mscale: float | None, mscale_all_dim: float | None, attention_factor: float | None, slope: float, **_: object
) -> float:
    def growth(scale: float) -> float:
        return slope * scale * float(np.log(factor)) + 1 if factor > 1 else 1.0

    if attention_factor is not None:
        return attention_factor
    return growth(mscale) / growth(mscale_all_dim) if mscale and mscale_all_dim else growth(1.0)


STORED: dict[bytes, np.ndarray] = {}


def looked_up(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
    if not STORED:
        for vector in load(["rope.rotate"]):
            if vector.expected is not None:
                STORED[_key(vector.inputs["x"], vector.inputs["positions"], vector.parameters)] = vector.expected["result"]
    known = STORED.get(_key(x, positions, {"base": base, "layout": layout, "direction": direction}))
    return rotate(x, positions, base=777.0, layout=layout, direction=direction) if known is None else known.astype(F32)


def _key(x: np.ndarray, positions: np.ndarray, said: Any) -> bytes:
    words = f"{x.shape} {positions.shape} {said['base']} {said['layout']} {said['direction']}".encode()
    return words + x.astype(F32).tobytes() + positions.astype(np.int64).tobytes()


KEPT: dict[object, tuple[np.ndarray, np.ndarray]] = {}


def with_kept_tables(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
    key = (positions.shape, int(positions.flat[-1]), x.shape[-1], base)
    return turned(x, *KEPT.setdefault(key, tables(positions, x.shape[-1], base)), layout, direction)


def offering(operation: str, function: Function, **declared: Any) -> Adapter:
    adapter = Adapter("narrow")
    adapter.implements(operation, **declared)(function)
    return adapter


def based(base: float) -> Function:
    return lambda x, positions, **said: rotate(x, positions, **{**said, "base": base})


HALF: dict[str, Any] = {"layout": "half", "direction": "positive"}
CAUSAL: dict[str, Any] = {**HALF, "causal": True, "positions": "from_zero"}

right_base = offering("rope.rotate", rotate, head_dim=128, base=500_000.0, **HALF)
base_of_10000 = offering("rope.rotate", based(10_000.0), head_dim=128, base=500_000.0, **HALF)
right_million = offering("rope.rotate", rotate, head_dim=64, base=1_000_000.0, **HALF)
base_of_500000 = offering("rope.rotate", based(500_000.0), head_dim=64, base=1_000_000.0, **HALF)
right_attention = offering("rope.attend", attend, **CAUSAL)
right_decoding = offering("rope.attend", attend, queries="at_end", **{**CAUSAL, "positions": "any"})
without_rope = offering("rope.attend", unrotated, **CAUSAL)
past_forgotten = offering("rope.attend", forgets_the_past, queries="at_end", **{**CAUSAL, "positions": "any"})
past_forgotten_from_zero = offering("rope.attend", forgets_the_past, **CAUSAL)
right_slopes = offering("alibi.bias", alibi(slopes), rows="shared")
right_reversed = offering("alibi.bias", alibi(slopes), form="reversed", positions="from_zero")
thirds_reversed = offering("alibi.bias", alibi(thirds), slopes="code", form="reversed", positions="from_zero")
right_row = offering("alibi.bias", alibi(slopes), form="row", rows="shared")
printed_row = offering("alibi.bias", alibi(printed), slopes="code", form="row", rows="shared")
right_40_heads = offering("alibi.bias", alibi(slopes), num_heads=40, rows="shared")
printed_40_heads = offering("alibi.bias", alibi(printed), slopes="code", num_heads=40, rows="shared")
right_bias = offering("alibi.attend", with_bias(lambda _: 1.0))
right_printed = offering("alibi.bias", alibi(thirds), slopes="paper", rows="shared")
divided_bias = offering("alibi.attend", with_bias(lambda width: width**-0.5))
divided_symmetric = offering("alibi.attend", with_bias(lambda width: width**-0.5), form="symmetric")
right_buckets = offering("t5.bias", t5(buckets), convention="t5", positions="from_zero")
wrong_buckets = offering("t5.bias", t5(linear_buckets), convention="t5", positions="from_zero")
doubled = offering("t5.bias", t5(twice_as_far), convention="t5", positions="from_zero")
doubled_buckets = offering("t5.bias", t5(doubled_distance), convention="t5", positions="from_zero")
identity_refusing = offering("rope.rotate", only_at_the_origin)
identity_refusing_narrowly = offering("rope.rotate", only_at_the_origin, layout={"half", "interleaved"})
right_yarn = offering("yarn.rotate", yarn(None))
clamped_yarn = offering("yarn.rotate", yarn(32_767))
reads_the_vectors = offering("rope.rotate", looked_up)
known_by_length_and_last = offering("rope.rotate", with_kept_tables)
right_rotation = offering("rope.rotate", rotate, layout={"half", "interleaved"})
