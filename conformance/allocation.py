"""Keep memory that was freed for the next large array: handing it back and taking it anew costs more than filling it."""

import ctypes
import sys
from contextlib import suppress

#: Options of glibc's ``mallopt``: how much free memory is kept, and from which size on a piece is mapped apart.
TRIM_THRESHOLD = -1
MMAP_THRESHOLD = -3
#: Larger than the arrays of nearly every call.
KEPT_BYTES = 1 << 28


def keep_freed() -> None:
    """Have this process keep what it frees, up to a bound, where its C library can be told so."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            library.mallopt(MMAP_THRESHOLD, KEPT_BYTES)
            library.mallopt(TRIM_THRESHOLD, KEPT_BYTES)
