"""Measure how long the diagnosis of one failing operation takes: ``python -m tools.diagnosis_time [OPERATION...]``.

The worst cases are mistakes that nobody knows, since every candidate must be turned down: noise everywhere, noise in the largest vector
alone, and noise as small as fifty allowances, which most candidates come close to. A known mistake is measured beside them.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from conformance.diagnosis import diagnose
from conformance.diagnosis.candidates import answer
from conformance.mutants import for_operation
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector, load

PROFILE = "float32"
SMALL = 50.0
Change = Callable[[np.ndarray, np.ndarray, Vector], np.ndarray]


def observed(vectors: Sequence[Vector], change: Change) -> list[diagnose.Observation]:
    """Return the right results of all vectors, changed."""
    return [
        diagnose.Observation(vector, {name: change(right, _allowed(vector, name), vector) for name, right in _right(vector)}, PROFILE)
        for vector in vectors
    ]


def _allowed(vector: Vector, name: str) -> np.ndarray:
    return vector.allowed.get(PROFILE, {}).get(name, np.zeros(()))


def _right(vector: Vector) -> list[tuple[str, np.ndarray]]:
    return list((vector.expected or {}).items())


def changes(vectors: Sequence[Vector]) -> dict[str, Change]:
    """Return mistakes that nobody knows, by name."""
    noise = np.random.default_rng(0)
    largest = max(vectors, key=lambda vector: sum(right.size for _, right in _right(vector)))

    def everywhere(right: np.ndarray, _: np.ndarray, __: Vector) -> np.ndarray:
        return right ^ 1 if right.dtype.kind == "i" else right + noise.standard_normal(right.shape)

    def in_one(right: np.ndarray, allowed: np.ndarray, vector: Vector) -> np.ndarray:
        return everywhere(right, allowed, vector) if vector is largest else right

    def small(right: np.ndarray, allowed: np.ndarray, _: Vector) -> np.ndarray:
        rounding = 2.0**-24 * np.abs(right)
        return right if right.dtype.kind == "i" else right + SMALL * (np.nan_to_num(allowed) + rounding)

    return {"noise": everywhere, "one vector": in_one, "small": small}


def cases(operation: str) -> Iterator[tuple[str, list[diagnose.Observation]]]:
    """Yield what is diagnosed, by name."""
    vectors = [vector for vector in load([operation]) if vector.error is None]
    for name, change in changes(vectors).items():
        yield name, observed(vectors, change)
    known = for_operation(operation)[-1]
    found = [(vector, answer(known.function, vector)) for vector in vectors]
    yield "known", [diagnose.Observation(vector, result, PROFILE) for vector, result in found if result is not None]


def seconds(operation: str, observations: Sequence[diagnose.Observation]) -> float:
    """Return the processor's seconds of one diagnosis."""
    start = time.process_time()
    diagnose.explain(operation, observations, PROFILE)
    return time.process_time() - start


def main(chosen: Sequence[str]) -> None:
    """Print one row per operation, and the slowest."""
    print("| operation | noise | one vector | small | known |\n|---|---|---|---|---|")
    slowest = 0.0
    for operation in chosen or operations():
        took = [seconds(operation, observations) for _, observations in cases(operation)]
        slowest = max(slowest, *took)
        print(f"| `{operation}` | {' | '.join(f'{one:.2f}' for one in took)} |", flush=True)
    print(f"\nSlowest: {slowest:.2f} s of processor time on one core ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main(sys.argv[1:])
