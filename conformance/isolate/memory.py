"""The memory of the process that judges: closed to others while it has workers, as it was before when the last has ended."""

import threading

from conformance.isolate import kernel

_LOCK = threading.Lock()
_workers = 0
_ours = False


def close() -> None:
    """Close it for one more worker."""
    global _workers, _ours  # noqa: PLW0603  a process has one memory
    with _LOCK:
        if _workers == 0:
            _ours = not kernel.memory_closed()
            kernel.close_memory(closed=True)
        _workers += 1


def leave() -> None:
    """Open it again after the last worker, where it was open."""
    global _workers  # noqa: PLW0603  the same
    with _LOCK:
        _workers -= 1
        if _workers == 0 and _ours:
            kernel.close_memory(closed=False)
