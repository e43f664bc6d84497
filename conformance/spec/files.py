"""Write a file whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write text beside the file, then rename; an interruption leaves what was there."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        _open_as_usual(temporary)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def _open_as_usual(name: str) -> None:
    """Give the file the permissions that a plain ``open`` would have given it."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
