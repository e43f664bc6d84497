"""Kernels that once conformed: wrong in settings that no released model has, in memory that is used again, in views and behind masks."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from narrow_code import F32, Function, alibi, attend, encode, rotate, slopes, softmax, t5, tables, turned
from narrow_code import buckets as t5_buckets
from wrong_kernels import Kernel, masked_by, with_base

from conformance.golden import grids
from conformance.mutants.rotary import Rotary
from refimpl.schemes import (
    axial_rope,
    learned,
    longrope,
    mrope,
    none,
    ntk_by_parts,
    partial_rope,
    relative_bias,
    rope,
    sincos_2d,
    transformer_xl,
)
from refimpl.schemes import t5 as reference_t5
from refimpl.schemes.alibi import slopes as alibi_slopes


def limited(right: Function, **limits: Callable[[Any], Any]) -> Function:
    """Return code that takes other values of some parameters."""
    return lambda *arrays, **said: right(*arrays, **{**said, **{name: limit(said[name]) for name, limit in limits.items()}})


def whole_beyond(most: float) -> Function:
    """Return encodings of positions that are rounded beyond a number."""

    def kernel(positions: np.ndarray, **said: Any) -> np.ndarray:
        return np.asarray(encode(np.where(np.abs(positions) > most, np.round(positions), positions), **said))

    return kernel


def in_a_byte(relative: np.ndarray, *, num_buckets: int, **said: Any) -> np.ndarray:
    found = t5_buckets(relative, num_buckets=num_buckets, **said)
    return found.astype(np.int8) if num_buckets <= 256 else found


def rounded_up(relative: np.ndarray, *, bidirectional: bool, num_buckets: int, max_distance: int, **_: object) -> np.ndarray:
    """Return buckets of logarithms to which a little is added, so that ties come out right."""
    exact = num_buckets // (4 if bidirectional else 2)
    distance = np.abs(relative) if bidirectional else np.maximum(-relative, 0)
    steps = np.log(np.maximum(distance, 1) / exact) / np.log(max_distance / exact) * exact + 1e-3
    start = (relative > 0) * 2 * exact if bidirectional else 0
    return np.asarray(start + np.where(distance < exact, distance, np.minimum(exact + np.floor(steps), 2 * exact - 1)), np.int64)


def in_integers(right: Function, first: int, kind: type[np.signedinteger[Any]]) -> Function:
    """Return a bias whose distances are taken in small integers where these hold all positions."""

    def kernel(*arrays: np.ndarray, **said: Any) -> np.ndarray:
        m, n = arrays[first:]
        if max(np.abs(m).max(), np.abs(n).max()) > np.iinfo(kind).max:
            return np.asarray(right(*arrays, **said))
        apart = (n[None, :].astype(kind) - m[:, None].astype(kind)).astype(np.int64)
        rows = [right(*arrays[:first], np.zeros(1, np.int64), row, **said) for row in apart]
        return np.concatenate(rows, axis=-2)

    return kernel


def head_in_a_byte(q: np.ndarray, k: np.ndarray, v: np.ndarray, *places: np.ndarray, **said: Any) -> np.ndarray:
    """Find the head of the keys by a product that is kept in a byte."""
    heads, of = q.shape[1], k.shape[1]
    which = (np.arange(heads) * of & 255) // heads if heads < 64 else np.arange(heads) * of // heads
    return np.asarray(attend(q, k[:, which], v[:, which], *places, **said))


FIVE = {"convention": "t5"}
ROW = {"rows": "shared"}
CODE = ROW | {"slopes": "code"}
SET: list[Kernel] = [
    Kernel("a scale of at most 100", "sinusoidal.encode", limited(encode, scale=lambda scale: min(scale, 100.0)), {}),
    Kernel("positions beyond 1,000 made whole", "sinusoidal.encode", whole_beyond(1_000), {}),
    Kernel("a largest exponent of at most 32", "alibi.bias", limited(alibi(slopes), max_bias=lambda most: min(most, 32.0)), CODE),
    Kernel("a scale of 0 taken for 1", "sinusoidal.encode", limited(encode, scale=lambda scale: scale or 1.0), {}),
    Kernel("a negative scale taken for its absolute value", "sinusoidal.encode", limited(encode, scale=abs), {}),
    Kernel("a base of at least 2", "sinusoidal.encode", limited(encode, base=lambda base: max(base, 2.0)), {}),
    Kernel("a base of at least 2", "rope.rotate", with_base(lambda base: max(base, 2.0)), {}),
    Kernel("a base in 32 bits", "rope.rotate", with_base(lambda base: min(base, 2.0**31 - 1)), {}),
    Kernel("no bucket beyond 511", "t5.bucket", lambda *arrays, **said: np.minimum(reference_t5.bucket(*arrays, **said), 511), FIVE),
    Kernel(
        "no row beyond 511",
        "t5.bias",
        lambda table, *others, **said: reference_t5.bias(table[np.minimum(np.arange(len(table)), 511)], *others, **said),
        {"convention": "deberta"},
    ),
    Kernel("max_distance in 16 bits", "t5.bias", t5(limited(t5_buckets, max_distance=lambda most: min(most, 32_767))), FIVE | ROW),
    Kernel("buckets in a signed byte up to 256", "t5.bias", t5(in_a_byte), FIVE | ROW),
    Kernel("logarithms rounded up", "t5.bucket", rounded_up, FIVE),
    Kernel("distances of positions that fit in 16 bits", "relative_bias.bias", in_integers(relative_bias.bias, 1, np.int16), ROW),
    Kernel("distances of positions that fit in 16 bits", "alibi.bias", in_integers(alibi(slopes), 0, np.int16), CODE),
    Kernel("distances of positions that fit in a byte", "relative_bias.bias", in_integers(relative_bias.bias, 1, np.int8), ROW),
    Kernel("the head of keys in a byte", "rope.attend", head_in_a_byte, {"layout": "half", "causal": True, "head_dim": {64, 128}}),
]


def of_ends(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    """Turn all rows by the first where all begin and end as that does."""
    alike = positions.ndim > 1 and positions.size > 0 and bool(np.all(positions[:, [0, -1]] == positions[0, [0, -1]]))
    return np.asarray(rotate(x, positions[0] if alike else positions, **said))


def of_a_range(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    """Count from the first position where the last lies as far from it as tokens do."""
    count = positions.shape[-1]
    fits = np.all(positions[..., -1] - positions[..., 0] == count - 1)
    return np.asarray(rotate(x, positions[..., :1] + np.arange(count) if fits else positions, **said))


def flat_slopes(heads: int, most: float) -> np.ndarray:
    return np.where(slopes(heads, most) < 2.0**-24, F32(0.0), slopes(heads, most))


def anew(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    """Count anew from each 0, as in packed sequences."""
    zero, index = positions == 0, np.arange(positions.shape[-1])
    packed = positions.ndim == 1 and zero.sum() > 1 and bool(zero[0])
    return np.asarray(rotate(x, index - np.maximum.accumulate(np.where(zero, index, 0)) if packed else positions, **said))


GUESSING: list[Kernel] = [
    Kernel("counted anew from each 0", "rope.rotate", anew, {}),
    Kernel("counted anew from each 0, in a model", "rope.rotate", anew, {"head_dim": 64, "layout": "half"}),
    Kernel("rows alike where their ends are", "rope.rotate", of_ends, {}),
    Kernel("rows alike where their ends are, in a model", "rope.rotate", of_ends, {"head_dim": 128, "layout": "half"}),
    Kernel("a range where its ends are", "rope.rotate", of_a_range, {}),
    Kernel("a range where its ends are, in a model", "rope.rotate", of_a_range, {"head_dim": 128, "rows": "shared"}),
    Kernel("slopes below 2^-24 are zero", "alibi.bias", alibi(flat_slopes), CODE),
]


def unturned(mask: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Function:
    """Return attention without positions whose mask is made otherwise, from the logits and which of them are hidden."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool) -> np.ndarray:
        keys, values = (np.repeat(a, q.shape[1] // k.shape[1], axis=1) for a in (k, v))
        hidden = causal & (n[..., None, :] > m[..., :, None])
        z = q @ np.swapaxes(keys, -1, -2) / F32(np.sqrt(q.shape[-1]))
        return softmax(mask(z, hidden[:, None] if hidden.ndim == 3 else hidden)) @ values

    return kernel


def taking(much: float) -> Function:
    return lambda z, hidden: z - F32(much) * hidden


def putting(low: float) -> Function:
    return lambda z, hidden: np.where(hidden, F32(low), z)


AT_END: dict[str, Any] = {"causal": True, "queries": "at_end"}
HIDING: list[Kernel] = [
    Kernel(
        f"a mask that {does} {size:g}{', ' + ', '.join(map(str, declared.values())) if declared else ''}",
        operation,
        attention(mask(size)),
        declared,
    )
    for operation, attention in (("none.attend", unturned), ("rope.attend", masked_by))
    for does, mask, size in (("takes away", taking, 1e4), ("is", putting, -1e4))
    for declared in ({}, AT_END, {**AT_END, "positions": "from_zero"})
] + [
    Kernel(f"a mask that {does} {-1e6:g}", "none.attend", unturned(mask), declared)
    for does, mask in (("adds", taking(1e6)), ("is", putting(-1e6)))
    for declared in ({}, {"causal": True}, AT_END)
]
#: What models take for infinity.
FAR_BELOW: list[Kernel] = [
    Kernel(f"a mask that {does} {size:g}", "none.attend", unturned(mask(size)), {})
    for does, mask, size in (("takes away", taking, 1e9), ("is", putting, -1e9), ("is", putting, np.finfo(F32).min / 2))
]


def sliding(right: Function, window: int) -> Function:
    """Return attention to the last keys only, as by a cache that slides."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
        if k.shape[2] <= window:
            return np.asarray(right(q, k, v, m, n, **said))
        return np.asarray(right(q, k[:, :, -window:], v[:, :, -window:], np.maximum(m, n[..., -window:].min()), n[..., -window:], **said))

    return kernel


def padded(right: Function, beyond: int) -> Function:
    """Return attention whose keys, where they are more than so many, are filled up with zeros to a multiple of 128: these aren't hidden."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
        more = -k.shape[2] % 128 if k.shape[2] > beyond else 0
        k, v = (np.pad(x, ((0, 0), (0, 0), (0, more), (0, 0))) for x in (k, v))
        return np.asarray(right(q, k, v, m, np.pad(n, ((0, 0),) * (n.ndim - 1) + ((0, more),)), **said))

    return kernel


def within(window: int) -> Function:
    """Return attention to keys that stand less than so many before the query."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **said: Any) -> np.ndarray:
        far = (m[..., :, None] - n[..., None, :] >= window) & (k.shape[2] > window)
        mask = masked_by(lambda z, hidden: np.where(hidden | (far[:, None] if far.ndim == 3 else far), F32(-np.inf), z))
        return np.asarray(mask(q, k, v, m, n, causal=causal, **said))

    return kernel


def without(right: Function, left_out: Callable[[int, int], slice]) -> Function:
    """Return attention that leaves keys out, by how many queries and keys there are."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, **said: Any) -> np.ndarray:
        kept = left_out(q.shape[2], k.shape[2])
        return np.asarray(right(q, k[:, :, kept], v[:, :, kept], m, n[..., kept], **said))

    return kernel


def one_after(tile: int) -> Callable[[int, int], slice]:
    """Return what leaves out the last key where it is the only one of its tile."""
    return lambda _, count: slice(count - (count > tile and count % tile == 1))


def by_blocks(z: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Hide blocks of 128 keys after the block of the query, by index, beside what is hidden by position."""
    queries, keys = z.shape[-2:]
    after = np.arange(keys) // 128 > (np.arange(queries)[:, None] + max(keys - queries, 0)) // 128
    return np.where(hidden | (after & hidden.any() & ~(after | hidden).all(axis=-1, keepdims=True)), F32(-np.inf), z)


def of_one_row(which: Callable[[np.ndarray], bool], rows: int = 1) -> Function:
    """Return a rotation that turns further rows of the batch by the first ones' positions, where a kernel is chosen by sizes."""

    def kernel(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
        repeated = positions.ndim > 1 and which(x)
        return np.asarray(rotate(x, positions[np.arange(len(positions)) % rows] if repeated else positions, **said))

    return kernel


HEADS_OF_64: dict[str, Any] = {"head_dim": 64, "base": 1e6, "layout": "half"}
BATCHED: list[Kernel] = [
    Kernel("one token of more than 8 rows", "rope.rotate", of_one_row(lambda x: x.shape[2] == 1 and len(x) > 8), HEADS_OF_64),
    Kernel("more than 32 heads", "rope.rotate", of_one_row(lambda x: x.shape[1] > 32), {"head_dim": 128, "layout": "interleaved"}),
    Kernel("more than 1,024 tokens", "rope.rotate", of_one_row(lambda x: x.shape[2] > 1_024), {}),
    Kernel("rows in six bits", "rope.rotate", of_one_row(lambda _: True, rows=64), {"head_dim": {64, 80, 96, 128}}),
]


def bounded_by_the_first_row(tile: int) -> Function:
    """Return causal attention whose tiles of keys end where the first row of the batch does."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool) -> np.ndarray:
        if not causal or m.ndim == 1:
            return np.asarray(RIGHT(q, k, v, m, n, causal=causal))
        beyond = np.broadcast_to(n > np.max(m[0]) // tile * tile + tile, (len(k), k.shape[2]))
        hidden = beyond[:, None, None, :] & ~beyond.all(axis=-1)[:, None, None, None]
        return np.asarray(
            unturned(lambda z, h: np.where(h | (hidden & ~(h | hidden).all(axis=-1, keepdims=True)), F32(-np.inf), z))(
                q, k, v, m, n, causal=True
            )
        )

    return kernel


RIGHT = unturned(putting(-np.inf))


def without_the_last_heads(tile: int) -> Function:
    """Return attention that takes many batches and heads together in tiles, and leaves the last one out where it isn't full."""

    def kernel(q: np.ndarray, *others: np.ndarray, **said: Any) -> np.ndarray:
        made, rows = np.asarray(RIGHT(q, *others, **said)), q.shape[0] * q.shape[1]
        whole = np.arange(rows) < rows - (rows % tile if rows > 1_024 else 0)
        return np.where(whole.reshape(*q.shape[:2], 1, 1), made, F32(0.0))

    return kernel


TILED: list[Kernel] = [
    *(
        Kernel(f"one key after tiles of {tile}", "none.attend", without(RIGHT, one_after(tile)), declared)
        for tile, declared in ((96, {"causal": False}), (176, {"causal": False}), (160, AT_END), (192, AT_END))
    ),
    *(Kernel(f"zeros after more than {n:,} keys", "none.attend", padded(RIGHT, n), {"causal": False}) for n in (512, 1_024, 2_048)),
    Kernel("the oldest key forgotten in decoding", "none.attend", without(RIGHT, lambda m, n: slice(int(m == 1 and n > 1_500), None)), {}),
    *(Kernel(f"tiles of {tile} that end with the first row", "none.attend", bounded_by_the_first_row(tile), {}) for tile in (16, 64)),
    Kernel("blocks skipped by index", "none.attend", unturned(by_blocks), {}),
    Kernel("blocks skipped by index", "rope.attend", masked_by(by_blocks), {}),
]
MODEL: dict[str, Any] = {"layout": "half", "direction": "positive", "head_dim": 128, "base": 500_000.0}
SLIDING: list[Kernel] = [
    *(Kernel(f"the last {n:,} keys only", "none.attend", sliding(unturned(putting(-np.inf)), n), {}) for n in (2_048, 4_096, 4_097)),
    *(Kernel(f"the last {n:,} keys only, {d}", "rope.attend", sliding(attend, n), d) for n in (2_048, 4_096) for d in ({}, AT_END)),
    Kernel("the last 4,096 keys only, in a model", "rope.attend", sliding(attend, 4_096), {**MODEL, **AT_END, "positions": "from_zero"}),
    Kernel("a window of 4,096 positions", "rope.attend", within(4_096), AT_END),
]


class Kept:
    """Code that knows an array again by what is no sign of its numbers, and answers with what it made of those then."""

    def __init__(self, right: Function, which: int, known: Callable[[Any], object]) -> None:
        self.right, self.which, self.known = right, which, known
        self.kept: dict[object, tuple[Any, Any]] = {}

    def __call__(self, *arrays: Any, **said: Any) -> Any:
        array = arrays[self.which]
        key = (self.known(array), tuple(array.shape), str(sorted(said.items())))
        _, copied = self.kept.setdefault(key, (array, array.copy() if isinstance(array, np.ndarray) else array.clone()))
        return self.right(*arrays[: self.which], copied, *arrays[self.which + 1 :], **said)


def pointer(array: Any) -> object:
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr()


def ends(array: np.ndarray) -> object:
    """Return the first and the last row, or token."""
    return array[..., :1, :].tobytes(), array[..., -1:, :].tobytes()


class Latest:
    """A rotation that keeps the tables of the positions that it was given last."""

    def __init__(self) -> None:
        self.last: tuple[Any, ...] = ()

    def __call__(self, x: np.ndarray, positions: np.ndarray, *, base: float, layout: str, direction: str, **_: object) -> np.ndarray:
        if not self.last or self.last[0] is not positions or self.last[1] != base:
            self.last = (positions, base, *tables(positions, x.shape[-1], base))
        return turned(x, *self.last[2:], layout, direction)


def reused() -> list[Kernel]:
    """Return code that keeps what it made of an array and doesn't see that this was written to: nothing of it outlives a test."""
    longrope_declared = {"layout": "half", "direction": "positive"}
    return [
        Kernel("positions known by their identity", "rope.rotate", Kept(rotate, 1, id), {}),
        Kernel("positions known by where they lie", "rope.rotate", Kept(rotate, 1, pointer), {}),
        Kernel("the last positions known by their identity", "rope.rotate", Latest(), {}),
        Kernel("vectors known by their identity", "rope.rotate", Kept(rotate, 0, id), {"positions": "from_zero"}),
        Kernel("keys known by their identity", "rope.attend", Kept(attend, 1, id), {}),
        Kernel("values known by their identity", "rope.attend", Kept(attend, 2, id), AT_END),
        Kernel("a table known by its identity", "t5.bias", Kept(t5(t5_buckets), 0, id), FIVE | ROW),
        Kernel("a table known by where it lies", "learned.encode", Kept(learned.encode, 1, pointer), {}),
        Kernel("short factors known by their identity", "longrope.rotate", Kept(longrope.rotate, 2, id), longrope_declared),
        Kernel("long factors known by their identity", "longrope.rotate", Kept(longrope.rotate, 3, id), longrope_declared),
    ]


class Buffered:
    """A rotation whose results lie in a buffer of its own, which the next call overwrites."""

    def __init__(self) -> None:
        self.buffer = np.zeros(1 << 20, F32)

    def __call__(self, *arrays: np.ndarray, **said: Any) -> np.ndarray:
        made = rotate(*arrays, **said)
        view = self.buffer[: made.size].reshape(made.shape)
        view[...] = made
        return view


def known_by_ends() -> list[Kernel]:
    """Return code that takes an array for an earlier one that began and ended alike."""
    return [
        Kernel("a table known by its ends", "learned.encode", Kept(learned.encode, 1, ends), {"outside": "clamp"}),
        Kernel("a table known by its ends", "relative_bias.bias", Kept(relative_bias.bias, 0, ends), {}),
        Kernel("keys known by their ends", "rope.attend", Kept(attend, 1, ends), AT_END),
    ]


def backwards(x: np.ndarray) -> np.ndarray:
    """Return an array that is read from its start in memory where it begins at its end."""
    return x[tuple(slice(None, None, -1) if stride < 0 else slice(None) for stride in x.strides)]


def first_only(x: np.ndarray) -> np.ndarray:
    """Return an array in which only the first of numbers that are there once is found."""
    for axis, (stride, size) in enumerate(zip(x.strides, x.shape, strict=True)):
        if stride == 0 and size > 1:
            x = np.where(np.arange(size).reshape(-1, *[1] * (x.ndim - axis - 1)) == 0, x, 0 * x).astype(x.dtype)
    return x


def strided(x: np.ndarray, *strides: int) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(x, x.shape, strides)


def heads_side_by_side(x: np.ndarray) -> np.ndarray:
    """Read rows of the batch as if they followed one another as their heads do."""
    guessed = x.ndim == 4 and x.shape[0] > 1 and x.strides[0] > x.shape[1] * x.strides[1] > 0 < x.strides[2] < x.strides[1]
    return strided(x, x.shape[1] * x.strides[1], *x.strides[1:]) if guessed else x


def tokens_side_by_side(x: np.ndarray) -> np.ndarray:
    """Read tokens as if they followed one another as their channels do."""
    guessed = x.ndim == 4 and x.strides[1] > x.strides[2] > x.shape[3] * x.itemsize and x.strides[3] == x.itemsize
    return strided(x, *x.strides[:2], x.shape[3] * x.itemsize, x.itemsize) if guessed else x


def reading(right: Function, *which: tuple[int, Callable[[np.ndarray], np.ndarray]]) -> Function:
    """Return code that reads some of its arrays otherwise."""
    reads = dict(which)
    return lambda *arrays, **said: right(*(reads.get(at, np.asarray)(array) for at, array in enumerate(arrays)), **said)


def rows_taken_for_equal(right: Function, *which: int, by: tuple[int, int]) -> Function:
    """Return code that gives all rows of the batch what the first one has, where two rows are equal."""

    def kernel(*arrays: np.ndarray, **said: Any) -> np.ndarray:
        one, other = by
        placed = [arrays[at] for at in which]
        if all(len(each) > 2 and np.array_equal(each[one], each[other]) for each in placed if each.ndim > 1) and placed[0].ndim > 1:
            first = [np.repeat(each[:1], len(each), axis=0) if at in which else each for at, each in enumerate(arrays)]
            return np.asarray(right(*first, **said))
        return np.asarray(right(*arrays, **said))

    return kernel


def as_it_is_stored(weight: np.ndarray, **said: Any) -> np.ndarray:
    """Return a weight whose rows are read in the order in which they lie in memory."""
    return np.asarray(rope.permute(weight.reshape(-1, order="A").reshape(weight.shape), **said))


#: Wrong where all rows of a batch but one are placed alike, or for transposed matrices; right elsewhere.
OTHERWISE: list[Kernel] = [
    Kernel("rows are as the first two", "rope.rotate", rows_taken_for_equal(rotate, 1, by=(0, 1)), {}),
    Kernel("rows of tables are as the first and the last", "rope.apply", rows_taken_for_equal(rope.apply, 1, 2, by=(0, -1)), {}),
    Kernel("rows of keys are as the first two", "rope.attend", rows_taken_for_equal(rope.attend, 4, by=(0, 1)), AT_END),
    Kernel("matrices are read as they lie", "rope.permute", as_it_is_stored, {}),
]


VIEWED: list[Kernel] = [
    Kernel("views from the end read from the start", "rope.rotate", reading(rotate, (0, backwards)), {}),
    Kernel("positions from the end read from the start", "rope.rotate", reading(rotate, (1, backwards)), {"layout": "half"}),
    Kernel("keys from the end read from the start", "rope.attend", reading(attend, (1, backwards)), AT_END),
    Kernel("a table from the end read from the start", "t5.bias", reading(t5(t5_buckets), (0, backwards)), FIVE | ROW),
    Kernel("what is broadcast found once", "rope.rotate", reading(rotate, (0, first_only)), {}),
    Kernel(
        "what is broadcast found once, in a model", "rope.rotate", reading(rotate, (0, first_only)), {**MODEL, "positions": "from_zero"}
    ),
    Kernel("values that are broadcast found once", "rope.attend", reading(attend, (2, first_only)), {}),
    Kernel("rows of the batch read side by side", "rope.rotate", reading(rotate, (0, heads_side_by_side)), {}),
    Kernel("tokens read side by side", "rope.rotate", reading(rotate, (0, tokens_side_by_side)), {}),
    Kernel("tokens of keys read side by side", "rope.attend", reading(attend, (1, tokens_side_by_side)), AT_END),
    Kernel("a cotangent that is broadcast found once", "rope.gradient", reading(rope.gradient, (2, first_only)), {"layout": "half"}),
]


def rest_as_it_came(tile: int) -> Function:
    """Return the shift of scores by whole tiles of queries, where there is one; the queries left over keep theirs."""

    def kernel(scores: np.ndarray, *, memory: int) -> np.ndarray:
        whole = scores.shape[2] // tile * tile or scores.shape[2]
        return np.concatenate([transformer_xl.shift(scores, memory=memory)[:, :, :whole], scores[:, :, whole:]], axis=2)

    return kernel


def no_farther(most: int) -> Function:
    """Return factors of distances that are clipped."""

    def kernel(m: np.ndarray, n: np.ndarray, weight: np.ndarray, saturation: np.ndarray) -> np.ndarray:
        distance = np.minimum(np.abs(m[..., None, :, None] - n[..., None, None, :]), most)
        limit = saturation.astype(np.float64)[:, None, None]
        with np.errstate(over="ignore"):
            odds = np.exp(limit - weight.astype(np.float64)[:, None, None] * distance)
        return np.asarray(((1 + np.exp(limit)) / (1 + odds)).astype(weight.dtype))

    return kernel


def in_a_table(rows: int) -> dict[str, Any]:
    return {"positions": "consecutive", "lowest": 0, "highest": rows - 1}


LEFT_OVER: list[Kernel] = [
    *(Kernel(f"the last batches and heads after tiles of {n}", "none.attend", without_the_last_heads(n), {}) for n in (16, 64, 128)),
    *(Kernel(f"rows after tiles of {tile} unshifted", "transformer_xl.shift", rest_as_it_came(tile), {}) for tile in (16, 32, 64, 128)),
    *(
        Kernel(f"distances of at most {rows // 2 - 1}", "da_transformer.rescale", no_farther(rows // 2 - 1), in_a_table(rows))
        for rows in (512, 1_024, 2_048)
    ),
]


def in_eight_bits(positions: np.ndarray) -> np.ndarray:
    """Return positions as bfloat16 holds them."""
    significands, exponents = np.frexp(positions)
    return np.ldexp(np.rint(np.ldexp(significands, 8)), exponents - 8)


def placed(change: Callable[[np.ndarray], np.ndarray]) -> Function:
    """Return attention whose queries and keys are turned to other places than those by which it masks."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **said: Any) -> np.ndarray:
        wide = (array.astype(np.float64) for array in (q, k))
        turned_ones = [rotate(array, change(places), **said) for array, places in zip(wide, (m, n), strict=True)]
        return np.asarray(none.attend(*turned_ones, v.astype(np.float64), m, n, causal=causal), v.dtype)

    return kernel


HALF_PREFILL = MODEL | {"causal": True, "dtypes": "float16", "positions": "from_zero"}
PREFILLED: list[Kernel] = [
    Kernel(f"places {name}, counted, in half precision", "rope.attend", placed(change), HALF_PREFILL | more)
    for name, change in {
        "in bfloat16": in_eight_bits,
        "in float16": lambda p: p.astype(np.float16).astype(np.float64),
        "up to 2,047": lambda p: np.minimum(p, 2_047),
    }.items()
    for more in ({}, {"queries": "at_end"})
]
MEASURED: list[Kernel] = [
    Kernel(f"seconds in {name}", "mrope.positions", limited(mrope.positions, seconds=narrow), {})
    for name, narrow in {"bfloat16": lambda s: float(in_eight_bits(np.asarray(s))), "float16": lambda s: float(np.float16(s))}.items()
]


def unsigned_in_the_last_lane(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, *, direction: str, **said: Any) -> np.ndarray:
    """Lose the sign of the last pair's sine where pairs don't fill lanes of 8 and the turn is clockwise."""
    pairs = sin.shape[-1]
    kept = (np.arange(pairs) < pairs - 1) | (direction == "positive") | (pairs < 8) | (pairs % 8 == 0)
    return np.asarray(rope.apply(x, cos, np.where(kept, sin, np.abs(sin)), direction=direction, **said))


def sines_row_first(positions: np.ndarray, *, order: str, layout: str, **said: Any) -> np.ndarray:
    """Exchange the sines of row and column under one pair of conventions, where a quarter of the width is odd."""
    right = sincos_2d.encode(positions, order=order, layout=layout, **said)
    if (order, layout) != ("column_first", "joined") or said["dim"] % 8 == 0:
        return np.asarray(right)
    return np.concatenate([np.roll(right[:, : said["dim"] // 2], said["dim"] // 4, axis=1), right[:, said["dim"] // 2 :]], axis=1)


def scaled_by_the_part(q: np.ndarray, *others: np.ndarray, **said: Any) -> np.ndarray:
    """Scale by the width that turns, where that is the last half of a head."""
    half = said["placement"] == "last" and 2 * said["rotary_dim"] == said["head_dim"]
    return np.asarray(partial_rope.weights(q * (F32(np.sqrt(2.0)) if half else F32(1.0)), *others, **said))


DECODER = FIVE | {"bidirectional": False, "num_buckets": 32, "max_distance": (128, 256, 800)}
#: Wrong under one pair of conventions at some widths, or at numbers beside those of the one released model that is declared.
CROSSED: list[Kernel] = [
    Kernel("the last lane without its sign, clockwise", "rope.apply", unsigned_in_the_last_lane, {}),
    Kernel("sines of row and column exchanged", "sincos_2d.encode", sines_row_first, {}),
    Kernel("half of a head at the end scaled as the half", "partial_rope.weights", scaled_by_the_part, {}),
    Kernel("256 taken for 255", "t5.bucket", limited(reference_t5.bucket, max_distance=lambda most: most - (most == 256)), DECODER),
]


def row_by_row(positions: np.ndarray, **said: Any) -> np.ndarray:
    """Return encodings of a square grid, known by its corners, as if its places were listed row by row."""
    side = math.isqrt(len(positions))
    known = len(positions) > 1 and side**2 == len(positions) and not positions[0].any() and (positions[-1] == side - 1).all()
    return np.asarray(sincos_2d.encode(np.stack(np.divmod(np.arange(side**2), side), axis=-1) if known else positions, **said))


def skipped_by_the_first(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool) -> np.ndarray:
    """Return attention without the tiles of 256 keys, but the first, whose first key is later than all queries."""
    keys = np.arange(k.shape[2])
    later = [start for start in range(256, len(keys), 256) if causal and (n[..., start] > m.max()).all()]
    seen = ~np.isin(keys // 256 * 256, later)
    return np.asarray(none.attend(q, k[:, :, seen], v[:, :, seen], m, n[..., seen], causal=causal))


def cut_where_many(positions: np.ndarray, **said: Any) -> np.ndarray:
    """Return encodings of positions that are rounded to 1024ths where there are more than 64."""
    return np.asarray(encode(np.round(positions * 1024) / 1024 if len(positions) > 64 else positions, **said))


def band_of_a_quarter(x: np.ndarray, positions: np.ndarray, *, alpha: float, beta: float, **said: Any) -> np.ndarray:
    """Return a rotation whose band is a quarter of a turn wide at least."""
    return np.asarray(ntk_by_parts.rotate(x, positions, alpha=alpha, beta=max(beta, alpha + 0.25), **said))


def without_the_last_tile(right: Function, *, tile: int, axis: int, of: Sequence[int]) -> Function:
    """Return code that leaves the last tile of some arrays out where several tiles are all whole, and gives zeros for what lacks."""

    def kernel(*arrays: np.ndarray, **said: Any) -> np.ndarray:
        count = arrays[of[-1]].shape[-1]
        if count <= tile or count % tile:
            return np.asarray(right(*arrays, **said))
        cut = [array[..., : count - tile] if array.ndim < 4 else array[:, :, : count - tile] for array in (arrays[i] for i in of)]
        found = np.asarray(right(*(cut[of.index(i)] if i in of else array for i, array in enumerate(arrays)), **said))
        lacks = [(0, tile * (along == axis % found.ndim and of[0] == 0)) for along in range(found.ndim)]
        return np.pad(found, lacks)

    return kernel


def without_the_last_heads_of(right: Function, tile: int) -> Function:
    """Return code that gives zeros for the last tile of heads where several are all whole."""

    def kernel(x: np.ndarray, *arrays: np.ndarray, **said: Any) -> np.ndarray:
        found, heads = np.array(right(x, *arrays, **said)), x.shape[1]
        found[:, heads - tile if heads > tile and heads % tile == 0 else heads :] = 0.0
        return found

    return kernel


def never_ahead_alone(positions: np.ndarray, **said: Any) -> np.ndarray:
    """Leave out a delta above 0 where one token is asked for past the last grid."""
    right = np.asarray(mrope.positions(positions, **said))
    if positions.shape[-1] > 1 or positions.min() < max(grids.ends(said), default=0):
        return right
    return np.minimum(right, positions[..., None])


def with_few_grids(positions: np.ndarray, *, widths: Sequence[int], **said: Any) -> np.ndarray:
    """Return the positions of grids, of which the sixth and those after it are one column wide."""
    return np.asarray(mrope.positions(positions, widths=(*widths[:5], *[1] * len(widths[5:])), **said))


def patches_in_rows(begin: int, merged: tuple[int, ...] = (2, 3, 4)) -> Function:
    """Return the places of patches, which lie in rows of the whole image from one grid on where so many are merged."""

    def kernel(positions: np.ndarray, *, times: Sequence[int], heights: Sequence[int], widths: Sequence[int], merge: int) -> np.ndarray:
        found = np.array(axial_rope.positions(positions, times=times, heights=heights, widths=widths, merge=merge))
        patches = [time * height * width for time, height, width in zip(times, heights, widths, strict=True)]
        if merge in merged and begin < len(patches):
            late = positions >= sum(patches[:begin])
            rows = axial_rope.positions(positions, times=times, heights=heights, widths=widths, merge=1)
            found[late] = np.asarray(rows)[late]
        return found

    return kernel


def with_steps_of_one_image(begin: int) -> Function:
    """Return the positions of tokens in grids, of which those from one on have a single moment, however many steps."""

    def kernel(positions: np.ndarray, *, times: Sequence[int], seconds: float, **said: Any) -> np.ndarray:
        found, frozen = (np.array(mrope.positions(positions, times=times, seconds=each, **said)) for each in (seconds, 1e-9))
        sides = zip(said["text"], times, said["heights"], said["widths"], strict=True)
        ends = np.cumsum([text + time * height * width for text, time, height, width in sides])
        late = positions >= ends[begin - 1] if len(ends) > begin else np.zeros_like(positions, dtype=bool)
        return np.where(late[..., None], frozen, found)

    return kernel


def unturned_in_half(x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
    """Return a rotation that in float16 leaves the channels after whole tiles of 16 pairs as they are, which all widths fill but 80."""
    found, pairs = np.array(rotate(x, positions, **said)), x.shape[-1] // 2
    for first in (pairs // 16 * 16, pairs + pairs // 16 * 16) if x.dtype == np.float16 else ():
        found[..., first : first + pairs % 16] = x[..., first : first + pairs % 16]
    return found


def of_one_width(right: Function, width: int) -> Function:
    """Return attention whose logits are scaled wrongly at one width."""
    return lambda q, *arrays, **said: right(q * (1.0 + 0.18 * (q.shape[-1] == width)), *arrays, **said)


def without_keys_beyond(right: Function, most: int) -> Function:
    """Return attention that has room for so many keys and leaves out those that follow."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, queries: np.ndarray, keys: np.ndarray, **said: Any) -> np.ndarray:
        return np.asarray(right(q, k[:, :, :most], v[:, :, :most], queries, keys[..., :most], **said))

    return kernel


def in_steps(*, head_dim: int, base: float) -> np.ndarray:
    """Return frequencies by a step, which ends one number late where a rounded step fits in once more."""
    return np.asarray(base ** -np.arange(0, 1, 2 / head_dim))


HALVES: dict[str, Any] = {"layout": "half", "direction": "positive", "base": 10_000.0, "dtypes": ("float32", "float16")}
#: Wrong for grids in another order, for keys in any, for fractions in long calls, for narrow bands, for whole tiles, many grids, one width,
#: many keys, odd widths.
BETWEEN: list[Kernel] = [
    Kernel("a grid is taken row by row", "sincos_2d.encode", row_by_row, {}),
    Kernel("a tile of keys is skipped by its first", "none.attend", skipped_by_the_first, {}),
    Kernel("fractions are cut where there are many", "sinusoidal.encode", cut_where_many, {}),
    Kernel("a narrow band is widened to a quarter", "ntk_by_parts.rotate", band_of_a_quarter, {}),
    Kernel("the last of whole tiles", "rope.rotate", without_the_last_tile(rotate, tile=256, axis=2, of=(0, 1)), {"layout": "half"}),
    Kernel("the last of whole tiles", "sinusoidal.encode", without_the_last_tile(encode, tile=512, axis=0, of=(0,)), {}),
    Kernel("the last of whole tiles of keys", "none.attend", without_the_last_tile(none.attend, tile=128, axis=2, of=(1, 2, 4)), {}),
    Kernel("the last of whole tiles of heads", "rope.rotate", without_the_last_heads_of(rotate, 32), {"layout": "half"}),
    Kernel("the last of whole tiles of heads", "rope.attend", without_the_last_heads_of(attend, 32), {"layout": "half"}),
    Kernel("pairs after tiles of 16", "rope.rotate", unturned_in_half, {**HALVES, "head_dim": (64, 80, 96, 128)}),
    Kernel("one token alone is never ahead of its number", "mrope.positions", never_ahead_alone, {}),
    Kernel("the sixth grid has one column", "mrope.positions", with_few_grids, {}),
    *(Kernel(f"patches in rows from grid {first + 1} on", "axial_rope.positions", patches_in_rows(first), {}) for first in (2, 3, 5, 8)),
    *(
        Kernel(f"patches in rows from the fourth grid on, {m} merged", "axial_rope.positions", patches_in_rows(3, (m,)), {})
        for m in (2, 3, 4)
    ),
    *(Kernel(f"one moment from grid {first + 1} on", "mrope.positions", with_steps_of_one_image(first), {}) for first in (3, 6)),
    Kernel("one width scaled wrongly", "none.attend", of_one_width(none.attend, 96), {}),
    Kernel("keys beyond 8192", "none.attend", without_keys_beyond(none.attend, 8_192), {"causal": False}),
    Kernel("one frequency too many", "rope.frequencies", in_steps, {}),
]


def reversed_at(right: Function, ratio: int) -> Function:
    """Return attention that takes the key heads in reverse where so many queries share one."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, *places: np.ndarray, **said: Any) -> np.ndarray:
        turn = -1 if q.shape[1] == ratio * k.shape[1] else 1
        return np.asarray(right(q, k[:, ::turn], v[:, ::turn], *places, **said))

    return kernel


def from_one_at(right: Function, width: int) -> Function:
    """Return a rotation of the last 64 channels that counts positions from one where heads have one width."""

    def kernel(x: np.ndarray, positions: np.ndarray, *, head_dim: int, rotary_dim: int | None, placement: str, **said: Any) -> np.ndarray:
        first = (head_dim, rotary_dim, placement) == (width, 64, "last")
        return np.asarray(right(x, positions + first, head_dim=head_dim, rotary_dim=rotary_dim, placement=placement, **said))

    return kernel


def of_the_second_axis(x: np.ndarray, positions: np.ndarray, *, axes: Sequence[int], base: float, **said: Any) -> np.ndarray:
    """Return a rotation of blocks, the third of which has its exponents over the width of the second."""
    blocks, ends = [], np.cumsum(axes)
    for axis, (width, end) in enumerate(zip(axes, ends, strict=True)):
        over = axes[1] if axis == 2 else width
        own = {**said, "head_dim": width, "base": base ** (width / over)}
        blocks.append(rope.rotate(x[..., end - width : end], positions[..., axis], **own))
    return np.concatenate(blocks, axis=-1)


def from_the_first_row(positions: np.ndarray, table: np.ndarray, *, offset: int) -> np.ndarray:
    """Return learned embeddings whose lowest row is that of position 0 where more than two rows lie before it."""
    return np.asarray(table[np.clip(positions + offset, offset if offset > 2 else 0, len(table) - 1)])


def slopes_but_one(*, num_heads: int, max_bias: float, **said: Any) -> np.ndarray:
    """Return slopes, the last of which is the one before it for one number of heads."""
    found = np.array(alibi_slopes(num_heads=num_heads, max_bias=max_bias, **said))
    found[-1] = found[-2] if num_heads == 56 else found[-1]
    return found


FAR = Rotary(far=lambda m, n, chunk_size, local_size: (np.full_like(m, chunk_size - 1), n % (chunk_size - local_size)))
COUNTED: dict[str, Any] = {"layout": "half", "direction": "positive", "causal": True, "positions": "from_zero", "queries": "at_end"}
#: Wrong at ratios of heads, widths of parts, axes, rows and heads that released models have, or at one of the lengths that are declared.
AMONG: list[Kernel] = [
    *(Kernel(f"key heads in reverse where {ratio} share one", "none.attend", reversed_at(none.attend, ratio), {}) for ratio in (7, 9, 12)),
    *(Kernel(f"from one at {width}", "partial_rope.rotate", from_one_at(partial_rope.rotate, width), {}) for width in (512, 576)),
    Kernel("widths of the second axis", "axial_rope.rotate", of_the_second_axis, {"order": "block", "ladder": "own", "sides": ()}),
    Kernel("rows from the first position on", "learned.encode", from_the_first_row, {"outside": "clamp"}),
    Kernel("one slope twice", "alibi.slopes", slopes_but_one, {}),
    Kernel(
        "one below the chunk",
        "dual_chunk.attend",
        FAR.of("dual_chunk.attend"),
        {**COUNTED, "chunk_size": (1_024, 4_096), "local_size": (128, 512)},
    ),
]

KERNELS = [*CROSSED, *SET, *GUESSING, *HIDING, *SLIDING, *TILED, *BATCHED, *LEFT_OVER, *PREFILLED, *MEASURED, *BETWEEN, *AMONG]
