"""Print what the harness and the generator cost on this machine: ``python -m tools.bench``."""

import subprocess
import sys
import time
from pathlib import Path

from conformance.bench import measure

ROOT = Path(__file__).resolve().parent.parent


def regeneration() -> str:
    """Return how long it takes to generate every vector and to compare the bytes."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tools.generate", "--check"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return f"regeneration         {time.perf_counter() - started:.1f} s for every vector, compared with the files"


def main() -> int:
    """Print one line per measurement."""
    for line in measure("examples/numpy_right.py"):
        print(line, flush=True)
    print(regeneration())
    return 0


if __name__ == "__main__":
    sys.exit(main())
