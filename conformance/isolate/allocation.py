"""Spend little on memory: keep what was freed for the next large array, and look rarely for what nothing refers to any more."""

import atexit
import ctypes
import gc
import sys
from contextlib import suppress

#: Options of glibc's ``mallopt``: how much free memory is kept, and from which size on a piece is mapped apart.
TRIM_THRESHOLD = -1
MMAP_THRESHOLD = -3
#: Larger than all arrays of nearly every call together: once more is free than this, all that is free goes back.
KEPT_BYTES = 1 << 30
#: How many objects are made before the first generation is collected: nearly all that the harness makes lives to the end of its run.
OBJECTS = 200_000


def keep_freed() -> None:
    """Have this process keep what it frees, up to a bound, where its C library can be told so."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            library.mallopt(MMAP_THRESHOLD, KEPT_BYTES)
            library.mallopt(TRIM_THRESHOLD, KEPT_BYTES)


def collect_rarely() -> None:
    """Have this process look for unreachable objects more rarely than Python does by itself, and not when it ends.

    Never a worker, which is as users' code is.
    """
    gc.set_threshold(OBJECTS)
    atexit.register(gc.freeze)


def keep_imported() -> None:
    """Have no collection of a process that collects rarely look at what is there now, which is what was imported; the first time alone."""
    if gc.get_threshold()[0] == OBJECTS and not gc.get_freeze_count():
        gc.freeze()
