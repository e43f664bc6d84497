"""The list of all schemes, and what holds for every operation."""

import inspect
from collections.abc import Mapping

from conformance.laws import UNIVERSAL
from conformance.show.declaration import counts
from refimpl.spec import Scheme
from tools.pages.gaps import contracts
from tools.pages.markdown import code, escaped, joined, link, section, table
from tools.pages.page import NOTICE

OPENING = """Each page is generated from the declarations that the reference and the harness use. It has the scheme's equations, arguments,
conventions and who uses them, laws, known mistakes with public reports, and cases with the mistake that each one exposes. A report
that concerns another scheme names that scheme. `posenc list` and `posenc show NAME` print the same on a terminal.
The [glossary](../glossary.md) explains the words, [properties](../properties.md) compares the schemes by measurement, and
[founding](../founding.md) answers every claim of the lecture notes that the schemes were collected from."""
PICTURED = """The picture shows one head with the same queries and keys under every scheme but RetNet, which has no softmax. All tokens are
equal, and learned numbers are made up. The logits of relative schemes are constant along diagonals. Those of schemes that are added to
the input are not.

![Attention weights of the same queries and keys under every scheme with a softmax](pictures/weights.png)"""
UNIVERSALLY = "These hold for every operation of every scheme, in addition to the laws on its page."


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
