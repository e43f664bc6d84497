"""What goes wrong with rope: frequencies, angles, tables, pairs."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.mutants.building import OPERATIONS, Mistake, Parameters, altered, conventions, forcing
from conformance.mutants.positions import MISTAKES, RELATIVE_SLUGS, position_mutants
from conformance.mutants.rotary import Rotary, form_of
from conformance.mutants.rounding import rounded, to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.forms.parted import Parted
from refimpl.forms.rotary import join_pairs, split_pairs
from refimpl.schemes import rope

CONVENTION_THREADS = {
    "half": (
        "https://github.com/Dao-AILab/flash-attention/issues/288",
        "https://github.com/TransformerLensOrg/TransformerLens/issues/364",
        "https://github.com/karpathy/nanochat/issues/264",
        "https://github.com/microsoft/onnxruntime/pull/29261",
        "https://github.com/hw-native-sys/pypto-lib/pull/244",
        "https://github.com/local-inference-lab/rtx6kpro/issues/90",
        "https://github.com/WestWaters/pollard-weights/pull/70",
    ),
    "interleaved": (
        "https://github.com/NeuraLegion/shainet/pull/111",
        "https://github.com/PaddlePaddle/Paddle/pull/56401",
        "https://github.com/ooples/AiDotNet/pull/2074",
        "https://github.com/huggingface/candle/pull/3949",
    ),
    "interleaved_to_half": ("https://github.com/Dao-AILab/flash-attention/issues/288",),
    "negative": ("https://github.com/karpathy/nanochat/pull/489",),
}
HALF_THREADS = {
    "positions": ("https://github.com/keras-team/keras-hub/pull/1544", "https://github.com/nkalyanv99/UNI-D2/pull/6"),
    "frequencies": (
        "https://github.com/NVIDIA-NeMo/Automodel/pull/2549",
        "https://github.com/Modalities/modalities/pull/462",
        "https://github.com/sgl-project/sglang-jax/issues/1472",
        "https://github.com/tenstorrent/tt-metal/pull/54528",
        "https://github.com/tinygrad/tinygrad/pull/17132",
    ),
    "angles": ("https://github.com/huggingface/transformers/pull/29285",),
    "tables": ("https://github.com/keras-team/keras-hub/pull/1508",),
    "positions, frequencies and angles": (
        "https://github.com/EleutherAI/gpt-neox/issues/1003",
        "https://github.com/huggingface/candle/issues/3698",
        "https://github.com/huggingface/candle/pull/3520",
    ),
}
PIECES = {"positions": "position", "frequencies": "frequency", "angles": "angle", "tables": "table"}
TURNING = ("rotate", "rotate_query", "rotate_key", "rotate_query_key", "weights", "attend")
FROM_POSITIONS = ("tables", "gradient", *TURNING)


def index(head_dim: int) -> Array:
    """Return the pairs' indices."""
    return np.arange(head_dim // 2, dtype=np.float64)


FREQUENCY_MISTAKES = (
    Mistake(
        "pairs-from-one",
        does="counts pairs from one: base^(-2 (j + 1) / head_dim)",
        should="start at frequency 1: base^(-2 j / head_dim), j from 0",
        fix="use arange(0, head_dim, 2) / head_dim",
        origin="the printed formula of the paper's section 3.3, i = 1 ... d/2, read without the -1 of equation 15",
    ).made_by(Rotary(spectrum=lambda d, base: base ** (-2.0 * (index(d) + 1) / d))),
    Mistake(
        "exponent-without-two",
        does="uses the exponent j / head_dim",
        should="use 2 j / head_dim",
        fix="divide j by head_dim / 2",
        origin="in the style of mistakes in the exponent that were reported for sinusoids",
    ).made_by(Rotary(spectrum=lambda d, base: base ** (-index(d) / d))),
    Mistake(
        "exponent-doubled",
        does="doubles the exponent: 2 times an index that already counts channels, or a width that is halved",
        should="use 2 j / head_dim for pair j",
        fix="use arange(0, head_dim, 2) / head_dim, with head_dim itself below, not its half",
        threads=("https://github.com/Kyubyong/transformer/issues/38",),
        origin="reported for the sinusoid",
    ).made_by(Rotary(spectrum=lambda d, base: base ** (-4.0 * index(d) / d))),
    Mistake(
        "ends-at-base",
        does="spaces frequencies from 1 to 1 / base: exponent j / (head_dim / 2 - 1)",
        should="use 2 j / head_dim, so that the last frequency stays above 1 / base",
        fix="divide by head_dim / 2",
        threads=("https://github.com/tensorflow/tensor2tensor/issues/1423",),
        origin="tensor2tensor's sinusoid spacing",
    ).made_by(Rotary(spectrum=lambda d, base: base ** (-index(d) / max(1, d // 2 - 1)))),
    Mistake(
        "frequencies-inverted",
        does="multiplies by the wavelength base^(2 j / head_dim) instead of its reciprocal",
        should="use base^(-2 j / head_dim)",
        fix="invert the frequencies",
        threads=("https://github.com/ml-explore/mlx-lm/pull/1189",),
    ).made_by(Rotary(spectrum=lambda d, base: base ** (2.0 * index(d) / d))),
)

DEGREES = Mistake(
    "degrees",
    does="takes angles for degrees",
    should="use radians",
    fix="don't convert the angle",
    origin="in the style of platforms whose sine takes degrees",
)
ANGLE_MISTAKES = (
    (DEGREES, Rotary(angle=np.deg2rad)),
    Mistake(
        "turned-twice",
        does="rotates twice: the angle is doubled",
        should="rotate once",
        fix="rotate in one place only",
        threads=(
            "https://github.com/NVIDIA/TensorRT-LLM/pull/16378",
            "https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/251",
            "https://github.com/NVIDIA/TensorRT-LLM/pull/4040",
        ),
    ).made_by(Rotary(angle=lambda angles: 2.0 * angles)),
    Mistake(
        "not-turned",
        does="doesn't rotate",
        should="rotate to the position",
        fix="check that the tables are alive and reach this path",
        threads=("https://github.com/sgl-project/sglang/pull/33575", "https://github.com/sqliteai/warp/pull/27"),
    ).made_by(Rotary(angle=np.zeros_like)),
    Mistake(
        "sine-missing",
        does="multiplies by the cosine alone: the sine is lost",
        should="multiply x by the cosine, and x with its pairs exchanged by the sine",
        fix="keep cosine and sine apart: a cast drops the imaginary part of complex frequencies",
        threads=("https://github.com/huggingface/diffusers/pull/12164",),
    ).made_by(Rotary(sine=np.zeros_like)),
    Mistake(
        "sine-and-cosine-swapped",
        does="swaps the cosine and the sine tables",
        should="multiply x by the cosine, and x with its pairs exchanged by the sine",
        fix="exchange cosine and sine where they are passed or unpacked",
        threads=("https://github.com/PaddlePaddle/Paddle/pull/70845",),
    ).made_by(Rotary(cosine=np.sin, sine=np.cos)),
)


def half_mistakes(dtype: str) -> Iterator[tuple[Mistake, Rotary]]:
    """Return what goes wrong where named intermediates are kept in a half format."""
    for what, threads in HALF_THREADS.items():
        words = what.replace(" and ", ", ").split(", ")
        slug = f"{dtype}-{'-'.join(words)}"
        mistake = Mistake(
            slug,
            does=f"rounds its {what} to {dtype}",
            should="keep positions, frequencies, angles and tables in float32 or wider; round the result only",
            fix=f"compute {what} in float32, outside autocast and out of reach of a module's casts, and cast last",
            threads=threads,
            kind="precision",
        )
        rounding: dict[str, Any] = {PIECES[word]: to(dtype) for word in words}
        yield mistake, Rotary(**rounding)


def turned(rotation: Array, cos: Array, sin: Array, x: Array) -> Array:
    """Return the Hadamard form ``x cos + rotation(x) sin`` with tables that have head_dim columns."""
    wide = [table if table.ndim == 2 else table[:, None] for table in (cos, sin)]
    return x * wide[0] + rotation * wide[1]


def repeated_tables(x: Array, cos: Array, sin: Array, *, layout: str, direction: str) -> Array:  # noqa: ARG001  whatever is asked for
    """Turn pairs (j, j + d/2) with tables of pairs (2j, 2j + 1)."""
    first, second = split_pairs(x, "half")
    sin = -sin if direction == "negative" else sin
    return turned(np.concatenate([-second, first], axis=-1), np.repeat(cos, 2, axis=-1), np.repeat(sin, 2, axis=-1), x)


def tiled_tables(x: Array, cos: Array, sin: Array, *, layout: str, direction: str) -> Array:  # noqa: ARG001  whatever is asked for
    """Turn pairs (2j, 2j + 1) with tables of pairs (j, j + d/2)."""
    first, second = split_pairs(x, "interleaved")
    sin = -sin if direction == "negative" else sin
    swapped = join_pairs(-second, first, "interleaved")
    return turned(swapped, np.concatenate([cos, cos], axis=-1), np.concatenate([sin, sin], axis=-1), x)


def signed(first_sine: float, second_sine: float) -> Callable[..., Array]:
    """Return the rotation whose sines have these signs: (a cos + s b sin, t a sin + b cos)."""

    def apply(x: Array, cos: Array, sin: Array, *, layout: str, direction: str) -> Array:
        first, second = split_pairs(x, layout)
        sin = -sin if direction == "negative" else sin
        cos, sin = (table if table.ndim == 2 else table[:, None] for table in (cos, sin))
        return join_pairs(first * cos + first_sine * second * sin, second_sine * first * sin + second * cos, layout)

    return apply


TURN_MISTAKES = (
    Mistake(
        "repeated-tables-half-rotation",
        does="turns pairs (j, j + d/2) with tables repeated for pairs (2j, 2j + 1): not a rotation at all",
        should="use tables and pairs of one layout",
        fix="cat((freqs, freqs)) goes with rotate_half; repeat_interleave(2) with the rotation of neighbouring channels",
        threads=("https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6",),
    ).made_by(Rotary(turn=repeated_tables)),
    Mistake(
        "tiled-tables-neighbour-rotation",
        does="turns pairs (2j, 2j + 1) with tables tiled for pairs (j, j + d/2): not a rotation at all",
        should="use tables and pairs of one layout",
        fix="repeat_interleave(2) goes with the rotation of neighbouring channels; cat((freqs, freqs)) with rotate_half; for weights that "
        'were trained so (V-JEPA 2) declare axial_rope.rotate with ladder="tiled"',
        threads=("https://github.com/xiangking/ark-nlp/issues/47",),
    ).made_by(Rotary(turn=tiled_tables)),
    Mistake(
        "minus-forgotten",
        does="gives b sin the sign of a sin: (a cos + b sin, a sin + b cos) where the direction is positive",
        should="give them opposite signs: (a cos - b sin, a sin + b cos)",
        fix="change the sign of b sin alone: rotate_half negates the second half",
        origin="in the style of signs that are lost",
    ).made_by(Rotary(turn=signed(1.0, 1.0))),
    Mistake(
        "plus-forgotten",
        does="gives a sin the sign of b sin: (a cos - b sin, b cos - a sin) where the direction is positive",
        should="give them opposite signs: (a cos - b sin, a sin + b cos)",
        fix="change the sign of a sin alone: rotate_half negates the second half, and not the first",
        origin="in the style of signs that are lost",
    ).made_by(Rotary(turn=signed(-1.0, -1.0))),
)


def over_axis(axis: int) -> Any:
    """Return the rotation that takes another axis of x for the tokens."""

    def rotate(x: Array, positions: Array, **parameters: Any) -> Array:
        fits = positions.shape == (x.shape[axis],)
        places = positions if fits else np.arange(x.shape[axis])
        return np.swapaxes(rope.rotate(np.swapaxes(x, axis, 2), places, **parameters), axis, 2)

    return rotate


def width_of_model(x: Array, positions: Array, **parameters: Any) -> Array:
    """Rotate with exponents over all heads' width."""
    width = x.shape[1] * x.shape[3]
    return Rotary(spectrum=lambda d, base: base ** (-2.0 * index(d) / width)).rotate(x, positions, **parameters)


ROTATE_MISTAKES = (
    Mistake(
        "turned-over-heads",
        does="takes the head axis for the token axis",
        should="turn by the token's position",
        fix="check the order of (batch, head, token, head_dim) where the tables broadcast",
        threads=("https://github.com/fla-org/flash-linear-attention/issues/126", "https://github.com/deepspeedai/DeepSpeed/pull/2782"),
    ).made_by(over_axis(1)),
    Mistake(
        "turned-over-batch",
        does="takes the batch axis for the token axis",
        should="turn by the token's position",
        fix="transpose (token, batch) tables before they broadcast",
        threads=("https://github.com/songyangco/GETNext/issues/2",),
        origin="reported for the sinusoid",
    ).made_by(over_axis(0)),
    Mistake(
        "width-of-model",
        does="divides the exponent by the width of all heads together",
        should="divide by head_dim",
        fix="use the head's own width",
        threads=("https://github.com/huggingface/transformers/pull/32495",),
        origin="in the style of: head_dim derived from hidden_size",
    ).made_by(width_of_model),
)

FIRST_TABLE = Mistake(
    "first-row-for-all",
    does="uses the first row's tables for every row of the batch",
    should="use each row's own tables",
    fix="keep the batch axis of the tables",
    threads=("https://github.com/unslothai/unsloth/issues/3699",),
)
BASE_IGNORED = Mistake(
    "base-ignored",
    does="uses base 10000 whatever is asked for",
    should="use the base that is given",
    fix="pass base (rope_theta) through to the frequencies",
    threads=(
        "https://github.com/sgl-project/SpecForge/issues/265",
        "https://github.com/huggingface/diffusers/issues/10111",
        "https://github.com/lyogavin/airllm/issues/368",
        "https://github.com/paiml/aprender/pull/1232",
        "https://github.com/sgl-project/sglang/pull/14745",
    ),
)
BASE_OFF = Mistake(
    "base-off-by-one",
    does="uses base + 1",
    should="use the base that is given",
    fix="don't change the base",
    origin="ours: the smallest change that a whole base can have",
)
BASE_HALF = Mistake(
    "bfloat16-base",
    does="rounds the base to bfloat16: 9984 for 10000",
    should="keep the base as it is given",
    fix="compute frequencies from a float32 or wider base",
    threads=("https://github.com/EleutherAI/gpt-neox/issues/1003",),
    kind="precision",
    origin="in the style of code that computes everything in the model's dtype",
)


def half_base(parameters: Parameters) -> Parameters:
    """Round the base to bfloat16."""
    return {**parameters, "base": float(rounded(parameters["base"], "bfloat16"))}


def base_mutants(operation: str) -> Iterator[Mutant]:
    """Return the mistakes about the base, whatever is computed from it."""
    yield BASE_IGNORED.at(operation, forcing(operation, {"base": 10_000.0}))
    yield BASE_OFF.at(operation, altered(operation, parameters=lambda chosen: {**chosen, "base": chosen["base"] + 1.0}))


def pieces(operation: str) -> Iterator[tuple[Mistake, Rotary]]:
    """Return the mistakes of pieces that an operation of a rotary scheme is made of; frequencies that aren't rope's have their own."""
    form, name = form_of(operation), operation.partition(".")[2]
    if form is not None and form.frequencies is rope.frequencies and name != "apply":
        yield from FREQUENCY_MISTAKES
    if name in FROM_POSITIONS:
        yield from ANGLE_MISTAKES
    if name in (*TURNING, "apply"):
        yield from TURN_MISTAKES
    for dtype in ("bfloat16", "float16"):
        shown = (f"{dtype}-frequencies",) if name == "frequencies" else ()
        yield from (pair for pair in half_mistakes(dtype) if name in FROM_POSITIONS or pair[0].slug in shown)


def operation_mutants(operation: str) -> Iterator[Mutant]:
    """Return the mutants that one operation of a rotary scheme shares with others, whatever fills its slots."""
    contract = OPERATIONS[operation]
    yield from conventions(operation, CONVENTION_THREADS)
    form = form_of(operation)
    for mistake, rotary in pieces(operation):
        named = mistake.of_width(form.width) if isinstance(form, Parted) else mistake
        yield named.at(operation, rotary.of(operation))
    if "base" in contract.parameters:
        yield from base_mutants(operation)
        yield BASE_HALF.at(operation, altered(operation, parameters=half_base))
    if contract.integers | contract.numbers:
        meeting = "query_positions" in contract.arrays and "query" not in contract.results
        yield from position_mutants(operation, RELATIVE_SLUGS if meeting else MISTAKES)


def apply_mutants() -> Iterator[Mutant]:
    """Return the mistakes about tables that are given."""
    swapped = ANGLE_MISTAKES[-1][0]
    yield swapped.at("rope.apply", altered("rope.apply", arrays=lambda a, _: {"x": a["x"], "cos": a["sin"], "sin": a["cos"]}))
    yield FIRST_TABLE.at("rope.apply", altered("rope.apply", arrays=lambda a, _: {name: first(a[name]) for name in a}))


def first(table: Array) -> Array:
    """Use the first row's table for every row of the batch; leave other arrays alone."""
    return np.broadcast_to(table[:1], table.shape).copy() if table.ndim == 3 else table


def mutants() -> Iterator[Mutant]:
    """Return all mutants of rope but those of gradients and attention."""
    for name in ("frequencies", "tables", "apply", "rotate", "rotate_query_key", "gradient", "weights", "attend"):
        yield from operation_mutants(f"rope.{name}")
    yield from apply_mutants()
    for mistake, function in ROTATE_MISTAKES:
        yield mistake.at("rope.rotate", function)
