"""Write the vector files whole or not at all, and compare them with what is there."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from tools.generate.document import FORMAT, REVISION
from tools.generate.errors import GenerationError
from tools.generate.writer import Tree, write

MANIFEST = "manifest.yaml"
NOTICE = "# SHA-256 of every file of the vectors, written by `python -m tools.generate`.\n"


def manifest(directory: Path, texts: Mapping[str, str]) -> str:
    """Return the manifest of a directory in which ``texts`` replace the files of those names."""
    contents = {name: (directory / name).read_bytes() for name in _kept(directory)} | {name: text.encode() for name, text in texts.items()}
    files: Tree = {name: hashlib.sha256(contents[name]).hexdigest() for name in sorted(contents)}
    return NOTICE + write({"format": FORMAT, "revision": REVISION, "files": files})


def _kept(directory: Path) -> list[str]:
    """Return the files that the manifest covers: vectors, attested numbers, released models, the schema."""
    patterns = ("*.yaml", "attested/*.yaml", "models/*.yaml", "schema.json")
    return [path.relative_to(directory).as_posix() for pattern in patterns for path in directory.glob(pattern) if path.name != MANIFEST]


def replace(path: Path, text: str) -> None:
    """Write a file through a temporary one beside it, so that nobody ever reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def save(directory: Path, texts: Mapping[str, str], *, complete: bool) -> list[str]:
    """Write every file that differs, the manifest last; return their names."""
    for name in _stale(directory, texts) if complete else []:
        (directory / name).unlink()
    written = [name for name, text in texts.items() if _read(directory / name) != text]
    for name in written:
        replace(directory / name, texts[name])
    index = manifest(directory, texts)
    if _read(directory / MANIFEST) != index:
        replace(directory / MANIFEST, index)
        written.append(MANIFEST)
    return written


def compare(directory: Path, texts: Mapping[str, str], *, complete: bool) -> None:
    """Raise at the first file and line that differs from what is there."""
    stale = _stale(directory, texts) if complete else []
    if stale:
        message = f"{stale[0]}: must belong to an operation or a model, got a file that nothing generates"
        raise GenerationError(message)
    for name, text in {**texts, MANIFEST: manifest(directory, texts)}.items():
        _compare(name, _read(directory / name), text)


def _compare(name: str, found: str | None, text: str) -> None:
    if found is None:
        message = f"{name}: must be generated, got no file"
        raise GenerationError(message)
    if found != text:
        pairs = zip([*found.split("\n"), ""], [*text.split("\n"), ""], strict=False)
        line = next((number for number, (old, new) in enumerate(pairs, start=1) if old != new), 0)
        message = f"{name}, line {line}: must equal what the oracle says now, got another text; run python -m tools.generate"
        raise GenerationError(message)


def _stale(directory: Path, texts: Mapping[str, str]) -> list[str]:
    present = (path.relative_to(directory).as_posix() for path in chain(directory.glob("*.yaml"), directory.glob("models/*.yaml")))
    return sorted(name for name in present if name not in texts and name != MANIFEST)


def _read(path: Path) -> str | None:
    return path.read_bytes().decode() if path.is_file() else None
