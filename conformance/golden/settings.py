"""Choose the parameters of drawn calls: every combination of conventions in turn, and numbers from released models."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np

from conformance.calls.takes import WHEN
from conformance.golden import grids
from conformance.spec.choices import agree, candidates, obeys
from conformance.spec.ranges import TOGETHER, VALUES
from refimpl.spec import Operation, fixed_size

Item = TypeVar("Item")
Candidates = Mapping[str, Sequence[object]]
Settings = dict[str, Any]
Hands = Mapping[str, Iterator[object]]

#: How often numbers are drawn again for one combination of conventions, before it is taken to have none.
TRIES = 200
#: The same where a predicate of the declaration is asked, which may take a few values of two numbers together.
TRIES_BY_PREDICATE = 400
#: Every so many calls the numbers are those of one released model, where one is inside the declaration.
MODEL_EVERY = 3


def dealt(items: Sequence[Item], rng: np.random.Generator) -> Iterator[Item]:
    """Yield the items in their order, and then shuffled again and again: each comes once before one comes again."""
    order = np.arange(len(items))
    while items:
        yield from (items[int(i)] for i in order)
        order = rng.permutation(len(items))


def settings(
    operation: Operation, restrictions: Mapping[str, object], rng: np.random.Generator, *, rows: float = math.inf
) -> Iterator[Settings]:
    """Yield all parameters of a call, without end where any agree; within a round every combination of conventions comes once.

    ``rows`` is how many a projection has at most where parameters leave the choice.
    """
    every = {name: candidates(parameter, restrictions.get(name, ...), VALUES) for name, parameter in operation.parameters.items()}
    conventions = {name: every[name] for name, parameter in operation.parameters.items() if parameter.choices or parameter.kind is bool}
    numbers = {name: values for name, values in every.items() if name not in conventions}
    hands = {name: dealt(shuffled(values, rng), rng) for name, values in numbers.items()}
    models = dealt(_models(operation, every, numbers, restrictions), rng)
    rounds = [dict(zip(conventions, combination, strict=True)) for combination in product(*conventions.values())]
    admits, hopeless = restrictions.get(WHEN), list[Settings]()
    lists = functools.partial(grids.drawn, rng, grids.free(operation, restrictions))
    came, before, since, model = 0, -1, MODEL_EVERY, next(models, {})
    while came > before:
        before = came
        for chosen in shuffled([chosen for chosen in rounds if chosen not in hopeless], rng):
            due = since >= MODEL_EVERY and all(model.get(name, value) == value for name, value in chosen.items())
            own = {name: value for name, value in model.items() if name in numbers} if due else {}
            found = _agreeing(chosen, hands, lists, own, admits, rows)
            if found is None and admits is not None:
                hopeless.append(chosen)
            if found is not None:
                came, since, model = came + 1, 1 if due else since + 1, next(models, {}) if due else model
                yield {name: found[name] for name in every}


def shuffled(items: Sequence[Item], rng: np.random.Generator) -> list[Item]:
    """Return the items in another order."""
    return [items[int(i)] for i in rng.permutation(len(items))]


def _models(operation: Operation, every: Candidates, numbers: Candidates, restrictions: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return parameters of models that say something of two numbers or more, and nothing that is refused or declared otherwise.

    Those come first of which the operation has all.
    """

    def inside(together: Mapping[str, object]) -> bool:
        named = [name for name in together if name in every]
        obeyed = all(obeys(operation.parameters[name], together[name]) for name in named)
        taken = all(together[name] in every[name] for name in named if name in restrictions or name not in numbers)
        return obeyed and taken and len(together.keys() & numbers.keys()) > 1

    return sorted(filter(inside, TOGETHER), key=lambda together: not together.keys() <= every.keys())


def _agreeing(
    chosen: Settings, hands: Hands, lists: Callable[[Settings], Settings], model: Settings, admits: Any, rows: float
) -> Settings | None:
    """Return parameters that agree, with lists of grids drawn beside them; those of a small projection where any are."""
    wide = None
    for attempt in range(TRIES if admits is None else TRIES_BY_PREDICATE):
        together = model if attempt == 0 else {}
        found = {name: together[name] if name in together else next(hand) for name, hand in hands.items()} | chosen
        found |= {**lists(found), **together}
        if agree(found) and (admits is None or admits(found)):
            if (fixed_size("projection", found) or 0) <= rows:
                return found
            wide = found
    return wide
