"""Find a way to call a function that shows what it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.identify import plans
from conformance.identify.asking import OutOfTimeError, Refused, Signature, Strangers
from conformance.identify.findings import Identity
from conformance.identify.kinds import look
from conformance.identify.plans import Plan
from conformance.identify.probe import Exchange, Probe, first, others
from conformance.identify.turns import Turns
from conformance.spec import words
from conformance.spec.declarations import operations

#: The factor and the base with which a rule with a factor is looked for, where the function has no usual ones.
FACTOR, BASE = 4.0, 10_000.0
#: Settings whose first value code may refuse: positions that aren't moved, and coordinates of no image.
REFUSABLE = ("shift", "sides")
#: How often the process may end until no other way to call is tried.
FEWEST = 3
#: What is said of code that turns by the numbers that were tried as positions.
SWAPPED, TURNED = "its first result is made of {}, though it takes {} first: it is called by name", {"q": "queries", "k": "keys"}
ANGLES = "unknown: every pair turns by what was given for the token's position itself, so that the function may take angles"
OF_ANGLES = "which operation it is: where it takes an angle for each pair, write a function of x, cos, sin that gives it theirs"


@dataclass(frozen=True)
class Found:
    """A function and what it is; ``tried`` are the calls that gave nothing, with what came back, ``ended`` those that ended its process.

    ``untried`` are those that weren't asked any more; ``asked`` are calls with their answers, ``before`` those on tables that were tried
    before them; ``broken`` is what broke off the look at them.
    """

    signature: Signature
    identity: Identity | None
    probe: Probe | None = None
    tried: tuple[tuple[str, str], ...] = ()
    ended: int = 0
    untried: tuple[str, ...] = ()
    asked: tuple[Exchange, ...] = ()
    before: tuple[Exchange, ...] = ()
    broken: Exception | None = None

    @property
    def answered(self) -> bool:
        """Whether any call was answered."""
        return _any_answered((*self.before, *self.asked))


def recognise(strangers: Strangers, signature: Signature, said: Plan | None, given: Mapping[str, Any]) -> Found:
    """Return the first way to call a function that shows a known scheme, else the first that shows anything."""
    tried: list[tuple[str, str]] = []
    best: tuple[Identity, Probe] | None = None
    endings, guessed = 0, False
    probes = _probes(strangers, signature, said, given)
    untried: tuple[str, ...] = ()
    asked: tuple[Exchange, ...] = ()
    before: tuple[Exchange, ...] = ()
    for probe in probes:
        try:
            identity = look(probe)
        except OutOfTimeError:
            untried = tuple(dict.fromkeys(each.plan.words() for each in (probe, *probes)))
            break
        except Refused as refusal:
            tables = said is None and probe.takes("like")  # tried of everything that takes vectors, and nothing to tell of most
            tried += [] if tables else [(probe.plan.words(), str(refusal))]
            before = (*before, *(probe.seen or ())) if tables else before
            asked = asked if tables or _any_answered(asked) else (*asked, *(probe.seen or ()))
            endings += refusal.fatal
            if endings == FEWEST:
                break
            continue
        except Exception as error:  # noqa: BLE001  answers that change may break anything; where they don't, it is raised
            return Found(signature, None, None, tuple(tried), endings, asked=tuple(probe.seen or ()), before=before, broken=error)
        if identity.operation is not None:
            return replace(_known(signature, probe, identity), tried=tuple(tried), before=before)
        if probe.plan.guessed and identity.values_of is None:
            tried.append((probe.plan.words(), f"no known scheme ({identity.what})"))
            guessed, asked = True, asked or tuple(probe.seen or ())
        else:
            best = _better(best, (identity, probe))
        if identity.values_of is not None and probe.takes("like"):
            break  # tables are tables, however else it may be called
    if best is None and guessed and not untried:
        return Found(signature, _unknown(signature, [call for call, _ in tried]), None, tuple(tried), asked=asked, before=before)
    identity_, probe_ = best or (None, None)
    asked = asked if probe_ is None else tuple(probe_.seen or ())
    shown = None if probe_ is None or identity_ is None else _answered_in(identity_, probe_)
    return Found(signature, identity_, shown, tuple(tried), endings, untried, asked, before)


def _known(signature: Signature, probe: Probe, identity: Identity) -> Found:
    """Return a function that gives what an operation gives; of one whose names say nothing, it may be another."""
    if probe.plan.guessed and _by_angles(identity):
        return Found(signature, Identity(None, ANGLES, unseen=(OF_ANGLES,)), asked=tuple(probe.seen or ()))
    whole, called = _in_order(*_by_contract(*_by_factor(*_by_part(probe, identity))))
    return Found(signature, whole, _answered_in(whole, called), asked=tuple(called.seen or ()))


def _in_order(identity: Identity, probe: Probe) -> tuple[Identity, Probe]:
    """Return the call by name, in the order of the results, where queries and keys come back in another order than they are taken."""
    view, plan = identity.view, probe.plan
    taken = [role for role in (*plan.arguments, *plan.keywords.values()) if role in ("q", "k")]
    if not isinstance(view, Turns) or len(taken) != len(TURNED) or plan.keywords or view.unlike():
        return identity, probe
    try:
        first = view.first_of()
    except (Refused, OutOfTimeError):
        return identity, probe
    if first == taken[0]:
        return identity, probe
    named = {argument.name: role for argument, role in zip(probe.signature.positional, plan.arguments, strict=False)}
    by_name = replace(plan, arguments=(), keywords=dict(sorted(named.items(), key=lambda each: each[1] != first)))
    said = replace(identity, seen=(*identity.seen, SWAPPED.format(*(TURNED[role] for role in (first, taken[0])))))
    return replace(said, view=replace(view, probe=replace(view.probe, plan=by_name))), replace(probe, plan=by_name)


def _better(best: tuple[Identity, Probe] | None, other: tuple[Identity, Probe]) -> tuple[Identity, Probe]:
    """Return the one that names an operation, else the first."""
    return other if best is None or (other[0].values_of is not None and best[0].values_of is None) else best


def _by_angles(identity: Identity) -> bool:
    """Whether pairs turn all alike, by the position itself, as with the base 1 that no model has."""
    base = identity.parameters.get("base")
    return base is not None and base.holds(1.0)


def _answered_in(identity: Identity, probe: Probe) -> Probe:
    """Return a call in the dtype in which it was answered."""
    return probe.at(getattr(identity.view, "probe", probe).dtype)


def _any_answered(asked: Sequence[Exchange]) -> bool:
    return any(exchange.answered for exchange in asked)


def _unknown(signature: Signature, tried: Sequence[str]) -> Identity:
    """Return what is to be said of a function that answers, but of which no name says what its arguments are."""
    names = ", ".join(argument.name for argument in (*signature.positional, *signature.keywords) if argument.required)
    what = f"unknown: the names of its arguments ({names}) don't say how it is called, and no call that was tried shows a known scheme"
    how = plans.otherwise(signature) or plans.how(signature, tried)
    return Identity(None, what, unseen=(f"how it is called: {how}",))


def _probes(strangers: Strangers, signature: Signature, said: Plan | None, given: Mapping[str, Any]) -> Iterator[Probe]:
    """Yield ways to call with the first settings, and with others where a setting may be what is refused; calls are kept."""
    for plan in [said] if said is not None else plans.candidates(signature):
        yield replace(first(strangers, signature, plan, given), seen=[])
        for setting in (each for each in REFUSABLE if each in plan.needs and each not in given):
            yield replace(first(strangers, signature, plan, {**given, setting: others(setting)[0]}), seen=[])


def _by_part(probe: Probe, identity: Identity) -> tuple[Probe, Identity]:
    """Return the call whose optional width is how many channels turn, where the rest of a head doesn't."""
    name = next((name for name, role in probe.plan.optional.items() if role == "width"), None)
    told = "rotary_dim" in {*probe.plan.needs, *probe.plan.optional.values()}
    if name is None or told or "rotary_dim" not in operations()[str(identity.operation)].parameters:
        return probe, identity
    part = replace(probe, plan=replace(probe.plan, optional={**probe.plan.optional, name: "rotary_dim"}), seen=[])
    return part, look(part)


def _by_factor(probe: Probe, identity: Identity) -> tuple[Probe, Identity]:
    """Return the call that is given a factor, where the function has an argument for one and is a rule with a factor then.

    Without one it is a simpler rule: plain rope with a raised base, as NTK-aware scaling is at one factor.
    """
    known, signature = operations()[str(identity.operation)].parameters, probe.signature
    arguments = {argument.name: argument for argument in (*signature.positional, *signature.keywords)}
    base = next((one.default for one in arguments.values() if "base" in words.roles(one.name)), None)
    for name in arguments if "base" in known and "factor" not in known else ():
        default = arguments[name].default
        if not _may_be_a_factor(name) or (name in words.SETTINGS and name in known):
            continue
        given = float(default) if isinstance(default, int | float) and default > 1 else FACTOR
        usual = {"base": float(base) if isinstance(base, int | float) else BASE}
        settings = {**usual, **probe.settings, "factor": given}
        with_factor = replace(probe, plan=_given_factor(probe.plan, name), settings=settings, seen=[])
        try:
            again = look(with_factor)
        except (Refused, OutOfTimeError):
            continue
        seen = again.parameters.get("factor")
        if again.operation is not None and seen is not None and seen.holds(given):
            return with_factor, again
    return probe, identity


def _may_be_a_factor(name: str) -> bool:
    """Whether code calls a factor by a name: also as HunYuan and exllama call NTK's."""
    return "factor" in words.roles(name) or "alpha" in name.split("_")


def _given_factor(plan: Plan, name: str) -> Plan:
    """Return a plan in which the argument of that name is a factor."""
    arguments = tuple("factor" if role == name else role for role in plan.arguments)
    keywords = plan.keywords if "factor" in arguments else {**plan.keywords, name: "factor"}
    return replace(plan, arguments=arguments, keywords=keywords, optional={key: role for key, role in plan.optional.items() if key != name})


def _by_contract(probe: Probe, identity: Identity) -> tuple[Identity, Probe]:
    """Return the call with all parameters of the operation, where the function takes any keyword and is the same then."""
    plan = plans.contract(str(identity.operation))
    if not probe.signature.any_keyword or set(plan.needs) <= set(probe.plan.needs):
        return identity, probe
    whole = replace(first(probe.strangers, probe.signature, plan, probe.settings), dtype=probe.dtype, seen=[])
    try:
        again = look(whole)
    except (Refused, OutOfTimeError):
        return identity, probe
    return (again, whole) if again.operation == identity.operation else (identity, probe)
