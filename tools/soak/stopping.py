"""Run a module that stops where it changes a folder, to be killed there: ``python -m tools.soak.stopping FOLDER MODULE ...``."""

import os
import runpy
import signal
import sys

#: What Python announces before it changes files (its audit events); opening counts where it is for writing.
CHANGES = frozenset({"open", "os.chmod", "os.mkdir", "os.remove", "os.rename", "tempfile.mkstemp"})
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def main(folder: str, module: str, *arguments: str) -> None:
    """Run a module as ``python -m`` does; it stops each time before it changes something in the folder."""

    def stop(event: str, details: tuple[object, ...]) -> None:
        if event in CHANGES and _changes(event, details) and any(_inside(folder, detail) for detail in details):
            os.kill(os.getpid(), signal.SIGSTOP)

    sys.argv = [module, *arguments]
    sys.addaudithook(stop)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _changes(event: str, details: tuple[object, ...]) -> bool:
    flags = details[-1]
    return event != "open" or (isinstance(flags, int) and bool(flags & WRITING))


def _inside(folder: str, detail: object) -> bool:
    return isinstance(detail, str | bytes | os.PathLike) and folder in os.fsdecode(detail)


if __name__ == "__main__":
    main(*sys.argv[1:])
