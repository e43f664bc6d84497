"""What a call leaves in its process is told of the code that left it."""

import warnings

from conformance.isolate.traces import changed, state


class OwnWarning(UserWarning):
    """A warning of a library's own."""


def test_filters_for_warnings_of_a_librarys_own_are_no_change() -> None:
    with warnings.catch_warnings():
        before = state()
        warnings.simplefilter("once", OwnWarning)

        assert list(changed(before)) == []


def test_filters_for_everybodys_warnings_are_told() -> None:
    with warnings.catch_warnings():
        before = state()
        warnings.simplefilter("always")

        assert list(changed(before)) == ["changes global state: the warnings filters"]
