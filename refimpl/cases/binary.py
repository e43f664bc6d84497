"""The cases of the binary code: every power of two that a shift, a byte or a float may stop at, and positions on both sides of it."""

from refimpl.cases import sums
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

ENCODINGS = (
    Case("encode/first-positions", exposes="the most significant digit first; positions counted from one", bits=4, positions=[0, 1, 2, 9]),
    Case("encode/every-code", exposes="a reflected (Gray) code", bits=3, positions=[0, 1, 2, 3, 4, 5, 6, 7]),
    Case("encode/one-bit", exposes="a quotient that isn't reduced modulo 2", bits=1, positions=[0, 1, 1, 0]),
    Case("encode/two-bits", exposes="digits shifted by one: the fastest channel missing", bits=2, positions=[1, 2, 3]),
    Case("encode/single-token", exposes="the token axis dropped", bits=5, positions=[9]),
    Case("encode/square", exposes="token and digit swapped", bits=4, positions=[1, 2, 4, 7]),
    Case("encode/unsorted", exposes="positions replaced by their index, or sorted", bits=4, positions=[9, 2, 2, 0]),
    Case("encode/byte-boundary", exposes="positions in a byte: 256 becomes 0", bits=9, positions=[255, 256, 257]),
    Case("encode/half-boundary", exposes="positions in float16, exact to 2048 only", bits=12, positions=[2_047, 2_048, 2_049]),
    Case("encode/page-boundary", exposes="a table of codes that ends at 4096", bits=13, positions=[4_095, 4_096, 4_097]),
    Case("encode/far", exposes="sixteen digits: 65536 becomes 0", bits=17, positions=[65_535, 65_536, 131_071]),
    Case("encode/million", exposes="digits counted from the largest position of the call", bits=21, positions=[1_048_575, 1_048_576]),
    Case("encode/beyond-float32", exposes="positions in float32, exact to 2^24 only", bits=25, positions=[2**24 - 1, 2**24 + 1]),
    Case("encode/sign-bit", exposes="the 32nd digit lost with the sign", bits=32, positions=[2**31 - 1, 2**31, 2**32 - 1]),
    Case("encode/beyond-int32", exposes="shifts modulo 32: the digits repeat", bits=40, positions=[2**32 + 1, 2**39 + 2**31]),
    Case("encode/beyond-float64", exposes="positions in float64, exact to 2^53 only", bits=54, positions=[2**53 + 1]),
    Case("encode/widest", exposes="a power of two beyond a signed integer", bits=62, positions=[0, 2**62 - 1, 2**61]),
    Case("encode/last-code", exposes="the last position refused", bits=4, positions=[15, 0]),
    Case("encode/past-the-end", exposes="the code of 0 repeated", bits=4, positions=[15, 16],
         error="positions must lie below 2^bits (16), got 16"),
    Case("encode/far-past-the-end", exposes="only the first position past the end refused", bits=3, positions=[1, 9],
         error="positions must lie below 2^bits (8), got 9"),
    Case("encode/negative", exposes="digits of the two's complement", bits=4, positions=[-1, 3],
         error="positions must be at least 0, got -1"),
    Case("encode/no-bits", exposes="an empty code", bits=0, positions=[0], error="bits must be at least 1, got 0"),
    Case("encode/too-many-bits", exposes="a power of two that overflows", bits=63, positions=[0], error="bits must be at most 62, got 63"),
    Case("encode/real-positions", exposes="positions that aren't integers", bits=4, positions=[0.5],
         error="positions must be integers, got float64"),
    Case("encode/batched-positions", exposes="an axis that nobody declared", bits=4, positions=[[0, 1]],
         error="positions must have axes (token), got shape (1, 2)"),
)

#: The cases of the encoding that show in a sum what no other does.
SHARED = ("half-boundary", "far", "beyond-int32", "widest", "past-the-end")
CASES = (*ENCODINGS, *sums.of(ENCODINGS, SHARED, bits=3), *narrowed(named("add"), {"x": (1, 2, 3)}, bits=3, positions=[0, 5]))
