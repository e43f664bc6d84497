"""Caches whose key doesn't tell all of what they are of are convicted at core, whatever the seed; careful ones never."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from careless_caches import CARELESS, SEEN, Careless, grown
from escaped_kernels import MODEL
from test_escaped_kernels import changed
from test_wrong_kernels import asked_once, judged, subjects

from conformance.adapt.adapter import Adapter
from conformance.checks import golden_checks
from conformance.checks.vector_checks import Checked
from refimpl.schemes import rope

__all__ = ["asked_once"]
CAREFUL = {(each.operation, each.right, each.of, each.size, str(each.declared)): each for each in CARELESS}.values()


def named(cache: Careless) -> str:
    return f"{cache.operation}: {cache.name}"


def neighbours(cache: Careless, seed: int) -> Iterator[Checked]:
    """Yield the judgement of drawn calls and of neighbours of these, asked in turn of a cache that knows all of what it is of."""
    for subject, task in subjects(cache.careful().adapter, seed):
        drawn = list(golden_checks.run(subject, task, golden_checks.drawn(task, seed), enough=24))
        yield from drawn
        yield from golden_checks.beside(subject, task, drawn, (), seed)


@pytest.mark.parametrize("cache", CARELESS, ids=named)
def test_a_careless_cache_is_convicted_at_core(cache: Careless) -> None:
    seed = CARELESS.index(cache) % 3
    assert any(checked.failed for checked in judged(cache.kernel().adapter, seed))


@pytest.mark.parametrize("cache", CAREFUL, ids=named)
def test_a_cache_that_knows_all_of_what_it_is_of_passes(cache: Careless) -> None:
    every = list(neighbours(cache, 0))
    determined = cache.declared.get("positions") == "from_zero"  # their number says all of them
    assert determined or any("positions" in checked.vector.id for checked in every)
    assert not [checked for checked in every if checked.failed]


def refusing(*, keyed_first: bool) -> Adapter:
    """Return a cache of one entry that refuses bad input, before or after it has noted what it is of."""
    adapter, kept = Adapter("refusing", rejects_bad_input=True), dict[str, Any]()

    @adapter.implements("rope.rotate", **MODEL)
    def rotate(x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, **said: Any) -> np.ndarray:
        def verify() -> None:
            if positions.shape[-1] != x.shape[2]:
                message = f"x must have {positions.shape[-1]} tokens, got {x.shape[2]}"
                raise ValueError(message)

        key = (head_dim, base, positions.shape, positions.tobytes())
        if not keyed_first:
            verify()
        if kept.get("key") != key:
            kept["key"] = key
            verify()
            kept["tables"] = rope.tables(positions, head_dim=head_dim, base=base)
        return np.asarray(rope.apply(x, *kept["tables"], layout=said["layout"], direction=said["direction"]))

    return adapter


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_cache_that_is_keyed_before_a_call_is_refused_is_convicted_and_one_that_is_keyed_after_passes(seed: int) -> None:
    wrong, right = ([each for each in judged(refusing(keyed_first=first), seed) if each.failed] for first in (True, False))
    assert wrong
    assert not right


@pytest.mark.parametrize("seen", SEEN)
def test_a_table_as_long_as_a_part_of_the_positions_asks_for_is_convicted(seen: str) -> None:
    declared = {**MODEL, "lowest": 0}
    assert changed((grown(seen, declared), grown(seen, declared)), 0)
