"""Which page stands where: the shelves are those of docs/README.md, in its order."""

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHELF = re.compile(r"^## (.*)\n((?:(?!## ).*\n?)*)", re.MULTILINE)
ENTRY = re.compile(r"^\| \[[^]]*\]\(([^)]+)\.md\)", re.MULTILINE)
PICTURE = re.compile(r"^!\[(.*)\]\((.*)\)$", re.MULTILINE)
#: Pages beside the shelves.
OTHERS = ["tools/site/api", "tools/site/gallery", "docs/README", "CHANGELOG", "SECURITY"]
#: The folder whose pages stand under the page that lists them.
FOLDERS = {"docs/schemes/README": "docs/schemes", "docs/mistakes": "docs/mistakes"}


def shelves() -> dict[str, list[str]]:
    """Return the pages of every shelf."""
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    return {title: [posixpath.normpath(f"docs/{name}") for name in ENTRY.findall(rows)] for title, rows in SHELF.findall(text)}


def contents(page: str) -> dict[str, list[str]]:
    """Return the pages that stand under a page, by caption."""
    if page == "README":
        return {**shelves(), "Look up": OTHERS}
    if page in FOLDERS:
        pages = (path.relative_to(ROOT).with_suffix("").as_posix() for path in sorted((ROOT / FOLDERS[page]).glob("*.md")))
        return {"": [name for name in pages if name != page]}
    return {}


def added(page: str) -> str:
    """Return what a page gets at its end: the pages under it, for the navigation only, or the pictures."""
    return gallery() if page == "tools/site/gallery" else "".join(_tree(caption, pages) for caption, pages in contents(page).items())


def _tree(caption: str, pages: Iterable[str]) -> str:
    options = [":hidden:", f":caption: {caption}" if caption else ":maxdepth: 1"]
    return "\n".join(["", "", "```{toctree}", *options, "", *(f"/{page}" for page in pages), "```", ""])


def gallery() -> str:
    """Return every picture of a document once, with its words and a link to a page that shows it."""
    pages = [ROOT / "docs" / "founding.md", *sorted((ROOT / "docs" / "schemes").glob("*.md"))]
    shown = {
        posixpath.normpath(f"{page.parent.relative_to(ROOT).as_posix()}/{picture}"): (words, page.relative_to(ROOT).as_posix())
        for page in pages
        for words, picture in PICTURE.findall(page.read_text(encoding="utf-8"))
    }
    return "".join(f"\n![{words}](/{picture})\n\n[](/{page}): {words}\n" for picture, (words, page) in shown.items())
