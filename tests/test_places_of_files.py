"""A name that no file can have, and what is no regular file, is told in one line, whatever command gets it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import cli
from conformance.calls.status import Status
from conformance.isolate import targets
from conformance.isolate.targets import TargetError

LONG = "a" * 300
COMMANDS = {
    "baseline": ["check", "numpy", "--operation", "rope.apply", "--baseline", LONG],
    "check": ["check", f"{LONG}.py"],
    "configuration": ["check", "numpy", "--config", f"{LONG}.json"],
    "diff": ["report", "diff", LONG, LONG],
    "explain": ["explain", f"{LONG}.json"],
    "identify": ["identify", f"{LONG}.py:rotate"],
    "module": ["check", f"{LONG}:adapter"],
    "plot": ["show", "rope", "--plot", f"{LONG}.svg"],
    "precision": ["precision", f"{LONG}.py"],
    "render": ["report", "render", LONG],
    "verify": ["vectors", "verify", "--directory", LONG],
}
#: What stands in place of a target, and what it is called.
OTHERS: dict[str, Callable[[Path], None]] = {
    "a folder": os.mkdir,
    "no regular file": os.mkfifo,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_no_file_can_have_is_wrong_usage(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    status = cli.main(COMMANDS[command])
    told = " ".join(capfd.readouterr().err.split())
    assert status == Status.WRONG_USAGE
    assert "must have a name that its folder can hold, got" in told
    assert "posenc: " in told


def test_where_vectors_can_be_written_is_told_before_they_are_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["vectors", "export", str(tmp_path / "none" / "v.json")])
    assert (status, "folder of the file must exist, got" in capfd.readouterr().err) == (Status.WRONG_USAGE, True)


@pytest.mark.parametrize("kind", OTHERS)
def test_a_target_that_is_no_regular_file_is_told_what_it_is(kind: str, tmp_path: Path) -> None:
    OTHERS[kind](tmp_path / "mine.py")
    with pytest.raises(TargetError, match=rf"target must be a regular file, got .*mine\.py, {kind}$"):
        targets.load(str(tmp_path / "mine.py"))


def test_a_module_that_is_named_from_where_nobody_stands_is_told_so() -> None:
    with pytest.raises(TargetError, match=r"target must name a module from its outermost package on, got '\.mine'"):
        targets.load(".mine:adapter")
