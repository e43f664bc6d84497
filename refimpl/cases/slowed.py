"""The cases of every rule that slows the pairs of rope: where any rotation, and any factor, goes wrong."""

from collections.abc import Callable, Iterator

from refimpl.cases import ladder
from refimpl.cases.digits import narrowed
from refimpl.spec import Case

Build = Callable[..., Case]


def frequencies(build: Build) -> Iterator[Case]:
    """Yield the cases of the frequencies."""
    yield build("factor-one", "a stretch where nothing is stretched", factor=1.0)
    yield build("fractional-factor", "the factor cut to an integer", factor=2.5)
    yield build("half-as-long-again", "a factor below 2 taken for none", factor=1.5)
    yield build("inexact-factor", "the factor, or its reciprocal, in half precision", factor=3.3)
    yield build("thirty-two-fold", "the square root of the factor", factor=32.0, head_dim=16)
    yield build("small-base", "10000 whatever the base", base=100.0)
    yield build("large-base", "the frequencies of another base", base=500_000.0)
    yield build("inexact-base", "the base rounded to an integer", base=10_000.7, head_dim=16)
    yield build("six-wide", "a width that is a power of two taken for granted", head_dim=6)
    yield build("odd-width", "an odd width rounded silently", head_dim=7, error="head_dim must be even, got 7")
    yield build("shrunk", "a factor that was meant to multiply", factor=0.25, error="factor must be at least 1, got 0.25")
    yield build("infinite-factor", "a context without end", factor=float("inf"), error="factor must be finite, got inf")
    yield build("negative-base", "the root of a negative number", base=-1.0, error="base must be greater than 0, got -1.0")


def rotations(build: Build) -> Iterator[Case]:
    """Yield the cases of the rotation."""
    yield build("first-positions", "positions divided by the factor in every pair", positions=[0, 1, 2])
    yield build("half-layout", "the layout ignored: pairs side by side", layout="half", positions=[0, 1, 9])
    yield build("interleaved-to-half", "pairs written back in place", head_dim=6, layout="interleaved_to_half", positions=[0, 2, 9])
    yield build("negative-direction", "the sign of the sine", direction="negative", positions=[1, 9])
    yield build("half-negative", "direction ignored in one layout", layout="half", direction="negative", positions=[1, 2])
    yield build("factor-one", "another rotation where nothing is stretched", factor=1.0, positions=[1, 9])
    yield build("fractional-factor", "the factor cut to an integer", factor=2.5, layout="half", positions=[2, 9])
    yield build("half-as-long-again", "a factor below 2 taken for none", factor=1.5, positions=[1, 9])
    yield build("inexact-factor", "the factor in half precision", factor=3.3, layout="half", positions=[257])
    yield build("original-length", "a switch at the original length, where nothing switches", positions=[63, 64, 65])
    yield build("extended-length", "positions clamped at the new length", layout="half", positions=[255, 256, 257])
    yield build("half-boundary", "positions in float16, exact to 2048 only", head_dim=4, positions=[2_047, 2_048, 2_049])
    yield build("page-boundary", "a table that ends at 4096", head_dim=4, layout="half", positions=[4_095, 4_096, 4_097])
    yield build("far", "half tables, half frequencies", factor=32.0, positions=[65_535, 131_071])
    yield build("far-sparse", "a slow pair's error hidden among fast ones", factor=32.0, layout="half", x="sparse",
                positions=[65_535, 131_071])
    yield build("million", "positions that overflow, wrap or end", layout="half", factor=40.0, positions=[1_048_575, 1_048_576])
    yield from ladder.rotations(build, head_dim=4)
    yield build("small-base", "a base that is ignored", base=100.0, positions=[2, 9])
    yield build("inexact-base", "the base rounded to an integer", base=10_000.7, layout="half", positions=[9, 4_097])
    yield build("unsorted", "positions replaced by their index", layout="half", positions=[9, 2, 2, 0])
    yield build("shifted", "a cache that forgets its offset", positions=[9, 10, 11])
    yield build("negative-positions", "negative positions clamped or wrapped", positions=[-1, -257])
    yield build("single-token", "the token axis dropped while decoding", layout="half", positions=[256])
    yield build("batched-positions", "the first row's positions used for every row", head_dim=4, sizes={"batch": 2, "head": 1},
                positions=[[0, 1, 2], [7, 255, 9]])
    yield build("batch-equals-heads", "positions broadcast along the heads", head_dim=4, layout="half", sizes={"batch": 2, "head": 2},
                positions=[[0, 9], [5, 1]])
    yield build("batch-equals-tokens", "batch and token axes swapped", head_dim=4, sizes={"batch": 3, "head": 1}, positions=[0, 1, 2])
    yield build("heads-equal-tokens", "the head axis taken for the token axis", head_dim=4, sizes={"head": 3}, positions=[1, 2, 9])
    yield build("common-width", "a slow pair rounded away at the usual head width", head_dim=128, layout="half", sizes={"head": 1},
                positions=[131_071])
    yield from narrowed(build, {"x": (1, 1, 2, 4)}, head_dim=4, positions=[0, 1])
    yield build("odd-width", "an odd width rounded silently", head_dim=5, sizes={"token": 1}, positions=[0],
                error="head_dim must be even, got 5")
    yield build("shrunk", "a context that shrinks", factor=0.5, positions=[0], error="factor must be at least 1, got 0.5")
    yield build("too-few-positions", "positions that broadcast by accident", sizes={"token": 2}, positions=[3],
                error="axis 'token' is 1 in positions but 2 in x")
