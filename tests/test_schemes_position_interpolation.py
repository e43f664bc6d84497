"""Position interpolation: the range of angles that it keeps, its bound, and implementations that round at every step."""

from typing import Any

import law_implementations as rounding
import numpy as np
import pytest
from law_subjects import OPERATIONS, findings, subject

from refimpl.schemes import position_interpolation as scheme
from refimpl.schemes import rope
from refimpl.schemes.position_interpolation import SCHEME

TRAINED, STRETCHED = 2_048, 8_192
HERE = np.zeros(1)


def scores(places: np.ndarray, head_dim: int, base: float) -> np.ndarray:
    """Return the sum of the cosines of every pair's angle: rope's score of two vectors whose pairs are all aligned."""
    return np.cos(np.outer(places, rope.frequencies(head_dim=head_dim, base=base, like=HERE))).sum(axis=-1)


def test_stretched_angles_stay_where_training_was_and_extrapolated_ones_leave() -> None:
    plain = rope.frequencies(head_dim=64, base=10_000.0, like=HERE)
    squeezed = scheme.frequencies(head_dim=64, factor=STRETCHED / TRAINED, like=HERE)

    assert np.all((STRETCHED - 1) * squeezed < TRAINED * plain)
    assert np.all((STRETCHED - 1) * plain > TRAINED * plain)


def test_the_printed_bound_is_exceeded_and_the_corrected_one_holds() -> None:
    head_dim, base = 128, 10_000.0
    places = np.arange(1, 1_000) / 1_000
    ends = scores(np.array([0.0, 1.0]), head_dim, base)
    strayed = np.abs(scores(places, head_dim, base) - (1 - places) * ends[0] - places * ends[1])
    room = places * (1 - places)

    assert (strayed / (room * head_dim / (8 * np.log(base)))).max() == pytest.approx(1.097, abs=5e-4)
    assert np.all(strayed < room / (2 * (1 - base ** (-4 / head_dim))))


def frequencies(*, head_dim: int, base: float, factor: float) -> np.ndarray:
    """Return frequencies divided in float32, as transformers does."""
    return rounding.frequencies(head_dim=head_dim, base=base) / np.float32(factor)


def by_frequency(
    x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, layout: str, direction: str, factor: float
) -> np.ndarray:
    """Turn by divided frequencies, tables in the dtype of ``x``, as transformers does."""
    angles = positions.astype(np.float32)[..., None] * frequencies(head_dim=head_dim, base=base, factor=factor)
    return rounding.turned(x, np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype), layout, direction)


def by_position(
    x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, layout: str, direction: str, factor: float
) -> np.ndarray:
    """Turn by divided positions, tables in the dtype of ``x``, as vLLM does."""
    places = positions.astype(np.float32) / np.float32(factor)
    angles = places[..., None] * rounding.frequencies(head_dim=head_dim, base=base)
    return rounding.turned(x, np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype), layout, direction)


@pytest.mark.parametrize(
    ("name", "function", "dtype", "profile"),
    [
        ("frequencies", frequencies, "float32", "float32"),
        *(("rotate", f, "float32", "float32") for f in (by_frequency, by_position)),
        *(("rotate", f, dtype, f"{dtype}-model") for f in (by_frequency, by_position) for dtype in ("float16", "bfloat16")),
    ],
)
def test_implementations_that_round_at_every_step_break_no_law(name: str, function: Any, dtype: str, profile: str) -> None:
    found = findings(subject(f"position_interpolation.{name}", function, dtype, profile), seed=3)

    assert [finding.failure for finding in found.values() if finding.failure] == []
    assert len(found) == 6 + len(SCHEME.laws[name])


def test_everything_that_is_declared_has_a_meaning() -> None:
    own = [operation for name, operation in OPERATIONS.items() if name.startswith("position_interpolation.")]

    assert {name for operation in own for name in (*operation.arrays, *operation.parameters)} == set(SCHEME.meanings)
