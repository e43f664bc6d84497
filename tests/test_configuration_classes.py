"""What the classes of transformers write of themselves is read as they turn: kinds, bases, widths and frequencies of every known type."""

import importlib
import json
from typing import Any

import numpy as np
import pytest
from test_configuration import LIKE

from refimpl import configuration as config
from refimpl.configuration import Kind, Reading
from refimpl.configuration.computing import factor_of, of
from refimpl.configuration.families import family, is_known

transformers = pytest.importorskip("transformers", minversion="5.23.0")
pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
#: ln(base), up to 18, multiplies what rounds in the exponent of a float32, and rules round a few times more.
FLOAT32 = 3e-6
#: What is told of the defaults of some classes.
TOLD = {
    "blt": ("no-head-dim",),  # its parts have sizes of their own
    **dict.fromkeys(  # 21 of 42 channels turn, or 73: no number of pairs
        ("glm4_moe", "glm4v_moe", "glm4v_moe_text", "qwen3_omni_moe", "qwen3_omni_moe_text"), ("uneven-heads", "bad-width")
    ),
    **dict.fromkeys(  # the sections that the code takes don't add up to the pairs, or there are none
        ("glm4v", "glm4v_text", "hunyuan_vl", "hunyuan_vl_text", "qwen4_exp", "qwen4_exp_text"), ("no-sections",)
    ),
}
#: Classes whose module holds other frequencies, or none.
OTHERS = {
    **dict.fromkeys(("blt", "internlm3"), "no module of the whole is made of it"),
    **dict.fromkeys(
        ("minimax_m3_vl", "minimax_m3_vl_text"), "rotary_dim is what the model was trained with, and the class doesn't read it"
    ),
    **dict.fromkeys(("mistral_large4", "mistral_large4_text"), "the weights hold exponents"),
}
#: What the classes call kinds of layers that posenc calls otherwise.
NAMES = {"recurrent_gemma": {"linear_attention": "recurrent"}}


def known() -> list[str]:
    """Return the model types with a class of their own that posenc knows and that turn by tokens."""
    names = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES
    return [name for name in names if is_known(name) and family(name).turns and family(name).grid is None]


def kinds_of(reading: Reading) -> dict[int, Kind]:
    """Return the kind of every layer."""
    return {layer: kind for kind in reading.kinds for layer in kind.layers or ()}


def name_of(kind: Kind) -> str:
    return kind.name.removesuffix(" without rotation")


def modules(made: Any) -> list[Any]:
    """Return the modules that hold frequencies of the text, made of a configuration."""
    module = importlib.import_module(type(made).__module__.replace("configuration_", "modeling_"))
    classes = [each for name, each in vars(module).items() if name.endswith("RotaryEmbedding") and each.__module__ == module.__name__]
    return [each(config=made) for each in classes if "Vision" not in each.__name__ and "Audio" not in each.__name__]


def held(module: Any, kind: Kind) -> tuple[Any, float] | None:
    """Return the frequencies of a kind and its factor, if a module has them."""
    buffers = dict(module.named_buffers())
    name = next((name for name in (f"{kind.name}_inv_freq", "inv_freq") if name in buffers), None)
    if name is None:
        return None
    found = buffers[name]
    if module.config.model_type == "ernie4_5_vl_moe_text":  # it holds those of the height first
        found = module.recomposition_frequencies(found.expand(3, -1))[::2]
    return found.double().numpy(), float(getattr(module, name.replace("inv_freq", "attention_scaling"), 1.0))


def agree(reading: Reading, made: Any) -> int:
    """Compare the layers of a reading with a configuration of transformers, and every frequency; return how many kinds were compared."""
    mine, compared = kinds_of(reading), 0
    types = getattr(made, "layer_types", None)
    names = {**family(reading.model_type).labels, **NAMES.get(reading.model_type, {})}
    attends = [name_of(kind) for _, kind in sorted(mine.items())]
    if types and set(attends) != {"every layer"}:
        assert attends == [names.get(each, each) for each in types]
    elif types:
        assert len(attends) == len(types)
        assert not {"linear_attention", "conv"}.intersection(types)
    for module in modules(made):
        for kind in reading.kinds:
            if kind.rotation is None or kind.rotation.operation is None or (found := held(module, kind)) is None:
                continue
            length = kind.rotation.parameters.get("original_length")
            np.testing.assert_allclose(of(kind.rotation, length, LIKE), found[0], rtol=FLOAT32)
            assert factor_of(kind.rotation, length) == pytest.approx(found[1], abs=1e-9)
            compared += 1
    return compared


@pytest.mark.parametrize("name", known())
def test_the_defaults_of_a_class_are_read_as_it_turns_and_nothing_is_told_of_them(name: str) -> None:
    of_class = transformers.CONFIG_MAPPING[name]()
    reading = config.read(json.loads(of_class.to_json_string(use_diff=False)))

    assert [finding.name for finding in reading.every_finding] == [*TOLD.get(name, ())]
    if name not in OTHERS:
        compared = agree(reading, of_class.get_text_config())
        assert compared or not any(kind.rotation and kind.rotation.operation for kind in reading.kinds) or not modules(of_class)


SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 8}
LINEAR, OLD = {"rope_type": "linear", "factor": 4.0}, {"type": "linear", "factor": 4.0}
OF_NOMIC = ["unread-base", "unread-part", "unread-layout"]
#: What a class drops, or reads in a way of its own, and what is told of it.
DROPPED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("cohere2_moe", {"rope_theta": 5e4, "rope_scaling": LINEAR}, ["unread-mapping"]),
    ("cohere2_moe", {"rope_theta": 5e4, "first_k_dense_replace": 2}, []),
    ("cohere2_moe", {"rope_theta": 5e4, "first_k_dense_replace": 3, "prefix_dense_sliding_window_pattern": 2}, []),
    ("cohere2_moe", {"rope_theta": 5e4, "first_k_dense_replace": 1, "sliding_window_pattern": 3}, []),
    ("deepseek_ocr2_text", {"head_dim": 24, "num_key_value_heads": 4}, ["unread-width"]),
    *((name, {"rope_scaling": OLD}, ["unread-type"]) for name in ("gemma3_text", "gemma3n_text", "modernbert-decoder", "olmo3")),
    ("modernbert", {"rope_scaling": OLD}, ["unread-type"]),
    *((name, {"rope_scaling": {**OLD, **LINEAR}}, []) for name in ("gemma3_text", "t5gemma2_decoder", "olmo3")),
    ("t5gemma2_decoder", {"rope_scaling": OLD}, ["unread-type"]),
    ("minimax", {"rope_theta": 5e4, "attn_type_list": [0, 0, 0, 1] * 2}, ["unread-layers"]),
    ("mimo_v2_flash", {"rope_theta": 5e4, "swa_rope_theta": 2e4}, ["unread-base", "unread-base"]),
    ("mimo_v2_flash", {"rope_theta": 5e6, "swa_rope_theta": 1e4, "partial_rotary_factor": 0.5}, ["unread-part"]),
    ("muse_glimmer_text", {}, []),
    ("muse_spark_text", {"rope_theta": 1e6}, ["unread-base"]),
    ("nomic_bert", {"rotary_emb_base": 1e4, "rotary_emb_fraction": 0.5, "rotary_emb_interleaved": True}, OF_NOMIC),
    ("nomic_bert", {"rotary_emb_base": 1e3, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False}, []),
    ("stablelm", {"rope_pct": 0.5}, ["unread-part"]),
    ("olmo3", {"rope_theta": 1e6}, ["unread-base"]),
    ("olmo3", {"rope_theta": 5e5}, []),
    ("unlimited_ocr_text", {"head_dim": 24, "num_key_value_heads": 4}, ["unread-width"]),
    ("zaya", {"rope_theta": 1e6, "sliding_window": 64}, ["unread-base"]),
    ("zaya", {"layer_types": ["hybrid", "hybrid_sliding"] * 4, "sliding_window": 64}, []),
]


@pytest.mark.parametrize(("name", "says", "told"), DROPPED)
def test_what_a_class_drops_or_reads_in_its_own_way_is_read_as_it_turns(name: str, says: dict[str, Any], told: list[str]) -> None:
    made = transformers.CONFIG_MAPPING[name](**SIZES, **says)
    reading = config.read({"model_type": name, **SIZES, **says})

    assert [finding.name for finding in reading.every_finding] == told
    assert agree(reading, made)


@pytest.mark.parametrize("name", ["granite_swa", "granitemoe_swa"])
@pytest.mark.parametrize("bases", [[0, 1e4, 1e4, 1e4], [1e6, 1e4, 1e4, 1e4], None])
def test_granite_with_windows_turns_each_layer_by_a_base_of_its_own(name: str, bases: list[float] | None) -> None:
    says = {"rope_theta": 1e4, **({"layer_rope_theta": bases * 2} if bases else {})}
    made = transformers.CONFIG_MAPPING[name](**SIZES, **says)
    reading = config.read({"model_type": name, **SIZES, **says})
    mine = kinds_of(reading)

    assert [name_of(mine[layer]) for layer in range(8)] == made.layer_types
    assert [(found := mine[layer].rotation) and found.parameters["base"] for layer in range(8)] == [
        base or None for base in made.layer_rope_theta
    ]
    assert reading.every_finding == ()


@pytest.mark.parametrize("says", [{}, {"first_k_dense_replace": 3}, {"first_k_dense_replace": 3, "prefix_dense_sliding_window_pattern": 2}])
@pytest.mark.parametrize("window", [64, None])
def test_dense_layers_of_cohere_2_with_experts_turn_where_their_attention_does(says: dict[str, Any], window: int | None) -> None:
    code = pytest.importorskip("transformers.models.cohere2_moe.modeling_cohere2_moe")
    says = {**SIZES, **says, "rope_theta": 5e4, "sliding_window": window, "num_key_value_heads": 4}
    made = transformers.CONFIG_MAPPING["cohere2_moe"](**says)
    layers = [code.Cohere2MoeAttention(made, layer) for layer in range(8)]
    mine = kinds_of(config.read({"model_type": "cohere2_moe", **says}))

    assert [mine[layer].rotation is not None for layer in range(8)] == [
        each.sliding_window is not None or each.force_rope for each in layers
    ]


def test_molmo_2_scales_the_layers_that_it_names_alone() -> None:
    scaling = {**LINEAR, "rope_theta": 1e4}
    whole = {"model_type": "molmo2_text", **SIZES, "head_dim": 16, "rope_scaling": scaling, "rope_scaling_layers": [1, 3]}
    mine = kinds_of(config.read(whole))

    operations = [found.operation for layer in range(8) if (found := mine[layer].rotation)]
    assert operations == ["position_interpolation.frequencies" if layer in (1, 3) else "rope.frequencies" for layer in range(8)]
