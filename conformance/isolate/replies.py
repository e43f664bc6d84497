"""What a worker may say: every field of its first words and of its replies is looked at here, before anything else meets it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NoReturn

import numpy as np

from conformance.calls.takes import Takes, nonsense
from conformance.isolate import targets
from conformance.isolate.channel import ChannelError
from conformance.spec.declarations import operations
from conformance.spec.profiles import FORMATS, PROFILES
from conformance.spec.shown import shown

#: Letters of one text; what a worker says itself is far shorter.
LONGEST = 10_000
#: The largest count: everything beyond is told as such a number too.
LARGEST = 1 << 62
#: What results travel as.
NUMBERS = (np.dtype("float64"), np.dtype("int64"))


@dataclass(frozen=True)
class Rule:
    """What a field must be: in words, and whether something is."""

    words: str
    holds: Callable[[Any], bool]


def _text(said: object) -> bool:
    return isinstance(said, str) and len(said) <= LONGEST


def _texts(said: object) -> bool:
    return isinstance(said, list) and all(map(_text, said))


def _one_of(said: object, known: Collection[str]) -> bool:
    return isinstance(said, str) and said in known


TEXT = Rule(f"text of at most {LONGEST} letters", _text)
LINE = Rule(f"one line of at most {LONGEST} letters", lambda said: _text(said) and len(said.splitlines()) <= 1)
SENTENCE = Rule(f"a line of at most {LONGEST} letters, and not empty", lambda said: LINE.holds(said) and bool(said.strip()))
MAYBE = Rule(f"nothing or {TEXT.words}", lambda said: said is None or _text(said))
TEXTS = Rule(f"a list of {TEXT.words}", _texts)
NAMED = Rule("names with texts", lambda said: isinstance(said, dict) and _texts([*said, *said.values()]))
VERSIONS = Rule(
    "names with versions", lambda said: isinstance(said, dict) and _texts([text for text in (*said, *said.values()) if text is not None])
)
COUNT = Rule("a count", lambda said: type(said) is int and 0 <= said <= LARGEST)
FLAG = Rule("true or false", lambda said: isinstance(said, bool))
PLAIN = Rule("nothing, true, false, a number or a text", lambda said: said is None or isinstance(said, bool | int | float) or _text(said))
EACH: Mapping[str, Rule] = {"call": COUNT, "left": TEXTS, "reached": TEXTS, "sought": TEXTS}
#: What a worker says of itself beside what it offers.
ABOUT: Mapping[str, Rule] = {"reaches_parent": FLAG, "reached": TEXTS, "sought": TEXTS}
Form = Mapping[str, Rule]
#: What a worker says, at any time, of a program with which it can't go on; ``unasked`` where that may not be the call's.
LOST: Mapping[str, Form] = {"program lost": {"message": LINE, "unasked": FLAG}}


def _listed(form: Form, what: str, more: Callable[[Any], bool] = lambda _: True) -> Rule:
    """Return the rule that something is a list of such things, none of which breaks a further rule."""
    return Rule(f"a list of {what}", lambda said: isinstance(said, list) and all(_is(each, form) and more(each) for each in said))


def _is(said: object, form: Form) -> bool:
    return isinstance(said, dict) and said.keys() == form.keys() and all(rule.holds(said[name]) for name, rule in form.items())


def _takes(said: object) -> bool:
    known = {field.name for field in fields(Takes)}
    if not isinstance(said, dict) or said.keys() != known:
        return False
    return not any(nonsense(Takes(**said)))


def _offers(said: Mapping[str, Any]) -> bool:
    """Whether a restriction, a dtype and a profile exist."""
    try:
        targets.verify_restrictions(operations()[said["operation"]], said["restrictions"])
    except targets.TargetError:
        return False
    return set(said["profile"]) == set(said["dtypes"]) and set(said["profile"].values()) <= set(PROFILES)


IMPLEMENTATIONS = _listed(
    {
        "label": TEXT,
        "operation": Rule("an operation", lambda said: _one_of(said, operations())),
        "dtypes": Rule("dtypes", lambda said: isinstance(said, list) and bool(said) and all(_one_of(each, FORMATS) for each in said)),
        "profile": NAMED,
        "takes": Rule("a declaration of calls", _takes),
        "modifies_inputs": FLAG,
        "restrictions": Rule("values by parameter", lambda said: isinstance(said, dict)),
        "takes_dtype": FLAG,
        "axes": TEXT,
        "call": TEXT,
        "by_predicate": FLAG,
    },
    "implementations",
    _offers,
)
ARGUMENTS = _listed({"name": TEXT, "required": FLAG, "default": PLAIN}, "arguments")
FUNCTIONS = _listed(
    {
        "label": TEXT,
        "framework": TEXT,
        "declared": Rule("nothing, or an operation and its restrictions", lambda said: said is None or _declared(said)),
        "positional": ARGUMENTS,
        "keywords": ARGUMENTS,
        "any_positional": FLAG,
        "any_keyword": FLAG,
        "training": FLAG,
    },
    "functions",
)


def _declared(said: object) -> bool:
    match said:
        case [str(operation), dict()]:
            return operation in operations()
    return False


#: By status: the first words of a worker that has an adapter, and of one that has functions of which nothing is declared.
REFUSALS: Mapping[str, Form] = {status: {"message": SENTENCE, "sought": TEXTS} for status in ("library missing", "bad target")}
DECLARED: Mapping[str, Form] = {
    **REFUSALS,
    "ready": {
        "adapter": TEXT,
        "rejects_bad_input": FLAG,
        "unjudged": TEXTS,
        "versions": VERSIONS,
        "device": TEXT,
        "circumstances": TEXTS,
        "manners": TEXTS,
        "implementations": IMPLEMENTATIONS,
        **ABOUT,
    },
}
UNDECLARED: Mapping[str, Form] = {**REFUSALS, "ready": {"alone": FLAG, "functions": FUNCTIONS, **ABOUT}}

#: By status: replies to a call, to the question whether a declaration admits one, and to a call of which nothing is declared.
FAILED: Mapping[str, Form] = {status: {**EACH, "message": LINE} for status in ("error", "malformed", "misfit")}
CALLED: Mapping[str, Form] = {
    **FAILED,
    "unsupported": {**EACH, "reason": LINE, "declared": FLAG},
    "ok": {
        **EACH,
        "results": TEXTS,
        "dtypes": NAMED,
        "modified": TEXTS,
        "aliases": TEXTS,
        "foreign": TEXTS,
        "repeats": COUNT,
        "unlike": TEXT,
        "overwritten": TEXTS,
        "layers": Rule("a list of counts", lambda said: isinstance(said, list) and all(map(COUNT.holds, said))),
    },
}
ADMITTED: Mapping[str, Form] = {"error": FAILED["error"], "ok": {**EACH, "refusal": MAYBE}}
ANSWERED: Mapping[str, Form] = {**FAILED, "ok": {**EACH, "complex": FLAG}}


def verify(said: Mapping[str, Any], forms: Mapping[str, Form]) -> None:
    """Raise ``ChannelError`` unless what a worker says has one of the forms, by its status."""
    status = said.get("status")
    if not _one_of(status, forms):
        _refuse(f"status must be one of {', '.join(forms)}", status)
    form = forms[str(status)]
    for name, rule in form.items():
        if name not in said:
            message = f"what is {status} must have {name}, got none"
            raise ChannelError(message)
        if not rule.holds(said[name]):
            _refuse(f"{name} must be {rule.words}", said[name])
    further = [name for name in said if name not in form and name != "status"]
    if further:
        _refuse(f"what is {status} must have nothing but {', '.join(form)}", further[0])


def verify_results(said: Mapping[str, Any], values: Sequence[np.ndarray], names: Sequence[str]) -> None:
    """Raise ``ChannelError`` unless a reply to a call has the results of those names, each with its array and its dtype, or no array."""
    if said["status"] != "ok":
        names = ()
    elif sorted(said["results"]) != sorted(names) or said["dtypes"].keys() != set(names):
        _refuse(f"results, and what has a dtype, must be {', '.join(names)}", [*said["results"], *said["dtypes"]])
    if len(values) != len(names):
        message = f"a reply must hold {len(names)} arrays, got {len(values)}"
        raise ChannelError(message)
    wrong = [value.dtype.name for value in values if value.dtype not in NUMBERS]
    if wrong:
        _refuse("results must be sent as float64 or int64", wrong[0])


def _refuse(rule: str, got: object) -> NoReturn:
    message = f"{rule}, got {shown(got)}"
    raise ChannelError(message)
