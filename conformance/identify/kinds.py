"""From the arrays that a function takes to what looks at it."""

import contextlib
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from conformance.identify import additive, attention, axis_tables, biases, given, grids, lookups, numbers, rotary, scales, turns
from conformance.identify.asking import Refused
from conformance.identify.findings import ANOTHER, Confidence, Identity, Seen
from conformance.identify.plans import SPELLED
from conformance.identify.probe import FAR, FIRST, Probe
from conformance.identify.rules import sibling
from conformance.spec.declarations import operations
from conformance.spec.words import roles

#: A number of heads that is no power of two.
UNEVEN_HEADS = 12
#: A width in which one channel has no partner.
ODD = 33
#: Said where odd widths are taken and belong to no convention, as where exponents are those of the pairs that fit.
OTHER_ODD = "odd widths: they are taken, and give other rows than any convention has: no adapter asks for them"
#: Sizes of arrays, which show nothing of code where calls say them.
SIZES = ("width", "num_heads", "axes", "sections")
#: Said of code that takes where positions begin, or all of them.
IGNORED = "{0} changes nothing: rows are those of positions from 0 on, whatever {0} says"
#: Said of code that reshapes to so many, or has tables of them.
ONLY = "it takes {} {}, and no other number: the adapter puts zeros beside others"
#: Said of code that takes cosines and sines, and reads others than those of a token for it.
UNAPPLIED = "pairs turn, but not by the cosines and sines of their tokens, where these are given as (token, pair) or (token, dim)"
OTHER_TABLES = "what it does with tables of other axes: write a function of x, cos and sin that gives it such"
OF_ANGLES = (
    "an adapter: it is judged with tables that an attention factor has enlarged too, and no angle has such; "
    "write a function of x, positions and base that makes the angles "
    "and hands them on, and identify that"
)
#: How near a sum must come to what it is taken for.
SAME = 1e-5
#: What x is multiplied by where nothing of it is in the result.
ALONE = "alone"
UNREAD = "rows that are the same whatever x is"
BY_SHAPE = "any use of x but its shape; to have an adapter, write a function of positions that calls it with zeros, and identify that"
#: Orders of axes without heads.
EMBEDDED = ("row token dim", "token row dim")
OPPOSITE = {"positive": "negative", "negative": "positive"}


def look(probe: Probe) -> Identity:
    """Return what a function shows under one way to call it, or raise ``Refused``."""
    identity = KINDS[str(probe.plan.kind)](probe)
    shown = {name: _as_given(name, seen, identity, probe) for name, seen in identity.parameters.items()}
    ignored = identity.view.ignored if isinstance(identity.view, turns.Turns) else None
    said = () if ignored is None else (IGNORED.format(probe.named(ignored)),)
    return replace(identity, parameters=shown, seen=(*said, *identity.seen))


def _as_given(name: str, seen: Seen, identity: Identity, probe: Probe) -> Seen:
    """Return a size that is the one of the call as no finding."""
    role = SPELLED.get(name, name)
    given = role in SIZES and not seen.why and probe.takes(role) and seen.value == probe.settings.get(role)
    return replace(seen, confidence=Confidence.GIVEN) if given or (role == "width" and name in identity.follows) else seen


def _rotary(probe: Probe) -> Identity:
    if probe.takes("axes") or probe.takes("sections"):
        return grids.rotate(probe)
    try:
        found = turns.opened(probe)
    except Refused as refusal:
        several = None if refusal.hopeless else _several(probe)
        if several is not None:
            return several
        only = None if refusal.hopeless else turns.of_one_count(probe)
        if only is None:
            raise
        found = only
    identity = rotary.identify(found)
    identity = _added(found) if identity.what == rotary.ADDED else _closed(identity, found) or _sized(identity, found)
    known = identity.operation or identity.values_of or rotary.CHANGING in identity.unseen
    if known:
        return _counting(identity, found)
    several = _merged(found) or _several(probe)
    return several if several is not None and several.operation else identity


def _merged(found: turns.Turns) -> Identity | None:
    """Return what a function is whose vectors have their heads side by side, if it is known then."""
    for other in turns.merged(found):
        with contextlib.suppress(Refused):
            identity = rotary.identify(other)
            if identity.operation is not None:
                return _counting(_sized(identity, other), other)
    return None


def _counting(identity: Identity, found: turns.Turns) -> Identity:
    """Say which number of heads or tokens is the only one that is taken."""
    only = {"heads": found.heads, "tokens": found.tokens}
    said = tuple(ONLY.format(count, name) for name, count in only.items() if count is not None)
    return replace(identity, seen=(*said, *identity.seen))


def _closed(identity: Identity, found: turns.Turns) -> Identity | None:
    """Return what a function is that takes the length from the positions and can't be told it: its sequence is given a last token."""
    named = any("length" in roles(argument.name) for argument in (*found.probe.signature.positional, *found.probe.signature.keywords))
    later = named and not found.probe.takes("length")  # it is called with a length then
    if rotary.CHANGING not in identity.unseen or later or found.positions != "any" or not found.probe.takes("positions"):
        return None
    closed = replace(found, length=FAR["length"])
    try:
        again = rotary.identify(closed)
    except Refused:
        return None
    return _sized(again, closed) if (again.operation or again.values_of) and "length" in again.follows else None


def _several(probe: Probe) -> Identity | None:
    """Return what a function is that takes positions on several axes, or the tokens of an image."""
    return grids.found(probe) if set(probe.plan.probed) in ({"x", "positions"}, {"x"}, {"q", "k", "positions"}) else None


def _image(probe: Probe) -> Identity:
    """Return what a function is that takes the sides of an image, with its tokens or without."""
    identity = grids.found(probe) if {"x", "q"} & set(probe.plan.probed) else additive.sided(probe)
    if identity is None:
        message = "no encoding of rows and columns by their numbers gives the result; those divided by the sides of the image aren't tried"
        raise Refused(message)
    return identity


def _sized(identity: Identity, found: turns.Turns) -> Identity:
    """Say how wide a head is, unless the function is told or is the same at another width: a wider one where some channels don't turn."""
    shown = replace(identity, view=found)
    partial = identity.parameters.get("rotary_dim")
    if found.probe.takes("width"):
        return shown
    apart = partial is None or identity.operation is None or _has(identity, "rotary_dim")
    elsewhere = replace(found, width=found.width // 2 if partial is None else 2 * found.width)
    if apart and _same(identity, elsewhere):
        return shown
    other = _as_elsewhere(identity, found, elsewhere) if apart and identity.operation is not None else None
    if other is not None:
        return replace(other, view=found)
    wider = replace(found, width=2 * found.width)
    part = _part(wider) if partial is None and identity.operation is not None else None
    if part is not None and part.parameters["rotary_dim"].holds(found.width):
        return _sized(part, wider)
    own = Seen(found.width, why=ANOTHER if _taken(replace(found, width=found.width // 2)) else "")
    return replace(shown, parameters={**identity.parameters, "head_dim": own if apart or partial is None else partial})


def _as_elsewhere(identity: Identity, found: turns.Turns, elsewhere: turns.Turns) -> Identity | None:
    """Return what another operation of the same parameters makes of a function at both widths, where the one found fits at one only."""
    for other in rotary.whole():
        alike = other.name != identity.operation and other.parameters.keys() == operations()[str(identity.operation)].parameters.keys()
        again = rotary.identify(found, other.name) if alike else identity
        if again is not identity and again.operation is not None and _same(again, elsewhere, other.name):
            return again
    return None


def _part(found: turns.Turns) -> Identity | None:
    """Return what a function is that turns only some channels of so wide a head, if it is one."""
    try:
        identity = rotary.identify(found)
    except Refused:
        return None
    return identity if "rotary_dim" in identity.parameters else None


def _same(identity: Identity, elsewhere: turns.Turns, only: str | None = None) -> bool:
    try:
        other = rotary.identify(elsewhere, only)
    except Refused:
        return False
    seen, again = identity.parameters, other.parameters
    shown = {"base", "factor", "rotary_dim"} & {*seen, *again}
    alike = all(name in seen and name in again and seen[name].holds(again[name].value) for name in shown)
    return alike and other.operation == identity.operation


def _added(found: turns.Turns) -> Identity:
    """Return what is added to x, if it is the same whatever x is."""
    narrower = replace(found, width=found.width // 2)
    told = turns.told(found.probe) is not None
    free = told or _taken(narrower)
    scalings = {_scaling(found), *((_scaling(narrower),) if free and not told else ())}
    scaling = scalings.pop() if len(scalings) == 1 else None
    if scaling is None:
        return Identity(None, "neither linear in x nor something added to x")

    def encoding(width: int) -> additive.Encoding:
        return additive.Encoding(found.probe, found.positions != "any", functools.partial(_rows, replace(found, width=width)))

    def encoded(width: int) -> Identity:
        return additive.identify(replace(encoding(width), narrower=functools.partial(encoding, width // 2) if free else None))

    first = encoded(found.width)
    identity = encoded(found.width // 2) if free and first.operation is None else first
    identity = first if identity.operation is None else identity  # digits are fewer than usual channels
    whole, sums = _three_axes(found), sibling(str(identity.operation), "x", "positions")
    axis = operations()[sums].arrays["x"].split()[-1] if sums else "dim"
    width = _odd(identity, found.probe, encoded) if free else {axis: Seen(found.width)}
    identity = replace(identity, unseen=(*identity.unseen, *_untold(width)))
    shown = {**{name: seen for name, seen in identity.parameters.items() if name != axis or seen.why}, **width}
    if scaling == ALONE:
        rows = replace(identity, what=f"{UNREAD}: {identity.what}", view=found, parameters=shown, unseen=(*identity.unseen, BY_SHAPE))
        return replace(rows, operation=None, values_of=identity.operation or identity.values_of)
    added = f"added to x{_times(scaling)}: {identity.what}"
    if whole is None or sums is None:
        return replace(identity, what=added, view=found, parameters=shown)
    return replace(identity, operation=sums, what=added, view=whole, parameters={**shown, "embedding_scale": Seen(scaling)})


def _times(scaling: str) -> str:
    return "" if scaling == "none" else " times sqrt(dim)"


def _sum(probe: Probe) -> Identity:
    """Return what a function is that adds rows of a table that is given to x."""
    found = turns.opened(probe)
    scaling = _scaling(found)
    if scaling in (None, ALONE):
        message = "it adds nothing to x that is the same whatever x is"
        raise Refused(message)
    table = turns.table(found.width)
    identity = lookups.chosen(lambda positions: _rows(found, positions)[0], table)
    whole = _three_axes(found)
    sums = sibling(str(identity.operation), "x", "positions", "table") if whole is not None else None
    shown = {**identity.parameters, "embedding_scale": Seen(scaling)}
    return replace(identity, operation=sums, what=f"added to x{_times(scaling)}: {identity.what}", view=whole or found, parameters=shown)


def _scaling(found: turns.Turns) -> str | None:
    """Return what x is multiplied by before something is added to it, which is the same whatever x is; ``ALONE`` where it is the result."""
    x = 1 + np.arange(3 * found.width).reshape(1, 1, 3, -1) % 7 / 4
    grown, alone = found(x, np.arange(3)), found(0 * x, np.arange(3))
    scales = {"none": 1.0, "sqrt_dim": math.sqrt(found.width), ALONE: 0.0}
    return next((name for name, scale in scales.items() if not np.abs(grown - scale * x - alone).max() > SAME * scale), None)


def _three_axes(found: turns.Turns) -> turns.Turns | None:
    """Return the function as one of embeddings, whose heads are side by side, where it takes them so."""
    x = 1 + np.arange(2 * 3 * found.width).reshape(2, 1, 3, -1) % 7 / 4
    for order in (found.order, "row token dim", "token row dim"):
        other = replace(found, order=order)
        with contextlib.suppress(Refused):
            if order in EMBEDDED and np.allclose(other(x, np.arange(3)), found(x, np.arange(3)), rtol=SAME):
                return other
    return None


def _rows(found: turns.Turns, positions: np.ndarray) -> list[np.ndarray]:
    return [found(np.zeros((1, 1, positions.size, found.width)), positions)[0, 0]]


def _odd(identity: Identity, probe: Probe, encoded: Callable[[int], Identity]) -> dict[str, Seen]:
    """Say what odd widths are, an error or a column of zeros, unless the function is told."""
    if not _has(identity, "odd") or "odd" in (*probe.plan.needs, *probe.plan.optional.values()):
        return {}
    try:
        other = encoded(ODD)
    except Refused:
        return {"odd": Seen("error")}
    same = other.operation == identity.operation and other.parameters["base"].holds(identity.parameters["base"].value)
    if same and "odd" in other.parameters:
        return {"odd": Seen("zero_column")}
    return {"odd": Seen("error", confidence=Confidence.DECLARED)}


def _untold(width: Mapping[str, Seen]) -> tuple[str, ...]:
    """Return what no declaration says of odd widths."""
    return (OTHER_ODD,) if "odd" in width and width["odd"].confidence is Confidence.DECLARED else ()


def _has(identity: Identity, parameter: str) -> bool:
    """Whether a function is an operation that has a parameter."""
    return identity.operation is not None and parameter in operations()[identity.operation].parameters


def _taken(found: turns.Turns) -> bool:
    try:
        found(np.zeros((1, 1, 3, found.width)), np.arange(3))
    except Refused:
        return False
    return True


def _pair(probe: Probe) -> Identity:
    """Return what happens to queries and keys that both come back, or to their products."""
    try:
        found = turns.opened(probe)
    except Refused as refused:
        several = None if refused.hopeless else _several(probe)
        if several is not None:
            return several
        if "offset" in probe.plan.probed:
            raise
        try:
            return attention.identify(probe)
        except Refused as refusal:
            only = None if refusal.hopeless else turns.of_one_count(probe)
            if only is None:
                raise
            found = only
    identity = rotary.identify(found)
    identity = _counting(_alike(_closed(identity, found) or _sized(identity, found), found), found)
    return _both(identity) if "query_positions" in probe.plan.probed else identity


def _both(identity: Identity) -> Identity:
    """Return what turns queries and keys where one of them is known."""
    whole = sibling(str(identity.operation), "q", "k", "query_positions", "key_positions")
    return replace(identity, operation=whole or identity.operation)


def _alike(identity: Identity, found: turns.Turns) -> Identity:
    """Return what queries are, unless keys are something else, so that no scheme says both."""
    if not {"q", "k"} <= set(found.probe.plan.probed) or not found.unlike():
        return identity
    other = replace(found, result=1)
    second = rotary.identify(other)
    queries, keys = (identity, second) if found.first_of() == "q" else (replace(second, view=other), identity)
    if _two_sides(queries, keys):
        return _both(queries)
    if {queries.operation, keys.operation} == {None}:
        return identity
    said = f"queries are {_beside(queries, keys)}, keys are {_beside(keys, queries)}"
    return Identity(None, f"queries and keys come back, but not alike: {said}")


def _two_sides(queries: Identity, keys: Identity) -> bool:
    """Whether queries and keys are both sides of one scheme, with the same parameters."""
    if None in (queries.operation, keys.operation):
        return False
    forms = [getattr(operations()[str(side.operation)].function, "form", None) for side in (queries, keys)]
    alike = all(keys.parameters[name].holds(seen.value) for name, seen in queries.parameters.items() if name in keys.parameters)
    return alike and getattr(forms[0], "of_keys", None) == forms[1] != forms[0]


def _beside(identity: Identity, other: Identity) -> str:
    """Say what an identity is, with the parameters in which another differs."""
    if identity.operation is None:
        return f"no known scheme ({identity.what})"
    shown, again = identity.parameters, other.parameters
    values = {name: seen.value for name, seen in shown.items() if name in again and not seen.holds(again[name].value)}
    apart = [f"{name} {value:.10g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items()]
    return f"{identity.operation} ({', '.join(apart)})" if apart else identity.operation


def _gradient(probe: Probe) -> Identity:
    """Return the rotation whose gradient turns cotangents as seen: back, from where it writes to where it reads."""
    found = turns.opened(probe)
    identity = replace(rotary.identify(found), view=found)
    operation = sibling(str(identity.operation), "x", "positions", "cotangent")
    if operation is None:
        return replace(identity, operation=None)
    shown = dict(identity.parameters)
    shown["direction"] = replace(shown["direction"], value=OPPOSITE[str(shown["direction"].value)])
    if shown["layout"].value == "half_to_interleaved":
        shown["layout"] = Seen("interleaved_to_half")
    return replace(identity, operation=operation, what=f"cotangents turn back: {identity.what}", parameters=shown)


def _apply(probe: Probe) -> Identity:
    """Return how cosines and sines that are given are applied."""
    found = turns.opened(probe)
    identity = rotary.identify(found)
    for tables in turns.TABLES if identity.operation is None and not probe.takes("waves") else ():
        with contextlib.suppress(Refused):
            again = rotary.identify(replace(found, tables=tables))
            if again.operation is not None:
                found, identity = replace(found, tables=tables), again
                break
    identity = _alike(identity, found)
    operation = sibling(str(identity.operation), "x", "cos", "sin")
    if identity.operation is None and "direction" in identity.parameters:
        return Identity(None, UNAPPLIED, unseen=(OTHER_TABLES,), view=found)  # angles are those of the tables: it has no frequencies
    if operation is None:
        return replace(identity, operation=None)
    shown = {name: seen for name, seen in identity.parameters.items() if name in ("layout", "direction")}
    if probe.takes("angles"):
        return Identity(None, "turns pairs by the angles that it is given", shown, unseen=(OF_ANGLES,), view=found, values_of=operation)
    return Identity(operation, "turns pairs by the cosines and sines that it is given", shown, view=found)


def _encode(probe: Probe) -> Identity:
    scale = scales.identify(probe) if probe.plan.probed == ("positions",) and not probe.takes("width") else None
    if scale is not None:
        return scale
    try:
        encoding = additive.opened(probe)
    except Refused as refusal:
        if probe.takes("tokens"):
            return _bias(probe)
        several = None if refusal.hopeless else axis_tables.identify(probe)
        if several is None and probe.plan.probed == ("positions",) and not refusal.hopeless:
            several = additive.sided(probe)
        if several is None:
            raise
        return several
    if probe.takes("tokens") and not np.all(np.isfinite(encoding(np.arange(5))[0])):
        return _bias(probe)
    sized = "width" in (*probe.plan.needs, *probe.plan.optional.values())
    if sized:
        narrower = probe.having(width=int(probe.settings.get("width", FIRST["width"])) // 2)
        encoding = replace(encoding, narrower=lambda: additive.opened(narrower))
    identity = additive.identify(encoding)
    if probe.takes("like") and "tables" not in identity.parameters:
        message = "it gives no cosines and sines"
        raise Refused(message)
    identity = replace(identity, follows=_as_wide(identity, encoding))
    several = axis_tables.identify(probe) if "tables" in identity.parameters else None
    beside = () if several is None else (axis_tables.beside(several),)
    width = _odd(identity, probe, lambda width: additive.identify(additive.opened(probe.having(width=width)))) if sized else {}
    if not probe.takes("width") and _has(identity, "dim"):
        width["dim"] = Seen(int(encoding(np.arange(2))[0].shape[1]))
    unseen = (*identity.unseen, *_untold(width), *beside)
    return replace(identity, view=encoding, parameters={**identity.parameters, **width}, unseen=unseen)


def _as_wide(identity: Identity, encoding: additive.Encoding) -> tuple[str, ...]:
    """Return the width of tables where it is that of the vectors that are given besides, whose numbers don't count."""
    if not encoding.probe.takes("like") or identity.operation is None:
        return ()
    try:
        other = additive.identify(replace(encoding, like=encoding.like // 2))
    except Refused:
        return ()
    return ("head_dim",) if other.parameters["head_dim"].value == encoding.like // 2 and other.operation == identity.operation else ()


def _bias(probe: Probe) -> Identity:
    bias = biases.opened(probe)
    identity = _every_count(biases.identify(bias), probe, lambda other: biases.identify(biases.opened(other)))
    heads = {"num_heads": Seen(int(bias(np.arange(3), np.arange(3)).shape[0]))} if _has(identity, "num_heads") else {}
    return replace(identity, view=bias, parameters={**identity.parameters, **heads})


def _numbers(probe: Probe) -> Identity:
    if not {"width", "num_heads", "factor", "original_length"} & set(probe.settings):
        message = "a function of none of width, num_heads, factor and original_length gives numbers that mean nothing"
        raise Refused(message)
    return numbers.told(_every_count(numbers.identify(probe), probe, numbers.identify), probe)


def _every_count(identity: Identity, probe: Probe, again: Callable[[Probe], Identity]) -> Identity:
    """Return what slopes are for a number of heads that is no power of two too, if that can be asked for: it tells their rule."""
    known = identity.operation or identity.values_of
    if known is None or "num_heads" not in operations()[known].parameters or not probe.takes("num_heads"):
        return identity
    other = again(probe.having(num_heads=UNEVEN_HEADS))
    sure = {name: seen for name, seen in identity.parameters.items() if seen.confidence is Confidence.CERTAIN}
    same = all(name == "num_heads" or other.parameters.get(name, seen).holds(seen.value) for name, seen in sure.items())
    if (other.operation, other.values_of) == (identity.operation, identity.values_of) and same:
        what = other.what.replace(f"of {UNEVEN_HEADS} heads", f"of {probe.settings['num_heads']} heads")
        return replace(other, what=what, parameters={**other.parameters, **sure})
    return replace(identity, operation=None, values_of=None, what=f"{identity.what}; but of {UNEVEN_HEADS} heads: {other.what}")


KINDS: Mapping[str, Callable[[Probe], Identity]] = {
    "rotary": _rotary,
    "image": _image,
    "pair": _pair,
    "attention": attention.identify,
    "gradient": _gradient,
    "apply": _apply,
    "encode": _encode,
    "lookup": lookups.identify,
    "sum": _sum,
    "bucket": biases.bucket,
    "bias": _bias,
    "given": given.identify,
    "numbers": _numbers,
}
