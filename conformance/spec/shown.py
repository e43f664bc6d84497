"""A value in few letters, however long or deep it is: an error is read by a person."""

import reprlib

LETTERS = 80
#: An integer of more bits is told by their count: beyond some thousands of digits Python refuses to write it.
WRITTEN_BITS = 256


class _Short(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002  as the others
        """Return an integer, or how long it is."""
        return repr(x) if x.bit_length() <= WRITTEN_BITS else f"an integer of {x.bit_length()} bits"


def shown(value: object) -> str:
    """Return a value in few letters."""
    short = _Short()
    short.maxstring = short.maxother = LETTERS
    return short.repr(value)
