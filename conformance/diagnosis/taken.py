"""Find the declaration inside of which code is right, by asking it again: what is declared too widely is no mistake.

The narrowest declaration is tried first, then each of its sayings is left out if code is right without it. Every step is judged by golden
cases drawn inside, so that nothing is told which doesn't hold.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, product
from typing import Any

from conformance.calls.form import roles
from conformance.calls.outcomes import TOO_WIDELY, Diagnosis, Errored, Failed, Passed, Reason
from conformance.calls.takes import PLACES, Positions, Takes, misplaced, nonsense
from conformance.checks.evidence.bounds import written
from conformance.checks.vector_checks import Checked
from conformance.diagnosis.asking import FEW, Asking, Declaration, holds
from conformance.diagnosis.ways import AS_DECLARED, SQUARE, TOKENS_FIRST, Way, ways
from conformance.mutants.building import shown
from conformance.spec.arguments import Arguments
from conformance.spec.choices import candidates
from conformance.spec.ranges import VALUES
from refimpl.spec import Operation, Parameter

#: So many drawn calls must be right of the narrowest declaration, and so many where a saying is left out, or one is told.
TRIED, TOLD = 8, 24
#: So many of the narrowest declarations are tried.
COMBINATIONS = 128
#: So much is asked at least, and that share of it must go wrong: else code is not declared too widely, but wrong somewhere.
ASKED, SHARE = 8, 0.1
#: Numbers of heads that code takes which knows powers of two only.
POWERS = {"num_heads": (1, 2, 4, 8, 16, 32)}
#: From the widest to the narrowest.
POSITIONS: tuple[Positions, ...] = ("any", "whole", "consecutive", "from_zero")


def taken(asking: Asking, checked: Sequence[Checked]) -> Diagnosis | None:
    """Return the declaration inside of which code is right, where much of what is declared goes wrong, or nothing."""
    asked = _made(checked)
    if len(asked) < ASKED or sum(one.failed for one in asked) < SHARE * len(asked):
        return None
    other = _other_grid(asking.task.descriptor.takes)
    if other is not None and asking.right(Declaration({}, other), TOLD):
        return _told(asking, Declaration({}, other))
    every = (_narrowest(asking, asked), _of_models(asking, asked), _otherwise(asking, asked))
    narrow = chain.from_iterable(islice(some, COMBINATIONS) for some in every)
    found = next((each for each in narrow if asking.right(each, TRIED)), None)
    if found is None:
        return None
    wide = _to_its_end(asking, _widened(asking, found), asked)
    right = not _wrong_inside(asking, wide, asked) and asking.right(wide, TOLD, seed=1) and asking.takes_no_more(wide, TOLD)
    return _told(asking, wide) if right and not asking.still_wrong(wide, [one.vector for one in asked if one.failed]) else None


def _other_grid(takes: Takes) -> Takes | None:
    """Return a grid of tokens that is declared with the other axis first."""
    return replace(takes, positions="grid_xy" if takes.positions == "grid" else "grid") if takes.gridded else None


def _wrong_inside(asking: Asking, found: Declaration, asked: Sequence[Checked]) -> bool:
    """Whether a call that went wrong lies inside a declaration; nothing is known of it where code would be called in another way."""
    declared = asking.task.descriptor.takes
    if found.way is not AS_DECLARED or replace(found.takes, lowest=declared.lowest, highest=declared.highest) != declared:
        return False
    calls = (Arguments(one.vector.inputs, one.vector.parameters) for one in asked if one.failed)
    return any(holds(asking.operation, call, found) for call in calls)


def last(asking: Asking, checked: Sequence[Checked]) -> int | None:
    """Return the last position that code takes, where it raises beyond; nothing where it is declared, or nothing raises."""
    made = _made(checked)
    answered = _last(made)
    if answered is None:
        return None
    takes = replace(asking.task.descriptor.takes, highest=answered)
    return _to_its_end(asking, Declaration({}, takes), made).takes.highest


def _made(checked: Sequence[Checked]) -> list[Checked]:
    """Return the checks whose calls were made."""
    return [one for one in checked if one.failed or isinstance(one.judgement.outcome, Passed)]


def _narrowest(asking: Asking, checked: Sequence[Checked]) -> Iterator[Declaration]:
    """Yield the declarations that say the most: one value of every parameter that has few or a usual one, positions counted from 0.

    Those that depart least from the usual come first: there may be thousands.
    """
    values = {name: list(_values(asking, parameter, checked)) for name, parameter in asking.operation.parameters.items()}
    for way, takes, *chosen in _least_departing(_ways(asking, checked), _fewest(asking, checked), *filter(None, values.values())):
        yield Declaration(dict(zip(filter(values.get, values), chosen, strict=True)), takes, way)


def _least_departing(*choices: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield one of each, first with as few as possible that aren't the first of theirs."""
    every = product(*map(enumerate, choices))
    for chosen in sorted(every, key=lambda one: sum(place > 0 for place, _ in one)):
        yield [value for _, value in chosen]


def _ways(asking: Asking, checked: Sequence[Checked]) -> Iterator[Way]:
    """Yield the ways in which arrays may be taken; where an order of axes is declared, the one to leave out, and no other order.

    Squares come only of code that has returned a wrong shape, or raised.
    """
    declared, misfits = asking.task.descriptor.axes, any(map(_misfits, checked))
    for way in ways(asking.operation):
        if way is SQUARE and not misfits:
            continue
        if not declared or "axes=" not in f"{way.declared}{way.write}":
            yield way
        elif way is TOKENS_FIRST and way.declared == f'axes="{declared}"':  # twice is none
            does = "takes its heads before its tokens, (batch, head, token, ...)"
            yield replace(way, does=does, declared="", write=f"leave out {way.declared} in implements({shown(asking.task.operation)}, ...)")


def _of_models(asking: Asking, checked: Sequence[Checked]) -> Iterator[Declaration]:
    """Yield the narrowest declarations with what some model has in the place of a default: the number that a module was made with."""
    narrowest = list(islice(_narrowest(asking, checked), COMBINATIONS))
    for name in narrowest[0].values if narrowest else ():
        parameter = asking.operation.parameters[name]
        if not parameter.required and not _conventions(parameter):
            plain = [one for one in narrowest if one.way == narrowest[0].way and one.takes == narrowest[0].takes]
            yield from (replace(one, values={**one.values, name: value}) for value in candidates(parameter, ..., VALUES) for one in plain)


def _otherwise(asking: Asking, checked: Sequence[Checked]) -> Iterator[Declaration]:
    """Yield the narrowest declarations of code that takes its arrays in another way, and has another convention than it declares."""
    declared = asking.task.descriptor.restrictions
    chosen = {name: _conventions(parameter) for name, parameter in asking.operation.parameters.items() if name in declared}
    others = [{name: value} for name, every in chosen.items() if declared[name] in every for value in every if value != declared[name]]
    ways_taken = (one for one in islice(_narrowest(asking, checked), COMBINATIONS) if one.way is not AS_DECLARED)
    yield from (replace(one, values={**one.values, **other}) for one in ways_taken for other in others)


def _values(asking: Asking, parameter: Parameter, checked: Sequence[Checked]) -> Iterator[Any]:
    """Yield what a parameter may be that code knows one value of: a choice, its number or default, one of few that are tried or passed.

    One without a default has one of few for which code doesn't raise. Of a list of integers nothing is tried.
    """
    if parameter.name in asking.task.descriptor.restrictions or parameter.kind is tuple:
        return
    if parameter.name in POWERS and not asking.named:
        yield POWERS[parameter.name]
    elif _conventions(parameter):
        yield from _conventions(parameter)
    elif parameter.name in asking.numbers:
        yield parameter.kind(asking.numbers[parameter.name])
    elif parameter.required:
        had = dict.fromkeys(one.vector.parameters[parameter.name] for one in checked if _answered(one))
        yield from had if len(had) <= FEW else ()
    else:
        had = dict.fromkeys(one.vector.parameters[parameter.name] for one in checked if not one.failed)
        few = [values for values in (had, candidates(parameter, ..., VALUES)) if len(values) <= FEW]
        yield from dict.fromkeys((parameter.default, *chain(*few)))


def _fewest(asking: Asking, checked: Sequence[Checked]) -> list[Takes]:
    """Return the fewest calls that code may take, with queries at the end or not, masked or not."""
    operation, takes = asking.operation, asking.task.descriptor.takes
    placed = {"positions": "from_zero"} if set(PLACES.values()) & set(operation.arrays) else {}
    bounds = {"lowest": 0, "highest": _last(checked)}
    open_ended = {name: bound for name, bound in bounds.items() if bound is not None and getattr(takes, name) is None}
    for name, value in {**placed, "rows": "shared", "heads": "equal", **open_ended}.items():
        takes = _narrowed(operation, takes, {name: value}) or takes
    further: tuple[dict[str, Any], ...] = ({}, {"queries": "at_end"}, {"masked": True}, {"queries": "at_end", "masked": True})
    return list(dict.fromkeys(filter(None, (_narrowed(operation, takes, sayings) for sayings in further))))


def _narrowed(operation: Operation, takes: Takes, sayings: Mapping[str, Any]) -> Takes | None:
    """Return a declaration that says more, or nothing where that is nonsense."""
    narrower = replace(takes, **sayings)
    return None if any((*nonsense(narrower), *misplaced(narrower, operation))) else narrower


def _last(checked: Sequence[Checked]) -> int | None:
    """Return the farthest position that was answered, where calls beyond it raise."""
    last = max(map(_farthest, filter(_answered, checked)), default=0)
    return last if last > 0 and _beyond(checked, last) else None


def _beyond(checked: Sequence[Checked], last: int) -> list[int]:
    """Return the farthest positions of calls that raise, where they lie beyond the last one, in order."""
    return sorted({place for one in checked if not _answered(one) and (place := _farthest(one)) > last})


def _misfits(checked: Checked) -> bool:
    outcome = checked.judgement.outcome
    return isinstance(outcome, Errored) or (isinstance(outcome, Failed) and outcome.reason in (Reason.SHAPE, Reason.MALFORMED))


def _answered(checked: Checked) -> bool:
    return not isinstance(checked.judgement.outcome, Errored)


def _farthest(checked: Checked) -> int:
    inputs = checked.vector.inputs
    return max((int(inputs[name].max(initial=0)) for name in PLACES.values() if name in inputs), default=0)


def _to_its_end(asking: Asking, found: Declaration, checked: Sequence[Checked]) -> Declaration:
    """Return a declaration that ends where code raises, by halving what lies between that and the last position that was answered."""
    last = found.takes.highest
    if last is None or last == asking.task.descriptor.takes.highest:
        return found
    beyond = next((place for place in _beyond(checked, last) if not asking.answers(found, place)), None)
    while beyond is not None and beyond - last > 1:
        middle = (last + beyond) // 2
        last, beyond = (middle, beyond) if asking.answers(found, middle) else (last, middle)
    return replace(found, takes=replace(found.takes, highest=last))


def _widened(asking: Asking, narrow: Declaration) -> Declaration:
    """Return the declaration without what it need not say."""
    declared = asking.task.descriptor.takes
    kinds = () if declared.gridded else POSITIONS[POSITIONS.index(declared.positions) : POSITIONS.index(narrow.takes.positions)]
    wider = (replace(narrow, takes=replace(narrow.takes, positions=kind)) for kind in kinds if kind != "whole" or asking.operation.numbers)
    narrow = next((each for each in wider if asking.right(each, TOLD)), narrow)
    for name in ("queries", "rows", "heads", "lowest", "highest", "masked"):
        without = replace(narrow, takes=replace(narrow.takes, **{name: getattr(declared, name)}))
        narrow = without if without == narrow or asking.right(without, TOLD) else narrow
    for name, value in narrow.values.items():
        left = {key: kept for key, kept in narrow.values.items() if key != name}
        if isinstance(value, tuple):  # the number of heads may be any under another convention than the one that was tried first
            wider = (replace(narrow, values=values) for values in (left, *_by_convention(asking, left)))
            narrow = next((each for each in wider if asking.right(each, TOLD)), narrow)
    for name, value in narrow.values.items():
        if isinstance(value, tuple):
            continue
        others = tuple(other for other in _conventions(asking.operation.parameters[name]) if other != value)
        left = {key: kept for key, kept in narrow.values.items() if key != name}
        if asking.right(replace(narrow, values={**left, name: others} if others else left), TOLD):
            narrow = replace(narrow, values=left)
    return narrow


def _by_convention(asking: Asking, values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield values with another one of each convention."""
    for name, value in values.items():
        yield from ({**values, name: other} for other in _conventions(asking.operation.parameters[name]) if other != value)


def _conventions(parameter: Parameter) -> tuple[Any, ...]:
    return parameter.choices or ((False, True) if parameter.kind is bool else ())


def _said(asking: Asking, found: Declaration) -> list[str]:
    """Return what is to be declared besides, as it is written."""
    before, now = asking.task.descriptor.takes.said(), found.takes.said()
    values = [f"{name}={_set(value) if isinstance(value, tuple) else shown(value)}" for name, value in found.values.items()]
    return [*values, *(f"{name}={written(value)}" for name, value in now.items() if before.get(name) != value)]


def _narrowing(asking: Asking, found: Declaration, said: Sequence[str]) -> str:
    """Return what to add to the declaration, and what of it to change."""
    before, now = asking.task.descriptor.takes.said(), found.takes.said()
    changed = {f"{name}={written(value)}": f"{name}={written(before[name])}" for name, value in now.items() if name in before}
    added = ", ".join(filter(None, (found.way.declared, *(one for one in said if one not in changed))))
    changes = [f"change {changed[one]} to {one}" for one in said if one in changed]
    written_so = " and ".join([*([f"add {added}"] if added else []), *changes])
    return f"{written_so} {'in' if changes else 'to'} implements({shown(asking.task.operation)}, ...)"


def _set(values: tuple[object, ...]) -> str:
    return f"{{{', '.join(map(shown, values))}}}"


def _ignores_offset(asking: Asking, found: Declaration) -> bool:
    """Whether code takes an offset by its declared call, and is right only where that is 0."""
    narrowed = found.takes.positions == "from_zero" and asking.task.descriptor.takes.positions != "from_zero"
    return narrowed and "offset" in roles(asking.task.descriptor.call)


def _told(asking: Asking, found: Declaration) -> Diagnosis | None:
    """Return what code does and what to write; nothing where nothing is to be declared."""
    said, operation = _said(asking, found), asking.task.operation
    if _ignores_offset(asking, found):
        return Diagnosis(
            mutants=(f"{operation}/start-ignored",),
            does="takes an offset and ignores it: in every call its rows are those of positions from 0 on",
            should="begin at the offset, where a cached sequence goes on",
            fix="add the offset to the positions",
        )
    if not said and found.way is AS_DECLARED:
        return None
    every = ", ".join(filter(None, (found.way.declared, *said)))
    otherwise = bool(found.values.keys() & asking.task.descriptor.restrictions.keys())
    besides = f"{_narrowing(asking, found, said)}{', or take what else is asked for' if said and not asking.named else ''}"
    instead = f"declare {every} in implements({shown(operation)}, ...) in place of what it declares"
    add = "" if not every else instead if otherwise else besides
    kind = "another" if otherwise else "a narrower"
    inside = f"is right {f'inside {kind} declaration' if said else 'so'}, where {TOLD} drawn calls pass"
    name = "declared-otherwise" if otherwise else TOO_WIDELY
    return Diagnosis(
        mutants=(f"{operation}/{name if said else found.way.name}",),
        does="; ".join(filter(None, (found.way.does, inside))),
        should="take what is asked for, or declare what it takes",
        fix="; ".join(filter(None, (found.way.write, add))),
        kind="convention",
    )
