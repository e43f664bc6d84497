"""What goes wrong with the frequencies of rope, and with tables that are given, in some widths, bases and shapes only."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, altered
from conformance.mutants.rotary import Rotary, spectrum
from conformance.mutants.rounding import rounded, to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import rope

Spectrum = Callable[[int, float], Array]
FREQUENCIES, APPLY = "rope.frequencies", "rope.apply"
WARP = 32


def of_width(head_dim: int, width: int, base: float) -> Array:
    """Return as many frequencies as the head has pairs, of a head of another width."""
    return base ** (-2.0 * np.arange(head_dim // 2) / width)


def padded(head_dim: int, base: float) -> Array:
    """Divide the exponent by the next power of two."""
    return of_width(head_dim, 1 << (head_dim - 1).bit_length(), base)


def whole_base(head_dim: int, base: float) -> Array:
    """Cut the base to an integer."""
    with np.errstate(divide="ignore"):
        return of_width(head_dim, head_dim, np.trunc(base))


def whole_exponent(head_dim: int, base: float) -> Array:
    """Divide integers in the exponent."""
    return base ** -(np.arange(0, head_dim, 2) // head_dim).astype(np.float64)


def hard_wired(width: int) -> tuple[Mistake, Spectrum]:
    """Return the mistake of one width in every exponent."""
    mistake = Mistake(
        f"width-always-{width}",
        does=f"divides the exponent by {width} whatever the head's width is",
        should="divide by head_dim",
        fix="use the head's own width",
        threads=("https://github.com/huggingface/transformers/pull/32495",),
        origin=f"in the style of: a width other than the head's, here the usual {width}",
    )
    return mistake, lambda head_dim, base: of_width(head_dim, width, base)


def first_pairs(count: int, why: str) -> tuple[Mistake, Spectrum]:
    """Return the mistake of frequencies for the first pairs only."""
    mistake = Mistake(
        f"pairs-from-{count}-empty",
        does=f"leaves the frequencies of pairs {count} and up at 0",
        should="fill all head_dim / 2 pairs",
        fix="loop over all pairs, whatever their number",
        origin=f"in the style of {why}",
    )
    return mistake, lambda head_dim, base: np.where(np.arange(head_dim // 2) < count, spectrum(head_dim, base), 0.0)


FREQUENCY_MISTAKES: tuple[tuple[Mistake, Spectrum], ...] = (
    Mistake(
        "width-padded",
        does="divides the exponent by the head's width rounded up to a power of two",
        should="divide by head_dim",
        fix="pad the block, not the width in the exponent",
        origin="in the style of kernels whose block is the next power of two of head_dim",
    ).made_by(padded),
    hard_wired(64),
    hard_wired(128),
    first_pairs(WARP, "kernels that give each lane of a warp one pair"),
    first_pairs(2 * WARP, "kernels with room for heads of 128 only"),
    Mistake(
        "exponent-in-integers",
        does="divides integers in the exponent, so that every frequency is 1",
        should="divide real numbers: base^(-2 j / head_dim)",
        fix="convert 2 j to a real number before dividing",
        origin="in the style of C and of Python 2, where / of integers cuts",
    ).made_by(whole_exponent),
    Mistake(
        "base-cut-to-integer",
        does="cuts the base to an integer",
        should="use the base that is given",
        fix="keep base (rope_theta) a real number",
        origin="in the style of configurations that declare rope_theta as an integer",
    ).made_by(whole_base),
)


def half_wavelengths(dtype: str) -> Spectrum:
    """Return the frequencies whose reciprocals are rounded to a half format."""
    half = to(dtype)
    return lambda head_dim, base: 1.0 / half(1.0 / spectrum(head_dim, base))


def half_spectra() -> Iterator[tuple[Mistake, Spectrum]]:
    """Return what goes wrong where a half format holds the base or the wavelengths."""
    yield Mistake(
        "float16-base",
        does="rounds the base to float16, which ends at 65504",
        should="keep the base in float32 or wider",
        fix="don't convert the base to the model's dtype",
        threads=("https://github.com/EleutherAI/gpt-neox/issues/1003",),
        kind="precision",
        origin="in the style of code that computes everything in the model's dtype",
    ).made_by(lambda head_dim, base: of_width(head_dim, head_dim, float(rounded(np.asarray(base), "float16"))))
    for dtype in ("bfloat16", "float16"):
        mistake = Mistake(
            f"{dtype}-wavelengths",
            does=f"rounds the wavelengths base^(2 j / head_dim) to {dtype} before inverting them",
            should="keep wavelengths and frequencies in float32 or wider",
            fix="compute frequencies in float32, outside autocast",
            threads=("https://github.com/Modalities/modalities/pull/462",),
            kind="precision",
            origin="in the style of the thread: the reciprocal in place of the frequency",
        )
        yield mistake, half_wavelengths(dtype)


def axis_by_length(x: Array, cos: Array, sin: Array, **parameters: Any) -> Array:
    """Take the first axis after the batch that is as long as the tables for the tokens."""
    axis = 1 if x.shape[1] == cos.shape[-2] else 2
    return np.swapaxes(rope.apply(np.swapaxes(x, axis, 2), cos, sin, **parameters), axis, 2)


def first_head(x: Array, cos: Array, sin: Array, **parameters: Any) -> Array:
    """Turn the first head only."""
    return np.concatenate([rope.apply(x[:, :1], cos, sin, **parameters), x[:, 1:]], axis=1)


def first_lanes(arrays: dict[str, Array], _: dict[str, Any]) -> dict[str, Array]:
    """Leave pairs beyond a warp's lanes unturned."""
    near = np.arange(arrays["cos"].shape[-1]) < WARP
    return {"x": arrays["x"], "cos": np.where(near, arrays["cos"], 1.0), "sin": np.where(near, arrays["sin"], 0.0)}


APPLY_MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    Mistake(
        "axis-guessed-by-length",
        does="takes the head axis for the token axis where it is as long as the tables",
        should="turn by the token's position",
        fix="broadcast the tables by the axis's place, never by its length",
        threads=("https://github.com/fla-org/flash-linear-attention/issues/126", "https://github.com/deepspeedai/DeepSpeed/pull/2782"),
        origin="in the style of the threads, where heads and tokens are equally many",
    ).made_by(axis_by_length),
    Mistake(
        "first-head-only",
        does="turns the first head only",
        should="turn every head",
        fix="loop over all heads, or broadcast the tables over them",
        threads=("https://github.com/vllm-project/vllm/issues/51049",),
        origin="in the style of: the thread's heads beyond the first are wrong in another way",
    ).made_by(first_head),
    Mistake(
        f"pairs-from-{WARP}-unturned",
        does=f"doesn't turn pairs {WARP} and up",
        should="turn all head_dim / 2 pairs",
        fix="loop over all pairs, whatever their number",
        origin="in the style of kernels that give each lane of a warp one pair",
    ).made_by(altered(APPLY, arrays=first_lanes)),
)


def mutants() -> Iterator[Mutant]:
    """Return the mutants of frequencies and given tables that some cases see and others don't."""
    for mistake, made in (*FREQUENCY_MISTAKES, *half_spectra()):
        yield mistake.at(FREQUENCIES, Rotary(spectrum=made).frequencies)
    for mistake, function in APPLY_MISTAKES:
        yield mistake.at(APPLY, function)
