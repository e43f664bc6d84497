"""Write a first adapter for someone to fill in."""

import importlib.metadata
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from conformance.adapt.adapter import FRAMEWORKS, LONGEST
from conformance.adapt.selection import SelectionError, verify_names
from conformance.calls import form
from conformance.calls.takes import is_bias, sayings
from conformance.spec import files
from conformance.spec.declarations import features, operations
from refimpl.schemes import SCHEMES
from refimpl.spec import Operation, Parameter

WIDTH = 80
#: The modules of this project.
OURS = ("posenc", "conformance", "refimpl")
TEMPLATE = '''"""Connects {name} to posenc.

{about}
"""

from posenc import Adapter

adapter = Adapter("{name}", framework="{framework}")

{declarations}
@adapter.implements("{operation}"{restriction})
def {function}({arguments}):
    raise NotImplementedError("return what your own function gives")

{variants}'''

#: Other ways to connect code, each a title and lines that are pasted in the place of the function.
AS_IT_IS = (
    "Your function as it is: call= says what it takes, in its order and by its names.",
    """\
from my_model import {function}

adapter.implements(
    "{operation}", {function}{restriction},
    call="{call}",
)
""",
)
MODULE = (
    "A torch module with a cache: made once for each width and base, so that what it keeps is judged too.",
    """\
import functools

from my_model import RotaryEmbedding, apply_rope

module = functools.cache(RotaryEmbedding)


@adapter.implements("{operation}"{restriction}, rows="shared")
def {function}(x, positions, *, head_dim, base, **_):
    cos, sin = module(head_dim, base)(positions)
    return apply_rope(x, cos, sin)
""",
)
JAX = (
    'JAX: declare framework="jax". A jitted function can be given as it is, with what isn\'t an array static.',
    """\
import jax

from my_model import {function}

jitted = jax.jit({function}, static_argnames="base")
adapter.implements("{operation}", jitted{restriction})
""",
)
LENGTHS = (
    "A bias that is told how many queries and keys there are, not where.",
    """\
from my_model import {function}

adapter.implements(
    "{operation}", {function}{restriction},
    call="f(num_heads, query_tokens, key_tokens)", positions="from_zero",
)
""",
)
LIBRARY = (
    'A C library, with framework="numpy": arrays lie in memory as they are declared.',
    """\
import ctypes

import numpy as np

library = ctypes.CDLL("./libmine.so")


@adapter.implements("{operation}"{restriction}, rows="shared")
def {function}(x, positions, *, base, **_):
    x, positions = np.array(x, order="C"), np.ascontiguousarray(positions)
    at = (array.ctypes.data_as(ctypes.c_void_p) for array in (x, positions))
    library.rotate(*at, *map(ctypes.c_int, x.shape), ctypes.c_float(base))
    return x
""",
)


def write(name: str, operation: str, framework: str, directory: Path) -> Path:
    """Write ``NAME.py`` with an adapter for one operation, or raise where that would harm."""
    stem = name.removesuffix(".py")
    if not stem.isidentifier():
        folder, slash, last = stem.rpartition("/")
        own = re.sub(r"\W", "_", last)
        place = f" in {folder or slash}, since the file is written where the command runs" if slash else ""
        message = f"name must be a Python name, got {name!r}{f' (did you mean {own}{place}?)' if own.isidentifier() else ''}"
        raise SelectionError(message)
    if len(stem) > LONGEST:
        message = f"name must have at most {LONGEST} letters, got {len(stem)}"
        raise SelectionError(message)
    if stem in {*sys.stdlib_module_names, *OURS, *importlib.metadata.packages_distributions()}:
        message = f"name must not be that of a module which is imported, got {name!r}"
        raise SelectionError(message)
    path = directory / f"{stem}.py"
    text = source(stem, operation, framework)
    if os.path.lexists(path):
        message = f"{path.name} must not exist yet, got a file of that name"
        raise SelectionError(message)
    files.write(path, text)
    return path


def source(name: str, operation: str, framework: str) -> str:
    """Return the text of an adapter whose function has the operation's arguments, and of other ways to connect one."""
    verify_names("operation", [operation], operations())
    verify_names("framework", [framework], FRAMEWORKS)
    contract = operations()[operation]
    keywords = ["*", *contract.parameters] if contract.parameters else []
    return TEMPLATE.format(
        about="\n".join(_about(contract)),
        declarations=_declarations(contract),
        name=name,
        framework=framework,
        operation=operation,
        function=operation.split(".", 1)[1],
        arguments=", ".join([*contract.arrays, *keywords]),
        restriction=_restriction(contract),
        variants="".join(_commented(title, code) for title, code in variants(contract)),
    )


def variants(contract: Operation) -> Iterator[tuple[str, str]]:
    """Yield other ways to connect code that computes an operation: what they are for, and their lines."""
    turns = features(contract) == "x" and "positions" in contract.arrays and "head_dim" in contract.parameters
    heads = is_bias(contract) and "num_heads" in contract.parameters
    chosen = [AS_IT_IS, *((MODULE, JAX, LIBRARY) if turns and "base" in contract.parameters else ()), *((LENGTHS,) if heads else ())]
    words = {
        "operation": contract.name,
        "function": contract.name.split(".", 1)[1],
        "call": f"f({', '.join([*contract.arrays, *(name for name, each in contract.parameters.items() if not each.choices)])})",
        "restriction": _restriction(contract),
    }
    for title, code in chosen:
        yield title, code.format(**words)


def _restriction(contract: Operation) -> str:
    """Return what is declared of every choice: one value, to be changed."""
    choices = (parameter for parameter in contract.parameters.values() if parameter.choices)
    return "".join(f', {choice.name}="{choice.default or choice.choices[0]}"' for choice in choices)


def _about(contract: Operation) -> Iterator[str]:
    """Yield what the operation is, the shape and meaning of every argument, and where more is told."""
    scheme = SCHEMES[contract.name.split(".", 1)[0]]
    yield from textwrap.wrap(f"{contract.name}: {contract.summary}".replace("``", "`"), WIDTH)
    yield ""
    for name, axes in contract.arrays.items():
        yield from _item(f"{name} ({', '.join(axes.split())})", scheme.meanings.get(name, ""))
    for parameter in contract.parameters.values():
        yield from _item(f"{parameter.name}, {_values(parameter)}", scheme.meanings.get(parameter.name, ""))
    for name, axes in contract.results.items():
        yield from _item(f"returns {name} ({', '.join(axes.split())})", "")
    yield ""
    yield f"More: `posenc show {contract.name}`, {scheme.source.address}"


def _item(head: str, meaning: str) -> list[str]:
    return textwrap.wrap(f"{head}: {meaning}" if meaning else head, WIDTH, initial_indent="  ", subsequent_indent="      ")


def _values(parameter: Parameter) -> str:
    words = " or ".join(parameter.choices) or parameter.kind.__name__
    return words if parameter.required else f"{words}, by default {parameter.default}"


def _declarations(contract: Operation) -> str:
    """Return comments on what else may be declared, to be copied into the line below them."""
    written = [f"#   {words}: {meaning}" for words, meaning in [*sayings(contract), *form.sayings(contract)]]
    return "\n".join(["", "# Code that takes only some calls says so in the next line:", *written])


def _commented(title: str, code: str) -> str:
    """Return a way to connect code, as comments to be freed."""
    lines = [*textwrap.wrap(title, WIDTH - 2), "", *code.splitlines()]
    return "\n" + "".join(f"# {line}".rstrip() + "\n" for line in lines)
