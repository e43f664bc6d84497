"""Find the functions of the reference, and what in them can be changed."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Only what is declared has parameters of these kinds.
DECLARED = {"Count", "EvenCount", "Positive"}


@dataclass(frozen=True, eq=False)
class Site:
    """One function: where it stands, its tree without decorators and annotations, and the annotations of its parameters as text.

    The defaults of what is declared, operations and the slots of a form, are no code, and no places.
    """

    module: str
    name: str
    tree: ast.FunctionDef
    annotations: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]
    declared: bool

    @property
    def label(self) -> str:
        """The function's full name."""
        return f"{self.module}.{self.name}"

    @cached_property
    def places(self) -> "list[Place]":
        """Every node below the function, in the order of the source, with the statement that it belongs to."""
        return [*([] if self.declared else _defaults(self.tree)), *_below(self.tree.body)]

    @property
    def defaults(self) -> dict[str, ast.expr]:
        """The default of every parameter that has one."""
        arguments = self.tree.args
        positional = [*arguments.posonlyargs, *arguments.args]
        named = dict(zip([a.arg for a in positional[len(positional) - len(arguments.defaults) :]], arguments.defaults, strict=True))
        return named | {a.arg: value for a, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value is not None}


@dataclass(frozen=True, eq=False)
class Place:
    """One node, the place above it in its statement, and that statement."""

    node: ast.AST
    outer: "Place | None"
    statement: ast.stmt

    @property
    def above(self) -> ast.AST | None:
        """The node above it, or ``None`` for a statement."""
        return None if self.outer is None else self.outer.node

    @property
    def around(self) -> "list[Place]":
        """Itself and every place above it in its statement, innermost first."""
        return [self] if self.outer is None else [self, *self.outer.around]

    @cached_property
    def told(self) -> bool:
        """Whether it only makes the text of an error."""
        target = self.statement.targets[0] if isinstance(self.statement, ast.Assign) else None
        return isinstance(self.statement, ast.Raise) or (isinstance(target, ast.Name) and target.id == "message")

    @cached_property
    def text(self) -> str:
        """The statement's first line."""
        return ast.unparse(self.statement).split("\n", 1)[0]


@dataclass(frozen=True)
class Module:
    """The functions of one file."""

    name: str
    sites: tuple[Site, ...]


def read(name: str) -> Module:
    """Return the functions of a module of the reference, methods included, as its source has them."""
    return parsed(name, (ROOT / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8"))


def parsed(name: str, source: str) -> Module:
    """Return the functions of a source."""
    tree = ast.parse(source)
    choices = dict(_choices(tree))
    return Module(name, tuple(_site(name, prefix, function, choices) for prefix, function in _functions(tree)))


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield "", node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.", inner) for inner in node.body if isinstance(inner, ast.FunctionDef))


def _choices(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the names of every ``Literal`` that the module defines, with its words."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and ast.unparse(node.value.value) == "Literal":
            words = tuple(str(c.value) for c in ast.walk(node.value.slice) if isinstance(c, ast.Constant))
            yield ast.unparse(node.targets[0]), words


def _site(module: str, prefix: str, function: ast.FunctionDef, choices: Mapping[str, tuple[str, ...]]) -> Site:
    annotations = {a.arg: ast.unparse(a.annotation) for a in _arguments(function) if a.annotation is not None}
    operation = any(ast.unparse(decorator) == "operation" for decorator in function.decorator_list)
    declared = operation or bool(DECLARED & set(annotations.values()))
    return Site(module, prefix + function.name, _bare(function), annotations, choices, declared)


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return the function without decorators, annotations and docstring."""
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
        if isinstance(node, ast.arg):
            node.annotation = None
    function.body = function.body[1:] if ast.get_docstring(function) and len(function.body) > 1 else function.body
    return function


def _defaults(function: ast.FunctionDef) -> Iterator[Place]:
    for default in [*function.args.defaults, *(d for d in function.args.kw_defaults if d is not None)]:
        yield from _within(default, Place(function.args, None, function))


def _below(body: list[ast.stmt]) -> Iterator[Place]:
    for statement in body:
        yield from _within(statement, Place(statement, None, statement))


def _within(node: ast.AST, outer: Place) -> Iterator[Place]:
    place = outer if outer.node is node else Place(node, outer, outer.statement)
    yield place
    spared = [node.annotation] if isinstance(node, ast.AnnAssign) else []
    for child in (child for child in ast.iter_child_nodes(node) if child not in spared):
        yield from _below([child]) if isinstance(child, ast.stmt) else _within(child, place)
