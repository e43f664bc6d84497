"""What a known mistake is, as data: runnable, with the threads where others met it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Mutant:
    """A known mistake, or a convention, of one operation.

    ``function`` has the operation's signature, takes NumPy arrays and returns what the mistake returns.
    ``convicted_by`` names the vectors (``rope.rotate/far-and-slow``) and laws (``law:isometry``) that must convict it.
    """

    name: str
    operation: str
    kind: Literal["mistake", "convention", "precision"]
    does: str
    should: str
    fix: str
    function: Callable[..., Any]
    convicted_by: tuple[str, ...]
    threads: tuple[str, ...] = ()
