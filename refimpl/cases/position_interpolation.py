"""The cases of position interpolation, each with the mistake that it exposes."""

from typing import Any

from refimpl.cases import ladder
from refimpl.cases.digits import named, narrowed
from refimpl.cases.turned import attention

frequency_case = named("frequencies", head_dim=8, factor=4.0)
rotate_case = named("rotate", head_dim=4, factor=4.0)

FREQUENCY_CASES = (
    frequency_case("fourfold", "frequencies multiplied by the factor"),
    frequency_case("factor-one", "a stretch where nothing is stretched", factor=1.0),
    frequency_case("threefold", "a factor that is taken for a power of two", factor=3.0),
    frequency_case("eightfold-gemma", "a factor that is dropped where the base is large", factor=8.0, base=1_000_000.0),
    frequency_case("fractional", "the factor cut to an integer", factor=2.5),
    frequency_case("barely", "the factor in half precision", factor=1.0009765625),
    frequency_case("barely-wider", "a factor near 1 taken for 1", factor=1.001953125, head_dim=6),
    frequency_case("inexact-factor", "the reciprocal of the factor in half precision", factor=3.3),
    frequency_case("thirty-two-fold", "the square root of the factor", factor=32.0, head_dim=16),
    frequency_case("thousandfold", "frequencies that vanish in float16", factor=1_024.0),
    frequency_case("one-pair", "a division by head_dim - 2; the first pair left alone", head_dim=2),
    frequency_case("one-pair-factor-one", "the first frequency below 1", head_dim=2, factor=1.0),
    frequency_case("two-pairs", "exponents that end at 1", head_dim=4, factor=2.0),
    frequency_case("six-wide", "a width that is a power of two taken for granted", head_dim=6, factor=1.5),
    frequency_case("small-base", "10000 whatever the base", base=100.0),
    frequency_case("inexact-base", "the base rounded to an integer", base=10_000.7, factor=2.0),
    frequency_case("base-one", "a division by the logarithm of the base", base=1.0),
    frequency_case("common-width", "a slow pair rounded away at the usual head width", head_dim=128, factor=8.0),
    frequency_case("odd-width", "an odd width rounded silently", head_dim=7, error="head_dim must be even, got 7"),
    frequency_case("shrunk", "a factor that was meant to multiply", factor=0.25, error="factor must be at least 1, got 0.25"),
    frequency_case("no-factor", "a division by zero", factor=0.0, error="factor must be at least 1, got 0.0"),
    frequency_case("infinite-factor", "a context without end", factor=float("inf"), error="factor must be finite, got inf"),
    frequency_case("negative-base", "the root of a negative number", base=-1.0, error="base must be greater than 0, got -1.0"),
)

ROTATE_CASES = (
    rotate_case("first-positions", "positions multiplied by the factor", positions=[0, 1, 2]),
    rotate_case("multiples", "angles that miss those of training", positions=[4, 8, 36]),
    rotate_case("half-layout", "the layout ignored: pairs side by side", head_dim=8, layout="half", positions=[0, 1, 9]),
    rotate_case("interleaved-to-half", "pairs written back in place", head_dim=6, layout="interleaved_to_half", positions=[0, 2, 9]),
    rotate_case("negative-direction", "the sign of the sine", direction="negative", positions=[1, 9]),
    rotate_case("half-negative", "direction ignored in one layout", layout="half", direction="negative", positions=[1, 2]),
    rotate_case("factor-one", "another rotation where nothing is stretched", factor=1.0, positions=[1, 9]),
    rotate_case("fractional-factor", "the factor cut to an integer", factor=2.5, layout="half", positions=[2, 9]),
    rotate_case("half-as-long-again", "a factor below 2 taken for none", factor=1.5, positions=[1, 2, 9]),
    rotate_case("threefold", "positions divided as integers", factor=3.0, positions=[1, 2, 9]),
    rotate_case("inexact-factor", "the factor in half precision", factor=3.3, layout="half", positions=[257]),
    rotate_case("byte-boundary", "positions in bfloat16, exact to 256 only", positions=[255, 256, 257]),
    rotate_case("byte-boundary-half-layout", "divided positions in bfloat16", layout="half", positions=[1_023, 1_025]),
    rotate_case("half-boundary", "positions in float16, exact to 2048 only", base=500_000.0, layout="half",
                positions=[2_047, 2_048, 2_049]),
    rotate_case("page-boundary", "positions clamped at the length of training", factor=2.0, positions=[4_095, 4_096, 4_097]),
    rotate_case("far", "half tables, half frequencies", head_dim=8, factor=32.0, positions=[65_535, 131_071]),
    rotate_case("far-not-a-power", "a frequency that is rounded after it was divided", head_dim=8, factor=3.0, layout="half",
                positions=[65_535, 131_071]),
    rotate_case("far-sparse", "a slow pair's error hidden among fast ones", head_dim=16, factor=8.0, base=1_000_000.0, x="sparse",
                positions=[65_535, 131_071]),
    rotate_case("million", "positions that overflow or end", head_dim=8, factor=16.0, layout="half", positions=[1_048_575, 1_048_576]),
    rotate_case("small-base", "a base that is ignored", base=100.0, head_dim=6, positions=[2, 9]),
    rotate_case("inexact-base", "the base rounded to an integer or to half precision", base=10_000.7, head_dim=8, positions=[9, 4_097]),
    rotate_case("one-pair", "a division by head_dim - 2", head_dim=2, positions=[0, 1, 257]),
    rotate_case("unsorted", "positions replaced by their index", layout="half", positions=[9, 2, 2, 0]),
    rotate_case("shifted", "a cache that forgets its offset", positions=[9, 10, 11]),
    rotate_case("negative-positions", "negative positions clamped, or rounded down when divided", positions=[-1, -9, -257]),
    rotate_case("negative-positions-half", "negative positions wrapped", layout="half", factor=2.0, positions=[-2, -255]),
    rotate_case("single-token", "the token axis dropped while decoding", layout="half", positions=[256]),
    rotate_case("batched-positions", "the first row's positions used for every row", sizes={"batch": 2, "head": 1},
                positions=[[0, 1, 2], [7, 255, 9]]),
    rotate_case("batch-equals-heads", "positions broadcast along the heads", layout="half", sizes={"batch": 2, "head": 2},
                positions=[[0, 9], [5, 1]]),
    rotate_case("batch-equals-tokens", "batch and token axes swapped", sizes={"batch": 3, "head": 1}, positions=[0, 1, 2]),
    rotate_case("heads-equal-tokens", "the head axis taken for the token axis", head_dim=2, sizes={"head": 3}, positions=[1, 2, 9]),
    rotate_case("common-width", "a slow pair rounded away at the usual head width", head_dim=128, layout="half", factor=8.0,
                sizes={"head": 1}, positions=[131_071]),
    rotate_case("odd-width", "an odd width rounded silently", head_dim=5, sizes={"token": 1}, positions=[0],
                error="head_dim must be even, got 5"),
    *ladder.rotations(rotate_case),
    *narrowed(rotate_case, {"x": (1, 1, 2, 2)}, head_dim=2, positions=[0, 1]),
    rotate_case("shrunk", "a factor that was meant to multiply", factor=0.25, positions=[0], error="factor must be at least 1, got 0.25"),
    rotate_case("too-few-positions", "positions that broadcast by accident", sizes={"token": 2}, positions=[3],
                error="axis 'token' is 1 in positions but 2 in x"),
)

USUAL: dict[str, Any] = {"head_dim": 8, "factor": 4.0}

CASES = (
    *FREQUENCY_CASES, *ROTATE_CASES,
    *attention(USUAL, ROTATE_CASES),
)
