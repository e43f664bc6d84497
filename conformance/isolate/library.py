"""The standard library, NumPy and what is imported in a worker: what a call replaces is told, and the worker works with what was there."""

import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from contextlib import suppress
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
MODULES = sys.modules


class Replacement(NamedTuple):
    """What stands under a name of a module or a class, or among what is imported, and what stood there before."""

    holder: Any
    name: str
    before: object
    now: object


#: By what a name is one of, in words, and the name.
Replaced = Mapping[tuple[str, str], Replacement]


class Library:
    """The functions and classes of modules that were loaded when it was made: inside of ``with``, as foreign code wants them."""

    def __init__(self) -> None:
        """Remember what there is."""
        self.held: list[tuple[Any, Mapping[str, object], Mapping[str, object]]] = []
        self.views: list[ValuesView[object]] = []
        self.builtins = BUILTINS.copy()
        self.names: Replaced = {}
        self.modules: Replaced = {}
        self.imported = MODULES.copy()
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

    @property
    def replaced(self) -> Replaced:
        """What foreign code has put in the place of what was there."""
        return {**self.names, **self.modules}

    def __enter__(self) -> None:
        """Put there what foreign code had put there."""
        self.imported = MODULES.copy()
        for each in self.replaced.values():
            _put(each.holder, each.name, each.now)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Look what foreign code has put there, and put back what was there before."""
        there, foreign = self._there(), BUILTINS.copy()
        BUILTINS.update(self.builtins)  # which all that follows is made of
        imported, sys.modules = sys.modules.copy(), MODULES
        same = len(imported) >= len(self.imported) and _same([*imported.values()][: len(self.imported)], [*self.imported.values()])
        self.modules = {} if same else dict(self._lost(imported))
        if not _same(there, self.there):
            self.names, self.there = dict(self._found(foreign)), there
        for each in self.replaced.values():
            _put(each.holder, each.name, each.before)

    def since(self, before: Replaced) -> Iterator[str]:
        """Yield in words what is replaced that wasn't."""
        every = sorted(self.replaced.keys() - before.keys())
        for owner in dict.fromkeys(owner for owner, _ in every):
            names = [name for each, name in every if each == owner]
            more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
            yield f"changes global state: {owner} ({', '.join(names[:MOST])}{more})"

    def _lost(self, imported: Mapping[str, object]) -> Iterator[tuple[tuple[str, str], Replacement]]:
        for name, before in self.imported.items():
            each = Replacement(MODULES, name, before, imported.get(name, ABSENT))
            if each.now is not before:
                yield ("imported modules", name), each

    def _there(self) -> list[object]:
        """Return all that stands in the library, which takes no look at each."""
        there: list[object] = []
        for each in self.views:
            there.extend(each)
        return there

    def _found(self, foreign: Mapping[str, object]) -> Iterator[tuple[tuple[str, str], Replacement]]:
        for holder, held, before in self.held:
            now = foreign if holder is builtins else held
            for name in now.keys() | before.keys():
                each = Replacement(holder, name, before.get(name, ABSENT), now.get(name, ABSENT))
                if each.now is not each.before and _lasts(each):
                    called = _called(holder)
                    yield (f"names of {'NumPy' if called.partition('.')[0] == NUMPY else 'the standard library'}", f"{called}.{name}"), each


def _same(there: Sequence[object], before: Sequence[object]) -> bool:
    with suppress(Exception):  # of what isn't equal or unequal, such as arrays
        return there == before
    return False


def _put(holder: Any, name: str, value: object) -> None:
    if holder is MODULES:
        MODULES.pop(name, None) if value is ABSENT else MODULES.update({name: value})
    elif value is not ABSENT:
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
    if each.name.startswith("_") and not each.name.startswith("__") and each.name not in getattr(each.holder, "__all__", ()):
        return False
    if each.before is ABSENT:
        inherited = any(each.name in vars(base) for base in getattr(each.holder, "__mro__", ())[1:])
        return not each.name.startswith("_") and (inherited or each.holder is builtins)
    return callable(each.before) or isinstance(each.before, classmethod | staticmethod | property | float)
