"""A second copy of the reference, to be changed while the first goes on judging."""

import ast
import contextlib
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from conformance.calls.outcomes import Errored
from conformance.calls.subject import CallFailedError, Reply, Subject
from conformance.spec.declarations import operations
from refimpl.spec import Operation
from tools.mutation.mutations import Mutation
from tools.mutation.precision import ROUND, Rounding
from tools.mutation.sites import Site

PACKAGE = "refimpl"


class StillbornError(Exception):
    """A changed source that doesn't compile."""


@dataclass(frozen=True)
class Specimen:
    """The copy's modules by name, its operations, and what its rounding met."""

    modules: Mapping[str, ModuleType]
    operations: Mapping[str, Operation]
    rounding: Rounding

    def function(self, site: Site) -> FunctionType:
        """Return the copy of a function."""
        found: Any = self.modules[site.module]
        for name in site.name.split("."):
            found = inspect.unwrap(getattr(found, name))
        return found  # type: ignore[no-any-return]  # a site is a function

    @contextlib.contextmanager
    def changed(self, mutation: Mutation) -> Iterator[None]:
        """Change one function where it stands, so that all who hold it run the change, and put it back."""
        function = self.function(mutation.site)
        function.__globals__[ROUND] = self.rounding
        self.rounding.met = self.rounding.changed = False
        before = _parts(function)
        _become(function, _parts(_defined(mutation.tree(), function)))
        try:
            yield
        finally:
            _become(function, before)

    def subject(self, name: str, dtype: str) -> Subject:
        """Return an operation of the copy as something to judge: computed in float64, the result in the dtype."""
        return Subject(operations()[name], dtype, dtype, self._caller(name, dtype))

    def _caller(self, name: str, dtype: str) -> Callable[..., Reply]:
        operation = self.operations[name]
        like = {"like": np.zeros(1)} if operation.takes_like else {}

        def call(arrays: Collection[np.ndarray], parameters: Mapping[str, object]) -> Reply:
            given = [array.copy() for array in arrays]
            try:
                with np.errstate(all="ignore"):
                    return _reply(operation, operation.function(*given, **parameters, **like), dtype)
            except CallFailedError:
                raise
            except Exception as error:
                raise CallFailedError(Errored(str(error))) from error

        return call


def copied() -> Specimen:
    """Return a second copy, imported under the same names while the first stands aside."""
    first = {name: module for name, module in sys.modules.items() if name.split(".")[0] == PACKAGE}
    for name in first:
        del sys.modules[name]
    try:
        schemes = importlib.import_module(f"{PACKAGE}.schemes")
        modules = {name: module for name, module in sys.modules.items() if name.split(".")[0] == PACKAGE}
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
            del sys.modules[name]
        sys.modules.update(first)
    return Specimen(modules, schemes.operations(), Rounding())


def _parts(function: FunctionType) -> tuple[CodeType, Any, Any]:
    return function.__code__, function.__defaults__, function.__kwdefaults__


def _become(function: FunctionType, parts: tuple[CodeType, Any, Any]) -> None:
    function.__code__, function.__defaults__, function.__kwdefaults__ = parts


def _defined(tree: ast.FunctionDef, function: FunctionType) -> FunctionType:
    scratch: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # a number compared by identity is one of the mistakes
            code = compile(ast.Module([tree], []), "<mutation>", "exec")
        exec(code, function.__globals__, scratch)  # noqa: S102  our own source, changed
    except (SyntaxError, ValueError, TypeError) as error:
        raise StillbornError(str(error)) from error
    return scratch[tree.name]  # type: ignore[no-any-return]  # what a definition defines


def _reply(operation: Operation, returned: object, dtype: str) -> Reply:
    parts = returned if isinstance(returned, tuple) else (returned,)
    if len(parts) != len(operation.results):
        raise CallFailedError(Errored(f"must return {len(operation.results)} results, got {len(parts)}"))
    values = {name: _cast(part, dtype) for name, part in zip(operation.results, parts, strict=True)}
    return Reply(values, {name: "int64" if value.dtype.kind in "iu" else dtype for name, value in values.items()})


def _cast(value: object, dtype: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise CallFailedError(Errored(f"must return real numbers, got {array.dtype}"))
    with np.errstate(all="ignore"):
        return array if array.dtype.kind in "iu" else array.astype(dtype).astype(np.float64)


def run_by(specimen: Specimen, name: str, calls: Collection[tuple[Collection[np.ndarray], Mapping[str, object]]]) -> set[CodeType]:
    """Return the code of every function of the copy that an operation runs on such calls."""
    met: set[CodeType] = set()
    ask = specimen.subject(name, "float64").call
    sys.setprofile(lambda frame, event, _: met.add(frame.f_code) if event == "call" else None)
    try:
        for arrays, parameters in calls:
            _ignoring(ask, arrays, parameters)
    finally:
        sys.setprofile(None)
    return met


def _ignoring(ask: Callable[..., Reply], arrays: Collection[np.ndarray], parameters: Mapping[str, object]) -> None:
    try:
        ask(arrays, parameters)
    except CallFailedError:
        return


def reached(specimen: Specimen, sites: Collection[Site], met: Collection[CodeType]) -> Iterator[Site]:
    """Yield the sites whose code was met."""
    yield from (site for site in sites if getattr(specimen.function(site), "__code__", None) in met)
