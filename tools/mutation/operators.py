"""What can be wrong with one expression: every operator takes a place in the source and yields what may stand there instead."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from tools.mutation.sites import Place, Site

Change = tuple[str, ast.AST]
Operator = Callable[[Place, Site], Iterator[Change]]

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}
#: Functions that are taken for one another.
CONFUSED = {
    "sin": ("cos",), "cos": ("sin",), "min": ("max",), "max": ("min",), "floor": ("ceil", "round"), "ceil": ("floor", "round"),
    "any": ("all",), "all": ("any",), "zeros_like": ("ones_like",), "ones_like": ("zeros_like",), "log": ("log2", "log10"),
    "tril": ("triu",), "stack": ("concat",), "concat": ("stack",), "sum": ("mean", "prod"), "exp": ("exp2",), "argmin": ("argmax",),
}
DEGREE = 0.017453292519943295
COUNTING = ("range", "arange")
PLAIN = {"int": (0, 1), "float": (1.0,), "bool": (True, False), "Count": (1,), "EvenCount": (2,), "Positive": (1.0,)}


def constants(place: Place, _: Site) -> Iterator[Change]:
    """Yield every number one more, one less, doubled, halved, negated and 0."""
    node = place.node
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or not isinstance(node.value, int | float):
        return
    value = node.value
    half = value // 2 if isinstance(value, int) else value / 2
    others = dict.fromkeys((value + 1, value - 1, 2 * value, half, -value, type(value)(0)))
    yield from (("constant", ast.Constant(other)) for other in others if other != value)


def signs(place: Place, _: Site) -> Iterator[Change]:
    """Yield a negation taken away, and one put before every product, sum or quotient."""
    node = place.node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC):
        yield "sign", ast.UnaryOp(ast.USub(), node)


def arithmetic(place: Place, _: Site) -> Iterator[Change]:
    """Yield every other operator between the same operands."""
    node = place.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC):
        yield from (("operator", ast.BinOp(node.left, other(), node.right)) for other in ARITHMETIC if not isinstance(node.op, other))
    elif isinstance(node, ast.BinOp) and type(node.op) in OPPOSITE:
        yield "operator", ast.BinOp(node.left, _opposite(node.op), node.right)


def factors(place: Place, _: Site) -> Iterator[Change]:
    """Yield an operand missing, doubled, or exchanged with the other."""
    node = place.node
    if isinstance(node, ast.BinOp):
        yield "missing", node.left
        yield "missing", node.right
        yield "doubled", ast.BinOp(node, node.op, node.right)
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
        yield "exchanged", ast.BinOp(node.right, node.op, node.left)


def comparisons(place: Place, _: Site) -> Iterator[Change]:
    """Yield every other comparison of numbers, and the opposite of every other."""
    node = place.node
    if not isinstance(node, ast.Compare):
        return
    for index, sign in enumerate(node.ops):
        words = any(isinstance(side, ast.Constant) and isinstance(side.value, str | bool) for side in node.comparators)
        every = [other() for other in ORDERED] if isinstance(sign, ORDERED) and not words else [_opposite(sign)]
        for other in every:
            if type(other) is not type(sign):
                yield "comparison", ast.Compare(node.left, [*node.ops[:index], other, *node.ops[index + 1 :]], node.comparators)


def logic(place: Place, _: Site) -> Iterator[Change]:
    """Yield ``and`` for ``or``, a condition missing, and a negation missing."""
    node = place.node
    if isinstance(node, ast.BoolOp):
        yield "logic", ast.BoolOp(_opposite(node.op), node.values)
        yield from (("logic", _fewer(node, index)) for index in range(len(node.values)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "logic", node.operand


def branches(place: Place, _: Site) -> Iterator[Change]:
    """Yield one branch always, the other always, and both exchanged."""
    node, above = place.node, place.above
    if isinstance(node, ast.expr) and isinstance(above, ast.If | ast.IfExp | ast.While) and above.test is node:
        yield "branch", ast.Constant(value=False)
        yield "branch", ast.UnaryOp(ast.Not(), node)
        if not isinstance(above, ast.While):
            yield "branch", ast.Constant(value=True)


def calls(place: Place, _: Site) -> Iterator[Change]:
    """Yield a call left out, one of another function, and one with arguments exchanged or left out."""
    node = place.node
    if not isinstance(node, ast.Call):
        return
    if node.args and not isinstance(node.args[0], ast.Starred):
        yield "call", node.args[0]
    yield from (("function", other) for other in _confused(node))
    for index in range(len(node.args) - 1):
        yield "arguments", ast.Call(node.func, _exchanged(node.args, index), node.keywords)
    for index in range(len(node.keywords)):
        yield "arguments", ast.Call(node.func, node.args, [*node.keywords[:index], *node.keywords[index + 1 :]])
    yield from (("arguments", ast.Call(node.func, node.args, _crossed(node.keywords, i))) for i in range(len(node.keywords) - 1))


def degrees(place: Place, _: Site) -> Iterator[Change]:
    """Yield angles in degrees for angles in radians."""
    node = place.node
    if isinstance(node, ast.Call) and called(node) in ("sin", "cos"):
        yield "degrees", ast.Call(node.func, [ast.BinOp(node.args[0], ast.Mult(), ast.Constant(DEGREE))], node.keywords)


def origins(place: Place, _: Site) -> Iterator[Change]:
    """Yield a count, a bound or an index one more and one less."""
    node, above = place.node, place.above
    counted = isinstance(above, ast.Call) and called(above) in COUNTING and node in above.args
    bound = isinstance(above, ast.keyword) and above.arg in ("min", "max")
    cut = isinstance(above, ast.Slice) or (isinstance(above, ast.Subscript) and above.slice is node)
    if isinstance(node, ast.expr) and not isinstance(node, ast.Constant | ast.Tuple | ast.Slice) and (counted or bound or cut):
        yield "origin", ast.BinOp(node, ast.Add(), ast.Constant(1))
        yield "origin", ast.BinOp(node, ast.Sub(), ast.Constant(1))


def slices(place: Place, _: Site) -> Iterator[Change]:
    """Yield a slice that begins later, ends earlier, or has lost a bound or its step."""
    node = place.node
    if not isinstance(node, ast.Slice):
        return
    yield "slice", ast.Slice(None if node.lower else ast.Constant(1), node.upper, node.step)
    yield "slice", ast.Slice(node.lower, None if node.upper else ast.Constant(-1), node.step)
    if node.step:
        yield "slice", ast.Slice(node.lower, node.upper, None)


def order(place: Place, _: Site) -> Iterator[Change]:
    """Yield neighbours of a tuple or list exchanged: axes, blocks, results."""
    node = place.node
    if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
        yield from (("order", type(node)(_exchanged(node.elts, index), node.ctx)) for index in range(len(node.elts) - 1))


def parameters(place: Place, site: Site) -> Iterator[Change]:
    """Yield another parameter of the same kind for a parameter, or a constant: its default, a plain number, another choice."""
    node = place.node
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id not in site.annotations:
        return
    kind = site.annotations[node.id].removesuffix(" | None")
    same = [other for other, annotation in site.annotations.items() if annotation == site.annotations[node.id] and other != node.id]
    yield from (("swapped", ast.Name(other, ast.Load())) for other in same)
    default = site.defaults.get(node.id)
    plain = [ast.Constant(value) for value in PLAIN.get(kind, ()) or site.choices.get(kind, ())]
    yield from (("ignored", constant) for constant in _distinct([*([default] if default else []), *plain]))


def statements(place: Place, _: Site) -> Iterator[Change]:
    """Yield nothing in place of a call for its effect: a check that is left out."""
    if isinstance(place.node, ast.Expr) and isinstance(place.node.value, ast.Call):
        yield "check", ast.Pass()


OPERATORS: tuple[Operator, ...] = (
    constants, signs, arithmetic, factors, comparisons, logic, branches, calls, degrees, origins, slices, order, parameters, statements,
)


def _opposite(node: ast.AST) -> Any:
    return OPPOSITE[type(node)]()


def _fewer(node: ast.BoolOp, index: int) -> ast.expr:
    left = [*node.values[:index], *node.values[index + 1 :]]
    return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)


def called(node: ast.Call) -> str:
    """Return the name of the function that is called, without its module."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _confused(node: ast.Call) -> Iterator[ast.expr]:
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    for other in CONFUSED.get(called(node), ()):
        function = ast.Name(other, ast.Load()) if owner is None else ast.Attribute(owner, other, ast.Load())
        yield ast.Call(function, node.args, node.keywords)


def _exchanged(items: list[ast.expr], index: int) -> list[ast.expr]:
    return [*items[:index], items[index + 1], items[index], *items[index + 2 :]]


def _crossed(keywords: list[ast.keyword], index: int) -> list[ast.keyword]:
    one, other = keywords[index : index + 2]
    return [*keywords[:index], ast.keyword(one.arg, other.value), ast.keyword(other.arg, one.value), *keywords[index + 2 :]]


def _distinct(nodes: list[ast.expr]) -> list[ast.expr]:
    return list({ast.dump(node): node for node in nodes}.values())
