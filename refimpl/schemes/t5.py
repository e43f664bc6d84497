"""T5 relative bias: one learned number per head for every bucket of distances, exact near by and logarithmic far away."""

from typing import Annotated, Any

from refimpl.arrays import Array, array_namespace
from refimpl.errors import SpecificationError
from refimpl.spec import INTEGER, Case, Count, KeyPositions, Law, Number, QueryPositions, Scheme, Source, operation

Buckets = Annotated[int, Number(minimum=2)]


def half_range(num_buckets: int, *, bidirectional: bool) -> tuple[int, int]:
    """Return how many buckets one direction has, and how many of them hold one distance each."""
    if bidirectional and (num_buckets % 2 or num_buckets < 4):
        message = f"num_buckets must be even and at least 4 where bidirectional, got {num_buckets}"
        raise SpecificationError(message)
    buckets = num_buckets // 2 if bidirectional else num_buckets
    return buckets, buckets // 2


def thresholds(buckets: int, exact: int, max_distance: int) -> list[int]:
    """Return the least distance of every logarithmic bucket but the first: ``a^n e^k >= D^k e^n``, decided in integers."""
    if max_distance <= exact:
        message = f"max_distance must be greater than the {exact} exact distances, got {max_distance}"
        raise SpecificationError(message)
    steps = buckets - exact
    return [ceiling_root(max_distance**k * exact ** (steps - k), steps) for k in range(1, steps)]


def ceiling_root(value: int, degree: int) -> int:
    """Return the least integer whose power of that degree reaches ``value``."""
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**degree >= value else (middle + 1, high)
    return low


def whole(x: Array) -> Any:
    """Return integers as int64, where neither sign nor magnitude can overflow."""
    xp = array_namespace(x)
    return xp.astype(x, xp.int64)


@operation
def bucket(
    relative_positions: Annotated[Array, "...", INTEGER],
    *,
    bidirectional: bool,
    num_buckets: Buckets = 32,
    max_distance: Count = 128,
) -> Annotated[Array, "...", INTEGER]:
    """Return the bucket of every key position minus query position (section 2.1; exact at every tie of the logarithm)."""
    buckets, exact = half_range(num_buckets, bidirectional=bidirectional)
    xp = array_namespace(relative_positions)
    relative = whole(relative_positions)
    later = buckets * whole(relative > 0) if bidirectional else xp.zeros_like(relative)
    distance = xp.abs(relative) if bidirectional else xp.clip(-relative, min=0)
    beyond = [whole(distance >= least) for least in thresholds(buckets, exact, max_distance)]
    return sum(beyond, start=later + xp.clip(distance, max=exact))


@operation
def bias(
    table: Annotated[Array, "num_buckets head"],
    query_positions: QueryPositions,
    key_positions: KeyPositions,
    *,
    bidirectional: bool,
    num_buckets: Buckets = 32,
    max_distance: Count = 128,
) -> Annotated[Array, "head query key"]:
    """Return the table's number for every head and pair of positions, in the dtype of the table (section 2.1)."""
    xp = array_namespace(table, query_positions, key_positions)
    relative = whole(key_positions)[None, :] - whole(query_positions)[:, None]
    rows = bucket(relative, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance)
    chosen = xp.take(table, xp.reshape(rows, (-1,)), axis=0)
    return xp.permute_dims(xp.reshape(chosen, (*rows.shape, table.shape[1])), (2, 0, 1))


CASES: tuple[Case, ...] = ()

SCHEME = Scheme(
    name="t5",
    operations=(bucket, bias),
    source=Source(
        "Raffel et al. 2019, Exploring the Limits of Transfer Learning, and its code",
        "https://arxiv.org/abs/1910.10683",
        equations="section 2.1",
    ),
    laws={
        "bucket": (Law.ZERO_AT_ORIGIN, Law.MONOTONE, Law.SATURATION, Law.MIRROR),
        "bias": (Law.LOOKUP, Law.TRANSLATION, Law.SATURATION),
    },
    cases=CASES,
    summary="One learned number per head for every bucket of distances.",
)
