"""The cases of KERPLE: each with the mistake that it exposes."""

from typing import Any

from refimpl.cases import ladder
from refimpl.cases.biases import again, attended, batched, chosen, overflowing
from refimpl.cases.digits import FINER, WIDTHS, digits, named
from refimpl.spec import Case

NEAR = [0, 1, 2]
LOG: dict[str, Any] = {"form": "log", "first": [1.0, 0.5], "second": [0.5, 2.0]}
POWER: dict[str, Any] = {"form": "power", "first": [0.5, 0.25], "second": [0.75, 1.5]}
ONE: dict[str, Any] = {"first": [0.75], "second": [0.5]}
case = named("bias")


def magnitudes(bits: int) -> list[float]:
    """Return three numbers between 1 and 2 that need that many bits."""
    return [abs(number) for number in digits(bits, 3)]


#: What both forms are asked: where positions count, and how.
PLACES: dict[str, tuple[str, list[int], list[int]]] = {
    "first-positions": ("the sign: far keys rewarded", NEAR, NEAR),
    "decoding": ("the query at 0 instead of after the cache", [9], [0, 1, 2, 8, 9]),
    "later-keys": ("later keys at distance 0, as the authors' torch.tril leaves them", [1], [0, 2, 9]),
    "unsorted": ("positions replaced by their index", [9, 0], [2, 9, 2]),
    "negative-positions": ("negative positions clamped", [-2], [-9, -1, 0]),
    "byte-boundary": ("positions in bfloat16, exact to 256 only", [257], [0, 255, 256]),
    "half-boundary": ("positions in float16, exact to 2048 only", [2_049], [0, 2_047, 2_048]),
    "page-boundary": ("distances from a table that ends at 4096", [4_097], [1, 4_095]),
    "far": ("a distance that is clamped", [131_071], [0, 65_535, 131_070]),
    "million": ("positions that overflow or wrap", [1_048_576], [0, 1_048_575]),
}

BIAS = (
    *(
        case(f"{name}{ending}", exposes, query_positions=queries, key_positions=keys, **learned)
        for ending, learned in (("", LOG), ("-power", POWER))
        for name, (exposes, queries, keys) in PLACES.items()
    ),
    case("by-position", ladder.EXPOSES, query_positions=ladder.EVERY, key_positions=[0], **LOG),
    case("by-position-power", ladder.EXPOSES, query_positions=ladder.EVERY, key_positions=[0], **POWER),
    case("one-head", "the head axis dropped", query_positions=[1, 2], key_positions=[0, 2, 9], **ONE),
    case("cube", "head, query and key swapped", query_positions=[0, 2, 9], key_positions=[1, 0, 5], first=[1.0, 0.5, 0.25],
         second=[0.5, 1.0, 3.0]),
    case("cube-power", "one head's numbers for all, or heads in reverse", form="power", query_positions=[0, 2, 9], key_positions=[1, 0, 5],
         first=[1.0, 0.5, 0.25], second=[0.5, 1.0, 1.75]),
    case("exchanged", "r1 and r2 exchanged, as their names are in the authors' two forms", query_positions=[9], key_positions=[0, 4],
         first=[0.25, 2.0], second=[2.0, 0.25]),
    case("distance-one", "the 1 in the logarithm left out: distance 1 has ln r2", query_positions=[0], key_positions=[0, 1],
         first=[1.0, 1.0], second=[1.0, 0.125]),
    case("steep-rate", "r2 of the logarithm kept below 2, as an exponent is", query_positions=[9], key_positions=[0, 8], first=[0.5, 1.0],
         second=[64.0, 3.0]),
    case("flat-rate", "learned numbers raised to 0.01", query_positions=[9], key_positions=[0, 8], first=[0.00390625, 1.0],
         second=[1.0, 0.0009765625]),
    case("flat-exponent", "exponents raised to 0.01, and what they multiply", form="power", query_positions=[300], key_positions=[0, 299],
         first=[0.00390625, 1.0], second=[1.0, 0.0009765625]),
    case("vanishing-rate", "1 + r2 R rounded in half precision", query_positions=[3], key_positions=[0, 1, 2], first=[2.0, 64.0],
         second=[0.0000152587890625, 0.000030517578125]),
    case("exponent-one", "the exponent cut to an integer, or not read: this is ALiBi", form="power", query_positions=[9],
         key_positions=[0, 7, 9, 12], first=[0.5, 0.00390625], second=[1.0, 1.0]),
    case("exponent-two", "the exponent kept below 2", form="power", query_positions=[9], key_positions=[0, 7, 12], first=[0.5, 0.0625],
         second=[2.0, 1.9375]),
    case("root", "the exponent rounded up", form="power", query_positions=[9], key_positions=[0, 5, 8], first=[1.0, 2.0],
         second=[0.5, 0.25]),
    case("common-width", "heads beyond the last full vector lane", query_positions=[2], key_positions=[0],
         first=[(1 + head % 32) / 16 for head in range(128)], second=[(1 + 5 * head % 64) / 32 for head in range(128)]),
    *(
        case(f"{name}-{form}", f"learned numbers narrowed to {narrower} precision", tags=FINER, form=form, query_positions=[9, 2],
             key_positions=[0, 1], first=magnitudes(bits), second=magnitudes(bits)[::-1])
        for form in ("log", "power")
        for name, (bits, narrower) in WIDTHS.items()
    ),
    case("no-factor", "a head without a bias", query_positions=[0], key_positions=[0], first=[0.5, 0.0], second=[1.0, 1.0],
         error="first must be greater than 0, got 0.0"),
    case("negative-rate", "the logarithm of a negative number", query_positions=[0], key_positions=[9], first=[0.5, 0.5],
         second=[float("inf"), -0.5], error="second must be greater than 0, got -0.5"),
    case("steep-exponent", "an exponent that is no kernel's", form="power", query_positions=[0], key_positions=[9], first=[0.5, 0.5],
         second=[2.5, 1.0], error="second must be at most 2, got 2.5"),
    case("hardly-steep-exponent", "exponents narrowed before they are checked", tags=FINER, form="power", query_positions=[0],
         key_positions=[9], first=[0.5, 0.5], second=[2.0 + 2.0**-40, 1.0], error="second must be at most 2, got 2.0000000000009095"),
    case("negative-factor", "numbers narrowed before they are checked", tags=FINER, query_positions=[0], key_positions=[9],
         first=digits(53, 1), second=[1.0], error=f"first must be greater than 0, got {digits(53, 1)[0]}"),
    case("uneven-heads", "numbers that broadcast by accident", query_positions=[0], key_positions=[0], first=[1.0, 0.5], second=[1.0],
         error="axis 'head' is 1 in second but 2 in first"),
    case("real-positions", "positions that aren't integers", query_positions=[0.5], key_positions=[0], **ONE,
         error="query_positions must be integers, got float64"),
    case("unknown-form", "a form that doesn't exist", form="linear", query_positions=[0], key_positions=[0], **ONE,
         error="form must be one of log, power, got 'linear'"),
    *batched("bias", **LOG),
    *batched("bias", "-power", **POWER),
)
#: What attention with the bias is asked too: the power, and what may be learned.
LEARNED = ("later-keys-power", "exponent-one", "negative-rate", *(f"{name}-log" for name in WIDTHS))


def attention_cases(name: str) -> tuple[Case, ...]:
    """Return the cases of attention with the bias, or of its weights."""
    given = attended(name, lambda heads: {"first": [1.0, 0.5, 0.25, 2.0][:heads], "second": [0.5, 2.0, 1.0, 0.25][:heads]})
    return (*given, overflowing(name, first=[1.0], second=[0.5]), *again(name, chosen(BIAS, LEARNED)))


CASES = (*BIAS, *attention_cases("weights"), *attention_cases("attend"))
