"""Two mistakes at once: one around the other, or two pieces replaced in the same whole."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from conformance.mutants.building import Altered, Function


@dataclass(frozen=True)
class Assembled:
    """A function that a builder makes of the pieces it is given; what isn't given is right."""

    build: Callable[..., Function]
    pieces: Mapping[str, Any]

    def __call__(self, *given: Any, **chosen: Any) -> Any:
        """Return what the function made of the pieces returns."""
        return self.build(**self.pieces)(*given, **chosen)


def assembled(build: Callable[..., Function]) -> Callable[..., Assembled]:
    """Make a builder remember what it was given, so that two of its functions can be made one."""
    signature = inspect.signature(build)

    @functools.wraps(build)
    def remembering(*pieces: Any, **named: Any) -> Assembled:
        return Assembled(build, signature.bind(*pieces, **named).arguments)

    return remembering


def composed(one: Function, two: Function) -> Function | None:
    """Return both mistakes in one function, or ``None`` where they can't be told apart from outside."""
    if isinstance(one, Altered):
        return one.around(two)
    if isinstance(two, Altered):
        return two.around(one)
    return _merged(one, two) if isinstance(one, Assembled) else _method(one, two)


def _assembled(one: Assembled, two: Assembled) -> Assembled | None:
    if one.build is not two.build:
        return None
    shared = {name: _merged(one.pieces[name], two.pieces[name]) for name in one.pieces.keys() & two.pieces.keys()}
    return None if None in shared.values() else Assembled(one.build, {**one.pieces, **two.pieces, **shared})


def _method(one: Function, two: Function) -> Function | None:
    """Return the same method of an object that has the pieces of both."""
    name = getattr(one, "__name__", "")
    whole = _merged(getattr(one, "__self__", None), getattr(two, "__self__", None))
    return getattr(whole, name) if whole is not None and name == getattr(two, "__name__", None) else None


def _merged(one: Any, two: Any) -> Any | None:
    """Return an object with the pieces that either of two changes, or ``None`` where both change the same."""
    if isinstance(one, Assembled) and isinstance(two, Assembled):
        return _assembled(one, two)
    if type(one) is not type(two) or not is_dataclass(one) or isinstance(one, type):
        return None
    mine, yours = _changed(one), _changed(two)
    shared = {name: _both(mine[name], yours[name]) for name in mine.keys() & yours.keys()}
    return None if None in shared.values() else replace(one, **{**yours, **shared})


def _both(one: Any, two: Any) -> Any | None:
    """Return a piece that two objects have alike, or the merged one."""
    return one if one is two else _merged(one, two)


def _changed(whole: Any) -> dict[str, Any]:
    return {field.name: value for field in fields(whole) if (value := getattr(whole, field.name)) is not field.default}
