"""Tell a broken harness from an implementation that does not conform."""

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from conformance import run
from conformance.calls.outcomes import HarnessError, Result
from conformance.calls.status import Status
from conformance.isolate.environment import PASSED_ON, withheld
from conformance.show.terminal import Line, clean
from conformance.spec import vectors
from conformance.spec.declarations import example
from conformance.version import __version__

NEEDED = ("numpy", "array-api-compat", "pyyaml", "hypothesis", "click", "rich", "jsonschema", "jsonschema-rs", "psutil", "python-flint")
OPTIONAL = (
    "torch",
    "jax",
    "transformers",
    "equinox",
    "pywhispercpp",
    "array-api-strict",
    "ml_dtypes",
    "cupy",
    "matplotlib",
    "tensorflow",
    "mlx",
)


def examine() -> tuple[list[Line], bool]:
    """Return what was found, line by line, and whether the harness works; raise where the working folder is gone."""
    Path.cwd()
    checks = [_libraries(), _vectors(), _smoke()]
    lines = [("head", f"posenc {__version__}"), ("", _machine()), *_withheld(), *(line for found, _ in checks for line in found)]
    healthy = all(right for _, right in checks)
    verdict = (
        "the harness works: a failing check is about the implementation" if healthy else "the harness is broken: no verdict can be trusted"
    )
    return [*lines, ("good" if healthy else "bad", verdict)], healthy


def _machine() -> str:
    return f"python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, {sys.byteorder} endian"


def _withheld() -> list[Line]:
    """Name the variables of the environment that code under test doesn't get."""
    names = withheld(os.environ)
    told = f"withheld   {', '.join(map(clean, names))}: code doesn't get these variables unless {PASSED_ON} names them"
    return [("quiet", told)] if names else []


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _libraries() -> tuple[list[Line], bool]:
    found = {name: _installed(name) for name in (*NEEDED, *OPTIONAL)}
    missing = [name for name in NEEDED if found[name] is None]
    absent = [name for name in OPTIONAL if found[name] is None]
    lines = [("", f"installed  {name} {number}") for name, number in found.items() if number is not None]
    lines += [("quiet", f"absent     {', '.join(absent)} (optional)")] if absent else []
    lines += [("bad", f"missing    {name}: pip install {name}") for name in missing]
    return lines, not missing


def _vectors() -> tuple[list[Line], bool]:
    try:
        vectors.verify(vectors.vectors_directory())
    except vectors.VectorError as error:
        return [("bad", f"vectors    {clean(str(error))}")], False
    return [("", "vectors    every file is as published")], True


def _smoke() -> tuple[list[Line], bool]:
    """Judge the reference through the worker process: it must conform, so anything else is our fault."""
    try:
        report = run.check("numpy", operations=[example()], level="smoke")
    except Exception as error:  # noqa: BLE001  whatever is wrong is what is asked for
        return [("bad", f"worker     {type(error).__name__}: {clean(str(error))}")], False
    right = report.status is Status.CONFORMS
    first = next(_problems(report.results), "nothing was judged")
    return [("", f"worker     judged {example()} of the reference: it conforms") if right else ("bad", f"worker     {clean(first)}")], right


def _problems(results: tuple[Result, ...]) -> Iterator[str]:
    for result in results:
        if result.convicts or isinstance(result.outcome, HarnessError):
            yield f"{result.check}: {result.outcome}"
