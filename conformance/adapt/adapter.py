"""The few lines that connect an implementation: ``Adapter`` and ``implements``."""

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar, get_args

from conformance.adapt.wording import told, told_with_place
from conformance.calls import form as forms
from conformance.calls.form import Form
from conformance.calls.takes import Heads, Positions, Queries, Rows, Takes, misplaced, nonsense
from conformance.spec.choices import as_several
from conformance.spec.profiles import FORMATS, PROFILES, REQUIRED
from conformance.spec.shown import shown

Function = TypeVar("Function", bound=Callable[..., Any])
#: What others call a dtype.
DTYPES = {
    **dict.fromkeys(("double", "fp64", "f64"), "float64"),
    **dict.fromkeys(("single", "float", "fp32", "f32"), "float32"),
    **dict.fromkeys(("half", "fp16", "f16"), "float16"),
    "bf16": "bfloat16",
}
#: So many names are suggested together at most.
FEW = 9
FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow", "mlx", "paddle", "cupy", "array_api_strict")


class Unsupported(Exception):  # noqa: N818  an answer, not an error
    """Raise this inside an implementation to say that a case is out of its range, and why."""


class AdapterError(Exception):
    """The adapter itself is wrong: unknown operation, parameter, framework, profile."""


@dataclass(frozen=True)
class Implementation:
    """One function that offers one operation, with what restricts it."""

    label: str
    operation: str
    function: Callable[..., Any]
    restrictions: Mapping[str, object]
    when: Callable[[Mapping[str, object]], bool] | None
    dtypes: tuple[str, ...]
    profile: Mapping[str, str]
    takes: Takes
    modifies_inputs: bool
    form: Form = field(default_factory=Form)

    @property
    def by_predicate(self) -> bool:
        """Whether code says which parameters are declared, which no data can say."""
        return self.when is not None or any(map(callable, self.restrictions.values()))

    def refuses(self, parameters: Mapping[str, object]) -> str | None:
        """Return why the parameters are out of the declared range, or ``None``."""
        for name, allowed in self.restrictions.items():
            value = parameters.get(name)
            if callable(allowed):
                if not _holds(name, allowed, value):
                    return f"{name}={value!r} is out of its declared range"
            elif isinstance(value, tuple) and isinstance(allowed, list | tuple):
                if value not in map(tuple, as_several(allowed)):
                    return f"{name}={value!r}; it declares {allowed!r}"
            elif isinstance(allowed, set | frozenset | list | tuple):
                if value not in allowed:
                    return f"{name}={value!r}; it declares {', '.join(map(repr, sorted(allowed, key=repr)))}"
            elif value != allowed:
                return f"{name}={value!r}; it declares {allowed!r}"
        if self.when is not None and not _holds("when", self.when, dict(parameters)):
            return "its own predicate refuses these parameters"
        return None


#: The longest name or label: files of known deviations hold it, and reports show it.
LONGEST = 200


@dataclass
class Adapter:
    """An implementation under test: its name, its framework, and the operations that it offers."""

    name: str
    framework: str = "numpy"
    dtypes: str | tuple[str, ...] = ("float32",)
    device: str | None = None
    profile: str | Mapping[str, str] | None = None
    positions: Positions = "any"
    modifies_inputs: bool = False
    version: str | None = None
    rejects_bad_input: bool = False
    implementations: list[Implementation] = field(default_factory=list)
    #: The names of other adapters in its file, which aren't judged with it.
    unjudged: tuple[str, ...] = ()
    #: What a program does until the harness can be read by this descriptor: it raises ``UnaskedError`` where it doesn't wait as well.
    waits: Callable[[int], None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a framework, dtype or profile that doesn't exist, a name that can't be written down, and values of other types."""
        _named("name", self.name)
        for thing, text in (("version", self.version), ("device", self.device)):
            if text is not None:
                _named(thing, text)
        _flags(modifies_inputs=self.modifies_inputs, rejects_bad_input=self.rejects_bad_input)
        _one_of("framework", self.framework, FRAMEWORKS)
        _profiles(_dtypes(self.dtypes), self.profile)

    def __getattr__(self, name: str) -> Any:
        """Say which attribute was meant."""
        message = f"an attribute of Adapter must be one that it has, got {name!r}{near_miss(name, dir(type(self)))}"
        raise AttributeError(message, name=name, obj=self)

    def implements(
        self,
        operation: str,
        function: Callable[..., Any] | None = None,
        *,
        label: str | None = None,
        when: Callable[[Mapping[str, object]], bool] | None = None,
        dtypes: str | tuple[str, ...] | None = None,
        profile: str | Mapping[str, str] | None = None,
        positions: Positions | None = None,
        queries: Queries = "any",
        rows: Rows = "any",
        heads: Heads = "any",
        lowest: int | None = None,
        highest: int | None = None,
        masked: bool = False,
        contiguous: bool = False,
        modifies_inputs: bool | None = None,
        call: str | None = None,
        tables: str = "pair",
        parameters: Mapping[str, object] | None = None,
        **restrictions: object,
    ) -> Callable[[Function], Function]:
        """Say that a function, given or decorated, offers an operation, restricted to parameter values and calls (``Takes``).

        ``call``, ``tables`` and ``axes`` say how it is called (``Form``): axes that are no text are those of a parameter of that name.
        ``parameters`` are restrictions too, of parameters whose names mean something else here.
        """
        _flags(modifies_inputs=bool(modifies_inputs) if modifies_inputs is None else modifies_inputs)
        _callable("when", when if when is not None else _flags)
        accepted = _dtypes(self.dtypes if dtypes is None else dtypes)
        profiles = _profiles(accepted, self.profile if profile is None else profile)
        takes = Takes(self.positions if positions is None else positions, queries, rows, heads, lowest, highest, masked, contiguous)
        axes = restrictions.pop("axes") if isinstance(restrictions.get("axes"), str) else None
        restrictions |= _beside(parameters, restrictions)
        _named("label", label or self.name)
        form = Form(call, axes, tables)  # type: ignore[arg-type]  # axes are text
        sides = _sides(form, takes, operation, restrictions.get("axes"))

        def connect(function: Function) -> Function:
            _callable("function", function, ": pass the function itself, not what a call of it returns")
            self.implementations.extend(
                Implementation(
                    label=f"{label or self.name}{form.judged}",
                    operation=operation,
                    function=function,
                    restrictions=restrictions,
                    when=when,
                    dtypes=accepted,
                    profile=profiles,
                    takes=takes,
                    modifies_inputs=self.modifies_inputs if modifies_inputs is None else modifies_inputs,
                    form=form,
                )
                for form in sides
            )
            return function

        if function is not None:
            connect(function)
        return connect


def near_miss(name: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """Return `` (did you mean X?)`` where a known name is close; else nothing."""
    return _did_you_mean(_near(name, known, cutoff))


def near_file(path: Path) -> str:
    """Return `` (did you mean FILE?)`` for a file that is there: of the same name in a folder near by, or of a name that is close."""
    folders, patterns = (path.parent, path.parent.parent), (path.name, f"*/{path.name}") if path.name else ()
    elsewhere = [each for folder in folders for pattern in patterns for each in folder.glob(pattern) if each != path]
    beside = [each.name for each in path.parent.glob(f"*{path.suffix}") if each.name != path.name]
    return _did_you_mean([str(each) for each in elsewhere[:1] or map(path.with_name, _near(path.name, beside, 0.6))])


def _near(name: str, known: Collection[str], cutoff: float) -> list[str]:
    """Return the name itself, an operation without its scheme, the few names of which it is the first part, or the one that is closest."""
    if not isinstance(name, str) or not name or name in known:
        return [name] if name in known else []
    spelled = [each for each in known if _letters(each).startswith(_letters(name) or " ")]
    begun = [each for each in known if each.startswith(name)] or spelled
    whole = [each for each in known if each.endswith(f".{name}")][:1]
    parts = [each for each in begun if each[len(name) :].startswith((".", "-"))]
    if whole or 0 < len(parts) <= FEW:
        return whole or parts
    return difflib.get_close_matches(name, begun, n=1, cutoff=0.0) or _closest(name, known, cutoff)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _closest(name: str, known: Collection[str], cutoff: float) -> list[str]:
    """Return the closest name; of those that are equally close one that begins alike."""
    close = difflib.get_close_matches(name, list(known), FEW, cutoff)
    ratio = {each: difflib.SequenceMatcher(None, each, name).ratio() for each in close}
    return sorted(close, key=lambda each: (-ratio[each], each[:2] != name[:2]))[:1]


def _did_you_mean(names: Sequence[str]) -> str:
    several = " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
    return f" (did you mean {several}?)" if names else ""


def _holds(name: str, predicate: Callable[[Any], object], value: object) -> bool:
    """Ask a predicate of a declaration, or raise ``AdapterError`` where it can't say."""
    try:
        return bool(predicate(value))
    except Exception as error:
        takes, argument = ("the parameters by name", "parameters") if name == "when" else ("its value", name)
        inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        got = f"{told_with_place(error) if inside else told(error)}, called with {shown(value)}"
        message = f"{name} must be declared by a predicate that takes {takes}, {name}=lambda {argument}: ..., got {got}"
        raise AdapterError(message) from error


def _one_of(thing: str, value: str, known: Collection[str]) -> None:
    if not isinstance(value, str) or value not in known:
        word = "" if isinstance(value, int | ModuleType) else getattr(value, "__name__", str(value))  # thousands of digits have no text
        close = near_miss(DTYPES.get(word, word), known)
        got = f"the module {value.__name__}: write its name as text" if isinstance(value, ModuleType) else shown(value)
        message = f"{thing} must be one of {', '.join(known)}, got {got}{close}"
        raise AdapterError(message)


def _named(thing: str, name: object) -> None:
    if not (isinstance(name, str) and name.strip() and name.isprintable() and len(name) <= LONGEST):
        message = f"{thing} must be text that can be printed, of at most {LONGEST} characters, got {shown(name)}"
        raise AdapterError(message)


def _flags(**flags: object) -> None:
    for thing, flag in flags.items():
        if not isinstance(flag, bool):
            message = f"{thing} must be True or False, got {shown(flag)}"
            raise AdapterError(message)


def _callable(thing: str, value: object, hint: str = "") -> None:
    if not callable(value):
        own = [name for name, each in vars(type(value)).items() if isinstance(each, FunctionType) and not name.startswith("_")]
        also = f", or a method of the object, such as {own[0]}" if own and hint else ""
        message = f"{thing} must be callable, got {shown(value)}{hint}{also}"
        raise AdapterError(message)


def _beside(parameters: Mapping[str, object] | None, restrictions: Mapping[str, object]) -> Mapping[str, object]:
    """Return restrictions that are given by name, each of them once."""
    if not isinstance(parameters, Mapping | None):
        message = f"parameters must be values by name, got {shown(parameters)}"
        raise AdapterError(message)
    for name, value in (parameters or {}).items():
        if name in restrictions:
            got = f"{name}={shown(restrictions[name])} and parameters={{{name!r}: {shown(value)}}}"
            message = f"{name} must be declared once, got {got}"
            raise AdapterError(message)
    return parameters or {}


def _sides(form: Form, takes: Takes, operation: str, axes: object) -> list[Form]:
    """Return the ways in which a declaration is judged, or raise where it says what no code could mean; ``axes`` are no text."""
    if not isinstance(operation, str):
        got = "a function: @adapter.implements(OPERATION) is written with one" if callable(operation) else shown(operation)
        message = f"operation must be text, got {got}"
        raise AdapterError(message)
    # Imported here because it takes long, and the pytest plugin must import nothing heavy.
    from conformance.spec.declarations import operations

    known = operations().get(operation)
    if known is not None and axes is not None and "axes" not in known.parameters:
        message = f"{operation}: axes must be text, as 'batch token head head_dim', got {shown(axes)}"
        raise AdapterError(message)
    wrong = list(nonsense(takes)) or ([] if known is None else [*misplaced(takes, known), *forms.nonsense(form, known, takes)])
    if wrong:
        message = f"{operation}: {wrong[0]}{_place_meant(takes)}"
        raise AdapterError(message)
    return [form] if known is None else form.sides(known)


def _place_meant(takes: Takes) -> str:
    """Return what is close to the first word about calls that isn't known."""
    words = (takes.positions, takes.queries, takes.rows, takes.heads)
    kinds = zip(words, map(get_args, (Positions, Queries, Rows, Heads)), strict=True)
    return next((near_miss(word, known) for word, known in kinds if word not in known), "")


def _dtypes(dtypes: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return dtypes that exist, each once; a string is the only one."""
    if not isinstance(dtypes, str | list | tuple) or not dtypes:
        message = f"dtypes must be the name of a dtype or several, as 'bfloat16' or ('float32', 'bfloat16'), got {shown(dtypes)}"
        raise AdapterError(message)
    several = (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)
    for dtype in several:
        _one_of("dtype", dtype, tuple(FORMATS))
    return tuple(dict.fromkeys(several))


def _profiles(dtypes: tuple[str, ...], profile: str | Mapping[str, str] | None) -> dict[str, str]:
    if not isinstance(profile, str | Mapping | None):
        message = f"profile must be a profile, or one per dtype, got {shown(profile)}"
        raise AdapterError(message)
    declared = dict.fromkeys(dtypes, profile) if isinstance(profile, str) else dict(profile or {})
    for name in declared.values():
        _one_of("profile", name, PROFILES)
    return {dtype: declared.get(dtype, REQUIRED[dtype]) for dtype in dtypes}
