"""The moment of a kill: any of a run, or one at which it changes its folder, so that every step of writing a file is met."""

import os
import random
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from itertools import count

import psutil

from conformance.calls.status import Status

#: How many kills come while files are written, how many of those right before a step, and else how long after it at most (seconds).
WHILE_WRITING = 0.5
BEFORE_A_STEP = 0.5
AFTER = 0.02
#: Seconds for a command that was asked to end, and what it ends with then: interrupted, or nobody listened yet or any more;
#: one that had to be killed counts, so that it is told.
PATIENCE = 60
ASKED = (Status.INTERRUPTED, -signal.SIGTERM, -signal.SIGKILL)


@dataclass
class Lengths:
    """What a run takes: the seconds of the shortest one that was seen, and how often it stops before it changes its folder."""

    seconds: float
    stops: int

    def wait(self, process: subprocess.Popen[bytes], chance: random.Random) -> None:
        """Wait until a random moment of a run; one that ends before it was shorter than was thought."""
        started = time.perf_counter()
        try:
            process.wait(timeout=chance.uniform(0, self.seconds))
        except subprocess.TimeoutExpired:
            return
        self.seconds = min(self.seconds, time.perf_counter() - started)


def stops(process: subprocess.Popen[bytes], until: int | None = None) -> int:
    """Let a process go on from stop to stop, to its end or until the stop of that number; return how often it stopped."""
    for number in count():
        seen = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if seen is None or seen.si_code != os.CLD_STOPPED:
            process.wait()
            return number
        if number + 1 == until:
            return until
        os.kill(process.pid, signal.SIGCONT)
    raise AssertionError


def stop_while_writing(process: subprocess.Popen[bytes], lengths: Lengths, chance: random.Random) -> None:
    """Wait until a process is about to change its folder, or a random moment more, mostly a short one."""
    stops(process, chance.randint(1, lengths.stops))
    if chance.random() < BEFORE_A_STEP:
        return
    process.send_signal(signal.SIGCONT)
    time.sleep(AFTER * chance.random() ** 4)


def terminate(process: subprocess.Popen[bytes]) -> tuple[bool, list[psutil.Process]]:
    """Ask a command to end; return whether that is what ended it, and what it had started."""
    children = _below(process)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        overdue = threading.Timer(PATIENCE, process.kill)
        overdue.start()
        stops(process)
        overdue.cancel()
    return process.wait() in ASKED, children


def end(process: subprocess.Popen[bytes]) -> tuple[bool, list[psutil.Process]]:
    """Kill a command and its group; return whether it was still running, and what it had started."""
    children = _below(process)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait() == -signal.SIGKILL, children


def _below(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
