"""What Shaw's laws allow: code that rounds at every step, whichever way round, and no scale that is off."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from law_subjects import OPERATIONS, convicting, findings, subject

from conformance import laws
from refimpl.schemes import SCHEMES

Array = np.ndarray
HALVES = [("float32", "float32"), ("float16", "float16-model"), ("bfloat16", "bfloat16-model")]
SHORT = ["logits", "weights", "attend"]


def rows(query_positions: Array, key_positions: Array, *, max_distance: int, sign: str, clip: str) -> Array:
    later = key_positions[..., None, :] - query_positions[..., :, None]
    step = np.clip(later if sign == "key_minus_query" else -later, -max_distance, max_distance - (clip == "lower_closed"))
    return step + max_distance


def of_all_heads(chosen: Array) -> Array:
    """Return the axes of edges with one for the heads."""
    return chosen[:, None] if chosen.ndim == 4 else chosen[None, None]


def root(q: Array) -> Array:
    return np.asarray(np.sqrt(q.shape[-1]), dtype=q.dtype)


def added(q: Array, k: Array, edges: Array) -> Array:
    """Add the edge to the key, scale the query first (as eq. 4 is written, and as SpeechT5 scales)."""
    return ((q / root(q))[:, :, :, None] * (k[:, :, None] + edges)).sum(axis=-1)


def apart(q: Array, k: Array, edges: Array) -> Array:
    """Multiply twice, and scale either product (as SeamlessM4T v2 does)."""
    content = (q[:, :, :, None] * k[:, :, None]).sum(axis=-1)
    return content / root(q) + (q[:, :, :, None] * edges).sum(axis=-1) / root(q)


def softmax(scores: Array, seen: Array) -> Array:
    hidden = np.where(seen if seen.ndim == 2 else seen[:, None], scores, np.asarray(-np.inf, dtype=scores.dtype))
    powers = np.exp(hidden - hidden.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def code(short: str, meet: Callable[[Array, Array, Array], Array]) -> Callable[..., Array]:
    """Return an operation that rounds every step to the dtype of its arrays."""

    def logits(q: Array, k: Array, key_table: Array, m: Array, n: Array, **asked: Any) -> Array:
        return meet(q, np.repeat(k, q.shape[1] // k.shape[1], axis=1), of_all_heads(key_table[rows(m, n, **asked)]))

    def weights(q: Array, k: Array, key_table: Array, m: Array, n: Array, *, causal: bool, **asked: Any) -> Array:
        return softmax(logits(q, k, key_table, m, n, **asked), (n[..., None, :] <= m[..., :, None]) | (not causal))

    def attend(q: Array, k: Array, v: Array, key_table: Array, value_table: Array, m: Array, n: Array, **asked: Any) -> Array:
        shares = weights(q, k, key_table, m, n, **asked)[..., None]
        values, edges = np.repeat(v, q.shape[1] // v.shape[1], axis=1)[:, :, None], of_all_heads(value_table[rows(m, n, **without(asked))])
        if meet is added:
            return (shares * (values + edges)).sum(axis=-2)
        return (shares * values).sum(axis=-2) + (shares * edges).sum(axis=-2)

    return {"logits": logits, "weights": weights, "attend": attend}[short]


def without(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name != "causal"}


@pytest.mark.parametrize("meet", [added, apart])
@pytest.mark.parametrize(("dtype", "profile"), HALVES)
@pytest.mark.parametrize("short", SHORT)
def test_code_that_rounds_at_every_step_breaks_no_law(short: str, dtype: str, profile: str, meet: Callable[..., Array]) -> None:
    found = findings(subject(f"shaw.{short}", code(short, meet), dtype, profile), seed=3)

    assert {name: finding.failure for name, finding in found.items() if finding.failure is not None} == {}
    assert len(found) == len(laws.UNIVERSAL) + len(SCHEMES["shaw"].laws[short])


def rescaled(short: str, factor: float) -> Callable[..., Any]:
    """Return the reference with its queries multiplied."""
    operation = OPERATIONS[f"shaw.{short}"]

    def function(*arrays: Array, **parameters: Any) -> Any:
        named = dict(zip(operation.arrays, arrays, strict=True))
        wide = {name: a if a.dtype.kind == "i" else a.astype(np.float64) for name, a in named.items()}
        return np.asarray(operation.function(*{**wide, "q": wide["q"] * factor}.values(), **parameters)).astype(np.float32)

    return function


@pytest.mark.parametrize("short", SHORT)
def test_a_scale_that_is_off_by_a_thousandth_is_convicted(short: str) -> None:
    assert convicting(subject(f"shaw.{short}", rescaled(short, 0.999), "float32")) == {"reduces to none"}
