"""The page of properties is what is measured, and the measures tell schemes apart that differ."""

from pathlib import Path

import numpy as np
import pytest

from refimpl import attention
from refimpl.arrays import array_namespace
from refimpl.attention import Layer
from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES
from tools.properties import __main__, corrections, measures, page
from tools.properties.counting import Counter

MEASURED = {subject.scheme.name: subject for subject in page.subjects()}
COLUMNS = {column.name: column for _, columns in page.TABLES for column in columns}


def cell(scheme: str, column: str) -> str:
    """Return what is measured of a scheme."""
    if scheme not in MEASURED:
        pytest.skip(f"{scheme} has no layer")
    return COLUMNS[column].cell(MEASURED[scheme])


def test_the_page_is_what_is_measured_now() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text()


def test_checking_a_page_that_is_not_fresh_fails_and_writing_it_repairs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = tmp_path / "properties.md"
    stale.write_text("nothing\n")
    monkeypatch.setattr(__main__, "PAGE", stale)
    monkeypatch.setattr(__main__, "text", lambda: "measured\n")

    assert __main__.main(["--check"]) == 1
    assert __main__.main([]) == 0
    assert __main__.main(["--check"]) == 0
    assert stale.read_text() == "measured\n"


def test_every_scheme_with_a_layer_has_a_row_in_every_table() -> None:
    rows = [line for line in page.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]

    assert len(rows) == len(page.TABLES) * sum(scheme.layer is not None for scheme in SCHEMES.values())


def test_every_column_says_how_it_is_measured() -> None:
    assert all(column.how for _, columns in page.TABLES for column in columns[1:])


@pytest.mark.parametrize(
    ("scheme", "column", "expected"),
    [
        ("rope", "unique per position", "yes"),
        ("sinusoidal", "unique per position", "yes"),
        ("none", "unique per position", "no: 1 of 256"),
        # 31 of T5's 32 buckets are reached both ways; 2 * 16 + 1 clipped offsets; distances up to 128 either way look alike.
        ("t5", "unique per position", "no: 31 of 256"),
        ("shaw", "unique per position", "no: 33 of 256"),
        ("relative_bias", "unique per position", "no: 17 of 256"),
        ("da_transformer", "unique per position", "no: 129 of 256"),
        ("rope", "linear relation", "yes"),
        ("sinusoidal", "linear relation", "yes"),
        ("transformer_xl", "linear relation", "yes"),
        ("binary", "linear relation", "no"),
        ("learned", "linear relation", "no"),
        ("none", "linear relation", "no codes"),
        ("learned", "every position", "no: up to 511"),
        ("binary", "every position", "no: up to 65535"),
        ("alibi", "every position", "yes"),
        ("rope", "deterministic", "yes"),
        ("sinusoidal", "deterministic", "yes"),
        ("learned", "deterministic", "no: learned"),
        ("transformer_xl", "deterministic", "no: learned"),
        ("rope", "more dimensions", "yes"),
        ("none", "more dimensions", "no: 1 of 64 cells"),
        ("alibi", "acts on", "logits, in every layer"),
        ("rope", "acts on", "queries and keys, in every layer"),
        ("sinusoidal", "acts on", "input, once"),
        ("shaw", "acts on", "logits and values, in every layer"),
        ("rope", "touches values", "no"),
        ("alibi", "touches values", "no"),
        ("shaw", "touches values", "yes"),
        ("sinusoidal", "touches values", "yes"),
        ("rope", "relative only", "yes"),
        ("sinusoidal", "relative only", "no"),
        ("learned", "relative only", "no"),
        ("t5", "keeps a KV cache valid", "yes"),
        ("rope", "keeps a KV cache valid", "yes"),
        ("longrope", "keeps a KV cache valid", "only while `length` stays"),
        ("rope", "learned numbers", "0"),
        ("t5", "learned numbers", "256"),
        ("none", "operations per token", "0"),
        ("none", "operations per pair", "0"),
        ("rope", "operations per pair", "0"),
        ("alibi", "operations per token", "0"),
    ],
)
def test_what_is_measured_is_what_the_papers_say(scheme: str, column: str, expected: str) -> None:
    assert cell(scheme, column) == expected


def test_rope_has_every_ideal_property_and_learned_tables_do_not() -> None:
    (line,) = [line for line in page.text().splitlines() if "These schemes have all five, " in line]

    assert "`rope`" in line
    assert "`learned`" not in line


def test_rope_costs_the_products_and_sums_of_queries_and_keys_and_their_tables() -> None:
    heads, width = measures.MODEL_HEADS, measures.MODEL_WIDTH
    angle_cosine_sine = 3 * width // 2
    products_and_sums = 6 * heads * width // 2

    assert cell("rope", "operations per token") == f"{2 * (angle_cosine_sine + products_and_sums):,}"


def test_a_layer_that_forgets_the_cache_is_told() -> None:
    """Keys that turn by the number of keys present, as where a table is made for the length of the call, don't fit a cache."""

    def by_length(k: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return k * (1 + positions.shape[-1])

    assert measures.cached(Layer(turn_key=by_length)) > measures.SAME


def test_a_layer_that_draws_numbers_is_told() -> None:
    random = np.random.default_rng()

    def maker(**_: object) -> Layer:
        noise = random.standard_normal()
        return Layer(embed=lambda x, _: x + noise)

    assert COLUMNS["deterministic"].cell(page.Subject(SCHEMES["none"], maker)) == "no: drawn"


def test_a_cost_that_grows_faster_than_pairs_is_refused() -> None:
    def maker(**_: object) -> Layer:
        return Layer(embed=lambda x, p: x + 0 * sum(_cubed(p) for _ in range(p.shape[0])))

    with pytest.raises(ValueError, match="the cost must grow with tokens and pairs of tokens only"):
        measures.cost(maker)


def _cubed(positions: np.ndarray) -> float:
    return float(array_namespace(positions).sum(positions[:, None] * positions[None, :]))


def test_products_sums_and_functions_are_counted_and_moves_are_not() -> None:
    counter = Counter()
    x = counter.array(np.arange(6.0).reshape(2, 3))
    xp = array_namespace(x)
    counts = []
    for act in (
        lambda: x * 2.0 + x,
        lambda: xp.sin(x),
        lambda: xp.sum(x, axis=-1),
        lambda: xp.matmul(x, xp.matrix_transpose(x)),
        lambda: xp.concat([x, xp.reshape(x, (2, 3))], axis=0)[:, 1],
    ):
        before = counter.operations
        act()
        counts.append(counter.operations - before)

    assert counts == [12, 6, 6, 2 * 3 * 4, 0]


def test_counting_does_not_change_what_is_computed() -> None:
    counter = Counter()
    layer = SCHEMES["rope"].layer
    assert layer is not None
    x, positions = np.random.default_rng(0).standard_normal((1, 2, 3, 4)), np.array([0, 5, 9])

    counted = attention.attend(layer(num_heads=2, head_dim=4, like=x), *[counter.array(x)] * 3, *[counter.array(positions)] * 2)

    assert np.array_equal(counted.values, attention.attend(layer(num_heads=2, head_dim=4, like=x), x, x, x, positions, positions))
    assert counter.operations > 0


FACTS = {
    "T5 and the key-value cache": "less than 1e-12",
    "ALiBi's slopes": "holds for 8 heads only",
    "RoPE and decay": "from distance 11 to the next. RoFormer's bound first rises from distance 18, and rises on 2020 of 4096 steps",
    "Where frequencies begin": "is 1 radian",
    "Shaw's clip of values": "distance 15",
}


@pytest.mark.parametrize(("title", "fact"), FACTS.items())
def test_the_corrections_find_what_is_known(title: str, fact: str) -> None:
    found = {correction.title: correction.found for correction in corrections.corrections()}

    assert fact in found[title]


def test_differences_read_the_same_on_every_machine() -> None:
    assert corrections.small(4.4e-16) == corrections.small(0.0) == "less than 1e-12"
    assert corrections.small(0.25) == "0.25"


def test_an_error_that_is_no_end_of_positions_is_not_taken_for_one() -> None:
    def broken(x: np.ndarray, _: np.ndarray) -> np.ndarray:
        message = "another mistake"
        raise ZeroDivisionError(message)

    with pytest.raises(ZeroDivisionError):
        measures.last(Layer(embed=broken))

    def ending(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        if positions.max() > 99:
            message = "positions must lie below 100"
            raise SpecificationError(message)
        return x

    assert measures.last(Layer(embed=ending)) == 99
