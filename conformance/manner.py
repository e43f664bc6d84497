"""How a call is made, beyond what it is given."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Manner:
    """How a call is made.

    ``strided``: arrays are views whose elements don't lie one after the other. ``repeats``: the call is made so many times more,
    or for ``seconds``, and its answers are compared. ``cotangents``: one per result; the gradient of their product with it is asked for.
    """

    strided: bool = False
    repeats: int = 0
    seconds: float = math.inf
    cotangents: tuple[np.ndarray, ...] = ()

    @property
    def unlike_plain(self) -> bool:
        """Whether the answer may be another than that of the same call made plainly."""
        return self.strided or bool(self.cotangents)

    def as_header(self) -> dict[str, object]:
        """Return what a request says of it; the cotangents travel behind the arrays."""
        seconds = None if self.seconds == math.inf else self.seconds
        told = {"strided": self.strided or None, "repeats": self.repeats or None, "seconds": seconds}
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def of(cls, request: Mapping[str, Any], cotangents: Sequence[np.ndarray]) -> "Manner":
        """Return what a request says."""
        return cls(request.get("strided", False), request.get("repeats", 0), request.get("seconds", math.inf), tuple(cotangents))


PLAIN = Manner()
STRIDED = Manner(strided=True)
TWICE = Manner(repeats=1)
#: Often enough to meet a rare wrong answer, for as long as a run can spare.
OFTEN = Manner(repeats=2_000, seconds=0.08)
