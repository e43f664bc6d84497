"""How an encoding that is added to the input acts in attention: on queries, keys and values alike, before the first layer."""

from collections.abc import Callable

from refimpl.arrays import Array, array_namespace, cast_like


def added(x: Array, positions: Array, encode: Callable[[Array], Array]) -> Array:
    """Return ``x`` plus the encoding of every position, whose channels the heads share in order, as a model's width is cut into heads.

    ``x`` is (batch, head, token, head_dim), ``positions`` (token) or (batch, token); ``encode`` takes (token) and gives (token, width).
    """
    xp = array_namespace(x, positions)
    heads, width = x.shape[1], x.shape[-1]
    rows = encode(xp.reshape(positions, (-1,)))[:, : heads * width]
    codes = xp.reshape(cast_like(rows, x), (*positions.shape, heads, width))
    return x + xp.permute_dims(codes, (*range(positions.ndim - 1), positions.ndim, positions.ndim - 1, positions.ndim + 1))
