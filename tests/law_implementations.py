"""Correct implementations that round at every step, as models do: written out here, sharing nothing with the reference."""

from collections.abc import Callable
from typing import Any

import numpy as np
from narrow_code import joined, kept, softmax, steps, turned

Array = np.ndarray
Function = Callable[..., Any]


def tables(positions: Array, head_dim: int, base: float) -> tuple[Array, Array]:
    """Return cosine and sine in float32 throughout, as Llama's rotary module does."""
    powers = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    theta = np.float32(1.0) / np.float32(base) ** powers
    angles = positions.astype(np.float32)[..., None] * theta
    return np.cos(angles), np.sin(angles)


def rotate(x: Array, positions: Array, *, head_dim: int, base: float, layout: str, direction: str) -> Array:
    """Turn in the dtype of ``x``, with tables computed in float32 and stored in it."""
    cos, sin = tables(positions, head_dim, base)
    return turned(x, cos.astype(x.dtype), sin.astype(x.dtype), layout, direction)


def rotate_stored(x: Array, positions: Array, *, head_dim: int, base: float, layout: str, direction: str) -> Array:
    """Turn in float32 with tables stored in the dtype of ``x``."""
    cos, sin = (table.astype(x.dtype).astype(np.float32) for table in tables(positions, head_dim, base))
    return turned(x.astype(np.float32), cos, sin, layout, direction).astype(x.dtype)


def rotate_running(x: Array, positions: Array, *, head_dim: int, base: float, layout: str, direction: str) -> Array:
    """Turn by angles that are a running product, as ggml does."""
    scale = np.float32(base) ** (np.float32(-2.0) / np.float32(head_dim))
    angles = [positions.astype(np.float32)]
    for _ in range(head_dim // 2 - 1):
        angles.append(angles[-1] * scale)
    angle = np.stack(angles, axis=-1)
    return turned(x, np.cos(angle), np.sin(angle), layout, direction)


def rotate_query_key(q: Array, k: Array, query_positions: Array, key_positions: Array, **parameters: Any) -> tuple[Array, Array]:
    """Turn both."""
    return rotate(q, query_positions, **parameters), rotate(k, key_positions, **parameters)


def by_pointer(x: Array, positions: Array, **parameters: Any) -> Array:
    """Turn what lies in memory, whatever strides say: wrong for views."""
    buffer = x if x.base is None else x.base
    return rotate(buffer.ravel()[: x.size].reshape(x.shape), positions, **parameters)


def root(q: Array, power: float = 0.5) -> Array:
    """Return a power of the width of a head, in the dtype of the queries."""
    return np.asarray(q.shape[-1] ** power, dtype=q.dtype)


def per_query_head(x: Array, q: Array) -> Array:
    """Return keys or values for every head of the queries."""
    return np.repeat(x, q.shape[1] // x.shape[1], axis=1)


def softened(scores: Array, query_positions: Array, key_positions: Array, *, causal: bool, summed: type | None = None) -> Array:
    """Return the softmax over the keys that a query sees, step by step in the dtype of the scores, or with powers ``summed`` in another."""
    seen = key_positions[..., None, :] <= query_positions[..., :, None]
    seen = seen if seen.ndim == 2 else seen[:, None]
    return softmax(np.where(seen | (not causal), scores, np.asarray(-np.inf, dtype=scores.dtype)), summed)


def averaged(shares: Array, v: Array) -> Array:
    """Return the average of the values, summed in float32 at least, as matrix products of models are."""
    parts = shares[..., None] * per_query_head(v, shares)[..., None, :, :]
    return parts.sum(axis=-2, dtype=np.promote_types(v.dtype, np.float32)).astype(v.dtype)


def weights_of(logits: Function) -> Function:
    """Return attention weights of logits whose last arrays are positions."""

    def weights(*arrays: Array, causal: bool, **parameters: Any) -> Array:
        return softened(logits(*arrays, **parameters), *arrays[-2:], causal=causal)

    return weights


def attend_of(weights: Function) -> Function:
    """Return the average of the values by weights."""
    return lambda q, k, v, *arrays, **parameters: averaged(weights(q, k, *arrays, **parameters), v)


def turned_logits(q: Array, k: Array, query_positions: Array, key_positions: Array, **parameters: Any) -> Array:
    """Return scaled products of turned vectors, in the dtype of ``q``."""
    query, key = rotate_query_key(q, k, query_positions, key_positions, **parameters)
    return (query[..., :, None, :] * per_query_head(key, q)[..., None, :, :]).sum(axis=-1) / root(q)


weights = weights_of(turned_logits)
attend = attend_of(weights)


def split_logits(q: Array, k: Array, *_: Array) -> Array:
    """Return products whose scale is split between queries and keys."""
    once = root(q, -0.25)
    return ((q * once)[..., :, None, :] * per_query_head(k * once, q)[..., None, :, :]).sum(axis=-1)


def encode(positions: Array, *, dim: int, base: float, layout: str, spacing: str, odd: str, scale: float) -> Array:
    """Return the sinusoid by an exponential of a logarithm, in float32."""
    steps = np.float32(dim / 2 if spacing == "paper" else max(1, dim // 2 - 1))
    theta = np.exp(np.arange(dim // 2, dtype=np.float32) * -(np.log(np.float32(base)) / steps))
    angles = positions.astype(np.float32)[:, None] * theta
    sine, cosine = np.sin(angles), np.cos(angles)
    both = joined(cosine, sine, "half") if layout == "halves_cosine_first" else joined(sine, cosine, layout)
    return np.pad(both * np.float32(scale), [(0, 0), (0, dim % 2)])


def frequencies(*, head_dim: int, base: float) -> Array:
    """Return frequencies by a quotient of a power, in float32."""
    return np.float32(1.0) / np.float32(base) ** (np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim))


def slopes(*, num_heads: int, max_bias: float, slopes: str) -> Array:
    """Return slopes as powers of a rounded root, as BLOOM does, or of the only root that the paper has."""
    whole = num_heads if slopes == "paper" else 2 ** int(np.floor(np.log2(num_heads)))
    root = np.float32(2.0 ** (-max_bias / whole))
    half = np.float32(2.0 ** (-max_bias / (2 * whole)))
    first, rest = np.arange(1, whole + 1, dtype=np.float32), np.arange(1, 2 * (num_heads - whole), 2, dtype=np.float32)
    return np.concatenate([root**first, half**rest])


def bias(query_positions: Array, key_positions: Array, *, form: str, **rule: Any) -> Array:
    """Return slopes times distances, in float32."""
    return kept(kept(slopes(**rule), form)[:, None, None] * steps(query_positions, key_positions, form)[..., None, :, :], form)


def bucket(relative_positions: Array, *, convention: str, **parameters: Any) -> Array:
    """Return buckets by a float32 logarithm, as T5's own code does, or DeBERTa's; or none, clamped."""
    conventions = {"t5": truncated_bucket, "deberta": signed_bucket, "clamped": clamped_bucket}
    return conventions[convention](relative_positions, **parameters)


def truncated_bucket(relative_positions: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Return T5's buckets."""
    buckets = num_buckets // 2 if bidirectional else num_buckets
    start = np.where(relative_positions > 0, buckets, 0) if bidirectional else 0
    distance = np.abs(relative_positions) if bidirectional else np.maximum(-relative_positions, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact)) / np.float32(np.log(max_distance / exact))
    large = np.minimum(exact + (ratio * np.float32(buckets - exact)).astype(np.int64), buckets - 1)
    return start + np.where(distance < exact, distance, large)


def signed_bucket(relative_positions: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Return DeBERTa's buckets of query minus key, clamped to the table."""
    assert bidirectional
    middle, relative = num_buckets // 4, -relative_positions
    distance = np.where(np.abs(relative) < middle, middle - 1, np.abs(relative)).astype(np.float32)
    ratio = np.log(distance / np.float32(middle)) / np.log(np.float32((max_distance - 1) / middle))
    far = np.ceil(ratio * np.float32(middle - 1)).astype(np.int64) + middle
    signed = np.where(np.abs(relative) <= middle, relative, np.sign(relative) * far)
    return np.clip(signed + num_buckets // 2, 0, num_buckets - 1)


def clamped_bucket(relative_positions: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Return one bucket per offset, as Phi-4-multimodal's audio encoder does."""
    assert max_distance
    half = num_buckets // 2
    return np.clip(relative_positions, -half, half - 1) + half if bidirectional else np.clip(-relative_positions, 0, num_buckets - 1)


def kernel_bias(query_positions: Array, key_positions: Array, first: Array, second: Array, *, form: str) -> Array:
    """Return KERPLE's bias in float32 by the logarithm to base 2, stored in the dtype of the learned numbers."""
    single = np.float32
    distance = np.abs(query_positions[..., None, :, None] - key_positions[..., None, None, :]).astype(single)
    factor, rate = (learned.astype(single)[:, None, None] for learned in (first, second))
    with np.errstate(divide="ignore", over="ignore"):
        if form == "log":
            return (-(factor * np.log(single(2))) * np.log2(1 + rate * distance)).astype(first.dtype)
        return (-factor * np.exp2(rate * np.log2(distance))).astype(first.dtype)


def rescale(query_positions: Array, key_positions: Array, distance_weight: Array, saturation: Array) -> Array:
    """Return DA-Transformer's factors in the arithmetic of the weights, step by step, with the sigmoid that torch has."""
    single, kind = np.float32, distance_weight.dtype
    query, key, limit = query_positions[..., None, :, None], key_positions[..., None, None, :], saturation[:, None, None]
    distance = np.abs(query - key).astype(single)
    with np.errstate(over="ignore"):
        exponent = (distance_weight.astype(single)[:, None, None] * distance).astype(kind) - limit
        share = (1 / (1 + np.exp(-exponent.astype(single)))).astype(kind)
    return (np.asarray(1, dtype=kind) + np.exp(limit)) * share


def aware_weights(q: Array, k: Array, query_positions: Array, key_positions: Array, *learned: Array, causal: bool) -> Array:
    """Return DA-Transformer's weights in the dtype of ``q``, step by step."""
    products = (q[..., :, None, :] * per_query_head(k, q)[..., None, :, :]).sum(axis=-1)
    scores = np.maximum(products, 0) * rescale(query_positions, key_positions, *learned) / root(q)
    return softened(scores, query_positions, key_positions, causal=causal, summed=np.float32)


def interpolated(*, head_dim: int, base: float, factor: float) -> Array:
    """Return frequencies divided in float32, as transformers does."""
    return frequencies(head_dim=head_dim, base=base) / np.float32(factor)


def by_angles(x: Array, angles: Array, layout: str, direction: str) -> Array:
    """Turn by tables of angles in the dtype of ``x``."""
    return turned(x, np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype), layout, direction)


def by_frequency(x: Array, positions: Array, *, layout: str, direction: str, **rule: Any) -> Array:
    """Turn by divided frequencies, as transformers does."""
    return by_angles(x, positions.astype(np.float32)[..., None] * interpolated(**rule), layout, direction)


def by_position(x: Array, positions: Array, *, layout: str, direction: str, factor: float, **ladder: Any) -> Array:
    """Turn by divided positions, as vLLM does."""
    places = positions.astype(np.float32) / np.float32(factor)
    return by_angles(x, places[..., None] * frequencies(**ladder), layout, direction)


def listed(short: Array, long: Array, *, original_length: int, length: int, **ladder: Any) -> Array:
    """Return frequencies of LongRoPE, divided in float32."""
    return frequencies(**ladder) / (long if length > original_length else short).astype(np.float32)


def stretch(*, original_length: int, max_length: int, length: int, short_mscale: float | None, long_mscale: float | None) -> np.float32:
    """Return the factor of LongRoPE, every step in float32."""
    given = long_mscale if length > original_length else short_mscale
    if given is not None:
        return np.float32(given)
    ratio = np.float32(max_length) / np.float32(original_length)
    return np.sqrt(np.float32(1.0) + np.log(ratio) / np.log(np.float32(original_length))) if ratio > 1 else np.float32(1.0)


def rotate_listed(
    x: Array, positions: Array, short: Array, long: Array,
    *, layout: str, direction: str, max_length: int, short_mscale: float | None, long_mscale: float | None, **rule: Any,
) -> Array:  # fmt: skip
    """Turn by tables that hold the attention factor, in the dtype of ``x``, as Phi-3's code does."""
    angles = positions.astype(np.float32)[..., None] * listed(short, long, **rule)
    lengths = {name: rule[name] for name in ("original_length", "length")}
    size = stretch(**lengths, max_length=max_length, short_mscale=short_mscale, long_mscale=long_mscale)
    cos, sin = ((f(angles) * size).astype(x.dtype) for f in (np.cos, np.sin))
    return turned(x, cos, sin, layout, direction)


def rotate_searched(x: Array, positions: Array, factors: Array, *, layout: str, direction: str, start_tokens: int, **ladder: Any) -> Array:
    """Turn by divided frequencies but for the start."""
    plain = frequencies(**ladder)
    theta = np.where(positions[..., None] < start_tokens, plain, plain / factors.astype(np.float32))
    return by_angles(x, positions.astype(np.float32)[..., None] * theta, layout, direction)
