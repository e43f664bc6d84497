"""How a call is made, beyond what it is given."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Manner:
    """How a call is made.

    ``views``: arrays are views whose elements don't lie one after another, in one of ``WAYS``, all of them or in ``TURNS``; or the call
    is made in one of ``MODES``.
    ``repeats``: the call is made so many times more, or for ``seconds`` of CPU, and its answers are compared. ``cotangents``: one per
    result; the gradient of their product with it is asked for. ``before``: the call is made with these numbers first, and then again,
    with others that were written into the same arrays. ``as_it_is``: the call is made as it is, and no longer one in its place, whatever is
    declared of positions.
    """

    views: str = ""
    repeats: int = 0
    seconds: float = math.inf
    cotangents: tuple[np.ndarray, ...] = ()
    before: tuple[np.ndarray, ...] = ()
    as_it_is: bool = False

    @property
    def unlike_plain(self) -> bool:
        """Whether the answer may be another than that of the same call made plainly."""
        return bool(self.views or self.cotangents or self.before)

    @property
    def words(self) -> str:
        """What is to be known of the call where it fails; nothing of one that is made plainly."""
        if self.before:
            held = "its arrays had held other numbers in an earlier call, and were written to since"
            return f"{held}; {WAYS[self.views]}" if self.views in MODES else held
        constant = any(values.size > 1 and np.all(values == values.flat[0]) for values in self.cotangents)
        way, _, turn = self.views.partition(" ")
        some = f"every second of {WAYS[way]}" if turn else WAYS.get(way, "")
        return "its cotangent was broadcast, as that of a sum is" if constant else some

    def as_header(self) -> dict[str, object]:
        """Return what a request says of it; cotangents, or the numbers that come first, travel behind the arrays."""
        seconds = None if self.seconds == math.inf else self.seconds
        told = {"views": self.views or None, "repeats": self.repeats or None, "seconds": seconds}
        told |= {"before": bool(self.before) or None, "as_it_is": self.as_it_is or None}
        return {name: value for name, value in told.items() if value is not None}

    def way(self, index: int) -> str:
        """Return in which way an array is a view, by its index among those of the call."""
        way, _, turn = self.views.partition(" ")
        return way if turn in ("", TURNS[index % 2]) else ""

    @property
    def beside(self) -> tuple[np.ndarray, ...]:
        """The arrays that travel behind those of the call."""
        return self.cotangents + self.before

    @classmethod
    def of(cls, request: Mapping[str, Any], beside: Sequence[np.ndarray]) -> "Manner":
        """Return what a request says."""
        cotangents, before = ((), tuple(beside)) if request.get("before") else (tuple(beside), ())
        views, repeats, seconds = request.get("views", ""), request.get("repeats", 0), request.get("seconds", math.inf)
        return cls(views, repeats, seconds, cotangents, before, request.get("as_it_is", False))


#: Heads and tokens are swapped before the channels.
SWAPPED_AXES = 2
#: How arrays are views: with heads and tokens swapped, or every second element; from the end to the start; of numbers that
#: are there once; every second row, head and token, and the first channels, of a larger array; of what a gradient is asked for.
SWAPPED, REVERSED, EXPANDED, PARTS, TRACKED = "swapped", "reversed", "expanded", "parts", "tracked"
#: How code is called that isn't trained: arrays are as ever, gradients are off in either of two ways, and a module is in eval mode.
MODES = NO_GRAD, INFERENCE = "no-grad", "inference"
WAYS = {
    SWAPPED: "its arrays were transposed ones (not contiguous)",
    REVERSED: "its arrays were views that run from the end to the start (not contiguous)",
    EXPANDED: "its arrays were broadcast ones (not contiguous)",
    PARTS: "its arrays were parts of larger ones (not contiguous)",
    TRACKED: "its arrays require a gradient, as in training",
    NO_GRAD: "it was called under torch.no_grad(), and is in eval mode if it is a module",
    INFERENCE: "it was called under torch.inference_mode(), and is in eval mode if it is a module",
}
#: The axes of a matrix, which is transposed; what arrays are that can't be swapped, where others would be.
MATRIX = 2
STEPPED = "its arrays were transposed matrices, or every second element of larger ones (not contiguous)"
#: What follows a way where only every second array is a view, the first or the second one: then no array has the strides of the next.
TURNS = ("1", "2")


def swappable(array: Any) -> bool:
    """Whether an array has heads and tokens that can be swapped: else a view of it is every second element of a larger one."""
    return bool(array.ndim > SWAPPED_AXES and min(array.shape[-3:-1]) > 1)


PLAIN = Manner()
AS_IT_IS = Manner(as_it_is=True)
TWICE = Manner(repeats=1)
#: Often enough to meet one wrong answer in a thousand, for as long as a run can spare.
OFTEN = Manner(repeats=1_200, seconds=0.3)
#: The same of a call of a real size, which takes longer.
AGAIN = Manner(repeats=1_200, seconds=0.08)
