"""The cases of T5's relative bias: each with the mistake that it exposes."""

from typing import Any

from refimpl.cases.biases import again, attended, batched, chosen, overflowing
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

EDGES = [7, 8, 9, 11, 12, 15, 22, 23, 31, 45, 46, 63, 90, 91]
FAR = [255, 256, 257, 2_047, 2_048, 2_049, 4_095, 4_096, 4_097, 65_535, 131_071, 1_048_575, 1_048_576]


def earlier(distances: list[int]) -> list[int]:
    """Return the relative positions of keys that precede the query."""
    return [-distance for distance in distances]


def refused_cases(name: str, **here: Any) -> tuple[Case, ...]:
    """Return the numbers of buckets and distances that buckets and bias must both refuse."""
    both: dict[str, Any] = {"bidirectional": True, **here}
    deberta: dict[str, Any] = {"convention": "deberta", **both}
    rule = "num_buckets must be a multiple of 4 and at least 8 where convention is deberta"
    even = "num_buckets must be even and at least 4 where bidirectional"
    return (
        Case(f"{name}/deberta-causal", exposes="one direction, which DeBERTa doesn't have", **{**deberta, "bidirectional": False},
             error="bidirectional must be true where convention is deberta, got False"),
        Case(f"{name}/deberta-uneven", exposes="a middle that is no whole row", num_buckets=30, **deberta, error=f"{rule}, got 30"),
        Case(f"{name}/deberta-four", exposes="no logarithmic bucket", num_buckets=4, **deberta, error=f"{rule}, got 4"),
        Case(f"{name}/deberta-no-room", exposes="the logarithm of one: division by zero", max_distance=9, **deberta,
             error="max_distance must be greater than 9 where convention is deberta, got 9"),
        Case(f"{name}/deberta-less-than-no-room", exposes="only the logarithm of one refused", max_distance=5, **deberta,
             error="max_distance must be greater than 9 where convention is deberta, got 5"),
        Case(f"{name}/odd-directions", exposes="a bucket that belongs to no direction", num_buckets=7, **both, error=f"{even}, got 7"),
        Case(f"{name}/two-directions-two-buckets", exposes="the logarithm of a division by zero", num_buckets=2, **both,
             error=f"{even}, got 2"),
        Case(f"{name}/less-than-no-room", exposes="only the logarithm of one refused", max_distance=3, **both,
             error="max_distance must be greater than the 8 exact distances, got 3"),
    )


BUCKETS = (
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
    Case("bucket/deberta-near", exposes="the sign of DeBERTa's rows: earlier keys lie above the middle", convention="deberta",
         bidirectional=True, relative_positions=[-9, -2, -1, 0, 1, 2, 9]),
    Case("bucket/deberta-edges", exposes="the logarithm truncated instead of rounded up", convention="deberta", bidirectional=True,
         relative_positions=[-8, -9, -11, -12, -17, -18, -26, -27, -38, -39, -57, -58, -85, -86]),
    Case("bucket/deberta-later-edges", exposes="rows of later keys counted from the end", convention="deberta", bidirectional=True,
         relative_positions=[8, 9, 11, 12, 17, 18, 26, 27, 38, 39, 57, 58, 85, 86, 100]),
    Case("bucket/deberta-saturated", exposes="a row beyond the last", convention="deberta", bidirectional=True,
         relative_positions=[-129, -128, -126, 126, 128, 129]),
    Case("bucket/deberta-limit", exposes="a logarithm in single precision where it is one", tags=("boundary",), convention="deberta",
         bidirectional=True, relative_positions=[-127, 127]),
    Case("bucket/deberta-ties", exposes="rounding up above an integer logarithm", tags=("boundary",), convention="deberta",
         bidirectional=True, num_buckets=16, max_distance=33, relative_positions=[-33, -32, -17, -16, -9, -8, -5, 5, 8, 9, 16, 17, 32, 33]),
    Case("bucket/deberta-released", exposes="256 buckets a side and 512 ignored", convention="deberta", bidirectional=True,
         num_buckets=512, max_distance=512, relative_positions=[-600, -510, -257, -200, -129, -128, 127, 128, 129, 200, 256, 600]),
    Case("bucket/deberta-far", exposes="distances in half precision, or wrapped", convention="deberta", bidirectional=True,
         relative_positions=[-1_048_576, -65_535, -4_097, -255, 257, 2_047, 131_071, 1_048_575]),
    Case("bucket/clamped", exposes="an even table taken for an odd one: the last later offset", convention="clamped", bidirectional=True,
         num_buckets=8, relative_positions=[-9, -5, -4, -3, 0, 2, 3, 4, 9]),
    Case("bucket/clamped-causal", exposes="rows counted from the earliest key where there is one direction", convention="clamped",
         bidirectional=False, num_buckets=8, relative_positions=[-9, -8, -7, -6, -1, 0, 1, 9]),
    Case("bucket/clamped-far", exposes="offsets that wrap before the clamp", convention="clamped", bidirectional=True, num_buckets=1_000,
         relative_positions=[-1_048_576, -2_048, -501, -500, 256, 499, 500, 1_048_575]),
    Case("bucket/unknown-convention", exposes="a convention that doesn't exist", convention="swin", bidirectional=True,
         relative_positions=[0], error="convention must be one of t5, deberta, clamped, got 'swin'"),
    Case("bucket/one-bucket", exposes="an empty exact region", bidirectional=False, num_buckets=1, relative_positions=[0],
         error="num_buckets must be at least 2, got 1"),
    Case("bucket/deberta-eight", exposes="the least table refused", tags=("boundary",), convention="deberta",
         bidirectional=True, num_buckets=8, max_distance=4, relative_positions=[-9, -4, -3, -2, -1, 0, 1, 2, 3, 4, 9]),
    Case("bucket/deberta-twelve", exposes="a table whose rows eight divides taken for granted", tags=("boundary",),
         convention="deberta", bidirectional=True, num_buckets=12, max_distance=5, relative_positions=[-9, -5, -4, -3, -1, 0, 3, 4, 5, 21]),
    Case("bucket/clamped-causal-seven", exposes="an odd table refused where one direction has it", convention="clamped",
         bidirectional=False, num_buckets=7, relative_positions=[-9, -6, -5, 0, 1]),
    *refused_cases("bucket", relative_positions=[0]),
    Case("bucket/no-room", exposes="the logarithm of one: division by zero", bidirectional=False, max_distance=16, relative_positions=[0],
         error="max_distance must be greater than the 16 exact distances, got 16"),
    Case("bucket/real-positions", exposes="positions that aren't integers", bidirectional=True, relative_positions=[0.5],
         error="relative_positions must be integers, got float64"),
)
BIAS = (
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
    Case("bias/deberta", exposes="the buckets of T5 for DeBERTa's", convention="deberta", bidirectional=True, query_positions=[100],
         key_positions=[0, 14, 60, 88, 92, 99, 100, 101, 114, 140, 199]),
    Case("bias/deberta-small-table", exposes="a logarithm to another base", convention="deberta", bidirectional=True, num_buckets=16,
         max_distance=60, query_positions=[50], key_positions=[0, 20, 35, 41, 45, 55, 59, 75, 99]),
    Case("bias/clamped", exposes="a logarithm where every offset has its own row", convention="clamped", bidirectional=True, num_buckets=8,
         query_positions=[9], key_positions=[0, 5, 6, 9, 12, 13, 20]),
    Case("bias/clamped-causal", exposes="the direction ignored where offsets are clamped", convention="clamped", bidirectional=False,
         num_buckets=8, query_positions=[9], key_positions=[0, 1, 2, 3, 8, 9, 10]),
    Case("bias/six-buckets", exposes="a number of buckets that four divides taken for granted", bidirectional=True, num_buckets=6,
         max_distance=20, query_positions=[9], key_positions=[0, 5, 9, 10, 30]),
    Case("bias/seven-buckets", exposes="as many logarithmic buckets as exact ones", bidirectional=False, num_buckets=7, max_distance=20,
         query_positions=[30], key_positions=[0, 9, 15, 22, 26, 30]),
    Case("bias/deberta-eight", exposes="the least table refused", tags=("boundary",), convention="deberta",
         bidirectional=True, num_buckets=8, max_distance=4, query_positions=[9], key_positions=[0, 5, 6, 7, 8, 9, 10, 11, 12, 20]),
    Case("bias/deberta-twelve", exposes="a table whose rows eight divides taken for granted", convention="deberta",
         bidirectional=True, num_buckets=12, max_distance=5, query_positions=[9], key_positions=[0, 4, 5, 6, 8, 9, 12, 14, 30]),
    Case("bias/deberta-edges", exposes="thresholds of a largest distance one off", tags=("boundary",), convention="deberta",
         bidirectional=True, num_buckets=16, max_distance=60, query_positions=[100], key_positions=[41, 76, 77, 100, 123, 124, 159]),
    Case("bias/clamped-causal-seven", exposes="an odd table refused where one direction has it", convention="clamped", bidirectional=False,
         num_buckets=7, query_positions=[9], key_positions=[0, 3, 4, 9, 10]),
    Case("bias/near-limit", exposes="a largest distance below the buckets refused", bidirectional=False, num_buckets=8, max_distance=6,
         query_positions=[9], key_positions=[0, 3, 4, 5, 9]),
    Case("bias/short-table", exposes="a look-up beyond the table", bidirectional=True, sizes={"num_buckets": 16}, query_positions=[0],
         key_positions=[0], error="axis 'num_buckets' of table must be 32, got 16"),
    *narrowed(named("bias"), {"table": (4, 1)}, num_buckets=4, bidirectional=True, query_positions=[0, 1], key_positions=[0, 1]),
    *refused_cases("bias", query_positions=[0], key_positions=[0]),
    Case("bias/no-room", exposes="the logarithm of one: division by zero", bidirectional=True, max_distance=8, query_positions=[0],
         key_positions=[0], error="max_distance must be greater than the 8 exact distances, got 8"),
    Case("bias/real-positions", exposes="positions that aren't integers", bidirectional=True, query_positions=[0], key_positions=[0.5],
         error="key_positions must be integers, got float64"),
    *batched("bias", bidirectional=True, num_buckets=8, max_distance=16),
    *batched("bias", "-deberta", bidirectional=True, num_buckets=8, max_distance=16, convention="deberta"),
)
#: What attention with the bias is asked too: how distances share the buckets.
SHARED = ("later-keys-causal", "clamped-causal", "deberta-twelve", "short-table")


def attention_cases(name: str) -> tuple[Case, ...]:
    """Return the cases of attention with the bias, or of its weights."""
    small: dict[str, Any] = {"bidirectional": True, "num_buckets": 8, "max_distance": 16}
    given = attended(name, lambda heads: {**small, "sizes": {"head": heads}}, (8, 2))
    return (*given, overflowing(name, **small), *again(name, chosen(BIAS, SHARED), head=1))


CASES = (*BUCKETS, *BIAS, *attention_cases("weights"), *attention_cases("attend"))
