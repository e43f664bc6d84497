"""What drawn arguments must obey beyond axes and rules: tables as long as a parameter says, positions inside a table."""

from collections.abc import Callable, Mapping

import numpy as np

from conformance.arguments import Parameters

Arrays = Mapping[str, np.ndarray]


def one_row_per_distance(arrays: Arrays, parameters: Parameters) -> Arrays:
    """Repeat the rows of every table until there is one for each distance that Shaw's clip leaves."""
    rows = 2 * int(parameters["max_distance"]) + (parameters["clip"] == "symmetric")
    return {name: np.resize(a, (rows, a.shape[1])) if name.endswith("_table") else a for name, a in arrays.items()}


def one_score_per_distance(arrays: Arrays, parameters: Parameters) -> Arrays:
    """Repeat or cut scores so that they have as many distances as memory and queries together."""
    batch, head, query, _ = arrays["scores"].shape
    return {**arrays, "scores": np.resize(arrays["scores"], (batch, head, query, query + int(parameters["memory"])))}


def one_row_per_offset(arrays: Arrays, parameters: Parameters) -> Arrays:
    """Repeat the rows of a table until every offset has its own."""
    rows = 2 * int(parameters["max_distance"]) + 1
    return {**arrays, "table": np.resize(arrays["table"], (rows, arrays["table"].shape[1]))}


def both_directions_where_signed(parameters: Parameters) -> bool:
    """Return whether DeBERTa's buckets, which have a sign, are asked for in both directions and divide by four."""
    return parameters["convention"] != "deberta" or (bool(parameters["bidirectional"]) and int(parameters["num_buckets"]) % 4 == 0)


def inside_of_the_code(arrays: Arrays, parameters: Parameters) -> Arrays:
    """Move positions to where so many bits have a code."""
    return {**arrays, "positions": within(arrays["positions"], 2 ** int(parameters["bits"]))}


#: So many rows of a table are left free at most where its first ones are no position's, as those of padding.
FREE = 64


def inside_of_the_table(arrays: Arrays, parameters: Parameters) -> Arrays:
    """Repeat rows until every token could have its own beyond the offset; move positions there, unless others are answered."""
    positions, table = arrays["positions"], arrays["table"]
    room = max(table.shape[0], positions.size)
    if parameters["outside"] == "raise" and positions.max() >= room:
        free = min(int(positions.min()), FREE)
        positions, room = free + within(positions - free, room), room + free
    return {"positions": positions, "table": np.resize(table, (room + int(parameters["offset"]), table.shape[1]))}


def within(positions: np.ndarray, room: int) -> np.ndarray:
    """Return positions below a bound: a run of consecutive ones is moved down as it is, others are wrapped."""
    run = positions - max(positions.max() - room + 1, 0)
    consecutive = positions.size > 1 and bool(np.all(np.diff(positions) == 1))
    return run if consecutive and run.min() >= 0 else positions % room


def slowing(arrays: Arrays, _: Parameters) -> Arrays:
    """Make every factor at least 1."""
    return {name: 1 + np.abs(array) if name.endswith("factors") else array for name, array in arrays.items()}


def inside_of_the_length(arrays: Arrays, parameters: Parameters) -> Arrays:
    """Make every factor at least 1, and move positions that lie beyond a sequence of that length into it."""
    positions, length = arrays["positions"], int(parameters["length"])
    inside = positions if positions.max() < length else within(positions, length)
    return {**slowing(arrays, parameters), "positions": inside}


def inside_of_the_kernel(arrays: Arrays, parameters: Parameters) -> Arrays:
    """Make learned numbers positive, and exponents at most 2."""
    first, second = (np.where(arrays[name] == 0.0, 1.0, np.abs(arrays[name])) for name in ("first", "second"))
    return {**arrays, "first": first, "second": np.minimum(second, 2.0) if parameters["form"] == "power" else second}


#: For an operation: make drawn arrays such that every conforming implementation takes them.
SUITED: Mapping[str, Callable[[Arrays, Parameters], Arrays]] = {
    "relative_bias.bias": one_row_per_offset,
    "kerple.bias": inside_of_the_kernel,
    "binary.encode": inside_of_the_code,
    "learned.encode": inside_of_the_table,
    "longrope.frequencies": slowing,
    "longrope.rotate": inside_of_the_length,
    "longrope.rotate_searched": slowing,
    **dict.fromkeys(("shaw.logits", "shaw.weights", "shaw.attend"), one_row_per_distance),
    "transformer_xl.shift": one_score_per_distance,
}

#: For an operation: whether drawn parameters agree with each other.
AGREED: Mapping[str, Callable[[Parameters], bool]] = {
    **dict.fromkeys(("t5.bucket", "t5.bias"), both_directions_where_signed),
}


def suited(operation: str, arrays: Arrays, parameters: Parameters) -> Arrays:
    """Return arrays that the operation takes."""
    return SUITED[operation](arrays, parameters) if operation in SUITED else arrays


def agreed(operation: str, parameters: Parameters) -> bool:
    """Return whether the operation takes such parameters together."""
    return AGREED[operation](parameters) if operation in AGREED else True
