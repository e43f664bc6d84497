"""Build the wheel, install it into an empty environment and use it outside the repository."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from conformance.version import __version__

ROOT = Path(__file__).resolve().parent.parent


def run(*command: object, cwd: Path, expected: int = 0) -> str:
    """Run a command and return what it printed; end the program where its exit status is another."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, text=True, capture_output=True, check=False)  # noqa: S603  our own commands
    if done.returncode != expected:
        sys.exit(f"wheel: {' '.join(map(str, command))} must exit {expected}, got {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(folder: Path) -> Path:
    """Build the wheel, install it into the folder's environment, and return it."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    wheel = next(folder.glob("posenc-*.whl"))
    run(folder / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=folder)
    return wheel


def main() -> None:
    """Judge the examples with the installed wheel from an empty folder, and keep the wheel where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, help="where to write the wheel")
    parser.add_argument("--tag", default=f"v{__version__}", help="what the release is called")
    asked = parser.parse_args()
    if asked.tag != f"v{__version__}":
        sys.exit(f"wheel: tag must be v{__version__}, got {asked.tag}")
    with tempfile.TemporaryDirectory(prefix="posenc-wheel-") as name:
        folder = Path(name)
        for example in ("numpy_right.py", "numpy_wrong.py"):
            (folder / example).write_text((ROOT / "examples" / example).read_text(encoding="utf-8"), encoding="utf-8")
        venv.create(folder / "env", with_pip=True)
        posenc = folder / "env" / "bin" / "posenc"
        begun = time.monotonic()
        wheel = install(folder)
        installed = time.monotonic()
        print(run(posenc, "check", "numpy_right.py", cwd=folder))
        judged = time.monotonic()
        print(f"a newcomer's commands: {installed - begun:.0f} s to install, {judged - installed:.0f} s from there to the first verdict")
        run(posenc, "vectors", "verify", cwd=folder)
        run(posenc, "doctor", cwd=folder)
        print(run(posenc, "check", "numpy_wrong.py", cwd=folder, expected=1))
        run(posenc, "check", "numpy", "--level", "smoke", "--jobs", "2", cwd=folder)
        if asked.into is not None:
            asked.into.mkdir(parents=True, exist_ok=True)
            shutil.copy2(wheel, asked.into)
        print(f"{wheel.name}: the right example conforms, the wrong one is convicted, the reference conforms, all outside the repository")


if __name__ == "__main__":
    main()
