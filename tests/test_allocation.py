"""Freed memory is kept, and arrays larger than what is kept still come and go."""

import gc
import subprocess
import sys

import numpy as np

from conformance.isolate import allocation


def test_large_arrays_come_and_go_after_memory_is_kept() -> None:
    allocation.keep_freed()
    sizes = (1 << 10, 1 << 20, 1 << 26)
    assert [int(np.ones(size, dtype=np.int8).sum()) for size in sizes] == list(sizes)


def test_the_collector_of_a_judging_process_runs_rarely_and_still_runs() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(700)
        allocation.collect_rarely()
        assert gc.isenabled()
        assert gc.get_threshold()[0] > 700
    finally:
        gc.set_threshold(*before)


def test_a_judging_process_ends_without_a_last_collection() -> None:
    said = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0))"
    judging = "from conformance.isolate import allocation; allocation.collect_rarely()"
    assert subprocess.check_output([sys.executable, "-c", f"{said}; {judging}"], text=True) == "True\n"


def test_what_was_imported_is_collected_no_more_where_a_process_judges_and_nowhere_else() -> None:
    count = "allocation.keep_imported(); print(gc.get_freeze_count() > 0)"
    for judging, kept in (("allocation.collect_rarely()", "True\n"), ("pass", "False\n")):
        said = f"import gc; from conformance.isolate import allocation; {judging}; {count}"
        assert subprocess.check_output([sys.executable, "-c", said], text=True) == kept
