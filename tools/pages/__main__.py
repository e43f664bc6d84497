"""``python -m tools.pages [--check] [SCHEME ...]``: write the pages and their pictures, or say which aren't up to date."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from conformance.pictures import TOGETHER
from refimpl.schemes import SCHEMES
from tools import documents
from tools.pages import pictures
from tools.pages.gaps import gaps
from tools.pages.index import index
from tools.pages.page import page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schemes"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; return 1 where a declaration has gaps or, with ``--check``, a page isn't what it would be now."""
    options = _options(arguments)
    names = options.schemes or list(SCHEMES)
    missing = [gap for name in names for gap in gaps(SCHEMES[name])]
    if missing:
        return documents.complain(missing)
    digests = pictures.drawn([*names, *([] if options.schemes else TOGETHER)])
    texts = pages(names, digests, complete=not options.schemes)
    if options.check:
        return documents.complain([*stale(options.directory, texts, digests), *strays(options.directory)])
    drawn = pictures.write(options.directory / pictures.FOLDER, digests)
    print(f"drew {', '.join(drawn)}" if drawn else "nothing to draw")
    documents.write(options.directory, texts)
    return 0


def pages(names: Iterable[str], pictured: Mapping[str, str], *, complete: bool = True) -> dict[str, str]:
    """Return the text of every page by its file's name; the index only beside all the others."""
    addresses = {name: pictures.file(Path(pictures.FOLDER), name).as_posix() for name in pictured}
    texts = {f"{name}.md": page(SCHEMES[name], addresses.get(name)) for name in names}
    return {"README.md": index(SCHEMES), **texts} if complete else texts


def stale(directory: Path, texts: Mapping[str, str], digests: Mapping[str, str]) -> Iterator[str]:
    """Yield every page and picture that isn't what it would be now."""
    old = pictures.published(directory / pictures.FOLDER)
    yield from (f"docs/schemes/{name} must be written again (make pages)" for name in documents.differing(directory, texts))
    yield from (f"the picture of {name} must be drawn again (make pages)" for name, digest in digests.items() if old.get(name) != digest)


def strays(directory: Path) -> Iterator[str]:
    """Yield every page that belongs to no scheme."""
    known = {"README", *SCHEMES}
    yield from (f"docs/schemes/{path.name} must belong to a scheme" for path in sorted(directory.glob("*.md")) if path.stem not in known)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.pages", description=__doc__)
    parser.add_argument("schemes", metavar="SCHEME", nargs="*", help="these only (default: all, and the index)")
    parser.add_argument("--check", action="store_true", help="write nothing; name what isn't up to date")
    parser.add_argument("--directory", type=Path, default=FOLDER, help="where the pages are")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.schemes if name not in SCHEMES]
    if unknown:
        parser.error(f"scheme must be one of {', '.join(SCHEMES)}, got {unknown[0]}")
    return options


if __name__ == "__main__":
    sys.exit(main())
