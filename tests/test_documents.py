"""Documents lead where they say, and the glossary has every word once, in order."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("vectors/*.md")])
ROWS = re.findall(r"^\| (.*?) \| (.*?) \|$", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)[1:]


def anchors(page: str) -> set[str]:
    """Return the addresses of a page's headings."""
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.*)$", page, re.MULTILINE))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def leads_nowhere(document: Path, address: str) -> bool:
    """Whether a link of a document names a file or a heading that isn't there."""
    name, _, anchor = address.partition("#")
    path = document.parent / name if name else document
    return not path.exists() or (bool(anchor) and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    prose = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    inside = [address for address in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in address]

    assert [address for address in inside if leads_nowhere(document, address)] == []


def test_the_glossary_has_every_word_once_and_in_order() -> None:
    words = [word for word, _ in ROWS]

    assert len(words) > 40
    assert words == sorted(set(words), key=lambda word: word.split(",")[0].lower())
    assert all(meaning for _, meaning in ROWS)
