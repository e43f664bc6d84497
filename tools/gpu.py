"""Run the reference on CuPy, torch and JAX, on whatever GPU is there, and judge it by the vectors (``make test-gpu``).

Needs numpy, array-api-compat and pyyaml besides the array libraries, and no installation: ``PYTHONPATH=. python -m tools.gpu``.
Exit status: 0 if nothing is wrong (also where all was skipped, which it says), 1 otherwise.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

NEEDED = {"numpy": "numpy", "array_api_compat": "array-api-compat", "yaml": "pyyaml"}
DTYPES = ("float64", "float32")

Put = Callable[[Any, str], Any]


class AbsentError(Exception):
    """A backend can't be used here, and why."""


@dataclass(frozen=True)
class Backend:
    """An array library on a device: how NumPy arrays go there and come back."""

    name: str
    device: str
    put: Put
    get: Callable[[Any], Any]


def cupy() -> Backend:
    """Return CuPy on the first GPU."""
    library = _library("cupy")
    if not library.cuda.is_available():
        message = "CuPy sees no GPU"
        raise AbsentError(message)
    device = library.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return Backend("CuPy", device, lambda values, dtype: library.asarray(values.astype(dtype)), library.asnumpy)


def torch() -> Backend:
    """Return torch on the first GPU."""
    library = _library("torch")
    if not library.cuda.is_available():
        message = "torch sees no GPU"
        raise AbsentError(message)
    return torch_on("cuda", library.cuda.get_device_name(0))


def torch_on(device: str, words: str) -> Backend:
    """Return torch on a device."""
    library = _library("torch")
    return Backend(
        "torch", words, lambda values, dtype: library.asarray(values.astype(dtype), device=device), lambda tensor: tensor.cpu().numpy()
    )


def jax() -> Backend:
    """Return JAX on the first GPU, with float64 switched on."""
    library = _library("jax")
    library.config.update("jax_enable_x64", True)  # noqa: FBT003  JAX's own signature
    devices = [device for device in library.devices() if device.platform in {"gpu", "cuda", "rocm"}]
    if not devices:
        message = "JAX sees no GPU"
        raise AbsentError(message)
    return jax_on(devices[0])


def jax_on(device: Any) -> Backend:
    """Return JAX on a device."""
    library, numpy = _library("jax"), _library("numpy")
    return Backend("JAX", device.device_kind, lambda values, dtype: library.device_put(values.astype(dtype), device), numpy.asarray)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"{name} is not installed" if importlib.util.find_spec(name) is None else f"{name} can't be imported: {error}"
        raise AbsentError(message) from error


@dataclass(frozen=True)
class Comparison:
    """One vector on one backend: the error as a multiple of the allowed, and what is wrong, if anything."""

    vector: str
    dtype: str
    ratio: float | None
    problem: str | None


def comparisons(backend: Backend) -> Iterator[Comparison]:
    """Compare the reference on a backend with every vector that the dtype holds exactly."""
    from conformance.judge.judge import exact_in
    from conformance.spec.vectors import load

    for vector in load():
        for dtype in DTYPES:
            if vector.error is None and exact_in(vector, dtype):
                yield compared(backend, vector, dtype)


def compared(backend: Backend, vector: Any, dtype: str) -> Comparison:
    """Run one vector; a result must be right, stay on its device, and leave the inputs alone."""
    from conformance.calls.outcomes import Failed
    from conformance.judge.judge import compare

    arrays = [backend.put(values, dtype if values.dtype.kind == "f" else "int64") for values in vector.inputs.values()]
    before = [backend.get(array).copy() for array in arrays]
    results = _results(backend, vector, dtype, arrays)
    judgement = compare(vector, _reply(backend, vector, results), dtype, dtype)
    problem = judgement.outcome.message if isinstance(judgement.outcome, Failed) else _moved(backend, arrays, results)
    changed = any((backend.get(array) != old).any() for array, old in zip(arrays, before, strict=True))
    return Comparison(vector.id, dtype, judgement.ratio, "modifies its input" if changed else problem)


def _results(backend: Backend, vector: Any, dtype: str, arrays: Sequence[Any]) -> tuple[Any, ...]:
    import numpy as np

    from conformance.adapters.through_reference import answer
    from conformance.spec.declarations import operations

    like = backend.put(np.empty(0), dtype)
    result = answer(operations()[vector.operation], like, *arrays, dtype=like.dtype, **vector.parameters)
    return result if isinstance(result, tuple) else (result,)


def _reply(backend: Backend, vector: Any, results: Sequence[Any]) -> Any:
    import numpy as np

    from conformance.calls.subject import Reply

    host = [np.asarray(result if isinstance(result, float) else backend.get(result)) for result in results]
    names = list(vector.expected)
    kinds = {name: "int64" if array.dtype.kind in "iu" else "float64" for name, array in zip(names, host, strict=True)}
    values = {name: array.astype(kinds[name]) for name, array in zip(names, host, strict=True)}
    return Reply(values, {name: array.dtype.name for name, array in zip(names, host, strict=True)})


def _moved(backend: Backend, arrays: Sequence[Any], results: Sequence[Any]) -> str | None:
    import numpy as np

    home = (arrays[0] if arrays else backend.put(np.empty(0), "float64")).device
    away = [result.device for result in results if not isinstance(result, float) and result.device != home]
    return f"result must stay on {home}, got {away[0]}" if away else None


def report(backend: Backend) -> bool:
    """Print what a backend's comparisons found; return whether something is wrong."""
    found = list(comparisons(backend))
    wrong = [comparison for comparison in found if comparison.problem]
    print(f"{backend.name} on {backend.device}: {len(found)} comparisons, {len(wrong)} wrong")
    for dtype in DTYPES:
        ratios = [(comparison.ratio or 0.0, comparison.vector) for comparison in found if comparison.dtype == dtype]
        worst, where = max(ratios)
        print(f"  {dtype}: {len(ratios)} vectors, worst error {worst:.2f} times the allowed error at {where}")
    for comparison in wrong:
        print(f"  wrong: {comparison.vector} at {comparison.dtype}: {comparison.problem}")
    return bool(wrong) or not found


def available() -> Iterator[Backend]:
    """Yield every backend with a GPU; say in words why another one is skipped."""
    for backend in (cupy, torch, jax):
        try:
            yield backend()
        except AbsentError as error:
            print(f"skipped {backend.__name__}: {error}")


def main() -> int:
    """Judge every backend that is there."""
    missing = [distribution for module, distribution in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        print(f"test-gpu: needs {', '.join(missing)}: pip install {' '.join(missing)}", file=sys.stderr)
        return 1
    outcomes = [report(backend) for backend in available()]
    if not outcomes:
        print("nothing was judged: no GPU is visible to CuPy, torch or JAX on this machine")
    return int(any(outcomes))


if __name__ == "__main__":
    sys.exit(main())
