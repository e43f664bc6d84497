"""What the pages of schemes say in measured numbers, computed again."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from refimpl import analysis
from refimpl.schemes import (
    alibi,
    ntk_by_parts,
    proportional_rope,
    resonance_rope,
    rope,
    sinusoidal,
    t5,
    temperature,
    xpos,
    yarn,
)
from refimpl.schemes.longrope import attention_factor

PAGES = Path(__file__).parents[1] / "docs" / "schemes"
HERE = np.zeros(())
#: A bound of RoFormer is read at these distances.
READ = np.asarray([0, 1, 10, 50, 100, 250])
GPT_OSS = {"head_dim": 64, "base": 150_000.0, "factor": 32.0, "original_length": 4_096}
LONGER = {"head_dim": 128, "factor": 16.0, "original_length": 4_096}


def listed(numbers: np.ndarray, digits: int) -> str:
    *first, last = (f"{number:.{digits}f}" for number in numbers)
    return f"{', '.join(first)} and {last}"


def product() -> str:
    scores = 128 * analysis.alignment(analysis.whole_distances(4_096, like=HERE), head_dim=128)
    lowest = analysis.first_rise(scores)
    assert lowest is not None
    return (
        f"falls from {scores[0]:.0f} at distance 0 to {scores[lowest]:.1f} at distance {lowest} and is "
        f"{scores[lowest + 1]:.1f} at distance {lowest + 1}"
    )


def bound() -> str:
    found = analysis.abel_bound(analysis.whole_distances(4_097, like=HERE), head_dim=128)
    rise = f"it first rises after distance {analysis.first_rise(found)}, and on {analysis.count_rises(found)} of the first 4096 steps"
    return f"reads {listed(found[READ], 1)} at distances 0, 1, 10, 50, 100 and 250; {rise}"


def slopes(rule: str) -> list[np.ndarray]:
    return [alibi.slopes(num_heads=heads, slopes=rule, like=HERE) for heads in (6, 12, 40)]


def steeper() -> str:
    pairs = list(zip(slopes("code"), slopes("paper"), strict=True))
    heads = [int(np.argmax(code / paper)) for code, paper in pairs]
    code, paper = (np.asarray([pair[side][head] for pair, head in zip(pairs, heads, strict=True)]) for side in (0, 1))
    return (
        f"one whose slope is {listed(code / paper, 0)} times as steep by the code as by the paper. Its bias 1,024 positions back is "
        f"{listed(-1024 * code, 0)} by the code, and {listed(-1024 * paper, 1)} by the paper"
    )


def of_six() -> str:
    return "6 heads have " + ", ".join(f"1/{round(1 / slope)}" for slope in slopes("code")[0])


def longest_wave() -> str:
    frequencies = sinusoidal.frequencies(128, 10_000.0, "paper", like=HERE)
    return f"{1 / frequencies[-1]:.0f} x 2 pi at width 128"


def near_circles() -> str:
    return f"for positions 710 apart, which differ by {math.remainder(710, 2 * math.pi):.0e} radians".replace("e-0", "e-")


def one_factor() -> str:
    return f"{attention_factor(original_length=4_096, max_length=131_072):.10f} from 4096 to 131072 positions"


def farthest(one: np.ndarray, other: np.ndarray) -> str:
    apart = np.maximum(one / other, other / one) - 1
    return f"up to {100 * apart.max():.0f} % (pair {apart.argmax()})"


def ramps() -> str:
    return farthest(ntk_by_parts.frequencies(**LONGER, like=HERE), yarn.frequencies(**LONGER, like=HERE))


def rounded_edges() -> str:
    return farthest(*(yarn.frequencies(**GPT_OSS, truncate=truncate, like=HERE) for truncate in (False, True)))


def strayed() -> str:
    between = np.linspace(0, 1, 1_025)[1:-1]
    error, printed = (of(between, head_dim=128) for of in (analysis.interpolation_error, analysis.printed_interpolation_bound))
    return f"by up to {(error / printed).max():.3f} times as much"


def fastest() -> str:
    frequencies = resonance_rope.frequencies(head_dim=128, like=HERE)
    return f"the wavelength {2 * math.pi / frequencies[0]:.0f} in the place of 2 pi, and so turns by {frequencies[0]:.3f} radians"


def of_the_part() -> str:
    turned = rope.frequencies(head_dim=4, like=HERE)
    return "has the frequencies " + " and ".join(f"{frequency:g}" for frequency in turned)


def of_the_head() -> str:
    turned = proportional_rope.frequencies(head_dim=16, turned_pairs=2, like=HERE)[:2]
    return "has the frequencies " + " and ".join(f"{frequency:.3g}" for frequency in turned)


def overflows() -> str:
    growth = float(xpos.key_factor(np.asarray(1), head_dim=64, scale_base=1.0)[0])
    half, single, double = (math.log(largest, growth) for largest in (65_504, float(np.finfo(np.float32).max), np.finfo(np.float64).max))
    return (
        f"grows by {growth:.1f} in every scale_base positions from the centre: float16 ends after {half:.2f} times scale_base, float32 and "
        f"bfloat16 after {single:.1f}, float64 after {double:.1f}; with 512 these are the positions "
        f"{math.ceil(512 * half)}, {math.ceil(512 * single):,} and {math.ceil(512 * double):,}"
    )


def leaves_float32() -> str:
    with np.errstate(over="ignore"):
        kept = np.isfinite(xpos.key_factor(np.arange(200), head_dim=64, scale_base=1.0)[:, 0].astype(np.float32))
    return f"leaves float32 at position {kept.argmin()}"


def used_rows() -> str:
    return f"so {np.unique(t5.bucket(np.arange(-2_000, 2_000), bidirectional=True)).size} of 32 rows are used"


def first_steps() -> str:
    places = np.arange(20_000)
    llama, ministral = (temperature.scale(places, floor_scale=8_192, attn_scale=0.1, shift=shift) for shift in (1, 0))
    return f"with a floor_scale of 8192, at {(llama > 1).argmax()} and at {(ministral > 1).argmax()}"


MEASURED = [
    ("rope", product),
    ("rope", bound),
    ("alibi", steeper),
    ("alibi", of_six),
    ("sinusoidal", longest_wave),
    ("sinusoidal", near_circles),
    ("longrope", one_factor),
    ("yarn", ramps),
    ("yarn", rounded_edges),
    ("ntk_by_parts", ramps),
    ("position_interpolation", strayed),
    ("resonance_rope", fastest),
    ("resonance_yarn", fastest),
    ("partial_rope", of_the_part),
    ("proportional_rope", of_the_head),
    ("xpos", overflows),
    ("xpos", leaves_float32),
    ("t5", used_rows),
    ("temperature", first_steps),
]


@pytest.mark.parametrize(("page", "measured"), MEASURED, ids=lambda part: getattr(part, "__name__", part))
def test_a_measured_number_on_a_page_is_what_the_reference_gives(page: str, measured: Callable[[], str]) -> None:
    assert measured() in (PAGES / f"{page}.md").read_text(encoding="utf-8")
