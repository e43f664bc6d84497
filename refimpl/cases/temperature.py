"""The cases of attention temperature: both sides of every step, and what a number of another format makes of it."""

from typing import Any

from refimpl.cases import ladder
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case


def step(name: str, exposes: str, positions: Any, **arguments: Any) -> Case:
    """Return a case of the scale that grows in steps."""
    return Case(f"scale/{name}", exposes=exposes, positions=positions, **arguments)


def grows(name: str, exposes: str, positions: Any, original_length: int = 2_048, **arguments: Any) -> Case:
    """Return a case of the scale that grows without steps."""
    return Case(f"log_scale/{name}", exposes=exposes, positions=positions, original_length=original_length, **arguments)


SMALL: dict[str, Any] = {"floor_scale": 4, "attn_scale": 0.5}

STEPS = (
    step("first-positions", "a scale that isn't 1 at the start", [0, 1, 2, 9]),
    step("first-step", "1 not added to the position: the step comes one position late", [8_190, 8_191, 8_192]),
    step("first-step-unshifted", "1 added to the position: the step comes one position early", [8_191, 8_192, 8_193], shift=0),
    step("second-step", "the logarithm of the quotient without the 1 inside", [16_382, 16_383, 16_384]),
    step("small-steps", "steps of 8192 whatever is asked for", [0, 2, 3, 4, 6, 7, 8, 11], **SMALL),
    step("small-steps-unshifted", "the shift ignored", [3, 4, 7, 8, 12], shift=0, **SMALL),
    step("one-position-each", "a step of one position taken for none", [0, 1, 2, 3, 9], floor_scale=1),
    step("one-position-each-unshifted", "the logarithm of 0 at position 0", [0, 1, 2, 3, 9], floor_scale=1, shift=0),
    step("steep", "a slope of 0.1 whatever is asked for", [15, 255, 4_095], floor_scale=16, attn_scale=2.0),
    step("no-slope", "a slope of 0 taken for none that is given: Devstral 2 has it", [8_191, 131_071], attn_scale=0.0),
    step("inexact-slope", "a slope rounded to half precision", [31, 1_023], floor_scale=32, attn_scale=0.3),
    step("odd-length", "a quotient cut too early or too late", [2, 5, 8, 29, 59, 89], floor_scale=3, attn_scale=0.25),
    step("odd-length-unshifted", "the shift ignored where the length is no power of two", [2, 3, 5, 6, 8, 9], shift=0, floor_scale=3),
    step("inexact-reciprocal", "division by a reciprocal that is rounded down", [39, 40, 41, 48, 81], floor_scale=41),
    step("inexact-double-reciprocal", "the same in double precision", [47, 48, 49, 97], floor_scale=49),
    step("long-steps", "a length above 2^15", [65_534, 65_535, 131_071], floor_scale=65_536),
    step("sixteen-thousand", "steps of 8192 taken for those of Ministral 3", [16_383, 16_384, 32_768], floor_scale=16_384, shift=0),
    step("unsorted", "positions replaced by their index, or sorted", [9, 0, 9, 5], **SMALL),
    step("single-token", "the token axis dropped", [8_191]),
    step("batched-positions", "the first row's positions for every row", [[0, 3], [7, 11]], **SMALL),
    step("byte-boundary", "positions in bfloat16, exact to 256 only", [255, 256, 257], floor_scale=2, shift=0),
    step("half-boundary", "positions in float16, exact to 2048 only", [2_047, 2_048, 2_049], floor_scale=2, shift=0),
    step("page-boundary", "a table that ends at 4096", [4_095, 4_096, 4_097], floor_scale=2, shift=0),
    step("million", "positions that overflow or wrap", [1_048_575, 1_048_576]),
    step("by-position", ladder.EXPOSES, ladder.EVERY, floor_scale=16),
    step("negative", "the logarithm of a number below 1", [2, -1], error="positions must be at least 0, got -1"),
    step("no-length", "a division by 0", [0], floor_scale=0, error="floor_scale must be at least 1, got 0"),
    step("negative-slope", "a scale that falls", [0], attn_scale=-0.125, error="attn_scale must be at least 0, got -0.125"),
    step("shifted-by-two", "a shift that nobody has", [0], shift=2, error="shift must be at most 1, got 2"),
    step("real-positions", "positions that aren't integers", [0.5], error="positions must be integers, got float64"),
)

GROWING = (
    grows("first-positions", "a scale below 1 within the length", [0, 1, 2, 9]),
    grows("last-seen", "growth from one position before the end", [2_046, 2_047]),
    grows("first-beyond", "1 not added to the position", [2_047, 2_048, 2_049]),
    grows("small-length", "a length of 2048 whatever is asked for", [0, 3, 7, 8, 15, 63], 8),
    grows("shortest", "the logarithm to base 2", [0, 1, 2, 3, 7], 2),
    grows("three", "the natural logarithm not divided by that of the length", [2, 3, 8, 26], 3),
    grows("odd-length", "a logarithm rounded to half precision", [999, 1_000, 5_000], 1_000),
    grows("inexact-length", "a length rounded to half precision", [2_048, 2_049, 131_071], 2_049),
    grows("squared", "the logarithm of the quotient, not the quotient of logarithms", [4_194_303], 2_048),
    grows("long", "a length above 2^15", [32_767, 32_768, 65_535], 32_768),
    grows("unsorted", "positions replaced by their index, or sorted", [9, 0, 9, 15], 4),
    grows("single-token", "the token axis dropped", [4_095]),
    grows("batched-positions", "the first row's positions for every row", [[0, 3], [7, 15]], 4),
    grows("byte-boundary", "positions in bfloat16, exact to 256 only", [255, 256, 257], 16),
    grows("half-boundary", "positions in float16, exact to 2048 only", [2_047, 2_048, 2_049], 16),
    grows("page-boundary", "a table that ends at 4096", [4_095, 4_096, 4_097], 16),
    grows("million", "positions that overflow or wrap", [1_048_575, 1_048_576], 8_192),
    grows("by-position", ladder.EXPOSES, ladder.EVERY, 16),
    grows("negative", "the logarithm of a number below 1", [2, -1], error="positions must be at least 0, got -1"),
    grows("length-of-one", "a division by the logarithm of 1", [0], 1, error="original_length must be at least 2, got 1"),
    grows("real-positions", "positions that aren't integers", [0.5], error="positions must be integers, got float64"),
)

#: Slopes and biases of heads, drawn once: numbers of no released model.
DRAWN: dict[str, Any] = {"slopes": [0.25, -0.125], "biases": [0.75, 1.5]}
learned = named("learned_scale", **DRAWN)

LEARNED = (
    learned("first-positions", "the logarithm of 0 at position 0", positions=[0, 1, 2, 9]),
    learned("untrained", "a scale of 0 where nothing is learned", positions=[0, 1, 1_023], slopes=[0.0, 0.0], biases=[1.0, 1.0]),
    learned("slope-alone", "a bias of 1 whatever is learned", positions=[0, 1, 7, 8], biases=[0.0, 0.0]),
    learned("bias-alone", "a slope of 0 taken for none that is learned", positions=[3, 1_023], slopes=[0.0, 0.5], biases=[0.25, -2.0]),
    learned("one-head", "the head axis dropped", positions=[0, 3, 100], slopes=[0.5], biases=[0.25]),
    learned("square", "heads and tokens swapped", positions=[0, 3, 8], slopes=[0.5, 0.25, -1.0], biases=[1.0, 0.5, 2.0]),
    learned("exchanged", "slopes and biases exchanged", positions=[2, 54], slopes=[1.0, 0.5], biases=[0.5, 1.0]),
    learned("reversed-heads", "one head's numbers for all, or heads in reverse", positions=[6], slopes=[1.0, 0.5, 0.25, 2.0],
            biases=[0.0, 0.5, 1.0, 1.5]),
    learned("falling", "negative slopes clamped, or a scale kept at 1 or above", positions=[0, 15, 4_095], slopes=[-0.25, -0.5],
            biases=[1.0, 0.5]),
    learned("below-zero", "a scale clamped at 0", positions=[1, 63], slopes=[-1.0, 0.25], biases=[0.5, -3.0]),
    learned("unsorted", "positions replaced by their index, or sorted", positions=[9, 0, 9, 5]),
    learned("single-token", "the token axis dropped", positions=[8_191]),
    learned("batched-positions", "the first row's positions for every row", positions=[[0, 3], [7, 11]]),
    learned("batch-equals-heads", "the axes of batch and head swapped", positions=[[0, 3, 5], [7, 11, 2]]),
    learned("byte-boundary", "positions in bfloat16, exact to 256 only", positions=[255, 256, 257]),
    learned("half-boundary", "positions in float16, exact to 2048 only", positions=[2_047, 2_048, 2_049]),
    learned("page-boundary", "a table that ends at 4096", positions=[4_095, 4_096, 4_097]),
    learned("large", "a scale that overflows, or is clamped", positions=[1, 1_023], slopes=[64.0, -48.0], biases=[-32.0, 16.0]),
    learned("million", "positions that overflow or wrap", positions=[1_048_575, 1_048_576]),
    learned("by-position", ladder.EXPOSES, positions=ladder.EVERY),
    learned("common-width", "heads beyond the last full vector lane", positions=[5], slopes=[(1 + head % 32) / 64 for head in range(64)],
            biases=[(1 + 5 * head % 64) / 32 for head in range(64)]),
    *narrowed(learned, {"slopes": (2,), "biases": (2,)}, positions=[1, 99]),
    learned("negative", "the logarithm of a number below 1", positions=[2, -1], error="positions must be at least 0, got -1"),
    learned("uneven-heads", "numbers that broadcast by accident", positions=[0], biases=[1.0],
            error="axis 'head' is 1 in biases but 2 in slopes"),
    learned("real-positions", "positions that aren't integers", positions=[0.5], error="positions must be integers, got float64"),
)

CASES = (*STEPS, *GROWING, *LEARNED)
