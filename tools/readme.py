"""Write the parts of README.md that follow from the declarations: ``python -m tools.readme [--check]``."""

import sys
from pathlib import Path

from conformance.laws import UNIVERSAL
from conformance.run import check
from conformance.show import report
from refimpl.schemes import SCHEMES, operations
from refimpl.spec import Scheme

README = Path(__file__).resolve().parent.parent / "README.md"
WRONG = "examples/numpy_wrong.py"


def table() -> str:
    """Return the table of schemes with their operations, and how many cases and laws they have."""
    rows = ["| scheme | what it does | operations | cases | laws |", "|---|---|---|---|---|", *map(_row, SCHEMES.values())]
    cases = sum(len(scheme.cases) for scheme in SCHEMES.values())
    counted = f"{len(SCHEMES)} schemes, {len(operations())} operations, {cases} cases"
    total = f"{counted}; {len(UNIVERSAL)} universal laws hold for every operation."
    law = "A law is an equation that correct code satisfies."
    return "\n".join(rows) + f"\n\n{total} {law} [docs/schemes](docs/schemes/README.md) has a page about each scheme.\n"


def _row(scheme: Scheme) -> str:
    names = ", ".join(f"`{function.__name__}`" for function in scheme.operations)
    laws = {law for claimed in scheme.laws.values() for law in claimed}
    page = f"[`{scheme.name}`](docs/schemes/{scheme.name}.md)"
    return f"| {page} | {scheme.summary} | {names} | {len(scheme.cases)} | {len(laws)} |"


def screen() -> str:
    """Return what ``posenc check`` says first about the wrong example."""
    shown = report.text(check(WRONG)).split("\nPRECISION", 1)[0]
    return f"```text\n{shown.rstrip()}\n```\n"


def marked(text: str, name: str) -> str:
    """Return what stands between the two marks of that name."""
    return text.split(f"<!-- {name} -->\n", 1)[1].split(f"<!-- /{name} -->", 1)[0]


def written(text: str) -> str:
    """Return the README with its table and its screen up to date."""
    return text.replace(marked(text, "schemes"), table()).replace(marked(text, "screen"), screen())


def main(arguments: list[str]) -> int:
    """Write the README, or with ``--check`` return 1 where its table isn't up to date."""
    text = README.read_text(encoding="utf-8")
    if arguments == ["--check"]:
        return int(marked(text, "schemes") != table())
    README.write_text(written(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
