"""The cases of wavelengths that are rounded, on rope's frequencies and on YaRN's: those of the ladder itself, and what rounding adds."""

from typing import Any

from refimpl.cases import ladder, rope, yarn
from refimpl.cases.digits import named, narrowed
from refimpl.cases.turned import attention
from refimpl.spec import Case

frequency_case = named("frequencies")
rotate_case = named("rotate", head_dim=4)
ABOVE_ONE = "base must be greater than 1, got 1.0"

FREQUENCIES = (
    frequency_case("one-pair", "the fastest pair, whose wavelength of 6 is below 2 pi, kept at frequency 1", head_dim=2),
    frequency_case("two-pairs", "wavelengths rounded up", head_dim=4),
    frequency_case("six-wide", "a width that is a power of two taken for granted", head_dim=6),
    frequency_case("eight-wide", "wavelengths rounded down: 62.83 to 62", head_dim=8),
    frequency_case("sixteen-wide", "frequencies rounded in the place of wavelengths", head_dim=16),
    frequency_case("sixty-four-wide", "wavelengths in half precision", head_dim=64),
    frequency_case("eighty-wide", "long wavelengths left as they are", head_dim=80),
    frequency_case("common-width", "wavelengths rounded in half precision", head_dim=128),
    frequency_case("large-base", "10000 whatever the base", base=500_000.0, head_dim=8),
    frequency_case("million", "wavelengths that overflow half precision", base=1_000_000.0, head_dim=128),
    frequency_case("ten-thousand-million", "wavelengths that overflow 32-bit integers", base=1e10, head_dim=128),
    frequency_case("eighty-wide-large-base", "wavelengths, or what they are made of, in single precision", head_dim=80, base=1e8),
    frequency_case("small-base", "wavelengths counted without 2 pi", base=100.0, head_dim=6),
    frequency_case("smallest-base", "neighbours with the same wavelength told apart", base=1.5, head_dim=16),
    frequency_case("inexact-base", "the base rounded to an integer", base=10_000.7, head_dim=16),
    frequency_case("twelve-wide", "a base that is off by one", base=1_234.5, head_dim=12),
    frequency_case("twenty-wide", "ten wavelengths, each 2.5 times the one before", head_dim=20),
    frequency_case("thousand", "wavelengths rounded before they are multiplied by 2 pi", base=1_000.0, head_dim=32),
    frequency_case("thirty", "short wavelengths, most of them neighbours", base=30.0, head_dim=20),
    frequency_case("two-thousand-million", "four wavelengths, of which the last three are far apart", base=2e9, head_dim=8),
    frequency_case("odd-width", "an odd width rounded silently", head_dim=7, error="head_dim must be even, got 7"),
    frequency_case("base-one", "a ladder that doesn't fall", head_dim=8, base=1.0, error=ABOVE_ONE),
    frequency_case("infinite-base", "pairs that don't turn", head_dim=8, base=float("inf"), error="base must be finite, got inf"),
)
#: Positions at which every pair of a head of four has come round: its wavelengths are 6 and 628.
ROUND = (
    rotate_case("come-round", "a pair that isn't where it was after a whole wavelength", positions=[6, 1_884, 1_130_400]),
    rotate_case("come-round-half", "a table of one wavelength that is repeated one position late", layout="half",
                positions=[5, 6, 627, 628, 629]),
    rotate_case("eighty-wide-large-base", "wavelengths, or what they are made of, in single precision", head_dim=80, base=1e8,
                sizes={"head": 1}, positions=[131_071]),
    rotate_case("before-the-origin", "positions before 0 folded to the wrong side", positions=[-1, -6, -629]),
)
ROTATIONS = (
    *(case for case in rope.rotation_cases("rotate") if case.name != "rotate/negative-base"),
    *ladder.rotations(rotate_case),
    *ROUND,
    *narrowed(rotate_case, {"x": (1, 1, 2, 4)}, positions=[0, 1]),
    rotate_case("base-one", "a ladder that doesn't fall", base=1.0, positions=[0], error=ABOVE_ONE),
)
USUAL: dict[str, Any] = {"head_dim": 8}
MANY_PAIRS = tuple(
    named(operation)(name, f"a base that is {how}, which few whole wavelengths show", head_dim=128, base=base,
                     query_positions=[4_097], key_positions=[0, 1_023, 2_049], causal=False)
    for operation in ("weights", "attend")
    for name, how, base in (("many-pairs", "off by one", 1_000.7), ("many-pairs-half-base", "kept in half precision", 1_001.9))
)
ROPE = (*FREQUENCIES, *ROTATIONS, *attention(USUAL, ROTATIONS), *MANY_PAIRS)

WIDE: dict[str, Any] = {"head_dim": 80, "base": 1e10, "factor": 3.3, "original_length": 1_000_000_000, "truncate": False}
EMPTY: dict[str, Any] = {"head_dim": 4, "base": 1e8, "factor": 4.0, "original_length": 6}
SINGLE = "what long wavelengths are made of in single precision"


def blended(name: str, **positions: Any) -> tuple[Case, ...]:
    """Return the cases of wavelengths so long that rounding hides little of what they are made of."""
    build = named(name)
    return (
        build("long-wavelengths", SINGLE, **WIDE, **positions),
        build("long-wavelengths-truncated", SINGLE, **{**WIDE, "truncate": True}, **positions),
        build("empty-band-of-long-wavelengths", "a band of no width that is widened to a pair", **EMPTY, **positions),
    )


stretched_case = named("frequencies", factor=4.0, original_length=4_096)
BLENDED = (
    stretched_case("rounded-last", "wavelengths rounded before they are stretched: 4 times 628, not 2513", head_dim=8, original_length=64),
    stretched_case("rounded-once", "wavelengths rounded before they are stretched, and again after", head_dim=16, factor=2.5),
    stretched_case("smallest-base", "neighbours with the same wavelength told apart", head_dim=16, base=1.5, original_length=16),
    *blended("frequencies"),
    *blended("rotate", sizes={"head": 1}, positions=[131_071]),
)
YARN = (*yarn.FREQUENCY_CASES, *BLENDED, *yarn.ROTATE_CASES, *attention(yarn.USUAL, yarn.ROTATE_CASES, yarn.OWN))
