"""Freed memory is kept, and arrays larger than what is kept still come and go."""

import numpy as np

from conformance import allocation


def test_large_arrays_come_and_go_after_memory_is_kept() -> None:
    allocation.keep_freed()
    sizes = (1 << 10, 1 << 20, 1 << 26)
    assert [int(np.ones(size, dtype=np.int8).sum()) for size in sizes] == list(sizes)
