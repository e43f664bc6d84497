"""What ends a run is heard wherever the run is, once."""

import gc
import os
import signal
import time
import weakref
from collections.abc import Callable

import pytest

from conformance.isolate.interrupts import heeded

NUMBERS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)


def wait(seconds: float = 20.0) -> None:
    """Do nothing until it is interrupted, or fail."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        os.sched_yield()
    pytest.fail("the interruption was lost")


def send_and_wait(sends: Callable[[int], None], number: int) -> None:
    """Send a signal, which is heard later, be it while what sends it still collects."""
    sends(number)
    wait()


class Loud:
    """What sends a signal when it is gone."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


def in_a_destructor(number: int) -> None:
    Loud(number)


def in_a_finalizer(number: int) -> None:
    weakref.finalize(Quiet(), signal.raise_signal, number)
    gc.collect()


def in_a_callback_of_the_collector(number: int) -> None:
    def once(phase: str, _: object) -> None:
        gc.callbacks.remove(once)
        signal.raise_signal(number)

    gc.callbacks.append(once)
    gc.collect()


def in_the_callback_of_a_reference(number: int) -> None:
    def cb(_: object) -> None:  # as an import's
        signal.raise_signal(number)

    thing = Quiet()
    reference = weakref.ref(thing, cb)
    del thing
    assert reference() is None


class Quiet:
    """What can be referred to weakly."""


@NUMBERS
@pytest.mark.parametrize("sends", [in_a_destructor, in_a_finalizer, in_a_callback_of_the_collector, in_the_callback_of_a_reference])
def test_an_interruption_is_heard_where_an_exception_would_be_dropped(sends: Callable[[int], None], number: int) -> None:
    with heeded(once=True), pytest.raises(KeyboardInterrupt):
        send_and_wait(sends, number)


@NUMBERS
def test_a_further_interruption_changes_nothing_where_one_was_heard(number: int) -> None:
    with heeded(once=True):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        signal.raise_signal(signal.SIGTERM)


@NUMBERS
def test_each_interruption_is_heard_where_further_ones_count(number: int) -> None:
    with heeded():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
