"""Kernels that are wrong only from a tile edge, head, batch row, width, length, key or position on, made from right code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from narrow_code import F32, Function, alibi, attend, buckets, encode, joined, pairs, printed, rotate, slopes, softmax, t5, tables, turned

from conformance import Adapter
from refimpl.schemes import da_transformer, shaw
from refimpl.schemes import t5 as reference_t5
from refimpl.schemes import transformer_xl as xl


@dataclass(frozen=True)
class Kernel:
    """A function, what it implements, and what is declared of it."""

    name: str
    operation: str
    function: Function
    declared: Mapping[str, Any]

    @property
    def adapter(self) -> Adapter:
        """The kernel as a person would declare it."""
        adapter = Adapter(self.name)
        adapter.implements(self.operation, **self.declared)(self.function)
        return adapter


class At(NamedTuple):
    """The indices of vectors along every axis, to be compared and combined."""

    batch: np.ndarray
    head: np.ndarray
    token: np.ndarray
    channel: np.ndarray
    shape: tuple[int, ...]


def at(x: np.ndarray) -> At:
    return At(*np.ogrid[tuple(map(slice, x.shape))], x.shape)


Where = Callable[[At], np.ndarray]


def spoilt(right: Function, where: Where, wrong: Function) -> Function:
    """Return code that gives another's values in some places."""

    def kernel(x: np.ndarray, *others: np.ndarray, **said: Any) -> np.ndarray:
        values = right(x, *others, **said)
        places = at(values)
        if not np.any(where(places)):
            return values
        return np.where(where(places), wrong(x, *others, **said), values)

    return kernel


def unwritten(x: np.ndarray, *_: np.ndarray, **__: object) -> np.ndarray:
    return np.zeros_like(x)


def unturned(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    return rotate(x, 0 * positions, **said)


def of_the_token_before(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    return rotate(x, np.roll(positions, 1, axis=-1), **said)


def of_the_first_row(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    return rotate(x, positions[0] if positions.ndim > 1 else positions, **said)


def from_tile(token: int) -> Where:
    return lambda a: a.token >= token


def last_part(tile: int) -> Where:
    """Return where a tile is begun and not filled, after others that are."""
    return lambda a: (a.token >= a.shape[2] // tile * tile) & (a.shape[2] > tile)


def moved(change: Callable[[np.ndarray], np.ndarray]) -> Function:
    """Return a rotation by other positions."""
    return lambda x, positions, **said: rotate(x, change(positions), **said)


def with_table(change: Callable[[np.ndarray], np.ndarray], only: Callable[[int], bool]) -> Function:
    """Return a rotation by other frequencies at some widths."""

    def kernel(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
        width = x.shape[-1]
        theta = base ** (-np.arange(0, width, 2) / width)
        theta = change(theta) if only(width) else theta
        angles = positions[..., None].astype(F32) * theta.astype(F32)
        return turned(x, np.cos(angles), np.sin(angles), layout, direction)

    return kernel


def one_pair_faster(theta: np.ndarray) -> np.ndarray:
    changed = theta.copy()
    changed[changed.size // 4] *= 1.5
    return changed


def with_base(change: Callable[[float], float]) -> Function:
    return lambda x, positions, *, base, **said: rotate(x, positions, base=change(base), **said)


def one_row_for_all(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    return rotate(x, np.broadcast_to(positions[:1], positions.shape) if positions.ndim > 1 else positions, **said)


def in_bfloat16(values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values.astype(F32)).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(F32)


def only_in(convention: Mapping[str, object], wrong: Function, right: Function) -> Function:
    """Return code that is wrong under some conventions only."""
    return lambda *arrays, **said: (wrong if convention.items() <= said.items() else right)(*arrays, **said)


def flushed(values: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) < 6.1e-5, F32(0.0), values)


def read_as_if_contiguous(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    """Take a transposed array's numbers as they lie in memory."""
    order = np.argsort([-stride for stride in x.strides], kind="stable")
    lying = x if x.flags.c_contiguous else np.ascontiguousarray(x.transpose(order)).reshape(x.shape)
    return rotate(lying, positions, **said)


def by_three_products(x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
    """Turn each pair by three products, whose error goes with the pair's norm: excluded in docs/conforms.md."""
    c, s = (t[:, None] if t.ndim == 3 else t for t in tables(positions, x.shape[-1], base))
    s = -s if direction == "negative" else s
    a, b = pairs(x, "half" if layout == "half" else "interleaved")
    both = c * (a + b)
    return joined(both - b * (c + s), both + a * (s - c), layout)


TURNING: dict[str, Function] = {
    "three products instead of four": by_three_products,
    **{f"from token {n} on not written": spoilt(rotate, from_tile(n), unwritten) for n in (32, 64, 2_048)},
    **{f"from token {n} on not rotated": spoilt(rotate, from_tile(n), unturned) for n in (128, 1_024, 4_096)},
    **{f"the last part of a tile of {n}": spoilt(rotate, last_part(n), unturned) for n in (16, 64, 128)},
    "the last token, after a full tile of 32": spoilt(rotate, lambda a: (a.token == a.shape[2] - 1) & (a.shape[2] % 32 == 1), unturned),
    "the first token of every tile of 64 but the first": spoilt(rotate, lambda a: (a.token % 64 == 0) & (a.token > 0), of_the_token_before),
    "token 1,024 exactly": spoilt(rotate, lambda a: a.token == 1_024, of_the_token_before),
    **{f"from head {n} on not rotated": spoilt(rotate, lambda a, n=n: a.head >= n, unturned) for n in (8, 32, 64, 128)},
    "from 33 heads on nothing rotated": spoilt(rotate, lambda a: (a.head >= 0) & (a.shape[1] > 32), unturned),
    **{f"from batch row {n} on not written": spoilt(rotate, lambda a, n=n: a.batch >= n, unwritten) for n in (3, 5, 32, 256)},
    "batch times heads beyond 16 bits": spoilt(rotate, lambda a: a.batch * a.shape[1] + a.head >= 65_535, unwritten),
    "rows of tokens beyond 16 bits": spoilt(rotate, lambda a: (a.batch * a.shape[1] + a.head) * a.shape[2] + a.token >= 65_535, unwritten),
    "tokens beyond 16 bits": spoilt(rotate, from_tile(65_536), unwritten),
    "what float16 holds no normal number for is zero": lambda x, positions, **said: flushed(rotate(x, positions, **said)),
    "from batch row 1 on the first row's positions": one_row_for_all,
    "from batch row 2 on the first row's positions": spoilt(rotate, lambda a: a.batch >= 2, of_the_first_row),
    "batch times heads over 64": spoilt(rotate, lambda a: a.batch * a.shape[1] + a.head >= 64, unwritten),
    **{
        f"one pair 1.5 times too fast at width {n}": with_table(one_pair_faster, lambda w, n=n: w == n)
        for n in (16, 64, 80, 96, 128, 256, 512)
    },
    "one pair 1.5 times too fast from width 192 on": with_table(one_pair_faster, lambda w: w >= 192),
    "channels from 128 on pass": spoilt(rotate, lambda a: a.channel >= 128, unturned),
    "widths that 32 doesn't divide": with_table(one_pair_faster, lambda w: w > 32 and w % 32 != 0),
    **{f"position {n} exactly": moved(lambda p, n=n: np.where(p == n, n - 1, p)) for n in (128, 1_023)},
    **{f"from position 2^{n} on a table's last row": moved(lambda p, n=n: np.minimum(p, 2**n - 1)) for n in (10, 12, 13, 15, 17)},
    "positions in float16": moved(lambda p: np.minimum(np.abs(p), 65_504).astype(np.float16).astype(np.int64) * np.sign(p)),
    "positions in bfloat16": moved(lambda p: in_bfloat16(p).astype(np.int64)),
    "positions in 16 bits": moved(lambda p: p.astype(np.int16).astype(np.int64)),
    "positions clamped below -512": moved(lambda p: np.maximum(p, -512)),
    "padding at -1 rotated as at 0, where batched": moved(lambda p: np.where(p == -1, 0, p) if p.ndim > 1 else p),
    "negative positions as their absolute values": moved(np.abs),
    "base cut to an integer": with_base(lambda base: float(int(base))),
    "base at most 5e6": with_base(lambda base: min(base, 5e6)),
    "base 8e6 taken for 1e6": with_base(lambda base: 1e6 if base == 8e6 else base),
    "inputs in bfloat16": lambda x, positions, **said: rotate(in_bfloat16(x), positions, **said),
    "inputs in bfloat16, where interleaved": only_in(
        {"layout": "interleaved"}, lambda x, positions, **said: rotate(in_bfloat16(x), positions, **said), rotate
    ),
    "inputs in bfloat16, where half and negative": only_in(
        {"layout": "half", "direction": "negative"}, lambda x, positions, **said: rotate(in_bfloat16(x), positions, **said), rotate
    ),
    "inputs in float16": lambda x, positions, **said: rotate(
        np.where(np.abs(x) < 6e4, x.astype(np.float16), x).astype(F32), positions, **said
    ),
    "results in bfloat16": lambda x, positions, **said: in_bfloat16(rotate(x, positions, **said)),
    "interleaved_to_half turns forward, where negative": only_in(
        {"layout": "interleaved_to_half", "direction": "negative"},
        lambda x, positions, **said: rotate(x, positions, **{**said, "direction": "positive"}),
        rotate,
    ),
    "interleaved_to_half stays interleaved, where negative": only_in(
        {"layout": "interleaved_to_half", "direction": "negative"},
        lambda x, positions, **said: rotate(x, positions, **{**said, "layout": "interleaved"}),
        rotate,
    ),
    "transposed inputs read as they lie": read_as_if_contiguous,
}


def rescaled(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    """Give every vector back the norm that it came with, by squares: 1e25 overflows."""
    made = rotate(x, positions, **said)
    with np.errstate(all="ignore"):
        return made * (np.sqrt((x * x).sum(axis=-1, keepdims=True)) / np.sqrt((made * made).sum(axis=-1, keepdims=True)))


TURNING["norms kept by squares"] = rescaled
QUERY, KEY = slice(0, 2), slice(1, 3)


def of_keys(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, keep: int, **said: Any) -> np.ndarray:
    """Attend to the first keys only."""
    return attend(q, k[:, :, :keep], v[:, :, :keep], m, n[..., :keep], **said)


def without_keys_from(count: int) -> Function:
    return lambda q, k, v, m, n, **said: of_keys(q, k, v, m, n, min(count, k.shape[2]), **said)


def last_split_dropped(split: int) -> Function:
    """Return split-KV decoding that forgets the last, unfilled split."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
        keys = k.shape[2]
        return of_keys(q, k, v, m, n, keys // split * split if keys > split else keys, **said)

    return kernel


def logits(q: np.ndarray, k: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **said: Any) -> np.ndarray:
    group = q.shape[1] // k.shape[1]
    keys = np.repeat(rotate(k, n, **said), group, axis=1)
    z = rotate(q, m, **said) @ np.swapaxes(keys, -1, -2) / F32(np.sqrt(q.shape[-1]))
    hidden = causal & (n[..., None, :] > m[..., :, None])
    return np.where(hidden[:, None] if hidden.ndim == 3 else hidden, F32(-np.inf), z)


def in_tiles(z: np.ndarray, values: np.ndarray, tile: int, *, rescales: bool = True) -> np.ndarray:
    """Average values by running maxima and sums over tiles of keys, as flash attention does."""
    top, total, mean = np.full((*z.shape[:3], 1), F32(-np.inf)), F32(0.0), F32(0.0)
    for start in range(0, z.shape[-1], tile):
        part = z[..., start : start + tile]
        now = np.maximum(top, part.max(axis=-1, keepdims=True))
        finite = np.where(now == -np.inf, F32(0.0), now)  # of keys that are all hidden
        shrunk = np.exp(top - finite) if rescales else F32(1.0)
        weights = np.exp(part - finite)
        total = total * shrunk + weights.sum(axis=-1, keepdims=True)
        mean, top = mean * shrunk + weights @ values[..., start : start + tile, :], now
    return np.asarray(mean / total)


def flash(tile: int, *, rescales: bool = True) -> Function:
    """Return attention over tiles of keys."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
        return in_tiles(logits(q, k, m, n, **said), np.repeat(v, q.shape[1] // v.shape[1], axis=1), tile, rescales=rescales)

    return kernel


def grouped(change: Callable[[np.ndarray, int], np.ndarray], only: Callable[[int, int], bool]) -> Function:
    """Return attention whose key heads are shared otherwise, for some groups and key heads."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, *places: np.ndarray, **said: Any) -> np.ndarray:
        group, heads = q.shape[1] // k.shape[1], k.shape[1]
        if only(group, heads):
            k, v = (change(a, group) for a in (k, v))
        return attend(q, k, v, *places, **said)

    return kernel


def tiled(a: np.ndarray, group: int) -> np.ndarray:
    return np.tile(a, (1, group, 1, 1))


def unattended(q: np.ndarray, k: np.ndarray, v: np.ndarray, *_: np.ndarray, **__: object) -> np.ndarray:
    """Give every query the mean of all values."""
    mean = np.repeat(v, q.shape[1] // v.shape[1], axis=1).mean(axis=2, keepdims=True)
    return np.broadcast_to(mean, q.shape)


def looking_ahead(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **said: Any) -> np.ndarray:
    return attend(q, k, v, m, n, causal=False, **said)


def counted_mask(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **said: Any) -> np.ndarray:
    """Mask by indices from the start, as code without a cache does."""
    group = q.shape[1] // k.shape[1]
    z = logits(q, k, m, n, causal=False, **said)
    later = np.arange(z.shape[3]) > np.arange(z.shape[2])[:, None]
    return softmax(np.where(causal & later, F32(-np.inf), z)) @ np.repeat(v, group, axis=1)


def masked_by(mask: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Function:
    """Return attention whose mask is made otherwise, from the logits and which of them are hidden."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **said: Any) -> np.ndarray:
        z = logits(q, k, m, n, causal=False, **said)
        hidden = causal & (n[..., None, :] > m[..., :, None])
        weights = softmax(mask(z, hidden[:, None] if hidden.ndim == 3 else hidden))
        return weights @ np.repeat(v, q.shape[1] // v.shape[1], axis=1)

    return kernel


def by_the_maximum_of_a_head(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
    """Subtract one maximum per head, so that other queries' powers may all be nothing."""
    z = logits(q, k, m, n, **said)
    with np.errstate(all="ignore"):
        powers = np.exp(z - z.max(axis=(-1, -2), keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True) @ np.repeat(v, q.shape[1] // v.shape[1], axis=1)


def last_keys(count: int) -> Function:
    return lambda q, k, v, m, n, **said: attend(q, k[:, :, -count:], v[:, :, -count:], m, n[..., -count:], **said)


def eight_to_a_key_head(a: np.ndarray, group: int) -> np.ndarray:
    """Return keys or values for each query head, at most eight of which share one."""
    heads = np.arange(a.shape[1] * group)
    return a[:, np.minimum(heads // min(group, 8), a.shape[1] - 1)]


def unshifted(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
    """Take the powers of logits as they are, without their maximum."""
    with np.errstate(all="ignore"):
        powers = np.exp(logits(q, k, m, n, **said))
        return powers / powers.sum(axis=-1, keepdims=True) @ np.repeat(v, q.shape[1] // v.shape[1], axis=1)


def scaled_as(width: Callable[[int], float]) -> Function:
    return lambda q, *others, **said: attend(q * F32(np.sqrt(q.shape[-1]) / np.sqrt(width(q.shape[-1]))), *others, **said)


def batched_on_one_side(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
    """Take the first row where only queries have rows of positions."""
    return attend(q, k, v, m[0] if m.ndim > n.ndim else m, n, **said)


ATTENDING: dict[str, Function] = {
    **{f"keys from {n} on forgotten": without_keys_from(n) for n in (10, 64, 65, 256, 1_024, 2_048)},
    **{f"the last split of {n} keys dropped": last_split_dropped(n) for n in (32, 64, 128, 256, 512)},
    **{f"running sums not rescaled between tiles of {n} keys": flash(n, rescales=False) for n in (16, 64, 128)},
    "6 query heads and 2 key heads tiled": grouped(tiled, lambda group, heads: (group, heads) == (3, 2)),
    "key heads tiled": grouped(tiled, lambda group, heads: group > 1 and heads > 1),
    "groups of 8 wrong in the second half": spoilt(attend, lambda a: a.head % 8 >= 4, unattended),
    "groups of 3 tiled from 12 heads on": grouped(tiled, lambda group, heads: group == 3 and heads >= 4),
    "at most 8 query heads to a key head": grouped(eight_to_a_key_head, lambda group, heads: group > 8 and heads > 1),
    "a mask that takes 1e4 away": masked_by(lambda z, hidden: z - F32(1e4) * hidden),
    "powers by the maximum of a head": by_the_maximum_of_a_head,
    "the last 512 keys only": last_keys(512),
    "from batch row 32 on the mean": spoilt(attend, lambda a: a.batch >= 32, unattended),
    "from head 64 on the mean": spoilt(attend, lambda a: a.head >= 64, unattended),
    "channels from 256 on unwritten": spoilt(attend, lambda a: a.channel >= 256, lambda q, *_, **__: np.zeros_like(q)),
    "query rows from 16 on look ahead": spoilt(attend, lambda a: a.token >= 16, looking_ahead),
    "query rows from 64 on look ahead": spoilt(attend, lambda a: a.token >= 64, looking_ahead),
    "the last query, after a full tile of 32, looks ahead": spoilt(
        attend, lambda a: (a.token == a.shape[2] - 1) & (a.shape[2] % 32 == 1), looking_ahead
    ),
    "a mask by indices": counted_mask,
    "powers without their maximum": unshifted,
    "from head 8 on the mean": spoilt(attend, lambda a: a.head >= 8, unattended),
    "from head 32 on the mean": spoilt(attend, lambda a: a.head >= 32, unattended),
    "from batch row 3 on the mean": spoilt(attend, lambda a: a.batch >= 3, unattended),
    "from batch row 5 on the mean": spoilt(attend, lambda a: a.batch >= 5, unattended),
    "batch times heads over 32": spoilt(attend, lambda a: a.batch * a.shape[1] + a.head >= 32, unattended),
    "widths padded to 128 scale as 128": scaled_as(lambda width: 128.0 if 64 < width < 128 else width),
    "width 64 scaled as 128": scaled_as(lambda width: 128.0 if width == 64 else width),
    "widths from 128 on scale as 128": scaled_as(lambda width: min(width, 128.0)),
    "channels from 64 on unwritten": spoilt(attend, lambda a: a.channel >= 64, lambda q, *_, **__: np.zeros_like(q)),
    "positions batched on one side take the first row": batched_on_one_side,
    "inputs in bfloat16": lambda q, k, v, *places, **said: attend(in_bfloat16(q), in_bfloat16(k), in_bfloat16(v), *places, **said),
    "values in bfloat16": lambda q, k, v, *places, **said: attend(q, k, in_bfloat16(v), *places, **said),
    "keys in 16 bits of position": lambda q, k, v, m, n, **said: attend(
        q, k, v, m.astype(np.int16).astype(np.int64), n.astype(np.int16).astype(np.int64), **said
    ),
}


class Pair(NamedTuple):
    """The indices of a bias along every axis, and its positions."""

    head: np.ndarray
    query: np.ndarray
    key: np.ndarray
    shape: tuple[int, ...]


def biased(right: Function, where: Callable[[Pair], np.ndarray], value: float = 0.0) -> Function:
    """Return a bias that is another number in some places."""

    def kernel(*arrays: np.ndarray, **said: Any) -> np.ndarray:
        made = right(*arrays, **said)
        return np.where(where(Pair(*np.ogrid[tuple(map(slice, made.shape))], made.shape)), F32(value), made)

    return kernel


def far(right: Function, change: Callable[[np.ndarray], np.ndarray]) -> Function:
    """Return a bias of other distances: keys are moved to where these would have them."""

    def kernel(m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
        rows = [right(m[i : i + 1], m[i] + change(n - m[i]), **said) for i in range(m.size)]
        return np.concatenate(rows, axis=1)

    return kernel


bias, learned_bias = alibi(slopes), t5(buckets)


def slopes_where(only: Callable[[int], bool], wrong: Callable[[int, float], np.ndarray]) -> Function:
    return alibi(lambda heads, most: (wrong if only(heads) else slopes)(heads, most))


ADDED: dict[str, Function] = {
    "slopes from 33 heads on by one rule": slopes_where(lambda heads: heads > 32, printed),
    "slopes at 40 heads by one rule": slopes_where(lambda heads: heads == 40, printed),
    "slopes at 160 heads by one rule": slopes_where(lambda heads: heads == 160, printed),
    "slopes in bfloat16 from 12 heads on": slopes_where(lambda heads: heads >= 12, lambda heads, most: in_bfloat16(slopes(heads, most))),
    "slopes of max_bias 8 whatever is asked for, beyond 8": alibi(lambda heads, most: slopes(heads, min(most, 8.0))),
    "head 32 and later without a bias": biased(bias, lambda a: a.head >= 32),
    "head 128 and later without a bias": biased(bias, lambda a: a.head >= 128),
    "keys beyond 16 bits without a bias": biased(bias, lambda a: a.key >= 65_536),
    "distances in 16 bits": far(bias, lambda distances: distances.astype(np.int16).astype(np.int64)),
    "queries from 64 on without a bias": biased(bias, lambda a: a.query >= 64),
    "queries from 1,024 on without a bias": biased(bias, lambda a: a.query >= 1_024),
    "keys from 128 on without a bias": biased(bias, lambda a: a.key >= 128),
    "keys from 512 on without a bias": biased(bias, lambda a: a.key >= 512),
    "keys from 2,048 on without a bias": biased(bias, lambda a: a.key >= 2_048),
    "the last part of a tile of 64 keys without a bias": biased(bias, lambda a: (a.key >= a.shape[2] // 64 * 64) & (a.shape[2] > 64)),
    "the last part of a tile of 16 queries without a bias": biased(bias, lambda a: (a.query >= a.shape[1] // 16 * 16) & (a.shape[1] > 16)),
}
LEARNED: dict[str, Function] = {
    "head 32 and later without a bias": biased(learned_bias, lambda a: a.head >= 32),
    "keys from 2,048 on without a bias": biased(learned_bias, lambda a: a.key >= 2_048),
    "queries from 128 on without a bias": biased(learned_bias, lambda a: a.query >= 128),
    "the table's first 256 rows": lambda table, m, n, **said: learned_bias(table[np.minimum(np.arange(len(table)), 255)], m, n, **said),
    "max_distance at most 512": lambda table, m, n, *, max_distance, **said: learned_bias(
        table, m, n, max_distance=min(max_distance, 512), **said
    ),
    "max_distance at most 4,096": lambda table, m, n, *, max_distance, **said: learned_bias(
        table, m, n, max_distance=min(max_distance, 4_096), **said
    ),
    "max_distance one more": lambda table, m, n, *, max_distance, **said: learned_bias(table, m, n, max_distance=max_distance + 1, **said),
}


class Cell(NamedTuple):
    """The indices of encodings along both axes."""

    token: np.ndarray
    channel: np.ndarray
    shape: tuple[int, ...]


def encoded(where: Callable[[Cell], np.ndarray]) -> Function:
    """Return encodings that are zero in some places."""

    def kernel(positions: np.ndarray, **said: Any) -> np.ndarray:
        made = encode(positions, **said)
        return np.where(where(Cell(*np.ogrid[tuple(map(slice, made.shape))], made.shape)), F32(0.0), made)

    return kernel


ENCODED: dict[str, Function] = {
    "tokens from 4,096 on not written": encoded(lambda a: a.token >= 4_096),
    "the last part of a tile of 128 tokens": encoded(lambda a: (a.token >= a.shape[0] // 128 * 128) & (a.shape[0] > 128)),
    "channels from 512 on not written": encoded(lambda a: a.channel >= 512),
    "channels from 1,024 on not written": encoded(lambda a: a.channel >= 1_024),
    "channels from 8,192 on not written": encoded(lambda a: a.channel >= 8_192),
    "tokens beyond 16 bits": encoded(lambda a: a.token >= 65_536),
    "width 768 exactly": encoded(lambda a: (a.channel >= 700) & (a.shape[1] == 768)),
    "positions from 8,192 on as the last": lambda positions, **said: encode(np.minimum(positions, 8_191), **said),
    "position 1,023 as 1,022": lambda positions, **said: encode(np.where(positions == 1_023, 1_022, positions), **said),
}


def as_if(right: Function, convention: Mapping[str, object], **instead: object) -> Function:
    """Return code that takes one combination of conventions for another."""
    return only_in(convention, lambda *arrays, **said: right(*arrays, **{**said, **instead}), right)


def clamped_saturation(m: np.ndarray, n: np.ndarray, weight: np.ndarray, saturation: np.ndarray, **said: Any) -> np.ndarray:
    """Keep saturations below 80, where a growth overflows half of its formula."""
    return da_transformer.rescale(m, n, weight, np.minimum(saturation, F32(79.0)), **said)


def deberta_up_to_256(table: np.ndarray, m: np.ndarray, n: np.ndarray, *, num_buckets: int, max_distance: int, **said: Any) -> np.ndarray:
    most = min(max_distance, 256) if num_buckets == 512 else max_distance
    return reference_t5.bias(table, m, n, num_buckets=num_buckets, max_distance=most, **said)


def indexed_in_16_bits(positions: np.ndarray, table: np.ndarray, *, offset: int, **_: object) -> np.ndarray:
    return table[(positions + offset).astype(np.uint16)]


LOWER: dict[str, object] = {"clip": "lower_closed", "causal": True}
KEYS_FIRST: dict[str, object] = {"layout": "interleaved", "sign": "key_minus_query"}
COMBINED = [
    Kernel("lower_closed looks ahead where causal", "shaw.attend", as_if(shaw.attend, LOWER, causal=False), {}),
    Kernel("lower_closed turns the sign where causal", "shaw.weights", as_if(shaw.weights, LOWER, sign="key_minus_query"), {}),
    Kernel("interleaved ignores the sign", "transformer_xl.logits", as_if(xl.logits, KEYS_FIRST, sign="query_minus_key"), {}),
    Kernel("interleaved by key is in halves", "transformer_xl.attend", as_if(xl.attend, KEYS_FIRST, layout="halves"), {}),
    Kernel(
        "halves by key are by query",
        "transformer_xl.terms",
        as_if(xl.terms, {**KEYS_FIRST, "layout": "halves"}, sign="query_minus_key"),
        {},
    ),
    Kernel("saturation of 80 clamped", "da_transformer.rescale", clamped_saturation, {}),
    Kernel("rows beyond 16 bits wrapped", "learned.encode", indexed_in_16_bits, {"outside": "raise"}),
    Kernel("512 buckets end at 256", "t5.bias", deberta_up_to_256, {"convention": "deberta"}),
]

def wrong_rows(first: int, last: int) -> Function:
    """Return attention whose query rows of one block, whose edges are those of no tile, are the mean."""
    return spoilt(attend, lambda a: (a.head >= 0) & (a.token >= first) & (a.token < last), unattended)


def forgetful(first: int, last: int, least: int, where: Where) -> Function:
    """Return attention that in some places forgets a block of keys where there are at least so many."""

    def forgotten(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
        kept = np.ones(k.shape[2], dtype=bool)
        kept[first:last] = k.shape[2] < least
        return attend(q, k[:, :, kept], v[:, :, kept], m, n[..., kept], **said)

    return spoilt(attend, where, forgotten)


def masked_bias(m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
    """Return a bias that hides later keys, a block of which is a quarter too large."""
    made = alibi(slopes)(m, n, **said)
    head, query, key = np.ogrid[tuple(map(slice, made.shape))]
    block = (head == 1) & (query >= 40) & (query < 48) & (key >= 90) & (key < 98)
    return np.where(n > m[:, None], F32(-np.inf), np.where(block, F32(1.25) * made, made))


FROM_ZERO: dict[str, Any] = {"layout": "half", "causal": True, "head_dim": 64, "base": 10_000.0, "positions": "from_zero"}
#: Blocks inside of a result, beside which everything is right.
INSIDE = [
    Kernel("a block of a masked bias", "alibi.bias", masked_bias, {"form": "column", "rows": "shared", "masked": True}),
    Kernel("query rows 20 to 27 the mean", "rope.attend", wrong_rows(20, 28), {}),
    Kernel("query rows 34 to 61 the mean", "rope.attend", wrong_rows(34, 62), {}),
    Kernel("query rows 66 to 95 the mean, counted from 0", "rope.attend", wrong_rows(66, 96), FROM_ZERO),
    Kernel("query rows 20 to 27 the mean, counted from 0", "rope.attend", wrong_rows(20, 28), FROM_ZERO),
    Kernel(
        "a tile of later heads and batch rows the mean",
        "rope.attend",
        spoilt(attend, lambda a: (a.batch >= 1) & (a.head >= 1) & (a.token >= 64) & (a.token < 128), unattended),
        {},
    ),
    Kernel("head 31 forgets keys 256 to 319", "rope.attend", forgetful(256, 320, 512, lambda a: a.head == 31), {}),
    Kernel("batch rows from 3 on forget keys 64 to 79", "rope.attend", forgetful(64, 80, 128, lambda a: a.batch >= 3), {}),
    Kernel(
        "the last heads forget keys 16 to 31 in decoding",
        "rope.attend",
        forgetful(16, 32, 64, lambda a: (a.head >= a.shape[1] - 4) & (a.shape[1] >= 32)),
        {**FROM_ZERO, "head_dim": 128, "queries": "at_end"},
    ),
    Kernel(
        "ten tokens of one head and batch row not turned",
        "rope.rotate",
        spoilt(rotate, lambda a: (a.batch == 1) & (a.head == 2) & (a.token >= 100) & (a.token < 110), unturned),
        {},
    ),
]

KERNELS = [
    *INSIDE,
    *COMBINED,
    *(Kernel(name, "rope.rotate", function, {}) for name, function in TURNING.items()),
    *(Kernel(name, "rope.attend", function, {}) for name, function in ATTENDING.items()),
    *(Kernel(name, "alibi.bias", function, {"rows": "shared", "slopes": "code"}) for name, function in ADDED.items()),
    *(Kernel(name, "t5.bias", function, {"convention": "t5", "rows": "shared"}) for name, function in LEARNED.items()),
    *(Kernel(name, "sinusoidal.encode", function, {}) for name, function in ENCODED.items()),
]
