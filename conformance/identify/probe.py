"""A function with a way to call it: what probing fills changes from call to call, settings stay until they are changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.identify.asking import Refused, Signature, Strangers
from conformance.identify.plans import SPELLED, Plan
from conformance.isolate import traces
from conformance.spec.choices import TYPICAL, candidates
from conformance.spec.declarations import operations
from conformance.spec.words import SETTINGS

#: What settings are first, where a call needs them and the declared default, or the first value that is usual, wouldn't show much.
FIRST: Mapping[str, object] = {
    "width": 64,
    "rotary_dim": 32,
    "turned_pairs": 16,
    "axes": (32, 32),
    "sections": (12, 10, 10),
    "factor": 4.0,
    "original_length": 2_048,
    "length": 1,
    "max_length": 8_192,
    "num_heads": 8,
    "bidirectional": True,
    "bits": 20,
    "fastest": "slowed",
}
#: What they are changed to, in order to see whether the function follows, where the last value that is usual isn't read by few tokens.
SECOND: Mapping[str, object] = {
    "width": 32,
    "rotary_dim": 16,
    "turned_pairs": 8,
    "axes": (16, 48),
    "sections": (16, 8, 8),
    "start_tokens": 7,
    "bits": 12,
    "shift": 3,
    "sides": (14, 14),
    "length": None,
}
FEW_ROWS = 16
#: Lengths of functions that turn, beyond every position that is asked for.
FAR = {"original_length": 3 << 16, "length": 1 << 20, "max_length": 1 << 22}
#: The length of functions of queries and keys, which may make tables of so many positions for each of two results.
OF_TABLES = 1 << 13
#: Calls of more numbers than that, back and forth, aren't kept: some functions would have gigabytes of them.
MOST_KEPT = 1 << 21
#: Said of a result that shows nothing.
EMPTY = "the result must hold numbers, got none"


@dataclass(frozen=True)
class Probe:
    """One function, how it is called, and its settings."""

    strangers: Strangers
    signature: Signature
    plan: Plan
    settings: Mapping[str, Any]
    dtype: str = "float32"
    seen: list["Exchange"] | None = None
    strided: bool = False

    def __call__(self, **arrays: Any) -> list[np.ndarray]:
        """Return what the function returns for these arrays, or raise ``Refused``."""
        try:
            returned = self.answer(arrays)[0]
        except Refused as refusal:
            if not refusal.exceeded:  # another time it may not
                self._note(arrays, refusal)
            raise
        self._note(arrays, returned)
        return returned

    def answer(self, arrays: Mapping[str, Any]) -> tuple[list[np.ndarray], bool]:
        """Return what the function returns, and whether it is one complex array."""
        values = {**self.settings, **arrays}
        extra = {name: role for name, role in self.plan.optional.items() if role in self.settings}
        keywords = {name: values[role] for name, role in {**self.plan.keywords, **extra}.items()}
        arguments = [values[role] for role in self.plan.arguments]
        returned = self.strangers.answer(self.signature.index, arguments, keywords, self.dtype, strided=self.strided)
        if not returned[0] or not all(part.size for part in returned[0]):
            raise Refused(EMPTY)
        return returned

    def repeats(self, exchanges: Sequence["Exchange"]) -> bool:
        """Whether the function answers calls as it did before, to the bit."""
        return all(exchange.again(self.at(exchange.probe.dtype)) for exchange in exchanges)

    def _note(self, arrays: Mapping[str, Any], answer: list[np.ndarray] | Refused) -> None:
        every = (*arrays.values(), *(answer if isinstance(answer, list) else ()))
        size = sum(value.size for value in every if isinstance(value, np.ndarray))
        if self.seen is not None and size <= MOST_KEPT:
            given = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arrays.items()}  # written to later
            self.seen.append(Exchange(replace(self, seen=None), given, answer))

    def having(self, **settings: Any) -> "Probe":
        """Return the same with other settings."""
        return replace(self, settings={**self.settings, **settings})

    def at(self, dtype: str) -> "Probe":
        """Return the same in another dtype."""
        return replace(self, dtype=dtype)

    def takes(self, role: str) -> bool:
        """Whether a call has an argument of that role."""
        return role in self.plan.needs

    def named(self, role: str) -> str:
        """Return what the function calls its argument of that role."""
        given = dict(zip(self.plan.arguments, (each.name for each in self.signature.positional), strict=False))
        return given.get(role) or next((name for name, other in self.plan.keywords.items() if other == role), role)

    def follows(self, role: str) -> bool:
        """Whether the function has an argument of that role, which a call may leave out."""
        return role in {*self.plan.needs, *self.plan.optional.values()}

    @property
    def asked(self) -> Mapping[str, Any]:
        """What a call asks for: what it is set to, and the defaults of the settings that it leaves out."""
        arguments = (*self.signature.positional, *self.signature.keywords)
        left = {self.plan.optional[each.name]: each.default for each in arguments if each.name in self.plan.optional}
        return {**left, **self.settings}


@dataclass(frozen=True)
class Exchange:
    """One call and what came back: arrays, or why there are none."""

    probe: Probe
    arrays: Mapping[str, Any]
    answer: list[np.ndarray] | Refused

    @property
    def answered(self) -> bool:
        """Whether arrays came back."""
        return not isinstance(self.answer, Refused)

    @property
    def telling(self) -> bool:
        """Whether numbers came back that aren't all zero, as they are where what fades has left its dtype."""
        return not isinstance(self.answer, Refused) and any(np.any(each) for each in self.answer)

    def again(self, probe: Probe) -> bool:
        """Whether the same comes back."""
        try:
            answer = probe.answer(self.arrays)[0]
        except Refused as refusal:
            return str(refusal) == str(self.answer)
        return not isinstance(self.answer, Refused) and len(answer) == len(self.answer) and all(map(traces.equal, answer, self.answer))


def first(strangers: Strangers, signature: Signature, plan: Plan, given: Mapping[str, Any]) -> Probe:
    """Return a function with the first settings of a plan, those that a person gave before ours."""
    ours: dict[str, Any] = {role: usual(role, plan) for role in plan.needs if role in SETTINGS}
    if "table" in plan.needs and "num_buckets" not in plan.needs and "max_distance" in ours:
        ours["max_distance"] = FEW_ROWS
    if "length" in ours and "x" in plan.needs:
        ours |= {name: FAR[name] for name in FAR if name in ours}
    elif "length" in ours and "q" in plan.needs and {"positions", "query_positions"} & {*plan.needs}:
        ours["length"] = OF_TABLES
    if {"order", "layout"} <= ours.keys() and {"sections", "axes"} & ours.keys():  # neighbours are the same pairs in two orders
        ours["layout"] = "half"
    named = {role: value for role, value in given.items() if role in {*plan.needs, *plan.optional.values()}}
    return Probe(strangers, signature, plan, {**ours, **named})


def usual(role: str, plan: Plan) -> object:
    """Return what a setting is first: what operations on the same arrays declare, where one does."""
    told = {need for need in plan.needs if need in SETTINGS}
    whole = [one for one in plan.operations() if told <= {SPELLED.get(name, name) for name in one.parameters}]
    known = (*whole, *plan.operations(), *operations().values())
    parameter = next(one.parameters[name] for one in known for name in one.parameters if SPELLED.get(name, name) == role)
    if role in FIRST:
        return FIRST[role]
    return next(iter(candidates(parameter))) if parameter.required else parameter.default


def others(role: str) -> Sequence[object]:
    """Return what a setting may be changed to, the best first; nothing where no other value is known."""
    if role in SECOND:
        return [value for value in (SECOND[role], FIRST.get(role)) if value is not None] if SECOND[role] is not None else ()
    return [value for value in reversed(TYPICAL.get(role, ())) if value is not None]
