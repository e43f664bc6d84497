"""How a run ends: a status for programs, words for people."""

from collections.abc import Iterable
from enum import IntEnum


class Status(IntEnum):
    """What ``posenc`` exits with."""

    CONFORMS = 0
    DIFFERS = 1
    WRONG_USAGE = 2
    HARNESS_FAILED = 3
    NOTHING_RAN = 4
    NOT_JUDGED = 5
    INTERRUPTED = 130

    @property
    def words(self) -> str:
        """Say it."""
        return WORDS[self]


WORDS = {
    Status.CONFORMS: "conforms",
    Status.DIFFERS: "does not conform",
    Status.WRONG_USAGE: "can't be judged",
    Status.HARNESS_FAILED: "no verdict: the harness itself failed",
    Status.NOTHING_RAN: "no verdict: nothing ran",
    Status.NOT_JUDGED: "no verdict: nothing that ran could be judged",
    Status.INTERRUPTED: "no verdict: interrupted before everything was run",
}
#: From good to bad: what several runs come to is the last of theirs.
ORDER = (
    Status.CONFORMS,
    Status.NOT_JUDGED,
    Status.NOTHING_RAN,
    Status.DIFFERS,
    Status.WRONG_USAGE,
    Status.HARNESS_FAILED,
    Status.INTERRUPTED,
)


def worst(statuses: Iterable[Status]) -> Status:
    """Return what several runs come to; none at all is nothing that ran."""
    return max(statuses, key=ORDER.index, default=Status.NOTHING_RAN)
