"""How much of everything is asked for, and over how many processes it is spread."""

import argparse
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from fractions import Fraction
from typing import Protocol, TypeVar

from conformance.isolate.allocation import collect_rarely
from conformance.show.terminal import Progress

BATCH = 4


class Asked(Protocol):
    """What can be asked in another process, and said in words."""

    @property
    def words(self) -> str:
        """What it is, on one line."""


A = TypeVar("A", bound=Asked)
B = TypeVar("B")
C = TypeVar("C")


def share_of_all(text: str) -> Fraction:
    """Return a share such as 1/20, or raise what argparse words as wrong usage."""
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found <= 1:
        message = f"a share must be over 0 and up to 1, like 1/20, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return found


def add_options(parser: argparse.ArgumentParser, of: str) -> None:
    """Add the options by which a share of what would be asked is chosen."""
    parser.add_argument("--sample", type=share_of_all, default=Fraction(1), metavar="1/20", help=f"a share of the {of} (default: all)")
    parser.add_argument(
        "--sample-seed", type=int, default=0, metavar="N", help="where the share begins; as many in a row as there are shares take all"
    )


def evenly(every: Sequence[C], share: Fraction, seed: int = 0) -> list[C]:
    """Return that share of all, evenly spread from a seed on, the same ones every time."""
    return [each for index, each in enumerate(every, seed) if int((index + 1) * share) > int(index * share)]


def spread(name: str, ask: Callable[[A], B], wanted: Sequence[A], jobs: int) -> Iterator[B]:
    """Yield the answers in order, and show on a terminal how many there are."""
    progress = Progress(name)
    collect_rarely()
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), collect_rarely) if jobs > 1 else nullcontext() as pool:
        found = pool.map(ask, wanted, chunksize=BATCH) if pool else map(ask, wanted)
        for done, (each, answer) in enumerate(zip(wanted, found, strict=True), 1):
            progress(done, len(wanted), each.words)
            yield answer
    progress.clear()
