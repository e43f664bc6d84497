"""The cases of every bias whose rows of the batch have positions of their own, as left padding makes them."""

from typing import Any

from refimpl.spec import Case

ROWS: dict[str, tuple[str, Any, Any]] = {
    "left-padding": ("the first row's positions used for every row", [[2, 3], [0, 1]], [[0, 1, 2, 3], [0, 0, 0, 1]]),
    "batch-equals-all": ("batch, head, query and key exchanged", [[0, 3], [5, 1]], [[2, 0], [1, 9]]),
    "batched-queries": ("an optional axis of the queries taken for another", [[9], [2]], [0, 2, 5]),
    "batched-keys": ("an optional axis of the keys taken for another", [2, 1], [[0, 2, 9], [9, 0, 3]]),
}


def batched(operation: str, ending: str = "", **given: Any) -> tuple[Case, ...]:
    """Return the cases of an operation with what it is given besides positions, for two heads, and batches that differ."""
    cases = (
        Case(f"{operation}/{name}{ending}", exposes=exposes, query_positions=queries, key_positions=keys, **given)
        for name, (exposes, queries, keys) in ROWS.items()
    )
    uneven = Case(f"{operation}/uneven-batches{ending}", exposes="batches that broadcast by accident", query_positions=[[0], [1]],
                  key_positions=[[0], [1], [2]], error="axis 'batch' is 3 in key_positions but 2 in query_positions", **given)
    return (*cases, uneven)
