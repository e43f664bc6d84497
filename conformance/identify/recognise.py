"""Find a way to call a function that shows what it is."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.identify import plans
from conformance.identify.asking import OutOfTimeError, Refused, Signature, Strangers
from conformance.identify.findings import Identity
from conformance.identify.kinds import look
from conformance.identify.plans import Plan
from conformance.identify.probe import Exchange, Probe, first, others

#: How often the process may end until no other way to call is tried.
FEWEST = 3


@dataclass(frozen=True)
class Found:
    """A function and what it is; ``tried`` are the calls that gave nothing, with what came back, ``ended`` those that ended its process.

    ``untried`` are those for which no time was left; ``refused`` was refused after another call was answered.
    """

    signature: Signature
    identity: Identity | None
    probe: Probe | None = None
    tried: tuple[tuple[str, str], ...] = ()
    ended: int = 0
    untried: tuple[str, ...] = ()
    refused: Exchange | None = None


def recognise(strangers: Strangers, signature: Signature, said: Plan | None, given: Mapping[str, Any]) -> Found:
    """Return the first way to call a function that shows a known scheme, else the first that shows anything."""
    tried: list[tuple[str, str]] = []
    best: tuple[Identity, Probe] | None = None
    endings, guessed = 0, False
    probes = _probes(strangers, signature, said, given)
    untried: tuple[str, ...] = ()
    late: Exchange | None = None
    for probe in probes:
        try:
            identity = look(probe)
        except OutOfTimeError:
            untried = tuple(dict.fromkeys(each.plan.words() for each in (probe, *probes)))
            break
        except Refused as refusal:
            tried.append((probe.plan.words(), str(refusal)))
            late = late or _refused_late(probe.seen or [])
            endings += refusal.fatal
            if endings == FEWEST:
                break
            continue
        if identity.operation is not None:
            whole, called = _by_contract(probe, identity)
            return Found(signature, whole, called, tuple(tried))
        if probe.plan.guessed and identity.values_of is None:
            tried.append((probe.plan.words(), f"no known scheme ({identity.what})"))
            guessed = True
        elif best is None or (identity.values_of is not None and best[0].values_of is None):
            best = (identity, probe)
    if best is None and guessed and not untried:
        return Found(signature, _unknown(signature), None, tuple(tried))
    identity_, probe_ = best or (None, None)
    return Found(signature, identity_, probe_, tuple(tried), endings, untried, late)


def _refused_late(seen: Sequence[Exchange]) -> Exchange | None:
    """Return the first call that was refused after one was answered."""
    after = itertools.dropwhile(lambda exchange: isinstance(exchange.answer, str), seen)
    return next((exchange for exchange in after if isinstance(exchange.answer, str)), None)


def _unknown(signature: Signature) -> Identity:
    """Return what is to be said of a function that answers, but of which no name says what its arguments are."""
    names = ", ".join(argument.name for argument in (*signature.positional, *signature.keywords) if argument.required)
    what = f"unknown: the names of its arguments ({names}) don't say how it is called, and no call that was tried shows a known scheme"
    return Identity(None, what, unseen=("how it is called: say it with --call, as in --call 'f(x, positions)'",))


def _probes(strangers: Strangers, signature: Signature, said: Plan | None, given: Mapping[str, Any]) -> Iterator[Probe]:
    """Yield ways to call with the first settings, and with others where a setting may be what is refused; calls are kept."""
    for plan in [said] if said is not None else plans.candidates(signature):
        yield replace(first(strangers, signature, plan, given), seen=[])
        if "shift" in plan.needs and "shift" not in given:
            yield replace(first(strangers, signature, plan, {**given, "shift": others("shift")[0]}), seen=[])


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
