"""A worker that isn't needed any more ends by itself: what a target cleans up at its exit is cleaned up."""

import sys
from pathlib import Path

import numpy as np
import pytest

from conformance import run
from conformance.calls.limits import Limits
from conformance.calls.outcomes import Crashed, TimedOut
from conformance.calls.status import Status
from conformance.calls.subject import CallFailedError
from conformance.isolate.session import Session

ADAPTER = """
import atexit, os, time
from pathlib import Path
import numpy as np
from conformance import Adapter

HERE = Path(__file__).parent
{outside}
adapter = Adapter("leaving")

@adapter.implements("rope.frequencies")
def frequencies(*, head_dim, base):
    {inside}
    return base ** (-np.arange(0, head_dim, 2) / head_dim)
"""
NOTED = "atexit.register((HERE / 'left').touch)"
#: Only one worker may run, and only the file says so.
LOCKED = "os.close(os.open(HERE / 'lock', os.O_CREAT | os.O_EXCL))\natexit.register(os.unlink, HERE / 'lock')"
PROGRAM = """
import json, sys
from pathlib import Path
offered = [{"operation": "rope.frequencies", "dtypes": ["float64"]}]
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "protocol": 1, "name": "leaving", "implementations": offered}), flush=True)
Path(__file__).with_name("left").touch()
"""


def written(folder: Path, outside: str, inside: str = "") -> str:
    path = folder / "leaving.py"
    path.write_text(ADAPTER.format(outside=outside, inside=inside), encoding="utf-8")
    return str(path)


def called(session: Session) -> np.ndarray:
    """Return what the one implementation gives for one call."""
    found = session.implementations[0]
    return session.request(found, found.dtypes[0], [], {"head_dim": 4, "base": 100.0}).values["result"]


def test_the_exit_handlers_of_a_target_run_when_its_worker_is_not_needed_any_more(tmp_path: Path) -> None:
    with Session(written(tmp_path, NOTED)) as session:
        called(session)

    assert (tmp_path / "left").exists()


def test_those_of_a_worker_that_took_too_long_do_not(tmp_path: Path) -> None:
    target = written(tmp_path, NOTED, "time.sleep(100)")
    with Session(target, Limits(call_seconds=1.0)) as session, pytest.raises(CallFailedError) as caught:
        called(session)

    assert isinstance(caught.value.outcome, TimedOut)
    assert not (tmp_path / "left").exists()


def test_one_that_hangs_at_its_exit_is_ended_and_the_next_is_not_waited_for(tmp_path: Path) -> None:
    target = written(tmp_path, f"{NOTED}\natexit.register(lambda: (HERE / 'hangs').touch() or time.sleep(100))")
    with Session(target) as session:
        called(session)
        session.close()
        (tmp_path / "hangs").unlink()
        called(session)

    assert not (tmp_path / "hangs").exists()
    assert not (tmp_path / "left").exists()


def test_a_target_that_locks_others_out_by_a_file_is_judged_and_leaves_none(tmp_path: Path) -> None:
    report = run.check(written(tmp_path, LOCKED), level="smoke", seed=1)

    assert not [result for result in report.results if isinstance(result.outcome, Crashed)]
    assert report.status is Status.CONFORMS
    assert not (tmp_path / "lock").exists()


def test_a_program_reads_the_end_of_its_input(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")

    with Session(f"command:{sys.executable} {tmp_path / 'program.py'}") as session:
        assert session.implementations

    assert (tmp_path / "left").exists()
