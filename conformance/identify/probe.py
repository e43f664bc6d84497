"""A function with a way to call it: what probing fills changes from call to call, settings stay until they are changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.identify.asking import Refused, Signature, Strangers
from conformance.identify.plans import Plan

#: What settings are first, where a call needs them: none is a usual value by accident of the other.
FIRST: Mapping[str, object] = {
    "width": 64,
    "rotary_dim": 32,
    "placement": "first",
    "base": 10_000.0,
    "layout": "half",
    "direction": "positive",
    "factor": 4.0,
    "original_length": 2_048,
    "alpha": 1.0,
    "beta": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": True,
    "mscale": None,
    "mscale_all_dim": None,
    "attention_factor": None,
    "length": 1,
    "max_length": 8_192,
    "start_tokens": 0,
    "spacing": "paper",
    "odd": "error",
    "scale": 1.0,
    "num_heads": 8,
    "max_bias": 8.0,
    "form": "row",
    "bidirectional": True,
    "num_buckets": 32,
    "max_distance": 128,
    "convention": "t5",
    "sign": "key_minus_query",
    "bits": 20,
    "outside": "raise",
    "shift": 0,
}
#: What they are changed to, in order to see whether the function follows; choices are changed to every other one.
SECOND: Mapping[str, object] = {
    "width": 32,
    "rotary_dim": 16,
    "base": 5_000.0,
    "factor": 8.0,
    "original_length": 1_024,
    "alpha": 2.0,
    "beta": 16.0,
    "low_freq_factor": 2.0,
    "high_freq_factor": 8.0,
    "beta_fast": 16.0,
    "beta_slow": 2.0,
    "truncate": False,
    "attention_factor": 1.5,
    "max_length": 32_768,
    "start_tokens": 7,
    "scale": 0.5,
    "num_heads": 12,
    "max_bias": 4.0,
    "bidirectional": False,
    "num_buckets": 16,
    "max_distance": 64,
    "bits": 12,
    "shift": 3,
}
FEW_ROWS = 16


@dataclass(frozen=True)
class Probe:
    """One function, how it is called, and its settings."""

    strangers: Strangers
    signature: Signature
    plan: Plan
    settings: Mapping[str, Any]
    dtype: str = "float32"
    seen: list["Exchange"] | None = None

    def __call__(self, **arrays: Any) -> list[np.ndarray]:
        """Return what the function returns for these arrays, or raise ``Refused``."""
        try:
            returned = self.answer(arrays)[0]
        except Refused as refusal:
            self._note(arrays, str(refusal))
            raise
        self._note(arrays, returned)
        return returned

    def answer(self, arrays: Mapping[str, Any]) -> tuple[list[np.ndarray], bool]:
        """Return what the function returns, and whether it is one complex array."""
        values = {**self.settings, **arrays}
        extra = {name: role for name, role in self.plan.optional.items() if role in self.settings}
        keywords = {name: values[role] for name, role in {**self.plan.keywords, **extra}.items()}
        arguments = [values[role] for role in self.plan.arguments]
        return self.strangers.answer(self.signature.index, arguments, keywords, self.dtype)

    def repeats(self, exchanges: Sequence["Exchange"]) -> bool:
        """Whether the function answers calls as it did before, to the bit."""
        return all(exchange.again(replace(self, dtype=exchange.dtype, seen=None)) for exchange in exchanges)

    def _note(self, arrays: Mapping[str, Any], answer: list[np.ndarray] | str) -> None:
        if self.seen is not None:
            self.seen.append(Exchange(arrays, answer, self.dtype))

    def having(self, **settings: Any) -> "Probe":
        """Return the same with other settings."""
        return replace(self, settings={**self.settings, **settings})

    def at(self, dtype: str) -> "Probe":
        """Return the same in another dtype."""
        return replace(self, dtype=dtype)

    def takes(self, role: str) -> bool:
        """Whether a call has an argument of that role."""
        return role in self.plan.needs


@dataclass(frozen=True)
class Exchange:
    """One call and what came back: arrays, or why there are none."""

    arrays: Mapping[str, Any]
    answer: list[np.ndarray] | str
    dtype: str

    def again(self, probe: Probe) -> bool:
        """Whether the same comes back."""
        try:
            answer = probe(**self.arrays)
        except Refused as refusal:
            return str(refusal) == self.answer
        return not isinstance(self.answer, str) and len(answer) == len(self.answer) and all(map(np.array_equal, answer, self.answer))


def first(strangers: Strangers, signature: Signature, plan: Plan, given: Mapping[str, Any]) -> Probe:
    """Return a function with the first settings of a plan, those that a person gave before ours."""
    ours: dict[str, Any] = {role: FIRST[role] for role in plan.needs if role in FIRST}
    if plan.kind == "encode" and "layout" in ours:
        ours["layout"] = "halves"
    if plan.kind == "kernel" and "form" in ours:
        ours["form"] = "log"
    if "table" in plan.needs and "num_buckets" not in plan.needs and "max_distance" in ours:
        ours["max_distance"] = FEW_ROWS
    if "max_length" in ours and "x" in plan.needs:
        ours |= {"original_length": 1 << 20, "length": 1 << 20, "max_length": 1 << 22}
    named = {role: value for role, value in given.items() if role in {*plan.needs, *plan.optional.values()}}
    return Probe(strangers, signature, plan, {**ours, **named})
