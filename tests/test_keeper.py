"""What a worker starts ends with it, whatever it does to be forgotten, and what ended a worker keeps its name."""

import functools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from conformance.calls.limits import Limits
from conformance.calls.outcomes import Crashed, Exhausted, Outcome
from conformance.calls.subject import CallFailedError
from conformance.isolate.keeper import KEEPS
from conformance.isolate.process import BOOTSTRAP, WORKER, status
from conformance.isolate.session import Session
from conformance.isolate.tree import runs
from tools.faults.fault import Fault

pytestmark = pytest.mark.skipif(not KEEPS, reason="only Linux hands orphans over to a keeper")
ROOT = Path(__file__).parents[1]
ARRAYS = (np.full((1, 1, 2, 4), 0.5), np.array([3, 9]))
PARAMETERS = {"head_dim": 4, "base": 100.0, "layout": "interleaved", "direction": "positive"}
#: So many seconds nobody else sleeps.
LASTING = f"9876{os.getpid()}"
SLEEPS = f"os.execve('/bin/sleep', ['sleep', '{LASTING}'], {{}})"
#: Ways to start a process that shall be forgotten: it has no environment of ours, and with most its parent is dead when it runs.
WAYS = {
    "a child": f"subprocess.Popen(['sleep', '{LASTING}'])",
    "a child without an environment": f"if os.fork() == 0:\n    {SLEEPS}",
    "a child that is deaf to SIGTERM": f"if os.fork() == 0:\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    {SLEEPS}",
    "a child in a session of its own": f"if os.fork() == 0:\n    os.setsid()\n    {SLEEPS}",
    "a child in a control of its own": f"if os.fork() == 0:\n    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n    {SLEEPS}",
    "a daemon, twice forked": f"""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                {SLEEPS}
            os._exit(0)
    """,
    "a daemon of the shell": f"subprocess.run(['sh', '-c', 'setsid env -i sleep {LASTING} >/dev/null 2>&1 &'])",
    "seventeen daemons": f"""
        for _ in range(17):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    {SLEEPS}
                os._exit(0)
    """,
}
ENDS = {
    "after an answer": "",
    "and a crash at once": "os._exit(9)",
    "and a signal at once": "os.kill(os.getpid(), signal.SIGKILL)",
    "and no answer": "time.sleep(1e6)",
}


def left() -> list[psutil.Process]:
    return [process for process in psutil.process_iter(["cmdline"]) if LASTING in (process.info["cmdline"] or ()) and runs(process)]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    remaining = left()
    for process in remaining:
        process.kill()

    assert remaining == []


def adapter(folder: Path, inside: str, outside: str = "") -> str:
    path = folder / "mine.py"
    path.write_text(Fault("mine", "", "", inside, outside).source, encoding="utf-8")
    return str(path)


def ending(target: str, limits: Limits | None = None) -> Outcome | None:
    """Return how a call ends, or nothing where it is answered."""
    with Session(target, limits or Limits(call_seconds=2.0)) as session:
        try:
            session.request(session.implementations[0], "float32", ARRAYS, PARAMETERS)
        except CallFailedError as failure:
            return failure.outcome
    return None


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_worker_has_started_ends_with_it(way: str, end: str, tmp_path: Path) -> None:
    source = "\n".join(line.removeprefix("        ") for line in WAYS[way].strip("\n").split("\n"))

    ending(adapter(tmp_path, f"{source}\n{ENDS[end]}"))

    assert left() == []


def test_what_a_worker_starts_while_it_is_imported_ends_too(tmp_path: Path) -> None:
    target = adapter(tmp_path, "", f"if os.fork() == 0:\n    os.setsid()\n    {SLEEPS}\nos._exit(4)")

    with pytest.raises(Exception, match="exit status 4"):
        ending(target)

    assert left() == []


def test_more_processes_than_allowed_are_all_ended(tmp_path: Path) -> None:
    source = f"for _ in range(60):\n    if os.fork() == 0:\n        os.setsid()\n        {SLEEPS}\ntime.sleep(100)"

    assert ending(adapter(tmp_path, source), Limits(processes=24)) == Exhausted("processes", 24)
    assert left() == []


def test_a_keeper_that_is_killed_takes_its_worker_with_it(tmp_path: Path) -> None:
    found = ending(adapter(tmp_path, "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(100)"))

    assert found == Crashed("the process ended with signal SIGKILL")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_a_keeper_survives_what_is_not_for_it(name: str, tmp_path: Path) -> None:
    assert ending(adapter(tmp_path, f"os.killpg(0, 0)\nsignal.signal(signal.{name}, signal.SIG_IGN)\nos.killpg(0, signal.{name})")) is None


def test_a_child_that_holds_standard_output_keeps_nobody_waiting(tmp_path: Path) -> None:
    started = time.monotonic()
    target = adapter(tmp_path, f"subprocess.Popen(['sleep', '{LASTING}'], start_new_session=True)\nos._exit(5)")

    assert ending(target, Limits(call_seconds=60.0)) == Crashed("the process ended with exit status 5")
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("number", "name"),
    [(34, "SIGRTMIN"), (37, "SIGRTMIN+3"), (64, "SIGRTMAX"), (62, "SIGRTMAX-2")],
)
def test_a_real_time_signal_has_a_name(number: int, name: str, tmp_path: Path) -> None:
    assert ending(adapter(tmp_path, f"os.kill(os.getpid(), {number})")) == Crashed(f"the process ended with signal {name}")


def test_a_signal_that_nobody_knows_is_told_by_its_number() -> None:
    assert status(-200) == "signal 200"
    assert status(-33) == "signal 33"
    assert status(-11) == "signal SIGSEGV"
    assert status(7) == "exit status 7"
    assert status(None) == "its channel closed"


def test_a_program_ended_by_a_real_time_signal_is_told_too(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os\nos.kill(os.getpid(), 40)\n", encoding="utf-8")

    from conformance.isolate.targets import TargetError

    with Session(f"command:{sys.executable} {program}") as session, pytest.raises(TargetError, match=r"ended with signal SIGRTMIN\+6"):
        session.implementations  # noqa: B018  reading starts the worker


def test_a_process_whose_parent_has_ended_already_ends_at_once() -> None:
    program = "from conformance.isolate import kernel; kernel.end_with_parent({}); print('lives')"
    run = functools.partial(subprocess.run, cwd=ROOT, capture_output=True, check=False)
    gone, here = (run([sys.executable, "-c", program.format(each)]) for each in (0, os.getpid()))

    assert (gone.returncode, gone.stdout) == (-signal.SIGKILL, b"")
    assert (here.returncode, here.stdout.strip()) == (0, b"lives")


def test_a_worker_of_a_harness_that_was_killed_while_it_started_is_never_imported(tmp_path: Path) -> None:
    target = adapter(tmp_path, "", f"open({str(tmp_path / 'imported')!r}, 'w').close()\nwhile True: pass")
    ours, theirs = socket.socketpair()
    arguments = [str(ROOT), str(theirs.fileno()), target, WORKER, "0", "main"]

    with ours, theirs:
        ended = subprocess.run([sys.executable, "-P", "-c", BOOTSTRAP, *arguments], pass_fds=[theirs.fileno()], timeout=60, check=False)

    assert ended.returncode == 0
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("runs_in", ["main", "a thread"])
def test_a_killed_harness_leaves_nothing_that_a_worker_has_started(tmp_path: Path, runs_in: str) -> None:
    note = tmp_path / "called"
    target = adapter(tmp_path, f"if os.fork() == 0:\n    os.setsid()\n    {SLEEPS}\nopen({str(note)!r}, 'w').close()\ntime.sleep(1e6)")
    judge = "check(sys.argv[1], limits=Limits(call_seconds=300.0))"
    called = judge if runs_in == "main" else f"threading.Thread(target=lambda: {judge}).start()"
    program = f"import sys, threading; from conformance.run import check; from conformance.calls.limits import Limits; {called}"
    running = subprocess.Popen([sys.executable, "-c", program, target], cwd=ROOT, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (note.exists() and left()) and time.monotonic() < deadline:
        os.sched_yield()
    assert left()
    below = psutil.Process(running.pid).children(recursive=True)

    running.send_signal(signal.SIGKILL)
    running.wait()

    psutil.wait_procs(below, timeout=30)
    assert left() == []


def test_a_worker_that_stops_after_its_answer_is_told_at_once(tmp_path: Path) -> None:
    source = "if os.fork() == 0:\n    time.sleep(0.5)\n    os.kill(os.getppid(), signal.SIGSTOP)\n    os._exit(0)"
    with Session(adapter(tmp_path, source), Limits(call_seconds=60.0)) as session:
        faulty, right = session.implementations
        session.request(faulty, "float32", ARRAYS, PARAMETERS)
        process = session._process  # noqa: SLF001  which worker it is
        assert process is not None
        process.popen.wait(timeout=20)
        session.request(right, "float32", (), {"num_heads": 8, "max_bias": 8.0, "slopes": "code"})
        ended = session.afterwards(faulty.index, "float32")

    assert isinstance(ended, Crashed)
    assert "which says that SIGSTOP stopped it; after rope.rotate(" in ended.message
    assert session.afterwards(right.index, "float32") is None


def test_a_worker_that_stops_within_a_call_is_no_time_out(tmp_path: Path) -> None:
    came = ending(adapter(tmp_path, "os.kill(os.getpid(), signal.SIGSTOP)"), Limits(call_seconds=60.0))

    assert came == Crashed("the process ended with exit status 147, which says that SIGSTOP stopped it")
