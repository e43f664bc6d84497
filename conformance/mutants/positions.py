"""Positions that go wrong before any scheme sees them; they befall every operation that takes positions."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.mutants.building import Function, Mistake, moving, right
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

Change = Callable[[Array], Array]


def first_row(positions: Array) -> Array:
    """Use the first row's positions for every row."""
    return np.broadcast_to(positions[:1], positions.shape).copy() if positions.ndim == 2 else positions


def index(positions: Array) -> Array:
    """Use the index on the last axis."""
    return np.broadcast_to(np.arange(positions.shape[-1]), positions.shape).copy()


def run(positions: Array) -> Array:
    """Count up from the first position."""
    return positions[..., :1] + index(positions).astype(positions.dtype)


def frozen(positions: Array) -> Array:
    """Repeat the first position."""
    return np.broadcast_to(positions[..., :1], positions.shape).copy()


def clamped(rows: int) -> Change:
    """Return positions that never pass the last row of a table."""
    return lambda positions: np.minimum(positions, rows - 1)


EXPLICIT = "use the positions that are given"
MISTAKES: dict[str, tuple[Mistake, Change]] = {
    mistake.slug: (mistake, change)
    for mistake, change in (
        Mistake(
            "positions-from-one",
            does="counts positions from one",
            should="count them from zero",
            fix="don't add 1 to the positions",
            origin="in the style of counts that start one off",
        ).made_by(lambda positions: positions + 1),
        Mistake(
            "positions-from-minus-one",
            does="is one position behind: an initial step of -1 leaks in",
            should="start at the position that is given",
            fix="start the offset at 0 where there is no cache",
            threads=("https://github.com/OpenNMT/CTranslate2/pull/1572",),
        ).made_by(lambda positions: positions - 1),
        Mistake(
            "positions-ignored",
            does="ignores the positions and uses the index of the token",
            should=EXPLICIT,
            fix="pass the positions (the cache's offset, the packed document's restart) to the encoding",
            threads=(
                "https://github.com/keras-team/keras-hub/pull/1544",
                "https://github.com/pytorch/torchtitan/issues/2559",
                "https://github.com/huggingface/transformers/issues/22161",
                "https://github.com/allenai/OLMo-core/pull/654",
                "https://github.com/huggingface/transformers/pull/35941",
                "https://github.com/NVIDIA/Megatron-LM/issues/453",
                "https://github.com/NVIDIA/TransformerEngine/pull/2349",
                "https://github.com/NVIDIA-NeMo/Automodel/pull/1440",
            ),
        ).made_by(index),
        Mistake(
            "first-position-counts",
            does="takes the first position and counts up from it",
            should="use every position that is given",
            fix="gather the tables by position instead of slicing them from the first",
            threads=(
                "https://github.com/NVIDIA/Megatron-LM/pull/5243",
                "https://github.com/rajveer43/VeloxQuant-MLX/issues/389",
                "https://github.com/NVIDIA/TransformerEngine/issues/1930",
            ),
        ).made_by(run),
        Mistake(
            "positions-frozen",
            does="gives every token the first token's position",
            should="advance the position with the token",
            fix="slice the table (`pe[:, :T]`) instead of indexing it, and refresh positions at every step",
            threads=(
                "https://github.com/DiffPoseTalk/DiffPoseTalk/issues/20",
                "https://github.com/alibaba/rtp-llm/pull/1337",
            ),
        ).made_by(frozen),
        Mistake(
            "first-row-for-all",
            does="uses the first row's positions for every row of the batch",
            should="use each row's own positions",
            fix="index the tables with the whole (batch, token) array",
            threads=("https://github.com/unslothai/unsloth/issues/3699",),
        ).made_by(first_row),
        Mistake(
            "clamped-at-2048",
            does="stops at position 2047, the end of its table",
            should="go on for every position",
            fix="compute or grow the table to the largest position",
            threads=("https://github.com/neuralmagic/sparseml/pull/1826",),
            origin="the length 2048 is ours",
        ).made_by(clamped(2048)),
        Mistake(
            "clamped-at-4096",
            does="stops at position 4095, the end of its table",
            should="go on for every position",
            fix="compute or grow the table to the largest position",
            threads=("https://github.com/vllm-project/vllm/pull/55910", "https://github.com/vllm-project/vllm-ascend/pull/1267"),
            origin="the length 4096 is ours",
        ).made_by(clamped(4096)),
        Mistake(
            "negative-positions-clamped",
            does="takes negative positions for 0",
            should="encode negative positions too",
            fix="don't clamp positions",
            origin="in the style of gathers that clamp out-of-range indices",
        ).made_by(lambda positions: np.maximum(positions, 0)),
    )
}

#: What shows where positions count by their difference only.
RELATIVE_SLUGS = tuple(slug for slug in MISTAKES if slug not in ("positions-from-one", "positions-from-minus-one"))


def position_mutants(operation: str, slugs: Iterable[str] = tuple(MISTAKES)) -> Iterator[Mutant]:
    """Return the position mistakes of one operation."""
    for mistake, change in (MISTAKES[slug] for slug in slugs):
        yield replace(mistake.at(operation, moving(operation, change)), inherited=True)


#: Few calls tell the largest position plus 1 from the last one, from that of the first row, or from either without the 1.
LENGTH_FIX = (
    "take the length as an argument; where it is the largest position plus 1, one can also append a token at position length - 1 and drop "
    "its result: adapters by identify do that"
)
#: What is taken for the length of a sequence by code that isn't given it: from the positions of a call.
LENGTHS: tuple[tuple[Mistake, Callable[[Array], int]], ...] = (
    Mistake(
        "length-from-positions",
        does="takes the length of the sequence from the positions of the call",
        should="follow the length that is asked for: a call may hold its first tokens only",
        fix=LENGTH_FIX,
        kind="convention",
        origin="in the style of transformers' dynamic rules, which see whole sequences",
    ).made_by(lambda positions: int(positions.max(initial=0)) + 1),
    Mistake(
        "length-from-tokens",
        does="takes the number of tokens in the call for the length of the sequence",
        should="follow the length of the whole sequence, also where a call holds one token",
        fix="take the length as an argument; while decoding it is the cache's length plus the tokens of the call",
        origin="in the style of x.shape[-2] taken for the length while decoding",
    ).made_by(lambda positions: positions.shape[-1]),
)


STALE_CACHE = Mistake(
    "stale-cache",
    does="keeps what was turned in a shorter sequence: positions below the original length turn for ever as within it",
    should="turn every position as the length of the whole sequence says",
    fix="compute the cache again when the sequence grows beyond the original length, or hold keys before they are turned",
)


def length_mutants(operation: str, *threads: str) -> Iterator[Mutant]:
    """Return what goes wrong where a rotation that follows the length isn't given it, or isn't done again: of this there are threads."""
    for mistake, length in LENGTHS:
        yield mistake.at(operation, _of_length(operation, length))
    yield replace(STALE_CACHE, threads=threads).at(operation, _kept(operation))


def _kept(operation: str) -> Function:
    """Return the rotation with a cache that keeps what was turned within the original length."""

    def mutated(x: Array, positions: Array, *given: Array, **chosen: Any) -> Array:
        original, turn = chosen["original_length"], right(operation)
        before, now = (turn(x, positions, *given, **{**chosen, "length": each}) for each in (original, chosen["length"]))
        result: Array = np.where((positions < original)[..., None, :, None], before, now)
        return result

    return mutated


def _of_length(operation: str, length: Callable[[Array], int]) -> Function:
    def mutated(x: Array, positions: Array, *given: Array, **chosen: Any) -> Array:
        result: Array = right(operation)(x, positions, *given, **{**chosen, "length": max(1, length(positions))})
        return result

    return mutated
