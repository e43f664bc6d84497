"""The page about released models says what was judged, and what wasn't."""

import re
from pathlib import Path
from typing import Any

import pytest

from tools import released

ENTRY: dict[str, Any] = {
    "id": "somebody/small",
    "configuration": {
        "model_type": "llama",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": 512,
        "rope_theta": 500000.0,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    },
}
PAGES = [released.page(target) for target in ("transformers", "mlx_lm")]
READER = str(Path(__file__).parents[1] / "examples" / "numpy_configured.py")


def test_a_configuration_is_judged_for_its_kinds_of_layers(tmp_path: Path) -> None:
    assert released.judged(ENTRY, READER, tmp_path) == ("somebody/small", "every layer: `llama3.rotate`", "conforms")


def test_layers_that_turn_are_told_from_those_that_do_not(tmp_path: Path) -> None:
    entry = {**ENTRY, "configuration": {**ENTRY["configuration"], "model_type": "llama4_text", "head_dim": 16, "no_rope_layers": [1, 0]}}
    told = released.judged(entry, READER, tmp_path)[1]

    assert told == "layers with rotation: `llama3.rotate`; layers without rotation: `none.rotate`"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rope_scaling": {"type": "yarn_log", "factor": 2.0}}, "posenc has no operation for it yet"),
        ({"model_type": "falcon", "alibi": True}, "must have layers that turn"),
    ],
)
def test_what_is_not_judged_says_why(tmp_path: Path, changed: dict[str, object], words: str) -> None:
    entry = {**ENTRY, "configuration": {**ENTRY["configuration"], **changed}}
    told = released.judged(entry, READER, tmp_path)[2]
    assert told.startswith("not judged: ")
    assert words in told
    assert str(tmp_path) not in told


def test_the_page_counts_its_rows() -> None:
    rows = [("a", "", "conforms"), ("b", "", "not judged: x"), ("c", "", "does not conform")]
    text = "\n".join(released.lines(rows, "mine", "python 3"))
    assert "Of 3 configurations `mine` conforms to 1, 1 are not judged, and 1 differs." in text


@pytest.mark.parametrize(("words", "status"), [("conforms", 0), ("does not conform", 1)])
def test_a_share_is_compared_with_the_page_and_writes_nothing(words: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    page = released.page("transformers").read_text(encoding="utf-8")
    asked = dict(re.findall(r"^\| ([^|]+) \| (.*) \| conforms \|$", page, flags=re.MULTILINE))
    entries = [entry for entry in released.RELEASED if entry["id"] in asked]
    monkeypatch.setattr(released, "RELEASED", entries)
    monkeypatch.setattr(released, "judged", lambda entry, *_: (entry["id"], asked[entry["id"]], words))

    assert released.main(["transformers", "--sample", "1/30"]) == status
    assert released.page("transformers").read_text(encoding="utf-8") == page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_published_page_has_a_row_for_every_configuration(page: Path) -> None:
    assert models(page.read_text(encoding="utf-8").partition("\n## ")[0]) == [entry["id"] for entry in released.RELEASED]


def models(table: str) -> list[str]:
    """Return what the rows of a table begin with."""
    return re.findall(r"^\| ([^|]+) \| .* \|$", table, flags=re.MULTILINE)[1:]


def test_a_model_that_was_asked_about_has_an_entry_or_a_reason_and_never_both() -> None:
    asked, named, absent = (released.ASKED[key] for key in ("asked", "named", "not_here"))
    here = {entry["id"] for entry in released.RELEASED}
    told = [model for model in asked if named.get(model, model) in here]

    assert len(asked) == len(set(asked)) == 125
    assert sorted([*told, *absent]) == sorted(asked)
    assert {*named} <= {*told}
    assert all(absent.values())


def test_the_page_says_of_every_absent_model_why() -> None:
    table = PAGES[0].read_text(encoding="utf-8").partition("\n## Not here, and why\n")[2]

    assert models(table) == [*released.ASKED["not_here"]]
    assert all(f"| {model} | {why} |" in table for model, why in released.ASKED["not_here"].items())
