"""Memory that piles up over unlike calls is told and convicts nobody; a leak, to which the same call adds each time, is convicted."""

from pathlib import Path

from test_left_behind import results, written

from conformance.calls.limits import Limits
from conformance.calls.outcomes import Advisory, Exhausted
from conformance.isolate.session import Session
from conformance.run import check

LIMITS = Limits(memory=400)
KEPT = "KEPT = {}"
#: What right code keeps: a table of 60 MB for every base.
TABLES = "KEPT.setdefault(parameters['base'], np.ones(60_000_000 // 8))"
#: The same, after which a table of 200 MB is made in one call, which has room in a fresh worker only.
LARGE = f"-1.0 in KEPT or KEPT.update({{-1.0: np.ones(200_000_000 // 8)}}) if parameters['base'] > 10_003 else {TABLES}"
TOLD = "keeps memory of unlike calls"


def asked(session: Session, bases: list[float]) -> None:
    faulty = next(each for each in session.implementations if each.label == "faulty")
    for base in bases:
        session.request(faulty, "float32", [], {"head_dim": 8, "base": base})
    assert session.afterwards(faulty.index, "float32") is None
    assert TOLD in session.piled(faulty.index, "float32")


def test_tables_for_every_base_are_told_and_convict_nobody(tmp_path: Path) -> None:
    with Session(written(tmp_path, TABLES, outside=KEPT), LIMITS) as session:
        asked(session, [10_000.0 + number for number in range(14)])

        assert session.starts > 1


def test_a_call_for_which_earlier_ones_left_no_room_is_made_again_in_a_fresh_worker(tmp_path: Path) -> None:
    with Session(written(tmp_path, LARGE, outside=KEPT), LIMITS) as session:
        asked(session, [10_000.0, 10_001.0, 10_004.0, 10_002.0, 10_003.0, 10_005.0])


def test_right_code_that_keeps_tables_conforms_with_a_note_and_a_leak_is_convicted(tmp_path: Path) -> None:
    smaller = TABLES.replace("60_", "20_")
    report = check(written(tmp_path, smaller, outside=KEPT), level="smoke", limits=LIMITS, seed=1)

    assert not [each for each in report.results if each.convicts]
    assert [words for words in results(report, "faulty", Advisory) if TOLD in words]
    assert not results(report, "healthy", Advisory)

    leak = smaller.replace("parameters['base']", "len(KEPT)")
    leaking = check(written(tmp_path, leak, outside=KEPT), level="smoke", limits=LIMITS, seed=1)

    convicted = [each for each in leaking.results if each.convicts]
    assert {each.implementation for each in convicted} == {"faulty"}
    assert any(isinstance(each.outcome, Exhausted) for each in convicted)
