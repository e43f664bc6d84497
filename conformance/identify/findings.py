"""What identification found: parameters with the interval that the values leave, what else was seen, and what couldn't be."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from conformance.diagnosis.search import shortest

#: Said of a width where others are taken.
ANOTHER = "at other widths it is another"
#: The view of a function that returns numbers where an array is asked for.
LISTED = "a list of numbers"
#: The view of a function that returns a number beside the array that is asked for.
WITH_NUMBER = "an array and a number"
#: What isn't seen of code whose answers change with more than the call.
UNSTEADY = "what other calls give, how far it is right, and an adapter: the answers change with more than the call"


class Confidence(Enum):
    """How sure a finding is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    GUESS = "a guess"
    SEEN = "in these calls"
    GIVEN = "as given"
    DECLARED = "only declared"


@dataclass(frozen=True)
class Seen:
    """The value of a parameter; for a number the interval in which the values leave it."""

    value: Any
    low: float | None = None
    high: float | None = None
    confidence: Confidence = Confidence.CERTAIN
    why: str = ""

    def holds(self, value: object) -> bool:
        """Whether a value is one that was seen."""
        if self.low is None or self.high is None or not isinstance(value, int | float):
            return bool(value == self.value)
        return self.low <= value <= self.high


#: A parameter that may be left out, and is.
UNSET = Seen(None, confidence=Confidence.LIKELY)


@dataclass(frozen=True)
class Identity:
    """What a function is: its operation (``None``: no known scheme), and everything that its values show.

    ``view`` is how it had to be called, for who writes a declaration; ``masked`` says that a bias is ``-inf`` where a key comes later;
    ``follows`` are parameters that calls were set to, each time rightly followed; ``lowest`` is the first position that is answered so;
    ``values_of`` is the operation that gives the same where it can't be declared: it takes what the function has inside, or hides.
    """

    operation: str | None
    what: str
    parameters: Mapping[str, Seen] = field(default_factory=dict)
    seen: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    view: object = None
    masked: bool = False
    values_of: str | None = None
    follows: tuple[str, ...] = ()
    lowest: int | None = None

    @property
    def ruled(self) -> bool:
        """Whether an operation gives the same, be it one that can be declared or not."""
        return self.operation is not None or self.values_of is not None


def in_these_calls(identity: Identity) -> Identity:
    """Return what calls showed of code whose answers change with more than the call: of others nothing follows."""
    shown = {name: replace(seen, confidence=Confidence.SEEN) for name, seen in identity.parameters.items()}
    return replace(identity, parameters=shown, seen=(), unseen=(UNSTEADY,), follows=())


def near(value: float, relative: float) -> Seen:
    """Return the number with the fewest digits within a relative error: what a person would have written."""
    low, high = sorted((value * (1 - relative), value * (1 + relative)))
    return Seen(shortest(value, low, high), low, high)
