"""What drawn arguments must obey beyond axes and rules: tables as long as a parameter says, positions inside a table."""

from collections.abc import Callable, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]
Parameters = Mapping[str, object]

#: For an operation: make drawn arrays such that every conforming implementation takes them.
SUITED: Mapping[str, Callable[[Arrays, Parameters], Arrays]] = {}

#: For an operation: whether drawn parameters agree with each other.
AGREED: Mapping[str, Callable[[Parameters], bool]] = {}


def suited(operation: str, arrays: Arrays, parameters: Parameters) -> Arrays:
    """Return arrays that the operation takes."""
    return SUITED[operation](arrays, parameters) if operation in SUITED else arrays


def agreed(operation: str, parameters: Parameters) -> bool:
    """Return whether the operation takes such parameters together."""
    return AGREED[operation](parameters) if operation in AGREED else True
