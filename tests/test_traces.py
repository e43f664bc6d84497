"""What a call leaves in its process is told of the code that left it."""

import decimal
import subprocess
import sys
import warnings

import pytest

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


def imported(then: str) -> list[str]:
    """Return what is told in a process of its own where a call imports a library."""
    program = f"from conformance.isolate.traces import changed, state\nbefore = state()\n{then}\nprint(*changed(before), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


LIBRARIES = {
    "decimal": "decimal.Decimal(1) / 3",
    "torch": "torch.ones(1)",
    "jax": "jax.numpy.ones(1)",
}
SET = {
    "import decimal; decimal.getcontext().prec = 3": "decimal numbers",
    "import torch; torch.set_default_dtype(torch.float64)": "torch's default dtype",
    "import jax; jax.config.update('jax_enable_x64', True)": "JAX's 64 bits",
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_a_call_imports_and_uses_is_no_change(name: str) -> None:
    pytest.importorskip(name)

    told = "\n".join(imported(f"import {name}; {LIBRARIES[name]}"))

    assert not any(word in told for word in ("torch's", "JAX's", "decimal"))


@pytest.mark.parametrize("then", SET)
def test_a_library_that_a_call_imports_and_sets_is_told(then: str) -> None:
    pytest.importorskip(then.split(";", maxsplit=1)[0].split()[1])

    assert SET[then] in "\n".join(imported(then))


def test_decimal_numbers_that_are_rounded_are_no_change() -> None:
    before = state()
    decimal.Decimal(1) / 3

    assert list(changed(before)) == []
