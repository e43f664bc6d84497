"""Write a file whole or not at all."""

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path

#: So many letters of a name stand in that of the temporary file beside it, which must not be too long where the name isn't.
SHOWN = 48


class OutputError(Exception):
    """A place where nothing can be written, and why."""


def write(path: Path, content: str | bytes) -> None:
    """Write beside the file, then rename; an interruption leaves what was there.

    A file keeps its permissions, a link leads to its file, and what is no regular file (a pipe, a device) is written into.
    An ``OSError`` names the file.
    """
    verify(path)
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    try:
        if _special(path):
            with os.fdopen(_opened(path), "wb") as stream:
                stream.write(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)
        raise


def _replace(real: Path, data: bytes) -> None:
    """Write a regular file whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name[:SHOWN]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if real.exists():
            shutil.copymode(real, temporary)
        else:
            _open_as_usual(temporary)
        Path(temporary).replace(real)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def _opened(path: Path) -> int:
    """Return what is no file, open for writing, or raise ``OutputError`` where it is a pipe that nobody reads, and would never be."""
    if not path.is_fifo():
        return os.open(path, os.O_WRONLY)
    try:
        opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        message = f"pipe must have a reader, got none: {str(path)!r}"
        raise OutputError(message) from error
    os.set_blocking(opened, True)
    return opened


def _special(path: Path) -> bool:
    """Whether something is there that is no file, as a pipe or a device; where ``/dev/stdout`` is a pipe, it leads to no path."""
    return path.exists() and not path.is_file()


def verify(path: Path) -> None:
    """Raise ``OutputError`` where no file can be: its folder doesn't exist or can't be written to, or it is a folder itself."""
    if path.is_dir():
        message = f"file must not be a folder, got {str(path)!r}"
        raise OutputError(message)
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        message = f"link must lead to a file, got one that leads to itself: {str(path)!r}"
        raise OutputError(message)
    folder = real.parent
    if not folder.is_dir():
        message = f"folder of the file must exist, got {str(folder if path.is_symlink() else path.parent)!r}"
        raise OutputError(message)
    if not _special(path):
        make_ready(folder)


def make_ready(folder: Path) -> None:
    """Make a folder where there is none, or raise ``OutputError`` where no file can be written to it."""
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        message = f"folder must be one that files can be written to, got {str(folder)!r} ({error.strerror})"
        raise OutputError(message) from error


def _open_as_usual(name: str) -> None:
    """Give the file the permissions that a plain ``open`` would have given it."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
