"""The pages of the schemes: complete, fresh, and Markdown that means what the declarations say."""

import dataclasses
import re
from pathlib import Path

import pytest

from conformance.mutants.catalogue import MUTANTS
from conformance.pictures import TOGETHER
from refimpl.schemes import SCHEMES
from refimpl.spec import Scheme
from tools.pages import __main__ as program
from tools.pages import pictures
from tools.pages.gaps import gaps
from tools.pages.index import index
from tools.pages.markdown import escaped, table
from tools.pages.page import page
from tools.pages.thread import thread

FOLDER = program.FOLDER
DOCS = FOLDER.parent
CODE = re.compile(r"`[^`]*`")
ADDRESS = re.compile(r"\]\(([^)]+)\)")
LARGEST_PICTURE = 150_000


def text(name: str) -> str:
    """The published page of a scheme."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCHEMES)
def test_every_argument_has_a_meaning_and_every_choice_a_convention(name: str) -> None:
    assert list(gaps(SCHEMES[name])) == []


@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_says_in_words_what_it_does_and_how_it_acts_in_attention(name: str) -> None:
    assert SCHEMES[name].summary
    assert SCHEMES[name].layer is not None


@pytest.mark.parametrize("name", SCHEMES)
def test_every_page_is_what_the_declarations_give_now(name: str) -> None:
    address = pictures.file(Path(pictures.FOLDER), name).as_posix()
    assert text(name) == page(SCHEMES[name], address), "make pages"


def test_the_list_of_schemes_is_what_the_declarations_give_now() -> None:
    assert text("README") == index(SCHEMES), "make pages"


def test_no_page_belongs_to_a_scheme_that_is_gone() -> None:
    assert list(program.strays(FOLDER)) == []


@pytest.mark.parametrize("name", [*SCHEMES, *TOGETHER])
def test_every_picture_shows_the_numbers_of_now(name: str) -> None:
    assert pictures.published(FOLDER / pictures.FOLDER).get(name) == pictures.drawn([name])[name], "make pages"
    assert pictures.file(FOLDER / pictures.FOLDER, name).stat().st_size < LARGEST_PICTURE


@pytest.mark.parametrize("name", ["README", *SCHEMES])
def test_every_row_of_a_table_has_the_cells_of_its_head(name: str) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", text(name), re.MULTILINE)
    cells = [[len(re.findall(r"(?<!\\)\|", row)) for row in rows.splitlines()] for rows in tables]
    assert cells
    assert all(len(set(counts)) == 1 for counts in cells)


@pytest.mark.parametrize("name", ["README", *SCHEMES])
def test_nothing_outside_code_is_taken_for_a_tag(name: str) -> None:
    prose = CODE.sub("", text(name).split("-->", 1)[1])
    assert re.findall(r"(?<!\\)<", prose) == []


@pytest.mark.parametrize("name", ["README", *SCHEMES])
def test_every_link_into_the_repository_leads_somewhere(name: str) -> None:
    inside = [address.partition("#")[0] for address in ADDRESS.findall(text(name)) if not address.startswith("https://")]
    assert [address for address in inside if not (FOLDER / address).exists()] == []


@pytest.mark.parametrize("name", SCHEMES)
def test_every_case_and_every_mistake_is_on_the_page(name: str) -> None:
    words = text(name)
    cases = {case.name.partition("/")[2] for case in SCHEMES[name].cases}
    mistakes = {m.name.partition("/")[2] for m in MUTANTS.values() if m.operation.startswith(f"{name}.") and m.kind != "convention"}
    assert {slug for slug in cases | mistakes if f"`{slug}`" not in words} == set()


def test_a_mistake_that_befalls_several_operations_stands_there_once() -> None:
    befallen = [m for m in MUTANTS.values() if m.name.startswith("rope.") and m.name.endswith("/positions-ignored")]
    rows = [line for line in text("rope").splitlines() if line.startswith("| `positions-ignored` |")]
    assert len(befallen) > len(rows) == 1
    assert all(f"`{mutant.operation.partition('.')[2]}`" in rows[0] for mutant in befallen)


def lacking(**changed: object) -> Scheme:
    """ALiBi with a part of its declaration replaced."""
    return dataclasses.replace(SCHEMES["alibi"], **changed)  # type: ignore[arg-type]  # fields are named by the tests


def test_a_missing_meaning_is_named() -> None:
    meanings = {name: said for name, said in SCHEMES["alibi"].meanings.items() if name != "max_bias"}
    assert list(gaps(lacking(meanings=meanings))) == ["alibi: max_bias must have a meaning, got none"]


def test_a_missing_convention_is_named() -> None:
    conventions = {choice: said for choice, said in SCHEMES["alibi"].conventions.items() if choice != "form=row"}
    assert list(gaps(lacking(conventions=conventions))) == ["alibi: form=row must have a convention, got none"]


def test_a_meaning_without_an_argument_is_named() -> None:
    meanings = {**SCHEMES["alibi"].meanings, "slope": "nothing of that name"}
    assert list(gaps(lacking(meanings=meanings))) == ["alibi: slope must be an argument or a result, got a meaning without it"]


def test_pages_are_not_written_while_a_declaration_has_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SCHEMES, "alibi", lacking(conventions={}))
    assert program.main(["alibi", "--directory", str(tmp_path)]) == 1
    assert "alibi: form=row must have a convention" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_changed_page_a_missing_picture_and_a_stray_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.main(["alibi", "--directory", str(tmp_path)])
    assert program.main(["--check", "alibi", "--directory", str(tmp_path)]) == 0
    (tmp_path / "alibi.md").write_text("changed", encoding="utf-8")
    (tmp_path / "gone.md").touch()
    pictures.file(tmp_path / pictures.FOLDER, "alibi").unlink()
    capsys.readouterr()

    assert program.main(["--check", "alibi", "--directory", str(tmp_path)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "docs/schemes/alibi.md must be written again (make pages)",
        "the picture of alibi must be drawn again (make pages)",
        "docs/schemes/gone.md must belong to a scheme",
    ]


def test_a_scheme_that_is_unknown_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["alibo"])
    assert "got alibo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("plain", "markdown"),
    [
        ("<R_m q, R_n k>", r"\<R_m q, R_n k\>"),
        ("a * b | c", r"a \* b \| c"),
        ("s[0::2]", r"s\[0::2\]"),
        ("max_bias and _private", r"max_bias and \_private"),
        ("``a * b`` times *", r"`a * b` times \*"),
        ("(https://example.org/_a_) and _a", r"(https://example.org/_a_) and \_a"),
    ],
)
def test_only_code_keeps_what_markdown_would_read(plain: str, markdown: str) -> None:
    assert escaped(plain) == markdown


def test_a_bar_inside_code_does_not_end_a_cell() -> None:
    assert table(("what",), [(escaped("`|x|` is 1 | 2"),)]).splitlines()[-1] == r"| `\|x\|` is 1 \| 2 |"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://github.com/owner/name/issues/12", "owner/name#12"),
        ("https://github.com/owner/name/pull/3#discussion_r1", "owner/name#3"),
        ("https://github.com/owner/name/commit/0123456789", "owner/name@0123456"),
        ("https://example.org/a/b", "example.org"),
    ],
)
def test_a_thread_is_shown_by_its_repository_and_number(address: str, shown: str) -> None:
    assert thread(address) == f"[{shown}]({address})"


def test_the_list_of_documents_names_every_document() -> None:
    listed = set(ADDRESS.findall((DOCS / "README.md").read_text(encoding="utf-8")))
    documents = {path.name for path in DOCS.glob("*.md")} - {"README.md"} | {"schemes/README.md"}
    assert documents <= listed
    assert all((DOCS / address).exists() for address in listed)
