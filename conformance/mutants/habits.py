"""What goes wrong between calls: caches that miss a key, buffers that are lost, inputs that are written to."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.mutants.building import Parameters, altered
from conformance.mutants.mrope_positions import ends
from conformance.mutants.rotary import spectrum
from conformance.mutants.rounding import rounded
from conformance.spec.mutant import Habit
from refimpl.arrays import Array
from refimpl.schemes import mrope, rope

HISTORY = "law:history independence"


@dataclass
class Remembered:
    """An operation that keeps its answers under a key that misses something."""

    operation: str
    key: Callable[..., Hashable]
    answers: dict[Hashable, Any] = field(default_factory=dict)

    def __call__(self, *arrays: Array, **parameters: Any) -> Any:
        """Return what was computed for the first call with that key."""
        key = self.key(*arrays, **parameters)
        if key not in self.answers:
            self.answers[key] = altered(self.operation)(*arrays, **parameters)
        return self.answers[key]


@dataclass
class Captured:
    """A rotation whose first positions of every shape are replayed, as a captured graph does."""

    positions: dict[Hashable, Array] = field(default_factory=dict)

    def __call__(self, x: Array, positions: Array, **parameters: Any) -> Array:
        """Turn to the positions of the first call with these shapes."""
        return rope.rotate(x, self.positions.setdefault((x.shape, positions.shape), positions), **parameters)


@dataclass
class Shared:
    """A rotation whose tables belong to the width: the base of the first call with it decides."""

    bases: dict[int, float] = field(default_factory=dict)

    def __call__(self, *arrays: Array, head_dim: int, base: float, **parameters: Any) -> Array:
        """Turn by the tables of the width."""
        return rope.rotate(*arrays, head_dim=head_dim, base=self.bases.setdefault(head_dim, base), **parameters)


@dataclass
class Growing:
    """A rotation whose table is exact at first, and grows from frequencies that were cast to bfloat16 meanwhile."""

    length: int = 0
    rebuilt: bool = False

    def __call__(self, x: Array, positions: Array, *, layout: Any, direction: Any, **parameters: Any) -> Array:
        """Turn by the table, which a longer input makes anew."""
        needed = int(np.max(np.abs(positions))) + 1
        self.rebuilt = self.rebuilt or 0 < self.length < needed
        self.length = max(self.length, needed)
        theta = spectrum(**parameters)
        angles = positions[..., None] * (rounded(theta, "bfloat16") if self.rebuilt else theta)
        return rope.apply(x, np.cos(angles), np.sin(angles), layout=layout, direction=direction)


@dataclass
class Lost:
    """A rotation whose tables are lost when the call is over."""

    called: bool = False

    def __call__(self, x: Array, positions: Array, **parameters: Any) -> Array:
        """Turn in the first call only."""
        first, self.called = not self.called, True
        return rope.rotate(x, positions, **parameters) if first else x


@dataclass
class Folded:
    """A rotation whose table is as long as its first input, as an export folds it."""

    length: int = 0

    def __call__(self, x: Array, positions: Array, **parameters: Any) -> Array:
        """Turn positions beyond the table to its last row."""
        self.length = self.length or int(np.max(positions)) + 1
        return rope.rotate(x, np.minimum(positions, self.length - 1), **parameters)


@dataclass
class Advancing:
    """A rotation with an offset of its own, which every call advances by the length of an axis."""

    axis: int
    offset: int = 0

    def __call__(self, x: Array, positions: Array, **parameters: Any) -> Array:
        """Turn to positions from the offset on."""
        turned = rope.rotate(x, positions + self.offset, **parameters)
        self.offset += x.shape[self.axis]
        return turned


@dataclass
class Longest:
    """A rotation that keeps the frequencies of the longest sequence so far."""

    operation: str
    length: int = 0

    def __call__(self, *arrays: Array, length: int, **parameters: Any) -> Array:
        """Turn as if the sequence were as long as the longest so far."""
        self.length = max(self.length, length)
        return altered(self.operation)(*arrays, length=self.length, **parameters)


def in_place(x: Array, positions: Array, **parameters: Any) -> Array:
    """Write the rotation over the input, and return it."""
    x[...] = rope.rotate(x, positions, **parameters)
    return x


@dataclass
class WholeCache:
    """Tables that are returned with every row of the cache."""

    rows: int = 0

    def __call__(self, positions: Array, **parameters: Any) -> rope.Tables:
        """Return the rows from position 0 to the farthest so far, and one more."""
        self.rows = max(self.rows, int(np.max(np.abs(positions))) + 2)
        rows = min(self.rows, 1 << 12)
        return rope.tables(np.arange(rows), **parameters)


@dataclass
class Delta:
    """Positions whose delta belongs to the first sequence."""

    saved: int | None = None

    def __call__(self, positions: Array, **parameters: Any) -> Array:
        """Decode by what the grids of the first sequence saved."""
        end = max(ends(parameters), default=0)
        if self.saved is None:
            self.saved = end - int(mrope.positions(np.array([end]), **parameters)[0, 0])
        decoded = (positions - self.saved)[..., None]
        return np.where((positions >= end)[..., None], decoded, mrope.positions(positions, **parameters))


def prompt(parameters: Parameters) -> tuple[Array, ...]:
    """Return the numbers of all tokens up to the end of the last grid, whose places no delta changes."""
    return (np.arange(max(ends(parameters), default=0)),)


def of_shape(query_positions: Array, key_positions: Array, *, num_heads: int, **_: Any) -> Hashable:
    """Identify a bias by its shape."""
    return num_heads, query_positions.shape, key_positions.shape


def of_slopes(*, num_heads: int, **_: Any) -> Hashable:
    """Identify slopes by their number."""
    return num_heads


def of_width(positions: Array, *, head_dim: int, **_: Any) -> Hashable:
    """Identify tables by positions and width."""
    return positions.shape, positions.tobytes(), head_dim


HABITS: dict[str, Habit] = {
    habit.name: habit
    for habit in (
        Habit(
            "rope.rotate/overwrites-its-input",
            "rope.rotate",
            does="writes the rotation over its input: whoever reads the input again rotates twice",
            should="leave the input as it is, or declare that it is overwritten: modifies_inputs=True",
            fix="write to a new buffer",
            make=lambda: in_place,
            convicted_by=("law:inputs unmodified",),
            threads=(
                "https://github.com/unslothai/unsloth/issues/5001",
                "https://github.com/lucidrains/rotary-embedding-torch/issues/31",
            ),
        ),
        Habit(
            "rope.rotate/rebuilt-in-bfloat16",
            "rope.rotate",
            does="builds its table anew for a longer input, from frequencies that were cast to bfloat16 meanwhile",
            should="build every table from float32 frequencies",
            fix="keep the frequencies out of the cast of the module, or compute them anew with the table",
            make=Growing,
            convicted_by=(HISTORY,),
            threads=("https://github.com/huggingface/transformers/issues/29496",),
            origin="in the style of: the thread's table grows at its maximum length",
        ),
        Habit(
            "rope.rotate/cached-without-base",
            "rope.rotate",
            does="keeps tables for all instances under the width, and turns by the base that came first",
            should="turn by the base that is asked for",
            fix="make base part of the key, or keep the tables in the instance",
            make=Shared,
            convicted_by=(HISTORY,),
            threads=("https://github.com/patrick-kidger/equinox/pull/735",),
            origin="the pull request that made theta a parameter left the key as it was (docs/findings.md)",
        ),
        Habit(
            "rope.rotate/positions-of-the-first-call",
            "rope.rotate",
            does="turns by the positions of an earlier call of the same shapes, as a captured graph, or a cache keyed by the length, does",
            should="use the positions of this call",
            fix="copy positions and lengths into the captured buffers before every replay; make all positions part of the key",
            make=Captured,
            convicted_by=(HISTORY,),
            threads=(
                "https://github.com/alibaba/rtp-llm/pull/1337",
                "https://github.com/lucidrains/rotary-embedding-torch/issues/11",
            ),
        ),
        Habit(
            "rope.rotate/tables-lost-after-the-first-call",
            "rope.rotate",
            does="rotates in the first call only, and returns the input afterwards",
            should="rotate in every call",
            fix="give every instance buffers of its own, which nobody else frees or moves",
            make=Lost,
            convicted_by=(HISTORY,),
            threads=("https://github.com/sgl-project/sglang/pull/33575",),
            origin="in the style of: buffers of a shared module that are freed",
        ),
        Habit(
            "rope.rotate/positions-counted-across-calls",
            "rope.rotate",
            does="adds the tokens of earlier calls to positions that hold them already",
            should="use the positions that are given",
            fix="count from the cache's length in one place only",
            make=lambda: Advancing(axis=-2),
            convicted_by=("law:determinism",),
            threads=("https://github.com/skyzh/tiny-llm/pull/46",),
            origin="in the style of: an offset that an instance keeps",
        ),
        Habit(
            "rope.rotate/offset-advanced-by-heads",
            "rope.rotate",
            does="keeps an offset that every call advances by its number of heads",
            should="advance the offset by the number of tokens, or use the positions that are given",
            fix="take the length from the axis of tokens, after every rearrangement",
            make=lambda: Advancing(axis=1),
            convicted_by=("law:determinism",),
            threads=("https://github.com/fla-org/flash-linear-attention/issues/126",),
        ),
        Habit(
            "rope.rotate/table-of-the-first-length",
            "rope.rotate",
            does="has a table as long as its first input, and its last row for whatever lies beyond",
            should="go on for every position",
            fix="export with the largest length, or compute the table inside the graph",
            make=Folded,
            convicted_by=(HISTORY,),
            threads=("https://github.com/neuralmagic/sparseml/pull/1826",),
        ),
        Habit(
            "rope.tables/cached-without-base",
            "rope.tables",
            does="keeps tables under positions and width, and returns them for another base",
            should="return tables of the base that is asked for",
            fix="make base (and every other parameter) part of the key",
            make=lambda: Remembered("rope.tables", of_width),
            convicted_by=(HISTORY,),
            threads=("https://github.com/ml-explore/mlx/pull/3071", "https://github.com/ikawrakow/ik_llama.cpp/issues/893"),
            origin="in the style of: the thread's cache of masks",
        ),
        Habit(
            "rope.tables/whole-cache-returned",
            "rope.tables",
            does="returns every row of its cache: the slice is applied to an axis of length 1",
            should="return one row for every position",
            fix="slice or gather along the axis of tokens",
            make=WholeCache,
            convicted_by=("law:shape",),
            threads=("https://github.com/huggingface/transformers/issues/25813",),
        ),
        Habit(
            "alibi.bias/cached-by-shape",
            "alibi.bias",
            does="keeps biases under their shape, and returns them for other positions, slopes or forms",
            should="return the bias of these positions and parameters",
            fix="make positions and parameters part of the key, and keep the cache in the instance",
            make=lambda: Remembered("alibi.bias", of_shape),
            convicted_by=(HISTORY,),
            threads=("https://github.com/ml-explore/mlx/pull/3071",),
        ),
        Habit(
            "alibi.slopes/cached-by-number-of-heads",
            "alibi.slopes",
            does="keeps slopes under the number of heads, and returns them for another largest exponent",
            should="return the slopes of max_bias",
            fix="make max_bias part of the key",
            make=lambda: Remembered("alibi.slopes", of_slopes),
            convicted_by=(HISTORY,),
            threads=("https://github.com/ml-explore/mlx/pull/3071",),
            origin="in the style of: the thread's cache of masks",
        ),
        Habit(
            "longrope.rotate/long-factors-kept",
            "longrope.rotate",
            does="keeps the long factors for short sequences that follow a long one",
            should="choose the factors by the length of this sequence",
            fix="reset the frequencies where a sequence fits the original length",
            make=lambda: Longest("longrope.rotate"),
            convicted_by=(HISTORY,),
            threads=("https://github.com/huggingface/transformers/issues/27226",),
            origin="in the style of: the thread's base of dynamic NTK",
        ),
        Habit(
            "dynamic_ntk.rotate/longest-base-kept",
            "dynamic_ntk.rotate",
            does="keeps the base of a long sequence for shorter ones that follow",
            should="compute the base from the length of this sequence",
            fix="compute the base again, or reset it, where a sequence is shorter than the one before",
            make=lambda: Longest("dynamic_ntk.rotate"),
            convicted_by=(HISTORY,),
            threads=("https://github.com/huggingface/transformers/issues/27226",),
        ),
        Habit(
            "mrope.positions/delta-of-the-first-sequence",
            "mrope.positions",
            does="keeps the delta (rope_deltas) of the first sequence, and decodes other sequences by it",
            should="add the delta of this sequence",
            fix="compute the delta again with every prompt",
            make=Delta,
            convicted_by=(HISTORY,),
            threads=("https://github.com/huggingface/transformers/pull/44873",),
            asks=prompt,
        ),
    )
}
