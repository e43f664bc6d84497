"""Check the names that a person types against what exists, and say the near miss."""

import importlib
import re
import subprocess
import sys
from collections.abc import Collection, Sequence

from conformance.adapt.adapter import DTYPES, near_miss
from conformance.adapt.wording import ended_with, told
from conformance.spec.declarations import operations as declared
from conformance.spec.declarations import schemes as declared_schemes
from conformance.spec.profiles import PROFILES
from conformance.spec.vectors import of_models

#: What drawn cases are called.
DRAWN = re.compile(r"(drawn|listed|varied|beside|large|sweep)-[1-9][0-9]{0,6}(-[a-z]+|-[0-9]+)*")

#: Imports a module from the same places, and says so by a status that no library ends with, whatever is raised: it is raised here again.
TRIAL = "import os, sys; sys.path[:] = sys.argv[3:]\ntry: __import__(sys.argv[1])\nfinally: os._exit(int(sys.argv[2]))"
SURVIVED = 97


class SelectionError(Exception):
    """A name that doesn't exist."""


def bring_in(module: str) -> None:
    """Import a module of a library that was asked for, or raise ``SelectionError`` where that raises, exits or ends the process.

    It is first imported in another process, since no word comes of one that is ended, and perhaps the status of success.
    """
    try:
        if module not in sys.modules:
            _verify_survived(module)
        importlib.import_module(module)
    except (Exception, SystemExit) as error:
        message = f"{module.partition('.')[0]} must be a library that can be imported, got {told(error)}"
        raise SelectionError(message) from error


def _verify_survived(module: str) -> None:
    """Raise where another process is ended by importing a module."""
    nothing = subprocess.DEVNULL
    command = [sys.executable, "-c", TRIAL, module, str(SURVIVED), *sys.path]
    ended = subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, check=False).returncode  # noqa: S603  our own interpreter
    if ended != SURVIVED:
        message = f"the process ended with {ended_with(ended)}"
        raise ImportError(message)


def case_ids() -> dict[str, str]:
    """Return what every case exposes, by its id."""
    stored = {f"{scheme.name}.{case.name}": case.exposes for scheme in declared_schemes().values() for case in scheme.cases}
    return stored | {vector.id: vector.exposes for vector in of_models(declared())}


def verify(schemes: Sequence[str], operations: Sequence[str], cases: Sequence[str], profile: str | None) -> None:
    """Raise ``SelectionError`` at the first name that doesn't exist; what isn't named, isn't read."""
    if schemes:
        verify_names("scheme", schemes, declared_schemes())
    others = [name for name in operations if name not in declared()]
    if others:
        # Imported here because it reads how configurations are read, which takes long.
        from conformance.adapt.configured import OFFERED

        verify_names("operation", others, {**declared(), **OFFERED})
    stored = [case for case in cases if not is_drawn(case)]
    if stored:
        verify_names("case", stored, case_ids())
    verify_names("profile", [profile] if profile else [], PROFILES)


def chooses(operations: Collection[str], operation: str, *, by_configuration: bool) -> bool:
    """Whether an operation is one of those that are asked for; where a configuration judges, also under the name that code offers it by."""
    if not by_configuration:
        return operation in operations
    from conformance.adapt.configured import OFFERED, judged_as

    return operation in operations or any(operation in judged_as(name) for name in operations if name in OFFERED)


def is_drawn(case: str) -> bool:
    """Whether a case is one that a run draws (``rope.rotate/drawn-7``): which one that is depends on the run's seed."""
    operation, _, rest = case.partition("/")
    return operation in declared() and DRAWN.fullmatch(rest) is not None


def verify_names(thing: str, names: Sequence[str], known: Collection[str]) -> None:
    """Raise ``SelectionError`` at the first name that isn't known."""
    for name in names:
        if name not in known:
            message = f"{thing} must be one {_where(thing, name, known)}, got {name!r}{_close(DTYPES.get(name, name), known)}"
            raise SelectionError(message)


def _close(name: str, known: Collection[str]) -> str:
    """Return what a name may be meant as, first of the same operation."""
    own = [each for each in known if each.startswith(f"{name.partition('/')[0]}/")]
    return near_miss(name, own) or near_miss(name, known)


def _where(thing: str, name: str, known: Collection[str]) -> str:
    """Say where the names stand: in this line, if they are few."""
    if thing == "model":
        return "that `posenc list models` names"
    if thing in ("profile", "framework"):
        return f"of {', '.join(known)}"
    operation = name.partition("/")[0]
    shown = f"show {operation if operation in declared() else 'OPERATION'}" if thing == "case" else "list"
    return f"that `posenc {shown}` names"
