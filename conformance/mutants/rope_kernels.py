"""What goes wrong with rope in kernels and caches: memory read in another order, offsets added twice, fast sines."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.mutants.building import Arrays, Mistake, Parameters, altered, moving
from conformance.mutants.rotary import Rotary
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import rope

ROTATE = "rope.rotate"
TURN = np.float32(0.5 / np.pi)


def tokens_first(x: Array) -> Array:
    """Swap the axes of heads and tokens."""
    return np.swapaxes(x, 1, 2)


def split_without_transpose(x: Array, positions: Array, **parameters: Any) -> Array:
    """Reshape (batch, token, heads times width) to (batch, head, token, width), turn, and reshape back."""
    memory = tokens_first(x)
    turned = rope.rotate(memory.reshape(x.shape), positions, **parameters)
    return tokens_first(turned.reshape(memory.shape))


def other_strides(x: Array, positions: Array, **parameters: Any) -> Array:
    """Read memory that holds heads before tokens as if it held tokens before heads."""
    batch, heads, tokens, width = x.shape
    return rope.rotate(tokens_first(x.reshape(batch, tokens, heads, width)), positions, **parameters)


def unset_in_one_layout(arrays: Arrays, parameters: Parameters) -> Arrays:
    """Leave positions at 0 where pairs are neighbours."""
    return {**arrays, "positions": arrays["positions"] * (parameters["layout"] != "interleaved")}


def reduced(angles: Array) -> Array:
    """Bring angles into one turn in float32, as a fast sine does before it looks up."""
    turns = angles.astype(np.float32) * TURN
    return 2.0 * np.pi * (turns - np.rint(turns)).astype(np.float64)


def sine_of_the_padded_row(x: Array, positions: Array, *, layout: Any, direction: Any, **rule: Any) -> Array:
    """Read the sine where it would begin if the row of cosine and sine were as wide as the next power of two."""
    cos, sin = rope.tables(positions, **rule)
    pairs = sin.shape[-1]
    late = (1 << max(0, pairs - 1).bit_length()) - pairs
    row = np.concatenate([sin, np.zeros_like(sin)], axis=-1)
    return rope.apply(x, cos, row[..., late : late + pairs], layout=layout, direction=direction)


ROTATE_MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    Mistake(
        "heads-split-without-transpose",
        does="reshapes (batch, token, heads * width) to (batch, head, token, width) without moving an axis",
        should="split the heads, then swap heads and tokens",
        fix="reshape to (batch, token, head, width) and transpose axes 1 and 2",
        threads=("https://github.com/pytorch/pytorch/pull/162865",),
        origin="in the style of the thread's title and description",
    ).made_by(split_without_transpose),
    Mistake(
        "strides-of-another-layout",
        does="reads memory that holds heads before tokens as if it held tokens before heads",
        should="use the strides of the array that is given",
        fix="take strides from the input, also where its buffer is donated or contiguous",
        threads=("https://github.com/ml-explore/mlx/pull/1340",),
        origin="in the style of: the thread's strides in one of the two orders",
    ).made_by(other_strides),
    Mistake(
        "positions-unset-in-one-layout",
        does="leaves positions at 0 where pairs are neighbours (2j, 2j + 1), and passes them in the other layouts",
        should="pass the positions to the kernel of every layout",
        fix="set the pointer to the positions in both branches",
        threads=("https://github.com/ggml-org/llama.cpp/pull/7452",),
        origin="in the style of: unset positions taken for 0",
    ).made_by(altered(ROTATE, arrays=unset_in_one_layout)),
    Mistake(
        "offset-added-twice",
        does="adds the offset to positions that count from it already: a prompt of n tokens is followed by position 2 n",
        should="add the offset of the cache once",
        fix="count from the cache's length in one place only",
        threads=("https://github.com/skyzh/tiny-llm/pull/46",),
    ).made_by(moving(ROTATE, lambda positions: positions + positions[..., :1])),
    Mistake(
        "sine-of-the-padded-row",
        does="reads sines too late in a row of cosines, then sines: after half of head_dim rounded up to a power of two",
        should="read them behind the head_dim / 2 cosines",
        fix="offset by half of head_dim, not of the width it is padded to",
        threads=("https://github.com/vllm-project/vllm-ascend/pull/15688",),
        origin="in the style of: the zeros past the end of the row are ours",
    ).made_by(sine_of_the_padded_row),
)
FAST_SINE = Mistake(
    "fast-sine",
    does="brings angles into one turn in float32 before the sine, as fast intrinsics do",
    should="reduce the angle in wider arithmetic",
    fix="call the full-range sine and cosine (sinf, not __sinf), or compile without fast math",
    threads=("https://github.com/kekzl/imp/issues/1630", "https://github.com/lablup/mlxcel/pull/1055"),
    kind="precision",
    origin="in the style of the threads: the reduction is ours",
)


def mutants() -> Iterator[Mutant]:
    """Return the mutants of kernels."""
    for mistake, function in ROTATE_MISTAKES:
        yield mistake.at(ROTATE, function)
    fast = Rotary(cosine=lambda angles: np.cos(reduced(angles)), sine=lambda angles: np.sin(reduced(angles)))
    for operation in ("rope.tables", ROTATE):
        yield FAST_SINE.at(operation, fast.of(operation))
