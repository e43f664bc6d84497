"""List every mutation of the reference: one place, one change."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tools.mutation.identities import no_change
from tools.mutation.operators import OPERATORS
from tools.mutation.precision import FORMATS, intermediates
from tools.mutation.sites import Place, Site


@dataclass(frozen=True, eq=False)
class Mutation:
    """One change of one function."""

    site: Site
    place: Place
    kind: str
    instead: ast.AST

    @cached_property
    def was(self) -> str:
        """The expression as the source has it."""
        return _text(self.place.node)

    @cached_property
    def becomes(self) -> str:
        """What stands there instead."""
        return _text(self.instead)

    @cached_property
    def inside(self) -> str:
        """The expression around it, signs apart."""
        outer = [place.node for place in self.place.around[1:] if not isinstance(place.node, ast.UnaryOp)]
        return _text(outer[0]) if outer else ""

    @property
    def line(self) -> int:
        """The line in the file."""
        return int(getattr(self.place.node, "lineno", self.place.statement.lineno))

    @property
    def narrows(self) -> str | None:
        """The format to which it rounds, or ``None`` where it is no mistake of precision."""
        return self.kind if self.kind in FORMATS else None

    @property
    def words(self) -> str:
        """The change in one line."""
        where = f"{self.site.module.replace('.', '/')}.py:{self.line}"
        return f"{where} {self.kind}: `{self.was}` becomes `{self.becomes}` in `{self.place.text}`"

    def tree(self) -> ast.FunctionDef:
        """Return the function with the change: a copy in which one node is another."""
        changed: ast.FunctionDef = copy.deepcopy(self.site.tree, {id(self.place.node): self.instead})
        return ast.fix_missing_locations(changed)


def of(site: Site) -> list[Mutation]:
    """Return every mutation of a function, in the order of its source; no two give the same source."""
    found = {(id(m.place.node), m.becomes): m for m in _all(site) if not no_change(m.place, m.kind, m.instead)}
    return list(found.values())


def _all(site: Site) -> Iterator[Mutation]:
    for place in site.places:
        for operator in (*OPERATORS, intermediates):
            yield from (Mutation(site, place, kind, instead) for kind, instead in operator(place, site))


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node)))
