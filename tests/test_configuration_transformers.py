"""Frequencies read off configurations are those of transformers' own model classes, where they are installed."""

import importlib
import json
from typing import Any

import numpy as np
import pytest
from test_configuration import LIKE

from refimpl import configuration as config
from refimpl.configuration import Kind
from refimpl.configuration.computing import factor_of, of
from refimpl.configuration.defaults import HEAD_DIM_OF, KINDS, SIZES_OF
from refimpl.configuration.families import FAMILIES, WHOLE, family, is_known
from refimpl.configuration.readers import SPELT
from tools.generate.models import published
from tools.released import RELEASED

pytestmark = pytest.mark.filterwarnings("ignore")
#: Model types that came with their own code, or whose rotation isn't a class of its own.
WITHOUT = {
    *("qwen", "kimi_k2", "mimo", "exaone4_5_text", "inkling", "inkling2_text", "glm5_next_text", "kimi_linear", "nemotron_h", "jamba"),
    *("higgs_audio_v2", "qwen2_5_vl", "telechat3"),
}
#: Their frequencies are float32: ln(base), up to 18, multiplies what rounds in the exponent (1.1e-6), and rules round a few times more.
FLOAT32 = 3e-6


def language(whole: dict[str, Any]) -> dict[str, Any]:
    section: dict[str, Any] = whole.get("thinker_config", whole)
    return section.get("text_config", section)


HAVE = [
    entry
    for entry in RELEASED
    if language(entry["configuration"])["model_type"] not in WITHOUT and family(language(entry["configuration"])["model_type"]).grid is None
]
#: Angles up to 30 round in float32 by 2^-20, and by a few roundings of their frequencies (30 * 2^-23): so far, at pairs up to 5 long.
OF_PATCHES = 5 * (2.0**-20 + 30 * 2.0**-23)
#: Encoders of images whose module takes positions.
IMAGES = {name: each.grid for name, each in FAMILIES.items() if each.grid is not None and each.grid.order and name != "llama4_vision"}


def rotary(section: dict[str, Any]) -> Any:
    """Return the module that transformers makes of a configuration for the angles of its language model."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    made = CONFIG_MAPPING[section["model_type"]](**{key: value for key, value in section.items() if key != "model_type"})
    module = importlib.import_module(type(made).__module__.replace("configuration_", "modeling_"))
    classes = {name: each for name, each in vars(module).items() if name.endswith("RotaryEmbedding") and each.__module__ == module.__name__}
    names = [name for name in classes if "Vision" not in name and "Audio" not in name]
    named = names if len(names) == 1 else [name for name in names if "Text" in name or "Thinker" in name]
    return classes[named[0]](config=made)


def theirs(module: Any, kind: Kind) -> tuple[Any, float] | None:
    """Return the frequencies and the factor that a module has for a kind of layers."""
    buffers = dict(module.named_buffers())
    name = next((name for name in (f"{kind.name}_inv_freq", "inv_freq") if name in buffers), None)
    if name is None:
        return None
    held = buffers[name]
    if module.config.model_type == "ernie4_5_vl_moe_text":  # it holds those of the height first
        held = module.recomposition_frequencies(held.expand(3, -1))[::2]
    return held.double().numpy(), float(getattr(module, name.replace("inv_freq", "attention_scaling")))


@pytest.mark.parametrize("entry", HAVE, ids=lambda entry: entry["id"])
def test_frequencies_and_factors_are_those_of_transformers(entry: dict[str, Any]) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    whole = published(entry)
    module = rotary(language(whole))
    compared = 0
    for kind in config.read(whole).kinds:
        if kind.rotation is None or kind.rotation.operation is None or (found := theirs(module, kind)) is None:
            continue
        length = kind.rotation.parameters.get("original_length")  # as long as a module is made for
        np.testing.assert_allclose(of(kind.rotation, length, LIKE), found[0], rtol=FLOAT32)
        assert factor_of(kind.rotation, length) == pytest.approx(found[1], abs=1e-9)
        compared += 1

    assert compared


@pytest.mark.parametrize("name", IMAGES)
def test_patches_of_an_image_turn_as_in_transformers(name: str) -> None:
    grid = IMAGES[name]
    assert grid is not None
    pytest.importorskip("transformers", minversion="5.23.0")
    torch, models = (pytest.importorskip(module) for module in ("torch", "conformance.adapters.transformers_configured"))
    model_type = f"{name}_model" if name in ("mlcd_vision", "sam3_vit") else name
    sizes = {"embed_dim": 48, "num_heads": 2} if name == "qwen2_vl_vision" else {"hidden_size": 48, "num_attention_heads": 2}
    whole = {"model_type": model_type, **sizes, **({"head_dim": 24} if name == "gemma4_vision" else {})}
    whole |= {"adapter_in_dim": 48} if name == "dots3_note_vision_encoder" else {}
    whole |= {"hidden_size": 52} if grid.axes == 3 else {}  # of 26 channels of a head, 24 turn
    rng = np.random.default_rng(0)
    x, places = rng.standard_normal((2, 2, 7, 26 if grid.axes == 3 else 24)).astype(np.float32), rng.integers(0, 30, (7, grid.axes))
    got = models.rotate_on_axes(torch.asarray(x), torch.asarray(places), configuration=whole, layer=0)
    np.testing.assert_allclose(got, config.rotate_on_axes(whole, x, places), atol=OF_PATCHES)


def test_roformer_turns_neighbours_by_base_10000_as_in_transformers() -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    torch, modeling = (pytest.importorskip(name) for name in ("torch", "transformers.models.roformer.modeling_roformer"))
    whole = {"model_type": "roformer", "hidden_size": 48, "num_attention_heads": 2, "num_hidden_layers": 1}
    x = np.random.default_rng(0).standard_normal((1, 2, 9, 24)).astype(np.float32)
    table = modeling.RoFormerSinusoidalPositionalEmbedding(9, 24).create_weight()[None, None]
    got, _ = modeling.RoFormerSelfAttention.apply_rotary_position_embeddings(table, torch.asarray(x), torch.asarray(x))

    np.testing.assert_allclose(got, config.rotate(whole, x, np.arange(9)), atol=OF_PATCHES)


@pytest.mark.parametrize("share", [{}, {"rope_interleave": False}], ids=["neighbours", "halves"])
def test_mistral_4_turns_neighbours_into_halves_unless_it_is_told_not_to(share: dict[str, bool]) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    torch, models = (pytest.importorskip(module) for module in ("torch", "conformance.adapters.transformers_configured"))
    rope = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 64, "mscale": 1, "mscale_all_dim": 1}
    whole = {
        "model_type": "mistral4", "hidden_size": 48, "num_attention_heads": 2, "num_hidden_layers": 1, "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 16, "v_head_dim": 24, "max_position_embeddings": 256, "rope_parameters": rope, **share,
    }  # fmt: skip
    x = np.random.default_rng(0).standard_normal((1, 2, 9, 24)).astype(np.float32)
    got = models.rotate(torch.asarray(x), torch.arange(9), configuration=whole, layer=0, length=None)

    np.testing.assert_allclose(got, config.rotate(whole, x, np.arange(9)), atol=OF_PATCHES)


def read_as_theirs(**said: Any) -> tuple[config.Reading, config.Rotation, float]:
    """Return how a Llama is read, how it turns, and transformers' factor, having compared the frequencies."""
    whole = {"model_type": "llama", "num_attention_heads": 4, **said}
    reading = config.read(whole)
    (kind,) = reading.kinds
    found = theirs(rotary(whole), kind)
    assert kind.rotation is not None
    assert found is not None
    np.testing.assert_allclose(of(kind.rotation, None, LIKE), found[0], rtol=FLOAT32)
    return reading, kind.rotation, found[1]


def test_where_the_factor_of_yarn_is_null_the_ratio_of_the_lengths_is_taken_as_transformers_does() -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    scaling = {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 4096, "rope_theta": 1e4}
    reading, rotation, factor = read_as_theirs(hidden_size=256, max_position_embeddings=24_576, rope_parameters=scaling)
    assert factor_of(rotation, None) == pytest.approx(factor, abs=1e-9)
    assert rotation.parameters["factor"] == 6.0
    assert [finding.name for finding in reading.every_finding] == ["factor-from-lengths"]


LATENT = {"qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 24}
SLIDING = {"layer_types": ["sliding_attention"] * 3 + ["full_attention"], "sliding_window": 8}
#: Decoders of text, by what a tiny configuration of each needs besides.
NEEDS: dict[str, dict[str, Any]] = {
    "bailing_hybrid": {**LATENT, "layer_group_size": 1},
    "hy_v4": LATENT,
    "axk1 axk2 longcat_flash youtu": {**LATENT, "head_dim": 8},
    "cohere2_moe flint kolibri1": SLIDING,
    "blt blt_global_transformer blt_local_decoder blt_patcher csm_depth_decoder_model deepseek_ocr2_text dia_decoder dia_encoder esmc": {},
    "gpt_neox_japanese granite_docling_text hrm_text idefics mimi molmo2_text moshi nanochat phi4_multimodal unlimited_ocr_text": {},
    "vaultgemma voxtral_realtime_text": {},
}
DECODERS = {name: needs for names, needs in NEEDS.items() for name in names.split()}
SAID = {"rope_parameters": {"rope_type": "default", "rope_theta": 777.0}, "head_dim": 16}


@pytest.mark.parametrize("says", [SAID, {}], ids=["said", "default"])
@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_turns_as_in_transformers_by_what_is_said_and_by_default(name: str, says: dict[str, Any]) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    torch, models = (pytest.importorskip(module) for module in ("torch", "conformance.adapters.transformers_configured"))
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 4, "max_position_embeddings": 4096}
    whole = {"model_type": name, **sizes, "vocab_size": 64, "intermediate_size": 64, **says, **DECODERS[name]}
    for layer in (0, 3):
        reading = config.read(whole)
        kind = config.chosen(reading, layer)
        head_dim = kind.rotation.head_dim if kind.rotation else kind.head_dim
        assert head_dim is not None
        x = np.random.default_rng(0).standard_normal((1, 2, 9, head_dim)).astype(np.float32)
        got = models.rotate(torch.asarray(x), torch.arange(9), configuration=whole, layer=layer, length=None)
        np.testing.assert_allclose(got, config.rotate(whole, x, np.arange(9), layer=layer), atol=OF_PATCHES)
        assert not [finding for finding in reading.every_finding if finding.level == "error" or finding.name == "unknown-model-type"]


def spelt(name: str) -> str:
    """Return the model type of the part of a model that reads text, as transformers spells it."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    parts = {"t5gemma": "t5_gemma_module"}
    spellings = (parts.get(name, f"{name}_text"), f"{name}_text_model", f"{name}_model", name, name.replace("_", "-"))
    return next(each for each in spellings if each in CONFIG_MAPPING_NAMES)


#: Of the types that turn whole heads, those that need sections of axes, or a part of their own, and those that nest the mapping alone.
UNTRIED = {"cosmos3_edge", "ernie4_5_moe_vl", "ernie4_5_vl_moe", "qwen2_5_omni"}
NESTING = {"embedding_gemma2", "gemma4", "gemma4_unified", "lfm3"}


@pytest.mark.parametrize("name", sorted(WHOLE - UNTRIED - NESTING))
def test_a_type_that_turns_whole_heads_does_so_in_transformers_whatever_a_fraction_says(name: str) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    models = pytest.importorskip("conformance.adapters.transformers_configured")
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 4, "max_position_embeddings": 4096}
    width = {} if name == "falcon" else {"head_dim": 16}
    width |= {"attention_head_dim": 16, "use_mem_rope": True, "layers_block_type": ["hybrid"] * 4} if name == "zamba2" else {}
    sectioned = {"mrope_section": [2, 2, 2, 2] if name == "hunyuan_vl" else [4, 2, 2]} if name.endswith("_vl") else {}
    whole = {"model_type": spelt(name), **sizes, **width, "vocab_size": 64, "rope_scaling": {"rope_type": "default"} | sectioned}
    part = {**whole, "partial_rotary_factor": 0.5}
    assert [len(models.frequencies(configuration=each, layer=2, length=None)) for each in (whole, part)] == [8, 8]
    assert "unread-part" in {finding.name for finding in config.read(part).every_finding}


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("name", sorted(each for each in WHOLE if family(each).nested))
def test_a_part_of_a_head_is_not_read_of_kinds_that_turn_whole_and_is_refused_beside_a_scaling(name: str, *, inside: bool) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    models = pytest.importorskip("conformance.adapters.transformers_configured")
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 4, "max_position_embeddings": 4096}
    types = {"layer_types": ["full_attention", "sliding_attention"] * 2, "head_dim": 16, "global_head_dim": 16, "vocab_size": 64}
    part, linear = {"partial_rotary_factor": 0.5}, {"rope_type": "linear", "factor": 2.0}
    plain, scaled = ({"rope_theta": 1e4, **(part if inside else {}), **each} for each in ({"rope_type": "default"}, linear))
    flat = {} if inside else part
    for full, told in ((plain, {"unread-part"}), (scaled, {"unread-part", "refused-part"} if inside else {"refused-part"})):
        nested = {"full_attention": dict(full), "sliding_attention": dict(plain)}
        whole = {"model_type": spelt(name), **sizes, **types, **flat, "rope_parameters": nested}
        reading = config.read(whole)
        widths = [len(models.frequencies(configuration=whole, layer=layer, length=None)) for layer in (0, 1)]
        assert {finding.name for finding in reading.every_finding if "-part" in finding.name} == told
        assert widths == [len(of(kind.rotation, None, LIKE)) for kind in reading.kinds if kind.rotation]


@pytest.mark.parametrize(("projection", "heads"), [(768, 12), (2048, 16), (512, 4)])
def test_clvp_turns_as_many_channels_as_in_transformers(projection: int, heads: int) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    clvp = pytest.importorskip("transformers.models.clvp.modeling_clvp")
    whole = {"hidden_size": 64 * heads, "projection_dim": projection, "num_attention_heads": heads, "num_hidden_layers": 2}
    (kind,) = config.read({"model_type": "clvp_encoder", **whole}).kinds
    assert kind.rotation is not None

    module = clvp.ClvpRotaryPositionalEmbedding(clvp.ClvpEncoderConfig(**whole))

    np.testing.assert_allclose(of(kind.rotation, None, LIKE), module.inv_freq, rtol=FLOAT32)
    assert (kind.rotation.head_dim, kind.rotation.channels) == (64, range(2 * len(module.inv_freq)))


@pytest.mark.parametrize("model_type", ["gptj", "codegen"])
def test_a_base_that_the_code_of_a_model_type_has_in_it_is_taken_whatever_a_key_says(model_type: str) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    code = pytest.importorskip(f"transformers.models.{model_type}.modeling_{model_type}")
    reading = config.read({"model_type": model_type, "n_embd": 64, "n_head": 4, "n_layer": 1, "rotary_dim": 16, "rope_theta": 5_000})
    (kind,) = reading.kinds
    assert kind.rotation is not None

    sines = code.create_sinusoidal_positions(2, 16)[1, :8]

    np.testing.assert_allclose(np.sin(of(kind.rotation, None, LIKE)), sines, rtol=FLOAT32)
    assert [(finding.name, finding.key) for finding in reading.every_finding] == [("unread-base", "rope_theta")]


@pytest.mark.parametrize("model_type", ["clvp_encoder", "roformer"])
def test_a_base_that_a_model_type_does_not_read_is_warned_of(model_type: str) -> None:
    sizes = {"hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 2}
    reading, usual = (config.read({"model_type": model_type, **sizes, **given}) for given in ({"rope_theta": 5_000}, {}))

    assert [finding.name for finding in reading.every_finding if finding.key == "rope_theta"] == ["unread-base"]
    assert [kind.rotation for kind in reading.kinds] == [kind.rotation for kind in usual.kinds]


def test_clvp_turns_nothing_where_it_is_switched_off_and_a_projection_that_fits_no_head_is_an_error() -> None:
    whole = {"model_type": "clvp_encoder", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 2}
    (kind,) = config.read({**whole, "use_rotary_embedding": False}).kinds
    (finding,) = config.read({**whole, "projection_dim": 1608}).every_finding

    assert kind.rotation is None
    assert (finding.name, finding.key) == ("bad-width", "projection_dim")


def test_llama3_with_equal_ends_blends_no_pair_as_in_transformers() -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    ends = {"low_freq_factor": 1.0, "high_freq_factor": 1.0, "original_max_position_embeddings": 8_192}
    scaling = {"rope_type": "llama3", "factor": 16.0, **ends, "rope_theta": 5e5}
    reading, *_ = read_as_theirs(hidden_size=512, max_position_embeddings=131_072, rope_parameters=scaling)
    assert [finding.name for finding in reading.every_finding] == ["no-band"]


@pytest.mark.parametrize("name", sorted(SIZES_OF))
def test_a_part_that_says_no_size_has_those_of_its_class_in_transformers(name: str) -> None:
    transformers = pytest.importorskip("transformers", minversion="5.23.0")
    of_class = transformers.CONFIG_MAPPING[name]()
    (kind,) = config.read({"model_type": "llava_next", "text_config": {"model_type": name, "vocab_size": 64}}).kinds

    assert SIZES_OF[name] == (of_class.hidden_size, of_class.num_attention_heads)
    assert kind.rotation is not None
    assert kind.rotation.head_dim == of_class.hidden_size // of_class.num_attention_heads


@pytest.mark.parametrize("name", sorted({*HEAD_DIM_OF} - {"jetmoe"}))  # whose class takes null, and whose attention raises an error
def test_a_null_width_is_warned_of_where_the_class_in_transformers_refuses_it(name: str) -> None:
    transformers, errors = pytest.importorskip("transformers", minversion="5.23.0"), pytest.importorskip("huggingface_hub.errors")
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4}
    try:
        transformers.CONFIG_MAPPING[spelt(name)](**sizes, head_dim=None)
    except errors.StrictDataclassFieldValidationError:
        refused = True
    else:
        refused = False
    found = config.read({"model_type": name, **sizes, "head_dim": None, "rope_theta": 1e4}).every_finding

    assert ("null-width" in {finding.name for finding in found}) is refused


@pytest.mark.parametrize("name", ["axk1", "deepseek_v2", "deepseek_v3", "glm4_moe_lite", "glm_moe_dsa", "longcat_flash", "youtu"])
def test_which_types_take_head_dim_for_the_width_that_turns_is_as_in_transformers(name: str) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    models = pytest.importorskip("conformance.adapters.transformers_configured")
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 4}
    whole = {"model_type": name, **sizes, **LATENT, "vocab_size": 64, "intermediate_size": 64, "head_dim": 24, "rope_theta": 1e4}
    told = {finding.name for finding in config.read(whole).every_finding}

    wide = len(models.frequencies(configuration=whole, layer=0, length=None)) == 12

    assert ("taken-width" in told) is wide


def sizes(whole: dict[str, Any]) -> dict[str, Any]:
    """Return the sizes by which a configuration is read, under the names that most configurations have for them."""
    reading = config.read(whole)
    return {"num_hidden_layers": sum(len(kind.layers or ()) for kind in reading.kinds), "max_position_embeddings": reading.longest}


def test_keys_that_a_class_of_transformers_spells_in_its_own_way_are_read() -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

    read = ("num_hidden_layers", "max_position_embeddings")
    compared = set()
    for name in (each for each in CONFIG_MAPPING_NAMES if is_known(each) and family(each).turns):
        mapped = {common: own for common, own in CONFIG_MAPPING[name].attribute_map.items() if common in read}
        if mapped:
            whole = json.loads(CONFIG_MAPPING[name]().to_json_string(use_diff=False))
            assert {common: sizes(whole)[common] for common in mapped} == {common: whole[own] for common, own in mapped.items()}, name
            compared.add(name)

    assert {"bailing_hybrid", "codegen", "dbrx", "gptj", "moonshine", "qwen2_vl_vision"} <= compared


@pytest.mark.parametrize("name", ["moonshine", "seamless_m4t"])
def test_heads_that_another_key_counts_are_as_wide_as_in_transformers(name: str) -> None:
    heads = next(own for own, common in SPELT[name].items() if common == "num_attention_heads")
    transformers = pytest.importorskip("transformers", minversion="5.23.0")
    code = pytest.importorskip(f"transformers.models.{name}.modeling_{name}")
    said = {"hidden_size": 96, heads: 6, "max_position_embeddings": 64}
    of_code = {"moonshine": "MoonshineRotaryEmbedding", "seamless_m4t": "SeamlessM4TConformerRotaryPositionalEmbedding"}[name]
    module = getattr(code, of_code)(transformers.CONFIG_MAPPING[name](**said))
    (kind,) = config.read({"model_type": name, **said, "position_embeddings_type": "rotary"}).kinds

    assert kind.rotation is not None
    assert (kind.rotation.head_dim, len(kind.rotation.channels)) == (16, 2 * len(module.inv_freq))
    np.testing.assert_allclose(of(kind.rotation, None, LIKE), module.inv_freq, rtol=FLOAT32)


def test_bamba_turns_half_of_a_head_whatever_a_fraction_says_as_in_transformers() -> None:
    transformers = pytest.importorskip("transformers", minversion="5.23.0")
    code = pytest.importorskip("transformers.models.bamba.modeling_bamba")
    sizes_of = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "mamba_n_heads": 4, "attn_layer_indices": [1]}
    for beside, told in (({}, []), ({"partial_rotary_factor": 0.5}, []), ({"partial_rotary_factor": 1.0}, ["unread-part"])):
        reading = config.read({"model_type": "bamba", **sizes_of, **beside})
        rotation = reading.kinds[-1].rotation
        assert rotation is not None
        inverse = code.BambaRotaryEmbedding(transformers.BambaConfig(**sizes_of, **beside)).inv_freq
        np.testing.assert_allclose(of(rotation, None, LIKE), inverse, rtol=FLOAT32)
        assert [finding.name for finding in reading.every_finding] == told


def test_recurrent_gemma_raises_at_a_scaling_and_lfm2_drops_theta_in_transformers() -> None:
    transformers = pytest.importorskip("transformers", minversion="5.23.0")
    code = pytest.importorskip("transformers.models.recurrent_gemma.modeling_recurrent_gemma")
    scaled = transformers.RecurrentGemmaConfig(rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4})
    with pytest.raises(ValueError, match="does not support RoPE types"):
        code.RecurrentGemmaRotaryEmbedding(scaled)
    assert transformers.Lfm2Config(theta=5e5).rope_parameters["rope_theta"] == 1e6


def by_layer(reading: config.Reading) -> list[str]:
    """Return the kind of every layer, under transformers' name for it."""
    names = {layer: kind.name.removesuffix(" without rotation") for kind in reading.kinds for layer in kind.layers or ()}
    return [{"recurrent": "linear_attention"}.get(names[layer], names[layer]) for layer in sorted(names)]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_where_no_key_says_them_the_kinds_of_layers_are_those_of_the_class_in_transformers(name: str) -> None:
    transformers = pytest.importorskip("transformers", minversion="5.23.0")
    for layers in (3, 12, 14):
        of_class = transformers.CONFIG_MAPPING[spelt(name)](num_hidden_layers=layers)
        reading = config.read({"model_type": spelt(name), "num_hidden_layers": layers, "hidden_size": 64, "num_attention_heads": 4})
        labels = family(name).labels
        assert by_layer(reading) == [labels.get(kind, kind) for kind in of_class.layer_types]
        assert "no-layer-types" not in {finding.name for finding in reading.every_finding}


SWITCHED = {"use_dsa": False}, {"use_sliding_window": False}


@pytest.mark.parametrize("says", [{}, *SWITCHED, {"swa_qk_nope_head_dim": 128}, {"swa_head_dim": 224}])
def test_dots3_note_turns_by_its_class_in_transformers_where_no_key_says_how(says: dict[str, Any]) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    whole = {"model_type": "dots3_note_text", "num_hidden_layers": 6, **says}
    module = rotary(whole)
    reading = config.read(whole)
    layers = {kind.name: module.config.per_layer_config[kind.layers[0]] for kind in reading.kinds if kind.layers}
    for kind in reading.kinds:
        assert kind.rotation is not None
        found = theirs(module, kind)
        assert found is not None
        np.testing.assert_allclose(of(kind.rotation, None, LIKE), found[0], rtol=FLOAT32)
        still, turning = layers[kind.name].qk_nope_head_dim, layers[kind.name].qk_rope_head_dim
        assert (kind.rotation.head_dim, kind.rotation.channels) == (still + turning, range(still, still + turning))
    assert by_layer(reading) == module.config.layer_types
    assert reading.every_finding == ()


def test_dots3_note_is_read_as_its_class_writes_it_layer_by_layer() -> None:
    transformers = pytest.importorskip("transformers", minversion="5.23.0")
    of_class = transformers.CONFIG_MAPPING["dots3_note_text"](num_hidden_layers=6)
    reading = config.read(json.loads(of_class.to_json_string(use_diff=False)))

    assert [(kind.name, kind.rotation and kind.rotation.head_dim) for kind in reading.kinds] == [
        ("indexed_attention", 192),
        ("sliding_attention", 256),
    ]
    assert reading.every_finding == ()


@pytest.mark.parametrize("name", ["deepseek_v4", "mimo_v2_flash", "minimax", "qwen3_next"])
def test_bases_and_widths_of_kinds_that_no_key_says_are_those_of_the_class_in_transformers(name: str) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    whole = {"model_type": name, "num_hidden_layers": 4, "hidden_size": 4096, "num_attention_heads": 32}
    module = rotary(whole)
    turning = [kind for kind in config.read(whole).kinds if kind.rotation is not None]
    for kind in turning:
        assert kind.rotation is not None
        found = theirs(module, kind)
        assert found is not None
        np.testing.assert_allclose(of(kind.rotation, None, LIKE), found[0], rtol=FLOAT32)
    assert turning


@pytest.mark.parametrize(
    ("name", "says", "told"),
    [
        ("phi3", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "not-default"),
        ("phi4_multimodal", {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "not-default"),
        ("falcon", {"head_dim": 48}, "refused-key"),
        ("jamba", {"layer_types": ["full_attention"] * 32}, "refused-key"),
    ],
)
def test_what_the_class_of_a_type_raises_an_error_at_is_told(name: str, says: dict[str, Any], told: str) -> None:
    auto = pytest.importorskip("transformers.models.auto.configuration_auto")
    sizes = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 32}
    auto.CONFIG_MAPPING[name](**sizes)
    refusal = pytest.importorskip("huggingface_hub.errors").StrictDataclassError
    with pytest.raises((refusal, AttributeError)):
        auto.CONFIG_MAPPING[name](**sizes, **says)
    assert told in [finding.name for finding in config.read({"model_type": name, **sizes, **says}).every_finding]
