"""The cases of xPos: rope's, with powers that show at their positions and overflow nowhere, and what the powers have of their own."""

import math
import re
from collections.abc import Iterator
from typing import Any

from refimpl.cases import rope
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

#: How often a position holds the base of the scale at most: 3.5 to that power is 150, which every format has room for.
POWERS = 4


def fading(case: Case) -> Case:
    """Return a case of rope with a power of two for the base of the scale, which its farthest position holds up to four times."""
    places = re.findall(r"\d+", str([value for name, value in case.arguments.items() if name.endswith("positions")]))
    scale_base = 2.0 ** max(math.ceil(math.log2(max(map(int, places)) / POWERS)), 0) if any(map(int, places)) else 1.0
    given: dict[str, Any] = {"tags": case.tags, "sizes": case.sizes, "error": case.error, **case.arguments, "scale_base": scale_base}
    return Case(case.name, exposes=case.exposes, **given)


def side(operation: str) -> Iterator[Case]:
    """Yield the cases of queries, or of keys."""
    build = named(operation)
    yield from map(fading, rope.rotation_cases(operation))
    yield build("released", "the position not divided by the base of the scale", head_dim=8, positions=[0, 1, 512, 2_049, 4_097])
    yield build("steep", "512 whatever is asked for", head_dim=6, scale_base=1.0, positions=[0, 1, 4])
    yield build("inexact-scale-base", "the base of the scale rounded to an integer", head_dim=8, scale_base=0.7, positions=[1, 2])
    yield build("steep-half-layout", "powers of neighbours for pairs half a head apart", head_dim=8, layout="half", scale_base=2.0,
                positions=[1, 9])
    yield build("centred", "a centre of 0 whatever is asked for", head_dim=4, scale_base=2.0, centre=5, positions=[0, 4, 5, 9])
    yield build("centred-at-one", "the centre of the call", head_dim=4, scale_base=2.0, centre=1, positions=[0, 1, 2, 3])
    yield build("centred-far", "angles counted from the centre", head_dim=4, scale_base=2_048.0, centre=4_096, positions=[1, 4_095, 8_191])
    yield build("centred-below", "a negative centre taken for none", head_dim=4, layout="half", scale_base=2.0, centre=-3, positions=[0, 1])
    yield from narrowed(build, {"x": (1, 1, 2, 4)}, head_dim=4, positions=[0, 1])
    yield build("no-scale-base", "a division by 0", head_dim=4, scale_base=0.0, positions=[0],
                error="scale_base must be greater than 0, got 0.0")


def both() -> Iterator[Case]:
    """Yield the cases of queries and keys together."""
    build = named("rotate_query_key")
    yield from map(fading, rope.pair_cases("rotate_query_key"))
    yield build("released", "the position not divided by the base of the scale", head_dim=8, query_positions=[2_049],
                key_positions=[0, 512, 2_049, 4_097])
    yield build("inexact-scale-base", "the base of the scale rounded to an integer", head_dim=8, scale_base=0.7, query_positions=[2],
                key_positions=[0, 1])
    yield build("centred", "a centre of 0 whatever is asked for", head_dim=4, scale_base=2.0, centre=5, query_positions=[4, 9],
                key_positions=[0, 5])
    yield build("cached-keys", "queries and keys centred on their own lengths", head_dim=4, layout="half", scale_base=2.0,
                query_positions=[6], key_positions=[0, 1, 2, 3, 4, 5, 6])
    yield from narrowed(build, {"q": (1, 1, 2, 4), "k": (1, 1, 2, 4)}, head_dim=4, query_positions=[0, 1], key_positions=[0, 1])
    yield build("no-scale-base", "a division by 0", head_dim=4, scale_base=0.0, query_positions=[0], key_positions=[0],
                error="scale_base must be greater than 0, got 0.0")


CASES = (*side("rotate_query"), *side("rotate_key"), *both())
