"""Say how a found function is called in the words in which adapters declare it, where they have such words."""

from collections.abc import Collection

import numpy as np

from conformance.adapt.signatures import untold
from conformance.calls.form import Form, known, nonsense
from conformance.calls.takes import Takes
from conformance.identify.additive import Encoding
from conformance.identify.asking import Signature
from conformance.identify.biases import Bias
from conformance.identify.findings import LISTED, WITH_NUMBER, Identity
from conformance.identify.following import role
from conformance.identify.grids import Grid
from conformance.identify.plans import Plan
from conformance.identify.probe import Probe
from conformance.identify.scales import Scale
from conformance.identify.turns import MERGED, Turns
from conformance.spec.declarations import operations
from refimpl.spec import Operation

#: Orders of axes that can be declared; vectors without batch and heads can't.
AXES = {
    "batch head token dim": "",
    "batch token head dim": "batch token head head_dim",
    "token batch head dim": "token batch head head_dim",
    "row token dim": "(batch head) token head_dim",
    "token row dim": "token (batch head) head_dim",
    MERGED: "batch token (head head_dim)",
}
#: The axes whose length is a setting of other operations.
SIZES = {"width": "head_dim", "num_heads": "head", "across": "width"}

Words = dict[str, str]


def declared(identity: Identity, probe: Probe, passed: Collection[str], fixed: Collection[str], takes: Takes) -> Words | None:
    """Return ``call``, ``axes``, ``tables`` and ``rows`` of a declaration, or ``None`` where they can't say how the function is called.

    ``passed`` are the names of optional arguments that the function follows, ``fixed`` the parameters of which one value is declared.
    """
    operation = operations()[str(identity.operation)]
    laid, call = _laid(identity, operation), _call(operation, probe, passed)
    if laid is None or call is None or untold(operation, call, fixed):
        return None
    words = laid if _usual(operation, probe.signature, probe.plan, passed) else {"call": call, **laid}
    form = Form(call, words.get("axes"), words.get("tables", "pair"))
    return None if any(nonsense(form, operation, takes)) else words


def _call(operation: Operation, probe: Probe, passed: Collection[str]) -> str | None:
    plan, spelled = probe.plan, {role(name): name for name in operation.parameters}

    def said(kind: str) -> str | None:
        own = None if kind == "width" else kind  # which is a side of an image there
        name = next((name for name in (spelled.get(kind), own, SIZES.get(kind)) if name in known(operation)), None)
        value = probe.settings.get(kind)
        return name or (None if value is None else repr(value))

    keywords = {**plan.keywords, **{name: kind for name, kind in plan.optional.items() if name in passed}}
    first, rest = [said(kind) for kind in plan.arguments], {name: said(kind) for name, kind in keywords.items()}
    if None in (*first, *rest.values()):
        return None
    return f"f({', '.join([*map(str, first), *(f'{name}={kind}' for name, kind in rest.items())])})"


def _usual(operation: Operation, signature: Signature, plan: Plan, passed: Collection[str]) -> bool:
    """Whether the function is called as one is of which nothing is declared: it takes any keyword, and is found to be given all."""
    keywords = {**plan.keywords, **{name: kind for name, kind in plan.optional.items() if name in passed}}
    given = signature.any_keyword and keywords.keys() == operation.parameters.keys()
    return given and plan.arguments == tuple(operation.arrays) and all(role(name) == kind for name, kind in keywords.items())


def _laid(identity: Identity, operation: Operation) -> Words | None:
    """Return how arrays come and go, or ``None`` where something must be done to them that no declaration says."""
    view = identity.view
    if view in (LISTED, WITH_NUMBER) or ("offset" in identity.parameters and "offset" not in operation.parameters):
        return None
    if isinstance(view, Turns):
        return _turning(view, identity, operation)
    if isinstance(view, Grid):
        return _on_axes(view)
    if isinstance(view, Encoding):
        return _encoding(view, identity)
    if isinstance(view, Scale):
        return {} if view.shaped else None
    return _bias(view) if isinstance(view, Bias) else {}


def _on_axes(view: Grid) -> Words | None:
    """Return the order of axes, or ``None`` where tokens lie on two, or both vectors and positions have an order of their own."""
    axes = "" if view.embedded else AXES[view.order]
    if view.whole in ("axes", "square") or (view.first and axes):
        return None
    return _words(axes="axis batch token" if view.first else axes, rows="each" if view.rows else "")


def _turning(view: Turns, identity: Identity, operation: Operation) -> Words | None:
    padded = "rotary_dim" in identity.parameters and "rotary_dim" not in operation.parameters
    added = any(axes.startswith("token ") for axes in operation.results.values())
    known = AXES if with_heads(operation) else {"row token dim": "", "token row dim": f"token batch {operation.arrays['x'].split()[-1]}"}
    counting = {view.length, view.heads, view.tokens} != {None}
    if padded or added or counting or view.order not in known or view.form not in ("token", "row token"):
        return None
    tables = view.tables if view.tables != "pair" else ""
    return _words(axes=known[view.order], tables=tables, rows="each" if view.form == "row token" else "")


def with_heads(operation: Operation) -> bool:
    """Whether the vectors of an operation have heads; embeddings have them side by side."""
    return operation.arrays.get("x", "batch head").startswith("batch head")


def _encoding(view: Encoding, identity: Identity) -> Words | None:
    """Return how tables are laid out, or ``None`` for other axes, sines before cosines, and the width of a given array."""
    shown = {name: str(identity.parameters[name].value) for name in ("tables", "order") if name in identity.parameters}
    axes = view.called(np.arange(3))[0].ndim - view.batched
    apart = shown.get("order", "").startswith("sine") or view.stacked or "head_dim" in identity.follows or view.probe.takes("side")
    if apart or axes != 2 or (view.batched and "tables" not in shown):
        return None
    tables = shown.get("tables", "").partition(":")[0]
    return _words(tables=tables if tables in ("tiled", "repeated") else "", rows="each" if view.batched else "")


def _bias(view: Bias) -> Words | None:
    """Return where heads stand, or ``None`` for a bias that must be cut or made larger; one before them is a sequence of the batch."""
    shape, queries, keys = view.shape()
    each = len(shape) == 4 and shape[0] == 1 and view.counted
    shape = shape[1:] if each else shape
    last = shape[:2] == (queries, keys) and shape[1:] != (queries, keys)
    if view.square or len(shape) != 3 or (not last and shape[1:] != (queries, keys)):
        return None
    return _words(axes="query key head" if last else "", rows="each" if each else "")


def _words(**words: str) -> Words:
    return {name: text for name, text in words.items() if text}
