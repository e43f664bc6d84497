"""What a run has found is kept, whatever becomes of workers, parts, targets, places to write to and of the run itself."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree as ET

import psutil
import pytest

from conformance.calls.limits import Limits
from conformance.calls.outcomes import (
    INTERRUPTED,
    NO_WORKER,
    UNSTARTED,
    Crashed,
    Failed,
    HarnessError,
    NotJudged,
    Outcome,
    Passed,
    Report,
    Result,
    TimedOut,
)
from conformance.calls.status import Status
from conformance.calls.subject import CallFailedError
from conformance.cli import main
from conformance.isolate.process import Process
from conformance.isolate.session import STARTS, Session
from conformance.isolate.targets import TargetError
from conformance.isolate.tree import runs
from conformance.reports import lines
from conformance.run import check, sharding
from conformance.show.report import message

ROOT = Path(__file__).parents[1]
SOURCE = """\
import fcntl, os, signal, sys
from pathlib import Path
import numpy as np
from conformance import Adapter
from refimpl.schemes import alibi, rope

HERE = Path(__file__).parent
{outside}
adapter = Adapter("kept")

@adapter.implements("alibi.slopes")
def slopes(**parameters):
    return alibi.slopes(**parameters, like=np.empty(0))

@adapter.implements("rope.frequencies")
def frequencies(**parameters):
    {inside}
    return rope.frequencies(**parameters, like=np.empty(0))
"""
#: Only one worker may have it open.
LOCKED = """
lock = open(HERE / "lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
"""
#: Only one worker may listen at the port that the first has found.
BOUND = """
import socket
note = HERE / "port"
bound = socket.socket()
bound.bind(("127.0.0.1", int(note.read_text()) if note.exists() else 0))
note.write_text(str(bound.getsockname()[1]))
"""
#: The first worker imports it, no other does.
ONCE = """
if (HERE / "begun").exists():
    raise OSError("the device is gone")
(HERE / "begun").touch()
"""

#: No second worker is imported, however many are started at once.
FIRST_ONLY = """
(HERE / "device").open("x")
"""
#: Every second worker ends while it is imported.
EVERY_SECOND = """
number = 1
while (HERE / f"start{number}").exists():
    number += 1
(HERE / f"start{number}").open("x")
if number % 2 == 0:
    os._exit(3)
"""
#: None is imported while another is.
IN_TURN = """
import time
lock = open(HERE / "lock", "w")
fcntl.flock(lock, fcntl.LOCK_SH)
time.sleep(1)
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
"""
#: Two workers run at once, and no third.
TWO = """
places = [open(HERE / name, "w") for name in ("one", "other")]
def taken(place):
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
if not any(map(taken, places)):
    raise OSError("the device is busy")
"""

DELETED = "Path(__file__).unlink()"


def written(folder: Path, *, outside: str = "", inside: str = "pass", source: str = SOURCE) -> str:
    """Write an adapter and return the target."""
    path = folder / "kept.py"
    path.write_text(source.format(outside=outside, inside=inside), encoding="utf-8")
    return str(path)


OPERATIONS = ("alibi.slopes", "rope.frequencies")


def passed(report: Report, operation: str) -> int:
    return sum(result.operation == operation and isinstance(result.outcome, Passed) for result in report.results)


def convicted(report: Report) -> set[str]:
    return {result.operation for result in report.results if result.convicts}


@pytest.mark.parametrize(
    ("outside", "words"), [(ONCE, "the device is gone"), (DELETED, "must be a file that exists")], ids=["a flaky device", "a deleted file"]
)
def test_a_worker_that_starts_no_second_time_loses_no_result(tmp_path: Path, outside: str, words: str) -> None:
    report = check(written(tmp_path, outside=outside, inside="if parameters['head_dim'] == 2: os._exit(3)"), level="smoke")

    endings = [result.outcome for result in report.results if isinstance(result.outcome, Crashed)]
    assert report.status is Status.DIFFERS
    assert passed(report, "alibi.slopes")
    assert any("its worker can't be started again" in ending.message and words in ending.message for ending in endings)


def test_a_worker_that_starts_no_second_time_is_told_as_that_and_not_as_chance_or_hash_order(tmp_path: Path) -> None:
    report = check(written(tmp_path, outside=ONCE), operations=["alibi.slopes", "rope.frequencies"], level="smoke")

    endings = [result.outcome for result in report.results if result.convicts]
    assert endings
    assert all(isinstance(each, Crashed) and each.message.startswith("its worker can't be started again") for each in endings)


def test_an_exception_of_a_later_start_is_told_where_the_working_folder_is_gone_too(tmp_path: Path) -> None:
    leave = "    leave = HERE / 'left'; leave.mkdir(exist_ok=True); os.chdir(leave); leave.rmdir()\n"
    target = written(tmp_path, outside=ONCE.replace("    raise", f"{leave}    raise"), inside="os._exit(3)")

    report = check(target, operations=["rope.frequencies"], level="smoke")

    messages = [result.outcome.message for result in report.results if isinstance(result.outcome, Crashed)]
    assert any("can't be imported: OSError: the device is gone" in message for message in messages)


@pytest.mark.parametrize("starts", [2, 3, 4])
def test_a_system_that_starts_no_further_worker_loses_no_result_and_blames_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starts: int
) -> None:
    begun: list[int] = []

    def started(self: Session) -> Process:
        begun.append(1)
        if len(begun) > starts:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return Process(self.target, self.limits, hash_seed=self.hash_seed)

    monkeypatch.setattr(Session, "_started", started)

    report = check(written(tmp_path, inside="os._exit(5)"), level="smoke", seed=0)

    slopes = [result for result in report.results if result.operation == "alibi.slopes"]
    messages = {result.outcome.message for result in report.results if isinstance(result.outcome, HarnessError)}
    assert report.status == Status.HARNESS_FAILED
    assert {type(result.outcome) for result in slopes if result.kind == "vector"} >= {Passed}
    assert not [result for result in slopes if result.convicts]
    assert not [each for each in report.results if isinstance(each.outcome, Crashed) and "passes in a fresh worker" in each.outcome.message]
    assert messages
    assert all(message.startswith(f"the system starts no worker again: [Errno {errno.EMFILE}]") for message in messages)


#: The call with another base than any that is judged, made for what a cache may confuse with it.
SIBLING = "parameters['base'] == 15_000.0"
FIRST = "not (HERE / 'done').exists() and ((HERE / 'done').touch() or True)"


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (f"if {SIBLING} and {FIRST}: os._exit(5)", Crashed, "exit status 5; asked for rope.frequencies(head_dim="),
        (f"if {SIBLING}: os._exit(5)", Crashed, "exit status 5; asked for rope.frequencies(head_dim="),
        (f"if {SIBLING} and {FIRST}: raise ValueError('once')", Failed, "at first: ValueError: once"),
        (f"if {SIBLING} and {FIRST}: signal.pause()", NotJudged, "no answer within 3 s; to rope.frequencies(head_dim="),
        (f"if {SIBLING}: signal.pause()", TimedOut, "no answer within 3 s; to rope.frequencies(head_dim="),
    ],
    ids=["ends once", "ends", "raises once", "hangs once", "hangs"],
)
def test_what_becomes_of_a_call_that_no_check_judges_is_told(tmp_path: Path, fault: str, kind: type[Outcome], words: str) -> None:
    report = check(written(tmp_path, inside=fault), operations=["rope.frequencies"], level="smoke", limits=Limits(call_seconds=3))

    told = [result.outcome for result in report.results if isinstance(result.outcome, kind)]
    assert any(words in message(outcome) for outcome in told)
    assert report.status is (Status.CONFORMS if kind is NotJudged else Status.DIFFERS)


def test_a_predicate_that_ends_its_worker_once_is_told(tmp_path: Path) -> None:
    unlike = "parameters['base'] not in (10_000.0, 15_000.0)"
    target = written(tmp_path, outside=f"def taken(parameters):\n    if {unlike} and {FIRST}: os._exit(5)\n    return True\n")
    source = Path(target).read_text(encoding="utf-8").replace('"rope.frequencies"', '"rope.frequencies", when=taken')
    Path(target).write_text(source, encoding="utf-8")

    report = check(target, operations=["rope.frequencies"], level="smoke")

    told = [result.outcome.message for result in report.results if isinstance(result.outcome, Crashed)]
    assert report.status is Status.DIFFERS
    assert told == ["the process ended with exit status 5; asked for a predicate of its declaration, which no check judges"]


def test_why_a_worker_starts_no_more_is_told_to_the_end(tmp_path: Path) -> None:
    with Session(written(tmp_path, outside=ONCE, inside="os._exit(3)")) as session:
        (frequencies,) = (each for each in session.implementations if each.operation == "rope.frequencies")
        for _ in range(STARTS + 2):
            with pytest.raises(CallFailedError) as failure:
                session.request(frequencies, "float32", [], {"head_dim": 8, "base": 10_000.0})

    assert f"as was tried {STARTS} times in a row" in str(failure.value.outcome)
    assert "the device is gone" in str(failure.value.outcome)


@pytest.mark.parametrize("outside", [LOCKED, BOUND], ids=["a file lock", "a port bound"])
def test_a_target_of_which_one_worker_can_run_is_served_by_one(tmp_path: Path, outside: str) -> None:
    report = check(written(tmp_path, outside=outside), level="smoke")

    assert report.status is Status.CONFORMS
    assert passed(report, "alibi.slopes")
    assert passed(report, "rope.frequencies")


@pytest.mark.parametrize(
    "outside",
    [LOCKED, BOUND, FIRST_ONLY, IN_TURN, TWO],
    ids=["a file lock", "a port bound", "only the first", "none while another starts", "two at once"],
)
def test_parts_of_a_target_that_starts_no_further_worker_come_to_the_verdict_of_the_whole(tmp_path: Path, outside: str) -> None:
    folders = [tmp_path / "whole", tmp_path / "parts"]
    for folder in folders:
        folder.mkdir()

    whole, parts = (check(written(folder, outside=outside), level="smoke", jobs=jobs) for jobs, folder in enumerate(folders, start=1))

    assert parts.status is whole.status
    assert convicted(parts) == convicted(whole)
    assert [passed(parts, each) for each in OPERATIONS] == [passed(whole, each) for each in OPERATIONS]


def test_parts_of_which_every_second_start_fails_are_all_judged(tmp_path: Path) -> None:
    report = check(written(tmp_path, outside=EVERY_SECOND), level="smoke", jobs=2)

    assert report.status in (Status.CONFORMS, Status.DIFFERS)
    assert [passed(report, each) > 0 for each in OPERATIONS] == [True, True]


@pytest.mark.parametrize("first", [0, 1], ids=["the second", "the third"])
def test_a_target_of_which_every_second_start_fails_is_judged_in_whatever_order_they_come(tmp_path: Path, first: int) -> None:
    failing = EVERY_SECOND.replace("number % 2 == 0", f"number > 1 and number % 2 == {first}")

    report = check(written(tmp_path, outside=failing), operations=OPERATIONS, level="smoke", seed=0)

    assert report.status is Status.CONFORMS


def test_a_start_that_fails_and_is_tried_again_is_told(tmp_path: Path) -> None:
    report = check(written(tmp_path, outside=EVERY_SECOND), operations=OPERATIONS, level="smoke", seed=0)

    assert any("a worker started only when that was tried again" in words and "exit status 3" in words for words in report.warnings)


def test_a_part_that_lacked_a_worker_is_judged_once_more_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []

    def starved(report: Report) -> bool:
        judged.append(len(report.results))
        return True

    monkeypatch.setattr(sharding, "_starved", starved)

    report = check(written(tmp_path), level="smoke", jobs=2)

    assert report.status is Status.CONFORMS
    assert len(report.results) == sum(judged)
    assert [passed(report, each) > 0 for each in OPERATIONS] == [True, True]


@pytest.mark.parametrize(
    ("outcome", "lacked"),
    [
        (Crashed(f"{UNSTARTED} again: busy"), True),
        (HarnessError(f"{NO_WORKER}: busy"), True),
        (Crashed("ended"), False),
        (HarnessError("ended"), False),
    ],
)
def test_what_says_that_a_part_lacked_a_worker(outcome: Outcome, *, lacked: bool) -> None:
    report = Report("x", {}, (Result("x", "alibi.slopes", "shape", "law", "float32", "float32", outcome),))

    assert sharding._starved(report) is lacked  # noqa: SLF001  what decides whether it is judged once more


def test_a_worker_that_describes_itself_otherwise_when_it_starts_again_is_told(tmp_path: Path) -> None:
    described = "\nnumber = len(list(HERE.glob('start*')))\n(HERE / f'start{number}').touch()\n"
    target = written(tmp_path, outside=described, inside="if parameters['head_dim'] == 2: os._exit(3)")
    source = Path(target).read_text(encoding="utf-8").replace('Adapter("kept")', 'Adapter(f"kept {number}")')
    Path(target).write_text(source, encoding="utf-8")

    report = check(target, level="smoke")

    assert any("must describe itself alike at each start, got a difference in adapter" in str(result.outcome) for result in report.results)


def test_a_target_that_never_starts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="the device is gone"):
        check(written(tmp_path, outside='raise OSError("the device is gone")'), level="smoke", jobs=2)


#: The process that judges is the parent of the worker's keeper.
ENDS_ITS_PART = "if {when}: os.kill(int(Path(f'/proc/{{os.getppid()}}/stat').read_text().rpartition(')')[2].split()[1]), signal.SIGKILL)"


def test_a_part_that_is_killed_is_judged_once_more(tmp_path: Path) -> None:
    once = "not (HERE / 'killed').exists() and ((HERE / 'killed').touch() or True)"

    report = check(written(tmp_path, inside=ENDS_ITS_PART.format(when=once)), level="smoke", jobs=2)

    assert report.status is Status.CONFORMS
    assert passed(report, "rope.frequencies")


def test_a_part_that_is_killed_twice_loses_its_own_results_only(tmp_path: Path) -> None:
    report = check(written(tmp_path, inside=ENDS_ITS_PART.format(when="True")), level="smoke", jobs=2)

    lost = [result.outcome.message for result in report.results if isinstance(result.outcome, HarnessError)]
    assert report.status is Status.HARNESS_FAILED
    assert passed(report, "alibi.slopes")
    assert len(lost) == 1
    assert "was judged twice and gave nothing: PartLostError: its process ended with signal SIGKILL" in lost[0]


def test_where_every_part_is_killed_the_report_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = written(tmp_path, outside=f"import os, signal\nfrom pathlib import Path\n{ENDS_ITS_PART.format(when='True')}")
    folder = tmp_path / "report"

    status = main(["check", target, "--level", "smoke", "--jobs", "2", "--report", str(folder)])

    out = capsys.readouterr().out
    assert status == Status.HARNESS_FAILED
    assert "part 1 of 1 was judged twice and gave nothing" in " ".join(out.split())
    assert [report.status for report in lines.read(folder / "record.jsonl")] == [Status.HARNESS_FAILED]


def test_a_bad_target_among_several_has_a_verdict_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("adapter = \n", encoding="utf-8")
    folder = tmp_path / "report"

    status = main(["check", str(bad), written(tmp_path), "--level", "smoke", "--report", str(folder)])

    told = capsys.readouterr()
    assert status == Status.WRONG_USAGE
    assert f"posenc: {bad} can't be imported: SyntaxError" in told.err
    assert "kept.py conforms" in told.out
    assert [report.status for report in lines.read(folder / "record.jsonl")] == [Status.WRONG_USAGE, Status.CONFORMS]
    assert f"{bad} can't be judged" in (folder / "summary.md").read_text(encoding="utf-8").replace("\\", "")
    assert "can&#x27;t be judged" in (folder / "report.html").read_text(encoding="utf-8")
    suites = ET.parse(folder / "junit.xml").getroot()  # noqa: S314  our own file
    assert [suite.get("name") for suite in suites if suite.get("errors") == "1"] == [str(bad)]


def test_a_document_says_that_a_target_cannot_be_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "none.py"), "--json"]) == Status.WRONG_USAGE

    told = json.loads(capsys.readouterr().out)
    assert told["exit_status"] == Status.WRONG_USAGE
    assert told["refused"].startswith("target must be a file that exists")


def test_records_of_targets_that_cannot_be_judged_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text(lines.text([Report("bad.py", {}, (), refused="it is gone")]), encoding="utf-8")

    assert main(["report", "diff", str(record), str(record)]) == Status.WRONG_USAGE
    assert "record must hold verdicts, got bad.py, which can't be judged" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_told_before_anything_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()

    assert main(["check", written(tmp_path), "--report", str(tmp_path / "file" / "report")]) == Status.WRONG_USAGE

    told = capsys.readouterr()
    assert told.out == ""
    assert "folder must be one that files can be written to" in told.err


@pytest.mark.parametrize("name", ["record.jsonl", "badge.svg"])
def test_a_folder_in_place_of_a_report_is_told_before_anything_is_judged(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report" / name).mkdir(parents=True)

    assert main(["check", written(tmp_path), "--report", str(tmp_path / "report")]) == Status.WRONG_USAGE

    told = capsys.readouterr()
    assert told.out == ""
    assert f"file must not be a folder, got '{tmp_path / 'report' / name}'" in told.err


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


@pytest.mark.parametrize("make", [os.mkfifo, bind], ids=["pipe", "socket"])
def test_what_cannot_be_written_into_in_place_of_a_report_is_told_before_anything_is_judged(
    tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("report").mkdir()
    make(Path("report", "report.html"))

    assert main(["check", written(tmp_path), "--report", "report"]) == Status.WRONG_USAGE

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(("posenc: pipe must have a reader, got none: ", "posenc: file must be one that can be written to ("))
    assert told.err.count("\n") == 1
    assert list(Path("report").iterdir()) == [Path("report", "report.html")]


def test_a_pipe_in_place_of_a_report_is_written_into_for_whoever_reads_it_when_the_run_begins(tmp_path: Path) -> None:
    pipe = tmp_path / "report" / "summary.md"
    pipe.parent.mkdir()
    os.mkfifo(pipe)

    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:  # noqa: S607  a program of every system
        command = [sys.executable, "-m", "posenc", "check", written(tmp_path), "--level", "smoke", "--report", str(pipe.parent)]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)

        assert "kept.py conforms" in reader.communicate()[0].replace("\\", "")


#: What an implementation does to the place of what is written at the end.
SPOILING = {
    "a file": "shutil.rmtree(REPORT); REPORT.touch()",
    "a pipe": "os.mkfifo(REPORT / 'report.html')",
    "a folder": "(HERE / 'known.yaml').mkdir()",
}


@pytest.mark.parametrize("spoiling", SPOILING)
@pytest.mark.parametrize(("answer", "status"), [("pass", Status.HARNESS_FAILED), ("return np.ones(1)", Status.DIFFERS)])
def test_a_report_that_cannot_be_written_any_more_loses_no_verdict(
    tmp_path: Path, spoiling: str, answer: str, status: Status, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = f"import shutil\nREPORT = HERE / 'report'\nif not (HERE / 'spoilt').exists(): {SPOILING[spoiling]}\n(HERE / 'spoilt').touch()"
    target = written(tmp_path, outside=outside, inside=answer)
    kept = ["--baseline", str(tmp_path / "known.yaml"), "--update-baseline"] if spoiling == "a folder" else []
    places = kept or ["--report", str(tmp_path / "report")]

    came = main(["check", target, "--level", "smoke", "--operation", "rope.frequencies", *places])

    told = capsys.readouterr()
    assert came == status
    assert "kept.py" in told.out
    assert told.err.count("posenc: ") == 1
    assert any(words in told.err for words in ("folder must be one that files can", "pipe must have a reader", "file must not be a folder"))


@pytest.fixture(params=["1", "2"], ids=["whole", "in parts"])
def lasting(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """Judge an adapter whose second operation never answers, and another after it, until the first is called; then yield the run."""
    target = written(tmp_path, inside="(HERE / 'called').touch()\n    while True: pass")
    program = "import sys; from conformance.cli import main; sys.exit(main())"
    options = ["--level", "smoke", "--jobs", request.param, "--call-seconds", "300", "--report", str(tmp_path / "report")]
    arguments = ["check", target, "never_reached.py", *options]
    running = subprocess.Popen([sys.executable, "-c", program, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "called").exists() and time.monotonic() < deadline:
        os.sched_yield()
    yield running
    running.kill()
    running.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_what_ends_a_run_leaves_a_partial_report_and_no_worker(
    lasting: subprocess.Popen[bytes], tmp_path: Path, number: signal.Signals
) -> None:
    below = psutil.Process(lasting.pid).children(recursive=True)

    for each in (number, signal.SIGTERM, signal.SIGINT):  # a runner sends several
        lasting.send_signal(each)

    assert lasting.wait(timeout=60) == Status.INTERRUPTED
    reports = lines.read(tmp_path / "report" / "record.jsonl")
    assert [(Path(report.target).name, report.complete) for report in reports] == [("kept.py", False), ("never_reached.py", False)]
    assert below
    psutil.wait_procs(below, timeout=30)  # Python's own tracker of what parts share ends just after them
    assert not [process for process in below if runs(process)]


def test_parts_that_are_interrupted_before_they_found_anything_leave_a_report_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(sharding, "wait", interrupted)
    target, folder = written(tmp_path), tmp_path / "report"

    assert main(["check", target, "--jobs", "2", "--level", "smoke", "--report", str(folder)]) == Status.INTERRUPTED

    (report,) = lines.read(folder / "record.jsonl")
    told = capsys.readouterr()
    assert (report.results, report.complete, report.status) == ((), False, Status.INTERRUPTED)
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    for text in (told.out, summary):
        assert "no verdict: interrupted before everything was run" in text
        assert INTERRUPTED in text
    assert "0 checks: none" in summary
    assert "Traceback" not in told.out + told.err


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends what a killed process has started")
def test_a_worker_ends_with_a_run_that_is_killed(lasting: subprocess.Popen[bytes]) -> None:
    below = psutil.Process(lasting.pid).children(recursive=True)

    lasting.kill()
    lasting.wait()

    assert below
    psutil.wait_procs(below, timeout=30)
    assert not [process for process in below if runs(process)]


def test_a_worker_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from conformance import Session

    with Session(written(tmp_path), Limits()) as session:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(session.call, "alibi.slopes", [], {"num_heads": 8, "max_bias": 8.0}).result()
        assert session.call("alibi.slopes", [], {"num_heads": 8, "max_bias": 8.0})["result"].shape == (8,)
        assert session.starts == 1
