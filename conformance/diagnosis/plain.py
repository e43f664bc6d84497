"""What is no mistake of a scheme: zeros, an input that comes back as it was, one number everywhere."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from conformance.diagnosis.candidates import Candidate
from conformance.diagnosis.quantities import USUAL
from conformance.diagnosis.seen import Seen
from conformance.mutants import masking
from conformance.mutants.building import Function, altered
from conformance.mutants.rotary import turned_by
from conformance.spec.declarations import operations
from conformance.spec.ranges import BASES

FIX = "check that what is computed is what is returned"
#: Which channels are a pair, in words.
PAIRS = {"half": "channels half a head apart", "interleaved": "neighbouring channels"}
#: The bases of models.
TURNED_BY = sorted({*map(float, USUAL), *BASES, 2e6, 1e7})
#: The numbers that models mask with; what is lower no logit reaches.
MASKS = (-10.0, -100.0, -1e3, -1e4, -65_504.0, -1e5, -1e6)
#: So many different right numbers tell a constant from a number that happens to be another.
ENOUGH = 3


def plain(operation: str, everything: Sequence[Seen]) -> Iterator[Candidate]:
    """Yield zeros, every input in the result's place, and the number that came everywhere, if one did."""
    yield _named(operation, "zeros", "returns zeros", _everywhere(operation, 0.0))
    for name in _alike(operation):
        yield _named(operation, f"{name}-unchanged", f"returns {name} unchanged", _unchanged(operation, name))
    yield from _turned(operation)
    yield from _masked(operation)
    constant = _constant(everything)
    if constant is not None:
        yield _named(operation, f"constant={constant:g}", f"returns {constant:g} everywhere", _everywhere(operation, constant))


def _turned(operation: str) -> Iterator[Candidate]:
    """Yield a plain rotation with the bases of models, where what has a head and a position comes back as it was."""
    contract = operations()[operation]
    if {*contract.arrays} != {"x", "positions"} or {*contract.parameters} != {"head_dim"}:
        return
    for layout, base in product(PAIRS, TURNED_BY):
        does = f"turns queries and keys with base {base:,.10g}, {PAIRS[layout]}, where nothing turns"
        candidate = _named(operation, f"turned,base={base:.10g}", does, turned_by(layout, base))
        yield replace(candidate, should="leave queries and keys as they are", fix="skip the rotation in layers without it")


def _masked(operation: str) -> Iterator[Candidate]:
    """Yield attention whose hidden logits are a number, or have one added: no more is hidden where other logits are as low."""
    for number, (word, given) in product(MASKS, {"set to": False, "lowered by": True}.items()):
        function = masking.weighing(operation, functools.partial(masking.numbered, number=number, added=given))
        if function is None:
            return
        does = f"masks with a number: hidden logits are {word} {abs(number) if given else number:,.10g}, which other logits reach"
        name = f"mask={number:.10g}{',added' if given else ''}"
        candidate = _named(operation, name, does, function)
        yield replace(candidate, should="give hidden keys no weight at all", fix="hide by minus infinity, in the dtype of the logits")


def _named(operation: str, name: str, does: str, function: Function) -> Candidate:
    return Candidate((f"{operation}/{name}",), does, "return what the operation gives", FIX, function, "mistake")


def _everywhere(operation: str, value: float) -> Function:
    return altered(operation, result=lambda results: _each(lambda one: np.full_like(one, value), results))


def _each(change: Callable[[np.ndarray], np.ndarray], results: Any) -> Any:
    return type(results)(*map(change, results)) if isinstance(results, tuple) else change(np.asarray(results))


def _alike(operation: str) -> list[str]:
    """Return the arrays that a single result could be, or the first of as many as there are results."""
    contract = operations()[operation]
    alike = [name for name, axes in contract.arrays.items() if axes in contract.results.values()]
    return alike if len(contract.results) == 1 else alike[:1] * (len(alike) >= len(contract.results))


def _unchanged(operation: str, name: str) -> Function:
    """Return the function that gives back an array, and where there are several results those that follow it."""
    contract = operations()[operation]
    start, count = list(contract.arrays).index(name), len(contract.results)
    return lambda *arrays, **_: arrays[start] if count == 1 else tuple(arrays[start : start + count])


def _constant(everything: Sequence[Seen]) -> float | None:
    """Return the finite number, not 0, that all results consist of, though they should not."""
    elements = [element for one in everything for element in one.elements if element.got.size]
    came = {float(bound) for element in elements for bound in (element.got.min(), element.got.max())}
    right = {float(value) for element in elements for value in element.right.ravel()[:ENOUGH]}
    (constant,) = came if len(came) == 1 else (np.nan,)
    return constant if constant and np.isfinite(constant) and len(right) >= ENOUGH else None
