"""Every claim of the founding notes has one answer, every link of the page shows what it says, and its numbers are computed here."""

import doctest
import math
import re
from collections import Counter
from pathlib import Path

import mpmath
import numpy as np
import pytest

from conformance import cli
from conformance.calls.status import Status
from refimpl import analysis
from refimpl.schemes import SCHEMES, longrope, rope, sinusoidal, yarn
from tools.properties import measures

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "founding.md"
TEXT = PAGE.read_text(encoding="utf-8")
ANSWERS = ("shown", "corrected", "not run", "not here", "no claim")
ROW = re.compile(rf"^\| `(\d{{3}}):(\d+)(?:-\d+)?[a-c]?` \| (.+) \| \*\*({'|'.join(ANSWERS)})\*\*(.*) \| (.*) \|$", re.MULTILINE)
IDS = re.findall(r"^\| `(\d{3}:[\w-]+)` \|", TEXT, re.MULTILINE)
LINKS = re.findall(r"\[([^]]+)\]\(([^)#\s]+)(?:#[^)\s]*)?\)", TEXT)
HERE = np.zeros(())
#: Sums of at most 2^9 products of numbers up to 2^5, each rounded to float64 a few times.
ROUNDING = 2.0 ** (9 + 5 + 2 - 53)


def test_every_claim_stands_there_once_and_in_order() -> None:
    rows = ROW.findall(TEXT)

    assert len(IDS) == len(set(IDS)) == len(rows) == 167
    assert [(row[0], int(row[1])) for row in rows] == sorted((row[0], int(row[1])) for row in rows)


def test_every_answer_leads_somewhere() -> None:
    assert [row[:2] for row in ROW.findall(TEXT) if "](" not in row[5]] == []


def test_the_answers_are_counted() -> None:
    counts = Counter(row[3] for row in ROW.findall(TEXT))

    assert f"Of 167 claims: {', '.join(f'{counts[answer]} {answer}' for answer in ANSWERS)}." in " ".join(TEXT.split())


def said_in(address: str, word: str) -> str:
    """Return how a word of a link's text must stand in the file that it leads to."""
    if address.startswith("../tests/"):
        return f"def {word}("
    if address.startswith("../vectors/"):
        return f"id: {Path(address).stem}/{word}\n"
    return word


@pytest.mark.parametrize(("words", "address"), [link for link in LINKS if "`" in link[0]], ids=lambda text: text[:60])
def test_what_a_link_names_is_in_its_file(words: str, address: str) -> None:
    text = (DOCS / address).read_text(encoding="utf-8")

    for word in re.findall(r"`([^`]+)`", words):
        assert f"| {word} |" in text if words.startswith("law") else said_in(address, word) in text


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`posenc (show [^`]+)`", TEXT))))
def test_a_command_of_the_page_runs(command: str) -> None:
    assert cli.main(command.split()) == Status.CONFORMS


def test_the_examples_of_the_page_run() -> None:
    done = doctest.testfile(str(PAGE), module_relative=False)

    assert done.attempted > 0
    assert done.failed == 0


@pytest.mark.parametrize(("base", "apart", "alike"), [(1e2, 5.208, 0), (1e4, 3.714, 24), (1e6, 3.059, 101), (1e8, 2.671, 140)])
def test_a_larger_base_draws_the_first_positions_together_but_not_below_the_first_pair(base: float, apart: float, alike: int) -> None:
    codes = sinusoidal.encode(np.arange(2), dim=512, base=base)
    chord = math.sqrt(sum(4 * math.sin(base ** (-2 * pair / 512) / 2) ** 2 for pair in range(256)))
    narrow = codes.astype(np.float32)

    assert abs(np.linalg.norm(codes[1] - codes[0]) - chord) < ROUNDING
    assert round(chord, 3) == apart > 2 * math.sin(0.5)
    assert int(np.sum(narrow[0] == narrow[1])) == alike


def test_every_pair_of_a_base_of_668_turns_within_4096_positions() -> None:
    turning = [int(np.sum(analysis.circle_coverage(length=4096, dim=512, base=base, like=HERE).turns >= 1)) for base in (668.0, 669.0, 1e4)]

    assert turning == [256, 255, 181]
    assert math.floor((4095 / (2 * math.pi)) ** (512 / 510)) == 668


def test_the_longest_wave_at_width_512_is_60611_tokens() -> None:
    wavelength = analysis.circle_coverage(length=4096, dim=512, like=HERE).wavelength[-1]

    assert abs(wavelength - 2 * math.pi * 10_000 ** (510 / 512)) < 1e-6
    assert "60,611 tokens" in TEXT
    assert math.floor(wavelength) == 60_611


def test_a_code_is_the_fourier_transform_of_a_one_at_its_position() -> None:
    """At geometric frequencies, not at multiples of one: a Fourier series would repeat."""
    length, position, frequencies = 64, 37, [10_000.0 ** (-2 * pair / 32) for pair in range(16)]
    impulse = [float(t == position) for t in range(length)]
    code = sinusoidal.encode(np.array([position]), dim=32)[0]

    for pair, frequency in enumerate(frequencies):
        transformed = sum(height * complex(math.cos(frequency * t), math.sin(frequency * t)) for t, height in enumerate(impulse))
        assert abs(complex(code[2 * pair + 1], code[2 * pair]) - transformed) < ROUNDING
    assert abs(code.sum() - math.sqrt(2) * sum(math.sin(f * position + math.pi / 4) for f in frequencies)) < ROUNDING


def spread(angle: np.ndarray, length: np.ndarray) -> float:
    """Return how much the products of two numbers vary over pairs of positions that are as far apart."""
    turned = [z * length * np.exp(1j * angle) for z in (1.25 + 0.5j, -0.75 + 1j)]
    products = np.real(np.outer(turned[0], turned[1].conj()))
    return max(float(np.ptp(np.diagonal(products, offset))) for offset in range(1 - len(angle), len(angle)))


def test_only_an_angle_that_is_linear_in_the_position_leaves_the_difference() -> None:
    p = np.arange(12.0)

    assert spread(0.3 * p + 2, np.ones(12)) < ROUNDING
    assert min(spread(0.3 * angle, np.ones(12)) for angle in (p * p, np.sqrt(p), np.log1p(p))) > 0.6


def test_a_length_that_changes_with_the_position_does_not_leave_the_difference() -> None:
    p = np.arange(12.0)

    assert spread(0.3 * p, 1 + p / 100) > 0.1


def at(x: np.ndarray, position: int) -> np.ndarray:
    return rope.rotate(x.reshape(1, 1, 1, -1), np.array([position]), head_dim=x.size)[0, 0, 0]


def test_projected_then_turned_is_relative_and_turned_then_projected_is_not() -> None:
    draw = np.random.default_rng(0)
    x, y = draw.integers(-32, 33, (2, 8)) / 16
    to_query, to_key = draw.integers(-32, 33, (2, 8, 8)) / 16
    projected = [at(to_query @ x, m) @ at(to_key @ y, n) for m, n in ((5, 2), (42, 39))]
    turned = [(to_query @ at(x, m)) @ (to_key @ at(y, n)) for m, n in ((5, 2), (42, 39))]

    assert abs(projected[0] - projected[1]) < 64 * ROUNDING
    assert abs(turned[0] - turned[1]) > 1


def test_the_fourth_position_is_the_first_turned_by_three() -> None:
    x = np.arange(1.0, 9.0) / 8

    assert np.abs(at(x, 4) - at(at(x, 1), 3)).max() < ROUNDING
    assert np.abs(at(x, 4) - at(at(x, 1), 4)).max() > 0.1


def test_the_matrix_of_a_rotation_has_two_elements_in_every_row() -> None:
    width, position = 16, 3
    matrix = np.stack([at(unit, position) for unit in np.eye(width)], axis=1)
    pairs = np.arange(width) // 2

    assert np.array_equal(matrix != 0, pairs[:, None] == pairs[None, :])
    for pair, angle in enumerate(position * 10_000.0 ** (-2 * pair / width) for pair in range(width // 2)):
        block = matrix[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2]
        assert np.abs(block - [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]).max() < ROUNDING


def to_bfloat16(x: np.ndarray) -> np.ndarray:
    """Return the bits of numbers rounded to bfloat16, ties to even."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def test_2097152_positions_are_told_apart_in_float32_and_1921_of_them_in_bfloat16() -> None:
    positions = np.arange(2**21)

    assert np.array_equal(positions.astype(np.float32).astype(np.int64), positions)
    # 0 to 256 exactly, then 128 numbers in each of the 13 doublings up to 2^21, which the last positions round to.
    assert len(np.unique(to_bfloat16(positions))) == 257 + 13 * 128 == 1921


@pytest.mark.parametrize("position", [1_048_577, 2_097_151])
def test_longrope_turns_the_last_of_2097152_positions_rightly(position: int) -> None:
    width, x, long = 8, np.array([1.0, 0.0] * 4), np.array([1.0, 8.0, 64.0, 512.0])
    turned = longrope.rotate(
        x.reshape(1, 1, 1, -1), np.array([position]), np.ones(4), long, head_dim=width, original_length=4096, length=2**21, max_length=2**21
    )[0, 0, 0]

    with mpmath.workdps(40):
        factor = mpmath.sqrt(mpmath.mpf(7) / 4)  # 1 + ln(2^9) / ln(2^12)
        angles = [position * mpmath.mpf(10_000) ** (mpmath.mpf(-2 * pair) / width) / long[pair] for pair in range(4)]
        exact = [float(factor * turn(angle)) for angle in angles for turn in (mpmath.cos, mpmath.sin)]
    # An angle of 2^21 radians is off by a unit in its last place, and its frequency by another.
    assert np.abs(turned - exact).max() < 2.0 ** (21 + 2 - 53)


def test_interpolation_is_bounded_589_times_lower_than_extrapolation_as_printed_and_512_times_as_corrected() -> None:
    """Extrapolated scores are bounded by ``2 d max |h|`` at least; between positions, the bound on the error is largest in the middle."""
    least = 2 * 128
    middle = np.array([0.5])

    assert float(np.min(analysis.abel_bound(np.arange(4096), head_dim=128))) / 2 > 1
    assert round(least / float(analysis.printed_interpolation_bound(middle, head_dim=128)[0])) == 589
    assert round(least / float(analysis.interpolation_bound(middle, head_dim=128)[0])) == 512
    assert round(32 * math.log(10_000) * 2) == 589


def test_an_attention_factor_above_one_sharpens_attention() -> None:
    q, k = np.random.default_rng(3).integers(-32, 33, (2, 1, 2, 9, 16)) / 16
    places, shared = np.arange(9), {"head_dim": 16, "factor": 16.0, "original_length": 4096}

    def entropy(**given: float) -> np.ndarray:
        weights = yarn.weights(q, k, places, places, **shared, **given)
        return -(weights * np.log(weights)).sum(axis=-1)

    assert np.all(entropy() < entropy(attention_factor=1.0))


def test_relative_schemes_that_are_no_rotation_act_on_logits() -> None:
    layers = {name: measures.made(scheme.layer) for name, scheme in SCHEMES.items() if scheme.layer is not None}
    acting = Counter(measures.places(layer) for layer in layers.values() if measures.relative(layer) and measures.places(layer))

    assert acting == {("queries", "keys"): 17, ("logits",): 7, ("logits", "values"): 1, ("queries", "keys", "logits"): 1}
    assert "the other seventeen of RoPE's family turn" in TEXT


@pytest.mark.parametrize("scheme", ["t5", "da_transformer"])
def test_operations_per_pair_are_those_that_are_counted(scheme: str) -> None:
    maker = SCHEMES[scheme].layer
    assert maker is not None

    assert f" {measures.cost(maker).per_pair} operations per pair of tokens" in TEXT


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("0.32", "0.32"),
        ("62.1 and 16.7", "62.1, positions 1 and 500 have 16.7"),
        ("22.7 %", "22.7%"),
        ("after distance 11", "from distance 11"),
    ],
)
def test_numbers_quoted_from_the_properties_are_those_of_now(here: str, there: str) -> None:
    assert here in TEXT
    assert there in (DOCS / "properties.md").read_text(encoding="utf-8")


def test_seven_schemes_learn_numbers() -> None:
    learning = [name for name, scheme in SCHEMES.items() if scheme.layer is not None and measures.made(scheme.layer).learned]

    assert sorted(learning) == ["da_transformer", "kerple", "learned", "relative_bias", "shaw", "t5", "transformer_xl"]
