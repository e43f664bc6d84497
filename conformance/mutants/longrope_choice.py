"""What goes wrong where LongRoPE chooses between its two lists of factors."""

from collections.abc import Callable
from typing import Any

from conformance.mutants.building import Mistake
from refimpl.arrays import Array

#: A list of factors from the short one, the long one, the original length and the length.
Choice = Callable[[Array, Array, int, int], Array]


def right_list(short: Array, long: Array, original_length: int, length: int) -> Array:
    """Return the right list."""
    return long if length > original_length else short


def where(beyond: Callable[[int, int], bool]) -> Choice:
    """Return the long list where original length and length say so, else the short one."""
    return lambda short, long, original_length, length: long if beyond(original_length, length) else short


CHOICE_MISTAKES: tuple[tuple[Mistake, Choice], ...] = (
    Mistake(
        "lists-swapped",
        does="uses long factors up to the original length and short ones beyond",
        should="use short factors up to the original length",
        fix="exchange the two lists",
        origin="in the style of arguments passed in the wrong order",
    ).made_by(where(lambda original, length: length <= original)),
    Mistake(
        "always-long",
        does="uses the long factors at any length",
        should="use the short ones up to the original length",
        fix="choose by the length of the sequence",
        threads=(
            "https://github.com/ml-explore/mlx-lm/pull/660",
            "https://github.com/lablup/mlxcel/issues/1358",
            "https://github.com/apache/tvm/pull/18422",
        ),
    ).made_by(where(lambda *_: True)),
    Mistake(
        "always-short",
        does="uses the short factors at any length",
        should="use the long ones beyond the original length",
        fix="choose by the length of the sequence, in prefill too, where the cache's offset is 0",
        threads=("https://github.com/ggml-org/llama.cpp/issues/6849",),
    ).made_by(where(lambda *_: False)),
    Mistake(
        "switch-at-original-length",
        does="uses the long factors at the original length already: one token early",
        should="switch beyond it",
        fix="compare with >",
        origin="in the style of a comparison that is off by one",
    ).made_by(where(lambda original, length: length >= original)),
    Mistake(
        "switch-by-last-position",
        does="compares the last position with the original length: one token late",
        should="compare the number of tokens, the last position plus 1",
        fix="add 1 to the largest position",
        origin="in the style of positions taken for lengths",
    ).made_by(where(lambda original, length: length - 1 > original)),
    Mistake(
        "switch-at-4096",
        does="switches beyond 4096 tokens whatever the model",
        should="switch beyond the model's original length",
        fix="read original_max_position_embeddings",
        threads=("https://github.com/huggingface/transformers/issues/38224",),
        origin="in the style of the thread: the two lengths confused",
    ).made_by(where(lambda _, length: length > 4_096)),
    Mistake(
        "switch-at-twice-the-length",
        does="switches beyond twice the original length",
        should="switch beyond the original length",
        fix="compare with the original length",
        origin="in the style of tables that grow by doubling",
    ).made_by(where(lambda original, length: length > 2 * original)),
)


def by_capacity(parameters: dict[str, Any]) -> dict[str, Any]:
    """Take the longest length that the model is offered for as the length."""
    return {**parameters, "length": parameters["max_length"]}


#: What the rotation alone can confuse: parameters changed, or fixed.
LENGTH_MISTAKES: tuple[tuple[Mistake, Callable[[dict[str, Any]], dict[str, Any]]], ...] = (
    Mistake(
        "switch-by-capacity",
        does="chooses the list by the length that is allocated, not by that of the sequence",
        should="choose by the length of the sequence",
        fix="compare the length of the sequence; by the allocated length cached keys stay valid, but short prompts get the long factors",
        threads=("https://github.com/ggml-org/llama.cpp/issues/24823", "https://github.com/vllm-project/vllm/pull/27431"),
        kind="convention",
    ).made_by(by_capacity),
    Mistake(
        "stretch-by-length",
        does="computes the attention factor from the current length",
        should="compute it from the longest length",
        fix="use max_position_embeddings / original_max_position_embeddings",
        origin="in the style of dynamic scalings",
    ).made_by(lambda parameters: {**parameters, "max_length": parameters["length"]}),
)
