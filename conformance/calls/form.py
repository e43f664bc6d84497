"""How a function is called: which argument stands where, in which order axes come, how tables are laid out."""

import ast
import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.calls.takes import PLACES, Positions, Takes
from conformance.spec.shown import shown
from refimpl.spec import Operation

#: Axes as others abbreviate them, where the first letters don't say which is meant.
SHORT = {**dict.fromkeys(("s", "t", "n", "l", "seq"), "token"), "d": "dim"}
#: How cosines and sines are laid out: one column for each pair, all columns twice, or each column twice.
TABLES = ("pair", "tiled", "repeated")
#: What code calls axes that an operation tells apart.
SAME = {"query": "token", "key": "token", "query_head": "head", "key_head": "head", "3": "axis"}
#: Which array of an operation an argument is made of, where it has another name.
MADE: Mapping[str, str] = {
    "q": "x",
    "k": "x",
    "waves": "cos",
    "cos_cache": "cos",
    "sin_cache": "sin",
    "cos_sin_cache": "cos",
    "position_ids": "cos",
    "rows": "positions",
    "columns": "positions",
    "frames": "positions",
    "height": "positions",
    "width": "positions",
    "offset": "positions",
    "tokens": "positions",
    "query_tokens": "query_positions",
    "key_tokens": "key_positions",
}
#: The sides of a grid, the slowest first.
SIDES = ("frames", "height", "width")
#: Arguments that are integers, and what must be declared of positions where they say everything.
COUNTS: Mapping[str, tuple[Positions, ...]] = {
    "offset": ("consecutive", "from_zero"),
    **dict.fromkeys(("tokens", "query_tokens", "key_tokens"), ("from_zero",)),
    **dict.fromkeys(SIDES, ("grid", "grid_xy")),
}
#: Axes that code which has heads and their channels in one must be told the length of.
SIZES = ("head", "head_dim")
GROUP = re.compile(r"\(([^()]*)\)|([^\s()]+)")


@dataclass(frozen=True)
class Form:
    """What an adapter declares of the call: ``call`` as one writes it, ``axes`` in their order, ``tables`` as they are laid out.

    ``side`` says of code that takes queries and keys in one call as which of them it is judged; ``beside`` how many channels of a head
    lie before and after those that turn, and must stay as they are.
    """

    call: str | None = None
    axes: str | None = None
    tables: str = "pair"
    side: str = ""
    beside: tuple[int, int] = (0, 0)

    @property
    def judged(self) -> str:
        """As what it is judged, in words behind a label."""
        return {"": "", "q": " (queries)", "k": " (keys)"}[self.side]

    def one_sequence(self, operation: Operation) -> bool:
        """Whether code has no axis for the batch that an operation always has: then it takes one sequence after the other."""
        every = " ".join(operation.arrays.values()).split()
        return self.axes is not None and "batch" in every and "batch" not in re.findall(r"\w+", self.axes)

    def sides(self, operation: Operation) -> list["Form"]:
        """Return it once as queries and once as keys where one call turns both."""
        both = self.call is not None and {"q", "k"} <= set(roles(self.call)) and "x" in operation.arrays
        return [replace(self, side=side) for side in ("q", "k")] if both else [self]


def nonsense(form: Form, operation: Operation, takes: Takes) -> Iterator[str]:
    """Yield what a declaration says of calls that no code could mean."""
    for name, text in (("call", form.call), ("axes", form.axes), ("tables", form.tables)):
        if text is not None and not isinstance(text, str):
            yield f"{name} must be text, got {shown(text)}"
            return
    if form.tables not in TABLES:
        yield f"tables must be one of {', '.join(TABLES)}, got {shown(form.tables)}"
    elif form.tables != "pair" and not {"cos", "sin"} & {*operation.arrays, *operation.results}:
        yield f"tables must be declared of an operation with cosines and sines, got {operation.name}"
    every = (*operation.arrays.values(), *operation.results.values())
    if form.axes is not None and not any(order(form.axes, axes) for axes in every):
        axes = "; ".join(dict.fromkeys(" ".join(map(_plain, axes.split())) for axes in every))
        yield f"axes must be those of an array or a result in another order ({axes}), got {shown(form.axes)}{_axes_meant(form.axes, every)}"
    if form.call is not None:
        yield from _unknown(form.call, operation, takes)


def _axes_meant(declared: str, every: Sequence[str]) -> str:
    """Return the axes that are close to what is declared, in its order, where an array has them."""
    known = {_plain(axis.strip("[]")) for axes in every for axis in axes.split()}
    close = {word: difflib.get_close_matches(SHORT.get(word, word), known, 1, cutoff=0.0) for word in re.findall(r"\w+", declared)}
    meant = re.sub(r"\w+", lambda word: close[word[0]][0], declared)
    return f" (did you mean {meant!r}?)" if any(order(meant, axes) for axes in every) else ""


def sayings(operation: Operation) -> Iterator[tuple[str, str]]:
    """Yield what may be declared of the form of calls, and what it says."""
    every, features = (*operation.arrays.values(), *operation.results.values()), operation.arrays.get("x", "").split()
    arrays = [*(("q", "k") if "head" in features else features and ("x",)), *(name for name in operation.arrays if name != "x")]
    yield f'call="f({", ".join(arrays)})"', "how the function is called, with its own names"
    known = [*map(str.split, every)]
    if any({"head", "query", "key"} <= set(axes) for axes in known):
        yield 'axes="query key head"', "the order of the axes"
    elif any({"head", "head_dim"} <= set(map(_plain, axes)) for axes in known):
        yield 'axes="batch token head head_dim"', "the order of the axes of arrays and results; without batch: one sequence"
        yield "modifies_inputs=True", "the function overwrites its features"
    elif any("axis" in map(_plain, axes) for axes in known):
        yield 'axes="axis batch token"', "the order of the axes of arrays and results"
    elif features:
        yield f'axes="token batch {features[-1]}"', "the order of the axes of arrays and results; without batch: one sequence"
        yield "modifies_inputs=True", "the function overwrites its features"
    if {"cos", "sin"} & {*operation.arrays, *operation.results}:
        yield 'tables="tiled"', "cosines and sines twice, as (c, c); repeated: c0, c0, c1, c1"


def _unknown(call: str, operation: Operation, takes: Takes) -> Iterator[str]:
    if parsed(call) is None:
        yield f"call must be like 'f(x, positions, theta=base)', got {shown(call)}"
        return
    names = known(operation)
    for role in roles(call):
        if role not in names:
            yield f"call must name {', '.join(names)} or values, got {role!r} for {operation.name}{_meant(role, names)}"
        elif role in COUNTS and role not in operation.parameters and takes.positions not in COUNTS[role]:
            yield f"{role} must come with positions={' or '.join(map(repr, COUNTS[role]))}, got positions={takes.positions!r}"
    untold = ", ".join(_untold(call, operation, takes))
    if untold:
        unless = " unless positions='from_zero' is declared" if untold in PLACES.values() else ""
        yield f"call must name {untold}{unless}, got {shown(call)}"


def _meant(name: str, names: Collection[str]) -> str:
    """Return which argument code calls by a name."""
    from conformance.spec.words import roles as usual

    widths = ("head_dim", "dim")
    meant = [each for role in usual(name) for each in (widths if role == "width" else (role,)) if each in names]
    return f" (did you mean {meant[0]}?)" if meant else ""


def _untold(call: str, operation: Operation, takes: Takes) -> Iterator[str]:
    """Yield the arrays of which a call says nothing; counted ones may be known."""
    named = {role if role in operation.arrays else MADE.get(role) for role in roles(call)}
    whole = {"sin"} if {"waves", "cos_sin_cache"} & {*roles(call)} else set()
    for name in operation.arrays:
        counted = name in PLACES.values() and takes.positions == "from_zero"
        if name not in named | whole and not counted and not (name == PLACES["query"] and takes.queries == "at_end"):
            yield name


def known(operation: Operation) -> list[str]:
    """Return what may stand in a call of an operation."""
    every = " ".join(operation.arrays.values()).split()
    sizes = (axis for axis in SIZES if axis in every and axis not in operation.parameters)
    made = (role for role in MADE if _makes(role, operation))
    return [*operation.arrays, *made, "like", *sizes, *operation.parameters]


def _makes(role: str, operation: Operation) -> bool:
    """Whether an array of an operation makes an argument of another name."""
    axes = operation.arrays.get(MADE[role])
    return axes is not None and role not in operation.arrays and (role not in ("rows", "columns", *SIDES) or axes.endswith(" axis"))


def _plain(axis: str) -> str:
    return SAME.get(axis, axis)


def order(declared: str, axes: str) -> list[list[int]] | None:
    """Return, for every axis that code has, which axes of an array it is made of; ``None`` where the array has others.

    Queries and keys are tokens unless both are there; a batch that isn't declared comes first, or is taken apart, and one that the array
    lacks is left out.
    """
    names = axes.replace("[", "").replace("]", "").split()
    plain = names if {"query", "key"} <= set(names) else [_plain(name) for name in names]
    every = [(grouped or single).split() for grouped, single in GROUP.findall(declared)]
    groups = every if "batch" in plain else [rest for group in every if (rest := [word for word in group if word != "batch"])]
    words = [word for group in groups for word in group]
    if "batch" in plain and "batch" not in words:
        groups, words = [["batch"], *groups], ["batch", *words]
    plain = [name if name in words else _plain(name) for name in plain]
    return [[plain.index(word) for word in group] for group in groups] if sorted(words) == sorted(plain) else None


def parsed(call: str) -> ast.Call | None:
    """Return a call as it is written, of names and values only."""
    try:
        found = ast.parse(call.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    if not isinstance(found, ast.Call) or any(isinstance(each, ast.Starred) for each in found.args):
        return None
    if not all(each.arg for each in found.keywords):
        return None
    return found if all(isinstance(each, ast.Name) or _is_value(each) for each in _given(found)) else None


def roles(call: str) -> list[str]:
    """Return the names that stand in a call, each once."""
    found = parsed(call)
    return [] if found is None else list(dict.fromkeys(each.id for each in _given(found) if isinstance(each, ast.Name)))


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _is_value(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True
