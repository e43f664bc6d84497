"""Measure what the harness costs: start, memory, and the price of a case beyond the implementation's own time."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from conformance.show import cost

POLL_SECONDS = 0.005
REPEATS = 5
MEBIBYTE = 1 << 20
HELP = ("-m", "conformance", "--help")


def machine() -> str:
    """Return the processor, cores, memory, system and Python."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}"


def processor() -> str:
    """Return the processor's own name where the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def run_and_weigh(*arguments: str) -> tuple[float, float]:
    """Return the seconds that a Python command takes, and the largest resident memory of it and its children in MiB."""
    started = time.perf_counter()
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603  our own interpreter
        watched, largest = psutil.Process(process.pid), 0
        while process.poll() is None:
            largest = max(largest, _resident(watched))
            time.sleep(POLL_SECONDS)
    return time.perf_counter() - started, largest / MEBIBYTE


def _resident(process: psutil.Process) -> int:
    try:
        return sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))
    except psutil.Error:
        return 0


def measure(target: str) -> Iterator[str]:
    """Yield one line per measurement, the machine first."""
    yield f"machine              {machine()}"
    yield f"posenc --help        {min(run_and_weigh(*HELP)[0] for _ in range(REPEATS)):.2f} s (best of {REPEATS})"
    seconds, memory = min(run_and_weigh("-m", "conformance", "check", target) for _ in range(REPEATS))
    yield f"posenc check, core   {seconds:.2f} s, {memory:.0f} MiB with the worker ({target}, best of {REPEATS})"
    yield from cost.lines(target)
