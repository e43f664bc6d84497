"""``python -m tools.reliability [--check]``: commit every fault, and write what was reported, or say that the document isn't up to date."""

import argparse
import contextlib
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil

from conformance import run
from conformance.calls.outcomes import Advisory, NotJudged, Outcome, Passed, Result
from conformance.isolate.targets import TargetError
from conformance.reports.markdown import plain
from conformance.show.baseline import kind
from conformance.show.report import message
from conformance.show.terminal import clean
from tools.faults import elsewhere, promises
from tools.faults.ending import ENDING
from tools.faults.fault import LASTING, Fault
from tools.faults.leaving import LEAVING
from tools.faults.replying import REPLYING
from tools.faults.returning import RETURNING

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
GROUPS = {
    "Ends, raises, never ends, or uses too much": ENDING,
    "Returns": RETURNING,
    "Leaves behind": LEAVING,
    "Forges replies, or hides processes": REPLYING,
}
FAULTS = tuple(fault for faults in GROUPS.values() for fault in faults)
CASES = ("rope.rotate/shifted", "alibi.slopes/six-heads")
LONGEST = 110
ELSEWHERE = "## Under other commands"
ALL_THE_SAME = "`posenc precision` and `pytest --posenc`, in a file with two operations that are right. The table shows the exit status,"
MARK = "POSENC_FAULTS"
#: Most of the time is spent waiting.
SIDE_BY_SIDE = 4
HEAD = """\
# What an implementation may do to the harness

`python -m tools.reliability` writes this page from a run in which an adapter commits each fault below (`tools/faults/`).
`tests/test_reliability.py` checks it, and that the tests named here exist. Each adapter has a second operation that is right and runs
after the faulty one; the column *run after it* says how it was judged. A fault is survived if the report names the fault itself, the
second operation is judged rightly, and no process is left.

## How implementations are kept apart

- An implementation runs in a worker process with its own session, channel and environment. Standard input is empty; what it prints is a
  log.
- Start-up and each call have time limits. The whole process tree has limits of memory and processes (`--startup-seconds`,
  `--call-seconds`, `--memory`, `--processes`). A worker that exceeds one is ended with everything that it started; the next call gets a
  fresh worker.
- Each reply carries the number of its call, which can't be guessed, so a reply to no call is rejected. Every field of a reply is checked
  before it is used. A wrong type, length, depth or name counts as a crash of the call and has no other effect.
- On Linux a keeper process stands between the harness and a worker. Every process that the worker starts becomes the keeper's child when
  its parent ends, even with its own session or without an environment. The keeper kills all of them when the worker ends, when the
  harness asks, and when the harness itself is gone.
- If a call changes state that all code of the process shares, the report names the operation that made the call, even if it raised. Other
  operations then get a fresh worker. Functions and methods of the standard library are such state: the report names what was replaced,
  and the worker itself uses the originals from before the implementation was imported.
- After an implementation that raised what wasn't asked for, the next one gets a fresh worker, whether a change was seen or not: what a call
  may leave behind is more than can be looked at (a default of a method, a lock on a file, a variable of the adapter's own).
- A failure is repeated in a fresh worker before it counts. If it passes there, it depends on earlier calls. A time-out, a crash or an
  exceeded limit is called that only if an earlier call is found that causes it. Otherwise a time-out is not judged and the report says
  so. A call that came too late has four times as long when it is repeated. A crash or an exceeded limit stays a failure, and the report
  says that the same call passes in a fresh worker.
- Memory that piles up over unlike calls, as tables for every width do, is a note and no failure. A worker that holds more than half
  of what it may is started again, unless the call that came last, or the one that added most, adds each time that it is made again: that is
  a leak. It goes on to the limit and fails there. A call at which the limit is exceeded is made again in a fresh worker. If it has room
  there, that answer is judged, however often this happens.
- `posenc identify` makes its calls beside others that a careless cache takes for them, once after these and once without, each in a fresh
  worker. If answers depend on more than the call, it calls nothing certain and prints no adapter.
- Workers hash text with a fixed seed. Repeated calls use another seed: a result that changes then depends on hash order.
- Changes made by a predicate of a declaration (`when=`) are reported as such. Processes and memory that pile up are charged to the
  implementation that left them: no other implementation is called beside them.
- If a worker can't be started again, the start is tried twice more. If it succeeds then, the report says so. Otherwise the failed start
  is the outcome of the call that needed the worker. Earlier results stay. With `--jobs` the run is shared among the parts that get a
  worker, so a target that allows one worker at a time is judged by that one. A part that lost its worker later is judged once more, alone.
- Some calls are made for the sake of others, and no check judges them: a predicate, a call that a cache may confuse with another, a
  repetition. If one ends its worker or raises once, the report says so. A time-out there that doesn't repeat is not judged.
- On Linux a worker, or a program, that a signal stops (SIGSTOP) is ended at once, and that is a crash. Elsewhere it is a time-out.
- A worker gets the variables of the environment that systems, languages and libraries read (`PATH`, `LD_LIBRARY_PATH`, `PYTHON...`,
  `OMP_...`, `CUDA_...`, `TORCH...`, `XLA_...`, `HF_...`: `conformance/isolate/environment.py` has the list). Of others it gets those whose
  value has at most 12 characters, or is a path that exists. It gets none whose name looks like a secret (tokens, keys, passwords, cookies,
  webhooks), and no address with a name or a password in it. `POSENC_PASS` names what it gets besides, as in
  `POSENC_PASS=HF_TOKEN,MY_SETTINGS`; `posenc doctor` names what it lacks, and each command says which of that the code asks for.
  No core files are written.
- A worker that isn't needed any more ends by itself: exit handlers run, and a program reads the end of its input. If one takes more than
  1 s for that, it is ended, and no other of the target is waited for.
- If a worker ends after an answer, the operation that answered last fails, and the call is named. After three such ends, as after three
  crashes and time-outs, the rest of what that operation would be asked is not run, and reports say how many checks that were. `posenc
  identify` counts the ends in all of its workers together.
- On Linux the kernel refuses a worker access to the memory of the process that judges (`/proc/PID/mem`, `process_vm_readv`, `ptrace`) and
  to its open files. That process isn't *dumpable* while it has workers, so no debugger of the same user gets in either, and a worker
  gives up `CAP_SYS_PTRACE` before it imports anything. Only root can read the environment of that process. The header of the record says
  whether all this held.

## What is best effort

- If no control group (cgroup v2 with the controllers for memory and processes) can be made, the harness looks at the process tree every
  0.2 s, so a process that grows faster is ended late. If the system runs out of memory first, its own killer ends the worker, which is a
  crash by SIGKILL. The header of the record says which it was.
- Memory is the resident memory of the process tree. Pages that processes share are counted once if the system tells (Linux). Memory of a
  GPU isn't counted.
- If there is no keeper, or an implementation has killed it, a process that leaves its parent and its session is found by a mark in its
  environment, or because it was seen before. A process that appeared in the last 0.2 s and emptied its environment is not found.
- If a worker ends while the next call is already on its way, that call is reported as a crash that passes in a fresh worker.
- The harness doesn't look at threads that the interpreter doesn't know, at what the garbage collector calls, at audit hooks, at text and
  tables of the standard library (`os.sep`, `encodings.aliases`), or at state inside of modules other than NumPy, torch and JAX (such as
  context variables and the event loops of asyncio). Of torch it doesn't see kernels that are replaced (`torch.library`), and of the
  environment not what only C code sets. Methods of NumPy's polynomials, `faulthandler`, and switches of torch that change no number
  aren't looked at either. Functions of the standard library are looked at in modules that the worker itself has loaded, and
  in those of numbers (`decimal`, `fractions`, `statistics`, `cmath`). Files that a call leaves open are noticed in steps of 64.
- A worker that is ended for a time-out, a limit or a crash runs no exit handlers. What only these remove (a lock file) stays, and may keep
  other workers from starting.
- On systems other than Linux nothing keeps code of the same user out of the memory of the harness. On Linux root stays root: it has other
  capabilities (`CAP_SYS_ADMIN`, kernel modules, raw devices), and so has a user who becomes root by `sudo`. Recent kernels show root the
  environment. Processes above the harness (a shell, the runner of a CI) are as open as they always are.
- The reply and the state are the worker's own words: this protects from mistakes, not from an implementation that wants to deceive.
- If SIGKILL ends the harness itself, its workers end at once on Linux, with everything that they started. On other systems they end when
  they have finished their call, and the processes that they started live on. A file that is just being written leaves a `.….tmp` beside
  it.
- A signal during the start of Python, before it runs anything of ours, ends it in Python's own way: SIGINT with its own message, the
  others without a message. Then, until the program heeds signals, about a tenth of a second, each ends it without a word. In pytest that
  lasts until it has read its options. `assert_conforms` leaves signals to the program that runs the test.
- If a target's file is overwritten or removed during the run, no worker can be started again. Each operation that needs one then counts
  as a crash, even if it did nothing wrong. The harness doesn't look for files and folders that an implementation leaves elsewhere.
"""


@dataclass(frozen=True)
class Told:
    """What was reported of a fault, and of the operation after it."""

    fault: Fault
    kind: str
    words: str
    after: str

    @property
    def right(self) -> bool:
        """Whether that is what must be reported."""
        return (
            self.kind == self.fault.kind and self.fault.words in self.words and self.after == ("passed" if self.fault.loads else "not run")
        )


def told(fault: Fault, folder: Path) -> Told:
    """Commit a fault and return what is reported."""
    target = folder / "faulty.py"
    target.write_text(fault.source, encoding="utf-8")
    try:
        if fault.laws:
            report = run.check(str(target), level="smoke", limits=fault.limits)
        else:
            report = run.check(str(target), cases=CASES, limits=fault.limits)
    except TargetError as error:
        return Told(fault, "refused", str(error).replace(str(target), target.name), "not run")
    worst = min((result for result in report.results if result.operation == "rope.rotate"), key=lambda result: _harmless(result, fault))
    after = max((result for result in report.results if result.operation == "alibi.slopes"), key=lambda result: result.convicts)
    return Told(fault, kind(worst.outcome), _words(worst.outcome), kind(after.outcome))


def left_behind(mark: str) -> list[str]:
    """Return the command lines of processes that faults have left."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            marked = process.environ().get(MARK) == mark or str(LASTING) in process.cmdline()
            if marked and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
    return found


@contextlib.contextmanager
def marked() -> Iterator[str]:
    """Mark everything that is started meanwhile, and yield the mark."""
    os.environ[MARK] = mark = secrets.token_hex(8)
    try:
        yield mark
    finally:
        del os.environ[MARK]


def every(faults: Sequence[Fault] = FAULTS) -> Iterator[Told]:
    """Commit faults."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        folders = [Path(folder) / str(number) for number in range(len(faults))]
        for path in folders:
            path.mkdir()
        yield from pool.map(told, faults, folders)


def elsewhere_section(rows: Mapping[str, Sequence[str]], kept: int, runs: int) -> str:
    """Return what became of faults under other commands, and how many of all runs kept every promise."""
    names = [command.name for command in elsewhere.COMMANDS]
    lines = [
        ELSEWHERE,
        "",
        "Written by `python -m tools.reliability --elsewhere N`. Every N-th fault is committed under `posenc identify`,",
        ALL_THE_SAME,
        "and whether the right ones were judged (*went on*). `posenc compare` runs only the reference. No traceback, no internal error and",
        "no process may be left.",
        "Signals, closed outputs and full disks: `tests/test_faults_elsewhere.py`.",
        "",
        f"{kept} of {runs} runs kept every promise.",
        "",
        f"| fault under another command | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
        *(f"| {name} | {' | '.join(words)} |" for name, words in rows.items()),
    ]
    return "\n".join(lines) + "\n"


def rows_elsewhere() -> dict[str, list[str]]:
    """Return the published rows of faults under other commands, by the fault."""
    rows = (line.strip("| ").split(" | ") for line in published()[1].splitlines() if line.startswith("| "))
    return {name: words for name, *words in rows if name != "fault under another command"}


def counts_elsewhere() -> tuple[int, int]:
    """Return how many published runs under other commands kept every promise, and how many there are."""
    found = re.search(r"^(\d+) of (\d+) runs", published()[1], re.MULTILINE)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def published() -> tuple[str, str]:
    """Return the document as it is published: what is said of ``check``, and of other commands."""
    text = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.is_file() else ""
    before, heading, after = text.partition(ELSEWHERE)
    return before.rstrip("\n") + "\n", heading + after


def document(reports: Sequence[Told]) -> str:
    """Return the document."""
    found = {report.fault.name: report for report in reports}
    survived = sum(report.right for report in reports)
    lines = [HEAD, *promises.told(), f"{survived} of {len(reports)} faults are survived and reported as what they are.", ""]
    for title, faults in GROUPS.items():
        lines += [f"## {title}", "", "| fault | outcome | words | run after it |", "|---|---|---|---|"]
        lines += [row(found[fault.name]) for fault in faults]
        lines += [""]
    return "\n".join(lines).rstrip("\n") + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Commit every fault, then write or check; return 1 where one is reported wrongly or, with ``--check``, the document is old."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elsewhere", type=int, metavar="N", help="commit every N-th fault under other commands, and write that section")
    parser.add_argument("--lacking", action="store_true", help="commit the faults that the section of other commands lacks, and add them")
    parser.add_argument("--check", action="store_true", help="compare with what is published, write nothing")
    options = parser.parse_args(arguments)
    if options.lacking:
        return _elsewhere([fault for fault in FAULTS if plain(fault.name) not in rows_elsewhere()], rows_elsewhere(), counts_elsewhere())
    if options.elsewhere is not None:
        return _elsewhere(FAULTS[:: options.elsewhere], {}, (0, 0))
    with marked() as mark:
        reports = list(every())
        left = left_behind(mark)
    wrong = [report for report in reports if not report.right]
    print("".join(f"left behind: {command}\n" for command in left), end="", file=sys.stderr)
    for report in wrong:
        print(f"{report.fault.name} must be {report.fault.kind} ({report.fault.words}), got {report}", file=sys.stderr)
    text = document(reports)
    if options.check:
        old = published()[0] != text
        print("docs/reliability.md must be written again" if old else "docs/reliability.md is up to date")
        return int(old or bool(wrong or left))
    _write(text, published()[1])
    return int(bool(wrong or left))


def _write(text: str, section: str) -> None:
    DOCUMENT.write_text(f"{text}\n{section}" if section else text, encoding="utf-8")


def _elsewhere(faults: Sequence[Fault], rows: Mapping[str, Sequence[str]], counts: tuple[int, int]) -> int:
    """Commit faults under other commands, and write their rows beside those that there are."""
    with marked() as mark:
        endings = list(elsewhere.every([fault for fault in faults if fault.runs_here]))
        left = left_behind(mark)
    found: dict[str, list[str]] = {}
    for ending in endings:
        found.setdefault(plain(ending.fault.name), []).append(plain(ending.words))
    every = {**rows, **found}
    ordered = {name: every[name] for fault in FAULTS if (name := plain(fault.name)) in every}
    kept = counts[0] + sum(not ending.trouble for ending in endings)
    _write(published()[0], elsewhere_section(ordered, kept, counts[1] + len(endings)))
    for ending in endings:
        if ending.trouble:
            print(f"{ending.fault.name} under {ending.command.name} {ending.trouble}:\n{ending.text[-2000:]}", file=sys.stderr)
    print("".join(f"left behind: {command}\n" for command in left), end="", file=sys.stderr)
    return int(any(ending.trouble for ending in endings) or bool(left))


def _harmless(result: Result, fault: Fault) -> tuple[bool, bool, bool]:
    """Order results: what convicts first, then what is worth knowing; among these what the fault is expected to give."""
    return not result.convicts, not isinstance(result.outcome, Advisory), fault.words not in _words(result.outcome)


def _words(came: Outcome) -> str:
    if isinstance(came, Passed):
        return ""
    if isinstance(came, NotJudged):
        return came.reason
    return came.message if isinstance(came, Advisory) else message(came)


def row(report: Told) -> str:
    """Return the line of the table."""
    words = clean(report.words)
    shown = words if len(words) <= LONGEST else f"{words[:LONGEST]} …"
    after = "went on: passed" if report.after == "passed" else report.after
    return f"| {plain(report.fault.name)} | {report.kind.replace('_', ' ')} | {plain(shown)} | {after} |"


if __name__ == "__main__":
    sys.exit(main())
