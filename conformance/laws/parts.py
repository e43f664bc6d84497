"""Compare the whole of a large result with calls on slices of it: elements that no golden value judges must be what they are there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from conformance.calls.takes import Takes
from conformance.laws.trial import Sides, Trial
from conformance.laws.universal import equal_but_for_noise
from conformance.spec.arguments import Arguments
from refimpl.spec import Operation, axis_names, bind, fixed_size

#: Axes along which results don't depend on one another, those first along which not even positions change; grouped heads go together.
APART = (("batch",), ("head", "key_head"), ("head",), ("query_head", "key_head"), ("token",), ("offset",), ("query",))


@dataclass(frozen=True)
class Part:
    """A call on a slice of the arrays of another; ``along`` gives the slice of every axis that was cut."""

    operation: Operation
    arguments: Arguments
    along: Mapping[str, slice]

    def of(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return the part of a whole result."""
        return cut(self.operation.results[name], values, self.along)


def parts(operation: Operation, call: Arguments, takes: Takes) -> Iterator[Part]:
    """Yield the call in two parts that are together the whole, cut beside no tile; none where its results depend on one another.

    Tokens that must begin where they do are cut behind only, and queries that must be the last of the keys before: that is one part.
    """
    sizes = bind(operation.arrays, {name: array.shape for name, array in call.arrays.items()}, call.parameters)
    axes = next((axes for axes in APART if _free(operation, call, sizes, axes)), ())
    middle = {axis: _middle(sizes, axes) * sizes[axis] // min(sizes[other] for other in axes) for axis in axes}
    places = {"token", "query"} & set(axes)
    ends = [side for side, taken in (("first", not _at_end(takes, places)), ("last", not _from_start(takes, places))) if taken and axes]
    for side in ends:
        along = {axis: slice(0, cut_at) if side == "first" else slice(cut_at, None) for axis, cut_at in middle.items()}
        arrays = {name: cut(operation.arrays[name], array, along) for name, array in call.arrays.items()}
        yield Part(operation, Arguments(arrays, call.parameters), along)


def cut(axes: str, values: np.ndarray, along: Mapping[str, slice]) -> np.ndarray:
    """Return a slice of an array along those of its axes."""
    names = () if axes == "..." else axis_names(axes, values.ndim) or ()
    return values[tuple(along.get(name, slice(None)) for name in names)] if names else values


def compared(trial: Trial) -> Iterator[Sides]:
    """Yield the whole against every part."""
    for part in parts(trial.operation, trial.arguments, trial.subject.takes):
        yield from sides(trial, part)


def sides(trial: Trial, part: Part) -> Iterator[Sides]:
    """Yield both sides wherever the bits of the whole and of a part differ, with what computing twice may differ by.

    The sides are one implementation's own results for the same numbers at the same positions, so each may be off by what the oracle allows
    it, in any order of summation, with or without fused products and in any vector width: blocks of other sizes, tails and other
    instructions stay below. The oracle is asked about the few elements that differ most.
    """
    whole, reply = trial.reply(trial.arguments), trial.reply(part.arguments)
    for name in part.operation.results:
        kept = part.of(name, trial.values(trial.arguments, name))
        yield from equal_but_for_noise(trial, part.arguments, (kept, trial.values(part.arguments, name)), name, (whole, reply))


def _free(operation: Operation, call: Arguments, sizes: Mapping[str, int], axes: tuple[str, ...]) -> bool:
    """Whether every result has one of the axes, and these can be cut: more than one index, and no parameter that counts them."""
    named = all(set(axes) & set(text.replace("[", "").replace("]", "").split()) for text in operation.results.values())
    return named and all(sizes.get(axis, 1) > 1 and fixed_size(axis, call.parameters) is None for axis in axes)


def _middle(sizes: Mapping[str, int], axes: tuple[str, ...]) -> int:
    """Return where to cut the shortest of some axes: past a third, so that tiles of the whole begin elsewhere in a part."""
    return max(min(sizes[axis] for axis in axes) * 3 // 8, 1)


def _at_end(takes: Takes, places: set[str]) -> bool:
    return takes.queries == "at_end" and "query" in places


def _from_start(takes: Takes, places: set[str]) -> bool:
    """Whether positions must begin where they do: at 0, or where those of the keys begin."""
    with_keys = takes.counted and takes.queries != "at_end" and "query" in places
    return with_keys or (takes.positions == "from_zero" and "token" in places)
