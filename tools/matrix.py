"""``python -m tools.matrix``: compare the vectors byte for byte under every Python and two versions of NumPy."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".venvs"
NUMPY = ("2.1", "2.4")
OLDEST = (3, 11)


@dataclass(frozen=True)
class Outcome:
    """One row of the table."""

    python: str
    numpy: str
    word: str
    passed: bool | None


def pythons() -> dict[str, Path]:
    """Return the newest interpreter of every ``major.minor`` that is found on PATH or among pyenv's versions."""
    found: dict[str, tuple[tuple[int, ...], Path]] = {}
    for path in _candidates():
        version = _version(path)
        name = ".".join(map(str, version[:2]))
        if version >= OLDEST and version > found.get(name, ((), path))[0]:
            found[name] = (version, path)
    return {name: found[name][1] for name in sorted(found, key=lambda name: found[name][0])}


def _candidates() -> Iterator[Path]:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)] + sorted(pyenv.glob("*/bin"))
    for folder in folders:
        yield from (path for path in sorted(folder.glob("python3.*")) if re.fullmatch(r"python3\.\d+", path.name))


def _version(python: Path) -> tuple[int, ...]:
    """Return what an interpreter says it is, or nothing where it doesn't start (a shim of a version that isn't chosen)."""
    done = _run([str(python), "-c", "import sys; print(*sys.version_info[:3])"])
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else ()


def check(name: str, python: Path, numpy: str) -> Outcome:
    """Make the environment where it is missing, and compare the vectors in it."""
    folder = ENVIRONMENTS / f"{name}-numpy{numpy}"
    inside = str(folder / "bin" / "python")
    made = _made(folder, python, inside, numpy)
    if made is not None:
        return Outcome(name, numpy, f"missing: {made}", None)
    done = _run([inside, "-m", "tools.generate", "--check"])
    return Outcome(name, numpy, _last_line(done.stdout + done.stderr), done.returncode == 0)


def _made(folder: Path, python: Path, inside: str, numpy: str) -> str | None:
    """Return why the environment can't be had, or ``None``."""
    needed = [f"numpy=={numpy}.*", *_dependencies()]
    complete = folder / "complete"
    if complete.is_file() and complete.read_text() == "\n".join(needed):
        return None
    shutil.rmtree(folder, ignore_errors=True)
    for command in ([str(python), "-m", "venv", str(folder)], [inside, "-m", "pip", "install", "--quiet", *needed]):
        done = _run(command)
        if done.returncode:
            return _last_line(done.stderr)
    complete.write_text("\n".join(needed))
    return None


def _dependencies() -> list[str]:
    """Return what the project says that it needs to run."""
    dependencies: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return dependencies


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=ROOT, env=os.environ | quiet, capture_output=True, text=True, check=False)  # noqa: S603  our own list


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no word")


def main() -> int:
    """Print one row per combination; fail where one that exists differs, or where none exists."""
    outcomes = []
    for name, python in pythons().items():
        for numpy in NUMPY:
            outcomes.append(check(name, python, numpy))
            _print(outcomes[-1])
    passed = [outcome.passed for outcome in outcomes]
    return 1 if False in passed or True not in passed else 0


def _print(outcome: Outcome) -> None:
    mark = {True: "same", False: "DIFFERS", None: "-"}[outcome.passed]
    sys.stdout.write(f"Python {outcome.python:5} NumPy {outcome.numpy:4} {mark:8} {outcome.word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
