"""Every fault is survived and reported as what it is, and the document says so."""

import ast
import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from sampling import asked

from conformance.calls.limits import MIB, Limits
from conformance.calls.outcomes import Crashed, Exhausted
from conformance.calls.subject import CallFailedError
from conformance.isolate import control_group
from conformance.isolate.control_group import ControlGroup
from conformance.isolate.session import Session
from conformance.isolate.tree import runs
from conformance.reports import lines
from conformance.run import check
from conformance.run.orchestrator import AFTERWARDS
from tools import reliability
from tools.faults import promises
from tools.faults.fault import Fault
from tools.faults.promises import PROMISES
from tools.reliability import DOCUMENT, FAULTS, Told

ROOT = Path(__file__).parents[1]
HERE = [fault for fault in FAULTS if fault.runs_here]


@dataclass(frozen=True)
class Committed:
    """What was reported of faults by name, and the processes and files that they have left."""

    told: dict[str, Told]
    processes: list[str]
    files: list[str]


@pytest.fixture(scope="module")
def committed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Committed:
    """Commit once every fault that a test of this run is about, where nothing else writes."""
    scratch = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch, reliability.marked() as mark:
        patch.setenv("TMPDIR", str(scratch))
        patch.setattr(tempfile, "tempdir", str(scratch))
        patch.chdir(scratch)
        told = {report.fault.name: report for report in reliability.every(asked(request, "fault") or HERE)}
        return Committed(told, reliability.left_behind(mark), sorted(path.name for path in scratch.iterdir()))


@pytest.mark.parametrize("fault", HERE, ids=lambda fault: fault.name)
def test_a_fault_is_reported_as_what_it_is_and_the_run_goes_on(committed: Committed, fault: Fault) -> None:
    told = committed.told[fault.name]

    assert (told.kind, told.after) == (fault.kind, "passed" if fault.loads else "not run")
    assert fault.words in told.words


def test_no_process_is_left(committed: Committed) -> None:
    assert committed.processes == []


def test_no_file_is_left(committed: Committed) -> None:
    assert committed.files == []


def test_the_document_says_what_was_reported(committed: Committed) -> None:
    published = DOCUMENT.read_text(encoding="utf-8").splitlines()

    assert [reliability.row(report) for report in committed.told.values() if reliability.row(report) not in published] == []


def test_the_document_lists_every_fault_and_no_other() -> None:
    zoo = reliability.published()[0].partition("faults are survived")[2]
    rows = [line for line in zoo.splitlines() if line.startswith("| ") and "| outcome |" not in line]

    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [reliability.plain(fault.name) for fault in FAULTS]
    assert f"{len(FAULTS)} of {len(FAULTS)} faults are survived" in DOCUMENT.read_text(encoding="utf-8")


def test_the_section_of_other_commands_lists_every_fault_in_the_same_order() -> None:
    assert [*reliability.rows_elsewhere()] == [reliability.plain(fault.name) for fault in FAULTS]


@functools.cache
def named_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / f"test_{file}.py").read_text(encoding="utf-8"))
    return {node.name.removeprefix("test_") for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_promise_is_shown_by_tests_that_exist() -> None:
    every = [promise for each in PROMISES.values() for promise in each]

    assert [words for words, tests in every if not any(tests.values())] == []
    assert [(file, name) for _, tests in every for file, names in tests.items() for name in names if name not in named_in(file)] == []


def test_the_document_lists_every_promise() -> None:
    assert "\n".join(promises.told()) in DOCUMENT.read_text(encoding="utf-8")


def test_there_are_at_least_forty_kinds() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 40


def test_a_fault_that_is_reported_otherwise_is_noticed() -> None:
    told = Told(FAULTS[0], FAULTS[0].kind, FAULTS[0].words, "passed")

    assert told.right
    assert not any(wrong.right for wrong in (replace(told, kind="passed"), replace(told, words=""), replace(told, after="not_judged")))


def adapter(tmp_path: Path, inside: str) -> str:
    path = tmp_path / "mine.py"
    path.write_text(Fault("mine", "", "", inside).source)
    return str(path)


ARRAYS = (np.full((1, 1, 2, 4), 0.5), np.array([3, 9]))
PARAMETERS = {"head_dim": 4, "base": 100.0, "layout": "interleaved", "direction": "positive"}
CALL = "rope.rotate(head_dim=4, base=100.0, layout='interleaved', direction='positive') at positions [3, 9]"


def test_a_worker_that_dies_after_its_answer_convicts_who_answered(tmp_path: Path) -> None:
    with Session(adapter(tmp_path, "threading.Timer(0.1, os._exit, (9,)).start()")) as session:
        faulty = session.implementations[0]
        session.request(faulty, "float32", ARRAYS, PARAMETERS)
        session._process.popen.wait(timeout=30)  # type: ignore[union-attr]  # noqa: SLF001  it is waited for, not called
        session.notice()

        assert session.late == {(faulty.index, "float32"): Crashed(f"the process ended with exit status 9; after {CALL}")}


def test_what_became_of_a_worker_after_its_answer_is_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = Crashed("the process ended with exit status 9")
    monkeypatch.setattr(Session, "notice", lambda session: session.late.setdefault((0, "float32"), ending))

    report = check(adapter(tmp_path, ""), cases=["rope.rotate/shifted"])

    assert [result.outcome for result in report.results if result.check == AFTERWARDS] == [ending]
    assert report.status == 1


def test_what_is_exhausted_between_two_calls_is_told_too(tmp_path: Path) -> None:
    inside = "subprocess.Popen([sys.executable, '-c', 'import time; b = bytearray(b\"1\") * (400 << 20); time.sleep(100)'])"
    with Session(adapter(tmp_path, inside), Limits(memory=300)) as session:
        session.request(session.implementations[0], "float32", ARRAYS, PARAMETERS)
        session._process.popen.wait(timeout=30)  # type: ignore[union-attr]  # noqa: SLF001  it is waited for, not called
        session.notice()

        assert list(session.late.values()) == [Exhausted("memory", 300, f"after {CALL}")]


def test_without_a_limit_nothing_is_exhausted(tmp_path: Path) -> None:
    with Session(adapter(tmp_path, "time.sleep(0.5)"), Limits(memory=0, processes=0)) as session:
        assert session.request(session.implementations[0], "float32", ARRAYS, PARAMETERS).values


def test_a_limit_of_memory_ends_the_call_and_names_itself(tmp_path: Path) -> None:
    hungry = adapter(tmp_path, "held = bytearray(b'1') * (400 << 20)\ntime.sleep(100)")
    with Session(hungry, Limits(memory=300)) as session, pytest.raises(CallFailedError) as caught:
        session.request(session.implementations[0], "float32", ARRAYS, PARAMETERS)

    assert caught.value.outcome == Exhausted("memory", 300)


def test_the_header_says_the_limits_and_how_they_are_kept(tmp_path: Path) -> None:
    header = check(adapter(tmp_path, ""), cases=["rope.rotate/shifted"], limits=Limits(5.0, 1.5, 700, 0)).header

    assert header["limits"] == "5 s to start, 1.5 s per call, 700 MiB, any number of processes"
    assert str(header["isolation"]).startswith(("cgroup v2", "process tree watched"))


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the group of this process in a make-believe kernel, in which groups without processes may be divided."""
    proc, ours = tmp_path / "proc", tmp_path / "groups" / "user.slice" / "shell.scope"
    proc.mkdir()
    ours.mkdir(parents=True)
    (proc / "mountinfo").write_text(f"41 31 0:38 / {tmp_path}/groups rw,relatime - cgroup2 cgroup2 rw\n")
    (proc / "cgroup").write_text("4:memory:/\n0::/user.slice/shell.scope\n")
    (ours / "cgroup.subtree_control").write_text("\n")
    (ours.parent / "cgroup.subtree_control").write_text("cpu memory pids\n")
    monkeypatch.setattr(control_group, "PROC", proc)
    return ours


def test_a_control_group_is_made_beside_our_own_and_keeps_the_limits(kernel: Path) -> None:
    group = ControlGroup.make(Limits(memory=100, processes=10))

    assert group is not None
    assert group.path.parent == kernel.parent
    assert (group.path / "memory.max").read_text() == str(100 * MIB)
    assert (group.path / "pids.max").read_text() == "640"
    assert group.take(17)
    assert group.processes() == [17]


@pytest.mark.parametrize(
    ("name", "text", "resource"),
    [
        ("memory.events", "low 0\noom 1\noom_kill 1\n", "memory"),
        ("pids.events", "max 3\n", "processes"),
        ("memory.events", "oom_kill 0\n", None),
    ],
)
def test_a_control_group_tells_what_the_kernel_enforced(kernel: Path, name: str, text: str, resource: str | None) -> None:
    group = ControlGroup.make(Limits())

    assert group is not None
    (group.path / name).write_text(text)
    assert group.exceeded() == resource


def test_where_no_group_may_be_divided_there_is_none(kernel: Path) -> None:
    (kernel.parent / "cgroup.subtree_control").write_text("cpu\n")

    assert ControlGroup.make(Limits()) is None


def test_an_interruption_leaves_an_incomplete_report(tmp_path: Path) -> None:
    program = "import sys; from conformance.cli import main; sys.exit(main())"
    arguments = ["check", "numpy", "--level", "full", "--scheme", "rope", "--report", str(tmp_path)]
    running = subprocess.Popen([sys.executable, "-c", program, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
    workers = started(running.pid)

    os.kill(running.pid, signal.SIGINT)

    assert running.wait(timeout=60) == 130
    assert [report.complete for report in lines.read(tmp_path / "record.jsonl")] == [False]
    assert {path.suffix for path in tmp_path.iterdir()} == {".jsonl", ".html", ".xml", ".md", ".svg"}
    assert not any(runs(worker) for worker in workers)


def started(pid: int) -> list[psutil.Process]:
    """Return the workers of a run, once it judges: it has started the second then."""
    deadline = time.monotonic() + 60
    workers: list[psutil.Process] = []
    while len(workers) < 2 and time.monotonic() < deadline:
        workers = psutil.Process(pid).children()
        os.sched_yield()
    return workers
