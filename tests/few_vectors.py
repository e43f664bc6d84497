"""A folder of a few vector files: what is asked of a folder needn't be asked of all files, which takes seconds."""

import hashlib
import shutil
from pathlib import Path

from conformance.spec.vectors import vectors_directory


def few_vectors(home: Path, *names: str) -> Path:
    """Copy the files of these names and the schema, and return their folder."""
    home.mkdir()
    for name in (*names, "schema.json"):
        (home / name).parent.mkdir(exist_ok=True)
        shutil.copy(vectors_directory() / name, home / name)
    seal(home)
    return home


def seal(home: Path) -> None:
    """Write a manifest that vouches for whatever is there."""
    files = {path.relative_to(home).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in home.rglob("*.*")}
    files.pop("manifest.yaml", None)
    lines = [f"  {name}: {digest!r}\n" for name, digest in files.items()]
    (home / "manifest.yaml").write_text("format: 1\nrevision: 1\nfiles:\n" + "".join(lines))
