"""Make operations of a form's functions: their arguments are the function's own and those of the form's slots."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, get_args

from refimpl.spec import operation

Function = Callable[..., Any]
#: What a form hands to its slots itself.
HANDED = ("like", "query", "key")
#: What a function hands on to its slots: there is none where no slot takes it.
HANDED_ON = ("base",)
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def joined(function: Function, form: object, slots: Sequence[Function], says: str | None = None, *, name: str = "") -> Function:
    """Return ``function(form, ...)`` as an operation: its own arguments, then what its slots have besides.

    An argument that several have is as the first slot has it, in the function's order; one that the function hands on is left out where no
    slot takes it; the positions of a slot are those of queries and of keys where the function has these. ``says`` is the summary, and
    ``name`` the name, if not the function's. The arrays of slots come by name where the function takes no more by place. The operation
    keeps its ``form``.
    """
    own = inspect.signature(function)
    given = {name: argument for slot in reversed(slots) for name, argument in arguments(slot).items()}
    every = dict(list(own.parameters.items())[1:]) | {name: given[name] for slot in slots for name in arguments(slot)}
    every = {name: argument for name, argument in every.items() if name in given or name not in HANDED_ON}
    if "positions" in every and "positions" not in own.parameters:
        places = every.pop("positions")
        every |= {f"{side}_positions": of_side(places, side) for side in ("query", "key")}
    taken = sorted((argument for argument in every.values() if argument.kind not in OPEN), key=lambda argument: argument.kind)
    defaults = {argument.name: argument.default for argument in taken if argument.default is not argument.empty}

    names = [argument.name for argument in taken if argument.kind is not argument.KEYWORD_ONLY]
    variadic = any(argument.kind is argument.VAR_POSITIONAL for argument in own.parameters.values())
    placed = len(names) if variadic else sum(name in own.parameters for name in names)

    def made(*arrays: Any, **parameters: Any) -> Any:
        named = dict(zip(names[placed:], arrays[placed:], strict=True))
        return function(form, *arrays[:placed], **{**defaults, **parameters, **named})

    made.__name__, made.__doc__ = name or function.__name__, says or function.__doc__
    return declared(made, form, taken, own.return_annotation)


def declared(made: Function, form: object, taken: Sequence[inspect.Parameter], returned: object) -> Function:
    """Return a function as an operation that takes those arguments and returns that; it keeps its ``form``."""
    made.form = form  # type: ignore[attr-defined]  # every function may have one
    made.__signature__ = inspect.Signature(taken, return_annotation=returned)  # type: ignore[attr-defined]  # every function may have one
    made.__annotations__ = {argument.name: argument.annotation for argument in taken} | {"return": returned}
    return operation(made)


def arguments(slot: Function) -> Mapping[str, inspect.Parameter]:
    """Return what a slot takes, besides what its form hands it: positions, or the array whose library and device it follows."""
    return {name: argument for name, argument in inspect.signature(slot).parameters.items() if name not in HANDED}


def of_side(places: inspect.Parameter, side: str) -> inspect.Parameter:
    """Return the positions of tokens as those of queries or of keys."""
    array, axes, *rest = get_args(places.annotation)
    return places.replace(name=f"{side}_positions", annotation=Annotated[array, axes.replace("token", side), *rest])


def those_of(slot: Function, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a slot takes."""
    return {name: parameters[name] for name in _names(slot) if name in parameters}


@lru_cache(maxsize=256)  # mistakes fill slots, too, and are many
def _names(slot: Function) -> tuple[str, ...]:
    """Return what a slot takes by name, which is asked for in every call."""
    return tuple(inspect.signature(slot).parameters)
