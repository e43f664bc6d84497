"""What code computes that takes a number from elsewhere, in the configuration or in another model, for the one that it should read."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from conformance.adapt.configured import DECLARED, Beside, beside
from conformance.checks.vector_checks import Checked
from conformance.diagnosis.candidates import Candidate
from conformance.isolate.described import Descriptor
from conformance.mutants.building import Function, altered, forcing
from conformance.mutants.rotary import Rotary, form_of, ladder_of_width
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector

#: Numbers of released models that are often written into code.
RELEASED: tuple[Mapping[str, float], ...] = (
    *({"factor": factor} for factor in (2.0, 4.0, 8.0, 16.0, 32.0, 40.0)),
    *({"original_length": 2**power} for power in range(11, 19)),
    {"low_freq_factor": 1.0, "high_freq_factor": 4.0},
    {"beta_fast": 32.0, "beta_slow": 1.0},
)
#: Where code took what other layers have, the whole head in an exponent, and the longest length for the original one.
OTHER_LAYERS = ("https://github.com/lablup/mlxcel/issues/1340",)
WHOLE_HEADS = ("https://github.com/pie-project/pie/pull/603",)
#: How far numbers of another shape may lie apart: half precision keeps them closer.
ROUGHLY = 0.02
OTHER_LENGTH = ("https://github.com/huggingface/transformers/issues/38224",)


def of_other_shape(candidates: Sequence[Candidate], checked: Sequence[Checked]) -> Candidate | None:
    """Return which candidate gives what came where all of that has other shapes than asked for, by these and roughly by its numbers."""
    came = [(one.vector, one.reply.values) for one in checked if one.reply is not None and one.vector.error is None]
    return next((each for each in candidates if came and all(_gives(each, vector, values) for vector, values in came)), None)


def _gives(candidate: Candidate, vector: Vector, came: Mapping[str, np.ndarray]) -> bool:
    asked = vector.expected or {}
    if any(np.shape(values) == asked[name].shape for name, values in came.items()):
        return False
    given = candidate.answer(vector) or {}
    alike = (np.shape(values) == given[name].shape for name, values in came.items() if name in given)
    return bool(given) and all(alike) and all(np.allclose(values, given[name], rtol=ROUGHLY, atol=0) for name, values in came.items())


def misread(descriptor: Descriptor, path: Path) -> list[Candidate]:
    """Return what an implementation could compute that reads a configuration wrongly."""
    said = {name: tuple(value) if isinstance(value, list) else value for name, value in descriptor.restrictions.items()}
    found = beside(path, descriptor.operation, said)
    if found is None:
        return []
    reader = _Reader(descriptor.operation, said, found)
    of_widths = (*reader.of_whole_heads(), *reader.of_other_heads(), *reader.of_other_shapes())
    return [*reader.of_other_layers(), *reader.of_other_lengths(), *reader.of_other_models(), *of_widths]


@dataclass(frozen=True)
class _Reader:
    """An operation, what the configuration says of its parameters, and what stands there besides."""

    operation: str
    said: Mapping[str, Any]
    beside: Beside

    def of_other_layers(self) -> Iterator[Candidate]:
        """Yield what other kinds of layers compute, and their base alone, or all but their base."""
        for kind, (other, parameters) in self.beside.others.items():
            if operations()[other].parameters.keys() == {"head_dim"} or not parameters.get("attn_scale", 1.0):
                continue  # what nothing is done by has a name without another kind
            said = f"the configuration says of {kind}"
            alike = parameters.get("head_dim") == self.said.get("head_dim")
            ways = {"as": (f"computes what {said}", other, parameters)} if alike else {}
            if "base" in self.said and "base" in parameters:
                base, own = {**self.said, "base": parameters["base"]}, {**parameters, "base": self.said["base"]}
                ways["base-of"] = f"takes the base that {said}", self.operation, base
                if alike and parameters.keys() - {*DECLARED, "base", "head_dim"}:  # what isn't scaled has names without another kind
                    ways["scaled-as"] = f"computes what {said}, but with the right base", other, own
            different = [(self.operation, self.said)]
            for word, (does, called, given) in ways.items():
                if (called, given) not in different:
                    different.append((called, given))
                    name, should = f"{word}={kind.replace(' ', '-')}", "compute what it says of these layers"
                    function = _called(called, given)
                    yield self._named(name, does, should, "choose by the kind of the layer that is asked for", function, OTHER_LAYERS)

    def of_other_lengths(self) -> Iterator[Candidate]:
        """Yield longer lengths in the place of the original one, and where the rule changes."""
        original, factor = self.said.get("original_length"), self.said.get("factor", 1.0)
        if original is None:
            return
        if "base" not in self.said:  # longer ones leave nothing of a factor, and that has a name
            longest = self.beside.longest or original
            if longest > original and "positions" in operations()[self.operation].arrays:
                yield self._instead({"original_length": longest}, OTHER_LENGTH)
            return
        longer = {"the longest one": self.beside.longest or original, "the factor times it": round(factor * original)}
        for length, name in {length: name for name, length in longer.items() if length != original}.items():
            if "length" in operations()[self.operation].parameters:
                does = f"follows the length of the sequence only beyond {length}, not beyond {original}"
                should, fix = "follow it beyond the original length", f"compare with the original length, not with {name}"
                yield self._named(f"switch-at={length}", does, should, fix, _beyond(self.operation, original, length), OTHER_LENGTH)
            yield self._instead({"original_length": length}, OTHER_LENGTH)

    def of_other_models(self) -> Iterator[Candidate]:
        """Yield numbers of other models."""
        longest = math.inf if "base" in self.said else self.beside.longest or math.inf
        for numbers in RELEASED:
            shorter = numbers.get("original_length", 0) < longest
            if shorter and numbers.keys() <= self.said.keys() and not numbers.items() <= self.said.items():
                other = {name: value for name, value in numbers.items() if value != self.said[name]}
                yield replace(self._instead(other), elsewhere=True)

    def of_whole_heads(self) -> Iterator[Candidate]:
        """Yield the first frequencies of the whole head, and those of a base that is raised as for it, where a part of it turns."""
        form, whole = form_of(self.operation), self.beside.head_dim
        if form is None or self.said.get("head_dim", whole) == whole:
            return
        should, fix = "take the width that turns", "multiply head_dim by partial_rotary_factor first, or read qk_rope_head_dim"
        for name, does, ladder, threads in (
            ("whole-head-raised", "raises the base by the width of the whole head", _raised, ()),
            ("whole-head-ladder", "takes the first frequencies of the whole head", _first, WHOLE_HEADS),
        ):
            function = Rotary(theta=partial(ladder, form.frequencies, whole)).of(self.operation)
            yield self._named(name, f"{does}, {whole}", should, fix, function, threads)

    def of_other_heads(self) -> Iterator[Candidate]:
        """Yield the frequencies of heads of another width that stands in the configuration, and such heads in the place of these."""
        form, own = form_of(self.operation), self.said.get("head_dim")
        if form is None or own is None:
            return
        should, fix = f"take those of {self.beside.head_dim}", "read head_dim of the layer that is asked for"
        for head, whose in self.beside.widths.items():
            width, heads = 2 * (head * own // (2 * self.beside.head_dim)), f"heads of {head} channels, {whose}"
            if width not in (0, own):
                ladder = Rotary(theta=partial(_of_width, form.frequencies, width)).of(self.operation)
                yield self._named(f"head_dim={head}", f"takes the frequencies of {heads}", should, fix, ladder, ())
            if 0 < width < own and self.operation.endswith(".rotate"):
                narrow = partial(_turned_so_far, Rotary().of(self.operation), width)
                yield self._named(f"head_dim={head}", f"turns {heads}, and leaves the others as they are", should, fix, narrow, ())

    def of_other_shapes(self) -> Iterator[Candidate]:
        """Yield the frequencies of heads of another width that stands in the configuration, as many as these have."""
        own, whole = self.said.get("head_dim"), self.beside.head_dim
        if own is None or not self.operation.endswith(".frequencies"):
            return
        heads = {
            head: (2 * (head * own // (2 * whole)), f"heads of {head} channels, {whose}") for head, whose in self.beside.widths.items()
        }
        for head, (width, whose) in ({whole: (whole, f"the whole head, {whole} channels")} | heads).items():
            if width not in (0, own):
                does, should = f"computes the frequencies of {whose}", f"compute those of {own} channels"
                function = forcing(self.operation, {"head_dim": width})
                fix = "read head_dim, and the part of it that turns, of the layer that is asked for"
                yield self._named(f"head_dim={head}", does, should, fix, function, WHOLE_HEADS if head == whole else ())

    def _instead(self, forced: Mapping[str, float], threads: tuple[str, ...] = ()) -> Candidate:
        name = ",".join(f"{name}={value:.10g}" for name, value in forced.items())
        does = "uses " + " and ".join(f"{name} {value:.10g} instead of {self.said[name]:.10g}" for name, value in forced.items())
        names = " and the ".join(forced)
        fix = f"read the {names} off the configuration"
        return self._named(name, does, f"take the {names} asked for", fix, forcing(self.operation, forced), threads)

    def _named(self, name: str, does: str, should: str, fix: str, function: Function, threads: tuple[str, ...]) -> Candidate:
        return Candidate((f"{self.operation}/{name}",), does, should, fix, function, "mistake", threads)


def _called(operation: str, parameters: Mapping[str, Any]) -> Function:
    """Return an operation with its own parameters; of what is asked for it knows what no configuration says."""
    known = operations()[operation].parameters.keys() & {*DECLARED, "length"}
    return altered(operation, parameters=lambda asked: {**parameters, **{name: asked[name] for name in known & asked.keys()}})


def _beyond(operation: str, original: int, length: int) -> Function:
    """Return an operation that takes sequences up to a length for ones that are as long as the original length."""
    return altered(
        operation,
        parameters=lambda asked: {**asked, "length": asked["length"] if asked["length"] > length else min(asked["length"], original)},
    )


def _first(slot: Callable[..., np.ndarray], whole: int, *given: np.ndarray, head_dim: int, **rule: Any) -> np.ndarray:
    """Return as many of the frequencies of a whole head as the part needs."""
    return ladder_of_width(slot, whole, given, rule)[: head_dim // 2]


def _of_width(slot: Callable[..., np.ndarray], width: int, *given: np.ndarray, head_dim: int, **rule: Any) -> np.ndarray:
    """Return as many of the frequencies of a head of another width, which go on where it has fewer."""
    if width > head_dim:
        return _first(slot, width, *given, head_dim=head_dim, **rule)
    return ladder_of_width(slot, head_dim, given, {**rule, "base": rule["base"] ** (head_dim / width)})


def _turned_so_far(rotate: Function, width: int, x: np.ndarray, *arrays: np.ndarray, head_dim: int, **rule: Any) -> np.ndarray:
    """Return the first channels of a head turned as a head of their own."""
    del head_dim
    turned = rotate(x[..., :width], *arrays, head_dim=width, **rule)
    return np.concatenate([turned, x[..., width:]], axis=-1)


def _raised(slot: Callable[..., np.ndarray], whole: int, *given: np.ndarray, head_dim: int, **rule: Any) -> np.ndarray:
    """Return the frequencies of a part by the base that those of a whole head have, if they have one."""
    logarithms = np.log(ladder_of_width(slot, whole, given, rule))
    steps = np.diff(logarithms)
    if not np.allclose(steps, steps[0]):
        message = "frequencies must be those of one base, got others"
        raise ValueError(message)
    own: np.ndarray = np.exp(logarithms[0] + steps[0] * whole / head_dim * np.arange(head_dim // 2))
    return own
