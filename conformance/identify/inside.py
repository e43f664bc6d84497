"""The process in which functions are called that nobody has declared: load them, describe their signatures, answer calls."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from conformance.adapt import signatures
from conformance.adapt.adapter import FRAMEWORKS as NAMES
from conformance.adapt.adapter import Adapter, Implementation, near_miss
from conformance.adapt.arrays import MalformedError, MisfitError, NumPy
from conformance.adapt.results import exact
from conformance.adapt.wording import attribute
from conformance.isolate import serving, targets, traces
from conformance.isolate.serving import Answer

#: Libraries whose arrays a function takes if its module imports them, the likeliest first; numpy if none.
IMPORTED = {"torch": "torch", "jax": "jax", "tensorflow": "tensorflow", "mlx": "mlx", "paddle": "paddle", "cupy": "cupy"}
SEPARATOR = "\n"
#: Letters and bits of a default that may be a setting.
LONGEST = 200
LONGEST_INTEGER = 63
#: What a library must be able to do with arrays.
STRIDED = "strided"


@dataclass(frozen=True)
class Stranger:
    """A function of which only the name is known, and the library whose arrays it takes."""

    label: str
    function: Callable[..., Any]
    framework: NumPy
    name: str
    declared: Implementation | None = None
    kept: traces.Kept = field(init=False)

    def __post_init__(self) -> None:
        """Keep no result yet."""
        object.__setattr__(self, "kept", traces.Kept(self.framework))

    def describe(self) -> dict[str, object]:
        """Return what its signature says, and what an adapter declares it to be, for who compares that with what was found."""
        known = self.declared
        declared = None if known is None else [known.operation, targets.plain_restrictions(known.restrictions)]
        training = attribute(self.function, "training") is True
        return {"label": self.label, "framework": self.name, "declared": declared, "training": training, **_signature(self.function)}

    def answer(self, request: Mapping[str, Any], arrays: Sequence[np.ndarray], foreign: AbstractContextManager[object]) -> Answer:
        """Return what it returns, as a flat list of arrays; it is called inside of a context."""
        made = [self._laid(argument, arrays, request) for argument in request["arguments"]]
        keywords = {name: self._laid(argument, arrays, request) for name, argument in request["keywords"].items()}
        with foreign:
            returned = self.function(*made, **keywords)
        flat = [*_flat(returned)]
        parts = [exact(part, self.framework)[0] for part in flat]
        self.kept.keep(flat, parts)
        return {"status": "ok", "complex": _complex(returned), "left": [*self.kept.changes()]}, parts

    def _laid(self, argument: Mapping[str, Any], arrays: Sequence[np.ndarray], request: Mapping[str, Any]) -> Any:
        """Return an argument, an array as a view where that is asked for and the library has such."""
        made = self._made(argument, arrays, request["dtype"])
        view = request["strided"] and "value" not in argument and STRIDED in self.framework.manners
        return self.framework.strided(made) if view else made

    def _made(self, argument: Mapping[str, Any], arrays: Sequence[np.ndarray], dtype: str) -> Any:
        if "complex" in argument:
            real, imaginary = (self.framework.floats(arrays[argument["complex"] + i], dtype) for i in range(2))
            return real + 1j * imaginary
        if "array" not in argument:
            value = argument["value"]
            return tuple(value) if isinstance(value, list) else value
        values = arrays[argument["array"]]
        return self.framework.integers(values) if values.dtype.kind == "i" else self.framework.floats(values, dtype)


@dataclass
class Undeclared:
    """All functions of a target; ``alone`` where it is one function, not an adapter."""

    strangers: list[Stranger]
    alone: bool
    waits: Callable[[int], None] | None = None
    foreign: AbstractContextManager[object] = field(default_factory=nullcontext)

    def call_within(self, foreign: AbstractContextManager[object]) -> None:
        """Call what is foreign inside of a context from now on."""
        self.foreign = foreign

    def describe(self) -> dict[str, object]:
        """Return what the signatures say."""
        return {"status": "ready", "alone": self.alone, "functions": [stranger.describe() for stranger in self.strangers]}

    def answer(self, request: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Answer:
        """Return the reply to one call."""
        stranger: Stranger = self.strangers[request["index"]]
        try:
            return stranger.answer(request, arrays, self.foreign)
        except MalformedError as error:
            return {"status": "malformed", "message": str(error)}, []


def undeclared(target: str) -> Undeclared:
    """Return what answers for the function that ``place:name`` names, or for an adapter; a library may follow after a separator."""
    asked, _, framework = target.partition(SEPARATOR)
    place, colon, name = asked.rpartition(":")
    if colon and not asked.startswith(targets.COMMAND) and (place.endswith(".py") or asked not in targets.BUNDLED):
        value = _named(asked, targets.module(place), name)
        if not isinstance(value, Adapter):
            return Undeclared([_stranger(asked, value, name, framework or guessed(value))], alone=True)
    adapter = targets.load(asked)
    library = targets.framework(adapter)
    strangers = [Stranger(known.label, known.function, library, adapter.framework, known) for known in adapter.implementations]
    return Undeclared(strangers, alone=False, waits=adapter.waits)


def main(descriptor: int, target: str) -> None:
    """Serve on an inherited socket."""
    serving.main(descriptor, target, undeclared)


def _named(target: str, module: object, name: str) -> Any:
    value = module
    for part in name.split("."):
        if not hasattr(value, part):
            message = f"{target} must name a function that exists, got no {part!r}{near_miss(part, dir(value))}"
            raise targets.TargetError(message)
        value = getattr(value, part)
    return value


def _stranger(target: str, value: object, name: str, framework: str) -> Stranger:
    if not callable(value) or inspect.isclass(value):
        message = f"{target} must be a function, got {_kind(value)}"
        raise targets.TargetError(message)
    if framework not in NAMES:
        message = f"framework must be one of {', '.join(NAMES)}, got {framework!r}{near_miss(framework, NAMES)}"
        raise targets.TargetError(message)
    return Stranger(name, value, targets.library(framework), framework)


def _kind(value: object) -> str:
    if inspect.isclass(value):
        return f"the class {value.__name__} (wrap it: def f(x): return {value.__name__}(...)(x))"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}: name a function of it, as in {value.__name__}:NAME"
    return f"{type(value).__name__} {value!r}"[:60]


def guessed(function: object) -> str:
    """Return the library that a function, or what it calls in its module, names by whatever name; else one that the module has imported."""
    try:
        inner = inspect.unwrap(function)  # type: ignore[arg-type]  # of what isn't wrapped it is the same
    except (Exception, SystemExit):  # noqa: BLE001  its attributes are asked from code that isn't ours
        inner = function
    names = attribute(inner, "__globals__") or vars(sys.modules.get(attribute(inner, "__module__") or type(inner).__module__, sys))
    for used in (_used(attribute(inner, "__code__"), names, set()), _tops(names.values())):
        found = next((framework for name, framework in IMPORTED.items() if name in used), "numpy" if "numpy" in used else None)
        if found is not None:
            return found
    return "numpy"


def _used(code: object, names: Mapping[str, Any], known: set[object]) -> set[str]:
    """Return the top modules of what code names, and what it imports itself."""
    if not isinstance(code, CodeType) or code in known:
        return set()
    known.add(code)
    values = [names[name] for name in code.co_names if name in names]
    inner = [*code.co_consts, *(attribute(value, "__code__") for value in values if attribute(value, "__globals__") is names)]
    return _tops(values).union(code.co_names, *(_used(each, names, known) for each in inner))


def _tops(values: Iterable[Any]) -> set[str]:
    """Return the top modules of values: of themselves, or where they were made."""
    places = (attribute(value, "__name__" if isinstance(value, ModuleType) else "__module__") for value in [*values])
    return {place.split(".")[0] for place in places if isinstance(place, str)}


def _signature(function: Callable[..., Any]) -> dict[str, object]:
    parameters = signatures.parameters(function)
    if parameters is None:
        return {"positional": [], "keywords": [], "any_positional": True, "any_keyword": True}
    kinds = inspect.Parameter
    first = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    rest = [p for p in parameters if p.kind is kinds.KEYWORD_ONLY]
    return {
        "positional": [_parameter(p) for p in first],
        "keywords": [_parameter(p) for p in rest],
        "any_positional": any(p.kind is kinds.VAR_POSITIONAL for p in parameters),
        "any_keyword": any(p.kind is kinds.VAR_KEYWORD for p in parameters),
    }


def _parameter(parameter: inspect.Parameter) -> dict[str, object]:
    default = None if parameter.default is inspect.Parameter.empty else parameter.default
    plain = default if isinstance(default, bool | float) or (isinstance(default, int | str) and _short(default)) else None
    return {"name": parameter.name, "required": parameter.default is inspect.Parameter.empty, "default": plain}


def _short(default: int | str) -> bool:
    """Whether a default is no longer than settings are."""
    return len(default) <= LONGEST if isinstance(default, str) else default.bit_length() <= LONGEST_INTEGER


def _flat(returned: Any) -> Iterator[Any]:
    if isinstance(returned, list) and returned and isinstance(returned[0], list):
        message = "a result must be an array or a list of numbers, got a list of lists"
        raise MisfitError(message)
    if isinstance(returned, tuple | list):
        if any(part is None for part in returned):
            message = f"a result must be an array or several, got None in a {type(returned).__name__}"
            raise MisfitError(message)
        for part in returned:
            yield from _flat(part)
    elif _complex(returned):
        yield returned.real
        yield returned.imag
    else:
        yield returned


def _complex(value: Any) -> bool:
    return "complex" in str(getattr(value, "dtype", ""))

