"""The positions at which an error is shown as a curve, up to a million: decades, and the first integers that short formats lack."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from refimpl.spec import Case

DECADES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
#: A power of two is a number of every format; the integer after it needs one bit for every doubling.
AFTER_POWERS = tuple(2**power + 1 for power in range(4, 20))
#: The farthest position that code which counts its own positions from 0 is asked for.
COUNTED = 131_071
EVERY = sorted({*DECADES, *AFTER_POWERS, 2**20 - 1})
NEAR = [position for position in EVERY if position <= COUNTED]
FAR = [position for position in EVERY if position > COUNTED]

EXPOSES = "the position from which weaker arithmetic shows"
#: Every way in which a rotation is laid out somewhere, by the end of the case's name.
LAYOUTS = {
    "": {},
    "-half": {"layout": "half"},
    "-interleaved-to-half": {"layout": "interleaved_to_half"},
    "-half-negative": {"layout": "half", "direction": "negative"},
}
#: The same for sines and cosines that are added.
SINUSOIDS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "-halves": {"layout": "halves"},
    "-endpoint": {"layout": "halves", "spacing": "endpoint"},
    "-endpoint-cosine-first": {"layout": "halves_cosine_first", "spacing": "endpoint"},
}


def rotations(build: Callable[..., Case], **arguments: object) -> Iterator[Case]:
    """Yield the near and the far positions in every layout; ``build`` takes a name, what it exposes, and arguments."""
    for ending, layout in LAYOUTS.items():
        shared = {"sizes": {"head": 1}, **arguments, **layout}
        yield build(f"by-position{ending}", EXPOSES, positions=NEAR, **shared)
        yield build(f"by-position-far{ending}", EXPOSES, positions=FAR, **shared)
