"""Edits of one key: of every class of transformers that posenc knows, each is read as the class turns, or it is told of."""

import contextlib
import copy
import importlib
import inspect
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_configuration import LIKE
from test_configuration_classes import FLOAT32, NO_ATTENTION, RAISING, attending, breaks, flat, held, modules

from refimpl import configuration as config
from refimpl.configuration import Reading, readers, spellings
from refimpl.configuration.computing import at_zero, factor_of, of
from refimpl.configuration.defaults import LATENT_OF, SHARING_WHOLE
from refimpl.configuration.families import FAMILIES, PLAIN, family, is_known, plain_name
from refimpl.configuration.parts import WITHIN

transformers = pytest.importorskip("transformers", minversion="5.23.0")
pytestmark = pytest.mark.filterwarnings("ignore")

#: Edits of a single key beside the mapping.
KEYS: dict[str, tuple[Any, ...]] = {
    "head_dim": (48, None),
    "hidden_size": (None,),
    "num_attention_heads": (None,),
    "partial_rotary_factor": (0.5, None),
    "rotary_dim": (32, None),
    "rotary_pct": (0.5, None),
    "rope_theta": (7e4, None),
    "max_position_embeddings": (1000, None),
    "original_max_position_embeddings": (1000, None),
    "qk_rope_head_dim": (32, None),
    "qk_nope_head_dim": (32, None),
    "layer_types": (None,),
    "num_hidden_layers": (None,),
    "sliding_window": (None,),
    "rope_interleave": (None,),
    "no_rope_layer_interval": (None,),
    "index_topk": (None,),
    "attn_temperature_tuning": (None,),
    "rope_parameters": (None,),
    "rope_scaling": (None,),
}
#: Keys of which a class writes what it has, and of which anything is read.
READ = spellings.READ.union(spellings.BESIDE, spellings.WITHIN) - {"model_type", "rope_parameters"}
ORIGINAL = {"original_max_position_embeddings": 1024}
BAND = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
#: What tells that transformers may raise an error, or reads nothing, besides what tells that it does.
TELLING = RAISING | {"no-sections", "not-flat", "not-nested", "unread-mapping"}
#: Numbers of these differ from those of the class, and that is what they tell.
DIFFERING = {"not-flat", "null-fraction", "taken-width", "unread-fraction"}


def scalings(pairs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield mappings of every rope type, whole, and with a key left out or null."""
    lists = {"short_factor": [1.0] * pairs, "long_factor": [2.0] * pairs}
    rules = {"linear": {"factor": 4.0}, "dynamic": {"factor": 4.0}, "yarn": {"factor": 4.0, **ORIGINAL}}
    for name, keys in {**rules, "llama3": {**BAND, **ORIGINAL}, "longrope": {**lists, **ORIGINAL}, "default": {}}.items():
        whole: dict[str, Any] = {"rope_type": name, **keys}
        yield name, whole
        for key in keys:
            yield f"{name} without {key}", {each: value for each, value in whole.items() if each != key}
            yield f"{name} with {key} null", {**whole, key: None}
        for key in ("rope_theta", "partial_rotary_factor"):
            yield f"{name} with {key} null", {**whole, key: None}
    yield "yarn with what may be left out null", {"rope_type": "yarn", "factor": 4.0, **ORIGINAL, "truncate": None, "beta_fast": None}
    yield "yarn whose band isn't rounded", {"rope_type": "yarn", "factor": 4.0, **ORIGINAL, "truncate": False}
    yield "linear under its old key", {"type": "linear", "factor": 4.0}
    yield "longrope under its old name", {"type": "su", **lists, **ORIGINAL}
    yield "a base", {"rope_type": "default", "rope_theta": 7e4}
    yield "nothing", {}
    for name in ("none", "telechat3-yarn", "ntk", "mrope", "xdrope"):
        yield f"the name {name}", {"rope_type": name, "factor": 4.0, **ORIGINAL}
    yield "a null for its type", {"rope_type": None}
    yield "proportional with factor null", {"rope_type": "proportional", "factor": None}


def edits(pairs: int, kinds: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what is put beside what a class writes of itself."""
    yield "nothing", {}
    for key, values in KEYS.items():
        yield from ((f"{key}={value}", {key: value}) for value in values)
    for name, scaling in scalings(pairs):
        yield f"rope_scaling: {name}", {"rope_scaling": scaling}
        if len(scaling) > 1 and "without" in name and "original" in name:
            yield f"{name}, that beside it", {"rope_scaling": scaling, "original_max_position_embeddings": 1000}
            yield f"{name}, and null beside it", {"rope_scaling": scaling, "original_max_position_embeddings": None}
    yield "rope_parameters: a base", {"rope_parameters": {"rope_type": "default", "rope_theta": 7e4}}
    yield "a null beside a base", {"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 7e4}}
    yield "rope_parameters: linear", {"rope_parameters": {"rope_type": "linear", "factor": 4.0}}
    for name, inside in {"bases": {"rope_theta": 7e4}, "no base": {}}.items():
        yield f"nested, {name}", {"rope_parameters": {kind: {"rope_type": "default", **inside} for kind in kinds}}


#: Classes that no module of frequencies is made of, whose layers have bases of their own, that by default don't turn, or that turn
#: whole heads where the model was trained with a part.
UNLIKE = ("blt", "esm", "granite_swa", "granitemoe_swa", "higgs_audio_v2", "minimax_m3_vl_text", "seamless_m4t")
#: Edits of which less is told: where widths of sliding layers must fit others, where a class has its own fractions and bases for mappings
#: without any, and where two keys are one.
SPARED: dict[str, tuple[str, ...]] = {
    "deepseek_v4": ("nested, no base",),
    "diffusion_gemma_text": ("partial_rotary_factor=0.5",),
    "longcat_flash": ("num_hidden_layers=None",),
    "dots3_note_text": (
        *("head_dim=48", "qk_rope_head_dim=32", "nested, no base", "rope_scaling: longrope"),
        "rope_scaling: longrope with partial_rotary_factor null",
        "rope_scaling: longrope without original_max_position_embeddings",
        *(f"longrope without original_max_position_embeddings, {each}" for each in ("that beside it", "and null beside it")),
    ),
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Let transformers say nothing, which takes longer than what it does."""
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    yield
    transformers.logging.set_verbosity(before)


def turned(name: str, says: dict[str, Any]) -> list[Any] | None:
    """Return the modules that a class makes of a configuration, or nothing where transformers raises an error."""
    try:
        return modules(transformers.CONFIG_MAPPING[name](**copy.deepcopy(says)).get_text_config())
    except Exception:  # noqa: BLE001  # classes raise any kind, and that they do is what is compared
        return None


def differs(reading: Reading, made: list[Any]) -> bool:
    """Whether any frequency or factor that is read isn't that of a module."""
    for module in made:
        for kind in reading.kinds:
            if kind.rotation is None or kind.rotation.operation is None or (found := held(module, kind)) is None:
                continue
            length = kind.rotation.parameters.get("original_length")
            mine = of(kind.rotation, length, LIKE, at_zero(kind.rotation, LIKE))
            if mine.shape != found[0].shape or not np.allclose(mine, found[0], rtol=FLOAT32, atol=0):
                return True
            if factor_of(kind.rotation, length) != pytest.approx(found[1], abs=1e-9):
                return True
    return False


def wrong(name: str, says: dict[str, Any]) -> str:
    """Return what is wrong with what is told of an edit, nothing where it is right."""
    reading, made = config.read({"model_type": name, **says}), turned(name, says)
    found = reading.every_finding
    told = {finding.name for finding in found}
    if any(finding.level == "error" for finding in found):
        return ""
    if made is None or breaks(name, says):
        return "" if TELLING & told else f"it raises, and {told or 'nothing'} is told"
    if RAISING & told:
        return f"it doesn't raise, and {told} is told"
    return f"it differs, and {told or 'nothing'} is told" if not DIFFERING & told and differs(reading, made) else ""


@pytest.mark.parametrize("name", [name for name in flat() if name not in UNLIKE])
def test_an_edit_is_read_as_the_class_turns_or_told_of(name: str) -> None:
    made = transformers.CONFIG_MAPPING[name]()
    said = {key: value for key, value in made.to_dict().items() if value is not None and key in READ}
    pairs = max((len(buffer) for module in modules(made) for key, buffer in module.named_buffers() if key.endswith("inv_freq")), default=32)
    kinds = list(getattr(made, "_rope_type_labels", None) or getattr(made, "layer_types", None) or ("full_attention",))
    found = {label: wrong(name, {**said, **edit}) for label, edit in edits(pairs, list(dict.fromkeys(kinds)))}
    found["a null beside its mapping"] = wrong(name, {**said, "rope_theta": None, "rope_parameters": made.to_dict().get("rope_parameters")})
    unlisted = {key: value for key, value in said.items() if key not in ("layer_types", "no_rope_layers")}
    for key in ("sliding_window", "sliding_window_pattern", "no_rope_layer_interval", "full_attention_interval"):
        found[f"{key}=None without a list"] = wrong(name, {**unlisted, key: None})

    assert {label: told for label, told in found.items() if told and label not in SPARED.get(name, ())} == {}


def declared(name: str) -> set[str]:
    """Return the keys that a class has of its own, or maps to another."""
    of_class = transformers.CONFIG_MAPPING[name]
    own = [vars(each).get("__annotations__", {}) for each in of_class.__mro__ if each is not transformers.PreTrainedConfig]
    return {*of_class.attribute_map, *(key for each in own for key in each)}


def turning() -> list[str]:
    """Return the model types with a class that posenc knows and that turn."""
    names = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES
    return [name for name in names if is_known(name) and family(name).turns]


#: Types that read a key in code of the model's own, or in another part of theirs.
OF_OWN_CODE = {
    **dict.fromkeys(("n_layer", "n_embd", "n_head"), "nomic_bert"),
    "layer_types": "exaone4_5",
    "swa_head_dim": "dots3_note",
}


@pytest.mark.parametrize("key", readers.SIZES)
def test_the_table_of_sizes_has_every_class_that_reads_a_key(key: str) -> None:
    spelt = {name for name, keys in readers.SPELT.items() if key in keys}
    reading = {plain_name(name) for name in turning() if key in declared(name)} - spelt

    assert {*readers.SIZES[key][1]} - {OF_OWN_CODE.get(key)} == reading


def test_classes_without_a_list_of_kinds_are_not_in_the_table_of_those_that_have_one() -> None:
    listing = {plain_name(name) for name in turning() if "layer_types" in declared(name)}
    classes = {plain_name(name) for name in turning()}

    assert listing <= {*readers.LISTING}
    assert {*readers.LISTING} & classes - listing == {OF_OWN_CODE["layer_types"], "t5gemma"}


def test_types_without_a_class_are_those_that_transformers_does_not_have() -> None:
    names = {plain_name(name) for name in transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES}

    assert not names & {*readers.WITHOUT_CLASS}
    assert {name for name in (*FAMILIES, *PLAIN) if name not in names} == {*readers.WITHOUT_CLASS, "modernbert_decoder"}


#: Keys that say which of eight layers are of which kind, in types whose code reads them.
PATTERNS: dict[str, Any] = {
    "compress_ratios": [0, 4] * 4,
    "full_attention_interval": 2,
    "global_attn_every_n_layers": 2,
    "hybrid_layer_pattern": [0, 1] * 4,
    "layer_group_size": 2,
    "layer_types": ["linear_attention", "full_attention"] * 4,
    "sliding_window_pattern": 2,
}
#: Keys of the models' own code, which their classes don't read.
BY_CODE = {("hybrid_layer_pattern", "mimo_v2_flash")}


def of_pattern(name: str, says: dict[str, Any], key: str) -> str:
    """Return what is wrong with the kinds of layers that are read by a pattern, nothing where a class has the same or raises an error."""
    try:
        with_it = transformers.CONFIG_MAPPING[name](**copy.deepcopy(says))
    except Exception:  # noqa: BLE001  # classes raise any kind, at such sizes or at kinds that they don't know
        return ""
    without = transformers.CONFIG_MAPPING[name](**{each: value for each, value in copy.deepcopy(says).items() if each != key})
    reading = config.read({"model_type": name, **says})
    unsaid = any(kind.layers is None for kind in reading.kinds) or getattr(with_it, "layer_types", ()) is None
    if unsaid or any(finding.level == "error" for finding in reading.every_finding):
        return ""
    listed = "layer_types" in declared(name)
    kinds = with_it.layer_types if listed else ["full_attention"] * len(attending(reading))
    counts = listed and kinds != without.layer_types
    told = {finding.name for finding in reading.every_finding if finding.key == key}
    if attending(reading) != [kind not in NO_ATTENTION for kind in kinds]:
        return f"the class has {kinds}, and {told or 'nothing'} is told"
    if counts and told:
        return f"it counts, and {told} is told"
    return "" if counts or told else "nothing is told of it"


@pytest.mark.parametrize("key", PATTERNS)
def test_a_pattern_of_layers_counts_where_the_class_reads_it_and_is_told_of_elsewhere(key: str) -> None:
    says = {"num_hidden_layers": 8, "hidden_size": 256, "num_attention_heads": 4, key: PATTERNS[key]}
    found = {name: of_pattern(name, says, key) for name in flat() if (key, name) not in BY_CODE and name not in UNLIKE}

    assert {name: wrong for name, wrong in found.items() if wrong} == {}


#: Keys of sizes of other types, and what they would be.
SIZES = {"d_model": 512, "n_heads": 8, "num_heads": 2, "n_layers": 3, "max_sequence_length": 100, "max_pos_embeddings": 100, "dim_head": 32}


@pytest.mark.parametrize("key", SIZES)
def test_a_size_of_another_type_does_not_count_and_is_told_of(key: str) -> None:
    says = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096}
    made, reading = turned("llama", {**says, key: SIZES[key]}), config.read({"model_type": "llama", **says, key: SIZES[key]})

    assert [finding.key for finding in reading.every_finding] == [key]
    assert made is not None
    assert not differs(reading, made)
    assert [kind.layers for kind in reading.kinds] == [(0, 1)]


LATENT = [name for name in flat() if plain_name(name) in LATENT_OF and plain_name(name) not in SHARING_WHOLE]


@pytest.mark.parametrize("name", LATENT)
def test_beside_latent_attention_a_proportional_rotation_is_of_the_channels_that_turn(name: str) -> None:
    says = {"num_hidden_layers": 6, "hidden_size": 256, "num_attention_heads": 4, "rope_scaling": {"rope_type": "proportional"}}
    made, reading = turned(name, says), config.read({"model_type": name, **says})

    assert made is not None
    assert not differs(reading, made)
    assert {len(kind.rotation.channels) for kind in reading.kinds if kind.rotation} == {LATENT_OF[plain_name(name)][1]}


#: Types whose mapping grows queries by a slope, and some that read none.
@pytest.mark.parametrize("name", ["llama", "mistral", "ministral3", "mistral4", "qwen3"])
def test_a_slope_of_queries_counts_where_code_reads_it(name: str) -> None:
    module = type(transformers.CONFIG_MAPPING[name]()).__module__.replace("configuration_", "modeling_")
    reads = spellings.SLOPE in inspect.getsource(importlib.import_module(module))
    rope = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, **ORIGINAL, spellings.SLOPE: 0.1}
    says = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_parameters": rope}
    reading = config.read({"model_type": name, **says})

    assert [kind.temperature is not None for kind in reading.kinds] == [reads]
    assert ("unread-key" in {finding.name for finding in reading.every_finding}) is not reads


def encoders() -> list[str]:
    """Return the encoders of images whose class makes a module of a configuration alone."""
    named = [name for name in turning() if (grid := family(name).grid) is not None and grid.order]
    return [name for name in named if name not in ("dinov3_vit", "vjepa2") and frequencies(transformers.CONFIG_MAPPING[name]())]


def frequencies(made: Any) -> dict[str, int]:
    """Return how many frequencies the modules of an encoder of images have."""
    module = importlib.import_module(type(made).__module__.replace("configuration_", "modeling_"))
    found: dict[str, int] = {}
    for name in (name for name in vars(module) if name.endswith("RotaryEmbedding")):
        with contextlib.suppress(Exception):
            buffers = dict(vars(module)[name](config=made).named_buffers())
            found |= {name: len(buffers["inv_freq"])}
    return found


@pytest.mark.parametrize("name", encoders())
def test_an_encoder_of_images_turns_whole_heads_whatever_a_fraction_says(name: str) -> None:
    of_class, share = transformers.CONFIG_MAPPING[name], {"partial_rotary_factor": 0.5}
    said = {key: value for key, value in of_class().to_dict().items() if value is not None and key in READ}
    whole, part = (config.read({"model_type": name, **said, **each}) for each in ({}, share))

    assert frequencies(of_class(**share)) == frequencies(of_class())
    assert [kind.rotation for kind in part.kinds] == [kind.rotation for kind in whole.kinds]
    assert [finding.name for finding in part.every_finding] == ["unread-part"]


HEADS = {"hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 2}
#: Widths that don't count in a class, or count where others seem to, and what is told of them.
WIDTHS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("longcat_flash", {**HEADS, "qk_rope_head_dim": 32}, ["taken-width"]),
    ("longcat_flash", {**HEADS, "qk_rope_head_dim": 32, "head_dim": 32}, []),
    ("longcat_flash", {**HEADS, "num_layers": 5}, ["unread-key"]),
    ("minimax_m2", {**HEADS, "head_dim": 128, "rotary_dim": 64, "partial_rotary_factor": None}, ["null-fraction"]),
    ("minimax_m2", {**HEADS, "head_dim": 128, "rotary_dim": 64}, []),
    ("mimo_v2_flash", {**HEADS, "head_dim": 96, "swa_head_dim": 192}, ["unread-width"]),
    ("mimo_v2_flash", {**HEADS, "head_dim": 192, "swa_head_dim": 192}, []),
    ("moonshine", {**HEADS, "hidden_size": 640, "decoder_num_attention_heads": 10}, ["unread-key"]),
]


@pytest.mark.parametrize(("name", "says", "told"), WIDTHS)
def test_a_width_is_that_of_the_class_or_it_is_told(name: str, says: dict[str, Any], told: list[str]) -> None:
    reading, made = config.read({"model_type": name, **says}), turned(name, says)

    assert [finding.name for finding in reading.every_finding] == told
    assert made is not None
    assert differs(reading, made) is bool({"taken-width", "null-fraction"}.intersection(told))


@pytest.mark.parametrize("name", ["wav2vec2-bert", "wav2vec2-conformer"])
def test_attention_of_a_conformer_divides_the_hidden_state_whatever_the_width_of_a_head_says(name: str) -> None:
    says = {**HEADS, "position_embeddings_type": "rotary", "head_dim": 96}
    module = importlib.import_module(type(transformers.CONFIG_MAPPING[name]()).__module__.replace("configuration_", "modeling_"))
    (attention,) = [each for key, each in vars(module).items() if key.endswith(("BertSelfAttention", "ConformerSelfAttention"))]
    (kind,) = config.read({"model_type": name, **says}).kinds

    assert kind.rotation is not None
    assert kind.rotation.head_dim == attention(transformers.CONFIG_MAPPING[name](**says)).head_size


def text_of(name: str) -> str:
    """Return the model type whose layers are read."""
    return name if is_known(name) else str(transformers.CONFIG_MAPPING[name]().get_text_config().model_type)


def reads_flat(name: str) -> bool:
    """Whether the class of a model of several parts takes what stands at its top as what stands in the part that reads text."""
    text = transformers.CONFIG_MAPPING[name](rope_theta=76543.0).get_text_config()
    return "76543.0" in json.dumps(text.to_dict(), default=str)


def test_the_table_has_every_class_that_reads_nothing_of_its_text_at_the_top() -> None:
    names = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES
    parts = {"text_config", "thinker_config"}
    whole = [
        name for name in names if parts.intersection(transformers.CONFIG_MAPPING[name].sub_configs or ()) and name != "gemma4_assistant"
    ]
    turning = [name for name in whole if is_known(text_of(name)) and family(text_of(name)).turns]

    assert {name for name in turning if not reads_flat(name)} == {name for name, place in WITHIN.items() if place.endswith("text_config")}


@pytest.mark.parametrize("name", [*WITHIN])
def test_of_a_flat_file_it_is_told_where_its_class_reads_the_text(name: str) -> None:
    flat_file = {"model_type": name, "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 7e4}
    (told,) = [finding for finding in config.read(flat_file).every_finding if finding.name == "no-section"]

    assert told.key == WITHIN[name]
