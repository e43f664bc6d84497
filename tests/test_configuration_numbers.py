"""Numbers that come out of a configuration, old spellings, and what no configuration can do to the reader."""

import contextlib
import copy
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_configuration import BROKEN, LIKE

from refimpl import configuration as config
from refimpl.configuration import words
from refimpl.errors import SpecificationError
from refimpl.schemes import axial_rope, lerope, llama3, longrope, mrope, ntk_aware, partial_rope, proportional_rope, rope, yarn
from tools.generate.models import published
from tools.released import RELEASED

LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 500000.0}
PHI3 = {"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 10000.0}
LENGTHS = {"max_position_embeddings": 131072, "original_max_position_embeddings": 4096}
SHORT, LONG = [1.0 + pair / 16 for pair in range(8)], [2.0 + pair for pair in range(8)]
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}
POSITIONS = np.asarray([0, 1, 5, 4097])


def features(width: int) -> Any:
    return np.random.default_rng(3).standard_normal((1, 2, len(POSITIONS), width))


OLD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "GPT-NeoX": (
        {"model_type": "gpt_neox", "hidden_size": 6144, "num_attention_heads": 64, "rotary_emb_base": 10000, "rotary_pct": 0.25},
        {"head_dim": 96, "turning": 24, "base": 1e4, "layout": "half"},
    ),
    "GPT-J": (
        {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28, "rotary_dim": 64},
        {"head_dim": 256, "turning": 64, "base": 1e4, "layout": "interleaved"},
    ),
    "Falcon": (
        {"model_type": "falcon", "alibi": False, "hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32},
        {"head_dim": 64, "turning": 64, "base": 1e4, "layout": "half"},
    ),
    "ChatGLM3 for 32768 positions": (
        {"model_type": "chatglm", "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128, "num_layers": 28, "rope_ratio": 50},
        {"head_dim": 128, "turning": 64, "base": 5e5, "layout": "interleaved"},
    ),
    "StableLM's first": (
        {"model_type": "stablelm", "hidden_size": 2560, "num_attention_heads": 32, "num_hidden_layers": 32, "rope_pct": 0.25},
        {"head_dim": 80, "turning": 20, "base": 1e4, "layout": "half"},
    ),
    "OpenELM's": (
        {"model_type": "openelm", "head_dim": 64, "num_transformer_layers": 16, "rope_freq_constant": 10_000, "rope_max_length": 4096},
        {"head_dim": 64, "turning": 64, "base": 1e4, "layout": "half"},
    ),
    "Phi-3-small's": (
        {"model_type": "phi3small", "head_dim": 128, "num_hidden_layers": 32, "rope_embedding_base": 1_000_000, "rope_position_scale": 1.0},
        {"head_dim": 128, "turning": 128, "base": 1e6, "layout": "half"},
    ),
    "InternLM's first": (
        {"model_type": "internlm", "head_dim": 128, "num_hidden_layers": 32, "rotary": {"base": 20_000, "type": "origin"}},
        {"head_dim": 128, "turning": 128, "base": 2e4, "layout": "half"},
    ),
    "one base for each layer": (
        {"model_type": "unheard_of", "head_dim": 64, "num_hidden_layers": 2, "rope_theta": [1e4, 1e4]},
        {"head_dim": 64, "turning": 64, "base": 1e4, "layout": "half"},
    ),
    "a mapping that is empty": (
        {"model_type": "llama", "head_dim": 64, "rope_theta": 1e6, "rope_scaling": {}},
        {"head_dim": 64, "turning": 64, "base": 1e6, "layout": "half"},
    ),
}


@pytest.mark.parametrize("name", OLD)
def test_an_old_spelling_is_read(name: str) -> None:
    configuration, expected = OLD[name]
    reading = config.read(configuration)
    (kind,) = reading.kinds
    rotation = kind.rotation
    assert rotation is not None
    found = {"head_dim": rotation.head_dim, "turning": len(rotation.channels), "base": rotation.parameters["base"]}

    assert {**found, "layout": rotation.layout} == expected
    assert {finding.name for finding in reading.every_finding} <= {"unknown-model-type"}


def test_a_model_with_alibi_turns_nothing() -> None:
    (kind,) = config.read({"model_type": "falcon", "alibi": True, "hidden_size": 64, "num_attention_heads": 4}).kinds

    assert kind.rotation is None
    assert [decision.key for decision in kind.decisions] == ["alibi"]


def test_layers_with_bases_of_their_own_are_kinds_and_a_base_of_zero_turns_nothing() -> None:
    listed = {"rope_theta": 1e4, "head_dim": 64, "num_hidden_layers": 4, "layer_rope_theta": [1e4, 5e5, 1e4, 0]}

    assert [(kind.layers, kind.rotation and kind.rotation.parameters["base"]) for kind in config.read(listed).kinds] == [
        ((0, 2), 1e4),
        ((1,), 5e5),
        ((3,), None),
    ]


def test_a_type_that_reads_of_such_a_list_only_where_it_has_a_zero_has_one_base_and_counts_from_the_last_layer() -> None:
    muse = {"model_type": "muse_spark_text", "head_dim": 64, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}
    listed = {**muse, "num_hidden_layers": 4, "layer_rope_theta": [1e4, 5e5, 1e4, 0]}

    for whole, resting in ((listed, (3,)), ({**muse, "num_hidden_layers": 6}, (1, 5))):
        turning = tuple(layer for layer in range(whole["num_hidden_layers"]) if layer not in resting)
        kinds = [(kind.layers, kind.rotation and kind.rotation.parameters["base"]) for kind in config.read(whole).kinds]
        assert sorted(kinds) == sorted([(turning, 5e5), (resting, None)])


@pytest.mark.parametrize(
    "spelled", [{"type": "su", "original_max_position_embeddings": 4096}, {"rope_type": "longrope"}, {"type": "yarn"}]
)
@pytest.mark.parametrize("length", [4096, 4097])
def test_longrope_is_chosen_by_the_length_under_each_of_its_names(spelled: dict[str, str], length: int) -> None:
    whole = {**PHI3, **LENGTHS, "rope_scaling": {**spelled, "short_factor": SHORT, "long_factor": LONG}}
    lists = [np.asarray(each) for each in (SHORT, LONG)]

    assert config.frequencies(whole, length=length, like=LIKE) == pytest.approx(
        longrope.frequencies(*lists, head_dim=16, base=1e4, original_length=4096, length=length)
    )
    assert config.attention_factor(whole, length=length) == pytest.approx(1.1902380714)
    with pytest.raises(SpecificationError, match="length must be given for longrope"):
        config.frequencies(whole, like=LIKE)


def test_longrope_with_two_scales_multiplies_by_that_of_the_length() -> None:
    scaling = {"type": "longrope", "short_factor": SHORT, "long_factor": LONG, "short_mscale": 1.25, "long_mscale": 1.5}
    whole = {**PHI3, **LENGTHS, "model_type": "phimoe", "rope_scaling": scaling}

    assert [config.attention_factor(whole, length=length) for length in (4096, 4097)] == [1.25, 1.5]


def test_hunyuans_alpha_gives_the_base_that_its_third_version_has() -> None:
    scaling = {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}
    whole = {"model_type": "hunyuan_v1_dense", "head_dim": 128, "rope_theta": 10000.0, "rope_scaling": scaling}

    assert config.frequencies(whole, like=LIKE) == pytest.approx(rope.frequencies(head_dim=128, base=11_158_840.0, like=LIKE), rel=1e-7)


def test_a_layer_turns_as_its_scheme_does() -> None:
    x, whole = features(16), {**LLAMA, "rope_scaling": LLAMA3}
    expected = llama3.rotate(x, POSITIONS, head_dim=16, base=5e5, layout="half")

    np.testing.assert_allclose(config.rotate(whole, x, POSITIONS), expected)


def test_only_the_channels_of_the_configuration_turn() -> None:
    x, whole = features(16), {**LLAMA, "model_type": "phi", "partial_rotary_factor": 0.5}
    expected = partial_rope.rotate(x, POSITIONS, head_dim=16, rotary_dim=8, base=5e5, layout="half")

    np.testing.assert_allclose(config.rotate(whole, x, POSITIONS), expected)


def test_latent_attention_turns_the_last_channels_and_multiplies_them() -> None:
    scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    latent = {"model_type": "deepseek_v2", "qk_nope_head_dim": 8, "qk_rope_head_dim": 16, "rope_theta": 1e4, "rope_scaling": scaling}
    x = features(24)
    turned = config.rotate(latent, x, POSITIONS)
    expected = yarn.rotate(x[..., 8:], POSITIONS, head_dim=16, base=1e4, factor=4.0, original_length=4096, layout="interleaved")

    np.testing.assert_array_equal(turned[..., :8], x[..., :8])
    np.testing.assert_allclose(turned[..., 8:], expected)
    assert config.attention_factor(latent) == pytest.approx(0.1 * math.log(4.0) + 1.0)


def test_positions_may_have_a_batch() -> None:
    x, batched = np.concatenate([features(16), features(16)]), np.stack([POSITIONS, POSITIONS + 1])

    np.testing.assert_allclose(config.rotate(LLAMA, x, batched)[1:], config.rotate(LLAMA, x[1:], POSITIONS + 1))


def test_a_layer_without_rotation_leaves_all_as_it_is() -> None:
    whole, x = {**LLAMA, "model_type": "smollm3", "no_rope_layers": [1, 0]}, features(16)

    assert config.rotate(whole, x, POSITIONS, layer=1) is x
    assert config.frequencies(whole, layer=1, like=LIKE).shape == (0,)
    assert config.attention_factor(whole, layer=1) == 1.0
    assert config.frequencies(whole, layer=0, like=LIKE).shape == (8,)


MULTIMODAL = {**LLAMA, "model_type": "qwen2_vl", "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}


def test_positions_with_axes_have_the_frequencies_and_on_text_the_rotation_of_rope() -> None:
    x = features(16)
    text = np.stack([POSITIONS] * 3, axis=-1)

    assert config.frequencies(MULTIMODAL, like=LIKE) == pytest.approx(rope.frequencies(head_dim=16, base=5e5, like=LIKE))
    assert np.array_equal(config.rotate(MULTIMODAL, x, POSITIONS), rope.rotate(x, POSITIONS, head_dim=16, base=5e5, layout="half"))
    assert np.array_equal(config.rotate_on_axes(MULTIMODAL, x, text), config.rotate(MULTIMODAL, x, POSITIONS))


def test_pairs_follow_the_axes_that_the_configuration_and_the_model_type_say() -> None:
    x, places = features(16), np.stack([POSITIONS, POSITIONS + 3, 2 * POSITIONS], axis=-1)
    sections: dict[str, Any] = {"sections": (2, 3, 3), "head_dim": 16, "base": 5e5, "layout": "half"}
    scaling = {"type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True}
    turns = {**MULTIMODAL, "model_type": "qwen3_vl_text", "head_dim": 16, "rope_scaling": scaling}

    assert np.array_equal(config.rotate_on_axes(MULTIMODAL, x, places), mrope.rotate(x, places, **sections))
    given = {**sections, "sections": (4, 2, 2), "order": "interleaved"}
    assert np.array_equal(config.rotate_on_axes(turns, x, places), mrope.rotate(x, places, **given))
    ernie = {**MULTIMODAL, "model_type": "ernie4_5_vl_moe_text", "rope_scaling": {"type": "default", "mrope_section": [3, 3, 2]}}
    given = {**sections, "sections": (2, 3, 3), "order": "first_last", "layout": "interleaved"}
    assert np.array_equal(config.rotate_on_axes(ernie, x, places), mrope.rotate(x, places, **given))


def test_an_encoder_of_images_turns_half_of_a_head_for_each_axis_and_no_token_alone() -> None:
    x, places = features(16), np.stack([POSITIONS, POSITIONS + 3], axis=-1)
    image = {"model_type": "qwen2_vl_vision", "embed_dim": 64, "hidden_size": 256, "num_heads": 4}
    expected = axial_rope.rotate(x, places, head_dim=16, axes=(8, 8), order="joined", layout="half")

    assert np.array_equal(config.rotate_on_axes(image, x, places), expected)
    assert config.attention_factor(image) == 1
    for ask in (lambda: config.rotate(image, x, POSITIONS), lambda: config.frequencies(image, like=LIKE)):
        with pytest.raises(SpecificationError, match=r"the layer must turn by one position of a token, got axial, which has several"):
            ask()


def test_an_image_needs_whole_pairs_for_each_axis() -> None:
    with pytest.raises(SpecificationError, match=r"head_dim must be a multiple of 4, so that each of two axes turns whole pairs, got 18"):
        config.rotate_on_axes({"model_type": "pixtral", "head_dim": 18}, features(18), np.stack([POSITIONS] * 2, axis=-1))


def test_only_what_turns_by_sections_takes_positions_with_axes() -> None:
    x, places = features(16), np.zeros((len(POSITIONS), 3), dtype=int)
    yarn = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "mrope_section": [2, 3, 3]}

    with pytest.raises(SpecificationError, match=r"the layer must turn by mrope_section for positions with axes, got default without it"):
        config.rotate_on_axes(LLAMA, x, places)
    with pytest.raises(SpecificationError, match=r"mrope_section must be left out.*no operation for it yet"):
        config.rotate({**MULTIMODAL, "rope_scaling": yarn}, x, POSITIONS)


def test_what_posenc_has_no_operation_for_gives_no_numbers() -> None:
    whole = {**LLAMA, "rope_scaling": {"type": "yarn_log", "factor": 2.0}}

    with pytest.warns(config.ConfigurationWarning, match="refused-type"), pytest.raises(SpecificationError, match="has no operation"):
        config.frequencies(whole, like=LIKE)


def test_telechat3_has_a_slope_of_its_own_under_its_own_name_alone() -> None:
    scaling = {"type": "telechat3-yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
    whole = {**LLAMA, "model_type": "telechat3", "max_position_embeddings": 32_768, "rope_scaling": scaling}

    assert config.attention_factor(whole) == pytest.approx(0.07 * math.log(4.0) + 1.0, rel=1e-14)
    assert config.attention_factor({**whole, "rope_scaling": {**scaling, "type": "yarn"}}) == pytest.approx(0.1 * math.log(4.0) + 1.0)


@pytest.mark.filterwarnings("ignore:refused-type")
def test_vllms_ntk_slows_the_fastest_pair_too() -> None:
    """The ratio of neighbours is that of a larger base; kexue.fm 9706 and vLLM's NTKScalingRotaryEmbedding."""
    scaling = {"type": "ntk", "factor": 4.0}
    ratios = config.frequencies({**LLAMA, "rope_scaling": scaling}, like=LIKE) / rope.frequencies(head_dim=16, base=5e5, like=LIKE)

    assert ratios == pytest.approx([4.0 ** (-2 * (pair + 1) / 16) for pair in range(8)], rel=1e-14)
    mixed = config.frequencies({**LLAMA, "rope_scaling": {**scaling, "mixed_b": 0.625}}, like=LIKE)
    assert mixed / rope.frequencies(head_dim=16, base=5e5, like=LIKE) == pytest.approx(
        [math.exp(-math.log(4.0) / 8**0.625 * (pair + 1) ** 0.625) for pair in range(8)], rel=1e-14
    )


def test_doublings_follow_the_doublings_of_the_trained_length() -> None:
    """Qwen's first models take max(1, 2^ceil(log2(n / L) + 1) - 1) for the stretch."""
    bases = {"rope_theta": None, "rotary_emb_base": 5e5}
    whole = {**LLAMA, **bases, "model_type": "qwen", "max_position_embeddings": 8192, "seq_length": 2048, "use_dynamic_ntk": True}
    plain = rope.frequencies(head_dim=16, base=5e5, like=LIKE)

    for length, stretch in ((1, 1), (2048, 1), (2049, 3), (4096, 3), (4097, 7), (8192, 7), (8193, 15)):
        assert config.frequencies(whole, length=length, like=LIKE)[-1] == pytest.approx(plain[-1] / stretch, rel=1e-14)


def test_dynamic_scaling_follows_the_length_beyond_the_longest_one() -> None:
    whole = {**LLAMA, "max_position_embeddings": 2048, "rope_scaling": {"type": "dynamic", "factor": 2.0}}
    plain = rope.frequencies(head_dim=16, base=5e5, like=LIKE)

    assert config.frequencies(whole, length=2048, like=LIKE) == pytest.approx(plain, rel=1e-15)
    assert config.frequencies(whole, length=4096, like=LIKE)[-1] == pytest.approx(plain[-1] / 3.0, rel=1e-14)
    with pytest.raises(SpecificationError, match="length must be given for dynamic, whose frequencies depend on it, got None"):
        config.frequencies(whole, like=LIKE)


def test_proportional_scaling_turns_pairs_over_the_whole_head() -> None:
    whole = {**LLAMA, "rope_parameters": {"rope_type": "proportional", "rope_theta": 5e5, "partial_rotary_factor": 0.25}}
    x = features(16)
    expected = proportional_rope.rotate(x, POSITIONS, head_dim=16, base=5e5, turned_pairs=2, layout="half")

    np.testing.assert_allclose(config.rotate(whole, x, POSITIONS), expected)
    assert np.count_nonzero(config.frequencies(whole, like=LIKE)) == 2


def test_a_raised_base_turns_pairs_of_four_axes_too() -> None:
    scaling = {"type": "xdrope", "alpha": 1000.0, "xdrope_section": [2, 2, 2, 2]}
    whole = {"model_type": "hunyuan_vl", "head_dim": 16, "rope_theta": 1e4, "rope_scaling": scaling}
    x, places = features(16), np.stack([POSITIONS, POSITIONS // 2, POSITIONS % 3, POSITIONS * 0], axis=-1)
    raised = 1e4 * 1000.0 ** (16 / 14)

    got = config.rotate_on_axes(whole, x, places)

    on_axes = mrope.rotate(x, places, head_dim=16, base=raised, sections=(2, 2, 2, 2), layout="half")
    on_text = ntk_aware.rotate(x, POSITIONS, head_dim=16, factor=1000.0, layout="half")
    np.testing.assert_array_equal(got, on_axes)
    np.testing.assert_allclose(config.rotate(whole, x, POSITIONS), on_text)


def test_three_sections_of_four_axes_are_refused() -> None:
    scaling = {"type": "xdrope", "alpha": 1000.0, "xdrope_section": [2, 3, 3]}
    whole = {"model_type": "hunyuan_vl", "hidden_size": 32, "num_attention_heads": 2, "rope_theta": 1e4, "rope_scaling": scaling}
    with pytest.raises(SpecificationError, match="xdrope_section must have a number of pairs for each of position, width, height, image"):
        config.rotate(whole, features(16), POSITIONS)


DINO = {"model_type": "dinov3_vit", "hidden_size": 128, "num_attention_heads": 4, "image_size": [96, 112], "patch_size": 16}


def test_patches_of_an_image_with_a_middle_turn_by_parts_of_its_sides() -> None:
    rows, columns = np.divmod(np.arange(6 * 7), 7)
    x = np.ones((1, 1, 42, 32))
    centres = np.stack([(rows + 0.5) / 6, (columns + 0.5) / 7], axis=-1) * 2 - 1
    angles = (2 * np.pi * centres[..., None] * 100.0 ** (-np.arange(8) / 8)).reshape(42, 16)
    cos, sin = np.cos(angles), np.sin(angles)

    got = config.rotate_on_axes(DINO, x, np.stack([2 * rows + 1 - 6, 2 * columns + 1 - 7], axis=-1))

    rounded = 16 * 2 * np.pi * 2.0**-53  # a few roundings of angles up to 2 pi, in both terms of a sum
    np.testing.assert_allclose(got[0, 0], np.concatenate([cos - sin, sin + cos], axis=-1), rtol=0, atol=rounded)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"image_size": "224"}, "image_size must be a number of pixels, or one each for height and width, got '224'"),
        ({"image_size": [96, 112, 3]}, "image_size must be a number of pixels, or one each for height and width, got [96, 112, 3]"),
        ({"patch_size": 0}, "patch_size must be a number of pixels, or one each for height and width, got 0"),
        ({"patch_size": [16, True]}, "patch_size must be a number of pixels, or one each for height and width, got [16, True]"),
        ({"patch_size": 97}, "image_size must be at least patch_size (97 x 97), got [96, 112]"),
    ],
)
def test_sides_that_can_t_be_had_are_told(given: dict[str, Any], said: str) -> None:
    (kind,) = config.read({**DINO, **given}).kinds

    assert kind.rotation is None
    assert [finding.text for finding in kind.findings] == [said]


def test_an_image_of_unknown_size_is_as_large_as_the_model_type_has_it() -> None:
    (kind,) = config.read({"model_type": "eomt_dinov3", "hidden_size": 384, "num_attention_heads": 6}).kinds

    assert kind.rotation is not None
    assert kind.rotation.grid["sides"] == (40, 40)


SAM_3: dict[str, Any] = {"model_type": "sam3_vit_model", "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 32}


def test_the_layers_of_sam_3_that_see_the_whole_image_turn_like_the_others_at_places_that_are_divided() -> None:
    windowed, whole = config.read({**SAM_3, "global_attn_indexes": [7, 15, 23, 31], "window_size": 24}).kinds

    assert (windowed.name, whole.name) == ("window_attention", "full_attention")
    assert whole.layers == (7, 15, 23, 31)
    assert windowed.rotation == whole.rotation
    assert whole.rotation is not None
    assert whole.rotation.grid == {"axes": (32, 32), "order": "block", "ladder": "own"}
    assert whole.rotation.layout == "interleaved"
    assert "times 24 / the image's width" in " ".join(decision.says for decision in whole.decisions)


def test_an_encoder_of_sam_3_that_says_nothing_of_its_layers_has_the_usual_ones() -> None:
    assert config.read(SAM_3).kinds[1].layers == (7, 15, 23, 31)


@pytest.mark.parametrize(
    ("keys", "name"),
    [({"global_attn_indexes": [32]}, "bad-list"), ({"global_attn_indexes": 7}, "bad-list"), ({"window_size": 0}, "bad-value")],
)
def test_windows_of_no_size_and_layers_that_are_not_there_are_errors(keys: dict[str, Any], name: str) -> None:
    assert name in {finding.name for finding in config.read({**SAM_3, **keys}).findings}


STRETCH = {"factor": 2_048.0, "original_length": 512}
OF_512 = {
    "rope_type": "yarn", "rope_theta": 1e4, "factor": 2048.0, "original_max_position_embeddings": 512, "beta_fast": 32.0, "beta_slow": 1.0,
    "attention_factor": 1.0,
}  # fmt: skip
MISTRAL = {
    "model_type": "mistral_large4_text", "num_hidden_layers": 8, "qk_rope_head_dim": 32, "qk_nope_head_dim": 32, "rope_parameters": OF_512,
}  # fmt: skip
YARN = {"model_type": "llama", "num_hidden_layers": 8, "hidden_size": 64, "num_attention_heads": 2}


@pytest.mark.parametrize(
    ("model_type", "keys", "name", "says"),
    [
        ("mistral_large4_text", {"rope_parameters": {"rope_type": "default"}}, "no-lerope", "other frequencies than yarn's"),
        ("mistral_large4_text", {"rope_parameters": {**OF_512, "attention_factor": None}}, "no-lerope", "cosine and sine too"),
    ],
)
def test_a_rotation_by_no_formula_of_ours_is_a_named_variant_and_gives_no_numbers(
    model_type: str, keys: dict[str, Any], name: str, says: str
) -> None:
    whole = {"model_type": model_type, "hidden_size": 384, "num_attention_heads": 6, "num_hidden_layers": 4, **keys}
    kind = config.read(whole).kinds[0]

    assert kind.rotation is not None
    assert kind.rotation.missing
    assert kind.rotation.rope_type == name.removeprefix("no-")
    (found,) = kind.findings
    assert (found.level, found.name) == ("missing", name)
    assert says in found.text
    with pytest.raises(SpecificationError, match="posenc has no operation for it yet"):
        config.frequencies(whole, layer=0, like=LIKE)


def test_three_axes_of_v_jepa_2_have_whole_pairs_of_a_third_each_and_what_is_left_rests() -> None:
    (kind,) = config.read({"model_type": "vjepa2", "hidden_size": 1408, "num_attention_heads": 16, "rope_theta": 500.0}).kinds

    assert kind.rotation is not None
    assert (kind.rotation.head_dim, kind.rotation.channels, kind.rotation.parameters["base"]) == (88, range(84), 10_000.0)
    assert kind.rotation.grid == {"axes": (28, 28, 28), "order": "block", "ladder": "tiled"}
    assert "no rotation" in next(decision.says for decision in kind.decisions if decision.key == "ladder")


def test_every_fourth_layer_of_mistral_large_4_rests() -> None:
    assert [(kind.rests, kind.layers) for kind in config.read(MISTRAL).kinds] == [(False, (0, 1, 2, 4, 5, 6)), (True, (3, 7))]


def test_what_weights_hold_is_given_to_a_call() -> None:
    exponents, x, positions = np.linspace(0.5, -0.5, 16), np.random.default_rng(0).normal(size=(1, 2, 2, 64)), np.array([3, 900])
    plain, learned = (config.frequencies(MISTRAL, exponents=each, like=LIKE) for each in (0.0 * exponents, exponents))
    np.testing.assert_allclose(learned, plain * np.exp(exponents))
    np.testing.assert_allclose(config.frequencies({**YARN, "rope_parameters": OF_512}, like=LIKE), plain)
    turned = lerope.rotate(x[..., 32:], positions, exponents, head_dim=32, **STRETCH, layout="interleaved_to_half")
    np.testing.assert_allclose(config.rotate(MISTRAL, x, positions, exponents=exponents)[..., 32:], turned)
    assert (config.rotate(MISTRAL, x, positions, layer=3) == x).all()
    scale = config.scale(MISTRAL, positions, layer=3, slopes=np.array([0.5, -1.0]), biases=np.array([1.0, 2.0]))
    np.testing.assert_allclose(scale, [1.0 + 0.5 * np.log([4, 901]), 2.0 - np.log([4, 901])])


def test_what_weights_hold_is_neither_left_out_nor_left_over() -> None:
    exponents = np.zeros(16)
    with pytest.raises(SpecificationError, match=r"exponents must be given: the weights hold .* in this layer, got None"):
        config.frequencies(MISTRAL, like=LIKE)
    with pytest.raises(SpecificationError, match="biases must be given"):
        config.scale(MISTRAL, np.array([1]), slopes=np.zeros(2))
    with pytest.raises(SpecificationError, match="exponents must be left out: none are learned in this layer, got an array"):
        config.frequencies(LLAMA, exponents=exponents, like=LIKE)
    for layer in (3, 7):
        with pytest.raises(SpecificationError, match="exponents must be left out"):
            config.rotate(MISTRAL, np.zeros((1, 1, 1, 64)), np.array([1]), layer=layer, exponents=exponents)
        with pytest.raises(SpecificationError, match="exponents must be left out"):
            config.frequencies(MISTRAL, layer=layer, exponents=exponents, like=LIKE)
    with pytest.raises(SpecificationError, match="slopes must be left out"):
        config.scale(LLAMA, np.array([1]), slopes=np.zeros(2))


def test_without_a_mapping_mistral_large_4_has_the_one_of_its_class() -> None:
    whole = {name: value for name, value in MISTRAL.items() if name != "rope_parameters"}
    assert [kind.rotation for kind in config.read(whole).kinds] == [kind.rotation for kind in config.read(MISTRAL).kinds]


def test_values_that_turn_are_told() -> None:
    whole = {"model_type": "roformer", "hidden_size": 48, "num_attention_heads": 2, "rotary_value": True}
    (kind,) = config.read(whole).kinds

    assert any(each.key == "rotary_value" and "values turn" in each.says for each in kind.decisions)


def test_a_warning_is_a_warning_of_python_too() -> None:
    whole = {**LLAMA, "rope_scaling": {**LLAMA3, "mscale": 1.0}}

    with pytest.warns(config.ConfigurationWarning, match=r"ignored-key: rope_scaling.mscale must be .*, got 1.0"):
        config.frequencies(whole, like=LIKE)


@pytest.mark.parametrize(
    ("layer", "said"), [(2, "layer must be from 0 to 1, got 2"), (-1, "layer must be from 0 to 1, got -1"), (None, "layer must be")]
)
def test_a_layer_that_isnt_there_is_refused(layer: Any, said: str) -> None:
    with pytest.raises(SpecificationError, match=said):
        config.frequencies(LLAMA, layer=layer, like=LIKE)


def test_features_of_another_width_are_refused() -> None:
    with pytest.raises(SpecificationError, match="axis 'head_dim' of x must be 16, as the configuration has it, got 32"):
        config.rotate(LLAMA, features(32), POSITIONS)


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(SpecificationError, match="configuration must be a mapping, got list"):
        config.read([])  # type: ignore[arg-type]


JUNK: list[Any] = [None, True, False, 0, -1, 1, 7, 64, math.inf, math.nan, 0.5, 10**30, 1e300, "", "llama3", "yarn"]
JUNK += [[], [1], [None], ["a"], [[1]], [0, 1, 1, 1] * 12]
JUNK += [{}, {"a": 1}, {"full_attention": {}}, {"full_attention": None}, {"rope_theta": {}}]
KEYS = ["rope_theta", "rope_scaling", "rope_parameters", "head_dim", "rotary_dim", "qk_rope_head_dim", "layer_types", "factor", "alpha"]
KEYS += ["no_rope_layers", "partial_rotary_factor", "rope_type", "mrope_section", "long_factor", "compress_ratios", "num_hidden_layers"]
KEYS += ["attention_factor", "short_mscale", "long_mscale", "text_config", "model_type", "rope_ratio", "max_position_embeddings"]


def spoilt(whole: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return a configuration in which some values are lost, or anything else."""
    whole = copy.deepcopy(whole)
    for _ in range(chance.randint(1, 3)):
        section = whole
        while (inner := [value for value in section.values() if isinstance(value, dict)]) and chance.random() < 0.5:
            section = chance.choice(inner)
        key = chance.choice([*section, *KEYS])
        section[key] = copy.deepcopy(chance.choice(JUNK))
    return whole


@pytest.mark.filterwarnings("ignore::refimpl.configuration.ConfigurationWarning")
@pytest.mark.parametrize("seed", range(8))
def test_nothing_in_a_configuration_breaks_the_reader(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  nothing secret
    every = [published(entry) for entry in RELEASED] + [entry["configuration"] for entry in BROKEN]
    for _ in range(100):
        whole = spoilt(chance.choice(every), chance)
        reading = config.read(whole)
        list(words.lines(reading, reading.kinds, None, LIKE))
        for layer in (0, 3):
            with contextlib.suppress(SpecificationError):
                assert np.all(config.frequencies(whole, layer=layer, length=5, like=LIKE) >= 0)


POSITIONAL = ("rope", "rotary", "theta", "layer_types", "max_position")


def misspelt(section: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every key that concerns positions and has a value, with the way to it, and as it is misspelt."""
    for key, value in section.items():
        if value is not None and (any(word in key for word in POSITIONAL) or "rope" in "".join(path)) and key != "indexer_rope_interleave":
            yield (*path, key), key[: len(key) // 2] + key[len(key) // 2 + 1 :]
        if isinstance(value, dict):
            yield from misspelt(value, (*path, key))


def respelt(whole: dict[str, Any], path: tuple[str, ...], word: str) -> dict[str, Any]:
    """Return a configuration with one key under another word."""
    key, *rest = path
    if not rest:
        return {word if name == key else name: value for name, value in whole.items()}
    return {**whole, key: respelt(whole[key], tuple(rest), word)}


@pytest.mark.parametrize("entry", RELEASED, ids=lambda entry: entry["id"])
def test_no_misspelt_key_goes_unseen(entry: dict[str, Any]) -> None:
    whole = published(entry)
    before = {finding.text for finding in config.read(whole).every_finding}

    for path, word in misspelt(whole):
        assert {finding.text for finding in config.read(respelt(whole, path, word)).every_finding} - before, (path, word)


def test_a_kind_without_rotation_has_an_error_or_a_reason() -> None:
    for entry in RELEASED + BROKEN:
        reading = config.read(published(entry))
        for kind in reading.kinds:
            wrong = any(finding.level == "error" for finding in (*reading.findings, *kind.findings))
            assert kind.rotation is not None or wrong or kind.decisions, entry["id"]


@pytest.mark.parametrize(("keys", "channels"), [({}, 160), ({"attention_head_dim": 64}, 64)])
def test_heads_of_zamba2_share_twice_the_hidden_state_unless_they_are_given(keys: dict[str, Any], channels: int) -> None:
    zamba = {"model_type": "zamba2", "hidden_size": 2560, "num_attention_heads": 32, "num_hidden_layers": 2, "use_mem_rope": True}
    (kind,) = config.read({**zamba, **keys}).kinds

    assert kind.rotation is not None
    assert (kind.rotation.head_dim, len(kind.rotation.channels)) == (channels, channels)
