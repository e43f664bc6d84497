"""Who imports or opens what holds right answers, and which variables are missed: written down in the worker, told to the harness."""

import builtins
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.spec.directory import vectors_directory

#: What holds right answers, or makes them.
HOLDING = ("refimpl", "conformance.oracle", "conformance.golden", "conformance.mutants", "conformance.adapters")
#: Whose imports are the harness's own.
OURS = ("conformance", "refimpl", "posenc")
#: How the files of vectors are called.
DATA = (".yaml", ".json")
#: The longest name of a variable that is told.
LONGEST = 200


@dataclass
class Notes:
    """What was written down: each once, and so many at most."""

    most: int
    known: set[str] = field(default_factory=set)
    untold: list[str] = field(default_factory=list)

    def note(self, words: str) -> None:
        """Write something down."""
        if words not in self.known and len(self.known) < self.most:
            self.known.add(words)
            self.untold.append(words)

    def news(self) -> list[str]:
        """Return what was written down since this was asked last."""
        found = self.untold.copy()
        self.untold.clear()
        return found


_reached = Notes(20)
_sought = Notes(1_000)


def watch() -> None:
    """Write down from now on what is imported, also where it was imported before, and which vectors are opened."""
    folder = os.path.realpath(vectors_directory())
    builtins.__import__ = _statement(builtins.__import__)
    importlib.import_module = _function(importlib.import_module)

    def opened(event: str, details: Sequence[Any]) -> None:
        if event == "open" and isinstance(details[0], str) and details[0].endswith(DATA):
            path = Path(os.path.realpath(details[0]))
            if path.is_relative_to(folder):
                _reached.note(f"opens vectors/{path.relative_to(folder)}")

    sys.addaudithook(opened)


def watch_environment() -> None:
    """Write down from now on which variables are asked for that aren't there."""
    kind: Any = type(os.environ)
    plain = kind.__getitem__

    def looked_up(environment: Any, name: Any) -> Any:
        try:
            return plain(environment, name)
        except KeyError:
            if isinstance(name, str) and len(name) <= LONGEST:
                _sought.note(name)
            raise

    kind.__getitem__ = looked_up


def news() -> dict[str, list[str]]:
    """Return in words what was reached, and the names of variables that were missed, since this was asked last."""
    return {"reached": _reached.news(), "sought": _sought.news()}


def _statement(plain: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
    """Return what an ``import`` statement calls."""

    def imported(name: str, scope: Any = None, local: Any = None, fromlist: Any = (), level: int = 0) -> ModuleType:
        if level == 0 and name.startswith(OURS):
            _imported((name, *(f"{name}.{part}" for part in fromlist or ())), scope)
        return plain(name, scope, local, fromlist, level)

    return imported


def _function(plain: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
    """Return what stands for ``importlib.import_module``."""

    def import_module(name: str, package: str | None = None) -> ModuleType:
        if name.startswith(OURS):
            _imported((name,), sys._getframe(1).f_globals)  # noqa: SLF001  who asks is nowhere else
        return plain(name, package)

    return import_module


def _imported(names: Sequence[str], scope: Any) -> None:
    """Write down the first of the names that holds right answers, unless the harness itself imports it."""
    held = next((name for name in names if _within(name, HOLDING)), None)
    who = scope if isinstance(scope, Mapping) else {}
    if held is not None and not _within(str(who.get("__name__", "")), OURS):
        _reached.note(f"imports {held} in {Path(str(who.get('__file__') or who.get('__name__', '?'))).name}")


def _within(name: str, packages: Sequence[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)
