"""What a known mistake is, as data: runnable, with the threads where others met it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["mistake", "convention", "precision"]


def slug(name: str) -> str:
    """Return what a mistake or case is called, without its operation."""
    return name.partition("/")[2]


@dataclass(frozen=True)
class Mutant:
    """A known mistake, or a convention, of one operation.

    ``function`` has the operation's signature, takes NumPy arrays and returns what the mistake returns.
    A convention ``forces`` parameters; ``origin`` says where a mistake without a public thread comes from. An ``inherited`` one befalls
    every scheme of a form, and was met in another one unless it has threads.
    """

    name: str
    operation: str
    kind: Kind
    does: str
    should: str
    fix: str
    function: Callable[..., Any]
    threads: tuple[str, ...] = ()
    forces: Mapping[str, object] = field(default_factory=dict)
    origin: str = ""
    inherited: bool = False


@dataclass(frozen=True)
class Habit:
    """A known mistake that no single answer shows: what calls leave behind, or do to their arguments.

    ``make`` returns a fresh instance, a function with the operation's signature that takes NumPy arrays; ``convicted_by`` names the laws
    (``law:history independence``) that must convict it. Vectors can't name it; the calls that a law convicts, asked once more, do.
    ``asks`` makes arrays of one more call, in which code that keeps whole answers gives others.
    """

    name: str
    operation: str
    does: str
    should: str
    fix: str
    make: Callable[[], Callable[..., Any]]
    convicted_by: tuple[str, ...]
    threads: tuple[str, ...] = ()
    origin: str = ""
    asks: Callable[[dict[str, Any]], tuple[Any, ...]] | None = None
