"""What a function can be given, read off its signature, and what it lacks."""

import inspect
from collections.abc import Callable, Collection
from functools import partial
from pathlib import PurePath
from typing import Any

from conformance.adapt.adapter import near_miss
from conformance.adapt.wording import attribute
from conformance.calls.form import COUNTS as COUNTED
from conformance.calls.form import Form, known, nonsense, roles
from conformance.calls.takes import Positions, Takes, is_bias
from conformance.spec.shown import shown
from refimpl.spec import Operation

VARIADIC = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
#: Where modules and layers have the function that is called, behind a ``__call__`` which hands all on.
INNER = ("forward", "call")
#: Roles of cosines and sines, which stand for no other array.
TABLES = ("cos", "sin", "waves")
#: What counts how long an axis of another name is, or which rows a table has.
COUNTS = {"num_heads": ("head", "query_head"), "max_distance": ("row",)}


def parameters(function: Callable[..., Any], *, follow_wrapped: bool = True) -> list[inspect.Parameter] | None:
    """Return the parameters of a function; nothing where it can't be asked, as one of C can't, or raises when it is."""
    if isinstance(scripted := attribute(attribute(function, "schema"), "arguments"), list):
        return [*map(_of_schema, scripted)]
    try:
        found = list(inspect.signature(function, follow_wrapped=follow_wrapped).parameters.values())
    except (Exception, SystemExit):  # noqa: BLE001  what is asked is code that isn't ours
        return None
    inner = next((each for name in INNER if callable(each := attribute(function, name))), None)
    return parameters(inner, follow_wrapped=follow_wrapped) if inner is not None and {each.kind for each in found} <= VARIADIC else found


def _of_schema(argument: Any) -> inspect.Parameter:
    """Return a parameter as TorchScript has it, whose functions have no signature in Python."""
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    return inspect.Parameter(argument.name, kind, default=default)


def accepted(operation: Operation, function: Callable[..., Any]) -> Collection[str] | None:
    """Return which keywords a function takes beside the arrays, or ``None`` where it takes any."""
    arguments = parameters(function)
    if arguments is None or any(each.kind is inspect.Parameter.VAR_KEYWORD for each in arguments):
        return None
    return {each.name for each in _beside_arrays(operation, arguments)}


def place(function: Callable[..., Any]) -> str:
    """Return the name of a function, and the file and the line where it begins, where that is known."""
    inner = next((each for name in INNER if (each := attribute(function, name)) is not None), function)
    code = attribute(inner, "__code__")
    name = attribute(inner, "__qualname__") or attribute(inner, "__name__") or type(function).__name__
    return f"{name} ({PurePath(code.co_filename).name}:{code.co_firstlineno})" if code is not None else str(name)


def complaint(operation: Operation, function: Callable[..., Any], form: Form, fixed: Collection[str]) -> str | None:
    """Return why every call must fail, or why code can't know a parameter of which more than one value is declared; else ``None``."""
    made: Any = attribute(function, "func") if issubclass(type(function), partial) else function
    if issubclass(type(made), type):
        return _unmade(made)
    if form.call is not None:
        lacked = untold(operation, form.call, fixed)
        return _uncalled(operation, function, form.call) or _untold(operation, function, lacked, roles(form.call)) if lacked else None
    arguments = parameters(function, follow_wrapped=False)
    if arguments is None:
        return None
    kinds = inspect.Parameter
    any_keyword = any(each.kind is kinds.VAR_KEYWORD for each in arguments)
    rest = {each.name: each for each in _beside_arrays(operation, arguments)}
    lacking = [name for name in operation.parameters if name not in rest]
    required = {name for name, each in rest.items() if each.default is kinds.empty} - {*operation.parameters, "dtype"}
    by_position = [each for each in arguments if each.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    too_few = len(by_position) < len(operation.arrays) and not any(each.kind is kinds.VAR_POSITIONAL for each in arguments)
    more = any(each.kind is kinds.POSITIONAL_ONLY and each.default is kinds.empty for each in by_position[len(operation.arrays) :])
    others = {*operation.arrays, *(name for name in lacking if name not in fixed)}
    telling = [each for each in zip(operation.arrays, by_position, strict=False) if not (any_keyword and len(each[1].name) == 1)]
    misplaced = any(_is_another(each, name, others) for name, each in telling)
    if required or too_few or more or misplaced:
        keywords = f"the keywords {', '.join(operation.parameters)} (or **_ for the rest)" if operation.parameters else "no other keyword"
        placed = () if too_few or not (required or more) else {each.name for each in by_position[: len(operation.arrays)]}
        names = [each.name for each in arguments]
        told = {name for name in names if name in operation.parameters or name in placed}
        got = ", ".join(name if name in told else f"{name}{meant(name, lacking)}" for name in names) or "none"
        arrays = f"{', '.join(operation.arrays)} with " if operation.arrays else ""
        unbound = ": pass the method of an object" if names[:1] == ["self"] else ""
        return f"{place(function)} must be a function of {arrays}{keywords}{_as_it_is(operation, arguments)}, got {got}{unbound}"
    lacked = [] if any_keyword else [name for name in lacking if name not in fixed and not _counted(operation, name)]
    return _untold(operation, function, lacked, [each.name for each in arguments]) if lacked else None


def _unmade(kind: type) -> str:
    """Return that a class was given, and what to give: what it makes, with what that needs, a method of that, or autograd's ``apply``."""
    name, kinds = kind.__name__, inspect.Parameter
    if callable(attribute(kind, "apply")) and callable(attribute(kind, "backward")):
        return f"{name} must be given as {name}.apply, got the class"
    needed = [each.name for each in parameters(kind) or () if each.default is kinds.empty and each.kind not in VARIADIC]
    made = f"{name}({', '.join(needed)})"
    if not {"__call__", *INNER}.isdisjoint(dir(kind)):
        return f"{name} must be given as an object that is called, {made}, got the class"
    methods = [each for each, value in vars(kind).items() if inspect.isfunction(value) and not each.startswith("_")]
    return f"{name} must be given as a method of what it makes, such as {made}.{next(iter(methods), 'METHOD')}, got the class"


def untold(operation: Operation, call: str, fixed: Collection[str]) -> list[str]:
    """Return the parameters that code can't know: they stand in no argument of a call, are no size of an array, and aren't ``fixed``."""
    return [name for name in operation.parameters if name not in (*roles(call), *fixed) and not _counted(operation, name)]


def _is_another(argument: inspect.Parameter, array: str, others: Collection[str]) -> bool:
    """Whether what stands in an array's place is a number, or by its name a table, or one of the others that a function gets."""
    from conformance.spec.words import roles

    if isinstance(argument.default, int | float) or argument.annotation in (int, float, "int", "float"):
        return True
    found = {*roles(argument.name)}
    return array not in found and not found.isdisjoint({*others, *TABLES})


def _as_it_is(operation: Operation, arguments: Collection[inspect.Parameter]) -> str:
    """Return how to declare the call of such arguments, where their names say it and it says all that the operation needs.

    Where that would narrow what is asked, another operation of the scheme that takes them as they are goes before.
    """
    from conformance.spec.declarations import operations

    if (lengths := _by_lengths(operation, arguments)) is not None:
        return lengths
    scheme, own = operation.name.partition(".")[0], _written(operation, arguments)
    family = [operation, *(each for name, each in operations().items() if name.startswith(f"{scheme}.") and each.arrays)]
    calls = [(each, call) for each in family if (call := _written(each, arguments, whole=True)) is not None]
    calls = calls if own is None else [(operation, own), *calls, (operation, own)]
    asked: list[tuple[Operation, str, Positions]] = [(each, call, "any") for each, call in calls]
    asked += [(each, call, _counting(each, call)) for each, call in calls[own is not None :]]
    unsaid = _unsaid(operation, arguments) if own is None else ""
    return next((_such_as(*one) for one in asked if _fits(*one)), unsaid)


def _by_lengths(operation: Operation, arguments: Collection[inspect.Parameter]) -> str | None:
    """Return how to call a bias that calls two arguments as code calls queries and keys: it has no vectors, so that these are lengths."""
    from conformance.spec import words

    if not is_bias(operation) or not {"q", "k"}.isdisjoint(operation.arrays):
        return None
    short = {each.name: next((role for role in ("q", "k") if role in words.roles(each.name)), "") for each in arguments}
    queries, keys = ([name for name, role in short.items() if role == wanted] for wanted in ("q", "k"))
    if len(queries) != 1 or len(keys) != 1:
        return None
    named = {queries[0]: "query_tokens", keys[0]: "key_tokens"}
    call = _written(operation, [each.replace(name=named.get(each.name, each.name)) for each in arguments])
    known = call is not None and _fits(operation, call, "from_zero")
    return f"{_such_as(operation, str(call), 'from_zero')} where {queries[0]} and {keys[0]} are lengths" if known else None


def _unsaid(operation: Operation, arguments: Collection[inspect.Parameter]) -> str:
    """Return what else a function may be of which no call is known: one of a single length gives a square, which no declaration cuts."""
    from conformance.spec.words import roles

    if is_bias(operation) and any("tokens" in roles(each.name) for each in arguments):
        return ", which calls it with max(len(query_positions), len(key_positions)) tokens and cuts what it returns"
    return ", or be called as it is, which call='f(...)' declares"


def _counting(operation: Operation, call: str) -> Positions:
    """Return which positions a call has that doesn't name them."""
    return next((COUNTED[role][0] for role in roles(call) if role in COUNTED and role not in operation.parameters), "from_zero")


def _fits(operation: Operation, call: str, positions: Positions) -> bool:
    return not any(nonsense(Form(call), operation, Takes(positions)))


def _such_as(operation: Operation, call: str, positions: Positions) -> str:
    also = "" if positions == "any" else f", positions={positions!r}"
    return f", or be called as it is, such as implements({shown(operation.name)}, call={call!r}{also})"


def _written(operation: Operation, arguments: Collection[inspect.Parameter], *, whole: bool = False) -> str | None:
    """Return a call of such arguments, as their names suggest it; those of unknown names take the arrays, or numbers, that are left.

    The ``whole`` of it has a place for every name that means something, and for no unknown one.
    """
    from conformance.spec import words

    kinds, said, by_name = inspect.Parameter, list[str](), False
    named = known(operation)
    found = {each.name: each.name if each.name in named else _role(each.name, operation) for each in arguments}
    if not whole and "x" not in operation.arrays and "cos" in operation.results:  # a maker of tables takes vectors for their dtype
        found |= {name: "like" for name, role in found.items() if role is None and name in words.PROBED["x"].split()}
    left = [] if whole else [name for name in operation.arrays or operation.parameters if name not in found.values()]
    for each in arguments:
        role, required = found[each.name], each.default is kinds.empty and each.kind not in VARIADIC
        if role is None and (required or (whole and words.roles(each.name))):
            if not left or words.roles(each.name):  # it means what no call of this operation has
                return None
            role = left.pop(0)
        by_name = by_name or role is None or each.kind is kinds.KEYWORD_ONLY
        if role is not None:
            said.append(f"{each.name}={role}" if by_name else role)
    return f"f({', '.join(said)})"


def _role(name: str, operation: Operation) -> str | None:
    """Return what of a call an argument is by its name."""
    from conformance.spec.words import alike, roles

    named = known(operation)
    array = next((role for role in roles(name) if role in named), None)
    return array or next((each for each in operation.parameters if alike(name, each)), None)


def meant(name: str, known: Collection[str]) -> str:
    """Return the known name that means the same, else one that is close."""
    from conformance.spec.words import alike

    same = next((other for other in known if alike(name, other)), None)
    return f" (did you mean {same}?)" if same else near_miss(name, known)


def _uncalled(operation: Operation, function: Callable[..., Any], call: str) -> str | None:
    """Return that a call doesn't give what the function takes by keyword, if it does."""
    own = [name for name in operation.parameters if name in (accepted(operation, function) or ()) and name not in roles(call)]
    whole = f"{call.rstrip().removesuffix(')')}, {', '.join(f'{name}={name}' for name in own)})"
    return f"call must name what {place(function)} takes ({', '.join(own)}), as call={whole!r}, got {call!r}" if own else None


def _untold(operation: Operation, function: Callable[..., Any], untold: Collection[str], given: Collection[str]) -> str:
    known = (operation.parameters[name] for name in untold)
    values = ", ".join(f"{each.name}={shown(each.default) if each.default is not None else '...'}" for each in known)
    known_here = {*operation.arrays, *operation.parameters}
    got = ", ".join(name if name in known_here else f"{name}{meant(name, untold)}" for name in given)
    either = f"take {', '.join(untold)} by keyword, or declare what it uses, such as implements({shown(operation.name)}, {values})"
    return f"{place(function)} must {either}, got a function of {got}"


def _beside_arrays(operation: Operation, arguments: Collection[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return what can be given by keyword after the arrays."""
    kinds = inspect.Parameter
    by_position = [each for each in arguments if each.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    first = by_position[: len(operation.arrays)]
    return [each for each in arguments if each.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY) and each not in first]


def _counted(operation: Operation, parameter: str) -> bool:
    """Whether the arrays show a parameter: it is the size of one of their axes."""
    axes = {axis for shape in operation.arrays.values() for axis in shape.split()}
    return bool(axes & {parameter, *COUNTS.get(parameter, ())})
