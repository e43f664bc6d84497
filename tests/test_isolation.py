"""What a worker can't reach: the memory of the process that judges; and what of ours is told where it does: right answers."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance import Session
from conformance.cli import main
from conformance.isolate import kernel, memory
from conformance.reports import lines
from conformance.run import check

SOURCE = """\
import ctypes, json, os, sys
from pathlib import Path
import numpy as np
from conformance import Adapter

adapter = Adapter("curious")
HARNESS = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])  # the parent of the keeper

def opened(mode, name):
    with open(f"/proc/{HARNESS}/{name}", mode, buffering=0) as file:
        if name == "mem":
            file.seek(ADDRESS)
        file.write(b"changed") if "+" in mode else file.read(7)

class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

def moved(function):
    library = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(b"changed")
    here, there = Piece(ctypes.addressof(held), 7), Piece(ADDRESS, 7)
    if getattr(library, function)(HARNESS, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), function)

def seized():
    library = ctypes.CDLL(None, use_errno=True)
    if library.ptrace(0x4206, HARNESS, None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")

WAYS = {
    "reads its memory": lambda: opened("rb", "mem"),
    "writes its memory": lambda: opened("r+b", "mem"),
    "reads its environment": lambda: opened("rb", "environ"),
    "opens its files": lambda: os.close(os.open(f"/proc/{HARNESS}/fd/1", os.O_WRONLY)),
    "copies from it": lambda: moved("process_vm_readv"),
    "copies to it": lambda: moved("process_vm_writev"),
    "traces it": seized,
}

@adapter.implements("alibi.slopes")
def slopes(*, num_heads, max_bias, **_):
    global ADDRESS
    ADDRESS = int(Path(__file__).with_name("address").read_text())
    told = {}
    for name, way in WAYS.items():
        try:
            way()
            told[name] = "done"
        except OSError as error:
            told[name] = "refused" if isinstance(error, PermissionError) else str(error)
    Path(__file__).with_name("told.json").write_text(json.dumps(told))
    return np.ones(num_heads)
"""
DRIVER = """\
import ctypes, sys
from pathlib import Path
from conformance import Session
secret = ctypes.create_string_buffer(b"secrets")
Path(sys.argv[1]).with_name("address").write_text(str(ctypes.addressof(secret)))
with Session(sys.argv[1]) as session:
    session.call("alibi.slopes", [], {"num_heads": 4, "max_bias": 8.0})
    print(session.isolation)
print(secret.value.decode())
"""
WAYS = ("reads its memory", "writes its memory", "opens its files", "copies from it", "copies to it", "traces it")
#: Recent kernels show it to whoever may administrate the system, as root often may.
PRIVILEGED = "reads its environment"
ROOT = Path(__file__).parents[1]
#: Goes on as somebody who has no capabilities: at the next program even root has only those of the bounding set.
PLAIN = """\
import ctypes, os, sys
for capability in range(64):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked to close a memory")


def tried(folder: Path, *before: str) -> tuple[Mapping[str, str], list[str]]:
    """Return what the kernel said to each way, and what the process that judges printed."""
    target = folder / "curious.py"
    target.write_text(SOURCE, encoding="utf-8")
    command = [sys.executable, *before, "-c", DRIVER, str(target)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    return json.loads((folder / "told.json").read_text(encoding="utf-8")), done.stdout.splitlines()


@linux
def test_a_worker_is_refused_the_memory_of_the_process_that_judges(tmp_path: Path) -> None:
    told, printed = tried(tmp_path)

    assert {name: came for name, came in told.items() if name != PRIVILEGED} == dict.fromkeys(WAYS, "refused")
    assert printed[0].endswith("the memory of the harness closed to it")
    assert printed[1] == "secrets"


@linux
def test_a_worker_without_capabilities_is_refused_the_environment_too(tmp_path: Path) -> None:
    told, printed = tried(tmp_path, "-c", PLAIN)

    assert told == dict.fromkeys((*WAYS, PRIVILEGED), "refused")
    assert printed[1] == "secrets"


@linux
def test_the_memory_is_closed_while_there_are_workers_and_open_again_after_the_last(tmp_path: Path) -> None:
    (tmp_path / "curious.py").write_text(SOURCE, encoding="utf-8")
    before = kernel.memory_closed()
    with Session(str(tmp_path / "curious.py")) as session:
        assert session.implementations
        with session.fresh() as another:
            assert another.implementations
        assert kernel.memory_closed()

    assert kernel.memory_closed() == before


def test_workers_of_many_threads_are_counted() -> None:
    before = kernel.memory_closed()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: memory.close(), range(100)))
        list(pool.map(lambda _: memory.leave(), range(100)))

    assert kernel.memory_closed() == before


def test_a_worker_that_can_not_be_started_leaves_the_memory_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError

    before = kernel.memory_closed()
    monkeypatch.setattr(subprocess, "Popen", fails)

    with pytest.raises(OSError), Session(str(tmp_path / "none.py")) as session:  # noqa: PT011  it says nothing
        session.start()

    assert kernel.memory_closed() == before


SEEING = """\
import importlib, pickle
import numpy as np
from conformance import Adapter, Session, Unsupported, assert_conforms
{outside}
adapter = Adapter("seeing")

@adapter.implements("alibi.slopes", num_heads={{8, 16}})
def slopes(*, num_heads, max_bias, **_):
    {inside}
    return 2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads)
"""
VECTORS = ROOT / "vectors" / "alibi.slopes.yaml"
LOOKS = {
    "from refimpl.schemes import alibi": "imports refimpl.schemes",
    "import refimpl.schemes.alibi as mine": "imports refimpl.schemes.alibi",
    "from conformance import oracle": "imports conformance.oracle",
    "import conformance.golden.answers": "imports conformance.golden.answers",
    "importlib.import_module('refimpl.schemes.rope')": "imports refimpl.schemes.rope",
    f"open({str(VECTORS)!r}).close()": "opens vectors/alibi.slopes.yaml",
    f"import os; os.chdir({str(VECTORS.parent)!r}); open('alibi.slopes.yaml').close()": "opens vectors/alibi.slopes.yaml",
}


def reached(folder: Path, *, outside: str = "", inside: str = "pass") -> tuple[str, ...]:
    """Return what is told of an adapter after one call."""
    target = folder / "seeing.py"
    target.write_text(SEEING.format(outside=outside, inside=inside), encoding="utf-8")
    with Session(str(target)) as session:
        session.call("alibi.slopes", [], {"num_heads": 8, "max_bias": 8.0})
        return session.reached


def test_a_target_that_looks_for_right_answers_is_told(tmp_path: Path) -> None:
    told = [words if words.startswith("opens") else f"{words} in seeing.py" for words in dict.fromkeys(LOOKS.values())]

    assert reached(tmp_path, outside="\n".join(LOOKS)) == tuple(f"the target {words}" for words in told)
    assert reached(tmp_path, inside="\n    ".join(LOOKS)) == tuple(f"seeing, alibi.slopes, {words}" for words in told)


def test_a_module_of_the_target_that_imports_the_reference_is_named(tmp_path: Path) -> None:
    (tmp_path / "helping.py").write_text("from refimpl.schemes import rope\n", encoding="utf-8")

    assert reached(tmp_path, outside="import helping") == ("the target imports refimpl.schemes in helping.py",)


def test_what_the_harness_itself_imports_accuses_nobody(tmp_path: Path) -> None:
    ours = "from conformance.in_process import assert_conforms; import conformance.run.orchestrator, json, yaml"

    assert reached(tmp_path, outside=ours, inside="pickle.loads(pickle.dumps(np.ones(2))); open(__file__).close()") == ()


@pytest.mark.parametrize("target", ["numpy", "examples/numpy_right.py"])
def test_what_is_ours_is_not_told(target: str) -> None:
    assert check(str(ROOT / target) if target.endswith(".py") else target, operations=["rope.rotate"], level="smoke").reached == ()


def test_an_adapter_that_is_written_as_the_readme_has_it_is_not_told(tmp_path: Path) -> None:
    target = tmp_path / "plain.py"
    target.write_text("""
from posenc import Adapter, Unsupported

adapter = Adapter("plain")


@adapter.implements("none.rotate")
def rotate(x, positions, **_):
    return x.copy()
""")
    assert check(str(target), level="smoke").reached == ()


def test_every_report_says_that_right_answers_are_at_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, folder = tmp_path / "seeing.py", tmp_path / "report"
    target.write_text(SEEING.format(outside="import conformance.oracle", inside="pass"), encoding="utf-8")
    words = "the target imports conformance.oracle in seeing.py"

    assert main(["check", str(target), "--level", "smoke", "--report", str(folder), "--jobs", "2"]) == 0

    assert f"right answers are at hand: {words}" in " ".join(capsys.readouterr().out.split())
    assert [report.reached for report in lines.read(folder / "record.jsonl")] == [(words,)]
    assert "conformance.oracle in seeing.py" in (folder / "report.html").read_text(encoding="utf-8")
    assert "conformance.oracle in seeing.py" in (folder / "summary.md").read_text(encoding="utf-8")
    assert main(["check", str(target), "--level", "smoke", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reached"] == [words]


@pytest.mark.parametrize("said", [None, 3, "words", {"a": 1}, [3, None]])
def test_a_worker_that_says_nonsense_of_what_it_reached_is_refused(said: object) -> None:
    from conformance.isolate import replies
    from conformance.isolate.channel import ChannelError
    from tools.soak.replies import CALLED

    with pytest.raises(ChannelError, match="reached must be a list of text"):
        replies.verify({**CALLED, "reached": said}, replies.CALLED)


def test_what_is_guaranteed_and_what_is_not_is_told_in_plain_words() -> None:
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/conforms.md"))
    told = page.partition("## What your code can see")[2].partition("\n## ")[0]
    promised, _, open_to_it = told.partition("\nNot guaranteed:")

    assert "never sees an expected value" not in readme + page
    assert "No message to it holds an expected value" in readme
    assert "docs/conforms.md#what-your-code-can-see" in readme
    assert "No message to the worker holds an expected value" in promised
    assert "where the system is Linux" in promised
    assert "The vectors, the reference and the oracle lie there as files that it may read and run" in open_to_it


def test_an_audit_costs_a_call_little(tmp_path: Path) -> None:
    import time

    target = tmp_path / "seeing.py"
    target.write_text(SEEING.format(outside="", inside="[__import__('math') for _ in range(10_000)]"), encoding="utf-8")
    with Session(str(target)) as session:
        session.call("alibi.slopes", [], {"num_heads": 8, "max_bias": 8.0})
        started = time.perf_counter()
        session.call("alibi.slopes", [], {"num_heads": 8, "max_bias": 8.0})

    assert time.perf_counter() - started < 1.0
