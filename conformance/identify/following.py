"""Which settings a function follows: each is changed, and what the function is then must have changed with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from conformance.identify import grids
from conformance.identify.asking import Refused
from conformance.identify.findings import Confidence, Identity, Seen
from conformance.identify.kinds import look
from conformance.identify.plans import SPELLED
from conformance.identify.probe import Exchange, Probe, others
from conformance.identify.turns import Turns
from conformance.spec.choices import candidates, obeys
from conformance.spec.declarations import operations

#: How many calls must be answered alike for a setting to change nothing.
REPLAYED = 3
ELSEWHERE = 24
Parameters = Mapping[str, Seen]
#: How many other numbers are asked for: for some, another operation gives the same.
NUMBERS = 4
#: What is seen where another operation gives what came back, as plain rope does for a base at which no pair is slow.
OTHER: Parameters = MappingProxyType({})
UNTOLD, UNSURE = "changes, in which way isn't seen", (Confidence.LIKELY, Confidence.GUESS)
#: The width at which code is looked at that is told one.
NARROWER = 32


@dataclass(frozen=True)
class Setting:
    """What became of one parameter: the values that it can have (``None``: any), what was seen, and what is to be said of it.

    ``unset`` says whether it may be left out, or 0, where the operation allows that.
    """

    name: str
    seen: Seen | None
    allowed: tuple[object, ...] | None = None
    note: str = ""
    unset: bool = True


def settings(identity: Identity, probe: Probe) -> tuple[Setting, ...]:
    """Return what becomes of every parameter of the operation that was found."""
    exchanges: list[Exchange] = []
    traced = Probe(probe.strangers, probe.signature, probe.plan, probe.settings, probe.dtype, exchanges)
    try:
        _look(identity, traced)
    except Refused:  # it answered before: nothing can be said of what it follows
        return ()
    telling, refused = [each for each in exchanges if each.telling], [each for each in exchanges if not each.answered]
    again = [*telling[-REPLAYED:], *refused[-REPLAYED:]] or exchanges[-REPLAYED:]
    return tuple(_Asking(identity, probe, again).setting(name) for name in _parameters(identity))


def _look(identity: Identity, probe: Probe) -> Identity:
    """Return what a function is with other settings; of positions on several axes it is known how it is called."""
    return grids.again(identity.view, probe) if isinstance(identity.view, grids.Grid) else look(probe)


def restrictions(found: Sequence[Setting]) -> dict[str, object]:
    """Return what a declaration must say: the values of parameters that the function doesn't follow."""
    return {s.name: s.allowed[0] if len(s.allowed) == 1 else s.allowed for s in found if s.allowed is not None}


def role(parameter: str) -> str:
    """Return the role of an operation's parameter."""
    return SPELLED.get(parameter, parameter)


def _parameters(identity: Identity) -> Sequence[str]:
    return list(operations()[str(identity.operation)].parameters)


@dataclass(frozen=True)
class _Asking:
    """A function whose settings are changed one by one."""

    identity: Identity
    probe: Probe
    exchanges: Sequence[Exchange]

    def setting(self, name: str) -> Setting:
        """Return what a parameter does."""
        seen = self.identity.parameters.get(name)
        if not self.probe.follows(role(name)):
            free = seen is None or name in self.identity.follows
            return Setting(name, seen, None if seen is None or free else (seen.value,), "" if seen is None else seen.why)
        if role(name) == "width":
            return self._width(name, seen)
        return self._concluded(name, seen, self._answers(name))

    def _width(self, name: str, seen: Seen | None) -> Setting:
        """Return what becomes of the width, which is what a call is told unless another shows otherwise."""
        if seen is None or seen.why:
            return Setting(name, seen, None if seen is None else (seen.value,), "" if seen is None else seen.why)
        plan = self.probe.plan
        told = {argument: kind for argument, kind in plan.optional.items() if kind == "width"}
        optional = {argument: kind for argument, kind in plan.optional.items() if kind != "width"}
        probe = replace(self.probe, plan=replace(plan, keywords={**plan.keywords, **told}, optional=optional))
        found = self._looked(probe.having(width=NARROWER))
        if found is None or found is OTHER or found.get(name, Seen(NARROWER)).holds(NARROWER):
            return Setting(name, seen)
        return Setting(name, replace(seen, confidence=Confidence.CERTAIN), (seen.value,), "whatever its argument is")

    def _answers(self, name: str) -> Mapping[object, Parameters | None]:
        """Return what every choice shows, or the first other number that shows the operation."""
        values = self._others(name)
        if any(isinstance(value, str | bool) for value in values):
            return {value: self._asked(self.probe, name, value) for value in values}
        answers = ((value, self._asked(self.probe, name, value)) for value in values)
        last = next(((value, found) for value, found in answers if found is not OTHER), None)
        return dict([last] if last is not None else [(value, OTHER) for value in values[:1]])

    def _concluded(self, name: str, seen: Seen | None, answers: Mapping[object, Parameters | None]) -> Setting:
        shown = {value: None if found is None else found.get(name) for value, found in answers.items()}
        right = tuple(value for value, found in shown.items() if found is not None and found.holds(value))
        moved = () if seen is None else tuple(other for value in right for other in self._moved(name, answers[value] or {}))
        if seen is not None and moved:
            return Setting(name, seen, (seen.value,), f"changes {' and '.join(dict.fromkeys(moved))} too, by no known rule")
        asked = self.probe.settings.get(role(name))
        unasked = not answers and (asked is None or (seen is not None and seen.holds(asked)))  # for no other value
        if seen is None or unasked or (right and len(right) == len(answers)):
            return Setting(name, seen, unset=self._unset(name))
        if right and isinstance(right[0], str | bool):
            return Setting(name, seen, right)
        changed = [found for found in answers.values() if found is not None and (name not in found or found[name].value != seen.value)]
        if any(found is OTHER or (name in found and found[name].confidence in UNSURE) for found in changed):
            return Setting(name, seen, (seen.value,), UNTOLD)
        if changed:
            return Setting(name, seen, (seen.value,), "changes, but not to what is asked for")
        return self._fixed(name, seen, answers)

    def _moved(self, name: str, found: Parameters) -> Iterator[str]:
        """Yield the other parameters that are certain, and certainly others, where one has another value."""
        for other, seen in self.identity.parameters.items():
            now = found.get(other)
            sure = now is not None and {now.confidence, seen.confidence} == {Confidence.CERTAIN}
            if other != name and now is not None and sure and not (seen.holds(now.value) or now.holds(seen.value)):
                yield other

    def _fixed(self, name: str, seen: Seen, answers: Mapping[object, object]) -> Setting:
        """Return a parameter that changes nothing, or only beside one that may be left out, or at a width for which none is remembered."""
        if any(self._shows(beside, {name: value, **beside}) for value in answers for beside in self._others_set(name)):
            return Setting(name, seen, unset=self._unset(name))
        if self.probe.takes("width") and any(self._shows({"width": ELSEWHERE}, {name: value}) for value in answers):
            return Setting(name, seen, None, "counts in the first call of a width only: later calls remember it")
        return Setting(name, seen, (seen.value,))

    def _others_set(self, name: str) -> Iterator[Mapping[str, object]]:
        """Yield values of what may be left out and is, one at a time."""
        for other, seen in self.identity.parameters.items():
            if other != name and seen.value is None and self.probe.follows(role(other)):
                yield from ({other: value} for value in self._others(other)[:1])

    def _shows(self, beside: Mapping[str, object], asked: Mapping[str, object]) -> bool:
        """Whether what is asked for shows, beside other settings, so that no other value would do."""
        probe = self.probe.having(**{role(name): value for name, value in {**beside, **asked}.items()})
        found = self._looked(probe) or {}
        return all(name in found and found[name].holds(value) and found[name].confidence not in UNSURE for name, value in asked.items())

    def _unset(self, name: str) -> bool:
        """Whether a parameter that is followed may be left out, or have no effect as 0 has."""
        parameter = operations()[str(self.identity.operation)].parameters[name]
        if not parameter.optional:
            return True
        values = [value for value in (None, 0.0) if obeys(parameter, value)]
        return all(self._holds(self.probe, name, value) for value in values)

    def _holds(self, probe: Probe, name: str, value: object) -> bool:
        found = (self._looked(probe.having(**{role(name): value})) or {}).get(name)
        return found is not None and found.holds(value)

    def _others(self, name: str) -> tuple[object, ...]:
        """Return the values to ask for: every choice, or one that is another number."""
        parameter = operations()[str(self.identity.operation)].parameters[name]
        if parameter.choices:
            return parameter.choices
        if parameter.kind is bool:
            return (True, False)
        own = self.identity.parameters.get(name)
        usual = others(role(name))
        taken = [value for value in usual if obeys(parameter, value)] or (candidates(parameter) if usual else ())
        known = [value for value in taken if value != self.probe.settings.get(role(name))]
        return tuple(value for value in known if own is None or not own.holds(value))[:NUMBERS]

    def _asked(self, probe: Probe, name: str, value: object) -> Parameters | None:
        """Return the parameters that show when one is asked to have a value: ``OTHER`` of another operation, ``None`` where it refuses.

        A value that is refused may be taken beside another choice.
        """
        found = self._shown(probe.having(**{role(name): value}))
        for beside in self._beside(name) if found is None and isinstance(value, str) else ():
            again = self._shown(probe.having(**{role(name): value}, **{role(other): choice for other, choice in beside.items()}))
            if (
                again is not None
                and again is not OTHER
                and all(again.get(other, Seen(choice)).holds(choice) for other, choice in beside.items())
            ):
                return {other: seen for other, seen in again.items() if other not in beside}
        return found

    def _beside(self, name: str) -> Iterator[Mapping[str, object]]:
        """Yield other choices than those that a call is set to, one at a time."""
        for other, parameter in operations()[str(self.identity.operation)].parameters.items():
            if other != name and self.probe.follows(role(other)):
                yield from ({other: choice} for choice in parameter.choices if choice != self.probe.settings.get(role(other)))

    def _shown(self, changed: Probe) -> Parameters | None:
        if not self.identity.follows and changed.repeats(self.exchanges):  # what is followed shows in calls that are set to it
            return self.identity.parameters
        return self._looked(changed)

    def _looked(self, probe: Probe) -> Parameters | None:
        try:
            found = _look(self.identity, probe)
        except Refused:
            return None
        if found.operation == self.identity.operation:
            known = found.view.set_to() if isinstance(found.view, Turns) else {}
            return {**{name: Seen(value) for name, value in known.items()}, **found.parameters}
        return {} if found.operation is None and found.values_of is None else OTHER
