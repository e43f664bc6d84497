"""Draw grids that lie one after the other: images and videos with sides of their own, whole blocks of patches, and text between them."""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np

from refimpl.spec import Operation

#: Parameters that list something of every grid.
LISTS = ("text", "times", "heights", "widths")
#: How many grids a call has, and how many small ones where every patch is asked for.
COUNTS, MANY = (3, 1, 5, 2, 4, 7), (9, 12, 17)
#: So many of these numbers are small ones.
FEW = 4
#: How many tokens of text come before a grid, how many steps in time it has, and how many blocks of patches along either side.
TEXT, STEPS, BLOCKS = (0, 3, 1, 17, 2, 0, 201, 3_077), (1, 2, 1, 1, 3), (1, 2, 3, 1, 4, 2, 9)


def free(operation: Operation, declared: Collection[str]) -> tuple[str, ...]:
    """Return the lists that an operation takes and a declaration leaves open."""
    return tuple(name for name in LISTS if name in operation.parameters and name not in declared)


def drawn(rng: np.random.Generator, names: Sequence[str], beside: Mapping[str, Any], *, many: bool = False) -> dict[str, Any]:
    """Return lists of some grids, or of as many as lists beside them have, whose sides whole blocks fill; nothing is drawn for no names."""
    if not names:
        return {}
    given = [len(beside[name]) for name in LISTS if name in beside and name not in names]
    count, merge = given[0] if given else int(rng.choice(MANY if many else COUNTS)), int(beside.get("merge", 1))
    few = FEW if many else None
    sides = [merge * blocks for blocks in BLOCKS[:few]]
    of_each: dict[str, Sequence[int]] = {"text": TEXT[:few], "times": STEPS, "heights": sides, "widths": sides}
    return {name: tuple(int(number) for number in rng.choice(of_each[name], count)) for name in names}


def ends(parameters: Mapping[str, Any]) -> list[int]:
    """Return after how many tokens every text and every grid ends; nothing where no grids are listed."""
    sides = zip(*(parameters.get(name, ()) for name in LISTS[1:]), strict=True)
    spans = zip_longest(parameters.get("text", ()), map(math.prod, sides), fillvalue=0)
    return [*accumulate(span for spans_of_grid in spans for span in spans_of_grid)]
