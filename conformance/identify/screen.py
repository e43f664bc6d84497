"""What is printed of a function: what it is, each finding with how sure it is, what couldn't be seen, and the declaration to paste."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.identify.additive import Encoding
from conformance.identify.declaration import Declaration, Place
from conformance.identify.findings import Confidence, Identity, Seen
from conformance.identify.following import Setting, restrictions
from conformance.identify.grids import Grid
from conformance.identify.pasted import Checked
from conformance.identify.plans import WRITTEN
from conformance.identify.probe import Probe
from conformance.identify.recognise import Found
from conformance.identify.turns import Turns
from conformance.show.terminal import Line
from conformance.spec.declarations import operations

#: How many calls that were refused are shown.
FEW = 4
INDENT = "    "
#: What is said of a function that gave nothing.
UNANSWERED = "gives no result: no call that was tried was answered"
HALF = "unknown: too few of the calls that were tried were answered"
REFUSED = "can't be called"
#: How the tokens of an image lie.
TOKENS = {"told": "token", "axes": "height width", "square": "height*height"}


@dataclass(frozen=True)
class Told:
    """One function, what it is, what its calls left changed, and how to declare it; ``place`` is none where the adapter has it already.

    ``faults`` are what its calls must not come to, whatever it is: no answer, or another each time. ``undone`` says what wasn't
    asked any more, ``spent`` why: then there is no declaration, as for code whose answers are ``changing`` with more than the call.
    """

    name: str
    found: Found
    settings: Sequence[Setting]
    place: Place | None
    left: Sequence[str] = ()
    faults: Sequence[str] = ()
    checked: Checked | None = None
    undone: str = ""
    spent: str = ""
    text: str | None = None
    changing: bool = False

    @property
    def identity(self) -> Identity | None:
        """What the function is, if it could be called."""
        return self.found.identity

    @property
    def known(self) -> bool:
        """Whether a scheme was recognised."""
        return self.identity is not None and self.identity.operation is not None

    @property
    def contradicted(self) -> str | None:
        """How what an adapter declares goes against what was found, in words; nothing where it doesn't, or none declares it."""
        if self.found.signature.declared is None or self.identity is None or self.changing:
            return None
        operation, known = self.found.signature.declared
        found = restrictions(self.settings)
        differ = [name for name in known if name in found and _values(known[name]) != _values(found[name])]
        if operation != self.identity.operation:
            return f"declared as {operation}: that isn't what its values show"
        return f"declared with another value of {', '.join(differ)}" if differ else None

    def declaration(self) -> str | None:
        """Return the text to paste, asking the function about it unless it is known."""
        if self.text is not None:
            return self.text
        if self.identity is None or not self.known or self.found.probe is None or self.undone or self.changing:
            return None
        place = self.place or Place("", "function")
        whole = Declaration(place, self.identity, self.found.probe, self.settings)
        return whole.text() if self.place else f"{whole.decorator()}\n"

    def document(self) -> dict[str, object]:
        """Return everything as data."""
        identity = self.identity
        beside = {"declared": self.found.signature.declared, "left": list(self.left), "faults": list(self.faults), "spent": self.spent}
        if identity is None:
            tried = [list(pair) for pair in self.found.tried]
            return {"name": self.name, "operation": None, "tried": tried, "untried": list(self.found.untried), **beside}
        return {
            "name": self.name,
            "operation": identity.operation,
            "values_of": identity.values_of,
            "contradicted": self.contradicted,
            "what": identity.what,
            "call": self.found.probe.plan.words() if self.found.probe else None,
            "parameters": {name: _seen(seen) for name, seen in identity.parameters.items()},
            "follows": list(identity.follows),
            "restrictions": {s.name: list(s.allowed) for s in self.settings if s.allowed is not None},
            "seen": list(identity.seen),
            **beside,
            "tried": [list(pair) for pair in self.found.tried],
            "untried": list(self.found.untried),
            "undone": self.undone,
            "unseen": [*identity.unseen, *_unseen(identity, self)],
            "declaration": self.declaration(),
            "conforms": None if self.checked is None else self.checked.conforms,
            "checked": None if self.checked is None else self.checked.words,
        }


def lines(told: Told) -> Iterator[Line]:
    """Yield what is printed."""
    yield "head", told.name
    yield from (("bad", f"  {fault}") for fault in told.faults)
    yield from (("warn", f"  {trace}") for trace in told.left)
    identity, probe = told.identity, told.found.probe
    if identity is None or probe is None:
        nothing = f"unknown, {told.spent}" if told.found.untried else _nothing(told.found)
        yield "bad", f"  {identity.what if identity is not None else nothing}"
        yield from (("quiet", f"{INDENT}not seen: {line}") for line in (identity.unseen if identity else ()))
        declared = told.found.signature.declared
        yield from (("quiet", f"{INDENT}declared as {operation}") for operation in (declared or ())[:1])
        yield from (("", f"{INDENT}tried {call}: {reason}") for call, reason in told.found.tried[:FEW])
        yield from _untried(told)
        return
    yield _head(identity, changing=told.changing)
    yield "quiet", f"{INDENT}called as {probe.plan.words()} in {probe.dtype}{_axes(identity)}{_set(identity, probe)}"
    yield from _declared(told)
    yield from (("", line) for line in _parameters(identity, told.settings))
    yield from (("", f"{INDENT}{line}") for line in identity.seen)
    yield from (("quiet", f"{INDENT}not seen: {line}") for line in [*identity.unseen, *_unseen(identity, told)])
    yield from _untried(told)
    if told.checked is not None:
        yield "good" if told.checked.conforms else "bad", f"{INDENT}{told.checked.words}"
    yield from _pasted(told.declaration(), whole=told.place is not None)


def _nothing(found: Found) -> str:
    """Return what is said of a function of which no call showed anything."""
    return REFUSED if not found.ended else HALF if found.answered else UNANSWERED


def _untried(told: Told) -> Iterator[Line]:
    """Yield what wasn't asked any more."""
    calls = told.found.untried
    more = f" and {len(calls) - FEW} more" if len(calls) > FEW else ""
    undone = filter(None, (f"calls as {', '.join(calls[:FEW])}{more}" if calls else "", told.undone))
    yield from (("warn", f"{INDENT}not tried, {told.spent}: {words}") for words in undone)


def _head(identity: Identity, *, changing: bool) -> Line:
    """Return what the function is, or what it was in the calls that were made."""
    calls = f" {Confidence.SEEN.value}" * changing
    if identity.operation is not None:
        return "warn" if changing else "good", f"  {identity.operation}{calls}: {identity.what}"
    if identity.values_of is not None:
        return "warn", f"  the values of {identity.values_of} (no adapter){calls}: {identity.what}"
    return "bad", f"  no known scheme{calls}: {identity.what}"


def _declared(told: Told) -> Iterator[Line]:
    """Yield how what an adapter declares goes with what was found."""
    if told.contradicted is not None:
        yield "bad", f"{INDENT}{told.contradicted}"
    elif told.found.signature.declared is not None and not told.changing:
        yield "good", f"{INDENT}declared as that"


def _values(value: object) -> set[str]:
    return set(map(repr, value)) if isinstance(value, list | tuple) else {repr(value)}


def _axes(identity: Identity) -> str:
    view = identity.view
    if isinstance(view, Grid):
        if view.whole:
            return f", x ({view.order.replace('token', TOKENS[view.whole]).replace(' ', ', ')})"
        axes = ["axis"] * view.first + ["batch"] * view.rows + ["token"] + ["axis"] * (not view.first)
        vectors = f", x ({view.order.replace(' ', ', ')})" if view.order else ""
        return f"{vectors}, positions ({', '.join(axes)})"
    if not isinstance(view, Turns):
        return ""
    form = f", positions ({view.form.replace(' ', ', ')})" if {"positions", "query_positions"} & set(view.probe.plan.probed) else ""
    tables = f", tables {view.tables}" if view.tables != "pair" else ""
    return f", x ({view.order.replace(' ', ', ')}){form}{tables}"


def _set(identity: Identity, probe: Probe) -> str:
    """Say what settings calls had whose results are those of no operation."""
    given = {WRITTEN.get(role, role): probe.settings[role] for role in probe.plan.needs if role in probe.settings}
    said = ", ".join(f"{name} {value}" for name, value in given.items())
    return f", with {said}" if said and identity.operation is None else ""


def _parameters(identity: Identity, settings: Sequence[Setting]) -> Iterator[str]:
    fates = {setting.name: setting for setting in settings}
    for name, seen in identity.parameters.items():
        fate = fates.get(name)
        shown = seen if fate is None or fate.seen is None else fate.seen
        yield f"{INDENT}{name:<16} {_value(shown):<22} {shown.confidence.value}{_fate(fate, _source(name, identity))}"
    for name in (name for name in identity.follows if name not in identity.parameters):
        yield f"{INDENT}{name:<16} {'any':<22} {Confidence.CERTAIN.value}; follows {_source(name, identity)}"


def _source(name: str, identity: Identity) -> str:
    """Say where a function takes a parameter from that calls were set to."""
    if isinstance(identity.view, Turns) and identity.view.length is not None and name == "length":
        return "the largest position plus 1"
    return "the width of x" if isinstance(identity.view, Encoding) and name in identity.follows else "its argument"


def _value(seen: Seen) -> str:
    value = f"{seen.value:.10g}" if isinstance(seen.value, float) else str(seen.value)
    if seen.confidence is Confidence.CERTAIN or seen.low is None or seen.low == seen.high:
        return value
    return f"{value} ({seen.low:.6g}-{seen.high:.6g})"


def _fate(setting: Setting | None, source: str) -> str:
    if setting is None:
        return ""
    if setting.note:
        return f"; {setting.note}"
    if setting.allowed is None:
        return f"; follows {source}{'' if setting.unset else ', unless that is None or 0'}"
    return "" if len(setting.allowed) == 1 else f"; follows {source} among {', '.join(map(str, setting.allowed))}"


def _unseen(identity: Identity, told: Told) -> list[str]:
    """Return in words of which parameters no value showed anything, and which arguments no call gave."""
    operation = operations()[identity.operation] if identity.operation else None
    known = ("head_dim", "dim", *identity.follows, *" ".join(operation.arrays.values() if operation else ()).split())
    names = [setting.name for setting in told.settings if setting.seen is None and setting.name not in known]
    unseen = [f"{', '.join(names)} (no value told one from another)"] if names else []
    if operation is None or told.found.probe is None:
        return unseen
    plan, positional = told.found.probe.plan, told.found.signature.positional
    asked = {"width", *operation.parameters, *told.found.probe.settings}
    tried = {name for name, role in plan.optional.items() if role in asked}
    given = {*(each.name for each in positional[: len(plan.arguments)]), *plan.keywords, *tried}
    left = [each.name for each in (*positional, *told.found.signature.keywords) if each.name not in given]
    one = len(left) == 1
    words = f"what {', '.join(left)} {'does' if one else 'do'} (left at {'its default' if one else 'their defaults'})"
    return [*unseen, words] if left else unseen


def _seen(seen: Seen) -> dict[str, object]:
    return {"value": seen.value, "low": seen.low, "high": seen.high, "confidence": seen.confidence.value, "why": seen.why}


def _pasted(text: str | None, *, whole: bool) -> Iterator[Line]:
    if text is None:
        return
    yield "quiet", "  the adapter, a file to put beside the code, for `posenc check FILE`:" if whole else "  the declaration:"
    yield from (("code", f"{INDENT}{line}" if line else "") for line in text.rstrip("\n").split("\n"))
