"""Recover what attention does to its queries and keys: operations that attend are run on the same arrays, for weights or outputs.

Weights hide much of an encoding: what differs by a number for each query gives the same. So nothing is declared from here.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from conformance.identify.asking import Refused
from conformance.identify.findings import Identity
from conformance.identify.probe import Probe
from conformance.identify.rules import giving, taking
from conformance.identify.turns import DTYPES
from refimpl.spec import Operation

#: Where tokens stand if positions are given, else one after the other.
PLACES = np.array([0, 1, 2, 3, 5, 11, 40])
WIDTHS, HEADS = (64, 32, 16, 8, 128, 256, 512), 4
ORDERS = ((0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3))
TOLERANCE = {"float64": 2e-5, "float32": 2e-5, "float16": 2.0**-8, "bfloat16": 2.0**-5}
PLACED = ("query_positions", "key_positions")
INSTEAD = "the encoding: weights and outputs hide it; give the function that turns queries and keys, or the bias on logits"


@dataclass(frozen=True)
class _Asked:
    """One call that was answered: what was given, what came back, and what it is."""

    arrays: dict[str, np.ndarray]
    value: np.ndarray
    what: str
    dtype: str


def identify(probe: Probe) -> Identity:
    """Return which operation gives these weights, their logits, or these outputs."""
    asked = _first(probe)
    attends = asked.what == "outputs"
    arrays = (*(("q", "k", "v") if attends else ("q", "k")), *PLACED)
    told = {"head_dim": asked.arrays["q"].shape[-1], "num_heads": HEADS}
    candidates = [known for known in taking(*arrays) if len(known.results) == 1 and len(_numbers(known) - told.keys()) <= 1]
    allowed = 4 * TOLERANCE[asked.dtype] * np.abs(asked.value).max()
    found = giving(candidates, asked.arrays, asked.value, allowed, probe.settings, told)
    if found is None:
        return Identity(None, f"attention ({asked.what}) that no operation gives", unseen=(INSTEAD,))
    words = f"{asked.what} of attention{', ' if found.words else ''}{found.words}"
    return Identity(None, words, found.parameters, (), (*found.notes, INSTEAD), values_of=found.operation.name)


def _numbers(operation: Operation) -> set[str]:
    """Return the parameters that are numbers: more than one isn't looked for in weights, which hide how a rotation is slowed."""
    return {name for name, parameter in operation.parameters.items() if not parameter.choices and parameter.kind is not bool}


def _first(probe: Probe) -> _Asked:
    """Return the first call that is answered by weights, logits or outputs, or raise ``Refused``."""
    refusal = Refused("the result is neither weights nor outputs of attention")
    for dtype, order, width in itertools.product(DTYPES, ORDERS, WIDTHS):
        arrays = dict(_arrays(probe, width))
        given = {name: array if name in PLACED else array.transpose(order) for name, array in arrays.items()}
        try:
            value = probe.at(dtype)(**given, positions=arrays["query_positions"])[0]
        except Refused as refused:
            if refused.hopeless:
                raise
            refusal = refused
            continue
        asked = _read(value, arrays, order, dtype)
        if asked is not None:
            return asked
    raise refusal


def _arrays(probe: Probe, width: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield vectors that differ in every number, and where they stand."""
    generator = np.random.default_rng(0)
    for name in ("q", "k", "v"):
        yield name, generator.integers(-16, 17, (2, HEADS, PLACES.size, width)) / 8
    placed = {*PLACED, "positions"} & set(probe.plan.probed)
    yield from dict.fromkeys(PLACED, PLACES if placed else np.arange(PLACES.size)).items()


def _read(value: np.ndarray, arrays: dict[str, np.ndarray], order: tuple[int, ...], dtype: str) -> _Asked | None:
    """Return what came back as (batch, head, query, key or head_dim)."""
    shape = arrays["q"].shape
    if value.shape == (*shape[:3], shape[2]):
        sums = np.abs(value.sum(axis=-1) - 1).max() <= TOLERANCE[dtype] * shape[2]
        return _Asked(arrays, value if sums else _softmax(value), "weights" if sums else "logits", dtype)
    if value.size != arrays["q"].size or value.ndim < 2:
        return None
    arranged = tuple(shape[axis] for axis in order)
    outputs = value.reshape(arranged).transpose(np.argsort(order)) if value.shape[-1] in (shape[-1], shape[1] * shape[-1]) else value
    return _Asked(arrays, outputs, "outputs", dtype) if outputs.shape == shape else None


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
