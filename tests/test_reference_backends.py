"""The reference on every array library that is here: right by the vectors, on the input's device, leaving its inputs alone."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from conformance.adapt.arrays import narrowed
from conformance.spec import vectors
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector, load
from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES, rope, sinusoidal
from tools import gpu

ROOT = Path(__file__).resolve().parent.parent
VECTORS = load()


def read_only(values: np.ndarray, dtype: str) -> np.ndarray:
    array = values.astype(dtype)
    array.flags.writeable = False
    return array


def read_only_backend() -> gpu.Backend:
    return gpu.Backend("read-only NumPy", "cpu", read_only, lambda array: array)


def strict_backend() -> gpu.Backend:
    library = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    device = library.Device("device1")
    home = library.Device("CPU_DEVICE")
    return gpu.Backend(
        "array-api-strict",
        "device1",
        lambda values, dtype: library.asarray(values.astype(dtype), device=device),
        lambda array: np.asarray(array.to_device(home)),
    )


def torch_backend() -> gpu.Backend:
    pytest.importorskip("torch", reason="torch is not installed")
    return gpu.torch_on("cpu", "cpu")


BACKENDS = {"read-only": read_only_backend, "array-api-strict": strict_backend, "torch": torch_backend}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[gpu.Backend]:
    chosen = BACKENDS[request.param]()
    if request.param != "array-api-strict":
        yield chosen
        return
    import array_api_strict

    with array_api_strict.ArrayAPIStrictFlags(boolean_indexing=False, data_dependent_shapes=False, enabled_extensions=()):
        yield chosen


@pytest.mark.parametrize("operation", operations())
def test_every_vector_is_met_at_float64_and_float32(backend: gpu.Backend, operation: str) -> None:
    own = [vector for vector in VECTORS if vector.operation == operation and vector.error is None]
    found = [gpu.compared(backend, vector, dtype) for vector in own for dtype in gpu.DTYPES if judged(vector, dtype)]

    assert [f"{c.vector} at {c.dtype}: {c.problem}" for c in found if c.problem] == []
    assert len(found) >= len(own) > 0


def judged(vector: Vector, dtype: str) -> bool:
    return dtype == "float64" or all(
        values.dtype.kind == "i" or np.array_equal(values, narrowed(values, dtype)) for values in vector.inputs.values()
    )


@pytest.mark.parametrize("operation", operations())
def test_bad_input_is_refused_in_the_same_line_on_every_backend(backend: gpu.Backend, operation: str) -> None:
    bad = [vector for vector in VECTORS if vector.operation == operation and vector.error]

    assert {vector.id: refusal(backend, vector) for vector in bad} == {vector.id: vector.error for vector in bad}
    assert bad


def refusal(backend: gpu.Backend, vector: Vector) -> str:
    arrays = [backend.put(values, values.dtype.name) for values in vector.inputs.values()]
    like = {"like": backend.put(np.empty(0), "float64")} if operations()[vector.operation].takes_like else {}
    with pytest.raises(SpecificationError) as refused:
        operations()[vector.operation].function(*arrays, **vector.parameters, **like)
    return str(refused.value)


def test_every_scheme_has_vectors_for_every_operation() -> None:
    named = {vector.operation for vector in VECTORS}

    assert named == {f"{scheme.name}.{function.__name__}" for scheme in SCHEMES.values() for function in scheme.operations}


def run(program: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


#: Every operation of every shape is compiled for one call: to optimise it takes longer than to run it.
JAX_WITH_FLOAT64 = """
import jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)
from conformance.spec.vectors import load
from tools import gpu
backend = gpu.jax_on(jax.devices("cpu")[0])
chosen = {v.operation: v for v in reversed(load()) if v.error is None and sum(a.size for a in v.inputs.values()) < 100}
found = [gpu.compared(backend, vector, "float64") for vector in chosen.values()]
print(*(f"{c.vector} at {c.dtype}: {c.problem}" for c in found if c.problem), sep="\\n", end="")
print(len(found), "compared")
"""

JAX_WITHOUT_FLOAT64 = """
import jax.numpy as jnp
from refimpl.errors import SpecificationError
from refimpl.schemes import rope
try:
    rope.rotate(jnp.ones((1, 1, 1, 4)), jnp.asarray([1]), head_dim=4)
except SpecificationError as error:
    print(error)
"""


def test_jax_with_float64_meets_a_vector_of_every_operation() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")

    assert run(JAX_WITH_FLOAT64) == f"{len(operations())} compared"


def test_what_is_no_array_is_refused_by_name() -> None:
    with pytest.raises(SpecificationError, match=r"^positions must be an array, got list$"):
        rope.rotate(np.ones((1, 1, 1, 4)), [0], head_dim=4)


@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        ("complex128", "x must be real numbers in floating point, got complex128"),
        ("bool", "x must be real numbers in floating point, got bool"),
        ("int64", "x must be real numbers in floating point, got int64"),
    ],
)
def test_what_are_no_real_numbers_is_refused(dtype: str, words: str) -> None:
    with pytest.raises(SpecificationError) as refusal:
        rope.rotate(np.ones((1, 1, 1, 4)).astype(dtype), np.array([1]), head_dim=4)

    assert str(refusal.value) == words


@pytest.mark.parametrize("dtype", ["bool", "complex128"])
def test_positions_that_may_be_real_are_no_truth_values(dtype: str) -> None:
    with pytest.raises(SpecificationError, match=rf"^positions must be real numbers, got {dtype}$"):
        sinusoidal.encode(np.ones(2).astype(dtype), dim=4)


def test_arrays_of_two_libraries_are_refused() -> None:
    positions = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed").asarray([0])

    with pytest.raises(SpecificationError, match=r"^arrays must come from one library, got x from numpy, positions from array_api_strict$"):
        rope.rotate(np.ones((1, 1, 1, 4)), positions, head_dim=4)


def test_jax_without_float64_is_refused() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")

    assert run(JAX_WITHOUT_FLOAT64) == "float64 must be available, got JAX without jax_enable_x64"


def test_the_gpu_job_says_in_words_what_it_skipped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def absent() -> gpu.Backend:
        message = "no GPU here"
        raise gpu.AbsentError(message)

    for name in ("cupy", "torch", "jax"):
        monkeypatch.setattr(gpu, name, absent)

    assert gpu.main() == 0
    assert capsys.readouterr().out.count("no GPU here") == 3


def test_the_gpu_job_fails_where_a_backend_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = gpu.Backend("half", "cpu", lambda values, dtype: values.astype(dtype), lambda array: (array * 1.001).astype(array.dtype))
    monkeypatch.setattr(gpu, "available", lambda: iter([wrong]))
    monkeypatch.setattr(vectors, "load", lambda: load(["rope.rotate"]))

    assert gpu.main() == 1
    assert "rope.rotate" in capsys.readouterr().out


def test_the_gpu_job_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu, "NEEDED", {"no_such_module": "no-such-distribution"})

    assert gpu.main() == 1
    assert capsys.readouterr().err == "test-gpu: needs no-such-distribution: pip install no-such-distribution\n"
