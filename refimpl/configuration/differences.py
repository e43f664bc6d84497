"""Keys that libraries are known to read in different ways, each with a thread; libraries are told of, none of them is the truth."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from refimpl.configuration.findings import Kind, Reading
from refimpl.configuration.indexers import UNREAD as IGNORED
from refimpl.configuration.widths import UNREAD


@dataclass(frozen=True)
class Difference:
    """One way in which libraries differed on a key, at which values it shows, and where that was reported."""

    key: str
    says: str
    link: str
    shows: Callable[[object], bool] = lambda _: True
    told: str = ""
    """What a decision must say, if its value alone doesn't tell."""


def is_false(value: object) -> bool:
    """Whether a switch is off."""
    return value is False


def is_part(value: object) -> bool:
    """Whether a fraction leaves something out."""
    return value != 1


def is_dynamic(value: object) -> bool:
    """Whether a rope type is one whose base follows the length."""
    return value == "dynamic"


def is_telechat(value: object) -> bool:
    """Whether a rope type is TeleChat3's own YaRN."""
    return value == "telechat3-yarn"


def is_four(value: object) -> bool:
    """Whether a list is that of four axes."""
    return isinstance(value, list) and len(value) == 4


SLOPE = "mlxcel, as mlx-lm, takes YaRN's own slope, 0.1", "https://github.com/lablup/mlxcel/pull/1035"
STATIC = "vLLM computed once, for the longest sequence, so that short ones are slowed too", "https://github.com/vllm-project/vllm/issues/5093"
DIVIDED = "transformers divided hidden_size among the heads all the same", "https://github.com/huggingface/transformers/pull/32495"
DOUBLED = (
    "transformers 5.23 lets the two members of a pair follow two axes, which is no rotation",
    "https://github.com/huggingface/transformers/pull/46417",
)
FIXED = (
    "vLLM reads it; transformers 5.23 doesn't, and has one layout for each model type",
    "https://github.com/huggingface/transformers/pull/46842",
)
DIFFERENCES = (
    Difference("type", *STATIC, is_dynamic),
    Difference("rope_type", *STATIC, is_dynamic),
    Difference("rope_type", *SLOPE, is_telechat),
    Difference("truncate", "some code rounds the ends of yarn's ramp all the same", "https://github.com/apache/tvm/pull/18576", is_false),
    Difference("attention_factor", "vLLM took 0.1 ln(factor) + 1 in its place", "https://github.com/vllm-project/vllm/pull/46280"),
    Difference("mscale", "ollama multiplied by it twice", "https://github.com/ollama/ollama/pull/13432"),
    Difference("long_factor", "llama.cpp chose the list by the context it had room for", "https://github.com/ggml-org/llama.cpp/issues/24823"),
    Difference("short_mscale", "mlxcel ignored it, and took the long factors always", "https://github.com/lablup/mlxcel/issues/1358"),
    Difference("partial_rotary_factor", "vLLM applied it twice", "https://github.com/vllm-project/vllm/pull/30384", is_part),
    Difference("rotary_pct", "code took the whole head in the exponent", "https://github.com/pie-project/pie/pull/603", is_part),
    Difference("rotary_dim", "transformers before 5.23 turned the whole head", "https://github.com/huggingface/transformers/pull/48486"),
    Difference("qk_rope_head_dim", "vLLM cut it by partial_rotary_factor besides", "https://github.com/vllm-project/vllm/pull/41185"),
    Difference("head_dim", *DIVIDED, told=UNREAD),
    Difference("no_rope_layers", "rknn-llm turned every layer", "https://github.com/airockchip/rknn-llm/issues/501"),
    Difference("rope_local_base_freq", "mlxcel scaled local layers too, or no layer", "https://github.com/lablup/mlxcel/issues/1340"),
    Difference("compress_ratios", "SGLang scaled layers of ratio 0 too", "https://github.com/sgl-project/sglang/pull/34788"),
    Difference("alpha", "transformers wrote the plain frequencies over it", "https://github.com/huggingface/transformers/pull/43411"),
    Difference("type", "code that reads rope_type alone finds no scaling", "https://github.com/lablup/mlxcel/issues/1355"),
    Difference("low_freq_factor", "mlx-vlm ignored the scaling in ten models", "https://github.com/Blaizzy/mlx-vlm/pull/1710"),
    Difference("attn_temperature_tuning", "TensorRT-LLM left it out", "https://github.com/NVIDIA/TensorRT-LLM/pull/3491", bool),
    Difference("dual_chunk_attention_config", "vLLM reads it, transformers doesn't", "https://github.com/vllm-project/vllm/pull/11844"),
    Difference("indexer_rope_interleave", *FIXED, told=IGNORED),
    Difference("xdrope_section", *DOUBLED),
    Difference("mrope_section", *DOUBLED, is_four),
    Difference("mrope_section", "MaxText turned the whole head by it", "https://github.com/AI-Hypercomputer/maxtext/pull/4615"),
)


def applying(reading: Reading) -> Iterator[tuple[str, Difference]]:
    """Yield the keys of a configuration on which libraries differ, each way once."""
    told = set()
    for kind in reading.kinds:
        for key, value, says in _keys(kind):
            for difference in DIFFERENCES:
                read = difference.key == key.rsplit(".", 1)[-1] and difference.told in says
                if read and difference.shows(value) and difference not in told:
                    told.add(difference)
                    yield key, difference


def _keys(kind: Kind) -> Iterator[tuple[str, object, str]]:
    yield from ((each.key, each.value, each.says) for each in kind.decisions if not each.assumed)
    yield from ((each.key, None, each.text) for each in kind.findings)
