"""Parts of a run: together they are the whole, whatever their number, and the order of results doesn't depend on them."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from conformance.adapt.selection import SelectionError
from conformance.calls.outcomes import Report, Result
from conformance.cli import main
from conformance.reports import lines
from conformance.run import check
from conformance.run.sharding import Shard, merged, parse

ROOT = Path(__file__).parents[1]
OPERATIONS = ("alibi.slopes", "alibi.bias", "t5.bucket", "binary.encode")

#: Which signals the first part blocks when it has just been started; no process was started by multiprocessing before.
DEAF = """
import signal
from pathlib import Path
from conformance.run.sharding import _Part

if __name__ == "__main__":
    part = _Part(str, 2)
    told = Path(f"/proc/{part.process.pid}/status").read_text()
    blocked = told.partition("SigBlk:")[2].split()[0]
    part.process.kill()
    part.end()
    print(all(int(blocked, 16) >> number - 1 & 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)))
"""

#: A part that is only reached when its parent has ended; it leaves a note where it judges all the same.
ORPHAN = """
import multiprocessing, os
from pathlib import Path
from conformance.run import sharding

def judged(shard):
    Path("judged").touch()

def begun():
    while os.getppid() == multiprocessing.parent_process().pid:
        os.sched_yield()
    sharding._judge(None, judged, 2)

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=begun)
    process.start()
    print(process.pid, flush=True)
    os._exit(0)
"""


def plain(report: Report) -> list[Result]:
    """Return the results without the time that they took."""
    return [replace(result, seconds=0.0) for result in report.results]


@pytest.fixture(scope="module")
def whole() -> Report:
    return check("numpy", operations=OPERATIONS, level="smoke")


@functools.cache
def parts_of(count: int) -> tuple[Report, ...]:
    return tuple(check("numpy", operations=OPERATIONS, level="smoke", shard=Shard(number, count)) for number in range(1, count + 1))


@pytest.mark.parametrize("count", [2, 7])
def test_parts_together_are_the_whole(whole: Report, count: int) -> None:
    parts = parts_of(count)

    assert plain(merged(parts)) == plain(whole)
    assert sum(len(part.results) for part in parts) == len(whole.results)
    assert merged(parts).header == whole.header


def test_what_is_told_by_one_part_is_told_of_the_whole_once() -> None:
    parts = [Report("x", {}, (), reached=reached, warnings=warnings) for reached, warnings in ((("a",), ("b",)), (("a", "c"), ("d", "b")))]

    assert (merged(parts).reached, merged(parts).warnings) == (("a", "c"), ("b", "d"))


def test_parts_are_of_similar_size() -> None:
    sizes = [len(part.results) for part in parts_of(2)]

    assert max(sizes) <= 1.5 * min(sizes)


def test_parts_side_by_side_give_the_same_record(whole: Report) -> None:
    together = check("numpy", operations=OPERATIONS, level="smoke", jobs=2)

    assert undrawn(together) == undrawn(whole)
    assert together.header == whole.header


def undrawn(report: Report) -> list[Result]:
    """Return the results without what depends on the draw: Hypothesis mixes in constants of whatever modules a process has loaded."""
    return [replace(result, ratio=None, farthest=None) if result.kind == "law" else result for result in plain(report)]


def test_a_part_without_anything_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "numpy", "--operation", "alibi.slopes", "--level", "smoke", "--shard", "40/40"]) == 4
    assert "no verdict: nothing ran" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(SelectionError, match=r"^shard must be NUMBER/COUNT"):
        parse(text)


def test_more_parts_than_can_be_are_told_the_bound() -> None:
    with pytest.raises(SelectionError, match=r"1 <= NUMBER <= COUNT <= 9999, got '1/99999'$"):
        parse("1/99999")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no system that tells which signals are blocked")
def test_a_part_is_started_deaf_to_what_would_interrupt_its_imports(tmp_path: Path) -> None:
    script = tmp_path / "parts.py"
    script.write_text(DEAF, encoding="utf-8")

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True)

    assert done.stdout == "True\n"


def test_an_interruption_of_parts_side_by_side_leaves_an_incomplete_report(tmp_path: Path) -> None:
    program = "import sys; from conformance.cli import main; sys.exit(main())"
    arguments = ["check", "numpy", "--jobs", "2", "--level", "full", "--report", str(tmp_path)]
    running = subprocess.Popen([sys.executable, "-c", program, *arguments], cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(children(running.pid)) < 7 and time.monotonic() < deadline:
        os.sched_yield()

    os.killpg(running.pid, signal.SIGINT)

    assert running.wait(timeout=120) == 130
    assert [report.complete for report in lines.read(tmp_path / "record.jsonl")] == [False]
    assert children(running.pid) == []


def children(pid: int) -> list[int]:
    """Return the processes below a process that run."""
    import psutil

    try:
        below = psutil.Process(pid).children(recursive=True)
        return [child.pid for child in below if child.status() != psutil.STATUS_ZOMBIE]
    except psutil.NoSuchProcess:
        return []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends what a killed process has started")
def test_a_part_whose_run_was_killed_before_it_began_judges_nothing(tmp_path: Path) -> None:
    (tmp_path / "orphan.py").write_text(ORPHAN, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    told = subprocess.run([sys.executable, "orphan.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, check=False)

    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(told.stdout)).wait(timeout=60)
    assert not (tmp_path / "judged").exists()
