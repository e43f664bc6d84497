"""The pictures beside the pages: drawn again only where the numbers in them changed, since releases of matplotlib write other bytes."""

from collections.abc import Iterable, Mapping
from pathlib import Path

FOLDER = "pictures"
DIGESTS = "digests.txt"
SUFFIX = ".png"


def drawn(names: Iterable[str]) -> dict[str, str]:
    """Return the digest of the numbers in every picture that there is for these schemes, or of that name."""
    from conformance.pictures import PICTURES, TOGETHER, digest, draw

    return {name: digest(draw(name)) for name in names if name in {**PICTURES, **TOGETHER}}


def published(folder: Path) -> dict[str, str]:
    """Return the digests of the pictures that lie there."""
    path = folder / DIGESTS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {name: digest for digest, name in (line.split() for line in lines) if file(folder, name).is_file()}


def file(folder: Path, name: str) -> Path:
    """Return where the picture of a scheme lies."""
    return folder / f"{name}{SUFFIX}"


def write(folder: Path, digests: Mapping[str, str]) -> list[str]:
    """Save every picture whose numbers differ from the published ones; return their names."""
    from conformance.pictures import save

    folder.mkdir(parents=True, exist_ok=True)
    old = published(folder)
    changed = [name for name, digest in digests.items() if old.get(name) != digest]
    for name in changed:
        save(name, file(folder, name))
    lines = sorted(f"{digest}  {name}\n" for name, digest in {**old, **digests}.items())
    (folder / DIGESTS).write_text("".join(sorted(lines, key=lambda line: line.split()[1])), encoding="utf-8")
    return changed
