"""Draw calls like stored cases, which are chosen to show mistakes: no stored vector is alone with its parameters and sizes."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from conformance.calls.takes import WHEN, Takes, sharing
from conformance.golden import features
from conformance.golden.calls import Generator, generator, of_sizes
from conformance.golden.sizes import Sizes
from conformance.spec.arguments import Arguments, is_position, rows_of_their_own
from conformance.spec.choices import agree, candidates
from conformance.spec.ranges import VALUES
from conformance.spec.vectors import Vector, load
from refimpl.spec import Operation, Parameter, axis_names, fixed_size

#: How far positions of a stored case are moved at the most.
FURTHER = 16


def varied(operation: Operation, *, restrictions: Mapping[str, object], takes: Takes, dtype: str, seed: int) -> Iterator[Arguments]:
    """Yield a call for each setting of parameters and sizes that a stored case has inside a declaration, with other numbers in its arrays.

    A list of factors is kept, as a parameter is. Where there are no other arrays, each case has one number changed in turn.
    """
    rng = generator(operation, dtype, seed, "varied")
    stored = [vector for vector in load([operation.name]) if vector.error is None and _inside(operation, vector.parameters, restrictions)]
    if all(map(_is_setting, operation.arrays)):
        yield from _changed(operation, [Arguments(vector.inputs, vector.parameters) for vector in stored], restrictions, rng)
        return
    unlike = {_kept(vector): vector for vector in stored if _fits(operation, sizes_of(operation, vector), takes)}.values()
    every = ((dict(each.parameters), sizes_of(operation, each), _batched(operation, each, takes)) for each in unlike)
    for vector, call in zip(unlike, of_sizes(operation, every, takes, dtype, rng), strict=True):
        kept = {name: features.exact(array, dtype) for name, array in vector.inputs.items() if _is_setting(name)}
        yield call.with_arrays(**kept, **_moved(vector, takes, rng))


def sizes_of(operation: Operation, vector: Vector) -> Sizes:
    """Return the sizes of the axes of a stored case; one that it does without is 1."""
    words = " ".join(operation.arrays.values()).replace("[", "").replace("]", "").split()
    sizes: Sizes = dict.fromkeys(words, 1)
    for name, array in vector.inputs.items():
        axes = operation.arrays[name]
        sizes |= {"...": array.size} if axes == "..." else dict(zip(axis_names(axes, array.ndim) or (), array.shape, strict=True))
    return sizes


def _batched(operation: Operation, vector: Vector, takes: Takes) -> tuple[bool, bool]:
    """Return whether the first and the last positions of a stored case have rows of their own, and code takes them."""
    own = [rows_of_their_own(operation.arrays[name], array) for name, array in vector.inputs.items() if is_position(name)]
    return (own[0], own[-1]) if own and not takes.one_row else (False, False)


def _moved(vector: Vector, takes: Takes, rng: Generator) -> dict[str, np.ndarray]:
    """Return the positions of queries and keys, all a few further on: how they lie shows a mistake; none where these are declared."""
    positions = {name: array for name, array in vector.inputs.items() if is_position(name)}
    step, (low, high) = int(rng.integers(1, FURTHER)), takes.bounds
    moved = {name: array + step for name, array in positions.items()}
    inside = all(low <= array.min() and array.max() <= high for array in moved.values())
    free = takes.positions == takes.queries == takes.rows == "any"
    return moved if len(moved) > 1 and free and inside else {}


def _is_setting(name: str) -> bool:
    """Whether an array is a list that a configuration holds."""
    return name.endswith("factors")


def _kept(vector: Vector) -> str:
    """Return what a call has of a stored case, as text."""
    factors = [array.tolist() for name, array in vector.inputs.items() if _is_setting(name)]
    return repr((sorted(vector.parameters.items()), [array.shape for array in vector.inputs.values()], factors))


def _fits(operation: Operation, sizes: Sizes, takes: Takes) -> bool:
    """Whether code takes as many tokens, queries, keys and key heads."""
    if takes.heads == "equal" and sizes["key_head"] != sizes[sharing(operation)]:
        return False
    if takes.queries == "at_end" and sizes.get("query", 0) > sizes.get("key", 0):
        return False
    room = takes.bounds[1] - max(takes.bounds[0], 0) + 1
    return not takes.counted or all(sizes.get(axis, 1) <= room for axis in ("token", "query", "key"))


def _changed(operation: Operation, stored: Sequence[Arguments], restrictions: Mapping[str, object], rng: Generator) -> Iterator[Arguments]:
    """Yield every call with one number changed in turn, to any that agrees with the others; each once, and none that is stored."""
    known = {each.key for each in stored}
    free = {name: each for name, each in operation.parameters.items() if not (operation.arrays and fixed_size("pair", {name: 2}))}
    for each in stored:
        for name, parameter in free.items():
            others = (each.with_parameters(**{name: value}) for value in _numbers(parameter, restrictions))
            taken = [one for one in others if agree(one.parameters) and _admitted(one.parameters, restrictions) and one.key not in known]
            if taken:
                call = taken[int(rng.integers(len(taken)))]
                known.add(call.key)
                yield call


def _inside(operation: Operation, setting: Mapping[str, object], restrictions: Mapping[str, object]) -> bool:
    declared = {name: candidates(each, restrictions[name]) for name, each in operation.parameters.items() if name in restrictions}
    return all(setting[name] in values for name, values in declared.items()) and _admitted(setting, restrictions)


def _admitted(setting: Mapping[str, object], restrictions: Mapping[str, object]) -> bool:
    """Whether the predicates of a declaration take parameters."""
    admits = restrictions.get(WHEN)
    return not callable(admits) or bool(admits(setting))


def _numbers(parameter: Parameter, restrictions: Mapping[str, object]) -> tuple[object, ...]:
    """Return what a parameter may be changed to that is no convention."""
    convention = parameter.choices or parameter.kind is bool
    return () if convention else candidates(parameter, restrictions.get(parameter.name, ...), VALUES)
