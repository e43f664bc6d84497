"""Print what the harness, the generator and the reference's rotation cost on this machine: ``python -m tools.bench``."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from conformance.show.bench import measure
from refimpl.schemes import rope

ROOT = Path(__file__).resolve().parent.parent
ROTATED = (1, 32, 4_096, 128)
REPEATS = 5


def regeneration() -> str:
    """Return how long it takes to generate every vector and to compare the bytes."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tools.generate", "--check"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return f"regeneration         {time.perf_counter() - started:.1f} s for every vector, compared with the files"


def rotations(shape: tuple[int, int, int, int] = ROTATED) -> Iterator[str]:
    """Yield what the reference's rotation of float32 features costs, in copies of them."""
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    positions, head_dim = np.arange(shape[-2]), shape[-1]
    cos, sin = rope.tables(positions, head_dim=head_dim)
    narrow = cos.astype(np.float32), sin.astype(np.float32)
    copied = _fastest(x.copy)
    for layout in ("half", "interleaved"):
        given = _fastest(partial(rope.apply, x, *narrow, layout=layout)) / copied
        own = _fastest(partial(rope.rotate, x, positions, head_dim=head_dim, layout=layout)) / copied
        yield f"reference, {layout:<11} {given:.1f} copies with float32 tables, {own:.1f} with float64 inside ({shape} in float32)"


def _fastest(function: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest of some calls."""
    return min(_seconds(function) for _ in range(REPEATS))


def _seconds(function: Callable[[], object]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def main() -> int:
    """Print one line per measurement."""
    for line in chain(measure("examples/numpy_right.py"), rotations()):
        print(line, flush=True)
    print(regeneration())
    return 0


if __name__ == "__main__":
    sys.exit(main())
