"""The lock of convictions: what is lost is named and refused, what is acknowledged is written, and what was edited is caught."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from conformance.mutants.catalogue import MUTANTS
from tools.convictions import __main__ as program
from tools.convictions import lock

Found = Mapping[str, tuple[str, ...]]
Run = Callable[..., str]
FOUND: Found = {
    "rope.rotate/not-turned": ("rope.rotate/near", "rope.rotate/far"),
    "rope.rotate/wrapped": ("rope.rotate/far",),
    "rope.rotate/base-ignored": ("rope.rotate/base",),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A lock of what three cases convict."""
    written = tmp_path / "convictions.lock"
    written.write_text(lock.text(lock.locked(FOUND)), encoding="utf-8")
    return written


@pytest.fixture
def run(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the program where cases convict what is given, and return what it printed: complaints, or a report."""

    def running(found: Found, *words: str) -> str:
        monkeypatch.setattr(program, "convicting", lambda operation: found if operation == "rope.rotate" else {})
        monkeypatch.setattr(program, "vectors", lambda: {f"rope.rotate/{name}": None for name in ("near", "far", "base", "idle")})
        status = program.main(["--lock", str(path), *words])
        printed = capsys.readouterr()
        assert bool(printed.err) == bool(status)
        return printed.err or printed.out

    return running


def without(name: str) -> Found:
    return {mutant: cases for mutant, cases in FOUND.items() if mutant != name}


def test_the_file_has_a_line_for_each_mutant_and_counts_that_a_lost_line_contradicts(path: Path) -> None:
    assert path.read_text(encoding="utf-8").splitlines()[2:] == [
        "rope.rotate: 3 mutants, 2 convicted by one case alone",
        "  base-ignored: base, alone",
        "  not-turned: near",
        "  wrapped: far, alone",
        "",
        "# end: 3 mutants",
    ]


@pytest.mark.parametrize("words", [(), ("--check",)])
def test_what_is_computed_again_is_what_is_there(run: Run, path: Path, words: tuple[str, ...]) -> None:
    before = path.read_bytes()

    assert run(FOUND, *words).splitlines() == [
        "3 mutants, 2 of them convicted by one case alone",
        "2 of 4 cases convict a mutant alone; 1 convict none: rope.rotate/idle",
    ]
    assert path.read_bytes() == before


def test_cases_that_convict_nothing_alone_are_listed(run: Run) -> None:
    listed = ["rope.rotate/near convicts 1, none alone", "rope.rotate/idle convicts 0, none alone"]

    assert run(FOUND, "--redundant").splitlines()[2:] == listed


LOST = [
    (
        {**FOUND, "rope.rotate/wrapped": ()},
        "rope.rotate/wrapped",
        "stay convicted by a golden case, got none; far convicted it",
        "  wrapped: no case",
    ),
    (
        {**FOUND, "rope.rotate/wrapped": ("rope.rotate/near", "rope.rotate/far")},
        "rope.rotate/far",
        "stay the only case to convict a mutant, as it was of wrapped; got other cases that convict it",
        "  wrapped: near",
    ),
    (without("rope.rotate/wrapped"), "rope.rotate/wrapped", "stay a mutant, convicted by far, alone; got none of that name", None),
    (
        {**FOUND, "rope.rotate/new": ()},
        "rope.rotate/new",
        "be convicted by a golden case, got none; add one that exposes it to the cases of its scheme",
        "  new: no case",
    ),
]


@pytest.mark.parametrize(("found", "name", "says", "line"), LOST)
def test_what_is_lost_is_named_and_refused_until_it_is_acknowledged(
    run: Run, path: Path, found: Found, name: str, says: str, line: str | None
) -> None:
    before = path.read_text(encoding="utf-8")

    assert run(found) == f"{name} must {says}; if that is meant: --lose {name}\n"
    assert path.read_text(encoding="utf-8") == before

    run(found, "--lose", name)
    after = path.read_text(encoding="utf-8")
    assert after == lock.text(lock.locked(found))
    assert line is None or line in after.splitlines()
    assert after != before
    assert run(found).startswith(f"{len(found)} mutants")


def test_a_case_that_still_convicts_another_mutant_alone_loses_nothing(run: Run) -> None:
    one_more = {**FOUND, "rope.rotate/clamped": ("rope.rotate/far",)}
    run(one_more)

    assert run({**one_more, "rope.rotate/wrapped": ("rope.rotate/near", "rope.rotate/far")}).startswith("4 mutants")


def test_what_is_not_lost_can_not_be_acknowledged(run: Run) -> None:
    assert run(FOUND, "--lose", "rope.rotate/far") == "--lose must name what would be lost, got rope.rotate/far\n"


def test_a_check_names_what_is_new_what_is_gone_and_what_is_convicted_otherwise(run: Run, path: Path) -> None:
    before = path.read_bytes()
    others = {"rope.rotate/base-ignored": ("rope.rotate/near",), "rope.rotate/new": ("rope.rotate/far",)}
    found = {**without("rope.rotate/not-turned"), **others}

    assert run(found, "--check").splitlines() == [
        "rope.rotate/base-ignored must be convicted by near, alone, got base, alone in the lock",
        "rope.rotate/new must be convicted by far, alone, got no line in the lock",
        "rope.rotate/not-turned must be a known mistake, got a name that no mutant has",
        "the lock must be written again (make convictions)",
    ]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("  wrapped: far, alone\n", "", "line 3 must read 'rope.rotate: 2 mutants, 1 convicted by one case alone'"),
        ("far, alone", "far", "line 3 must read 'rope.rotate: 3 mutants, 1 convicted by one case alone'"),
        ("  wrapped", "<<<<<<< HEAD\n  wrapped", "line 6 must read 'wrapped: far, alone', got '<<<<<<< HEAD'"),
        ("  wrapped: far, alone\n\n# end: 3 mutants\n", "  wrap", "line 3 must read"),
        ("# end: 3 mutants\n", "", "line 8 must read '# end: 3 mutants', got 'nothing'"),
        ("# end: 3 mutants", "# end: 4 mutants", "line 8 must read '# end: 3 mutants', got '# end: 4 mutants'"),
    ],
)
@pytest.mark.parametrize("words", [(), ("--check",)])
def test_a_lock_that_was_edited_or_torn_is_named_by_its_line(
    run: Run, path: Path, old: str, new: str, says: str, words: tuple[str, ...]
) -> None:
    edited = path.read_text(encoding="utf-8").replace(old, new)
    path.write_text(edited, encoding="utf-8")

    assert says in run(FOUND, *words)
    assert path.read_text(encoding="utf-8") == edited


def test_a_lock_that_is_missing_is_not_written_anew(run: Run, path: Path) -> None:
    path.unlink()

    assert run(FOUND) == "convictions.lock must be there, got no file; `git checkout` brings it back\n"
    assert not path.exists()


def test_the_lock_knows_every_mutant_and_no_other_name() -> None:
    assert lock.read().keys() == MUTANTS.keys()
