"""What ``posenc check`` promises under faults, ``identify``, ``precision``, ``compare`` and the pytest plugin keep too."""

import functools
import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import psutil
import pytest
import test_nothing_lost
from test_nothing_lost import LOCKED, ONCE

from conformance.calls.outcomes import FUTILE
from conformance.calls.status import Status
from conformance.checks import law_checks
from conformance.cli import main
from conformance.identify import MORE
from conformance.identify.asking import LOST, Strangers
from conformance.isolate.session import Session
from conformance.isolate.tree import runs
from conformance.precision import answers, survey
from conformance.run.questions import Judge
from conformance.show import compare
from tools import reliability
from tools.faults import elsewhere
from tools.faults.elsewhere import COMMANDS, Command
from tools.faults.fault import Fault
from tools.reliability import FAULTS

ROOT = Path(__file__).parents[1]
FROM_HERE = {**os.environ, "PYTHONPATH": str(ROOT)}
#: One of each way to end a worker, one that gives no worker, one that returns nonsense, and one that never stops printing.
NAMES = (
    "segmentation fault",
    "infinite loop in Python",
    "a frame without JSON",
    "exits while it is imported",
    "NaN",
    "a thread that prints without end",
    "a right answer, and after it bytes that are no frame",
)
CHOSEN = [fault for fault in FAULTS if fault.name in NAMES]
SOURCE = """\
import os, time
from pathlib import Path
from conformance import Adapter
from refimpl.schemes import alibi, binary

HERE = Path(__file__).parent
{outside}
adapter = Adapter("kept")

@adapter.implements("alibi.bias")
def bias(*arrays, **parameters):
    return alibi.bias(*arrays, **parameters)

@adapter.implements("binary.encode")
def encode(positions, *, bits):
    {inside}
    return binary.encode(positions, bits=bits)
"""
LASTING = "(HERE / 'called').touch(); time.sleep(600)"
#: Answers twice, once.
TWICE = """
from conformance.isolate import serving
honest, ARMED = serving._send, []
def send(channel, header, values):
    honest(channel, header, values)
    if ARMED and not (HERE / "told").exists():
        (HERE / "told").touch()
        honest(channel, {**header, "call": header["call"] + 1}, values)
serving._send = send
"""
#: The commands that start a worker, with what stops an endless one, and what shows that the first operation was judged.
STARTING = {
    "identify": (["-m", "conformance", "identify", "kept.py", "--call-seconds", "300"], "alibi.bias"),
    "precision": (["-m", "conformance", "precision", "kept.py", "--call-seconds", "300"], "kept alibi.bias in float32"),
    "pytest": (
        ["-m", "pytest", "-p", "no:cacheprovider", "--posenc", "kept.py", "--posenc-call-seconds", "300", "-k", "single or code or first"],
        " passed",
    ),
}

ENDINGS = [
    *((name, number) for name in ("identify", "precision") for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    *(("pytest", number) for number in (signal.SIGTERM, signal.SIGHUP)),
]


written = functools.partial(test_nothing_lost.written, source=SOURCE)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
@pytest.mark.parametrize("fault", CHOSEN, ids=lambda fault: fault.name)
def test_a_command_tells_a_fault_and_goes_on(tmp_path: Path, command: Command, fault: Fault) -> None:
    with reliability.marked() as mark:
        ended = elsewhere.ended(command, fault, tmp_path)

        assert ended.trouble == "", ended.text
        assert reliability.left_behind(mark) == []


def ran(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python to its end."""
    command, environment = [sys.executable, *arguments], {**FROM_HERE, **environment}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def started(arguments: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    """Start a command, and return when its worker is called for the second operation."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    running = subprocess.Popen([sys.executable, *arguments], cwd=folder, env=FROM_HERE, text=True, **pipes)
    deadline = time.monotonic() + 120
    while not (folder / "called").exists() and running.poll() is None and time.monotonic() < deadline:
        os.sched_yield()
    return running


@pytest.mark.parametrize(("name", "number"), ENDINGS, ids=lambda each: getattr(each, "name", each))
def test_what_ends_a_command_leaves_what_was_found_and_no_worker(tmp_path: Path, name: str, number: signal.Signals) -> None:
    written(tmp_path, inside=LASTING)
    arguments, judged = STARTING[name]
    running = started(arguments, tmp_path)
    below = psutil.Process(running.pid).children(recursive=True)

    for each in (number, signal.SIGTERM, signal.SIGINT):  # a runner sends several
        running.send_signal(each)
    told, _ = running.communicate(timeout=60)

    assert running.returncode == (pytest.ExitCode.INTERRUPTED if name == "pytest" else Status.INTERRUPTED), told
    assert judged in told
    assert "Traceback" not in told
    assert below
    assert not [process for process in below if runs(process)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends what a killed process has started")
@pytest.mark.parametrize("name", STARTING)
def test_a_worker_ends_with_a_command_that_is_killed(tmp_path: Path, name: str) -> None:
    written(tmp_path, inside=LASTING)
    running = started(STARTING[name][0], tmp_path)
    below = psutil.Process(running.pid).children(recursive=True)

    running.kill()
    running.communicate()

    assert below
    assert not [process for process in psutil.wait_procs(below, timeout=60)[1] if runs(process)]


def interrupting(found: Iterator[Any]) -> Iterator[Any]:
    """Yield the first, and then be interrupted."""
    yield next(iter(found))
    raise KeyboardInterrupt


def test_an_interruption_leaves_the_curves_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = survey.curves
    monkeypatch.setattr(survey, "curves", lambda *given, **named: interrupting(plain(*given, **named)))

    assert main(["precision", written(tmp_path), "--json"]) == Status.INTERRUPTED

    told = json.loads(capsys.readouterr().out)
    assert not told["complete"]
    assert [each["operation"] for each in told["curves"]] == ["alibi.bias"]


def test_an_interruption_leaves_the_lengths_before_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plain = compare.tables
    monkeypatch.setattr(compare, "tables", lambda *given: interrupting(plain(*given)))

    assert main(["compare", "alibi", "--lengths", "4,8", "--phase", "forward"]) == Status.INTERRUPTED

    told = capsys.readouterr()
    assert "4 tokens" in told.out
    assert "8 tokens" not in told.out
    assert told.err.strip() == "posenc: interrupted"


def test_an_interruption_leaves_the_functions_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from conformance import identify

    plain = identify.identify
    monkeypatch.setattr(identify, "identify", lambda *given, **named: interrupting(plain(*given, **named)))

    assert main(["identify", written(tmp_path), "--json"]) == Status.INTERRUPTED

    assert len(json.loads(capsys.readouterr().out)) == 1


@pytest.mark.parametrize(
    ("changing", "words"),
    [
        ("os.environ['PYTHONHASHSEED'] == '0'", "depends on hash order: other answers come under PYTHONHASHSEED=1"),
        ("len(BEGUN.read_text()) == 1", "answers differ from one fresh worker to the next"),
        ("False", "binary.encode"),
    ],
    ids=["hash order", "chance", "neither"],
)
def test_identify_says_what_changes_answers_besides_the_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changing: str, words: str
) -> None:
    counted = "BEGUN = HERE / 'begun'\nBEGUN.open('a').write('x')\n"

    main(["identify", written(tmp_path, outside=f"{counted}CHANGED = {changing}", inside="positions = positions + CHANGED")])

    told = " ".join(capsys.readouterr().out.split())
    assert words in told
    assert ("hash order" in told, "fresh worker" in told) == ("hash order" in words, "fresh worker" in words)


def identified(folder: Path, capsys: pytest.CaptureFixture[str], function: str, name: str = "strange.py", *, status: int = 0) -> str:
    (folder / name).write_text(f"import os\nimport numpy as np\nCALLS = []\n{function}\n", encoding="utf-8")
    assert main(["identify", f"{folder / name}:f", "--no-check", "--call-seconds", "5"]) == status
    printed = capsys.readouterr()
    return " ".join((printed.out + printed.err).split())


def test_a_function_that_gives_the_same_in_every_process_is_not_said_to_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "fresh worker" not in identified(tmp_path, capsys, "def f(x): return np.sqrt(np.where(x < 0, np.nan, x))", status=1)


def test_identify_tells_of_a_call_that_had_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (
        "def f(num_heads, max_bias=8.0):\n"
        "    CALLS.append(1)\n"
        "    if len(CALLS) == 3: os._exit(9)\n"
        "    return 2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads)"
    )

    assert "a call had no answer: the process ended with exit status 9" in identified(tmp_path, capsys, source, status=1)


def test_identify_says_that_calls_before_are_why_a_call_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "def f(x, positions):\n    CALLS.append(1)\n    if len(CALLS) > 1: raise RuntimeError('once is enough')\n    return x"

    told = identified(tmp_path, capsys, source, status=1)

    assert "answers depend on what was called before: f(" in told
    assert "RuntimeError: once is enough" in told


def test_identify_tells_of_an_exception_that_comes_at_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (
        "def f(num_heads, max_bias=8.0):\n"
        "    CALLS.append(1)\n"
        "    if len(CALLS) % 3 == 0: raise SystemExit(0)\n"
        "    return 2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads)"
    )
    told = identified(tmp_path, capsys, source, status=1)
    assert "alibi.slopes" in told
    assert "a call that was answered when it was made again ended with SystemExit" in told


def test_identify_takes_no_call_that_ended_its_process_once_for_a_refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (
        "def f(x, positions, base=10_000.0):\n"
        "    CALLS.append(1)\n"
        "    if len(CALLS) == 6 and not os.path.exists(__file__ + '.once'): open(__file__ + '.once', 'w'); os._exit(9)\n"
        "    angles = positions[:, None] * base ** (-2 * np.arange(x.shape[-1] // 2) / x.shape[-1])\n"
        "    turned = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)\n"
        "    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)"
    )

    told = identified(tmp_path, capsys, source, status=1)

    assert "rope.rotate: base 10000" in told
    assert "a call had no answer" in told
    assert "head_dim" not in told


def test_identify_checks_the_adapter_of_code_that_allows_one_worker_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (
        "import fcntl, pathlib\n"
        "import numpy as np\n"
        "lock = open(pathlib.Path(__file__).with_name('lock'), 'w')\n"
        "fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "def f(num_heads, max_bias=8.0): return 2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads)\n"
    )
    (tmp_path / "locked.py").write_text(source, encoding="utf-8")

    assert main(["identify", str(tmp_path / "locked.py:f")]) == 0
    assert "checked at level smoke: it conforms" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", ["a b-c.py", "calendar.py"])
def test_a_file_that_no_import_can_name_gets_no_adapter_that_imports_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    source = "def f(num_heads, max_bias=8.0): return 2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads)"
    told = identified(tmp_path, capsys, source, name)

    assert "its file's name is no name of a module" in told
    assert "import f" not in told


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ("CALLS.append(1); assert len(CALLS) % 3", "at first binary.encode/"),
        ("raise Unsupported('no kernel')", "refused, though its adapter declares it: no kernel"),
    ],
    ids=["an exception at times", "always refused"],
)
def test_precision_tells_of_calls_that_gave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], inside: str, words: str
) -> None:
    written(tmp_path, outside="from conformance import Unsupported\nCALLS = []\n", inside=inside)
    monkeypatch.chdir(tmp_path)

    main(["precision", "kept.py", "--operation", "binary.encode"])

    assert words in " ".join(capsys.readouterr().out.split())


def test_precision_tells_of_a_crash_that_passed_when_it_was_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    once = "if not (HERE / 'ended').exists(): (HERE / 'ended').touch(); os._exit(6)"
    written(tmp_path, inside=once)
    monkeypatch.chdir(tmp_path)

    main(["precision", "kept.py"])

    assert "a crash: the process ended with exit status 6" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["identify", "precision"])
def test_what_a_function_leaves_behind_and_how_it_ends_later_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    written(tmp_path, outside=TWICE, inside="os.umask(0o123); ARMED.append(True)")
    monkeypatch.chdir(tmp_path)

    main([command, "kept.py"])

    told = " ".join(capsys.readouterr().out.split())
    assert "changes global state: permissions of new files" in told
    assert "after its answer: sent an answer that nobody asked for" in told


def test_precision_tells_that_right_answers_are_at_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["precision", written(tmp_path), "--operation", "binary.encode"])

    assert "right answers are at hand: the target imports refimpl.schemes in kept.py" in " ".join(capsys.readouterr().out.split())


def test_identify_asks_no_more_of_what_ends_its_process_after_its_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = TWICE.replace('not (HERE / "told").exists()', '(HERE / "told").open("a").write("x")').replace('(HERE / "told").touch()', "pass")
    slopes = "def f(num_heads, max_bias=8.0): ARMED.append(1); return 2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads)"

    told = identified(tmp_path, capsys, f"from pathlib import Path\nHERE = Path(__file__).parent\n{again}\n{slopes}", status=1)

    assert "after its answer: sent an answer that nobody asked for" in told
    assert f"not tried, {LOST}: " in told
    assert len((tmp_path / "told").read_text()) < 5 * FUTILE


#: Ends its process as the second call comes, as a thread may that was left running.
SHORT = "if CALLS: os._exit(7)\n    CALLS.append(1); open(__file__ + '.calls', 'a').write('x')"


#: Writes into the channel, which is the one socket that the process has.
GARBAGE = "[os.write(n, b'garbage' * 9) for n in range(3, 64) if 'socket' in os.path.realpath(f'/proc/self/fd/{n}')]"


def test_identify_stops_where_every_process_ends_after_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = identified(tmp_path, capsys, f"def f(x, positions):\n    {SHORT}\n    return x * np.cos(positions)[:, None]", status=1)

    assert "a call had no answer: the process ended with exit status 7" in told
    assert f"unknown, {LOST}" in told
    assert "differ" not in told
    assert "depend" not in told
    assert len((tmp_path / "strange.py.calls").read_text()) == FUTILE + 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("os._exit(9)", "gives no result: no call that was tried was answered"),
        (GARBAGE, "gives no result: no call that was tried was answered"),
        ("len(CALLS) > 1 and os._exit(9)", "unknown: too few of the calls that were tried were answered"),
    ],
    ids=["ends", "garbage", "ends at all but the first"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux names what is open so")
def test_identify_says_of_code_that_gives_no_result_whether_any_call_was_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str, words: str
) -> None:
    counted = "CALLS = [0] * os.path.exists(__file__ + '.called'); open(__file__ + '.called', 'w')"
    told = identified(tmp_path, capsys, f"{counted}\ndef f(x, positions):\n    CALLS.append(1); {fault}\n    return x", status=1)

    assert words in told


def test_the_time_that_is_given_is_that_of_fresh_workers_too() -> None:
    with Strangers("strange.py:f", seconds=0) as strangers:
        assert strangers.fresh().over


@pytest.mark.parametrize("arguments", [["identify", "kept.py"], ["precision", "kept.py"]], ids=lambda arguments: arguments[0])
def test_a_worker_that_starts_no_second_time_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    written(tmp_path, outside=ONCE, inside="os._exit(3)")
    monkeypatch.chdir(tmp_path)

    assert main(arguments) in (Status.CONFORMS, Status.DIFFERS)

    told = " ".join(capsys.readouterr().out.split())
    assert "alibi.bias" in told
    assert "the process ended with exit status 3" in told or "its worker can't be started again" in told
    assert "calls end its process" not in told  # which may be said of who only wasn't started


def test_a_bad_target_among_several_fails_as_a_test_and_the_others_are_judged(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "bad.py").write_text("adapter = \n", encoding="utf-8")
    chosen = "bad or (alibi.bias and not law and not evidence and not drawn)"
    targets = ["--posenc", "bad.py", "--posenc", "kept.py"]

    done = ran(tmp_path, "-m", "pytest", "-p", "no:cacheprovider", "-v", *targets, "-k", chosen, "-m", "level_smoke")

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "bad.py can't be imported: SyntaxError" in done.stdout
    assert "1 failed" in done.stdout
    assert "passed" in done.stdout
    assert "Traceback" not in done.stdout


COMMON = {
    "identify": ["identify", "kept.py"],
    "precision": ["precision", "kept.py"],
    "compare": ["compare", "none", "--lengths", "4"],
    "check": ["check", "kept.py", "--level", "smoke"],
}


def shell(folder: Path, name: str, after: str) -> subprocess.CompletedProcess[str]:
    """Run a command with something done to its output."""
    line = f"set -o pipefail; {sys.executable} -m conformance {' '.join(COMMON[name])} {after}"
    return subprocess.run(["bash", "-c", line], cwd=folder, env=FROM_HERE, capture_output=True, text=True, check=False)  # noqa: S607  the same


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
@pytest.mark.parametrize("name", COMMON)
def test_a_full_disk_is_told_in_one_line(tmp_path: Path, name: str) -> None:
    written(tmp_path)

    done = shell(tmp_path, name, "> /dev/full")

    assert (done.returncode, done.stderr) == (Status.HARNESS_FAILED, "posenc: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
@pytest.mark.parametrize("after", ["2> /dev/full", "2>&1 | true"], ids=["full", "a reader that goes away"])
def test_what_can_not_even_be_refused_in_words_keeps_its_status(tmp_path: Path, after: str) -> None:
    assert shell(tmp_path, "check", after).returncode == Status.WRONG_USAGE


@pytest.mark.parametrize("command", ["check {target}", "doctor"])
def test_a_working_folder_that_is_gone_is_told(tmp_path: Path, command: str) -> None:
    asked = command.format(target=written(tmp_path))
    line = f"mkdir gone && cd gone && rmdir ../gone && {sys.executable} -m conformance {asked}"

    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=FROM_HERE, capture_output=True, text=True, check=False)  # noqa: S607  the same

    assert (done.returncode, done.stderr) == (Status.WRONG_USAGE, "posenc: working folder must exist, got one that is gone\n")


@pytest.mark.parametrize("name", COMMON)
def test_a_reader_that_goes_away_is_no_verdict(tmp_path: Path, name: str) -> None:
    written(tmp_path)

    done = shell(tmp_path, name, "| true")

    assert (done.returncode, done.stderr) == (Status.INTERRUPTED, "")


@pytest.mark.parametrize("name", COMMON)
def test_streams_that_are_closed_change_no_status(tmp_path: Path, name: str) -> None:
    written(tmp_path)

    assert shell(tmp_path, name, "<&- >&- 2>&-").returncode == Status.CONFORMS


def test_streams_that_are_closed_change_no_status_of_parts_side_by_side(tmp_path: Path) -> None:
    written(tmp_path)

    assert shell(tmp_path, "check", "--jobs 2 <&- >&- 2>&-").returncode == Status.CONFORMS


@pytest.mark.parametrize("missing", ["numpy", "yaml", "click"])
def test_a_library_that_can_not_be_imported_is_told_in_one_line(tmp_path: Path, missing: str) -> None:
    written(tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / f"{missing}.py").write_text("raise ImportError('lib is\\nmissing')\n", encoding="utf-8")

    done = ran(tmp_path, "-m", "conformance", *COMMON["check"], PYTHONPATH=f"{broken}:{ROOT}")

    told = "posenc: internal error: ImportError: lib is missing (POSENC_TRACEBACK=1 shows where)\n"
    assert (done.returncode, done.stderr) == (Status.HARNESS_FAILED, told)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
def test_what_can_not_be_shown_is_still_kept(tmp_path: Path) -> None:
    written(tmp_path)

    done = shell(tmp_path, "check", "--report report > /dev/full")

    assert done.returncode == Status.HARNESS_FAILED
    assert "conforms" in (tmp_path / "report" / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["identify", "precision"])
def test_a_target_that_can_not_be_imported_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    target = written(tmp_path, outside='raise OSError("the device is gone")')

    assert main([name, target]) == Status.WRONG_USAGE
    assert capsys.readouterr().err == f"posenc: {target} can't be imported: OSError: the device is gone (line 7)\n"


def test_a_picture_that_can_not_be_written_loses_no_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "pictures"
    folder.mkdir()
    target = written(tmp_path, inside="import shutil; shutil.rmtree(HERE / 'pictures', ignore_errors=True)")

    assert main(["precision", target, "--plot", str(folder / "curves.svg")]) == Status.HARNESS_FAILED

    told = capsys.readouterr()
    assert "kept alibi.bias in float32" in told.out
    assert "folder of the file must exist" in told.err


def test_an_implementation_that_keeps_crashing_is_asked_no_more_in_pytest(tmp_path: Path) -> None:
    with Session(written(tmp_path, inside="os._exit(3)")) as session:
        judge = Judge(session, examples=1)
        asked = [question for question in judge.questions if question.task.operation == "binary.encode"]
        told = [str(judge.answer(question).outcome) for question in asked[:5]]
        judge.diagnosis(asked[0])

        assert [("exit status 3" in words) for words in told] == [True, True, True, False, False]
        assert "not run after 3 crashes or time-outs" in told[3]
        assert session.starts < 12


def in_pytest(folder: Path, *arguments: str, after: str = "") -> subprocess.CompletedProcess[str]:
    """Run pytest on an adapter, with something done to its output."""
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--posenc", "kept.py", "--posenc-seed", "0", *arguments]
    return subprocess.run(
        ["bash", "-c", f"{shlex.join(words)} {after}"],  # noqa: S607  the same
        cwd=folder, env={**FROM_HERE, "COLUMNS": "200"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_worker_that_starts_no_second_time_loses_nothing_in_pytest(tmp_path: Path) -> None:
    written(tmp_path, outside=ONCE, inside="os._exit(3)")

    done = in_pytest(tmp_path, "-v", "-k", "single or code or first", "-m", "level_smoke")

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "the process ended with exit status 3" in done.stdout
    assert "its worker can't be started again" in done.stdout
    assert "the device is gone" in done.stdout
    assert "INTERNALERROR" not in done.stdout


@pytest.mark.parametrize("name", ["precision", "pytest"])
def test_code_of_which_one_worker_can_run_is_served_by_one(tmp_path: Path, name: str) -> None:
    written(tmp_path, outside=f"import fcntl{LOCKED}")
    arguments, judged = STARTING[name]

    done = ran(tmp_path, *arguments)

    assert done.returncode == 0, done.stdout + done.stderr
    assert judged in done.stdout


def test_what_a_call_leaves_behind_is_told_of_it_in_pytest(tmp_path: Path) -> None:
    written(tmp_path, inside="os.umask(0o123); raise ValueError")

    done = in_pytest(tmp_path, "-k", "single or code or first", "-m", "level_smoke")

    assert "kept, binary.encode in float32: changes global state: permissions of new files" in done.stdout
    assert "kept, alibi.bias in float32: changes" not in done.stdout


LAW = ("--tb=short", "-k", "alibi.bias and law and float32")
WRONG = "    return -alibi.bias"


@pytest.fixture
def lawless(tmp_path: Path) -> Path:
    """Write an adapter that breaks a law, and return its folder."""
    written(tmp_path)
    path = tmp_path / "kept.py"
    path.write_text(path.read_text(encoding="utf-8").replace("    return alibi.bias", WRONG), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["kept.py", "kept.py/found", "absent/found", "/dev/null"])
def test_a_folder_for_counterexamples_that_can_not_be_written_to_is_told_before_anything_is_judged(lawless: Path, name: str) -> None:
    done = in_pytest(lawless, *LAW, "--save-failures", name)

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: --save-failures: folder must be one that files can be written to, got '{name}'" in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
def test_a_counterexample_that_does_not_fit_on_the_disk_loses_no_failure(lawless: Path) -> None:
    (lawless / "found").mkdir()
    in_pytest(lawless, *LAW, "--save-failures", "found")
    saved = list((lawless / "found").iterdir())
    for path in saved:
        path.unlink()
        path.symlink_to("/dev/full")

    done = in_pytest(lawless, *LAW, "--save-failures", "found")

    assert saved
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert done.stdout.count("saved     nothing: [Errno 28] No space left on device: 'found/") == len(saved)
    assert done.stdout.count("reproduce:") >= len(saved)
    assert "Traceback" not in done.stdout
    assert "Error" not in done.stdout.partition("short test summary")[2]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
@pytest.mark.parametrize("after", ["> /dev/full", "--junit-xml=/dev/full"])
def test_pytest_on_a_full_disk_is_no_success_and_leaves_no_process(tmp_path: Path, after: str) -> None:
    written(tmp_path)

    with reliability.marked() as mark:
        FROM_HERE[reliability.MARK] = mark
        done = in_pytest(tmp_path, "-k", "first", after=after)
        del FROM_HERE[reliability.MARK]

        assert done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        assert "No space left on device" in done.stderr
        assert reliability.left_behind(mark) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "none", "--lengths", "4", "--phase", "forward"], "4 tokens, forward"),
        (["precision", "kept.py", "--operation", "binary.encode"], "kept binary.encode in float32"),
    ],
    ids=["compare", "precision"],
)
def test_a_picture_that_does_not_fit_on_the_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    pytest.importorskip("matplotlib")
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("full.svg").symlink_to("/dev/full")

    assert main([*arguments, "--plot", "full.svg"]) == Status.HARNESS_FAILED

    told = capsys.readouterr()
    assert words in told.out
    assert "wrote" not in told.out
    assert told.err == "posenc: No space left on device: full.svg\n"


def test_compare_starts_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object, **__: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(subprocess, "Popen", started)

    assert main(COMMON["compare"]) == Status.CONFORMS


@pytest.mark.parametrize("schemes", [["none", "no_such"], ["no_such", "rope"]])
def test_a_scheme_that_can_not_be_compared_is_told_before_any_is(capsys: pytest.CaptureFixture[str], schemes: list[str]) -> None:
    assert main(["compare", *schemes]) == Status.WRONG_USAGE

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "posenc: scheme must be one that `posenc list` names, got 'no_such'\n"


AROUND = {
    "check": ["-m", "posenc", "check", "kept.py", "--level", "smoke", "--jobs", "2"],
    "identify": ["-m", "posenc", "identify", "kept.py"],
    "pytest": ["-m", "pytest", "-p", "no:cacheprovider", "--posenc", "kept.py", "-k", "first"],
}


def shadowing(folder: Path) -> str:
    """Make packages that are called as ours, and return a path on which they are found first."""
    for name in ("conformance", "refimpl", "vectors"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("OWN = True\n", encoding="utf-8")
    return f"{folder}{os.pathsep}{ROOT}"


@pytest.mark.parametrize("name", AROUND)
def test_packages_of_a_project_that_are_called_as_ours_change_nothing(tmp_path: Path, name: str) -> None:
    written(tmp_path)

    done = ran(tmp_path, *AROUND[name], PYTHONPATH=shadowing(tmp_path))

    assert done.returncode == Status.CONFORMS, done.stdout + done.stderr


def test_packages_that_a_project_has_imported_in_place_of_ours_are_wrong_usage(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "conftest.py").write_text("import conformance\n\nassert conformance.OWN\n", encoding="utf-8")

    done = ran(tmp_path, *AROUND["pytest"], PYTHONPATH=shadowing(tmp_path))

    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "ERROR: --posenc: conformance must be the package of posenc, got one that was imported before from" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_workers_are_started_in_one_place() -> None:
    package = ROOT / "conformance"
    sources = {path.relative_to(package).as_posix(): path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    starting = {name for name, source in sources.items() if "subprocess.Popen(" in source}

    assert starting == {"isolate/process.py", "protocol/program.py", "show/bench.py"}  # a worker; the program that it talks to; ourselves


def test_what_a_worker_says_after_its_answers_is_told_in_pytest_whatever_is_chosen(tmp_path: Path) -> None:
    written(tmp_path, outside=TWICE, inside="ARMED.append(True)")

    done = in_pytest(tmp_path, "-k", "encode and not law and not evidence", "-m", "level_smoke")

    assert "kept, binary.encode in float32: after its answer: sent an answer that nobody asked for" in " ".join(done.stdout.split())


@pytest.mark.skipif(sys.platform != "linux", reason="needs a system that limits the data of a process")
def test_a_command_without_memory_ends_in_one_line_and_with_no_verdict(tmp_path: Path) -> None:
    program = "import conformance.cli as cli, resource as r; r.setrlimit(r.RLIMIT_DATA, (1 << 20,) * 2); raise SystemExit(cli.main())"

    done = ran(tmp_path, "-c", program, "check", written(tmp_path))

    assert done.returncode == Status.WRONG_USAGE
    assert done.stderr == "posenc: memory must not be limited to less than 1024 MiB (ulimit -d), got 1 MiB\n"


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "posenc", "check", "--level", "smoke", "kept.py"],
        ["-m", "posenc", "precision", "kept.py"],
        ["-m", "pytest", "-p", "no:cacheprovider", "-k", "first", "--posenc", "kept.py"],
    ],
    ids=["check", "precision", "pytest"],
)
def test_every_command_says_which_variable_code_asks_for_and_lacks_where_nothing_fails(tmp_path: Path, words: list[str]) -> None:
    written(tmp_path, inside="os.getenv('MY_BACKEND', 'eager')")

    done = ran(tmp_path, *words, MY_BACKEND="flash_attention_2", NOBODY_ASKS="flash_attention_2")

    told = " ".join(done.stdout.split())
    assert "the code asks for MY_BACKEND, which is withheld from it: POSENC_PASS=MY_BACKEND passes it on" in told
    assert "NOBODY_ASKS" not in told


def test_identify_says_which_variable_a_function_asks_for_and_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_BACKEND", "flash_attention_2")
    source = "def f(num_heads): os.getenv('MY_BACKEND'); return 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)"

    assert "the code asks for MY_BACKEND, which is withheld from it" in identified(tmp_path, capsys, source)


#: Ends the run at a call of a function, and answers some seconds later.
ENDS_THE_RUN = """
import os, pathlib, signal, time
import numpy as np
from conformance import Adapter
from refimpl.schemes import binary, rope

HERE = pathlib.Path(__file__).parent
CHECKED = "pasted_adapter" in pathlib.Path("/proc/self/cmdline").read_text()
adapter = Adapter("two")

@adapter.implements("alibi.slopes", max_bias=8.0, slopes="paper")
def slopes(num_heads, **_):
    if {when}:
        os.kill(int((HERE / "harness").read_text()), signal.{number})
        time.sleep({seconds})
    return 2.0 ** (-8.0 * np.arange(1, num_heads + 1) / num_heads)

@adapter.implements("rope.frequencies")
def frequencies(*, head_dim, base):
    return rope.frequencies(head_dim=head_dim, base=base, like=np.zeros(1))
"""
RUNS = """
import os, pathlib, sys
pathlib.Path("harness").write_text(str(os.getpid()))
from {module} import main
sys.exit(main(sys.argv[1:]))
"""


def interrupted(folder: Path, *arguments: str, when: str = "True", number: str = "SIGINT", seconds: float = 600) -> str:
    """Return what a command says that a function of its target interrupts."""
    (folder / "two.py").write_text(ENDS_THE_RUN.format(when=when, number=number, seconds=seconds))
    module = arguments[0] if arguments[0] == "pytest" else "conformance.cli"

    ended = ran(folder, "-c", RUNS.format(module=module), *arguments[module == "pytest" :])

    assert ended.returncode == (pytest.ExitCode.INTERRUPTED if module == "pytest" else Status.INTERRUPTED), ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    return ended.stdout + ended.stderr


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the function reads from /proc who called it")


@ON_LINUX
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_identify_says_that_an_interruption_left_its_adapter_unchecked(tmp_path: Path, number: str) -> None:
    told = " ".join(interrupted(tmp_path, "identify", "two.py:slopes", when="CHECKED", number=number).split())

    assert "alibi.slopes" in told
    assert "the adapter wasn't checked to its end: it was interrupted" in told
    assert f"not tried, it was interrupted: {MORE}" in told


@ON_LINUX
def test_identify_names_the_functions_that_an_interruption_left_unasked(tmp_path: Path) -> None:
    told = json.loads(interrupted(tmp_path, "identify", "two.py", "--json").splitlines()[0])

    assert [each["declared"][0] for each in told] == ["alibi.slopes", "rope.frequencies"]
    assert all(each["untried"] and each["spent"] == "it was interrupted" for each in told)


@ON_LINUX
def test_check_names_the_operations_that_an_interruption_left_unasked(tmp_path: Path) -> None:
    told = interrupted(tmp_path, "check", "two.py", "--report", "found", "--json")
    record = json.loads(told.splitlines()[0])

    assert [each["operation"] for each in record["evidence"]] == ["alibi.slopes", "rope.frequencies"]
    assert "not reached: " in (tmp_path / "found" / "summary.md").read_text()
    assert "rope.frequencies" in (tmp_path / "found" / "junit.xml").read_text()


@ON_LINUX
def test_check_has_a_document_for_every_target_that_an_interruption_left_unasked(tmp_path: Path) -> None:
    told = interrupted(tmp_path, "check", "two.py", "numpy", "--json")
    records = [json.loads(line) for line in told.splitlines() if line.startswith("{")]

    assert [(each["target"], each["complete"]) for each in records] == [("two.py", False), ("numpy", False)]


@ON_LINUX
def test_an_answer_that_comes_after_an_interruption_is_no_forgery(tmp_path: Path) -> None:
    told = interrupted(tmp_path, "pytest", "-p", "no:cacheprovider", "--posenc", "two.py", seconds=0.3)

    assert "nobody asked for" not in told


def interrupting_at(number: int, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, and at one of its calls is interrupted."""
    calls = itertools.count(1)

    def called(*given: Any, **named: Any) -> Any:
        if next(calls) == number:
            raise KeyboardInterrupt
        return plain(*given, **named)

    return called


@pytest.mark.parametrize("as_json", [False, True])
def test_precision_names_what_an_interruption_left_unmeasured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    monkeypatch.setattr(answers, "ask", interrupting_at(2, answers.ask))

    assert main(["precision", written(tmp_path), *["--json"] * as_json]) == Status.INTERRUPTED

    told = capsys.readouterr().out
    if as_json:
        record = json.loads(told)
        assert [record["complete"], len(record["curves"]), record["undone"]] == [False, 1, ["kept binary.encode in float32"]]
    else:
        assert "not measured, since the run was interrupted: kept binary.encode in float32" in " ".join(told.split())


@pytest.mark.parametrize(("call", "undone"), [(1, "4 tokens, forward, 8 tokens, forward"), (3, "8 tokens, forward")])
def test_compare_names_what_an_interruption_left_unmeasured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], call: int, undone: str
) -> None:
    monkeypatch.setattr(compare, "ready", interrupting_at(call, compare.ready))  # each of two schemes at each length

    assert main(["compare", "alibi", "--lengths", "4,8", "--phase", "forward"]) == Status.INTERRUPTED

    assert f"not measured, since the run was interrupted: {undone}" in " ".join(capsys.readouterr().out.split())


def test_the_evidence_of_what_was_asked_no_law_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(law_checks, "run", interrupting_at(1, law_checks.run))

    assert main(["check", written(tmp_path), "--json", "--level", "smoke"]) == Status.INTERRUPTED

    evidence = json.loads(capsys.readouterr().out)["evidence"]
    assert [bool(each["golden"]) for each in evidence] == [True, True]
    assert all("the run was interrupted" in " ".join(each["missing"]) for each in evidence)


def test_a_process_of_xdist_that_is_interrupted_once_more_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        "import atexit, os, signal\n"
        "import pytest\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_configure(config):\n"
        "    config.workerinput = {}\n"
        "    atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
    )
    written(tmp_path)

    arguments = ["-p", "no:xdist", "-p", "no:cacheprovider", "-p", "late", "--posenc", "kept.py", "-k", "single"]
    ended = ran(tmp_path, "-m", "pytest", *arguments, PYTHONPATH=f"{tmp_path}:{ROOT}")

    assert ended.returncode == 0, ended.stdout
    assert ended.stderr == ""


def test_identify_says_that_no_call_was_made_before_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupts(_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(Strangers, "functions", property(interrupts))

    assert main(["identify", written(tmp_path), "--json"]) == Status.INTERRUPTED

    told = capsys.readouterr()
    assert json.loads(told.out) == []
    assert "kept.py isn't identified: the run ended before any call" in told.err


def test_ctrl_c_while_the_program_is_imported_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")

    ended = ran(tmp_path, "-c", "import sys; from posenc.__main__ import main; sys.exit(main())", PYTHONPATH=f"{tmp_path}:{ROOT}")

    assert ended.returncode in (-signal.SIGINT, Status.INTERRUPTED)
    assert "Traceback" not in ended.stderr
