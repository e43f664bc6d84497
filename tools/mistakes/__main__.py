"""``python -m tools.mistakes [--check]``: write the pages of known mistakes, or say which aren't up to date."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.mutants.told import FOLDER
from refimpl.schemes import SCHEMES
from tools import documents
from tools.mistakes.index import index, reports
from tools.mistakes.known import mistakes
from tools.mistakes.page import page

DOCS = Path(__file__).resolve().parents[2] / "docs"
INDEX = "mistakes.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; return 1 where, with ``--check``, a page isn't what it would be now."""
    options = _options(arguments)
    texts = pages()
    if options.check:
        return documents.complain([*stale(options.directory, texts), *strays(options.directory, texts)])
    documents.write(options.directory, texts)
    return 0


def pages() -> dict[str, str]:
    """Return the text of every page by its path below the documents."""
    schemes = {f"{FOLDER}/{name}.md": page(scheme) for name, scheme in SCHEMES.items() if mistakes(name)}
    return {INDEX: index(), **schemes, f"{FOLDER}/reports.md": reports()}


def stale(directory: Path, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield every page that isn't what it would be now."""
    yield from (f"docs/{name} must be written again (make mistakes)" for name in documents.differing(directory, texts))


def strays(directory: Path, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield every page that belongs to no scheme."""
    found = sorted(path.name for path in (directory / FOLDER).glob("*.md"))
    yield from (f"docs/{FOLDER}/{name} must belong to a scheme" for name in found if f"{FOLDER}/{name}" not in texts)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mistakes", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name what isn't up to date")
    parser.add_argument("--directory", type=Path, default=DOCS, help="where the documents are")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
