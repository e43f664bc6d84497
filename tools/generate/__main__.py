"""``python -m tools.generate``: write the vectors, or with ``--check`` compare them byte for byte."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from refimpl.errors import SpecificationError
from tools.generate import files, mint
from tools.generate.errors import GenerationError

VECTORS = Path(__file__).resolve().parents[2] / "vectors"


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate or check; return the exit status."""
    options = _parser().parse_args(arguments)
    started = time.perf_counter()
    try:
        names = mint.chosen(options.only)
        texts = mint.texts(names, processes=options.processes)
        outcome = _finish(options, texts)
    except (GenerationError, SpecificationError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{outcome} ({len(texts)} files, {time.perf_counter() - started:.1f} s)\n")
    return 0


def _finish(options: argparse.Namespace, texts: dict[str, str]) -> str:
    if options.check:
        files.compare(options.directory, texts, complete=options.only is None)
        return "the vectors are what the oracle says"
    written = files.save(options.directory, texts, complete=options.only is None)
    return f"wrote {', '.join(written)}" if written else "nothing to write"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare bytes and name the first difference")
    parser.add_argument("--only", metavar="OPERATION", help="one operation, such as rope.rotate, or all models")
    parser.add_argument("--directory", type=Path, default=VECTORS, help="where the vectors are")
    parser.add_argument("--processes", type=int, default=None, help="how many at once (default: as many as cores)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
