"""Call a function as its adapter declares: arrays with the axes that it has, under the names that it gives them; and back again."""

import ast
import math
import re
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from conformance.adapt import grid
from conformance.adapt.adapter import Implementation
from conformance.adapt.arrays import MalformedError, MisfitError, NumPy
from conformance.adapt.signatures import accepted
from conformance.adapt.wording import told, told_with_place, words
from conformance.calls.elsewhere import elsewhere
from conformance.calls.form import COUNTS, MADE, SIDES, SIZES, Form, order, parsed, roles
from conformance.calls.takes import Takes, is_bias
from refimpl.spec import Operation, axis_names, fixed_size

#: How Python says that a call doesn't fit a signature.
UNFIT = re.compile(r"\) (takes|got|missing) .*argument|\) expected at most \d+ argument")
#: What code of another library says that is given arrays of NumPy.
FOREIGN = "numpy.ndarray"
#: Which tables the rows of a cache hold.
CACHES = {"cos_cache": ("cos",), "sin_cache": ("sin",), "cos_sin_cache": ("cos", "sin")}
#: What comes back of queries and of keys that one call turns.
TURNED = {"q": "query", "k": "key"}

#: How many axes a bias of one sequence has.
BIASED = 3

#: What to do where code turns queries and keys, and one of them is asked for.
BOTH_TURNED = (
    ': return one, declare call="f(q, k, ...)" if it turns queries and keys, or offer an operation of both, such as rotate_query_key'
)

#: The axis along which channels of a head lie.
HEAD_DIM = "head_dim"

Named = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Calling:
    """One function, called as its adapter declares with arrays of its framework, inside of ``foreign``."""

    operation: Operation
    implementation: Implementation
    framework: NumPy
    foreign: AbstractContextManager[object] = field(default_factory=nullcontext)
    form: Form = field(init=False)
    takes: Takes = field(init=False)
    roles: tuple[str, ...] = field(init=False)
    keywords: Collection[str] | None = field(init=False)

    def __post_init__(self) -> None:
        """Read what stands in the call."""
        one = self.implementation
        object.__setattr__(self, "form", one.form)
        object.__setattr__(self, "takes", one.takes)
        object.__setattr__(self, "roles", tuple(self.operation.arrays) if one.form.call is None else tuple(roles(one.form.call)))
        object.__setattr__(self, "keywords", accepted(self.operation, one.function) if one.form.call is None else ())

    def arrays(self, arrays: Named, parameters: Mapping[str, object]) -> dict[str, np.ndarray]:
        """Return the arrays that the function is given, by their names in the call."""
        wanted = [role for role in self.roles if role == "like" or (self._source(role) in arrays and not self._counts(role))]
        rows = self._with_rows(arrays)
        return {role: self._like(arrays, parameters) if role == "like" else self._made(role, rows) for role in wanted}

    def counts(self, arrays: Named) -> dict[str, int]:
        """Return the integers that the function is given: an offset, or how many there are."""
        wanted = {role: arrays[MADE[role]] for role in self.roles if self._counts(role) and role not in SIDES}
        counted = {role: int(values.flat[0]) if role == "offset" and values.size else values.shape[-1] for role, values in wanted.items()}
        if self.takes.gridded:
            sides = grid.sides(arrays["positions"], self.takes)
            counted |= {role: side for role, side in zip(SIDES[len(SIDES) - len(sides) :], sides, strict=True) if role in self.roles}
        sizes = self.sizes(arrays)
        return counted | {role: sizes[role] for role in self.roles if role in SIZES and role not in self.operation.parameters}

    def __call__(self, given: Mapping[str, Any], parameters: Mapping[str, object]) -> list[Any]:
        """Call the function, and return its results as it gave them, in the operation's order; for each sequence where it takes one."""
        if not self.form.one_sequence(self.operation):
            return self._called(given, parameters)
        count = max(len(array) for role, array in given.items() if self._has_batch(role, array))
        rows = [{role: array[row] if self._has_batch(role, array) else array for role, array in given.items()} for row in range(count)]
        return [self.framework.stacked(list(parts)) for parts in zip(*(self._called(each, parameters) for each in rows), strict=True)]

    def _has_batch(self, role: str, array: Any) -> bool:
        """Whether the first axis of an argument is that of the batch."""
        axes = self.operation.arrays.get(self._source(role) or "", "")
        if role == "position_ids" or "batch" in axes.split():
            return role != "position_ids" or array.ndim > 1
        within = role not in CACHES and not self._counts(role)
        return within and "[batch]" in axes and array.ndim == len(axes.split()) - (role in ("rows", "columns"))

    def _called(self, given: Mapping[str, Any], parameters: Mapping[str, object]) -> list[Any]:
        arguments, keywords = self._arguments(given, parameters)
        try:
            with self.foreign:
                returned = self.implementation.function(*arguments, **keywords)
        except (AttributeError, TypeError, RuntimeError) as error:
            if UNFIT.search(words(error)):
                named = ", ".join([*given, *(f"{name}=..." for name in keywords if name not in given)])
                inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
                message = f"the function must take {named}, got {told_with_place(error) if inside else told(error)}"
                raise MisfitError(message) from error
            if self.framework.module == NumPy.module and FOREIGN in words(error):
                message = f"it gets arrays of NumPy; others are declared as Adapter(..., framework=...): {told_with_place(error)}"
                raise MisfitError(message) from error
            raise
        return self._parts(returned, given)

    def result(self, name: str, value: np.ndarray, arrays: Named, parameters: Mapping[str, object]) -> np.ndarray:
        """Return a result with the axes of the operation; one that has others is left for the judge."""
        axes = self.operation.results[name]
        sizes = {"head": fixed_size("head", parameters) or 0, **self.sizes(arrays)}
        value = self._narrowed(axes, self._straight(axes, value, sizes), arrays.get("x"))
        if self.form.tables != "pair":
            self._tell_tables(name, value, sizes, parameters)
        if name in ("cos", "sin"):
            value = self._paired(name, value)
        rows = self.takes.rows == "each" or "batch" in re.findall(r"\w+", self.form.axes or "")
        single = rows and "[batch]" in axes and "batch" not in sizes and value.ndim == len(axes.split())
        return self._spread(name, value[0] if single and value.shape[0] == 1 else value, sizes)

    def feature(self, name: str, values: np.ndarray, sizes: Mapping[str, int]) -> np.ndarray:
        """Return the gradient in an array with the axes that the operation has."""
        return self._turning(self.operation.arrays[name], self._straight(self.operation.arrays[name], values, sizes))

    def cotangent(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return what is multiplied with a result, as the function lays that out."""
        return self._laid(self.operation.results[name], self._widened(self.operation.results[name], values, 0.0))

    def sizes(self, arrays: Named) -> dict[str, int]:
        """Return how long every axis of the arrays is."""
        found: dict[str, int] = {}
        for name, values in arrays.items():
            found.update(zip(axis_names(self.operation.arrays[name], values.ndim) or (), values.shape, strict=False))
        return found | ({HEAD_DIM: found[HEAD_DIM] + sum(self.form.beside)} if HEAD_DIM in found else {})

    def role(self, name: str) -> str:
        """Return under which name the function is given an array."""
        return self.form.side if self.form.side and name == "x" else next((role for role in self.roles if self._source(role) == name), name)

    def _source(self, role: str) -> str | None:
        """Return which array of the operation an argument is made of."""
        return role if role in self.operation.arrays else MADE.get(role)

    def _counts(self, role: str) -> bool:
        return role in COUNTS and role not in self.operation.parameters

    def _arguments(self, given: Mapping[str, Any], parameters: Mapping[str, object]) -> tuple[list[Any], dict[str, Any]]:
        if self.form.call is None:
            named = {name: value for name, value in parameters.items() if self.keywords is None or name in self.keywords}
            return list(given.values()), named
        known = {**parameters, **given}
        call = parsed(self.form.call)
        assert call is not None  # noqa: S101  a form that can't be read was refused
        keywords = {str(each.arg): _value(each.value, known) for each in call.keywords}
        return [_value(each, known) for each in call.args], keywords

    def _spread(self, name: str, value: np.ndarray, sizes: Mapping[str, int]) -> np.ndarray:
        """Return what attention broadcasts as it is added: without axes of length 1 that the operation lacks, with a row for each query."""
        axes = self.operation.results[name]
        names = re.sub(r"\[batch\]", "batch" if "batch" in sizes else "", axes).split()
        if not self.operation.arrays:
            return value.reshape((-1,) * len(names)) if value.squeeze().ndim <= len(names) else value
        if not is_bias(self.operation):
            return value
        while value.ndim > len(names) and value.shape[0] == 1:
            value = value[0]
        if axis_names(axes, value.ndim) is None:
            message = f"{name} must have axes ({axes}), got shape {value.shape}"
            raise MisfitError(message)
        self._tell_sequences(name, value, sizes)
        of_keys = value.shape[-3:] == (sizes["head"], 1, sizes["key"])
        return np.broadcast_to(value, (*value.shape[:-2], sizes["query"], sizes["key"])) if of_keys else value

    def _tell_sequences(self, name: str, value: np.ndarray, sizes: Mapping[str, int]) -> None:
        """Refuse biases of several sequences where one is asked for, and those that lie in one axis with the heads, undeclared."""
        heads, batch, lying = sizes["head"], sizes.get("batch", 1), math.prod(value.shape[:-2])
        of_pairs = value.shape[-1] == sizes["key"] and value.shape[-2] in (1, sizes["query"])
        if "batch" not in sizes and of_pairs and lying > heads > 0 == lying % heads:
            got = f"{lying // heads} in shape {value.shape}"
            message = f"{name} must be that of one sequence where positions are one row, got {got}: return one"
            raise MisfitError(message)
        if "batch" in sizes and value.ndim == BIASED and lying == batch * heads:
            declare = "declare axes='(batch head) query key' in implements, or '(head batch) query key' if heads come first"
            message = f"{name} must have axes (batch head query key), got sequences and heads in one, shape {value.shape}: {declare}"
            raise MisfitError(message)

    def _parts(self, returned: Any, given: Mapping[str, Any]) -> list[Any]:
        both = self.form.side or self.operation.results.keys() == {*TURNED.values()}
        turned = {TURNED[role]: role for role in self.roles if role in TURNED} if both else {}
        names = list(turned or self.operation.results)
        if returned is None and self.implementation.modifies_inputs:
            written = [*turned.values()] or [self.role("x")]
            returned = [given[role] for role in written if role in given] or None
        if names == ["cos", "sin"] and "complex" in str(getattr(returned, "dtype", "")):
            returned = returned.real, returned.imag
        if len(names) == 1 and self.operation.results[names[0]] in ("head", "pair") and _is_row(returned):
            returned = np.asarray(returned)
        if len(names) == 1 and isinstance(returned, tuple) and len(returned) == 1:
            message = "the function must return one array, got a tuple of 1: is there a comma behind it?"
            raise MisfitError(message)
        several = isinstance(returned, tuple | list)
        parts = list(returned) if several else [returned]
        if returned is None or len(parts) != len(names) or (several and self._is_row_of_one(parts)):
            due = f"{len(names)} results ({', '.join(names)})" if len(names) > 1 else "one array"
            got = "None: is there a return?" if returned is None else f"{type(returned).__name__} of {len(parts)}" if several else "one"
            one_of_two = len(names) == 1 and several and len(parts) == 2 and self.operation.arrays.keys() == {"x", "positions"}
            message = f"the function must return {due}, got {got}{BOTH_TURNED if one_of_two else ''}"
            raise MisfitError(message)
        wanted = [TURNED[self.form.side]] if self.form.side else self.operation.results
        return [parts[names.index(name)] for name in wanted]

    def _is_row_of_one(self, parts: list[Any]) -> bool:
        """Whether what came in a list is the only row of a result, and not the result: with several rows it is a longer list."""
        axes = self.operation.results[next(iter(self.operation.results))]
        lowest = len(_groups(self.form.axes)) if self.form.axes is not None else len(axes.replace("[batch]", "").split())
        return len(parts) == 1 and 0 < getattr(parts[0], "ndim", 0) < lowest

    def _with_rows(self, arrays: Named) -> Named:
        """Return the arrays, with a row of positions for each sequence where code takes no other."""
        if self.takes.rows != "each":
            return arrays
        count = self.sizes(arrays).get("batch", 1)

        def each(name: str, values: np.ndarray) -> np.ndarray:
            axes = self.operation.arrays[name]
            lacks = "[batch]" in axes and "batch" not in (axis_names(axes, values.ndim) or ("batch",))
            return np.repeat(values[None], count, axis=0) if lacks else values

        return {name: each(name, values) for name, values in arrays.items()}

    def _made(self, role: str, arrays: Named) -> np.ndarray:
        """Return one argument; a cache holds all rows of a table from the last to the first."""
        if role in CACHES:
            tables = [self._columns(arrays[name], arrays) for name in CACHES[role]]
            return np.concatenate([table.reshape(-1, table.shape[-1])[::-1] for table in tables], axis=-1)
        if role in self.operation.arrays:
            value = self._laid(self.operation.arrays[role], self._widened(self.operation.arrays[role], arrays[role]))
            return self._columns(value, arrays) if role in ("cos", "sin") else value
        return self._derived(role, arrays)

    def _derived(self, role: str, arrays: Named) -> np.ndarray:
        """Return an argument that the operation calls otherwise."""
        match role:
            case "q" | "k":
                return self._laid(self.operation.arrays["x"], arrays["x"] if self.form.side in ("", role) else -arrays["x"])
            case "waves":
                return arrays["cos"] + 1j * arrays["sin"]
            case "position_ids":
                rows = last_first(arrays["cos"])
                return rows if rows.ndim > 1 or self.takes.one_row else np.repeat(rows[None], arrays["x"].shape[0], axis=0)
        return np.ascontiguousarray(arrays["positions"][..., ("rows", "columns").index(role)])

    def _like(self, arrays: Named, parameters: Mapping[str, object]) -> np.ndarray:
        """Return an array as wide as a head or an embedding, where a call has one."""
        sizes = self.sizes(arrays)
        widths = (sizes.get(axis) or fixed_size(axis, parameters) for axis in (HEAD_DIM, "dim"))
        return np.zeros((1, next(filter(None, widths), 1)))

    def _columns(self, table: np.ndarray, arrays: Named) -> np.ndarray:
        """Return a table as the code wants it; one that has two columns for each pair comes of a diagnosis, which tries it so."""
        if self.form.tables == "pair" or table.shape[-1] == arrays["x"].shape[-1]:
            return table
        return np.concatenate([table, table], axis=-1) if self.form.tables == "tiled" else np.repeat(table, 2, axis=-1)

    def _tell_tables(self, name: str, value: np.ndarray, sizes: Mapping[str, int], parameters: Mapping[str, object]) -> None:
        """Refuse what comes of code that has one column for each pair where two are declared."""
        wanted, width = f"which tables={self.form.tables!r} in implements declares", value.shape[-1] if value.ndim else 0
        if name in ("cos", "sin") and width == fixed_size("pair", parameters):
            message = f"{name} must have two columns for each pair, {wanted}, got one: declare no tables"
            raise MisfitError(message)
        if "cos" in self.operation.arrays and width == 2 * sizes.get(HEAD_DIM, 0):
            message = f"{name} must have the channels of what it turns, got twice as many: are there two columns for each pair, {wanted}?"
            raise MisfitError(message)

    def _paired(self, name: str, table: np.ndarray) -> np.ndarray:
        """Return a result with one column for each pair; the other columns must be the same."""
        if self.form.tables == "pair" or table.ndim == 0 or table.shape[-1] % 2:
            return table
        half = table.shape[-1] // 2
        twice = {"tiled": (table[..., :half], table[..., half:]), "repeated": (table[..., ::2], table[..., 1::2])}
        right = [tables for tables, (once, again) in twice.items() if np.array_equal(once, again, equal_nan=True)]
        if self.form.tables not in right:
            got = f"columns that are {right[0]}: declare tables={right[0]!r}" if right else "columns that differ"
            message = f"{name} must hold each column twice, {self.form.tables}, as its adapter declares, got {got}"
            raise MisfitError(message)
        return twice[self.form.tables][0]

    def _widened(self, axes: str, values: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """Return an array with the channels that don't turn beside those that do: unlike numbers that every dtype holds exactly."""
        before, after = self.form.beside
        if not before + after or not axes.endswith(HEAD_DIM):
            return values
        shape = (*values.shape[:-1], before + after)
        beside = (scale * (np.arange(math.prod(shape)) * 37 % 255 - 127).reshape(shape) / 64).astype(values.dtype)
        return np.concatenate([beside[..., :before], values, beside[..., before:]], axis=-1)

    def _turning(self, axes: str, values: np.ndarray) -> np.ndarray:
        """Return the channels that turn."""
        before, after = self.form.beside
        return values[..., before : values.shape[-1] - after] if axes.endswith(HEAD_DIM) and values.ndim else values

    def _narrowed(self, axes: str, values: np.ndarray, x: np.ndarray | None) -> np.ndarray:
        """Return the channels that turn; the others must have stayed as they were."""
        turning = self._turning(axes, values)
        if any(self.form.beside) and axes.endswith(HEAD_DIM) and not np.array_equal(values, self._widened(axes, turning)):
            raise MalformedError(elsewhere(self.form.beside, self._widened(axes, turning if x is None else x), values))
        return turning

    def _laid(self, axes: str, values: np.ndarray) -> np.ndarray:
        """Return an array with its axes as the code has them."""
        names = axis_names(axes, values.ndim)
        groups = None if self.form.axes is None or names is None else order(self.form.axes, " ".join(names))
        if groups is None:
            return values
        moved = values.transpose([index for group in groups for index in group])
        sizes = [int(np.prod([values.shape[index] for index in group])) for group in groups]
        return np.ascontiguousarray(moved).reshape(sizes)

    def _straight(self, axes: str, values: np.ndarray, sizes: Mapping[str, int]) -> np.ndarray:
        """Return an array with its axes as the operation has them."""
        for names in (axes.replace("[", "").replace("]", "").split(), re.sub(r"\[[^\]]*\]", "", axes).split()):
            groups = None if self.form.axes is None else order(self.form.axes, " ".join(names))
            if groups is None or values.ndim != len(groups):
                continue
            flat = [index for group in groups for index in group]
            if any(names[index] not in sizes for group in groups if group[1:] for index in group):
                continue
            known = zip(groups, values.shape, strict=True)
            lengths = ([sizes[names[each]] for each in group] if group[1:] else [size] for group, size in known)
            try:
                apart = values.reshape([*chain.from_iterable(lengths)])
            except ValueError:
                return values
            return np.transpose(apart, np.argsort(flat).tolist())
        return values


def _groups(axes: str) -> list[str]:
    """Return the axes of an array, of which one may hold several."""
    return re.findall(r"\([^)]*\)|\S+", axes)


def _is_row(value: Any) -> bool:
    """Whether it is a list of numbers, as code returns that has no library."""
    return isinstance(value, list) and all(isinstance(each, int | float | np.generic) for each in value)


def last_first(table: np.ndarray) -> np.ndarray:
    """Return which row of such a cache each token has."""
    return np.arange(math.prod(table.shape[:-1]) - 1, -1, -1).reshape(table.shape[:-1])


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    return known[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)
