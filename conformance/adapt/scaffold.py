"""Write a first adapter for someone to fill in."""

from pathlib import Path

from conformance.adapt.adapter import FRAMEWORKS
from conformance.adapt.selection import SelectionError, verify_names
from conformance.calls.takes import sayings
from conformance.spec.declarations import operations
from refimpl.spec import Operation

TEMPLATE = '''"""Connects {name} to posenc."""

from conformance import Adapter, Unsupported

adapter = Adapter("{name}", framework="{framework}")

{declarations}
@adapter.implements("{operation}"{restriction})
def {function}({arguments}):
    raise Unsupported("not connected yet: return what your own function gives")
'''


def write(name: str, operation: str, framework: str, directory: Path) -> Path:
    """Write ``NAME.py`` with an adapter for one operation, or raise where that would harm."""
    stem = name.removesuffix(".py")
    if not stem.isidentifier():
        message = f"name must be a Python name, got {name!r}"
        raise SelectionError(message)
    path = directory / f"{stem}.py"
    text = source(stem, operation, framework)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = f"{path.name} must not exist yet, got a file of that name"
        raise SelectionError(message) from None
    return path


def source(name: str, operation: str, framework: str) -> str:
    """Return the text of an adapter whose function has the operation's arguments."""
    verify_names("operation", [operation], operations())
    verify_names("framework", [framework], FRAMEWORKS)
    contract = operations()[operation]
    keywords = ["*", *contract.parameters] if contract.parameters else []
    choice = next((parameter for parameter in contract.parameters.values() if parameter.choices), None)
    return TEMPLATE.format(
        declarations=_declarations(contract),
        name=name,
        framework=framework,
        operation=operation,
        function=operation.split(".", 1)[1],
        arguments=", ".join([*contract.arrays, *keywords]),
        restriction=f', {choice.name}="{choice.default or choice.choices[0]}"' if choice else "",
    )


def _declarations(contract: Operation) -> str:
    """Return comments on what else may be declared, to be copied into the line below them."""
    written = [f"#   {words}: {meaning}" for words, meaning in sayings(contract)]
    return "\n".join(["", "# Code that takes only some calls says so in the next line:", *written]) if written else ""
