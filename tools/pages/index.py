"""The list of all schemes, and what holds for every operation."""

import inspect
from collections.abc import Mapping

from conformance.laws import UNIVERSAL
from conformance.show.declaration import counts
from refimpl.spec import Scheme
from tools.pages.gaps import contracts
from tools.pages.markdown import code, escaped, joined, link, section, table
from tools.pages.page import NOTICE

OPENING = """Each page is written from the declarations that the reference and the harness run on: equations, arguments, conventions
with who uses them, laws, known mistakes with the threads where people met them, in the same scheme or in the one that is named, and
cases with what each exposes. `posenc list` and `posenc show NAME` print the same on a terminal. The words are those of
[the architecture](../architecture.md); [properties](../properties.md) compares the schemes, measured, and
[founding](../founding.md) answers every claim of the notes that they come from."""
PICTURED = """One head and the same queries and keys, all equal, under every scheme, learned numbers being stand-ins. Relative schemes are
constant along diagonals, what is added to the input is not.

![Attention weights of the same queries and keys under every scheme](pictures/weights.png)"""
UNIVERSALLY = "These hold for every operation of every scheme, beside the laws on its page."


def index(schemes: Mapping[str, Scheme]) -> str:
    """Return the page that leads to the others."""
    rows = [(link(code(name), f"{name}.md"), escaped(scheme.summary), *_totals(scheme)) for name, scheme in schemes.items()]
    head = ("scheme", "what it does", "operations", "cases", "laws", "known mistakes")
    universal = table(("law", "what it asks"), ((name, _asks(falsify)) for name, (falsify, _) in UNIVERSAL.items()))
    parts = section("Side by side", PICTURED), section("Universal laws", UNIVERSALLY, universal)
    return joined(NOTICE, "# Schemes", OPENING, table(head, rows), *parts)


def _asks(falsify: object) -> str:
    return escaped((inspect.getdoc(falsify) or "").split("\n", 1)[0])


def _totals(scheme: Scheme) -> tuple[str, ...]:
    every = [counts(contract.name) for contract in contracts(scheme)]
    claimed = {law for own in scheme.laws.values() for law in own}
    cases, _, mistakes = (sum(column) for column in zip(*every, strict=True))
    return str(len(every)), str(cases), str(len(claimed)), str(mistakes)
