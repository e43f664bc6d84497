"""Predicates of a declaration reach what is drawn: every call lies inside, and where none does, the report says what to declare."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import law_implementations as right
import numpy as np
import pytest

from conformance import Adapter, run
from conformance.calls.outcomes import Evidence, HarnessError
from conformance.calls.status import Status
from conformance.checks import golden_checks, law_checks
from conformance.checks.evidence.gathered import Gathered
from conformance.in_process import InProcess
from conformance.isolate.session import Session
from conformance.judge.journal import Task

Predicate = Callable[[Mapping[str, Any]], bool]


def a_task(**declared: Any) -> tuple[InProcess, Task]:
    adapter = Adapter("mine")
    adapter.implements("rope.rotate", **declared)(right.rotate)
    session = InProcess(adapter)
    (descriptor,) = session.implementations
    return session, Task(descriptor, "float32", "float32")


def judged(when: Predicate) -> tuple[Counter[tuple[str, str]], Evidence]:
    """Return how many drawn cases of each kind came to which outcome, and the evidence."""
    session, task = a_task(when=when)
    subject, gathered = session.subject(task.descriptor, "float32", "float32"), Gathered(task, "core")
    for checked in golden_checks.judgements(subject, subject, task, gathered, seed=3, level="core"):
        gathered.add(checked)
    came = [(each.vector.id.split("/")[1].split("-")[0], type(each.judgement.outcome).__name__) for each in gathered.checked]
    return Counter(came), gathered.evidence()


@pytest.mark.parametrize(
    "when",
    [
        lambda given: given["head_dim"] == 64,
        lambda given: given["layout"] == "half" and given["direction"] == "positive" and given["head_dim"] in (64, 128),
        lambda given: given["base"] == 10_000.0 and given["head_dim"] == 64,
    ],
    ids=["one width", "conventions and widths", "a base and a width together"],
)
def test_every_call_is_drawn_from_what_a_predicate_takes(when: Predicate) -> None:
    came, evidence = judged(when)

    assert came["drawn", "Passed"] >= 24
    assert came["sweep", "Passed"] >= 1
    assert came["large", "Passed"] >= 9
    assert not any(outcome != "Passed" for _, outcome in came)
    assert not evidence.missing


def test_where_a_predicate_takes_nothing_that_is_tried_it_is_told_to_declare_values() -> None:
    came, evidence = judged(lambda given: given["head_dim"] == 74)

    assert not came
    assert "no call could be drawn: " in evidence.missing[0]
    assert "declare it by values (head_dim={64, 128})" in evidence.missing[0]


def test_laws_are_drawn_from_what_a_predicate_takes_also_where_that_is_not_typical() -> None:
    session, task = a_task(head_dim=lambda width: width in (64, 128), when=lambda given: given["layout"] == "half")
    subject = session.subject(task.descriptor, "float32", "float32")
    found = list(law_checks.run(subject, task, examples=5, seed=3))

    assert not [each.finding.law for each in found if each.failed or each.finding.refused or not each.finding.examples]


def test_a_worker_is_asked_for_its_predicates_only_where_it_has_some() -> None:
    with Session("numpy") as session:
        assert all(descriptor.admits is None for descriptor in session.implementations)


FILE = """
from conformance import Adapter
from refimpl.schemes import rope

adapter = Adapter("mine")


def only_even_heads(given):
    if given["head_dim"] == 16:
        raise SystemExit("a predicate that fails")
    return given["head_dim"] < 9


adapter.implements("rope.frequencies", when=only_even_heads)(lambda **given: rope.frequencies(**given))
"""


def test_a_predicate_is_asked_in_the_worker_and_one_that_fails_is_left_to_the_call(tmp_path: Any) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    with Session(str(tmp_path / "mine.py")) as session:
        (descriptor,) = session.implementations
        assert descriptor.admits is not None
        answers = {width: descriptor.admits({"head_dim": width, "base": 10_000.0}) for width in (8, 16, 64)}
    assert answers == {8: True, 16: True, 64: False}


CONTRADICTING = """
import numpy as np

from conformance import Adapter

adapter = Adapter("mine")


@adapter.implements("t5.bucket", num_buckets=32, max_distance=8, bidirectional=True, convention="t5")
def bucket(relative_positions, **_):
    return np.zeros_like(relative_positions)
"""


def test_a_declaration_that_contradicts_itself_gets_no_verdict_and_is_told_why(tmp_path: Any) -> None:
    (tmp_path / "mine.py").write_text(CONTRADICTING)
    report = run.check(str(tmp_path / "mine.py"), seed=0)

    assert report.status is Status.NOT_JUDGED
    assert not [result for result in report.results if isinstance(result.outcome, HarnessError)]
    disagree = "num_buckets=32, max_distance=8 and convention='t5' do not agree (max_distance must be greater than the 16 exact"
    assert disagree in report.evidence[0].missing[0]


CHANGING = """
from conformance import Adapter
from refimpl.schemes import binary

adapter = Adapter("mine")


def clears(given):
    given.clear()
    return True


adapter.implements("binary.encode", when=clears)(lambda positions, **given: binary.encode(positions, **given))
"""


def test_a_predicate_that_changes_what_it_is_given_changes_no_call(tmp_path: Any) -> None:
    (tmp_path / "mine.py").write_text(CHANGING)
    with Session(str(tmp_path / "mine.py")) as session:
        assert session.call("binary.encode", [np.array([2])], {"bits": 2})["result"].tolist() == [[0, 1]]


def test_what_a_predicate_never_takes_is_told_by_parameter_and_nothing_where_it_takes_everything() -> None:
    _, narrow = judged(lambda given: given["head_dim"] in (64, 128) and given["direction"] == "positive")
    _, wide = judged(lambda _: True)

    assert narrow.left_out.keys() == {"head_dim", "direction"}
    assert narrow.left_out["direction"] == "negative"
    assert wide.left_out == {}
