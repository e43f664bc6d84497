"""Recover a bias on attention logits from values: slopes and form, buckets, a table's rows, a causal mask, or why it is none of them."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from conformance.identify import buckets, learned
from conformance.identify.asking import Refused
from conformance.identify.findings import Identity
from conformance.identify.probe import FEW_ROWS, Probe
from conformance.identify.rules import Rule, identified, sibling, taking
from conformance.identify.turns import DTYPES
from refimpl.spec import Operation

QUERIES, KEYS = np.array([3, 0, 7, 20, 12]), np.array([0, 1, 2, 3, 5, 9, 14, 20, 33, 28, 31])
#: How far offsets are looked at; less where positions end.
REACHES = (1_000, 600, 256, 64, 32, 16, 8)
#: Up to there what fits near offsets must fit at each of them, and beyond at every fourth: by positions that every dtype holds.
NEAR, EVERY = (250, 128, 64), 4
MASKED = -1e4
MASK = "a causal mask is part of it: later keys are hidden"
#: Said of no mask, and of factors that are 0 for later keys, as a decay is.
UNMASKED, CUT = "no mask: later keys get finite numbers", "later keys get 0"
OF_OFFSETS = "an adapter: no operation gives the buckets of queries and keys; give the function of their offsets, or the bias"
LEVEL = "later keys get 0, at every distance, as torch.tril leaves them: no declaration says that"
TOLERANCE = 2e-5
COARSE = {"float32": TOLERANCE, "float64": TOLERANCE, "bfloat16": 2.0**-6, "float16": 2.0**-9}
APART, TINY = 1024, 1e-30
#: Rows of a table that is given, where no setting says how many: more than most rules read, then those of common tables.
ROWS = (33, 32, 65, 64, 129, 128, 257, 513, 1_025)
#: The largest offset asked for where few are refused: of code whose positions end with its table.
MANY_ROWS = 512
APART_COUNTED = "of fewer queries than keys the numbers count them {}, and the mask {}: one of the two is wrong"
OF_MORE = "a bias that isn't a function of the offset between key and query"
LINE = "a straight line of the offset: in its first head {:.6g} at the query itself, and {:+.6g} with each position back"
#: Offsets whose numbers are told of a bias that no operation gives, in positions back.
TOLD = (0, 1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Bias:
    """A function as ``bias(queries, keys)``, which returns (head, query, key); ``at_end``: counted queries are the last of the keys."""

    probe: Probe
    at_end: bool = False
    learned: Mapping[str, np.ndarray] = field(default_factory=dict)
    rows_given: int = ROWS[0]

    def __call__(self, queries: np.ndarray, keys: np.ndarray, table: np.ndarray | None = None) -> np.ndarray:
        """Return the bias of positions, or raise ``Refused``."""
        given = self.learned if table is None else {"table": table}
        if not self.counted:
            return _ordered(self.probe(query_positions=queries, key_positions=keys, **given), queries.size, keys.size)
        rows, columns = int(queries.max()) + 1, int(keys.max()) + 1
        if self.square or self.at_end:
            rows = columns = max(rows, columns)
        start = int(queries.min()) if self.at_end else 0
        value = _ordered(self.probe(query_tokens=rows - start, key_tokens=columns, tokens=rows, **given), rows - start, columns)
        return value[:, queries - start][:, :, keys]

    def reach(self, position: int) -> list[np.ndarray]:
        """Return what a call gives that reaches a position."""
        return [self(np.array([position]), np.array([position]), _table(self.rows) if self.tabled else None)]

    def shape(self) -> tuple[tuple[int, ...], int, int]:
        """Return the shape of a result as it came, and for how many queries and keys."""
        rows, columns = (6, 6) if self.square else (5, 7)
        given: dict[str, Any] = {"table": _table(self.rows)} if self.tabled else dict(self.learned)
        places = {"query_positions": np.arange(rows), "key_positions": np.arange(columns)}
        value = self.probe(query_tokens=rows, key_tokens=columns, tokens=rows, **places, **given)[0]
        return value.shape, rows, columns

    def takes_rows(self) -> bool:
        """Whether each row of a batch may have positions of its own: such a row is answered as it is alone."""
        queries, keys, table = np.array([[0, 1, 2], [5, 3, 9]]), np.arange(8).reshape(2, 4), _table(self.rows) if self.tabled else None
        try:
            both = self.probe(query_positions=queries, key_positions=keys, **(self.learned if table is None else {"table": table}))[0]
            alone = np.stack([self(*row, table) for row in zip(queries, keys, strict=True)])
        except Refused:
            return False
        return both.shape == alone.shape and np.allclose(both, alone, rtol=TOLERANCE, atol=TOLERANCE)

    @property
    def counted(self) -> bool:
        """Whether it takes how many tokens there are, not their positions."""
        return not self.probe.takes("query_positions")

    @property
    def square(self) -> bool:
        """Whether it takes one number for queries and keys."""
        return self.probe.takes("tokens")

    @property
    def tabled(self) -> bool:
        """Whether the numbers are given."""
        return self.probe.takes("table")

    @property
    def rows(self) -> int:
        """How many rows a table has for the settings."""
        return self.rows_told or self.rows_given

    @property
    def rows_told(self) -> int | None:
        """How many rows the settings ask for, if they do."""
        buckets, distance = (self.probe.asked.get("num_buckets"), self.probe.settings.get("max_distance"))
        if isinstance(buckets, int):
            return buckets
        return 2 * int(distance) + 1 if distance is not None and self.probe.takes("max_distance") else None


def opened(probe: Probe) -> Bias:
    """Return the function in the first dtype in which it gives a bias, or raise ``Refused``."""
    last = Refused("it gave no result")
    asked = [probe, probe.having(max_distance=MANY_ROWS)] if probe.settings.get("max_distance") == FEW_ROWS else [probe]
    sizes = ROWS if probe.takes("table") and Bias(probe).rows_told is None else ROWS[:1]
    for one, dtype, rows in itertools.product(asked, DTYPES, sizes):
        bias = Bias(one.at(dtype), rows_given=rows)
        try:
            heads = _counts(bias)
        except Refused as refusal:
            if refusal.hopeless:
                raise
            last = refusal
            continue
        if len(heads) > 1:
            message = "the number of heads changes with the number of tokens"
            raise Refused(message)
        return aligned(bias)
    raise last


def aligned(bias: Bias) -> Bias:
    """Return the function with what it takes counted queries for: the first of the keys, or the last."""
    return replace(bias, at_end=bias.counted and not bias.square and _ends(bias))


def _counts(bias: Bias) -> set[int]:
    """Return the numbers of heads that come back for few tokens and for as many as are asked for later."""
    table = _table(bias.rows) if bias.tabled else None
    few = bias(np.arange(3), np.arange(3 if bias.square else 5), table)
    try:
        more = bias(QUERIES, KEYS, table)
    except Refused:
        if bias.tabled:
            raise
        return {few.shape[0]}
    return {few.shape[0], more.shape[0]}


def _ends(bias: Bias) -> bool:
    """Whether fewer queries than keys are the last of them, and not the first."""
    queries, keys = np.arange(2), np.arange(5)
    table = _table(bias.rows) if bias.tabled else None
    try:
        few, every = bias(queries, keys, table), bias(keys, keys, table)
    except Refused:
        return False
    return not np.array_equal(few, every[:, queries]) and np.array_equal(few, every[:, keys[-queries.size :]])


def _counted_apart(bias: Bias) -> str | None:
    """Return how fewer queries than keys are counted, where their numbers count them otherwise than their mask does."""
    if not bias.counted or bias.square or bias.at_end:
        return None
    queries, keys = np.arange(2), np.arange(5)
    table = _table(bias.rows) if bias.tabled else None
    try:
        few, every = bias(queries, keys, table), bias(keys, keys, table)
    except Refused:
        return None
    counted = {"from 0": every[:, queries], "from the end of the keys": every[:, keys[-queries.size :]]}

    def shown(one: np.ndarray) -> np.ndarray:
        return np.asarray(np.isfinite(one) & (one > MASKED))

    masks = [name for name, right in counted.items() if np.array_equal(shown(few), shown(right))]
    numbers = [name for name, right in counted.items() if np.array_equal(*(each[shown(few) & shown(right)] for each in (few, right)))]
    return APART_COUNTED.format(numbers[0], masks[0]) if masks and numbers and not {*masks} & {*numbers} else None


def identify(bias: Bias) -> Identity:
    """Return what a function on queries' and keys' positions is."""
    apart = _counted_apart(bias)
    if apart is None:
        return _counted(bias)
    whole = _counted(replace(bias, at_end=True))  # as many queries as keys, since the first is asked for
    return replace(whole, operation=None, values_of=whole.operation or whole.values_of, what=f"{whole.what}; {apart}", masked=False)


def _counted(bias: Bias) -> Identity:
    """Return what a function is that counts queries in one way."""
    if bias.tabled:
        return _tabled(bias)
    values = bias(QUERIES, KEYS)
    hidden = ~np.isfinite(values) | (values <= MASKED)
    ahead = KEYS[None, None, :] > QUERIES[None, :, None]
    if hidden.any() and not np.array_equal(hidden, np.broadcast_to(ahead, hidden.shape)):
        return Identity(None, "it hides keys, and not those that come later than the query")
    if hidden.any() and not np.any(values[~hidden]):
        return Identity(None, "a causal mask, and nothing else: later keys are hidden")
    found = _shown(bias, values, hidden)
    if (found.operation or found.values_of) is None and not hidden.any() and not np.any(values[np.broadcast_to(ahead, values.shape)]):
        past = _shown(bias, values, np.broadcast_to(ahead, values.shape))
        if past.operation or past.values_of:
            return replace(past, seen=(*past.seen, LEVEL), operation=None, values_of=past.operation or past.values_of)
        near = [line for line in past.seen if line not in found.seen]
        found = replace(found, seen=(*found.seen, *near, LEVEL)) if near else found
    mask = MASK if hidden.any() else UNMASKED if np.any(values[np.broadcast_to(ahead, values.shape)]) else CUT
    if not np.all(np.isneginf(values[hidden])):
        finite = f"{mask}, by {values[hidden].max():g} and not -inf: no declaration says that"
        return replace(found, seen=(*found.seen, finite), operation=None, values_of=found.operation or found.values_of)
    return replace(found, seen=(*found.seen, mask), masked=bool(hidden.any()))


def _shown(bias: Bias, values: np.ndarray, hidden: np.ndarray) -> Identity:
    """Return what the numbers that aren't hidden are."""
    far = far_off(bias, masked=bool(hidden.any()))
    function = _function(bias, values, hidden, far, COARSE[bias.probe.dtype]) or _rounded(bias, values, hidden, far)
    if function is not None and function.what:
        return function
    found = _of_offset(bias, values, hidden, far)
    return found if function is None else replace(found, seen=(*found.seen, *function.seen))


def far_off(bias: Bias, *, masked: bool) -> list[learned.Shown]:
    """Return what is given at far offsets; later keys are left out where they are ``masked``."""
    shown = []
    for reaches, step in ((NEAR, 1), (REACHES, EVERY)):
        ends = _reached(bias, reaches)
        if ends is not None:
            queries, keys = np.array([ends.shape[2] - 1, 0]), np.arange(0, ends.shape[2], step)
            hidden = np.broadcast_to((keys > queries[:, None]) & masked, (ends.shape[0], 2, keys.size))
            shown.append(learned.Shown(ends[:, :, keys], hidden, queries, keys, COARSE[bias.probe.dtype]))
    return shown


def table_of(heads: int, rows: int) -> np.ndarray:
    """Return a table all of whose numbers differ."""
    return np.arange(rows)[:, None] + APART * np.arange(heads)[None, :] * 1.0


def _table(rows: int) -> np.ndarray:
    return table_of(3, rows)


def _ordered(values: list[np.ndarray], queries: int, keys: int) -> np.ndarray:
    """Return (head, query, key), whatever axes of one there are and wherever the heads stand."""
    if len(values) != 1:
        message = f"it gave {len(values)} results"
        raise Refused(message)
    value = values[0]
    while value.ndim > 3 and value.shape[0] == 1:
        value = value[0]
    value = value[None] if value.ndim == 2 and value.shape == (queries, keys) else value
    value = value[:, None] if value.ndim == 2 and value.shape[1] == keys else value
    if value.ndim == 3 and value.shape[:2] == (queries, keys) and value.shape[1:] != (queries, keys):
        value = value.transpose(2, 0, 1)
    if value.ndim != 3 or value.shape[2] != keys or value.shape[1] not in (1, queries):
        message = f"the result has shape {values[0].shape} for {queries} queries and {keys} keys"
        raise Refused(message)
    return np.broadcast_to(value, (value.shape[0], queries, keys))


def _function(bias: Bias, values: np.ndarray, hidden: np.ndarray, far: Sequence[learned.Shown], tolerance: float) -> Identity | None:
    """Return the operation on positions that gives these numbers, or the one that does but for a slope of every head.

    One that gives the near offsets only is no finding; it is among what was seen.
    """
    shown, heads = np.where(hidden, 0.0, values), {"num_heads": values.shape[0]}
    allowed = 4 * tolerance * np.abs(shown).max(axis=(1, 2), keepdims=True) + TINY

    def right(operation: Operation, parameters: Mapping[str, Any]) -> np.ndarray:
        return np.where(hidden, 0.0, operation.function(QUERIES, KEYS, **parameters))

    def compared(operation: Operation, parameters: Mapping[str, Any]) -> np.ndarray:
        return np.asarray((right(operation, parameters) - shown) / allowed).ravel()

    def sloped(operation: Operation, parameters: Mapping[str, Any]) -> np.ndarray:
        return np.asarray((_slopes(shown, right(operation, parameters))[1] - shown) / allowed).ravel()

    rules = [Rule(known, heads, compared) for known in taking("query_positions", "key_positions", axes=["[batch] head query key"])]
    found = identified(rules, bias.probe.settings)
    if found is not None:
        given = {**heads, **{name: one.value for name, one in found.parameters.items()}}
        words = f"of {values.shape[0]} heads, {found.words}"
        identity = Identity(found.operation.name, words, found.parameters, (), found.notes)
        return held(identity, found.operation.name, far, lambda *at: found.operation.function(*at, **given), tolerance)
    others = identified([replace(rule, compared=sloped) for rule in rules], {}) if np.any(shown) else None
    if others is None:
        return None
    rule = next(replace(rule, compared=sloped) for rule in rules if rule.operation == others.operation)
    chosen = {name: seen for name, seen in others.parameters.items() if name in rule.choices and rule.shows(name, others.values)}
    given = {**heads, **{name: one.value for name, one in others.parameters.items()}}
    slopes, _ = _slopes(shown, right(others.operation, given))
    how = "with the sign turned: further away is more" if np.all(slopes < 0) else "but with other slopes"
    words = "".join(f" ({name} {seen.value})" for name, seen in chosen.items())

    def scaled(*at: np.ndarray) -> np.ndarray:
        return np.asarray(slopes[:, None, None] * others.operation.function(*at, **given)[0])

    steps = np.diff(scaled(np.array([1]), np.array([0, 1]))).ravel()
    seen = f"from the key before to a query's own key its heads rise by {', '.join(f'{step:.6g}' for step in steps)}"
    identity = Identity(None, f"{others.operation.name}{words}, {how}", chosen, (seen,))
    return held(identity, identity.what, far, scaled, tolerance)


def held(
    identity: Identity, name: str, far: Sequence[learned.Shown], right: Callable[..., np.ndarray], tolerance: float
) -> Identity:
    """Return an identity that far offsets hold, else where they leave it."""
    for shown in far:
        seen, given = (np.where(shown.hidden, 0.0, each) for each in (shown.values, right(shown.queries, shown.keys)))
        off = np.abs(given - seen) > 4 * tolerance * np.abs(seen).max(axis=(1, 2), keepdims=True) + TINY
        if off.any():
            distance = np.abs(shown.keys - shown.queries[:, None])
            first = distance[off.any(axis=0)].min()
            nearer = distance[distance < first]
            ends = "between the first positions it is {}, between farther ones it is not" if not nearer.size else (
                f"up to an offset of {nearer.max()} it is {{}}, from {first} on it is not"
            )
            return Identity(None, "", seen=(ends.format(name),))
    return identity


def _slopes(shown: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much every head is as large as the first of an operation, and the heads that this would give."""
    unit = right[0]
    slopes = np.einsum("hqk,qk->h", shown, unit) / np.sum(unit**2)
    return slopes, slopes[:, None, None] * unit


def _rounded(bias: Bias, values: np.ndarray, hidden: np.ndarray, far: Sequence[learned.Shown]) -> Identity | None:
    """Return the operation that gives these numbers as far as bfloat16 shows it."""
    found = _function(bias, values, hidden, far, COARSE["bfloat16"] / 4)
    if found is None or not found.what:
        return found
    return replace(found, seen=(*found.seen, "the numbers are rounded as bfloat16 rounds them"))


def _of_offset(bias: Bias, values: np.ndarray, hidden: np.ndarray, far: Sequence[learned.Shown]) -> Identity:
    """Return a bias that is no line: buckets, a function of the offset, or of more."""
    shown = np.where(hidden, 0.0, values)
    offset = KEYS[None, :] - QUERIES[:, None]
    for each in np.unique(offset):
        same = shown[:, (offset == each) & ~hidden[0]]
        if same.size and np.ptp(same, axis=1).max() > TOLERANCE * max(1.0, np.abs(shown).max()):
            return Identity(None, OF_MORE)
    offsets, line = _along(bias)
    near = (offset >= offsets[0]) & (offset <= offsets[-1]) & ~hidden[0]
    off = np.abs(line[:, offset[near] - offsets[0]] - shown[:, near])
    if off.size and not off.max() <= COARSE[bias.probe.dtype] * max(1.0, np.abs(shown).max(), np.abs(line[np.isfinite(line)]).max()):
        return Identity(None, f"{OF_MORE}: at position {offsets[-1]} it gives other numbers than near position 0")
    whole = len(line) == 1 and np.array_equal(line, np.rint(line))
    numbered = _numbered(offsets, line[0].astype(int), -offsets) if whole else None
    known = None if numbered is None else numbered.operation or numbered.values_of
    if numbered is not None and known is not None:
        return replace(numbered, operation=None, values_of=known, unseen=(*numbered.unseen, OF_OFFSETS))
    clipped = buckets.clipped(offsets, line[0].astype(int)) if whole else None
    if clipped is not None:
        return clipped
    found = _bucketed(offsets, line)
    if found is not None:
        inside = "the numbers of the buckets are its own: no adapter can hand it others; make the table an argument to have it judged"
        unseen = (*found.unseen, inside)
        return Identity(None, f"{found.what}, with a table inside", found.parameters, (), unseen, values_of=found.operation)
    fitted = learned.identify([learned.Shown(values, hidden, QUERIES, KEYS, COARSE[bias.probe.dtype]), *far])
    return fitted or Identity(None, _shape(line), seen=(_measured(offsets, line),))


def _along(bias: Bias, table: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets from the farthest past to the farthest future that is taken, and the numbers (head, offset)."""
    ends = _reached(bias, REACHES, table)
    if ends is None:
        message = "no offset was taken"
        raise Refused(message)
    return np.arange(1 - ends.shape[2], ends.shape[2]), np.concatenate([ends[:, 0, :], ends[:, 1, 1:]], axis=1)


def _reached(bias: Bias, reaches: Sequence[int], table: np.ndarray | None = None) -> np.ndarray | None:
    """Return the numbers of the last and the first query and all keys up to the first of these distances that is taken."""
    for reach in reaches:
        try:
            return bias(np.array([reach, 0]), np.arange(reach + 1), table)
        except Refused as refusal:
            if refusal.hopeless:
                raise
    return None


def _bucketed(offsets: np.ndarray, line: np.ndarray) -> Identity | None:
    """Return the rule of buckets whose borders are where the numbers change."""
    line = np.where(np.isfinite(line), line, MASKED)
    past = np.concatenate([[0], np.cumsum(np.any(np.diff(line[:, offsets <= 0][:, ::-1], axis=1), axis=0))])
    future = np.concatenate([[0], np.cumsum(np.any(np.diff(line[:, offsets >= 0], axis=1), axis=0))])
    count = int(past[-1]) + 1
    if count == past.size or count < 2:
        return None
    middle = int(past[-1])
    clipped = buckets.plain(offsets, np.concatenate([middle - past[:0:-1], middle + future]), 2 * middle + 1)
    if clipped is not None:
        return clipped
    both = bool(future[-1] > 1)
    rows = np.concatenate([past[:0:-1], [0], future[1:] + count if both else 0 * future[1:]])
    return buckets.identify(offsets, rows, 2 * count if both else count)


def _shape(line: np.ndarray) -> str:
    """Say what a function of the offset that has no buckets looks like."""
    changes = np.any(np.diff(np.where(np.isfinite(line), line, 0.0), axis=1) != 0, axis=0)
    past = changes[: changes.size // 2]
    back = line[:, line.shape[1] // 2 :: -1]
    steps = np.diff(back, axis=1)
    if past.all() and np.all(np.ptp(steps, axis=1) <= TOLERANCE * np.abs(line).max()):
        return LINE.format(back[0, 0], steps[0, 0])
    if changes.all() or past.all():
        return "a number of its own for every offset, on no line and in no buckets: what gives it isn't known"
    return f"a function of the offset with {int(changes.sum()) + 1} steps, which are no known buckets"


def _measured(offsets: np.ndarray, line: np.ndarray) -> str:
    """Return what the first head gives at some offsets."""
    told = [back for back in TOLD if -back in offsets]
    each = ", ".join(f"{line[0, np.flatnonzero(offsets == -back)[0]]:.4g}" for back in told)
    return f"its first head gives, {', '.join(map(str, told))} positions back: {each} (no position beyond {offsets[-1]} was asked for)"


def _tabled(bias: Bias) -> Identity:
    """Return how rows of a table that is given are read."""
    offsets, line = _along(bias, _table(bias.rows))
    hidden = ~np.isfinite(line) | (line <= MASKED)
    masked = bool(hidden.any())
    if masked and not np.array_equal(hidden, np.broadcast_to(offsets > 0, hidden.shape)):
        return Identity(None, "it hides keys, and not those that come later than the query")
    seen = (MASK,) if masked else ()
    offsets, line = offsets[~hidden[0]], line[:, ~hidden[0]]
    rows = line[0].round().astype(int)
    if not np.array_equal(line, _table(bias.rows)[np.clip(rows, 0, bias.rows - 1)].T):
        return Identity(None, "its numbers aren't those of the table", seen=seen)
    found = buckets.identify(offsets, rows, bias.rows) or (None if bias.rows_told else buckets.identify(offsets, rows, None))
    if found is None:
        return Identity(None, f"it reads rows {rows.min()} to {rows.max()} of the table by no known rule", seen=seen)
    return replace(found, masked=masked, seen=(*found.seen, *seen))


def bucket(probe: Probe) -> Identity:
    """Return the rule of a function that gives the bucket of every offset."""
    offsets = np.arange(-1_000, 1_001)
    rows = probe(relative_positions=offsets)[0].reshape(-1)
    if rows.size != offsets.size or not np.array_equal(rows, rows.round()):
        message = "it gives no whole number for every offset"
        raise Refused(message)
    return _numbered(offsets, rows.astype(int), offsets) or Identity(None, "whole numbers of the offset that are no known buckets")


def _numbered(offsets: np.ndarray, rows: np.ndarray, steps: np.ndarray) -> Identity | None:
    """Return the rule that gives the number of a bucket for every offset; buckets with a sign count from keys to queries by such steps."""
    found = buckets.identify(offsets, rows, None)
    raw = None if found is not None else buckets.signed(steps, rows)
    if raw is not None:
        return replace(raw, operation=None, values_of=sibling(str(raw.operation), "relative_positions"))
    if found is None:
        return None
    operation = sibling(str(found.operation), "relative_positions")
    return replace(found, operation=operation, what=found.what if operation else f"rows of a plain table: {found.what}")
