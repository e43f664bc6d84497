"""The cases of YaRN, each with the mistake that it exposes."""

from typing import Any

from refimpl.cases import ladder
from refimpl.cases.digits import narrowed
from refimpl.cases.turned import attention
from refimpl.spec import Case


def frequency_case(name: str, exposes: str, **arguments: Any) -> Case:
    """Return a case of a head of eight that grows fourfold from 4096 positions, where nothing else is said."""
    return Case(f"frequencies/{name}", exposes=exposes, **{"head_dim": 8, "factor": 4.0, "original_length": 4_096, **arguments})


def factor_case(name: str, exposes: str, **arguments: Any) -> Case:
    """Return a case that grows fourfold where nothing else is said."""
    return Case(f"attention_factor/{name}", exposes=exposes, **{"factor": 4.0, **arguments})


def softmax_case(name: str, exposes: str, **arguments: Any) -> Case:
    """Return a case of DeepSeek-V3 where nothing else is said."""
    return Case(f"softmax_scale/{name}", exposes=exposes, **{"qk_head_dim": 192, "factor": 40.0, "mscale_all_dim": 1.0, **arguments})


def rotate_case(name: str, exposes: str, **arguments: Any) -> Case:
    """Return a case of a head of eight that grows fourfold from 64 positions, where nothing else is said: one pair is blended."""
    return Case(f"rotate/{name}", exposes=exposes, **{"head_dim": 8, "factor": 4.0, "original_length": 64, **arguments})


FREQUENCY_CASES = (
    frequency_case("eight-wide", "the ramp reversed: fast pairs slowed, slow ones kept"),
    frequency_case("untruncated", "truncate ignored: the band's edges always rounded", truncate=False),
    frequency_case("factor-one", "another scheme where nothing is stretched", factor=1.0),
    frequency_case("fractional-factor", "the factor rounded to an integer", factor=2.5),
    frequency_case("one-pair", "a division by head_dim - 2", head_dim=2),
    frequency_case("six-wide", "a width that is a power of two taken for granted", head_dim=6, factor=8.0),
    frequency_case("shorter-original", "the original length fixed", head_dim=16, original_length=2_048),
    frequency_case("low-clamped", "an index below zero: the lower edge not clamped", head_dim=16, original_length=64),
    frequency_case("low-clamped-untruncated", "the lower edge clamped only where it is rounded", head_dim=16, original_length=64,
                   truncate=False),
    frequency_case("empty-at-zero", "a division by zero, or 0 < low asserted", original_length=6),
    frequency_case("high-clamped", "the upper edge beyond head_dim - 1", base=10.0, original_length=500),
    frequency_case("high-clamped-untruncated", "the upper edge clamped only where it is rounded", base=10.0, original_length=500,
                   truncate=False),
    frequency_case("high-beyond-pairs", "the upper edge clamped to the last pair", base=100.0, original_length=1_024),
    frequency_case("empty-at-end", "a division by zero at the last index", head_dim=4, base=10.0, original_length=10_000),
    frequency_case("other-betas", "beta_fast and beta_slow ignored", head_dim=16, beta_fast=16.0, beta_slow=2.0),
    frequency_case("fast-beta", "only beta_slow read", head_dim=16, beta_fast=8.0, truncate=False),
    frequency_case("slow-beta", "only beta_fast read", head_dim=16, beta_slow=4.0, truncate=False),
    frequency_case("large-base", "10000 in the band whatever the base", head_dim=32, base=1_000_000.0, original_length=32_768),
    frequency_case("inexact-base", "the base truncated to an integer", head_dim=16, base=10_000.7),
    frequency_case("small-base", "the logarithm of the base to another base", base=1_000.0, factor=16.0),
    frequency_case("sixty-four-wide", "the paper's ramp, linear in turns instead of the index", head_dim=64, factor=40.0),
    frequency_case("sixty-four-untruncated", "rounded edges in a model trained without", head_dim=64, base=150_000.0, factor=32.0,
                   truncate=False),
    frequency_case("sixty-four-truncated", "raw edges in a model trained with rounded ones", head_dim=64, base=150_000.0, factor=32.0),
    frequency_case("common-width", "frequencies in half precision", head_dim=128, factor=16.0),
    frequency_case("odd-width", "an odd width rounded silently", head_dim=7, error="head_dim must be even, got 7"),
    frequency_case("shrunk", "a context that shrinks", factor=0.5, error="factor must be at least 1, got 0.5"),
    frequency_case("base-one", "a division by the logarithm of one", base=1.0, error="base must be greater than 1, got 1.0"),
    frequency_case("no-original-length", "the logarithm of zero", original_length=0, error="original_length must be at least 1, got 0"),
    frequency_case("equal-betas", "equal betas refused, or divided by their difference", head_dim=64, base=50_000.0, factor=32.0,
                   beta_fast=1.0),
    frequency_case("equal-betas-untruncated", "a ramp without width", beta_fast=1.0, truncate=False,
                   error="beta_fast must be greater than beta_slow (1), got 1.0"),
    frequency_case("exchanged-betas", "only equal betas refused", beta_fast=2.0, beta_slow=8.0,
                   error="beta_fast must be at least beta_slow (8), got 2.0"),
    frequency_case("exchanged-betas-untruncated", "only equal betas refused where edges aren't rounded", beta_fast=2.0, beta_slow=8.0,
                   truncate=False, error="beta_fast must be greater than beta_slow (8), got 2.0"),
    frequency_case("no-band", "a band that ends before it begins", base=10.0, original_length=1_000_000,
                   error="original_length must put a pair of the head between the betas, got 1000000"),
)

FACTOR_CASES = (
    factor_case("fourfold", "the square root of the factor, or no factor at all"),
    factor_case("sixteenfold", "the logarithm to base 2 or 10", factor=16.0),
    factor_case("thirty-two-fold", "0.07 or another constant in place of 0.1", factor=32.0),
    factor_case("seven-hundredths", "0.1 or another constant in place of TeleChat3's 0.07", slope=0.07),
    factor_case("seven-hundredths-ratio", "one growth by another slope", slope=0.07, factor=40.0, mscale=1.0, mscale_all_dim=0.5),
    factor_case("fortyfold", "the square of the factor, which belongs to the logits", factor=40.0),
    factor_case("slightly", "the factor in half precision", factor=1.0078125),
    factor_case("fractional", "the factor rounded to an integer", factor=2.5),
    factor_case("factor-one", "more than 1 where nothing is stretched", factor=1.0),
    factor_case("shrunk", "a factor below 1 where the context shrinks", factor=0.5),
    factor_case("given", "a factor that is given computed anew", attention_factor=1.25),
    factor_case("given-one", "a given 1 taken for nothing given", attention_factor=1.0),
    factor_case("given-over-both", "the ratio of mscales before the factor that is given", attention_factor=0.75, mscale=1.0,
                mscale_all_dim=0.5),
    factor_case("ratio", "mscale without its denominator", mscale=1.0, mscale_all_dim=0.5),
    factor_case("ratio-inverted", "numerator and denominator exchanged", factor=40.0, mscale=0.5, mscale_all_dim=2.0),
    factor_case("equal-mscales", "the default where both cancel", factor=40.0, mscale=0.707, mscale_all_dim=0.707),
    factor_case("mscale-alone", "mscale used without mscale_all_dim", mscale=2.0),
    factor_case("mscale-all-dim-alone", "mscale_all_dim used without mscale", mscale_all_dim=2.0),
    factor_case("mscale-zero", "an mscale of 0 taken for set", mscale=0.0, mscale_all_dim=1.0),
    factor_case("mscale-all-dim-zero", "an mscale_all_dim of 0 taken for set", mscale=1.0, mscale_all_dim=0.0),
    factor_case("slightly-shrunk", "a factor below 1 where the context shrinks a little", factor=0.75),
    factor_case("inexact-given", "a factor that is given kept in a narrower format", attention_factor=1.1),
    factor_case("ratio-shrunk", "mscales used where nothing is stretched", factor=0.5, mscale=2.0, mscale_all_dim=0.5),
    factor_case("no-factor", "the logarithm of zero", factor=0.0, error="factor must be greater than 0, got 0.0"),
    factor_case("infinite-factor", "a factor that isn't finite", factor=float("inf"), error="factor must be finite, got inf"),
    factor_case("negative-given", "a rotation that also mirrors", attention_factor=-1.0,
                error="attention_factor must be greater than 0, got -1.0"),
    factor_case("negative-mscale", "a denominator that can vanish", mscale=-1.0, mscale_all_dim=1.0,
                error="mscale must be at least 0, got -1.0"),
)

SOFTMAX_CASES = (
    softmax_case("deepseek-v3", "no growth, or the growth without its square"),
    softmax_case("deepseek-v2", "mscale_all_dim taken for 1, or multiplied by the whole growth", mscale_all_dim=0.707),
    softmax_case("thirty-two-fold", "0.07 or another constant in place of 0.1", factor=32.0),
    softmax_case("unset", "an mscale_all_dim that isn't set taken for 1", mscale_all_dim=None),
    softmax_case("zero", "an mscale_all_dim of 0 taken for nothing given", mscale_all_dim=0.0),
    softmax_case("factor-one", "more than 1 / sqrt(qk_head_dim) where nothing is stretched", factor=1.0),
    softmax_case("shrunk", "less than 1 / sqrt(qk_head_dim) where the context shrinks", factor=0.5),
    softmax_case("slightly-shrunk", "a growth below 1 where the context shrinks a little", factor=0.75),
    softmax_case("fractional-factor", "the factor rounded to an integer", factor=2.5),
    softmax_case("slightly", "the growth in half precision", factor=1.0078125),
    softmax_case("strong", "the double of the growth in place of its square", factor=16.0, mscale_all_dim=2.0),
    softmax_case("far", "ln(1 + factor), or a logarithm that ends", factor=2_048.0, mscale_all_dim=0.5),
    softmax_case("latent-width", "the width of DeepSeek's heads whatever is asked for", qk_head_dim=576),
    softmax_case("square-width", "the width itself in place of its root", qk_head_dim=256, factor=64.0),
    softmax_case("narrow", "the width of the channels that turn", qk_head_dim=96, factor=4.0),
    softmax_case("odd-width", "an even width taken for granted", qk_head_dim=7, factor=4.0),
    softmax_case("one-wide", "a width that is padded", qk_head_dim=1, factor=4.0),
    softmax_case("no-width", "a division by zero", qk_head_dim=0, error="qk_head_dim must be at least 1, got 0"),
    softmax_case("no-factor", "the logarithm of zero", factor=0.0, error="factor must be greater than 0, got 0.0"),
    softmax_case("infinite-factor", "a factor that isn't finite", factor=float("inf"), error="factor must be finite, got inf"),
    softmax_case("negative-mscale", "a growth that falls", mscale_all_dim=-1.0, error="mscale_all_dim must be at least 0, got -1.0"),
)

ROTATE_CASES = (
    rotate_case("first-positions", "positions divided by the factor in every pair", positions=[0, 1, 2]),
    rotate_case("half-layout", "the factor on the attention applied in one layout only", layout="half", positions=[0, 1, 9]),
    rotate_case("interleaved-to-half", "pairs written where they were read", head_dim=6, layout="interleaved_to_half", positions=[0, 2, 9]),
    rotate_case("negative-direction", "the sign of the sine", direction="negative", positions=[1, 9]),
    rotate_case("half-negative", "direction ignored in one layout", layout="half", direction="negative", positions=[1, 2]),
    rotate_case("original-length", "a switch at the original length, where nothing switches", positions=[63, 64, 65]),
    rotate_case("extended-length", "positions clamped at the new length", layout="half", positions=[255, 256, 257]),
    rotate_case("half-boundary", "positions in float16, exact to 2048 only", head_dim=4, positions=[2_047, 2_048, 2_049]),
    rotate_case("page-boundary", "a table that ends at 4096", head_dim=4, layout="half", positions=[4_095, 4_096, 4_097]),
    rotate_case("far", "half tables, half frequencies", original_length=4_096, factor=32.0, positions=[65_535, 131_071]),
    rotate_case("far-sparse", "a slow pair's error hidden among fast ones", original_length=4_096, factor=32.0, layout="half", x="sparse",
                positions=[65_535, 131_071]),
    rotate_case("million", "positions that overflow, wrap or end", layout="half", factor=40.0, original_length=32_768,
                positions=[1_048_575, 1_048_576]),
    *ladder.rotations(rotate_case, head_dim=4, original_length=4_096, factor=32.0),
    rotate_case("factor-one", "another rotation where nothing is stretched", factor=1.0, positions=[1, 9]),
    rotate_case("untruncated", "truncate not passed on", layout="half", truncate=False, positions=[9, 257]),
    rotate_case("given-factor", "a factor that is given ignored", attention_factor=0.75, positions=[0, 9]),
    rotate_case("given-one", "a factor where 1 is asked for", layout="half", attention_factor=1.0, positions=[0, 2]),
    rotate_case("seven-hundredths", "0.1 in place of TeleChat3's 0.07", layout="half", slope=0.07, positions=[0, 9]),
    rotate_case("mscale-ratio", "mscale_all_dim ignored", mscale=1.0, mscale_all_dim=0.5, positions=[0, 1]),
    rotate_case("mscale-ratio-off-one", "mscale taken for 1", layout="half", factor=40.0, mscale=0.5, mscale_all_dim=2.0, positions=[1, 9]),
    rotate_case("mscale-zero", "an mscale of 0 taken for set", layout="half", mscale=0.0, mscale_all_dim=1.0, positions=[1, 2]),
    rotate_case("fractional-factor", "the factor cut to an integer", layout="half", factor=2.5, positions=[2, 9]),
    rotate_case("mscale-alone", "mscale used without mscale_all_dim", layout="half", mscale=2.0, positions=[2]),
    rotate_case("given-over-mscales", "the ratio before the factor that is given", attention_factor=1.25, mscale=1.0, mscale_all_dim=0.5,
                positions=[1]),
    rotate_case("other-betas", "the betas fixed at 32 and 1", head_dim=16, original_length=4_096, beta_fast=8.0, beta_slow=2.0,
                positions=[257]),
    rotate_case("small-base", "a base that is ignored", base=100.0, original_length=1_024, positions=[2, 9]),
    rotate_case("inexact-base", "the base rounded to an integer", base=10_000.7, layout="half", positions=[9, 4_097]),
    rotate_case("one-pair", "a division by head_dim - 2", head_dim=2, positions=[0, 1, 257]),
    rotate_case("empty-band", "a division by zero", original_length=6, positions=[1, 9]),
    rotate_case("unsorted", "positions replaced by their index", layout="half", positions=[9, 2, 2, 0]),
    rotate_case("negative-positions", "negative positions clamped or wrapped", positions=[-1, -257]),
    rotate_case("single-token", "the token axis dropped while decoding", layout="half", positions=[256]),
    rotate_case("batched-positions", "the first row's positions used for every row", head_dim=4, sizes={"batch": 2, "head": 1},
                positions=[[0, 1, 2], [7, 255, 9]]),
    rotate_case("batch-equals-heads", "positions broadcast along the heads", head_dim=4, layout="half", sizes={"batch": 2, "head": 2},
                positions=[[0, 9], [5, 1]]),
    rotate_case("batch-equals-tokens", "batch and token axes swapped", head_dim=4, sizes={"batch": 3, "head": 1}, positions=[0, 1, 2]),
    rotate_case("heads-equal-tokens", "the head axis taken for the token axis", head_dim=4, sizes={"head": 3}, positions=[1, 2, 9]),
    rotate_case("common-width", "the ramp of another width", head_dim=128, layout="half", factor=16.0, original_length=4_096,
                sizes={"head": 1}, positions=[131_071]),
    rotate_case("odd-width", "an odd width rounded silently", head_dim=5, sizes={"token": 1}, positions=[0],
                error="head_dim must be even, got 5"),
    rotate_case("shrunk", "a context that shrinks", factor=0.5, positions=[0], error="factor must be at least 1, got 0.5"),
    rotate_case("too-few-positions", "positions that broadcast by accident", sizes={"token": 2}, positions=[3],
                error="axis 'token' is 1 in positions but 2 in x"),
    *narrowed(rotate_case, {"x": (1, 1, 2, 2)}, head_dim=2, positions=[0, 1]),
    rotate_case("untruncated-band", "a band that is rounded in half precision", truncate=False, original_length=4_096, positions=[257]),
    rotate_case("untruncated-wide-band", "one edge of the band moved where both are, or both where one is", truncate=False,
                head_dim=16, original_length=4_096, positions=[257]),
    rotate_case("inexact-given", "a factor that is given kept in a narrower format", attention_factor=1.1, positions=[1]),
    rotate_case("little-stretch", "a factor on the attention only from twofold on", factor=1.5, positions=[1]),
    rotate_case("slow-beta", "beta_slow not passed on", head_dim=16, original_length=4_096, beta_slow=4.0, positions=[257]),
    rotate_case("high-clamped", "the upper edge beyond head_dim - 1", base=10.0, original_length=500, positions=[257]),
    rotate_case("equal-betas", "equal betas refused, or divided by their difference", head_dim=16, original_length=4_096, beta_fast=2.0,
                beta_slow=2.0, positions=[257]),
    rotate_case("equal-betas-untruncated", "betas that enclose nothing", beta_fast=2.0, beta_slow=2.0, truncate=False, positions=[0],
                error="beta_fast must be greater than beta_slow (2), got 2.0"),
    rotate_case("exchanged-betas", "only equal betas refused", beta_fast=2.0, beta_slow=8.0, positions=[0],
                error="beta_fast must be at least beta_slow (8), got 2.0"),
    rotate_case("exchanged-betas-untruncated", "only equal betas refused where edges aren't rounded", beta_fast=2.0, beta_slow=8.0,
                truncate=False, positions=[0], error="beta_fast must be greater than beta_slow (8), got 2.0"),
    rotate_case("no-band", "a band that ends before it begins", base=10.0, original_length=1_000_000, positions=[0],
                error="original_length must put a pair of the head between the betas, got 1000000"),
    rotate_case("negative-given", "a rotation that also mirrors", attention_factor=-1.0, positions=[0],
                error="attention_factor must be greater than 0, got -1.0"),
)

#: What attention is asked too: what this rotation has of its own.
OWN = ("untruncated", "given-factor", "mscale-ratio", "seven-hundredths")
USUAL: dict[str, Any] = {"head_dim": 8, "factor": 4.0, "original_length": 64}

CASES = (
    *FREQUENCY_CASES, *FACTOR_CASES, *SOFTMAX_CASES, *ROTATE_CASES,
    *attention(USUAL, ROTATE_CASES, OWN),
)
