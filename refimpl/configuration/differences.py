"""Keys that libraries are known to read in different ways, each with a thread; libraries are told of, none of them is the truth."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refimpl.configuration.families import plain_name
from refimpl.configuration.findings import Kind, Reading, Rotation
from refimpl.configuration.indexers import UNREAD as IGNORED
from refimpl.configuration.readers import ALPHA
from refimpl.configuration.scalings import MSCALES
from refimpl.configuration.widths import AMONG, IS_THE_WIDTH, TURN

#: Whether a difference shows at a value of its key, in layers that turn so, in a model that is read so.
Shows = Callable[[Any, Rotation, Reading], bool]


@dataclass(frozen=True)
class Difference:
    """One way in which libraries differed on a key, where it shows, and where that was reported."""

    key: str
    says: str
    link: str
    shows: Shows = lambda *_: True
    told: str = ""
    """What a decision must say, if its value alone doesn't tell."""


def is_part(value: object, *_: object) -> bool:
    """Whether a fraction leaves something out."""
    return value != 1


def is_dynamic(value: object, rotation: Rotation, _: Reading) -> bool:
    """Whether a rope type is one whose base follows the length."""
    return value == rotation.rope_type == "dynamic"


def is_slope(value: object, rotation: Rotation, _: Reading) -> bool:
    """Whether a rope type is TeleChat3's own YaRN, and no number replaces what grows by its slope."""
    return value == "telechat3-yarn" and rotation.attention.parameters.get("attention_factor") is None


def is_scaled(_: object, rotation: Rotation, __: Reading) -> bool:
    """Whether the layers are scaled."""
    return rotation.rope_type not in ("default", "axial")


def scales_others(_: object, __: Rotation, reading: Reading) -> bool:
    """Whether some layers are scaled."""
    return any(kind.rotation is not None and is_scaled(None, kind.rotation, reading) for kind in reading.kinds)


def is_off(value: object, *_: object) -> bool:
    """Whether a switch is off."""
    return value is False


def is_yarn(_: object, rotation: Rotation, __: Reading) -> bool:
    """Whether the rope type is yarn."""
    return rotation.rope_type == "yarn"


def has_two_lists(_: object, rotation: Rotation, __: Reading) -> bool:
    """Whether short and long sequences turn otherwise."""
    return rotation.factors is not None and rotation.factors[0] != rotation.factors[1]


def has_zero(values: Collection[object], *_: object) -> bool:
    """Whether a list leaves some layers out."""
    return 0 in values


def has_zero_unscaled(values: Collection[object], rotation: Rotation, reading: Reading) -> bool:
    """Whether a list leaves some layers out of a scaling."""
    return 0 in values and scales_others(values, rotation, reading)


def turns_a_part(_: object, rotation: Rotation, __: Reading) -> bool:
    """Whether a part of a head turns."""
    return len(rotation.channels) < rotation.head_dim


def of_types(*names: str) -> Shows:
    """Return what shows in some model types alone."""
    return lambda _, __, reading: plain_name(reading.model_type) in names


def is_unsaid(_: object, rotation: Rotation, reading: Reading) -> bool:
    """Whether a part of a head turns in MiniMax M3, and no fraction says which."""
    keys = {decision.key.rsplit(".", 1)[-1] for kind in reading.kinds for decision in kind.decisions if not decision.assumed}
    part = turns_a_part(None, rotation, reading) and "partial_rotary_factor" not in keys
    return part and plain_name(reading.model_type) == "minimax_m3_vl"


SLOPE = "mlxcel, as mlx-lm, takes YaRN's own slope, 0.1", "https://github.com/lablup/mlxcel/pull/1035"
STATIC = (
    "vLLM computed once, for the longest sequence, so that short ones are slowed too",
    "https://github.com/vllm-project/vllm/issues/5093",
)
DIVIDED = "transformers divided hidden_size among the heads all the same", "https://github.com/huggingface/transformers/pull/32495"
WHOLE_OF_M3 = (
    "transformers 5.23 turns the whole head, as it reads partial_rotary_factor in its place",
    "https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/minimax_m3_vl/modeling_minimax_m3_vl.py",
)
DOUBLED = (
    "transformers 5.23 lets the two members of a pair follow two axes, which is no rotation",
    "https://github.com/huggingface/transformers/pull/46417",
)
FIXED = (
    "vLLM reads it; transformers 5.23 doesn't, and has one layout for each model type",
    "https://github.com/huggingface/transformers/pull/46842",
)
GITHUB = "https://github.com/"
DIFFERENCES = (
    Difference("type", *STATIC, is_dynamic),
    Difference("rope_type", *STATIC, is_dynamic),
    Difference("type", *SLOPE, is_slope),
    Difference("rope_type", *SLOPE, is_slope),
    Difference("truncate", "some code rounds the ends of yarn's ramp all the same", f"{GITHUB}apache/tvm/pull/18576", is_off),
    Difference("attention_factor", "vLLM took 0.1 ln(factor) + 1 in its place", f"{GITHUB}vllm-project/vllm/pull/46280", is_yarn),
    Difference("mscale", "ollama multiplied by it twice", f"{GITHUB}ollama/ollama/pull/13432", told=MSCALES["mscale"]),
    Difference(
        "long_factor", "llama.cpp chose the list by the context it had room for", f"{GITHUB}ggml-org/llama.cpp/issues/24823", has_two_lists
    ),
    Difference("short_mscale", "mlxcel ignored it, and took the long factors always", f"{GITHUB}lablup/mlxcel/issues/1358"),
    Difference("partial_rotary_factor", "vLLM applied it twice", f"{GITHUB}vllm-project/vllm/pull/30384", is_part, TURN),
    Difference("partial_rotary_factor", "vLLM cut qk_rope_head_dim by it", f"{GITHUB}vllm-project/vllm/pull/41185", is_part, IS_THE_WIDTH),
    Difference("rotary_pct", "code took the whole head in the exponent", f"{GITHUB}pie-project/pie/pull/603", is_part, TURN),
    Difference(
        "rotary_dim",
        "transformers before 5.23 turned the whole head",
        f"{GITHUB}huggingface/transformers/pull/48486",
        of_types("minimax_m2"),
    ),
    Difference("rotary_dim", *WHOLE_OF_M3, is_unsaid),
    Difference("head_dim", *DIVIDED, told=AMONG),
    Difference("no_rope_layers", "rknn-llm turned every layer", f"{GITHUB}airockchip/rknn-llm/issues/501", has_zero),
    Difference("rope_local_base_freq", "mlxcel scaled local layers too, or no layer", f"{GITHUB}lablup/mlxcel/issues/1340", scales_others),
    Difference("compress_ratios", "SGLang scaled layers of ratio 0 too", f"{GITHUB}sgl-project/sglang/pull/34788", has_zero_unscaled),
    Difference(
        "alpha", "transformers wrote the plain frequencies over it", f"{GITHUB}huggingface/transformers/pull/43411", of_types(*ALPHA)
    ),
    Difference("type", "code that reads rope_type alone finds no scaling", f"{GITHUB}lablup/mlxcel/issues/1355", is_scaled),
    Difference("low_freq_factor", "mlx-vlm ignored the scaling in ten models", f"{GITHUB}Blaizzy/mlx-vlm/pull/1710"),
    Difference(
        "attn_temperature_tuning", "TensorRT-LLM left it out", f"{GITHUB}NVIDIA/TensorRT-LLM/pull/3491", lambda value, *_: bool(value)
    ),
    Difference("dual_chunk_attention_config", "vLLM reads it, transformers doesn't", f"{GITHUB}vllm-project/vllm/pull/11844"),
    Difference("indexer_rope_interleave", *FIXED, told=IGNORED),
    Difference("xdrope_section", *DOUBLED, of_types("hunyuan_vl")),
    Difference("mrope_section", *DOUBLED, of_types("hunyuan_vl")),
    Difference("mrope_section", "MaxText turned the whole head by it", f"{GITHUB}AI-Hypercomputer/maxtext/pull/4615", turns_a_part),
)


def applying(reading: Reading, kinds: Sequence[Kind] | None = None) -> Iterator[tuple[str, Difference]]:
    """Yield the keys of a configuration on which libraries differ, each way once; where kinds of layers are said, on those of theirs."""
    told = set()
    for kind in reading.kinds if kinds is None else kinds:
        for decision in (each for each in kind.decisions if not each.assumed):
            for difference in DIFFERENCES:
                read = difference.key == decision.key.rsplit(".", 1)[-1] and difference.told in decision.says
                if read and difference not in told and difference.shows(decision.value, kind.rotation or kind.at_rest, reading):
                    told.add(difference)
                    yield decision.key, difference
