"""Which input would tell two explanations apart that fit equally: a vector that wasn't answered, else a call that is made up."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from conformance.diagnosis.candidates import Candidate
from conformance.diagnosis.seen import Seen
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector, load
from refimpl.errors import SpecificationError

MOST = 3
#: Answers that differ by so much of the larger one differ in every format.
CLEAR = 0.02
READABLE = 12
#: Of so many calls the best is taken.
TRIED = 24


def separating(
    operation: str, candidates: Sequence[Candidate], everything: Sequence[Seen], raised: Sequence[Vector] = ()
) -> tuple[str, ...]:
    """Return for each of the first few that also fit what tells it from the best; some vectors weren't answered, since the code raised."""
    best, others = candidates[0], list({other.name: other for other in candidates[1:]}.values())
    answered = {one.vector.id for one in everything}
    left = [vector for vector in load([operation]) if vector.error is None and vector.id not in answered] if others else []
    without = {vector.id for vector in raised}
    return tuple(_told(best, other, left, everything, without) for other in others[:MOST])


def splitting(operation: str, candidates: Sequence[Candidate], everything: Sequence[Seen]) -> str:
    """Return which call the first of many candidates answer most differently."""
    answered, first = {one.vector.id for one in everything}, candidates[:READABLE]
    left = [vector for vector in load([operation]) if vector.error is None and vector.id not in answered]
    tried = [*left, *(made for one in everything[:MOST] for made in _variants(one.vector))][:TRIED]
    counts = [_different(first, vector) for vector in tried]
    best = max(range(len(tried)), key=counts.__getitem__, default=None)
    if best is None or counts[best] == 1:
        return "they give the same for every vector and for all that was tried besides"
    told = tried[best].id if best < len(left) else _call(tried[best])
    return f"what would tell: of the first {len(first)}, {counts[best]} differ from one another in {told}"


def _different(candidates: Sequence[Candidate], vector: Vector) -> int:
    """Return how many different answers there are to a call."""
    kept: list[Candidate] = []
    for candidate in candidates:
        if candidate.answer(vector) is not None and all(_differ(candidate, other, vector) for other in kept):
            kept.append(candidate)
    return max(len(kept), 1)


def _told(best: Candidate, other: Candidate, left: Sequence[Vector], everything: Sequence[Seen], raised: set[str]) -> str:
    vector = next((vector for vector in left if _differ(best, other, vector)), None)
    if vector is not None:
        why = "for which the code raises" if vector.id in raised else "which wasn't asked: the declaration or the selection leaves it out"
        return f"{other.name} gives something else for {vector.id}, {why}"
    drawn = next((made for one in everything for made in _variants(one.vector) if _differ(best, other, made)), None)
    if drawn is not None:
        return f"{other.name} gives something else for {_call(drawn)}"
    return f"{other.name} gives the same for every vector and for all that was tried besides"


def _differ(one: Candidate, two: Candidate, vector: Vector) -> bool:
    first, second = one.answer(vector), two.answer(vector)
    if first is None or second is None:
        return False
    return any(_apart(first[name], second[name]) for name in first)


def _apart(one: np.ndarray, two: np.ndarray) -> bool:
    if one.shape != two.shape:
        return True
    with np.errstate(invalid="ignore"):
        gap = np.where(one == two, 0.0, np.abs(one - two))
    largest = max(np.max(np.abs(np.nan_to_num(array, posinf=0.0, neginf=0.0)), initial=0.0) for array in (one, two))
    return bool(np.any(np.nan_to_num(gap, nan=np.inf) > CLEAR * largest))


def _variants(vector: Vector) -> Iterator[Vector]:
    """Yield the vector with other positions, then with other numbers among its parameters."""
    contract = operations()[vector.operation]
    for name in (contract.integers | contract.numbers) & vector.inputs.keys():
        places = vector.inputs[name]
        for changed in (places + 1, places + 5, 2 * places + 3, places[..., ::-1], places + 1000, -places - 1):
            yield replace(vector, inputs={**vector.inputs, name: np.ascontiguousarray(changed)})
    for parameters in _parameters(vector):
        yield replace(vector, parameters=parameters)


def _parameters(vector: Vector) -> Iterator[Mapping[str, object]]:
    for name, parameter in operations()[vector.operation].parameters.items():
        asked = vector.parameters[name]
        if parameter.kind not in (int, float) or parameter.choices or not isinstance(asked, int | float):
            continue
        for value in (2 * asked, asked + 1, asked + 2, 3 * asked):
            try:
                parameter.check(value)
            except SpecificationError:
                continue
            yield {**vector.parameters, name: value}


def _call(vector: Vector) -> str:
    """Return the call in one line."""
    parameters = ", ".join(f"{name}={value!r}" for name, value in vector.parameters.items())
    places = [f"{name} {array.tolist()}" for name, array in vector.inputs.items() if array.dtype.kind == "i" and array.size <= READABLE]
    return f"{vector.operation}({parameters}){' at ' + ', '.join(places) if places else ''}"
