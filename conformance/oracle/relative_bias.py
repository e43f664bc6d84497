"""Plain relative bias: one learned number per head for every clipped offset (Shaw et al. 2018, section 3.2; Liu et al. 2021, eq. 4)."""

from flint import arb

from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.tensor import Inputs, Results, over


def bias(a: Exact, inputs: Inputs, *, max_distance: int, sign: str) -> Results:
    """Return the table's number for every head, query and key; nothing is rounded."""
    del a
    table, queries, keys = inputs["table"], inputs["query_positions"].values, inputs["key_positions"].values
    turn = 1 if sign == "key_minus_query" else -1

    def read(head: int, query: int, key: int) -> Ball:
        away = turn * int(keys[key] - queries[query])
        return arb(table.at(max_distance + max(-max_distance, min(max_distance, away)), head))

    return {"result": over((table.shape[1], len(queries), len(keys)), read)}
