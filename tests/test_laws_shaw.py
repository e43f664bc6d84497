"""What Shaw's laws allow: code that rounds at every step, whichever way round, and no scale that is off."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from law_implementations import per_query_head, root, weights_of
from law_subjects import OPERATIONS, broken, convicting, findings, subject

Array = np.ndarray
SHORT = ["logits", "weights", "attend"]


def rows(query_positions: Array, key_positions: Array, *, max_distance: int, sign: str, clip: str) -> Array:
    later = key_positions[..., None, :] - query_positions[..., :, None]
    step = np.clip(later if sign == "key_minus_query" else -later, -max_distance, max_distance - (clip == "lower_closed"))
    return step + max_distance


def of_all_heads(chosen: Array) -> Array:
    """Return the axes of edges with one for the heads."""
    return chosen[:, None] if chosen.ndim == 4 else chosen[None, None]


def added(q: Array, k: Array, edges: Array) -> Array:
    """Add the edge to the key, scale the query first (as eq. 4 is written, and as SpeechT5 scales)."""
    return ((q / root(q))[:, :, :, None] * (k[:, :, None] + edges)).sum(axis=-1)


def apart(q: Array, k: Array, edges: Array) -> Array:
    """Multiply twice, and scale either product (as SeamlessM4T v2 does)."""
    content = (q[:, :, :, None] * k[:, :, None]).sum(axis=-1)
    return content / root(q) + (q[:, :, :, None] * edges).sum(axis=-1) / root(q)


def code(short: str, meet: Callable[[Array, Array, Array], Array]) -> Callable[..., Array]:
    """Return an operation that rounds every step to the dtype of its arrays."""

    def logits(q: Array, k: Array, key_table: Array, m: Array, n: Array, **asked: Any) -> Array:
        return meet(q, per_query_head(k, q), of_all_heads(key_table[rows(m, n, **asked)]))

    weights = weights_of(logits)

    def attend(q: Array, k: Array, v: Array, key_table: Array, value_table: Array, m: Array, n: Array, **asked: Any) -> Array:
        shares = weights(q, k, key_table, m, n, **asked)[..., None]
        values, edges = per_query_head(v, q)[:, :, None], of_all_heads(value_table[rows(m, n, **without(asked))])
        if meet is added:
            return (shares * (values + edges)).sum(axis=-2)
        return (shares * values).sum(axis=-2) + (shares * edges).sum(axis=-2)

    return {"logits": logits, "weights": weights, "attend": attend}[short]


def without(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name != "causal"}


@pytest.mark.parametrize("meet", [added, apart])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("short", SHORT)
def test_code_that_rounds_at_every_step_breaks_no_law(short: str, dtype: str, meet: Callable[..., Array]) -> None:
    assert not broken(findings(subject(f"shaw.{short}", code(short, meet), dtype), seed=3))


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
