"""Changes that change nothing whatever the numbers are, so that nobody has to prove them one by one."""

import ast
from collections.abc import Callable

from tools.mutation.operators import called
from tools.mutation.sites import Place

#: Their arguments may be exchanged.
SYMMETRIC = ("max", "min")
#: They change the type of a number, never its value; what a narrower type would do is the matter of the precision mutants.
CONVERSIONS = ("exact_float64", "astype", "whole", "cast_like", "bool", "int", "float", "list", "tuple")

Rule = Callable[[Place, str, ast.AST], bool]


def same_text(place: Place, _: str, instead: ast.AST) -> bool:
    """Spare what reads as before."""
    return ast.dump(place.node) == ast.dump(instead)


def library(place: Place, _: str, __: ast.AST) -> bool:
    """Spare arrays of which only library, device or dtype is read: the arrays of one call share them."""
    return any(_reads_library(one) for one in place.around)


def _reads_library(place: Place) -> bool:
    above = place.above
    if isinstance(place.node, ast.Call) and called(place.node) == "array_namespace":
        return True
    if isinstance(above, ast.Attribute) and above.attr == "dtype":
        return True
    kind = isinstance(above, ast.Call) and called(above) == "cast_like" and above.args[-1] is place.node
    return kind or (isinstance(place.node, ast.keyword) and place.node.arg == "like")


def conversion(place: Place, kind: str, _: ast.AST) -> bool:
    """Spare conversions: a number is as large in another type, and what a narrower one would do is a mistake of precision."""
    return kind == "call" and isinstance(place.node, ast.Call) and called(place.node) in CONVERSIONS


def idempotent(place: Place, kind: str, _: ast.AST) -> bool:
    """Spare the remainder of a remainder, which is the same."""
    return kind == "doubled" and isinstance(place.node, ast.BinOp) and isinstance(place.node.op, ast.Mod | ast.BitAnd | ast.BitOr)


def symmetric(_: Place, kind: str, instead: ast.AST) -> bool:
    """Spare the order of arguments that the function doesn't tell apart."""
    return kind == "arguments" and isinstance(instead, ast.Call) and isinstance(instead.func, ast.Name) and instead.func.id in SYMMETRIC


def absolute(place: Place, kind: str, _: ast.AST) -> bool:
    """Spare the sign of what only the absolute value is taken of."""
    inside = isinstance(place.above, ast.Call) and called(place.above) == "abs"
    difference = isinstance(place.node, ast.BinOp) and isinstance(place.node.op, ast.Sub)
    return inside and (kind == "sign" or (kind == "exchanged" and difference))


RULES: tuple[Rule, ...] = (same_text, library, conversion, idempotent, symmetric, absolute)


def no_change(place: Place, kind: str, instead: ast.AST) -> bool:
    """Whether one of the rules says so."""
    return any(rule(place, kind, instead) for rule in RULES)
