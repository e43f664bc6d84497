"""What goes wrong with attention temperature: where a step begins, which logarithm counts, and where it is left out."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, altered, forcing, moving
from conformance.mutants.positions import position_mutants
from conformance.mutants.rounding import to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

SCALE, LOG_SCALE, LEARNED = "temperature.scale", "temperature.log_scale", "temperature.learned_scale"
POSITIONS = (
    "positions-ignored", "first-position-counts", "first-row-for-all", "positions-frozen", "clamped-at-2048", "clamped-at-4096",
)  # fmt: skip
COPIED = "in the style of formulas copied without a term"
OTHER_RULE = "in the style of engines that have one rule for every temperature of queries"
Function = Callable[..., Array]


def steps(positions: Array, floor_scale: int, shift: int) -> Array:
    """Return the step that every position lies in."""
    return (positions + shift) // floor_scale * 1.0


def rising(rise: Callable[[Array, float], Array]) -> Function:
    """Return a scale made of the steps and the slope."""
    return lambda positions, *, floor_scale, attn_scale, shift: rise(steps(positions, floor_scale, shift), attn_scale)


def stepping(step: Callable[..., Array]) -> Function:
    """Return a scale whose steps, of positions, their length and the shift, are found otherwise."""

    def scaled(positions: Array, *, floor_scale: int, attn_scale: float, shift: int) -> Array:
        return 1.0 + attn_scale * np.log1p(step(positions * 1.0, floor_scale, shift))

    return scaled


def reached(grown: Callable[[Array, float], Array]) -> Function:
    """Return a scale that grows with the position as a number, beyond the original length or wherever that is left to it."""
    return lambda positions, *, original_length: grown(positions * 1.0, float(original_length))


def beyond(grown: Callable[[Array, float], Array]) -> Function:
    """Return a scale that is 1 up to the original length."""
    return reached(lambda p, length: np.where(p < length, 1.0, grown(p, length)))


def logarithm(p: Array, length: float) -> Array:
    """Return ``ln(p + 1) / ln(L)``."""
    return np.log1p(p) / np.log(length)


STEP_MISTAKES: tuple[tuple[Mistake, Function], ...] = (
    (Mistake("left-out", "returns 1 everywhere", "grow with the step of the position", "multiply the queries by the temperature",
             threads=("https://github.com/NVIDIA/TensorRT-LLM/pull/3491",)), lambda positions, **_: np.ones(positions.shape)),
    (Mistake("shift-of-llama-4", "adds 1 to the position whatever is asked for: every step comes one position early",
             "add the shift that is asked for", "add nothing for Ministral 3: shift=0",
             origin="in the style of Ministral 3 computed by Llama 4's code"), forcing(SCALE, {"shift": 1})),
    (Mistake("shift-left-out", "adds nothing to the position: every step comes one position late", "add the shift that is asked for",
             "add 1 for Llama 4: shift=1", origin="in the style of Llama 4 computed by Ministral 3's code"), forcing(SCALE, {"shift": 0})),
    (Mistake("floor-missing", "divides without rounding down, so that every position has a scale of its own", "round the quotient down",
             "take the floor before the logarithm", origin=COPIED), stepping(lambda p, length, shift: (p + shift) / length)),
    (Mistake("rounded", "rounds the quotient to the nearest integer", "round the quotient down", "use floor",
             origin="in the style of casts that round"), stepping(lambda p, length, shift: np.rint((p + shift) / length))),
    (Mistake("ceiling", "rounds the quotient up", "round the quotient down", "use floor", origin="in the style of counts of blocks"),
     stepping(lambda p, length, shift: np.ceil((p + shift) / length))),
    (Mistake("one-inside-missing", "takes the logarithm of the quotient, and 1 in the first step", "add 1 to the quotient", "use log1p",
             origin=COPIED), rising(lambda step, slope: 1.0 + slope * np.log(np.maximum(step, 1.0)))),
    (Mistake("one-outside-missing", "returns the logarithm alone: 0 in the first step", "add 1 to the product", "add 1 at the end",
             origin=COPIED), rising(lambda step, slope: slope * np.log1p(step))),
    (Mistake("slope-inside", "multiplies the quotient by the slope, inside of the logarithm", "multiply the logarithm by the slope",
             "move the slope out of the logarithm", origin="in the style of brackets that move"),
     rising(lambda step, slope: 1.0 + np.log1p(slope * step))),
    (Mistake("logarithm-of-two", "takes the logarithm to base 2", "take the natural logarithm", "use log, or multiply by ln 2",
             origin="in the style of kernels that compute exp2 and log2"), rising(lambda step, slope: 1.0 + slope * np.log2(1.0 + step))),
    (Mistake("logarithm-of-ten", "takes the logarithm to base 10", "take the natural logarithm", "use log",
             origin="in the style of languages whose log10 is called log"), rising(lambda step, slope: 1.0 + slope * np.log10(1.0 + step))),
    (Mistake("linear", "multiplies the step by the slope without a logarithm", "take the logarithm of the step", "use log1p",
             origin=COPIED), rising(lambda step, slope: 1.0 + slope * step)),
    (Mistake("squared", "multiplies twice, as if queries and keys were scaled", "multiply the query alone", "leave the keys as they are",
             origin="in the style of rotations, which act on both sides"), altered(SCALE, result=np.square)),
    (Mistake("inverted", "returns 1 over the scale, as a temperature that divides", "multiply by the scale", "multiply queries by it",
             origin="in the style of softmax temperatures, which divide"), altered(SCALE, result=lambda scale: 1.0 / scale)),
    (Mistake("length-ignored", "takes steps of 8192 positions whatever is asked for", "use floor_scale", "pass floor_scale through",
             origin="in the style of defaults that stay"), forcing(SCALE, {"floor_scale": 8_192})),
    (Mistake("reciprocal", "multiplies by 1 over the length, which is rounded: some steps come one position late", "divide by the length",
             "divide, or use integers", origin="in the style of divisions by a constant that compilers replace"),
     stepping(lambda p, length, shift: np.floor((p + shift) * (1.0 / length)))),
    (Mistake("slope-ignored", "uses a slope of 0.1 whatever is asked for", "use attn_scale", "pass attn_scale through",
             origin="in the style of defaults that stay"), forcing(SCALE, {"attn_scale": 0.1})),
    (Mistake("zero-for-missing", "takes a slope of 0 for one that isn't given, and uses 0.1", "return 1 everywhere where attn_scale is 0",
             "ask whether the slope is given, not whether it is true; leave the queries of layers without a temperature as they are",
             origin="in the style of `attn_scale or 0.1`, and of switches that no layer reads"),
     lambda positions, *, floor_scale, attn_scale, shift: 1.0 + (attn_scale or 0.1) * np.log1p(steps(positions, floor_scale, shift))),
    (Mistake("slope-left-out", "adds the logarithm without its slope to 1", "multiply the logarithm by attn_scale",
             "multiply by the slope", origin=COPIED), rising(lambda step, _: 1.0 + np.log1p(step))),
    (Mistake("of-qwen", "divides the logarithm of the position by that of the length, and takes 1 up to the length, as Qwen does",
             "grow in steps, by the slope", "compute 1 + attn_scale log1p(floor((p + shift) / floor_scale))", origin=OTHER_RULE),
     lambda positions, *, floor_scale, **_: np.maximum(logarithm(positions * 1.0, max(floor_scale, 2)), 1.0)),
    (Mistake("of-kexue", "divides the logarithm of the position by ln 512, and scales the first ones by less than 1",
             "grow in steps, by the slope", "compute 1 + attn_scale log1p(floor((p + shift) / floor_scale))", origin=OTHER_RULE),
     lambda positions, **_: logarithm(positions * 1.0, 512.0)),
    (Mistake("of-scalable-softmax", "multiplies by the logarithm of the number of keys, as Scalable-Softmax does",
             "grow in steps, by the slope", "compute 1 + attn_scale log1p(floor((p + shift) / floor_scale))", origin=OTHER_RULE),
     lambda positions, **_: np.log1p(positions * 1.0)),
    (Mistake("softmax-scale-folded-in", "divides by the root of the width, 128, besides", "return the temperature alone",
             "leave the scale of the logits to attention", origin="in the style of kernels that scale queries once for everything"),
     altered(SCALE, result=lambda scale: scale / np.sqrt(128.0))),
    (Mistake("of-yarn", "returns YaRN's factor for a context as long as the position: a slope of 0.1 whatever is asked for, and no steps",
             "grow in steps, by the slope", "compute 1 + attn_scale log1p(floor((p + shift) / floor_scale))", origin=OTHER_RULE),
     lambda positions, *, floor_scale, **_: 0.1 * np.log(np.maximum((positions + 1) / floor_scale, 1.0)) + 1.0),
)

LOG_MISTAKES: tuple[tuple[Mistake, Function], ...] = (
    (Mistake("left-out", "returns 1 everywhere", "grow with the position beyond the original length", "read use_logn_attn",
             origin="in the style of engines that read no use_logn_attn"), lambda positions, **_: np.ones(positions.shape)),
    (Mistake("position-for-count", "takes the logarithm of the position, not of the number of positions up to it",
             "add 1 to the position", "count the token itself", origin=COPIED),
     beyond(lambda p, length: np.log(np.maximum(p, 1.0)) / np.log(length))),
    (Mistake("below-one", "scales positions within the original length too, by less than 1", "keep 1 up to the original length",
             "take the maximum of 1 and the quotient", origin="in the style of kexue.fm's first formula, which has no maximum"),
     reached(logarithm)),
    (Mistake("quotient-inside", "adds the logarithm of the quotient to 1", "divide one logarithm by the other",
             "divide after the logarithms", origin="in the style of YaRN's factor"),
     beyond(lambda p, length: 1.0 + np.log((p + 1.0) / length))),
    (Mistake("not-divided", "doesn't divide by the logarithm of the original length", "divide by ln(original_length)",
             "divide by its logarithm", origin=COPIED), beyond(lambda p, _: np.log1p(p))),
    (Mistake("length-ignored", "takes 2048 for the original length whatever is asked for", "use original_length",
             "pass the length of the configuration (seq_length)", origin="in the style of defaults that stay"),
     forcing(LOG_SCALE, {"original_length": 2_048})),
    (Mistake("squared", "multiplies twice, as if queries and keys were scaled", "multiply the query alone", "leave the keys as they are",
             origin="in the style of rotations, which act on both sides"), altered(LOG_SCALE, result=np.square)),
    (Mistake("inverted", "returns 1 over the scale, as a temperature that divides", "multiply by the scale", "multiply queries by it",
             origin="in the style of softmax temperatures, which divide"), altered(LOG_SCALE, result=lambda scale: 1.0 / scale)),
)


def risen(rise: Callable[[Array, Array, Array], Array]) -> Function:
    """Return a learned scale made otherwise of positions, slopes and biases, whose axes are those of the result."""
    return lambda positions, slopes, biases: rise(positions[..., None, :] * 1.0, slopes[:, None], biases[:, None])


BOTH = "multiply the logarithm by the slope, and add the bias"
LEARNED_MISTAKES: tuple[tuple[Mistake, Function], ...] = (
    (Mistake("left-out", "returns 1 everywhere", BOTH, "load the learned numbers, and multiply the queries of every layer",
             origin="in the style of weights that a loader skips: transformers begins with slopes of 0 and biases of 1"),
     risen(lambda p, s, b: 1.0 + 0.0 * (p + s + b))),
    (Mistake("bias-left-out", "returns the product alone: 0 at position 0", BOTH, "add the bias", origin=COPIED),
     risen(lambda p, s, b: s * np.log1p(p) + 0.0 * b)),
    (Mistake("one-for-bias", "adds 1 in place of the bias", BOTH, "add the bias that is learned", origin=OTHER_RULE),
     risen(lambda p, s, b: 1.0 + s * np.log1p(p) + 0.0 * b)),
    (Mistake("slope-left-out", "adds the logarithm without its slope to the bias", BOTH, "multiply by the slope", origin=COPIED),
     risen(lambda p, s, b: np.log1p(p) + b + 0.0 * s)),
    (Mistake("slopes-ignored", "returns the bias at every position", BOTH, "multiply the logarithm by the slope",
             origin="in the style of scales that are taken for one number of a head"), risen(lambda p, s, b: b + 0.0 * (p + s))),
    (Mistake("exchanged", "takes slopes for biases and biases for slopes", BOTH,
             "multiply by softmax_scaling.scale, add softmax_scaling.bias",
             origin="in the style of weights that are loaded in the order of their names"), risen(lambda p, s, b: b * np.log1p(p) + s)),
    (Mistake("bias-inside", "multiplies the sum of logarithm and bias by the slope", BOTH, "add the bias last",
             origin="in the style of brackets that move"), risen(lambda p, s, b: s * (np.log1p(p) + b))),
    (Mistake("one-inside-missing", "takes the logarithm of the position, and 0 at position 0", "add 1 to the position", "use log1p",
             origin=COPIED), risen(lambda p, s, b: s * np.log(np.maximum(p, 1.0)) + b)),
    (Mistake("two-inside", "adds 2 to the position", "add 1 to the position", "add 1 once: log1p does so",
             origin="in the style of log1p of a count that starts at 1"), risen(lambda p, s, b: s * np.log1p(p + 1.0) + b)),
    (Mistake("logarithm-of-two", "takes the logarithm to base 2", "take the natural logarithm", "use log, or multiply by ln 2",
             origin="in the style of kernels that compute exp2 and log2"), risen(lambda p, s, b: s * np.log2(1.0 + p) + b)),
    (Mistake("logarithm-of-ten", "takes the logarithm to base 10", "take the natural logarithm", "use log",
             origin="in the style of languages whose log10 is called log"), risen(lambda p, s, b: s * np.log10(1.0 + p) + b)),
    (Mistake("linear", "multiplies the position by the slope without a logarithm", "take the logarithm of the position", "use log1p",
             origin=COPIED), risen(lambda p, s, b: s * p + b)),
    (Mistake("kept-at-one", "returns 1 wherever the scale is below 1", "return the scale, whatever it is", "take no maximum",
             origin=OTHER_RULE), altered(LEARNED, result=lambda scale: np.maximum(scale, 1.0))),
    (Mistake("kept-above-zero", "returns 0 wherever the scale is below 0", "return the scale, whatever it is", "clamp nothing",
             origin="in the style of temperatures, which are above 0"), altered(LEARNED, result=lambda scale: np.maximum(scale, 0.0))),
    (Mistake("squared", "multiplies twice, as if queries and keys were scaled", "multiply the query alone", "leave the keys as they are",
             origin="in the style of rotations, which act on both sides"), altered(LEARNED, result=np.square)),
    (Mistake("inverted", "returns 1 over the scale, as a temperature that divides", "multiply by the scale", "multiply queries by it",
             origin="in the style of softmax temperatures, which divide"),
     altered(LEARNED, result=lambda scale: np.divide(1.0, scale, where=scale != 0.0, out=np.zeros_like(scale)))),
    (Mistake("first-head-for-all", "gives every head the numbers of the first one", "give every head its own",
             "keep the axis of heads when slopes and biases are broadcast",
             origin="in the style of a list that is taken for a number"),
     risen(lambda p, s, b: s[:1] * np.log1p(p) + b[:1] + 0.0 * s)),
    (Mistake("heads-in-reverse", "gives the heads their numbers in reverse order", "give every head its own", "start with the first head",
             origin="in the style of weights that are split across devices and put together the other way round"),
     risen(lambda p, s, b: s[::-1] * np.log1p(p) + b[::-1])),
    (Mistake("heads-averaged", "gives all heads the mean of the numbers", "give every head its own", "multiply elementwise",
             origin="in the style of a list that is taken for a number"),
     risen(lambda p, s, b: s.mean() * np.log1p(p) + b.mean() + 0.0 * s)),
)


def in_half(operation: str, dtype: str) -> Iterator[Mutant]:
    """Return positions, and the scale, in a half format."""
    narrow, origin = to(dtype), "in the style of models cast as a whole"
    advice = ("compute in float32 and cast last", "keep positions integers and the scale float32")
    moved: Any = moving(operation, lambda positions: narrow(positions).astype(np.int64))
    yield Mistake(f"{dtype}-positions", f"rounds positions to {dtype}", *advice, kind="precision", origin=origin).at(operation, moved)
    scaled = altered(operation, result=narrow)
    yield Mistake(f"{dtype}-scale", f"rounds the scale to {dtype}", *advice, kind="precision", origin=origin).at(operation, scaled)


def mutants() -> Iterator[Mutant]:
    """Return the mutants of attention temperature."""
    for operation, mistakes in ((SCALE, STEP_MISTAKES), (LOG_SCALE, LOG_MISTAKES), (LEARNED, LEARNED_MISTAKES)):
        for mistake, function in mistakes:
            yield mistake.at(operation, function)
        yield from position_mutants(operation, POSITIONS)
        for dtype in ("bfloat16", "float16"):
            yield from in_half(operation, dtype)
