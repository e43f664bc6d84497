"""The pages of known mistakes: written anew they are what is there, nothing is left out, and every link leads somewhere."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from conformance.checks.evidence.known import answer
from conformance.mutants.catalogue import KNOWN
from conformance.mutants.catalogue import load as reports
from conformance.mutants.told import NAMES, place
from conformance.spec.mutant import Mutant, slug
from conformance.spec.vectors import Vector, load
from refimpl.schemes import SCHEMES
from tools.mistakes import __main__ as program
from tools.mistakes.__main__ import DOCS, main, pages, stale
from tools.mistakes.known import REPORTED, Mistake, mistakes
from tools.mistakes.page import described
from tools.mistakes.topics import matches, sorted_by_topic, symptoms, topics

EVERY = [mistake for scheme in SCHEMES for mistake in mistakes(scheme)]
LINK = re.compile(r"\]\(([^)#\s]*)#?([^)\s]*)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def texts() -> Mapping[str, str]:
    return pages()


def anchors(text: str) -> list[str]:
    """Return where GitHub puts a page's headings: lower case, without punctuation, hyphens for spaces."""
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)]


def test_the_pages_are_up_to_date(texts: Mapping[str, str]) -> None:
    assert list(stale(DOCS, texts)) == []


def test_every_mutant_and_habit_is_told_on_its_scheme_s_page() -> None:
    told = {name for mistake in EVERY for name in mistake.names}

    assert told == {f"{known.operation.partition('.')[0]}/{slug(known.name)}" for known in KNOWN.values()}


def test_a_mistake_that_operations_mend_differently_has_every_remedy() -> None:
    (ignored,) = (mistake for mistake in EVERY if mistake.address == "temperature.md#length-ignored")
    told = described(SCHEMES["temperature"], ignored)

    assert "It should use floor_scale; or use original_length." in told
    assert "**Fix**: pass floor_scale through; or pass the length of the configuration (seq_length)." in told


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_mistake_has_one_topic_and_one_heading(scheme: str, texts: Mapping[str, str]) -> None:
    known = mistakes(scheme)
    sorted_ = [mistake.title for held in sorted_by_topic(known, topics()).values() for mistake in held]
    found = anchors(texts[f"mistakes/{scheme}.md"])

    assert sorted(sorted_) == sorted(mistake.title for mistake in known)
    assert len(found) == len(set(found))


def test_names_in_headings_are_written_as_their_owners_write_them() -> None:
    titles = {mistake.title for mistake in EVERY}

    assert titles >= {"NTK-aware", "YaRN factor", "DeBERTa truncated", "ReLU missing", "Shift of Llama 4"}
    assert not [title for title in titles for name in NAMES.values() if name.lower() in title.lower().split() and name not in title]


@pytest.mark.parametrize("pattern", [pattern for seen in symptoms() for pattern in seen.patterns])
def test_every_symptom_s_pattern_names_a_mistake(pattern: str) -> None:
    assert any(matches(mistake, [pattern]) for mistake in EVERY)


def test_where_a_mistake_comes_from_can_be_looked_up() -> None:
    """Threads that are spoken of are linked, and so is the mistake of the scheme that it was reported for."""
    told = [mistake for mistake in EVERY if not mistake.threads]

    assert [mistake.address for mistake in told if any("thread" in origin for origin in mistake.origins)] == []
    assert [mistake.address for mistake in told if mistake.elsewhere is None and any(map(REPORTED.match, mistake.origins))] == []


def held_by(sees: str) -> list[Mistake]:
    (seen,) = (symptom for symptom in symptoms() if symptom.sees.startswith(sees))
    return [mistake for mistake in EVERY if matches(mistake, seen.patterns)]


def values(known: Mutant, vector: Vector) -> Mapping[str, np.ndarray]:
    with np.errstate(all="ignore"):
        return answer(known.operation, known.function, vector.inputs, vector.parameters) or {}


def answers(mistake: Mistake, ending: str | tuple[str, ...] = "") -> Iterator[tuple[Vector, Mapping[str, np.ndarray]]]:
    """Yield what a mistake answers to the stored cases of its operations."""
    for known in mistake.shown:
        if isinstance(known, Mutant) and known.operation.endswith(ending):
            yield from ((vector, values(known, vector)) for vector in load({known.operation}) if vector.error is None)


@pytest.mark.parametrize("mistake", held_by("inf or nan"), ids=lambda mistake: mistake.address)
def test_what_may_be_inf_or_nan_is_so_in_some_stored_case(mistake: Mistake) -> None:
    assert any(
        np.any(~np.isfinite(result) & np.isfinite(vector.expected[name]))
        for vector, results in answers(mistake)
        for name, result in results.items()
        if vector.expected is not None and result.shape == vector.expected[name].shape
    )


def turning(mistakes: list[Mistake]) -> list[Mistake]:
    """Return those that a rotation shows by itself: attention alone returns no turned queries or keys."""
    return [mistake for mistake in mistakes if any(getattr(known, "operation", "").endswith(".rotate") for known in mistake.shown)]


@pytest.mark.parametrize("mistake", turning(held_by("The norm of")), ids=lambda mistake: mistake.address)
def test_what_may_change_the_norm_changes_it_in_some_stored_case(mistake: Mistake) -> None:
    norms = (
        (np.linalg.norm(results["result"], axis=-1), np.linalg.norm(vector.expected["result"], axis=-1))
        for vector, results in answers(mistake, (".rotate", ".rotate_query"))
        if vector.expected is not None and results
    )

    assert any(np.any(np.abs(got - right) > 0.01 * right) for got, right in norms)


def test_a_rotation_with_its_tables_swapped_keeps_the_norm() -> None:
    (swapped,) = (mistake for mistake in EVERY if mistake.address == "rope.md#sine-and-cosine-swapped")

    for vector, results in answers(swapped, ".rotate"):
        np.testing.assert_allclose(np.linalg.norm(results["result"]), np.linalg.norm(vector.inputs["x"]), rtol=1e-12)


def test_every_link_between_the_documents_leads_to_a_heading(texts: Mapping[str, str]) -> None:
    for page, text in texts.items():
        for file, heading in LINK.findall(text):
            if file.startswith("https://"):
                continue
            target = (DOCS / page).parent.joinpath(file).resolve() if file else DOCS / page
            assert target.is_file(), (page, file)
            assert not heading or heading in anchors(texts[target.relative_to(DOCS.resolve()).as_posix()]), (page, file, heading)


def test_the_place_of_every_mistake_is_a_heading_of_a_page(texts: Mapping[str, str]) -> None:
    headings = {f"docs/{page}#{heading}" for page, text in texts.items() for heading in anchors(text)}

    assert {place(name) for name in KNOWN} <= headings
    assert place("rope.rotate/of-another-name") == ""


def test_every_report_is_listed(texts: Mapping[str, str]) -> None:
    assert all(f"({entry.url})" in texts["mistakes/reports.md"] for entry in reports())


def test_a_page_that_was_edited_is_named(
    texts: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "pages", lambda: texts)

    assert main(["--directory", str(tmp_path)]) == 0
    (tmp_path / "mistakes" / "rope.md").write_text("edited\n", encoding="utf-8")
    (tmp_path / "mistakes" / "stray.md").touch()
    capsys.readouterr()

    assert main(["--check", "--directory", str(tmp_path)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "docs/mistakes/rope.md must be written again (make mistakes)",
        "docs/mistakes/stray.md must belong to a scheme",
    ]
