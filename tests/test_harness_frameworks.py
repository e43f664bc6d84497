"""Arrays reach a library exactly, and come back exactly."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.adapt.adapter import Unsupported
from conformance.adapt.arrays import MalformedError, NumPy
from conformance.adapt.frameworks import FRAMEWORKS, version
from conformance.adapt.results import exact
from conformance.isolate.session import Session
from conformance.spec.profiles import FORMATS

DYADIC = np.array([[0.0, -0.5, 31 / 16], [2.0, -2.0, 0.0625]])


def framework(name: str) -> NumPy:
    pytest.importorskip(name)
    return FRAMEWORKS[name]()


@pytest.mark.parametrize("dtype", list(FORMATS))
@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "array_api_strict"])
def test_numbers_make_the_round_trip_in_every_dtype(name: str, dtype: str) -> None:
    library = framework(name)
    try:
        array = library.floats(DYADIC, dtype)
    except Unsupported as refusal:
        pytest.skip(str(refusal))

    values, kept = exact(array, library)

    assert library.owns(array)
    assert (values.tolist(), values.dtype.name, kept) == (DYADIC.tolist(), "float64", dtype)


@pytest.mark.parametrize(("name", "device"), [("numpy", "cpu"), ("torch", "cpu"), ("jax", "cpu:0"), ("array_api_strict", "CPU_DEVICE")])
def test_the_device_is_that_of_the_arrays(name: str, device: str) -> None:
    assert device in framework(name).place


def test_the_device_that_an_adapter_names_is_told() -> None:
    pytest.importorskip("torch")

    assert FRAMEWORKS["torch"]("meta").place == "meta"


@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "array_api_strict"])
def test_integers_make_the_round_trip(name: str) -> None:
    library = framework(name)

    values, kept = exact(library.integers(np.array([-1, 1_048_576])), library)

    assert (values.tolist(), values.dtype.name) == ([-1, 1_048_576], "int64")
    assert kept in {"int64", "int32"}


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_rounding_to_a_dtype_is_the_nearest_number(name: str) -> None:
    library = framework(name)

    values, _ = exact(library.floats(np.array([0.1, 1 / 3]), "float32"), library)

    assert values.tolist() == [float(np.float32(0.1)), float(np.float32(1 / 3))]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_numpy_inputs_are_fresh_and_writable(dtype: str) -> None:
    library = framework("numpy")
    given = DYADIC.copy()

    array = library.floats(given, dtype)
    array[...] = 0

    assert given.tolist() == DYADIC.tolist()


def test_jax_without_64_bits_refuses_float64() -> None:
    library = framework("jax")
    if library.library.config.jax_enable_x64:
        pytest.skip("64 bits are enabled in this process")

    with pytest.raises(Unsupported, match="float64 needs jax_enable_x64"):
        library.floats(DYADIC, "float64")


def test_numpy_without_ml_dtypes_refuses_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)

    with pytest.raises(Unsupported, match="bfloat16 in NumPy needs ml_dtypes"):
        NumPy().floats(DYADIC, "bfloat16")


@pytest.mark.parametrize(
    ("value", "wide", "dtype"), [(0.1, "float64", "float64"), (3, "int64", "int64"), (np.float32(0.5), "float64", "float32")]
)
def test_a_number_counts_as_an_array_without_axes(value: Any, wide: str, dtype: str) -> None:
    values, kept = exact(value, NumPy())

    assert (values.shape, values.dtype.name, float(values), kept) == ((), wide, float(value), dtype)


@pytest.mark.parametrize(("value", "name"), [(None, "None"), ("1.0", "str"), ([1.0], "list"), ({"a": 1}, "dict")])
def test_what_is_no_number_is_malformed(value: object, name: str) -> None:
    with pytest.raises(MalformedError, match=rf"got {name}\b"):
        exact(value, NumPy())


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([1j])])
def test_an_array_of_something_else_is_malformed(value: np.ndarray) -> None:
    with pytest.raises(MalformedError, match="must hold real numbers of at most 64 bits or integers"):
        exact(value, NumPy())


def test_versions_come_from_the_distribution() -> None:
    assert version("numpy") == np.__version__
    assert version("no such distribution") is None


WARNING = """
import jax.numpy as jnp

from conformance import Adapter

adapter = Adapter("mine", framework="jax")


@adapter.implements("alibi.slopes", num_heads=2, max_bias=8.0)
def slopes(**_):
    return jnp.asarray([1 / 16, 1 / 256], dtype="float64")
"""


def test_what_a_library_warns_of_is_no_exception_of_the_code(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    (tmp_path / "mine.py").write_text(WARNING)
    with Session(str(tmp_path / "mine.py")) as session:
        found = session.call("alibi.slopes", [], {"num_heads": 2, "max_bias": 8.0})

    assert found["result"].tolist() == [1 / 16, 1 / 256]
