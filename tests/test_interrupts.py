"""What ends a run is heard wherever the run is, once."""

import functools
import gc
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import run
from conformance.calls.outcomes import INTERRUPTED, Report
from conformance.calls.status import Status
from conformance.checks.evidence.gathered import Gathered
from conformance.checks.evidence.told import told
from conformance.checks.vector_checks import Checked
from conformance.cli import main
from conformance.isolate import interrupts
from conformance.isolate.channel import Channel
from conformance.isolate.interrupts import _handled, heeded
from conformance.isolate.session import Session
from conformance.reports import files, junit, lines
from conformance.run import orchestrator
from conformance.show import terminal

ROOT = Path(__file__).parents[1]
#: What is started in the background may ignore signals.
AS_A_PERSON_STARTS_IT = functools.partial(_handled, dict.fromkeys(interrupts.ENDING, signal.SIG_DFL))

NUMBERS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)


def wait(seconds: float = 20.0) -> None:
    """Do nothing until it is interrupted, or fail."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        os.sched_yield()
    pytest.fail("the interruption was lost")


def send_and_wait(sends: Callable[[int], None], number: int) -> None:
    """Send a signal, which is heard later, be it while what sends it still collects."""
    sends(number)
    wait()


class Loud:
    """What sends a signal when it is gone."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


def in_a_destructor(number: int) -> None:
    Loud(number)


def in_a_finalizer(number: int) -> None:
    weakref.finalize(Quiet(), signal.raise_signal, number)
    gc.collect()


def in_a_callback_of_the_collector(number: int) -> None:
    def once(phase: str, _: object) -> None:
        gc.callbacks.remove(once)
        signal.raise_signal(number)

    gc.callbacks.append(once)
    gc.collect()


def in_the_callback_of_a_reference(number: int) -> None:
    def cb(_: object) -> None:  # as an import's
        signal.raise_signal(number)

    thing = Quiet()
    reference = weakref.ref(thing, cb)
    del thing
    assert reference() is None


class Quiet:
    """What can be referred to weakly."""


@NUMBERS
@pytest.mark.parametrize("sends", [in_a_destructor, in_a_finalizer, in_a_callback_of_the_collector, in_the_callback_of_a_reference])
def test_an_interruption_is_heard_where_an_exception_would_be_dropped(sends: Callable[[int], None], number: int) -> None:
    with heeded(once=True), pytest.raises(KeyboardInterrupt):
        send_and_wait(sends, number)


@NUMBERS
@pytest.mark.parametrize("once", [True, False])
def test_a_further_interruption_changes_nothing_where_one_was_heard_or_comes_together_with_it(number: int, *, once: bool) -> None:
    with heeded(once=once):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        signal.raise_signal(signal.SIGTERM)


@NUMBERS
def test_an_interruption_that_another_thread_gets_is_heard_while_an_answer_is_waited_for(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = socket.socketpair()
    begun, plain, pieces = threading.Event(), select.select, []

    def waiting(*given: object) -> object:
        pieces.append(given[-1])
        begun.set()
        return plain(*given)

    monkeypatch.setattr(select, "select", waiting)
    sending = threading.Thread(target=lambda: begun.wait() and signal.pthread_kill(threading.get_ident(), number))
    sending.start()
    with ours, theirs, heeded(), pytest.raises(KeyboardInterrupt):
        Channel(ours).receive(deadline=time.monotonic() + 20.0)
    sending.join()

    assert max(pieces) <= 1.0


@NUMBERS
def test_an_interruption_that_comes_later_is_heard_too(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "ONE_END", 0.0)

    with heeded():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)


@NUMBERS
def test_what_comes_when_a_program_has_its_status_changes_nothing(number: int) -> None:
    with AS_A_PERSON_STARTS_IT():
        with heeded(to_the_end=True):
            pass
        signal.raise_signal(number)


@NUMBERS
def test_a_process_hears_what_was_sent_before_it_could(number: int) -> None:
    program = "from conformance.isolate.interrupts import heard, heeded\nwith heeded(): heard(); input()"
    with AS_A_PERSON_STARTS_IT(), interrupts.unheard():
        started = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    started.send_signal(number)
    _, told = started.communicate(timeout=60)

    assert told.endswith("KeyboardInterrupt\n")


#: What is imported in place of a library that every command needs.
IMPORTING = {
    "a signal": "import os, signal; os.kill(os.getpid(), signal.{})",
    "two signals": "import os, signal\ntry: os.kill(os.getpid(), signal.{0})\nfinally: os.kill(os.getpid(), signal.{0})",
    "within text that is evaluated": 'exec("import os, signal; os.kill(os.getpid(), signal.{})")',
}


@NUMBERS
@pytest.mark.parametrize("module", ["conformance", "posenc"])
@pytest.mark.parametrize("place", IMPORTING)
def test_an_interruption_while_all_is_imported_is_one_line(tmp_path: Path, place: str, module: str, number: signal.Signals) -> None:
    (tmp_path / "click.py").write_text(IMPORTING[place].format(number.name), encoding="utf-8")

    done = ended(["-m", module, "list"], path=f"{tmp_path}:{ROOT}")

    assert (done.returncode, done.stdout, done.stderr) == (Status.INTERRUPTED, "", "posenc: interrupted\n")


@NUMBERS
def test_a_command_that_is_through_keeps_its_status(number: signal.Signals) -> None:
    later = f"import atexit, os; atexit.register(os.kill, os.getpid(), {int(number)})"
    program = f"{later}; import sys; from conformance.cli import main; sys.exit(main())"

    done = ended(["-c", program, "--version"], path=str(ROOT))

    assert (done.returncode, done.stderr) == (0, "")


def ended(arguments: list[str], *, path: str) -> subprocess.CompletedProcess[str]:
    """Run Python to the end."""
    with AS_A_PERSON_STARTS_IT():
        return subprocess.run(
            [sys.executable, *arguments], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )


def test_reports_are_written_to_the_end_where_that_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "check", lambda target, **_: Report(target, {}, ()))
    monkeypatch.setitem(files.FORMATS, "junit", ("junit.xml", interrupted_once(junit.text)))

    assert main(["check", "mine", "--report", str(tmp_path)]) == Status.INTERRUPTED

    assert {path.name for path in tmp_path.iterdir()} == {name for name, _ in files.FORMATS.values()}


def test_what_is_interrupted_while_it_is_shown_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "check", lambda target, **_: Report(target, {}, ()))
    monkeypatch.setattr(terminal, "write", interrupted_once(terminal.write))

    assert main(["check", "mine", "not_reached", "--report", str(tmp_path)]) == Status.INTERRUPTED

    kept = lines.read(tmp_path / "record.jsonl")
    assert [(report.target, report.complete) for report in kept] == [("mine", True), ("not_reached", False)]


@pytest.mark.parametrize("asked", [1, 2, 4])
def test_an_interruption_among_drawn_calls_is_all_that_is_said_of_what_is_missing(monkeypatch: pytest.MonkeyPatch, asked: int) -> None:
    plain, added = Gathered.add, list[str]()

    def add(gathered: Gathered, checked: Checked) -> None:
        added.append(checked.vector.id)
        if len(added) == asked:
            raise KeyboardInterrupt
        plain(gathered, checked)

    monkeypatch.setattr(Gathered, "add", add)

    report = run.check("numpy", operations=["rope.frequencies"], level="smoke")

    assert report.status is Status.INTERRUPTED
    assert {each.missing for each in report.evidence} == {(INTERRUPTED,)}
    assert [said for said in told(report, verbose=True) if said[0] != "covered"] == [("missing", INTERRUPTED)]


def test_an_interruption_while_the_worker_is_ended_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orchestrator, "judge", lambda session, *_: Report(session.target, {"seed": 1}, ()))
    monkeypatch.setattr(Session, "close", interrupted_once(Session.close))

    report = run.check("numpy")

    assert (report.header, report.complete) == ({"seed": 1}, False)


def interrupted_once(function: Callable[..., object]) -> Callable[..., object]:
    """Return a function that is interrupted when it has been called for the first time."""
    calls = []

    def called(*given: object) -> object:
        calls.append(given)
        returned = function(*given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return returned

    return called
