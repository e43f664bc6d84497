"""The standard library and NumPy in a worker: what a call replaces there is told, and the worker works with what was there before."""

import builtins
import sys
from collections.abc import Iterator, Mapping, ValuesView
from contextlib import suppress
from itertools import chain
from types import FunctionType, ModuleType, TracebackType
from typing import Any, NamedTuple

#: So many names are told of one call.
MOST = 3
#: What the worker needs besides: its functions and classes at the top level.
NUMPY = "numpy"
#: What is looked at where it is loaded later too: to look at all that libraries load would take longer than a call.
NUMBERS = {"cmath", "decimal", "fractions", "statistics"}
ABSENT = object()
BUILTINS = vars(builtins)


class Replacement(NamedTuple):
    """What stands under a name of a module or a class, and what stood there before."""

    holder: Any
    name: str
    before: object
    now: object


Replaced = Mapping[str, Replacement]


class Library:
    """The functions and classes of modules that were loaded when it was made: inside of ``with``, as foreign code wants them."""

    def __init__(self) -> None:
        """Remember what there is."""
        self.held: list[tuple[Any, Mapping[str, object], Mapping[str, object]]] = []
        self.views: list[ValuesView[object]] = []
        self.builtins = BUILTINS.copy()
        self.replaced: Replaced = {}
        self._remember(list(_modules()))
        self.there = self._there()

    def extend(self) -> None:
        """Remember what computes numbers and was loaded since, as it is now: inside of ``with``, at whose end all is looked at."""
        known = {id(holder) for holder, *_ in self.held}
        self._remember([each for each in _modules() if each.__name__ in NUMBERS and id(each) not in known])

    def _remember(self, modules: list[ModuleType]) -> None:
        held: list[Any] = [*modules, *_classes(modules)]
        self.held += [(each, vars(each), dict(vars(each))) for each in held]
        self.views += [vars(each).values() for each in held]

    def __enter__(self) -> None:
        """Put there what foreign code had put there."""
        for each in self.replaced.values():
            _put(each.holder, each.name, each.now)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Look what foreign code has put there, and put back what was there before."""
        there, foreign = self._there(), BUILTINS.copy()
        BUILTINS.update(self.builtins)  # which all that follows is made of
        if not _same(there, self.there):
            self.replaced, self.there = dict(self._found(foreign)), there
        for each in self.replaced.values():
            _put(each.holder, each.name, each.before)

    def since(self, before: Replaced) -> Iterator[str]:
        """Yield in words what is replaced that wasn't."""
        every = sorted(self.replaced.keys() - before.keys())
        for owner, foreign in (("the standard library", False), ("NumPy", True)):
            names = [name for name in every if (name.partition(".")[0] == NUMPY) is foreign]
            if names:
                more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
                yield f"changes global state: names of {owner} ({', '.join(names[:MOST])}{more})"

    def _there(self) -> list[object]:
        """Return all that stands in the library, which takes no look at each."""
        return [*chain.from_iterable(self.views)]

    def _found(self, foreign: Mapping[str, object]) -> Iterator[tuple[str, Replacement]]:
        for holder, held, before in self.held:
            now = foreign if holder is builtins else held
            for name in now.keys() | before.keys():
                each = Replacement(holder, name, before.get(name, ABSENT), now.get(name, ABSENT))
                if each.now is not each.before and _lasts(each):
                    yield f"{_called(holder)}.{name}", each


def _same(there: list[object], before: list[object]) -> bool:
    with suppress(Exception):  # of what isn't equal or unequal, such as arrays
        return there == before
    return False


def _put(holder: Any, name: str, value: object) -> None:
    if value is not ABSENT:
        setattr(holder, name, value)
    elif name in vars(holder):
        delattr(holder, name)


def _called(holder: Any) -> str:
    return holder.__name__ if isinstance(holder, ModuleType) else f"{holder.__module__}.{holder.__qualname__}"


def _modules() -> Iterator[ModuleType]:
    """Yield each module once, under whatever names it is imported."""
    loaded = sys.modules.copy().items()
    standard = {name: module for name, module in loaded if name == NUMPY or name.partition(".")[0] in sys.stdlib_module_names}
    yield from {id(module): module for module in standard.values() if isinstance(module, ModuleType)}.values()


def _classes(modules: list[ModuleType]) -> Iterator[type]:
    """Yield the classes of which somebody could replace a function: C has made the others."""
    for module in modules:
        for name, value in vars(module).items():
            own = isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_")
            if own and any(isinstance(each, FunctionType) for each in vars(value).values()):
                yield value


def _lasts(each: Replacement) -> bool:
    """Whether it should last: functions, also inherited ones, classes, constants; none that is private, which imports of libraries mend."""
    if each.name.startswith("_") and not each.name.startswith("__"):
        return False
    if each.before is ABSENT:
        inherited = any(each.name in vars(base) for base in getattr(each.holder, "__mro__", ())[1:])
        return not each.name.startswith("_") and (inherited or each.holder is builtins)
    return callable(each.before) or isinstance(each.before, classmethod | staticmethod | property | float)
