"""The cases of LongRoPE, each with the mistake that it exposes."""

from collections.abc import Iterator
from typing import Any

from refimpl.cases import ladder
from refimpl.cases.digits import digits, named, narrowed
from refimpl.cases.turned import attention
from refimpl.spec import Case

#: Factors of four pairs, exact in every dtype; the first pair is slowed too.
SHORT, LONG = [1.0, 1.0625, 1.25, 1.5], [1.125, 2.0, 12.5, 48.0]
TWO_SHORT, TWO_LONG = [1.0625, 1.5], [1.25, 12.0]
#: Factors that need every digit of float32 and of float64.
POSITIVE = {bits: [abs(number) for number in digits(bits, 2)] for bits in (24, 53)}
#: Factors beyond the range of float16, and of float32.
TINY_AND_HUGE = ([2.0**-100, 2.0**100], [2.0**-200, 2.0**200])
#: A factor that bfloat16 doesn't hold, in the cases that find factors kept in it.
FINER = ("finer_input",)


frequency_case = named("frequencies", head_dim=8, short_factors=SHORT, long_factors=LONG, original_length=4_096, length=4_097)
searched_case = named("rotate_searched", head_dim=4, factors=TWO_LONG, start_tokens=4)


def factor_case(name: str, exposes: str, original_length: int, max_length: int, **arguments: Any) -> Case:
    """Return a case of the attention factor."""
    return Case(f"attention_factor/{name}", exposes=exposes, original_length=original_length, max_length=max_length, **arguments)


def flat(positions: Any) -> Iterator[int]:
    """Yield the positions of every row."""
    for position in positions:
        yield from flat(position) if isinstance(position, list) else [position]


def rotate_case(name: str, exposes: str, *, positions: Any, tags: tuple[str, ...] = (), **arguments: Any) -> Case:
    """Return a case of a head of four from 256 to 8192 positions, where nothing else is said; its length ends at its last position."""
    usual = {"head_dim": 4, "short_factors": TWO_SHORT, "long_factors": TWO_LONG, "original_length": 256, "max_length": 8_192}
    explicit = ("explicit_length",) if "length" in arguments else ()
    whole = {"length": max(*flat(positions), 0) + 1, **usual, **arguments}
    return Case(f"rotate/{name}", exposes=exposes, tags=(*tags, *explicit), positions=positions, **whole)


FREQUENCY_CASES = (
    frequency_case("at-original-length", "the switch at the original length instead of beyond it", length=4_096),
    frequency_case("one-beyond", "the short factors for ever"),
    frequency_case("one-before", "the long factors always", length=4_095),
    frequency_case("one-token", "an original length that is ignored", length=1),
    frequency_case("two-beyond", "a switch that comes one token late", length=4_098),
    frequency_case("well-beyond", "a switch at one and a half or twice the original length", length=7_000),
    frequency_case("far-beyond", "a list that is chosen by a fixed length", original_length=8_192, length=131_072),
    frequency_case("between-lengths", "a list that is chosen by 4096 whatever the model", original_length=8_192, length=8_192),
    frequency_case("short-original", "a fixed original length", original_length=64, length=65),
    frequency_case("factors-one", "another rope where nothing is stretched", short_factors=[1.0] * 4, long_factors=[1.0] * 4),
    frequency_case("constant-factors", "factors that bend the ladder", long_factors=[4.0] * 4),
    frequency_case("first-pair-kept", "a first pair that is slowed", long_factors=[1.0, 4.0, 16.0, 64.0]),
    frequency_case("first-pair-only", "factors that are shifted by a pair", long_factors=[2.0, 1.0, 1.0, 1.0]),
    frequency_case("below-one", "factors below 1 clipped", length=9, short_factors=[0.5, 0.75, 0.9375, 1.0]),
    frequency_case("finer-factors", "factors in bfloat16", tags=FINER, long_factors=[1.00390625, 33.125, 17.0625, 65.25]),
    frequency_case("integers", "factors that are rounded down", short_factors=[1.0, 2.0, 3.0, 4.0], length=2_048),
    frequency_case("one-pair", "a list that is taken apart pair by pair", head_dim=2, short_factors=[1.0], long_factors=[3.0]),
    frequency_case("six-wide", "a width that is a power of two taken for granted", head_dim=6, short_factors=[1.0, 1.5, 2.0],
                   long_factors=[1.0, 3.0, 7.0]),
    frequency_case("small-base", "10000 whatever the base", base=100.0),
    frequency_case("inexact-base", "the base rounded to an integer", base=10_000.7, length=257),
    frequency_case("common-width", "a slow pair rounded away at the usual head width", head_dim=96,
                   short_factors=[1.0 + j / 64 for j in range(48)], long_factors=[1.0 + j / 2 for j in range(48)]),
    frequency_case("too-few-short", "a list that is repeated or padded", short_factors=[1.0, 1.5],
                   error="axis 'pair' of short_factors must be 4, got 2"),
    frequency_case("too-many-long", "a list for the whole width instead of its pairs", long_factors=[1.0] * 8,
                   error="axis 'pair' of long_factors must be 4, got 8"),
    frequency_case("zero-factor", "a division by zero", long_factors=[1.0, 0.0, 1.0, 1.0],
                   error="long_factors must be greater than 0, got 0.0"),
    frequency_case("single-digits", "factors narrowed to half precision", head_dim=4, tags=FINER, short_factors=POSITIVE[24],
                   long_factors=POSITIVE[24]),
    frequency_case("double-digits", "factors narrowed to single precision", head_dim=4, tags=FINER, short_factors=POSITIVE[53],
                   long_factors=POSITIVE[53]),
    frequency_case("tiny-and-huge-factors", "factors that vanish or overflow in half precision", head_dim=4, tags=FINER,
                   short_factors=TINY_AND_HUGE[0], long_factors=TINY_AND_HUGE[0]),
    frequency_case("tinier-and-huger-factors", "factors that vanish or overflow in single precision", head_dim=4, tags=FINER,
                   short_factors=TINY_AND_HUGE[1], long_factors=TINY_AND_HUGE[1]),
    frequency_case("negative-and-endless-factors", "only the greatest factor read", head_dim=4, short_factors=[-1.0, float("inf")],
                   long_factors=[1.0, 1.0], error="short_factors must be greater than 0, got -1.0"),
    frequency_case("endless-factor", "a factor that stops a pair", short_factors=[1.0, float("inf"), 1.0, 1.0],
                   error="short_factors must be finite, got inf"),
    frequency_case("negative-factor", "a pair that turns backwards", short_factors=[1.0, 1.0, -2.0, 1.0],
                   error="short_factors must be greater than 0, got -2.0"),
    frequency_case("no-original-length", "a model without an original length", original_length=0,
                   error="original_length must be at least 1, got 0"),
    frequency_case("no-length", "a sequence without tokens", length=0, error="length must be at least 1, got 0"),
    frequency_case("odd-width", "an odd width rounded silently", head_dim=7, error="head_dim must be even, got 7"),
)

FACTOR_CASES = (
    factor_case("thirty-two-fold", "the square, which belongs to the logits", 4_096, 131_072),
    factor_case("twofold", "YaRN's factor, 0.1 ln s + 1", 4_096, 8_192),
    factor_case("half-as-much-again", "the stretch cut to an integer", 4_096, 6_144),
    factor_case("one-more", "a stretch below 2 taken for none", 4_096, 4_097),
    factor_case("three-and-a-half-fold", "the stretch rounded up to a power of two", 4_096, 14_336),
    factor_case("two-hundred-fifty-six-fold", "a maximum length that is clamped at 131072", 4_096, 1_048_576),
    factor_case("unstretched", "a factor above 1 where nothing is stretched", 4_096, 4_096),
    factor_case("shrunk", "a factor below 1 where the context shrinks", 4_096, 2_048),
    factor_case("below-default", "nothing scaled below 4096 positions", 1_024, 4_096),
    factor_case("below-default-fraction", "a maximum length below 4096 with a broken stretch", 1_000, 2_500),
    factor_case("other-original", "4096 whatever the original length", 8_192, 131_072),
    factor_case("other-fraction", "an original length that is fixed, a stretch that is cut", 3_000, 131_072),
    factor_case("squared-length", "another logarithm below than above: this one is the root of 2", 1_000, 1_000_000),
    factor_case("shortest", "a logarithm of the length where the stretch has one", 2, 4),
    factor_case("shortest-unstretched", "a division by the logarithm of 1", 2, 2),
    factor_case("longest", "an overflow of the stretch", 2, 1_048_576),
    factor_case("shrunk-far", "a root of a negative number", 32_768, 1),
    factor_case("odd-lengths", "lengths that are taken for powers of two", 65_535, 131_071),
    factor_case("given", "a factor that is given computed anew, or multiplied with the computed one", 4_096, 131_072,
                short_mscale=1.25, long_mscale=1.25),
    factor_case("given-at-original-length", "the switch at the original length instead of beyond it", 4_096, 131_072, length=4_096,
                short_mscale=1.0, long_mscale=1.5),
    factor_case("given-beyond", "the short factor for ever", 4_096, 131_072, length=4_097, short_mscale=1.5, long_mscale=1.25),
    factor_case("given-one", "a given 1 taken for nothing given", 4_096, 131_072, short_mscale=1.0, long_mscale=1.0),
    factor_case("given-short-alone", "both replaced where one is given", 4_096, 131_072, length=8_192, short_mscale=0.75),
    factor_case("given-long-alone", "the long factor at any length where it stands alone", 4_096, 131_072, length=9, long_mscale=0.75),
    factor_case("given-unstretched", "a given factor left out where nothing is stretched", 4_096, 4_096, short_mscale=0.75,
                long_mscale=0.5),
    factor_case("inexact-given", "a factor that is given kept in a narrower format", 4_096, 131_072, length=131_072, short_mscale=1.2,
                long_mscale=1.1),
    factor_case("negative-given", "a rotation that also mirrors", 4_096, 131_072, short_mscale=-1.0, long_mscale=1.0,
                error="short_mscale must be greater than 0, got -1.0"),
    factor_case("zero-given", "a vector that vanishes", 4_096, 131_072, short_mscale=1.0, long_mscale=0.0,
                error="long_mscale must be greater than 0, got 0.0"),
    factor_case("no-length", "a sequence without tokens", 4_096, 131_072, length=0, error="length must be at least 1, got 0"),
    factor_case("no-original-length", "the logarithm of zero", 0, 4_096, error="original_length must be at least 2, got 0"),
    factor_case("original-length-one", "a division by the logarithm of 1", 1, 4_096, error="original_length must be at least 2, got 1"),
    factor_case("no-maximum", "the logarithm of zero", 4_096, 0, error="max_length must be at least 1, got 0"),
)

ROTATE_CASES = (
    rotate_case("first-positions", "the long factors always", positions=[0, 1, 2]),
    rotate_case("before-the-switch", "the switch at the original length instead of beyond it", positions=[1, 254, 255]),
    rotate_case("after-the-switch", "the short factors for ever", positions=[1, 255, 256]),
    rotate_case("well-after-the-switch", "each token's own position taken for the length", positions=[2, 9, 257]),
    rotate_case("short-in-long", "the positions' end taken for the length", positions=[0, 1, 9], length=4_096),
    rotate_case("short-in-long-half", "the cache's offset taken for the length", layout="half", positions=[2, 9], length=257),
    rotate_case("at-capacity", "the capacity taken for the length", positions=[9, 200], layout="half", max_length=131_072),
    rotate_case("unstretched-long", "the list chosen by the maximum length", positions=[9, 300], max_length=256),
    rotate_case("half-layout", "the attention factor applied in one layout only", head_dim=8, short_factors=SHORT, long_factors=LONG,
                layout="half", positions=[0, 1, 9]),
    rotate_case("half-layout-long", "short factors in the half layout", head_dim=8, short_factors=SHORT, long_factors=LONG,
                layout="half", positions=[1, 4_097]),
    rotate_case("interleaved-to-half", "pairs written back in place", layout="interleaved_to_half", positions=[0, 2, 9]),
    rotate_case("negative-direction", "the sign of the sine", direction="negative", positions=[1, 9]),
    rotate_case("half-negative", "direction ignored in one layout", layout="half", direction="negative", positions=[1, 2]),
    rotate_case("factors-one", "another rotation where nothing is stretched", short_factors=[1.0, 1.0], long_factors=[1.0, 1.0],
                max_length=256, positions=[1, 9]),
    rotate_case("factors-one-grown", "no attention factor where all factors are 1", short_factors=[1.0, 1.0], long_factors=[1.0, 1.0],
                layout="half", positions=[1, 9]),
    rotate_case("below-one", "factors below 1 clipped, or sorted", short_factors=[0.75, 0.5], positions=[2, 9]),
    rotate_case("shrunk", "a factor below 1 where the context shrinks", max_length=128, positions=[1, 9]),
    rotate_case("fractional-stretch", "a stretch that is cut to an integer", max_length=384, layout="half", positions=[2, 9]),
    rotate_case("original-length", "4096 whatever the original length", original_length=64, max_length=2_048, positions=[1, 65]),
    rotate_case("half-boundary", "positions in float16, exact to 2048 only", positions=[2_047, 2_048, 2_049]),
    rotate_case("page-boundary", "a table that ends at 4096", layout="half", original_length=4_096, positions=[4_095, 4_096, 4_097]),
    rotate_case("far", "half tables, half frequencies", head_dim=8, short_factors=SHORT, long_factors=LONG, original_length=4_096,
                max_length=131_072, positions=[65_535, 131_071]),
    rotate_case("far-sparse", "a slow pair's error hidden among fast ones", head_dim=8, short_factors=SHORT, long_factors=LONG,
                original_length=4_096, max_length=131_072, layout="half", x="sparse", positions=[65_535, 131_071]),
    *ladder.rotations(rotate_case, original_length=4_096, max_length=131_072),
    rotate_case("million", "positions that overflow, wrap or end", layout="half", max_length=1_048_576, positions=[1_048_575, 1_048_576]),
    rotate_case("small-base", "a base that is ignored", base=100.0, positions=[2, 9]),
    rotate_case("inexact-base", "the base rounded to an integer", base=10_000.7, layout="half", positions=[9, 4_097]),
    rotate_case("one-pair", "a division by head_dim - 2", head_dim=2, short_factors=[1.5], long_factors=[3.0], positions=[0, 1, 257]),
    rotate_case("finer-factors", "factors in bfloat16", tags=FINER, long_factors=[1.00390625, 33.125], positions=[257, 4_095]),
    rotate_case("unsorted", "positions replaced by their index", layout="half", positions=[9, 2, 2, 0]),
    rotate_case("negative-positions", "negative positions clamped or wrapped", positions=[-1, -257]),
    rotate_case("single-token", "the token axis dropped while decoding", layout="half", positions=[256]),
    rotate_case("batched-positions", "the first row's positions used for every row", sizes={"batch": 2, "head": 1},
                positions=[[0, 1, 2], [7, 255, 9]]),
    rotate_case("one-long-row", "each row's own length", sizes={"batch": 2, "head": 1}, positions=[[0, 1], [255, 256]]),
    rotate_case("batch-equals-heads", "positions broadcast along the heads", layout="half", sizes={"batch": 2, "head": 2},
                positions=[[0, 9], [5, 1]]),
    rotate_case("batch-equals-tokens", "batch and token axes swapped", sizes={"batch": 3, "head": 1}, positions=[0, 1, 2]),
    rotate_case("heads-equal-tokens", "the head axis taken for the token axis", sizes={"head": 3}, positions=[1, 2, 9]),
    rotate_case("common-width", "a slow pair rounded away at the usual head width", head_dim=96, layout="half", sizes={"head": 1},
                short_factors=[1.0 + j / 64 for j in range(48)], long_factors=[1.0 + j / 2 for j in range(48)], original_length=4_096,
                max_length=131_072, positions=[131_071]),
    rotate_case("given-before-the-switch", "a given factor ignored, or the long one at any length", positions=[1, 255], short_mscale=0.75,
                long_mscale=1.5),
    rotate_case("given-after-the-switch", "a given factor multiplied with the computed one, or the short one at any length",
                layout="half", positions=[1, 256], short_mscale=0.75, long_mscale=1.5),
    rotate_case("given-unstretched", "a given factor left out where nothing is stretched", max_length=256, positions=[9, 300],
                short_mscale=0.75, long_mscale=1.5),
    rotate_case("given-alike", "one number for both lists read for one of them only, or kept in a narrower format", positions=[9, 300],
                short_mscale=1.243163121016122, long_mscale=1.243163121016122),
    rotate_case("odd-width", "an odd width rounded silently", head_dim=5, sizes={"token": 1}, positions=[0],
                error="head_dim must be even, got 5"),
    rotate_case("too-few-factors", "a list that is repeated or padded", long_factors=[1.0], positions=[0],
                error="axis 'pair' of long_factors must be 2, got 1"),
    *narrowed(rotate_case, {"x": (1, 1, 2, 2)}, head_dim=2, positions=[0, 257], short_factors=[1.5], long_factors=[12.0]),
    rotate_case("uneven-lengths", "the stretch in half precision", original_length=3_000, max_length=7_000, positions=[1]),
    rotate_case("tiny-and-huge-factors", "factors that vanish or overflow in half precision", tags=FINER, short_factors=TINY_AND_HUGE[0],
                long_factors=TINY_AND_HUGE[0], positions=[0]),
    rotate_case("tinier-and-huger-factors", "factors that vanish or overflow in single precision", tags=FINER,
                short_factors=TINY_AND_HUGE[1], long_factors=TINY_AND_HUGE[1], positions=[0]),
    rotate_case("negative-and-endless-factors", "only the greatest factor read", long_factors=[-1.0, float("inf")], positions=[0],
                error="long_factors must be greater than 0, got -1.0"),
    rotate_case("endless-factor", "a factor that stops a pair", long_factors=[1.0, float("inf")], positions=[0],
                error="long_factors must be finite, got inf"),
    rotate_case("zero-factor", "a list that is checked only where it is used", long_factors=[0.0, 1.0], positions=[0],
                error="long_factors must be greater than 0, got 0.0"),
    rotate_case("original-length-one", "a division by the logarithm of 1", original_length=1, positions=[0],
                error="original_length must be at least 2, got 1"),
    rotate_case("too-few-positions", "positions that broadcast by accident", sizes={"token": 2}, positions=[3],
                error="axis 'token' is 1 in positions but 2 in x"),
)

SEARCHED_CASES = (
    searched_case("first-positions", "the first positions scaled", positions=[0, 1, 2]),
    searched_case("at-the-end-of-the-start", "the start one token too long or too short", positions=[3, 4, 5]),
    searched_case("no-start", "a start where none is asked for", start_tokens=0, positions=[0, 1, 9]),
    searched_case("long-start", "the start clamped", start_tokens=256, layout="half", positions=[255, 256, 257]),
    searched_case("all-start", "anything scaled inside the start", start_tokens=4_096, positions=[9, 2_047, 4_095]),
    searched_case("index-is-no-position", "the token's index taken for its position", layout="half", positions=[9, 2, 257]),
    searched_case("half-layout", "the layout ignored: pairs side by side", head_dim=8, factors=LONG, layout="half", positions=[0, 1, 9]),
    searched_case("interleaved-to-half", "pairs written back in place", layout="interleaved_to_half", positions=[0, 2, 9]),
    searched_case("negative-direction", "the sign of the sine", direction="negative", positions=[1, 9]),
    searched_case("half-negative", "direction ignored in one layout", layout="half", direction="negative", positions=[1, 5]),
    searched_case("factors-one", "another rotation where nothing is stretched", factors=[1.0, 1.0], positions=[1, 9]),
    searched_case("constant-factors", "factors that bend the ladder", factors=[4.0, 4.0], layout="half", positions=[2, 9]),
    searched_case("below-one", "factors below 1 clipped, or sorted", factors=[0.75, 0.5], positions=[2, 9]),
    searched_case("half-boundary", "positions in float16, exact to 2048 only", positions=[2_047, 2_048, 2_049]),
    searched_case("page-boundary", "a table that ends at 4096", layout="half", positions=[4_095, 4_096, 4_097]),
    searched_case("far", "half tables, half frequencies", head_dim=8, factors=LONG, positions=[65_535, 131_071]),
    searched_case("far-sparse", "a slow pair's error hidden among fast ones", head_dim=8, factors=LONG, layout="half", x="sparse",
                  positions=[65_535, 131_071]),
    *ladder.rotations(searched_case),
    searched_case("million", "positions that overflow, wrap or end", layout="half", positions=[1_048_575, 1_048_576]),
    searched_case("small-base", "a base that is ignored", base=100.0, positions=[2, 9]),
    searched_case("inexact-base", "the base rounded to an integer", base=10_000.7, layout="half", positions=[9, 4_097]),
    searched_case("finer-factors", "factors in bfloat16", tags=FINER, factors=[1.00390625, 33.125], positions=[257, 4_095]),
    searched_case("six-wide", "a width that is a power of two taken for granted", head_dim=6, factors=[1.0625, 1.5, 12.0],
                  positions=[2, 9]),
    searched_case("one-pair", "a division by head_dim - 2", head_dim=2, factors=[3.0], positions=[0, 1, 257]),
    searched_case("unsorted", "positions sorted before the start is cut off", layout="half", positions=[9, 2, 2, 0]),
    searched_case("negative-positions", "negative positions clamped or wrapped", positions=[-1, -257]),
    searched_case("single-token", "the token axis dropped while decoding", layout="half", positions=[256]),
    searched_case("batched-positions", "the first row's positions used for every row", sizes={"batch": 2, "head": 1},
                  positions=[[0, 1, 2], [7, 255, 9]]),
    searched_case("batch-equals-heads", "positions broadcast along the heads", layout="half", sizes={"batch": 2, "head": 2},
                  positions=[[0, 9], [5, 1]]),
    searched_case("batch-equals-tokens", "batch and token axes swapped", sizes={"batch": 3, "head": 1}, positions=[3, 4, 5]),
    searched_case("heads-equal-tokens", "the head axis taken for the token axis", sizes={"head": 3}, positions=[1, 4, 9]),
    searched_case("common-width", "a slow pair rounded away at the usual head width", head_dim=128, layout="half", sizes={"head": 1},
                  factors=[1.0 + j / 2 for j in range(64)], positions=[131_071]),
    searched_case("negative-start", "a start that is counted from the end", start_tokens=-1, positions=[0],
                  error="start_tokens must be at least 0, got -1"),
    *narrowed(searched_case, {"x": (1, 1, 2, 2)}, head_dim=2, positions=[0, 257], factors=[12.0]),
    searched_case("tiny-and-huge-factors", "factors that vanish or overflow in half precision", tags=FINER, factors=TINY_AND_HUGE[0],
                  positions=[0]),
    searched_case("tinier-and-huger-factors", "factors that vanish or overflow in single precision", tags=FINER,
                  factors=TINY_AND_HUGE[1], positions=[0]),
    searched_case("negative-and-endless-factors", "only the greatest factor read", factors=[-1.0, float("inf")], positions=[0],
                  error="factors must be greater than 0, got -1.0"),
    searched_case("single-digits-of-factors", "factors narrowed to half precision", tags=FINER, factors=POSITIVE[24], positions=[9]),
    searched_case("double-digits-of-factors", "factors narrowed to single precision", tags=FINER, factors=POSITIVE[53], positions=[9]),
    searched_case("endless-factor", "a factor that stops a pair", factors=[float("inf"), 1.0], positions=[0],
                  error="factors must be finite, got inf"),
    searched_case("zero-factor", "a division by zero", factors=[1.0, 0.0], positions=[0], error="factors must be greater than 0, got 0.0"),
    searched_case("too-many-factors", "a list for the whole width instead of its pairs", factors=[1.0] * 4, positions=[0],
                  error="axis 'pair' of factors must be 2, got 4"),
    searched_case("odd-width", "an odd width rounded silently", head_dim=5, sizes={"token": 1}, positions=[0],
                  error="head_dim must be even, got 5"),
)

#: What attention is asked too: what this rotation has of its own.
OWN = ("before-the-switch", "at-capacity", "given-after-the-switch")
USUAL: dict[str, Any] = {
    "head_dim": 8, "short_factors": SHORT, "long_factors": LONG,
    "original_length": 256, "max_length": 8_192, "length": 257,
}

CASES = (
    *FREQUENCY_CASES, *FACTOR_CASES, *ROTATE_CASES, *SEARCHED_CASES,
    *attention(USUAL, ROTATE_CASES, OWN),
)
