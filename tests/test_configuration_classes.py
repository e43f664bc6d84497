"""What the classes of transformers write of themselves is read as they turn: kinds, bases, widths and frequencies of every known type."""

import contextlib
import copy
import importlib
import json
from typing import Any

import numpy as np
import pytest
from test_configuration import LIKE

from refimpl import configuration as config
from refimpl.configuration import Kind, Reading, spellings
from refimpl.configuration.computing import at_zero, factor_of, of
from refimpl.configuration.defaults import NEEDING_WIDTH, ROUNDING, UNEVEN
from refimpl.configuration.families import family, is_known, plain_name

transformers = pytest.importorskip("transformers", minversion="5.23.0")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
#: ln(base), up to 18, multiplies what rounds in the exponent of a float32, and rules round a few times more.
FLOAT32 = 3e-6
#: What is told of the defaults of some classes.
TOLD = {
    "blt": ("no-head-dim",),  # its parts have sizes of their own
    **dict.fromkeys(("hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl", "hunyuan_vl_text", "ministral"), ("asked-key",)),  # it raises
    "glm4_moe": ("uneven-heads", "no-odd-width"),  # of 42 channels of a head 22 turn, by frequencies of a width of 21
    **dict.fromkeys(("glm4v_moe", "glm4v_moe_text"), ("uneven-heads", "no-odd-width", "no-sections")),  # its code raises at such sections
    **dict.fromkeys(("qwen3_omni_moe", "qwen3_omni_moe_text"), ("uneven-heads", "bad-width")),  # heads have 73 channels: its code raises
    **dict.fromkeys(("glm4v", "glm4v_text"), ("no-sections",)),  # the sections of the class don't add up to the pairs, and its code raises
}
#: Classes that no module of frequencies is made of: one whose parts have each their own, one that came without code.
WITHOUT = ("blt", "internlm3")
#: Keys that classes write and don't read: what a model was trained with.
TRAINED = {"minimax_m3_vl": "rotary_dim", "minimax_m3_vl_text": "rotary_dim"}
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
            np.testing.assert_allclose(of(kind.rotation, length, LIKE, at_zero(kind.rotation, LIKE)), found[0], rtol=FLOAT32)
            assert factor_of(kind.rotation, length) == pytest.approx(found[1], abs=1e-9)
            compared += 1
    return compared


def without(said: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a configuration without a key, wherever it stands."""
    return {name: without(value, key) if isinstance(value, dict) else value for name, value in said.items() if name != key}


@pytest.mark.parametrize("name", known())
def test_the_defaults_of_a_class_are_read_as_it_turns_and_nothing_is_told_of_them(name: str) -> None:
    of_class = transformers.CONFIG_MAPPING[name]()
    said = json.loads(of_class.to_json_string(use_diff=False))
    reading = config.read(said)

    assert [finding.name for finding in reading.every_finding] == [*TOLD.get(name, ())]
    if name not in WITHOUT:
        compared = agree(config.read(without(said, TRAINED.get(name, ""))), of_class.get_text_config())
        assert compared or not any(kind.rotation and kind.rotation.operation for kind in reading.kinds) or not modules(of_class)


def resting() -> list[str]:
    """Return the model types with a class that lists kinds of layers, and none that turns."""
    names = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES
    return [name for name in names if is_known(name) and not family(name).turns and name != "resnet"]  # those are no layers of attention


def attending(reading: Reading) -> list[bool]:
    """Return which layers have attention, layer by layer."""
    mine = kinds_of(reading)
    return [mine[layer].rests or mine[layer].rotation is not None for layer in sorted(mine)]


#: Kinds of layers of transformers that have no attention.
NO_ATTENTION = {"conv", "linear_attention", "mlp", "moe"}


@pytest.mark.parametrize("dropped", [(), spellings.LAYER_TYPES])
@pytest.mark.parametrize("name", resting())
def test_which_layers_have_attention_where_none_turns_is_as_in_the_class(name: str, dropped: tuple[str, ...]) -> None:
    of_class = transformers.CONFIG_MAPPING[name]().get_text_config()
    types = getattr(of_class, "layer_types", None)
    said = json.loads(of_class.to_json_string(use_diff=False))
    if types and (not dropped or name != "nemotron_h"):  # of which nothing else says what its layers are
        reading = config.read({key: value for key, value in said.items() if key not in dropped})
        assert attending(reading) == [each not in NO_ATTENTION for each in types]


#: What says which layers have attention in types whose layers don't turn, of a model with 13 of them.
SAID: list[tuple[str, dict[str, Any]]] = [
    ("glm5_next_text", {"layer_types": ["linear_attention", "full_attention"] * 6 + ["linear_attention"]}),
    ("jamba", {"attn_layer_period": 4, "attn_layer_offset": 0}),
    ("jamba", {"attn_layer_offset": 7}),
    ("kimi_linear", {"linear_attn_config": {"full_attn_layers": [4, 8, 13], "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 12]}}),
    ("kimi_linear", {"linear_attn_config": {"full_attn_layers": [4, 8, 13]}}),
    ("nemotron_h", {"hybrid_override_pattern": "M-M*EM-M*-M-*"}),
    ("zamba", {"attn_layer_period": 4, "attn_layer_offset": 1}),
]


@pytest.mark.parametrize(("name", "says"), SAID)
def test_what_a_class_reads_says_which_layers_have_attention(name: str, says: dict[str, Any]) -> None:
    whole = {"num_hidden_layers": 13, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, **says}
    made = transformers.CONFIG_MAPPING[name](**json.loads(json.dumps(whole)))
    reading = config.read({"model_type": name, **whole})

    assert attending(reading) == [each not in NO_ATTENTION for each in made.layer_types]
    assert reading.every_finding == ()


@pytest.mark.parametrize("name", ["diffusion_gemma_text", "embedding_gemma2_text", "gemma4_text", "gemma4_unified_text"])
def test_the_last_layer_of_gemma_4_has_full_attention_whatever_is_said(name: str) -> None:
    says = {**SIZES, "layer_types": ["full_attention", "sliding_attention"] * 4}
    made = transformers.CONFIG_MAPPING[name](**json.loads(json.dumps(says)))
    reading = config.read({"model_type": name, **says})

    assert [(finding.name, finding.key) for finding in reading.every_finding] == [("forced-kind", "layer_types")]
    assert agree(reading, made) == 2


SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 8}
LINEAR = {"rope_type": "linear", "factor": 4.0}
SCALINGS = {
    "linear": LINEAR,
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
}
#: What says that transformers raises an error.
RAISING = {
    *("asked-key", "bad-width", "no-head-dim", "not-default", "null-base", "null-width", "refused-key", "refused-mapping", "refused-null"),
    *("null-type", "refused-type", "refused-value"),
}
#: Types whose code reads no mapping, so that only the class checks it; those without code of their own, those that by default don't turn,
#: and two whose attention raises.
UNCHECKED = (
    *("clvp_encoder", "wav2vec2-bert", "wav2vec2-conformer", "granite4_vision_text", "internlm3", "bamba", "granitemoehybrid", "zamba2"),
    *("ministral3", "mistral4"),
)


def flat() -> list[str]:
    """Return the model types whose class has its keys at the top."""
    names = (name for name in known() if name not in UNCHECKED and plain_name(name) not in UNEVEN)
    return [name for name in names if (made := transformers.CONFIG_MAPPING[name]()).get_text_config() is made]


def breaks(name: str, says: dict[str, Any]) -> bool:
    """Whether attention raises an error where the width of a head is null; of JetMoE only where the key is given."""
    needing = plain_name(name) in NEEDING_WIDTH or (name == "jetmoe" and "head_dim" in says)
    return needing and says.get("head_dim") is None


def raises(name: str, says: dict[str, Any]) -> bool:
    """Whether transformers raises an error where a configuration is read, or its frequencies or attention are made."""
    if breaks(name, says):
        return True
    with contextlib.suppress(Exception):
        modules(transformers.CONFIG_MAPPING[name](**copy.deepcopy(says)))
        return False
    return True


@pytest.mark.parametrize("beside", [{}, {"head_dim": None}])
@pytest.mark.parametrize("rule", SCALINGS)
@pytest.mark.parametrize("name", flat())
def test_a_flat_scaling_is_told_of_where_transformers_raises_an_error_at_it(name: str, rule: str, beside: dict[str, Any]) -> None:
    said = transformers.CONFIG_MAPPING[name]().to_dict()
    usual = {key: value for key, value in said.items() if value is not None and key not in ("model_type", "rope_parameters")}
    says = {**usual, "rope_scaling": SCALINGS[rule], **beside}
    reading = config.read({"model_type": name, **says})
    raised = raises(name, says)

    assert any(finding.name in RAISING for finding in reading.every_finding) is raised
    if not raised and not beside and name not in TRAINED:
        agree(reading, transformers.CONFIG_MAPPING[name](**copy.deepcopy(says)))


TINY = {
    **SIZES,
    "num_hidden_layers": 1,
    "num_key_value_heads": 4,
    "vocab_size": 16,
    "intermediate_size": 8,
    "max_position_embeddings": 4096,
}
LATENT = {"qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16, "q_lora_rank": 8, "kv_lora_rank": 8}
#: The smallest models whose attention reads more of a mapping than their module does.
WHOLE: dict[str, dict[str, Any]] = {
    "ministral3": {**TINY, "head_dim": 16},
    "mistral4": {**TINY, **LATENT, "n_routed_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 8},
}
GROWS = {"llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 1024}


@pytest.mark.parametrize("beside", [{}, GROWS, {"llama_4_scaling_beta": 0.1}])
@pytest.mark.parametrize("scaling", [{"rope_type": "default"}, *SCALINGS.values()])
@pytest.mark.parametrize("key", spellings.ROPE)
@pytest.mark.parametrize("name", WHOLE)
def test_a_mapping_is_told_of_at_which_attention_raises_an_error(
    name: str, key: str, scaling: dict[str, Any], beside: dict[str, Any]
) -> None:
    says = {**WHOLE[name], key: {"rope_theta": 1e4, **scaling, **beside}}
    told = {finding.name for finding in config.read({"model_type": name, **says}).every_finding}
    model = transformers.AutoModel.from_config(transformers.CONFIG_MAPPING[name](**copy.deepcopy(says)))
    raised = True
    with contextlib.suppress(RuntimeError, TypeError):
        model(torch.zeros(1, 3, dtype=torch.long))
        raised = False

    assert bool(RAISING & told) is raised, told


@pytest.mark.parametrize("base", [{}, {"rope_theta": 1e6}])
def test_beside_a_flat_mapping_all_layers_of_dots3_note_have_one_base(base: dict[str, float]) -> None:
    says = {"num_hidden_layers": 6, "max_position_embeddings": 1024, "rope_scaling": LINEAR, "swa_rope_theta": 2e4, **base}
    reading = config.read({"model_type": "dots3_note_text", **says})

    assert [finding.name for finding in reading.every_finding] == ["unread-base"]
    assert agree(reading, transformers.CONFIG_MAPPING["dots3_note_text"](**copy.deepcopy(says))) == 2


@pytest.mark.parametrize("key", spellings.ROPE)
@pytest.mark.parametrize("scaling", SCALINGS.values())
def test_deepseek_v4_reads_no_base_and_no_fraction_within_a_flat_mapping(key: str, scaling: dict[str, Any]) -> None:
    layers = {
        **SIZES,
        "head_dim": 32,
        "max_position_embeddings": 1024,
        "layer_types": ["sliding_attention", "heavily_compressed_attention"] * 4,
    }
    says = {**layers, key: {**scaling, "rope_theta": 7e4, "partial_rotary_factor": 0.5}}
    reading = config.read({"model_type": "deepseek_v4", **says})

    assert [finding.name for finding in reading.every_finding] == ["unread-base", "unread-part"]
    assert agree(reading, transformers.CONFIG_MAPPING["deepseek_v4"](**copy.deepcopy(says))) == 2


OLD = {"type": "linear", "factor": 4.0}
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


STACKED: list[tuple[dict[str, Any], int]] = [
    ({}, 64), ({"H_cycles": 1}, 32), ({"L_cycles": 1}, 32), ({"num_layers_per_stack": 2}, 8),
]  # fmt: skip


@pytest.mark.parametrize(("says", "layers"), STACKED)
def test_layers_of_hrm_are_those_of_every_run_of_a_stack(says: dict[str, Any], layers: int) -> None:
    made = transformers.CONFIG_MAPPING["hrm_text"](**SIZES, **says)
    reading = config.read({"model_type": "hrm_text", **SIZES, **says})

    assert [len(kind.layers or ()) for kind in reading.kinds] == [made.num_hidden_layers] == [layers]
    assert agree(reading, made)


@pytest.mark.parametrize("name", sorted(ROUNDING))
def test_of_an_odd_part_of_a_head_one_channel_more_turns_by_frequencies_of_the_odd_width(name: str) -> None:
    name = {"glm4v_moe": "glm4v_moe_text"}.get(name, name)
    says = {**SIZES, "hidden_size": 168, "head_dim": 42, "partial_rotary_factor": 0.5, "rope_theta": 1e4}
    (module,) = modules(transformers.CONFIG_MAPPING[name](**says))
    reading = config.read({"model_type": name, **says})
    rotation = reading.kinds[-1].rotation
    code = importlib.import_module(type(module).__module__)
    x, tables = torch.rand(1, 1, 1, 42), torch.zeros(1, 1, 2 * len(module.inv_freq))

    np.testing.assert_allclose(module.inv_freq, 1e4 ** (-2 * np.arange(11) / 21), rtol=FLOAT32)
    turned = code.apply_rotary_pos_emb(x, x, tables, tables)[0]
    assert rotation is not None
    assert rotation.missing
    assert torch.nonzero(turned[0, 0, 0] == 0).flatten().tolist() == [*rotation.channels]
    assert "no-odd-width" in {finding.name for finding in reading.every_finding}


def test_t5gemma_is_read_by_its_decoder_and_its_encoder_may_be_another() -> None:
    parts = {"encoder": {**SIZES, "head_dim": 16, "rope_theta": 5e5}, "decoder": {**SIZES, "head_dim": 32, "num_hidden_layers": 6}}
    made = transformers.CONFIG_MAPPING["t5gemma"](**copy.deepcopy(parts))
    whole = config.read({"model_type": "t5gemma", **parts})
    for reading, of_class in ((whole, made.decoder), (config.read({"model_type": "t5_gemma_module", **parts["encoder"]}), made.encoder)):
        assert agree(reading, of_class) == 2
        assert reading.every_finding == ()
    told = "it isn't read, and differs from decoder in head_dim, num_hidden_layers: explain it as a file of its own"
    assert all(told in [decision.says for decision in kind.decisions] for kind in whole.kinds)


@pytest.mark.parametrize(("name", "head_dim"), [("qwen4_exp_text", 256), ("qwen3_vl_text", 64), ("qwen3_5_text", 64)])
def test_axes_in_turns_end_with_the_pairs_that_turn(name: str, head_dim: int) -> None:
    says = {**SIZES, "head_dim": head_dim}
    made = transformers.CONFIG_MAPPING[name](**says)
    (module,) = modules(made)
    (kind,) = [kind for kind in config.read({"model_type": name, **says}).kinds if kind.rotation is not None]
    assert kind.rotation is not None
    places = np.array([[3, 5, 7], [40, 2, 0]])
    x = np.ones((1, 1, 2, kind.rotation.head_dim), np.float32)
    cos, sin = (each[0].numpy() for each in module(torch.zeros(1), torch.asarray(places.T[:, None])))
    half = cos.shape[-1] // 2
    turned = np.concatenate([cos[:, :half] - sin[:, :half], cos[:, half:] + sin[:, half:]], axis=-1)

    got = config.rotate_on_axes({"model_type": name, **says}, x, places, layer=(kind.layers or (0,))[0])
    rounded = 2 * places.max() * 2.0**-24  # a frequency and an angle of float32
    np.testing.assert_allclose(got[0, 0, :, : 2 * half], turned, rtol=0, atol=2 * rounded)  # a cosine and a sine


def test_molmo_2_scales_the_layers_that_it_names_alone() -> None:
    scaling = {**LINEAR, "rope_theta": 1e4}
    whole = {"model_type": "molmo2_text", **SIZES, "head_dim": 16, "rope_scaling": scaling, "rope_scaling_layers": [1, 3]}
    mine = kinds_of(config.read(whole))

    operations = [found.operation for layer in range(8) if (found := mine[layer].rotation)]
    assert operations == ["position_interpolation.frequencies" if layer in (1, 3) else "rope.frequencies" for layer in range(8)]
