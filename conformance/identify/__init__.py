"""Say what an undeclared function is: which operation, with which conventions and parameters, from its values only."""

import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.adapt.adapter import near_miss
from conformance.adapt.selection import SelectionError
from conformance.calls.limits import Limits
from conformance.identify import plans
from conformance.identify.asking import INTERRUPTED, PLACE, OutOfTimeError, Strangers
from conformance.identify.declaration import Place
from conformance.identify.findings import Identity, in_these_calls
from conformance.identify.following import settings
from conformance.identify.pasted import Checked, checked
from conformance.identify.recognise import Found, recognise
from conformance.identify.screen import Told
from conformance.identify.steady import FROM_CALL_TO_CALL, HISTORY, Unsteady, unsteady
from conformance.isolate.session import ANY
from conformance.isolate.targets import TargetError
from conformance.spec import words
from conformance.spec.declarations import operations

FEW = 3
UNNAMED = "its file's name is no name of a module, or one of Python's own: rename the file for an adapter that imports it"
MORE = "whether its answers depend on more than the call (what is certain is so only if they don't)"
#: What there was no time for, where it isn't known yet what a function follows, or isn't known of all settings.
SETTINGS, OTHERS_OF_THEM = "which settings it follows, and an adapter", "which other settings it follows, and an adapter"
UNSTEADY = "unknown: the same call has several answers, so they don't show what it is"
#: What to do where a module may draw numbers because it is trained.
DRAWN = "the module is in train mode, where dropout draws numbers: call .eval() on it"
#: What an exception names where arrays of NumPy, or of another library, came to code for others.
OTHERS = {True: ("Tensor", "torch", "ndarray' object"), False: ("ndarray", "Tensor' object", "Tensor' and '", "ArrayImpl")}
NONE = ", got None"
#: What is said of code that returns nothing.
IN_PLACE = ": is there a return? If it writes over its input, wrap it in a function that returns that"
#: What is added of code that takes vectors and positions.
PLACED = (
    "positions are tried as (token), (batch, token), (1, token) and (batch, head, token), and on several axes as (token, axis), "
    "(axis, token), (batch, token, axis) and (axis, batch, token): write a function around it that makes others of them"
)
#: What is added of code that takes vectors alone.
LAID = (
    "x is tried as (batch, head, token, dim), in other orders of these axes and with fewer, and as (batch, height, width, dim): "
    "write a function around it that makes another array of it"
)
#: What is said of code that returns no array, and what to do.
RESULT, AROUND = "a result must be ", "write a function around it that returns the array, or the arrays one after the other"
#: What a setting that is no number must be, for people.
KINDS: Mapping[type, str] = {tuple: "a list of integers", bool: "true or false"}
#: How long one call may take: what is asked is small.
SECONDS = 10.0


def identify(
    target: str,
    *,
    call: str | None = None,
    given: Mapping[str, Any] | None = None,
    framework: str | None = None,
    only: str | None = None,
    check: bool = True,
    limits: Limits | None = None,
    seconds: float = math.inf,
) -> Iterator[Told]:
    """Yield what every function of a target is: the one function of ``place:name``, or all implementations of an adapter.

    ``call`` says how to call it (``f(x, positions)``), ``given`` the values of settings, ``framework`` whose arrays it takes, ``only``
    the label of the implementations to look at; the adapter of one function is tried at the lowest level where it is to ``check``.
    After so many ``seconds``, or an interruption, no call is begun, and what wasn't tried is told; then the interruption is raised.
    Raises ``TargetError`` where there is no such function, or it refuses every call.
    """
    plan = plans.said(call) if call is not None else None
    chosen = _settings(given or {})
    with Strangers(target, framework, limits or Limits(call_seconds=SECONDS), seconds) as strangers:
        signatures = [signature for signature in strangers.functions if only in (None, signature.label)]
        if not signatures:
            labels = {signature.label for signature in strangers.functions}
            message = f"--only must be one of {', '.join(sorted(labels))}, got {only!r}{near_miss(str(only), labels)}"
            raise SelectionError(message)
        for signature in signatures:
            told = None
            try:
                strangers.keep_apart()
                told = _told(strangers, recognise(strangers, signature, plan, chosen))
                told = replace(told, checked=_checked(target, told, limits, strangers)) if check else told
                told = _steadied(strangers, told)
            except KeyboardInterrupt:
                strangers.stop()
                told = told or _told(strangers, recognise(strangers, signature, plan, chosen))
                told = _steadied(strangers, replace(told, checked=told.checked or _unchecked(told)) if check else told)
            if told.found.broken is not None:
                raise told.found.broken
            found = told.found
            if strangers.alone and told.identity is None and not (found.ended or found.untried or told.faults):
                raise TargetError(_nothing(target, found))
            yield told
        if strangers.stopped:
            raise KeyboardInterrupt


def _told(strangers: Strangers, found: Found) -> Told:
    place = _place(strangers.target) if strangers.alone else None
    told = Told(found.signature.label, found, (), place)
    if told.known and found.identity is not None and found.probe is not None:
        try:
            told = replace(told, settings=settings(found.identity, found.probe))
            told = replace(told, text=told.declaration())
        except OutOfTimeError:
            told = replace(told, settings=(), undone=OTHERS_OF_THEM if found.identity.follows else SETTINGS)
        except Exception as error:  # noqa: BLE001  as in `recognise`
            told = replace(told, found=replace(found, broken=error))
    named = (UNNAMED,) if strangers.alone and place is None else ()
    index = found.signature.index
    left = (*strangers.traces(index, ANY), *named, *strangers.withheld)
    return replace(told, faults=strangers.faults(index), left=left, spent=strangers.spent(index))


def _steadied(strangers: Strangers, told: Told) -> Told:
    """Return it with what changes the answers besides the calls."""
    found, checked = told.found, told.checked is not None and told.checked.conforms
    try:
        changing = unsteady(strangers, found.asked, found.before, checked=checked)
    except OutOfTimeError:
        changing, told = None, replace(told, undone="; ".join(filter(None, (told.undone, MORE))) if found.identity else "")
    told = replace(told, faults=strangers.faults(found.signature.index), spent=strangers.spent(found.signature.index))
    if changing is None and told.checked is not None and told.checked.remembers:
        changing = Unsteady(HISTORY, "see what the check found")
    if changing is None:
        return told
    known = found.identity is not None and (found.identity.operation or found.identity.values_of)
    if changing.what in (FROM_CALL_TO_CALL, HISTORY) and not known:
        found = replace(found, identity=Identity(None, UNSTEADY), probe=None, tried=())
    elif found.identity is not None:
        found = replace(found, identity=in_these_calls(found.identity))
    refuted = told.checked if told.checked is not None and told.checked.refuted else None
    drawn = (DRAWN,) if changing.what == FROM_CALL_TO_CALL and found.signature.training else ()
    faults = (*told.faults, str(changing), *drawn)
    return replace(told, found=replace(found, broken=None), faults=faults, settings=(), text=None, checked=refuted, changing=True)


def _checked(target: str, told: Told, limits: Limits | None, strangers: Strangers) -> Checked | None:
    """Return how the adapter does that a person would paste."""
    text = told.declaration() if told.place is not None else None
    if text is None:
        return None
    strangers.close()  # some code allows one worker at a time
    place = target.rpartition(":")[0]
    folder = Path(place).resolve().parent if place.endswith(".py") else Path.cwd()
    return checked(text, folder, limits, late=lambda: strangers.over)


def _unchecked(told: Told) -> Checked | None:
    """Return what is said of an adapter whose check was interrupted."""
    if told.place is None or told.text is None:
        return None
    return Checked(conforms=False, words=f"the adapter wasn't checked to its end: {INTERRUPTED}")


def _place(target: str) -> Place | None:
    """Return where an adapter finds a function, or nothing where its file can't be imported by its name."""
    path, _, name = target.rpartition(":")
    module = Path(path).stem if path.endswith(".py") else path
    known = path.endswith(".py") and module in sys.stdlib_module_names
    return Place(module, name) if all(part.isidentifier() for part in module.split(".")) and not known else None


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by their roles, under whichever name they are given."""
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        roles = [role for role in words.roles(name) if role in words.SETTINGS]
        if not roles:
            message = f"--set must name a setting, got {name!r}{near_miss(name, words.SETTINGS)}"
            raise SelectionError(message)
        _check_word(name, value, roles)
        chosen |= dict.fromkeys(roles, value)
    return chosen


def _check_word(name: str, value: Any, roles: Collection[str]) -> None:
    """Raise where a setting is a word that no parameter of its roles may be."""
    every = (one for known in operations().values() for one in known.parameters.values())
    declared = [one for one in every if plans.SPELLED.get(one.name, one.name) in roles]
    known = sorted({choice for one in declared for choice in one.choices})
    if isinstance(value, str) and declared and value not in known:
        kind = KINDS.get(declared[0].kind, "a number")
        message = f"--set {name} must be {'one of ' + ', '.join(known) if known else kind}, got {value!r}{near_miss(value, known)}"
        raise SelectionError(message)


def _nothing(target: str, found: Found) -> str:
    otherwise = plans.otherwise(found.signature)
    if not found.tried:
        arguments = ", ".join(argument.name for argument in found.signature.positional)
        what = otherwise or plans.how(found.signature)
        return f"{target} must take arguments that a positional encoding takes, got f({arguments}): {what}"
    tried = "; ".join(f"{call}: {reason}" for call, reason in found.tried[:FEW])
    more = f" (and {len(found.tried) - FEW} more)" if len(found.tried) > FEW else ""
    nothing = all(reason.endswith(NONE) for _, reason in found.tried)
    hint = IN_PLACE if nothing else f": {otherwise}" if otherwise else _other_arrays(found)
    return f"{target} must answer some call, got nothing usable from {tried}{more}{hint}"


def _other_arrays(found: Found) -> str:
    """Return what to add where the arrays that were given, those of a guessed library, may be what is refused."""
    library = found.signature.framework
    own = f"an array of {library} or a number"
    reasons = [PLACE.sub("", reason).replace(own, "") for _, reason in found.tried]
    if not any(said in reason for reason in reasons for said in OTHERS[library == "numpy"]):
        how = plans.how(found.signature, [call for call, _ in found.tried])
        vectors = any({"x", "q"} & {*words.roles(argument.name)} for argument in found.signature.positional)
        placed = any("positions" in re.findall(r"\w+", call) for call, _ in found.tried)
        how = f"{how}; {PLACED}" if vectors and placed else LAID if vectors and how == plans.OTHER_WAY else how
        return f": {AROUND if any(RESULT in reason for reason in reasons) else how}"
    jax = library != "jax" and any("jax" in reason for reason in reasons)
    other = "jax" if jax else "torch" if library == "numpy" else "numpy"
    return f": arrays of {library} were given; add --framework {other} if it takes those of {other}"
