"""T5 relative bias: one learned number per head for every bucket of distances, exact near by and logarithmic far away."""

from typing import Annotated

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


def whole(x: Array) -> Array:
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


EDGES = [7, 8, 9, 11, 12, 15, 22, 23, 31, 45, 46, 63, 90, 91]
FAR = [255, 256, 257, 2_047, 2_048, 2_049, 4_095, 4_096, 4_097, 65_535, 131_071, 1_048_575, 1_048_576]


def earlier(distances: list[int]) -> list[int]:
    """Return the relative positions of keys that precede the query."""
    return [-distance for distance in distances]


CASES = (
    Case("bucket/near", exposes="the sign of a relative position", bidirectional=True, relative_positions=[-9, -2, -1, 0, 1, 2, 9]),
    Case("bucket/near-causal", exposes="later keys not sent to bucket 0", bidirectional=False, relative_positions=[-9, -2, -1, 0, 1, 2, 9]),
    Case("bucket/earlier-edges", exposes="a logarithm to another base: every first distance of a bucket", bidirectional=True,
         relative_positions=earlier(EDGES)),
    Case("bucket/later-edges", exposes="later keys without their own half of the buckets", bidirectional=True, relative_positions=EDGES),
    Case("bucket/earlier-ties", exposes="the logarithm rounded where it is an integer", tags=("boundary",), bidirectional=True,
         relative_positions=[-16, -32, -64]),
    Case("bucket/later-ties", exposes="a logarithm in single precision where it is an integer", tags=("boundary",), bidirectional=True,
         relative_positions=[16, 32, 64]),
    Case("bucket/causal-exact", exposes="the exact region of the other direction: 8 instead of 16", bidirectional=False,
         relative_positions=[-7, -8, -15, -16, -17]),
    Case("bucket/causal-edges", exposes="half of the buckets unused where there is one direction", bidirectional=False,
         relative_positions=earlier([18, 19, 20, 21, 23, 24, 26, 27, 30, 31, 34, 35, 39, 40, 45, 46, 51, 52, 58, 59])),
    Case("bucket/causal-late-edges", exposes="the logarithm rounded instead of truncated", bidirectional=False,
         relative_positions=earlier([66, 67, 76, 77, 86, 87, 98, 99, 112, 113])),
    Case("bucket/saturated", exposes="a bucket beyond the last", bidirectional=True, relative_positions=[-129, -128, -127, 127, 128, 129]),
    Case("bucket/saturated-causal", exposes="a causal bucket beyond the last", bidirectional=False, relative_positions=[-129, -128, -127]),
    Case("bucket/far-earlier", exposes="distances in half precision, or wrapped", bidirectional=True, relative_positions=earlier(FAR)),
    Case("bucket/far-later", exposes="an offset added before the clamp", bidirectional=True, relative_positions=FAR),
    Case("bucket/far-causal", exposes="a power of the distance that overflows", bidirectional=False, relative_positions=earlier(FAR)),
    Case("bucket/far-future", exposes="future keys made absolute", bidirectional=False, relative_positions=FAR),
    Case("bucket/matrix", exposes="more than one axis refused or flattened", bidirectional=True,
         relative_positions=[[0, 1, 9], [-9, 12, 200]]),
    Case("bucket/single", exposes="the axis of a single distance dropped", bidirectional=True, relative_positions=[-1]),
    Case("bucket/speech", exposes="32 buckets and 128 fixed", bidirectional=True, num_buckets=320, max_distance=800,
         relative_positions=[-799, -253, -100, -82, -81, -80, -79, 79, 82, 100, 252, 801]),
    Case("bucket/longer", exposes="max_distance ignored", bidirectional=False, max_distance=1_000,
         relative_positions=[-16, -21, -22, -113, -256, -257, -999, -1_000]),
    Case("bucket/shorter", exposes="max_distance clamped to 128 from below", bidirectional=True, max_distance=20,
         relative_positions=[-8, -9, -10, -19, -20, -21, 11, 12]),
    Case("bucket/more-buckets", exposes="num_buckets ignored", bidirectional=False, num_buckets=64,
         relative_positions=[-31, -32, -33, -34, -100, -127, -128]),
    Case("bucket/few-buckets", exposes="an exact region of fixed size", bidirectional=True, num_buckets=8, max_distance=16,
         relative_positions=[-6, -5, -2, -1, 0, 1, 2, 5, 6]),
    Case("bucket/few-ties", exposes="truncation below an integer logarithm", tags=("boundary",), bidirectional=False, num_buckets=8,
         max_distance=64, relative_positions=[-3, -4, -7, -8, -9, -15, -16, -31, -32, -33]),
    Case("bucket/uneven-half", exposes="half of an odd number of buckets rounded up", bidirectional=False, num_buckets=7, max_distance=30,
         relative_positions=[-2, -3, -4, -5, -6, -9, -10, -16, -17, -29]),
    Case("bucket/uneven-directions", exposes="a quarter of the buckets where they don't divide by four", bidirectional=True, num_buckets=10,
         max_distance=50, relative_positions=[-17, -6, -5, -2, -1, 1, 2, 6, 17]),
    Case("bucket/two-buckets", exposes="the logarithm of zero: no logarithmic step", bidirectional=False, num_buckets=2,
         relative_positions=[-2, -1, 0, 1]),
    Case("bucket/four-buckets", exposes="a direction with one exact bucket", bidirectional=True, num_buckets=4,
         relative_positions=[-2, -1, 0, 1, 2]),
    Case("bucket/steepest", exposes="max_distance one beyond the exact region", bidirectional=False, max_distance=17,
         relative_positions=[-15, -16, -17, -18]),
    Case("bucket/odd-directions", exposes="a bucket that belongs to no direction", bidirectional=True, num_buckets=7,
         relative_positions=[0],
         error="num_buckets must be even and at least 4 where bidirectional, got 7"),
    Case("bucket/two-directions-two-buckets", exposes="the logarithm of a division by zero", bidirectional=True, num_buckets=2,
         relative_positions=[0], error="num_buckets must be even and at least 4 where bidirectional, got 2"),
    Case("bucket/one-bucket", exposes="an empty exact region", bidirectional=False, num_buckets=1, relative_positions=[0],
         error="num_buckets must be at least 2, got 1"),
    Case("bucket/no-room", exposes="the logarithm of one: division by zero", bidirectional=False, max_distance=16, relative_positions=[0],
         error="max_distance must be greater than the 16 exact distances, got 16"),
    Case("bucket/real-positions", exposes="positions that aren't integers", bidirectional=True, relative_positions=[0.5],
         error="relative_positions must be integers, got float64"),
    Case("bias/first-positions", exposes="query minus key: the table mirrored", bidirectional=True, query_positions=[0, 1, 2],
         key_positions=[0, 1, 2]),
    Case("bias/first-positions-causal", exposes="the encoder's buckets in a decoder", bidirectional=False, query_positions=[0, 1, 2],
         key_positions=[0, 1, 2]),
    Case("bias/decoding", exposes="the query at 0 instead of after the cache", bidirectional=False, query_positions=[9],
         key_positions=[0, 1, 2, 8, 9]),
    Case("bias/decoding-far", exposes="8 exact distances where a decoder has 16", bidirectional=False, query_positions=[257],
         key_positions=[0, 144, 189, 241, 248, 255, 256]),
    Case("bias/later-keys", exposes="later keys without their own half of the table", bidirectional=True, query_positions=[0],
         key_positions=[1, 8, 12, 91, 256]),
    Case("bias/later-keys-causal", exposes="later keys made absolute", bidirectional=False, query_positions=[0], key_positions=[1, 9, 256]),
    Case("bias/earlier-keys", exposes="a logarithm to another base", bidirectional=True, query_positions=[100],
         key_positions=[0, 9, 54, 77, 88, 92, 93]),
    Case("bias/ties", exposes="a logarithm in single precision where it is an integer", tags=("boundary",), bidirectional=True,
         query_positions=[64], key_positions=[0, 32, 48, 80, 96, 128]),
    Case("bias/one-head", exposes="the head axis dropped; the bias divided by sqrt(head_dim)", bidirectional=True, sizes={"head": 1},
         query_positions=[1], key_positions=[0, 1]),
    Case("bias/cube", exposes="head, query and key swapped", bidirectional=True, sizes={"head": 3}, query_positions=[0, 2, 9],
         key_positions=[1, 0, 2]),
    Case("bias/square-table", exposes="the table transposed", bidirectional=True, num_buckets=4, max_distance=8, sizes={"head": 4},
         query_positions=[0, 2], key_positions=[1, 3]),
    Case("bias/small-table", exposes="32 buckets fixed", bidirectional=True, num_buckets=8, max_distance=16, query_positions=[9],
         key_positions=[0, 2, 4, 8, 9, 10, 15]),
    Case("bias/small-table-causal", exposes="the direction ignored for another table", bidirectional=False, num_buckets=8, max_distance=20,
         query_positions=[21], key_positions=[0, 2, 9, 15, 17, 20]),
    Case("bias/longer", exposes="max_distance ignored", bidirectional=True, max_distance=1_000, query_positions=[0],
         key_positions=[15, 16, 128, 256, 999]),
    Case("bias/byte-boundary", exposes="positions in bfloat16, exact to 256 only", bidirectional=True, query_positions=[256],
         key_positions=[255, 256, 257]),
    Case("bias/half-boundary", exposes="positions in float16, exact to 2048 only", bidirectional=True, query_positions=[2_048],
         key_positions=[2_047, 2_049]),
    Case("bias/page-boundary", exposes="a table of distances that ends at 4096", bidirectional=False, query_positions=[4_097],
         key_positions=[4_095, 4_096]),
    Case("bias/far", exposes="distances that are not clamped", bidirectional=True, query_positions=[131_071],
         key_positions=[0, 65_535, 131_070]),
    Case("bias/million", exposes="positions that overflow or wrap", bidirectional=False, query_positions=[1_048_576],
         key_positions=[0, 1_048_567, 1_048_575]),
    Case("bias/unsorted", exposes="positions replaced by their index", bidirectional=True, query_positions=[9, 0], key_positions=[2, 9, 2]),
    Case("bias/negative-positions", exposes="negative positions clamped", bidirectional=True, query_positions=[-2],
         key_positions=[-9, -1, 0]),
    Case("bias/common-width", exposes="heads beyond the last full vector lane", bidirectional=False, num_buckets=2, sizes={"head": 128},
         query_positions=[1], key_positions=[0]),
    Case("bias/short-table", exposes="a look-up beyond the table", bidirectional=True, sizes={"num_buckets": 16}, query_positions=[0],
         key_positions=[0], error="axis 'num_buckets' of table must be 32, got 16"),
    Case("bias/no-room", exposes="the logarithm of one: division by zero", bidirectional=True, max_distance=8, query_positions=[0],
         key_positions=[0], error="max_distance must be greater than the 8 exact distances, got 8"),
    Case("bias/real-positions", exposes="positions that aren't integers", bidirectional=True, query_positions=[0], key_positions=[0.5],
         error="key_positions must be integers, got float64"),
)

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
