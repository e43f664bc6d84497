"""Write the adapter that declares what was found: the function as it is called, or a function around it that puts axes in order."""

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.identify import called
from conformance.identify.additive import Encoding
from conformance.identify.biases import Bias
from conformance.identify.calls import takes
from conformance.identify.findings import LISTED, WITH_NUMBER, Identity
from conformance.identify.following import Setting, restrictions, role
from conformance.identify.grids import Grid
from conformance.identify.probe import Probe
from conformance.identify.rotary import FIRST_CHANNEL
from conformance.identify.scales import Scale
from conformance.identify.turns import MERGED, Turns
from conformance.judge.reproduction import wrapped
from conformance.spec.choices import FILLING
from conformance.spec.declarations import operations

#: Where stacking, broadcasting and padding are, in each library.
MODULES = {"numpy": "numpy", "torch": "torch", "jax": "jax.numpy", "cupy": "cupy", "array_api_strict": "array_api_strict"}
BEFORE = {
    "batch token head dim": "{}.swapaxes(1, 2)",
    "token batch head dim": "xp.moveaxis({}, 2, 0)",
    "row token dim": "{0}.reshape(-1, *{0}.shape[2:])",
    "token row dim": "{0}.reshape(-1, *{0}.shape[2:]).swapaxes(0, 1)",
    MERGED: "{0}.swapaxes(1, 2).reshape({0}.shape[0], {0}.shape[2], -1)",
}
AFTER = {
    "batch token head dim": "{}.swapaxes(1, 2)",
    "token batch head dim": "xp.moveaxis({}, 0, 2)",
    "row token dim": "{}.reshape({x}.shape)",
    "token row dim": "{}.swapaxes(0, 1).reshape({x}.shape)",
    MERGED: "{}.reshape({x}.shape[0], {x}.shape[2], {x}.shape[1], -1).swapaxes(1, 2)",
}
#: How a sequence gets its last token, from which the function takes the length.
CLOSED = (
    "x = xp.concatenate([x, xp.zeros_like(x[..., :1, :])], -2)",
    "positions = xp.concatenate([positions, xp.full_like(positions[..., :1], length - 1)], -1)",
)
#: The sides of an image of which all places are given.
SIDES = "height, width = (int(positions[{}].max()) + 1 for i in range(2))"
#: How heads are taken so many at a time, and tokens with zeros behind them.
GROUPED = (
    "count = x.shape[1]",
    "x = xp.concatenate([x, *[xp.zeros_like(x[:, :1])] * (-count % {0})], 1)",
    "groups = [x[:, i : i + {0}] for i in range(0, x.shape[1], {0})]",
    "return xp.concatenate([{1} for x in groups], 1)[:, :count]{2}",
)
FILLED = (
    "count = x.shape[2]",
    "x = xp.concatenate([x, *[xp.zeros_like(x[:, :, :1])] * ({0} - count)], 2)",
    "return {1}[:, :, :count]{2}",
)
#: The array of what comes back in another form.
RESULTS = {LISTED: "xp.asarray({})", WITH_NUMBER: "{}[0]"}
TABLES = {"pair": "{}", "tiled": "xp.concatenate([{0}, {0}], -1)", "repeated": "xp.stack([{0}, {0}], -1).reshape(*{0}.shape[:-1], -1)"}


@dataclass(frozen=True)
class Place:
    """Where a function is: the module to import, the name to import, and how it is called from there."""

    module: str
    name: str

    @property
    def imported(self) -> str:
        """The name that the import brings."""
        return self.name.split(".")[0]


def _literal(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _within_a_screen(line: str, indent: str = "") -> str:
    """Return a line of the adapter, over several lines where it is wider than a screen."""
    return wrapped(line, indent, further="    ", depth=0)


@dataclass(frozen=True)
class Declaration:
    """A found function, as the text of an adapter."""

    place: Place
    identity: Identity
    probe: Probe
    settings: Sequence[Setting]

    def decorator(self) -> str:
        """Return the line that declares the operation, what restricts it, and how it is called where that can be declared."""
        return _within_a_screen(f'@adapter.implements("{self.identity.operation}"{self._limits(self.form or {})})')

    @functools.cached_property
    def form(self) -> Mapping[str, str] | None:
        """How the function is called, or nothing where a function around it must put axes and tables in order."""
        passed = [name for name, kind in self.probe.plan.optional.items() if self._passed(self._spelled.get(kind, kind))]
        return called.declared(self.identity, self.probe, passed, [*restrictions(self.settings)], takes(self.identity))

    @property
    def _spelled(self) -> Mapping[str, str]:
        """The operation's parameters by their roles."""
        return {role(name): name for name in operations()[str(self.identity.operation)].parameters}

    def _limits(self, form: Mapping[str, str]) -> str:
        """Return what restricts parameters and calls."""
        limits = {name: self._restricted(name, value) for name, value in restrictions(self.settings).items()} | self._counts() | self._set()
        said = {name: _literal(value) for name, value in {**takes(self.identity).said(), **form}.items()}
        values = [f'parameters={{"{name}": {value}}}' if name in form else f"{name}={value}" for name, value in limits.items()]
        return "".join(f", {each}" for each in [*values, *(f"{name}={value}" for name, value in said.items())])

    def _counts(self) -> dict[str, str]:
        """Return how many numbers a parameter has, where a function takes no other number of them."""
        view, known = self.identity.view, operations()[str(self.identity.operation)].parameters
        names = [name for name in FILLING if name in known and isinstance(view, Grid) and view.only and self._passed(name)]
        return {name: f"lambda {name}: len({name}) == {view.count}" for name in names if isinstance(view, Grid)}

    def _set(self) -> dict[str, str]:
        """Return which parameters must be set, and not to 0, where leaving them out isn't followed."""
        return {setting.name: f"lambda {setting.name}: bool({setting.name})" for setting in self.settings if not setting.unset}

    def _restricted(self, name: str, value: object) -> str:
        """Return what restricts a parameter: for widths of axes, one list of them, or that they are equal."""
        view = self.identity.view
        if isinstance(value, tuple) and value and isinstance(view, Grid):
            return f"lambda {name}: len({name}) == {view.count} and len(set({name})) == 1" if view.equal else f"[{_literal(value)}]"
        return _literal(value)

    def text(self) -> str:
        """Return the whole adapter."""
        body = self._body() if self.form is None else []
        library = self.probe.signature.framework
        modules = f"\nimport {MODULES.get(library, library)} as xp\n" if any("xp." in line for line in body) else ""
        dtypes = f', dtypes=("{self.probe.dtype}",)' if self.probe.dtype != "float32" else ""
        head = [
            f'"""Connects {self.place.name} to posenc."""',
            modules,
            "from posenc import Adapter",
            f"from {self.place.module} import {self.place.imported}",
            "",
            f'adapter = Adapter("{self.place.imported}", framework="{library}"{dtypes})',
        ]
        if self.form is not None:
            given = f'"{self.identity.operation}", {self.place.name}{self._limits(self.form)}'
            return "\n".join([*head, "adapter.implements(", wrapped(f"{given},", "    ", further=""), ")"]) + "\n"
        head += ["", "", self.decorator(), _within_a_screen(f"def {self._name()}({self._arguments()}):")]
        return "\n".join([*head, *(_within_a_screen(line, "    ") for line in body)]) + "\n"

    def _name(self) -> str:
        name = str(self.identity.operation).split(".")[1]
        return name if name != self.place.imported else f"{name}_declared"

    def _arguments(self) -> str:
        contract = operations()[str(self.identity.operation)]
        used = [name for name in contract.parameters if self._passed(name) or self._added(name)]
        return ", ".join([*contract.arrays, *(["*", *used] if used else []), "**_"] if contract.parameters else contract.arrays)

    def _added(self, parameter: str) -> bool:
        """Whether a width is needed for zeros that are given, or the length for the last token of a sequence."""
        contract, view = operations()[str(self.identity.operation)], self.identity.view
        if isinstance(view, Encoding):
            return parameter in self.identity.follows
        if not isinstance(view, Turns):
            return False
        return parameter == "length" if view.length is not None else parameter == "dim" and "x" not in contract.arrays

    def _passed(self, parameter: str) -> bool:
        """Whether a parameter is handed on to the function."""
        plan, free = self.probe.plan, {setting.name for setting in self.settings if setting.allowed is None or len(setting.allowed) > 1}
        return role(parameter) in plan.needs or (role(parameter) in plan.optional.values() and parameter in free)

    def _body(self) -> list[str]:
        view = self.identity.view
        if isinstance(view, Turns):
            return _Turning(self, view).lines()
        if isinstance(view, Encoding):
            return self._encoding(view)
        if isinstance(view, Grid):
            return self._image(view) if view.whole else self._on_axes(view)
        if isinstance(view, Scale):
            return [f"return {self.call({})}.reshape(positions.shape)"]
        if isinstance(view, str):
            return [f"return {RESULTS[view].format(self.call({}))}"]
        return self._bias(view) if isinstance(view, Bias) else [f"return {self.call({})}"]

    def _on_axes(self, view: Grid) -> list[str]:
        places = "xp.broadcast_to(positions, (x.shape[0], *positions.shape[-2:]))" if view.rows else "positions"
        places = f"xp.moveaxis({places}, -1, 0)" if view.first else places
        given = {"positions": places} | dict.fromkeys(("x", "q", "k"), BEFORE.get(view.order, "{}").format("x"))
        called_ = f"{self.call(given)}{'[0]' * self.probe.takes('q')}"
        return [f"return {AFTER.get(view.order, '{}').format(called_, x='x')}"]

    def _image(self, view: Grid) -> list[str]:
        """Return the lines for a function of a whole image, whose tokens lie on two axes, or on one of as many as a square has."""
        axis = view.order.split().index("token")
        before, after = (":, " * (axis + i) for i in range(2))
        ends = f"*y.shape[:{axis}]", f"*y.shape[{axis + 1}:]"
        split = f"y = y.reshape({ends[0]}, height, width, {ends[1]})"
        laid = BEFORE.get(view.order, "{}").format("x"), AFTER.get(view.order, "{}")
        start, back = ("x", "{}") if view.embedded else laid
        lines = [SIDES.format("..., i"), f"y = {start}", "shape = y.shape", split]
        if view.whole == "square":
            lines += [
                "side = max(height, width)",
                f"y = xp.concatenate([y, *[xp.zeros_like(y[{before}:1])] * (side - height)], {axis})",
                f"y = xp.concatenate([y, *[xp.zeros_like(y[{after}:1])] * (side - width)], {axis + 1})",
                f"flat = y.reshape({ends[0]}, side * side, *y.shape[{axis + 2}:])",
                f"y = {self.call({'x': 'flat'})}.reshape(y.shape)[{before}:height, :width]",
            ]
        else:
            lines += [f"y = {self.call({'x': 'y'})}"]
        return [*lines, f"return {back.format('y.reshape(shape)', x='x')}"]

    def call(self, given: Mapping[str, str]) -> str:
        """Return the call with expressions for the roles; a role that has none is called as the operation calls it."""
        contract = operations()[str(self.identity.operation)]
        plan, spelled = self.probe.plan, self._spelled
        optional = {name: kind for name, kind in plan.optional.items() if self._passed(spelled.get(kind, kind))}

        def said(kind: str) -> str:
            return given.get(kind) or (spelled.get(kind) if kind in spelled else None) or self._constant(kind, contract.arrays)

        words = [said(kind) for kind in plan.arguments]
        words += [f"{name}={said(kind)}" for name, kind in {**plan.keywords, **optional}.items()]
        return f"{self.place.name}({', '.join(words)})"

    def _constant(self, kind: str, arrays: Mapping[str, str]) -> str:
        return kind if kind in arrays else repr(self.probe.settings.get(kind))

    def _encoding(self, view: Encoding) -> list[str]:
        if view.sides:
            square = ["height = width = max(height, width)"] if self.probe.takes("side") else []
            value = self.call({"height": "height", "across": "width", "side": "width"})
            picked = f"return {value}.reshape(height * width, -1)[positions[:, 0] * width + positions[:, 1]]"
            return [SIDES.format(":, i"), *square, picked]
        moved = self.identity.parameters.get("offset")
        own = "offset" in operations()[str(self.identity.operation)].parameters
        places = "positions" if moved is None or own else f"positions - {moved.value:g}"
        places = f"{'(' + places + ')' if ' ' in places else places}[None]" if view.batched else places
        width = "head_dim" if "head_dim" in self.identity.follows else 1
        value = self.call({"positions": places, "tokens": "len(positions)", "like": f"xp.zeros((1, {width}))"})
        if "tables" not in self.identity.parameters:
            return [f"return {value}.reshape(len(positions), -1)"]
        swapped = str(self.identity.parameters["order"].value).startswith("sine")
        how = str(self.identity.parameters["tables"].value)
        part = "[:, : table.shape[-1] // 2]" if how.startswith("tiled") else "[:, ::2]" if how.startswith("repeated") else ""
        lines = [f"{'sin, cos' if swapped else 'cos, sin'} = {value}"]
        if view.complex:
            lines = [f"waves = {value}", "cos, sin = waves.real, waves.imag"]
        elif view.stacked:
            lines = [f"both = {value}", f"{lines[0].partition(' = ')[0]} = both[..., 0], both[..., 1]"]
        return [*lines, f"return tuple(table.reshape(len(positions), -1){part} for table in (cos, sin))"]

    def _bias(self, view: Bias) -> list[str]:
        tokens = "max(len(query_positions), len(key_positions))"
        ends = {"query_tokens": "len(query_positions)", "key_tokens": "len(key_positions)", "tokens": tokens}
        return [f"value = {self.call(ends)}", *_ordered(view), "return value"]


def _ordered(view: Bias) -> list[str]:
    """Return the lines that put axes in order, as they came in one call."""
    shape, queries, keys = view.shape()
    lines = ["value = value[0]"] * max(0, len(shape) - 3)
    shape = shape[max(0, len(shape) - 3) :]
    if len(shape) == 2:
        lines.append("value = value[None]" if shape == (queries, keys) else "value = value[:, None]")
        shape = (1, *shape) if shape == (queries, keys) else (shape[0], 1, shape[1])
    last = shape[:2] == (queries, keys) and shape[1:] != (queries, keys)
    lines += ["value = xp.moveaxis(value, -1, 0)"] if last else []
    lines += ["value = value[:, : len(query_positions), : len(key_positions)]"] if view.square else []
    alike = not last and shape[1] == 1
    return [*lines, "value = xp.broadcast_to(value, (value.shape[0], len(query_positions), len(key_positions)))"] if alike else lines


@dataclass(frozen=True)
class _Turning:
    """The body of a function that turns vectors."""

    declaration: Declaration
    view: Turns

    def lines(self) -> list[str]:
        """Return the lines between the signature and the end."""
        results = operations()[str(self.declaration.identity.operation)].results
        if results.keys() == {"query", "key"}:
            queries, keys = self.view.result, 1 - self.view.result
            parts = self._one("q", "query_positions", queries), self._one("k", "key_positions", keys)
            return [f"return {', '.join(parts)}"]
        if results["result"].startswith("token "):
            added = self._one("x", "positions", 0)
            return ["x = xp.zeros((1, 1, len(positions), dim))", f"return {added}.reshape(len(positions), -1)"]
        start, end = self._padding()
        lines = [f"x = {start}"] if start else []
        if self.view.length is not None:
            lines += [*CLOSED]
            end = f"[..., :-1, :]{end}"
        if self.view.order == "token dim":
            one = self._call("row", "positions")
            return [*lines, f"rows = [{one} for row in x.reshape(-1, *x.shape[2:])]", f"return xp.stack(rows).reshape(x.shape){end}"]
        count, how = (self.view.heads, GROUPED) if self.view.heads is not None else (self.view.tokens, FILLED)
        if count is not None:
            return [*lines, *(line.format(count, self._one("x", "positions", 0), end) for line in how)]
        return [*lines, f"return {self._one('x', 'positions', 0)}{end}"]

    def _one(self, x: str, positions: str, index: int) -> str:
        if not called.with_heads(operations()[str(self.declaration.identity.operation)]):
            turned = "{}.swapaxes(0, 1)" if self.view.order == "token row dim" else "{}"
            return turned.format(self._call(turned.format(x), positions, x))
        vector = BEFORE.get(self.view.order, "{}").format(x)
        pick = f"[{index}]" if "q" in self.declaration.probe.plan.probed else ""
        return AFTER.get(self.view.order, "{}").format(self._call(vector, positions, x) + pick, x=x)

    def _call(self, vector: str, positions: str, shaped: str = "x") -> str:
        places = self._places(positions, shaped)
        given = dict.fromkeys(("positions", "query_positions", "key_positions"), places) | dict.fromkeys(("x", "q", "k"), vector)
        given |= {name: self._rows(TABLES[self.view.tables].format(name), shaped) for name in ("cos", "sin")}
        given["waves"] = self._rows("cos + 1j * sin", shaped)
        if "cotangent" in self.declaration.probe.plan.probed:
            given |= {"x": "x", "cotangent": vector.replace("x", "cotangent", 1) if vector != "x" else "cotangent"}
        return self.declaration.call({**given, "offset": f"int({positions}[0])", "tokens": f"len({positions})"})

    def _rows(self, table: str, x: str) -> str:
        """Return a table, once for each row of the batch, or with axes of length 1, where it is wanted so."""
        if "one" in self.view.form:
            axes = ", ".join(":" if axis == "token" else "None" for axis in self.view.form.split())
            return f"{f'({table})' if ' + ' in table else table}[{axes}]"
        return f"xp.stack([{table}] * {x}.shape[0])" if self.view.form == "row token" else table

    def _places(self, positions: str, x: str) -> str:
        moved = self.declaration.identity.parameters.get("offset")
        positions = positions if moved is None else f"({positions} - {moved.value:g})"
        match self.view.form:
            case "row token":
                return f"xp.broadcast_to({positions}, ({x}.shape[0], {x}.shape[-2]))"
            case "one token":
                return f"{positions}[None]"
            case "batch head token":
                return f"xp.broadcast_to({positions}, {x}.shape[:3])"
        return positions

    def _padding(self) -> tuple[str, str]:
        """Return how the channels that don't turn are put beside those that do, and taken away again."""
        parameters = self.declaration.identity.parameters
        told = "rotary_dim" in operations()[str(self.declaration.identity.operation)].parameters
        if "rotary_dim" not in parameters or told or self.declaration.probe.takes("width"):
            return "", ""
        turned, rest = int(parameters["rotary_dim"].value), self.view.width - int(parameters["rotary_dim"].value)
        before = int(parameters[FIRST_CHANNEL].value) if FIRST_CHANNEL in parameters else rest * (parameters["placement"].value == "last")
        after = rest - before
        pad = f"({before}, {after})"
        library = self.declaration.probe.signature.framework
        padded = f"xp.nn.functional.pad(x, {pad})" if library == "torch" else f"xp.pad(x, [(0, 0), (0, 0), (0, 0), {pad}])"
        return padded, f"[..., {before or ''}:{before + turned if after else ''}]"
