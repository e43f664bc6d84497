"""Every public report that the catalogue lists is repeated by mutants that bear its address, or says why it isn't."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from sampling import asked

from conformance import laws
from conformance.mutants.catalogue import KNOWN, MUTANTS, Entry, load, named
from conformance.mutants.habits import HABITS
from conformance.spec.declarations import operations
from refimpl.schemes import SCHEMES

ENTRIES = load()
BROKEN = Path(__file__).parent / "configurations" / "broken.yaml"
REPEATED = [entry for entry in ENTRIES if entry.mutants]

#: How many habits are judged in one run, whose failures share the fresh workers in which they are repeated.
TOGETHER = 5
ADAPTER = """
from conformance.adapt.adapter import Adapter
from conformance.mutants.habits import HABITS

adapter = Adapter("habits", dtypes=("float64",))
for name in {names!r}:
    adapter.implements(HABITS[name].operation, label=name)(HABITS[name].make())
"""


def label(entry: Entry) -> str:
    return entry.id


@pytest.fixture(scope="module")
def record(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Return what a run like any other says of all habits that a test of this run is about."""
    habits, found = asked(request, "habit"), dict[str, Any](results=[], wrong=[])
    for first in range(0, len(habits), TOGETHER):
        target = tmp_path_factory.mktemp("habits") / "habits.py"
        target.write_text(ADAPTER.format(names=habits[first : first + TOGETHER]), encoding="utf-8")
        command = [sys.executable, "-m", "conformance", "check", str(target), "--level", "smoke", "--seed", "0", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent)
        told = json.loads(done.stdout)
        found["results"] += told["results"]
        found["wrong"] += told["wrong"]
    return found


def convicting(record: Mapping[str, Any], habit: str) -> set[str]:
    """Return the names of the laws that convict a habit."""
    own = [result for result in record["results"] if result["implementation"] == habit and result["kind"] == "law"]
    return {f"law:{result['check']}" for result in own if result["outcome"]["kind"] == "failed"}


def test_the_catalogue_has_every_report_once() -> None:
    assert len(ENTRIES) == 278
    assert len({entry.id for entry in ENTRIES}) == 278


def test_a_report_whose_address_several_schemes_bear_says_which_it_is_about() -> None:
    for entry in REPEATED:
        bearing = {known.operation.partition(".")[0] for known in KNOWN.values() if entry.url in known.threads}
        assert entry.about in SCHEMES if len(bearing) > 1 else not entry.about, entry.id


@pytest.mark.parametrize("entry", ENTRIES, ids=label)
def test_an_entry_is_repeated_or_says_why_not(entry: Entry) -> None:
    assert entry.nature in {"bug", "convention", "false alarm"}
    assert entry.says.endswith(".")
    assert entry.url.startswith("https://github.com/")
    assert entry.mutants or entry.waits_for or entry.outside or entry.under or entry.configured or entry.nature == "false alarm"
    assert not (entry.mutants and (entry.outside or entry.nature == "false alarm"))
    assert bool(entry.waits_for) == bool(entry.because)


@pytest.mark.parametrize("entry", REPEATED, ids=label)
def test_what_repeats_an_entry_bears_its_address(entry: Entry) -> None:
    for pattern in entry.mutants:
        assert named(pattern), pattern
        assert [known.name for known in named(pattern) if entry.url not in known.threads] == []


def test_what_bears_an_address_of_the_catalogue_is_listed_there() -> None:
    listed = {(entry.url, known.name) for entry in REPEATED for pattern in entry.mutants for known in named(pattern)}
    urls = {entry.url for entry in ENTRIES}

    assert {(url, name) for name, known in KNOWN.items() for url in known.threads if url in urls} == listed


def test_every_thread_of_a_mutant_is_in_the_catalogue() -> None:
    listed = {entry.url for entry in ENTRIES}
    beside = {name for entry in ENTRIES for name in entry.related}
    threads = {url for known in KNOWN.values() for url in known.threads}

    assert [url for url in sorted(threads - listed) if re.sub(r"https://github.com/(.+)/(?:issues|pull)/", r"\1#", url) not in beside] == []


def test_what_is_about_a_configuration_has_a_broken_one_and_the_reverse() -> None:
    broken = yaml.safe_load(BROKEN.read_text(encoding="utf-8"))
    threads = {written["thread"] for written in broken}

    assert {entry.url for entry in ENTRIES if entry.configured} == {entry.url for entry in ENTRIES} & threads


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.waits_for], ids=label)
def test_what_an_entry_waits_for_is_not_there_yet(entry: Entry) -> None:
    assert entry.waits_for not in SCHEMES, f"{entry.waits_for} is here: repeat {entry.url} by a mutant of it"


def test_a_habit_is_no_mutant_and_names_its_operation() -> None:
    assert not set(HABITS) & set(MUTANTS)
    assert all(name == habit.name and name.startswith(f"{habit.operation}/") for name, habit in HABITS.items())
    assert {habit.operation for habit in HABITS.values()} <= set(operations())


@pytest.mark.parametrize("name", HABITS)
def test_a_habit_says_what_where_from_and_how_to_repair(name: str) -> None:
    habit = HABITS[name]

    assert habit.does
    assert habit.should
    assert habit.fix
    assert habit.threads
    assert {claim.removeprefix("law:") for claim in habit.convicted_by} <= set(laws.UNIVERSAL)


@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_is_convicted_by_the_laws_that_claim_it_and_named_alone(habit: str, record: Mapping[str, Any]) -> None:
    (wrong,) = [wrong for wrong in record["wrong"] if wrong["implementation"] == habit]

    assert set(HABITS[habit].convicted_by) <= convicting(record, habit)
    assert wrong["diagnosis"]["mutants"] == [habit]
    assert wrong["diagnosis"]["also_fits"] == []
