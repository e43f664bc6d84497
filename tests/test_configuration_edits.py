"""Edits of one key: of every class of transformers that posenc knows, each is read as the class turns, or it is told of."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_configuration import LIKE
from test_configuration_classes import FLOAT32, RAISING, flat, held, modules

from refimpl import configuration as config
from refimpl.configuration import Reading, spellings
from refimpl.configuration.computing import at_zero, factor_of, of
from refimpl.configuration.defaults import NEEDING_WIDTH, PARTS_WITHIN, TEXT_WITHIN
from refimpl.configuration.families import family, is_known, plain_name

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
    "dots3_note_text": (
        *("head_dim=48", "qk_rope_head_dim=32", "nested, no base", "rope_scaling: longrope"),
        "rope_scaling: longrope with partial_rotary_factor null",
        "rope_scaling: longrope without original_max_position_embeddings",
        *(f"longrope without original_max_position_embeddings, {each}" for each in ("that beside it", "and null beside it")),
    ),
    "jetmoe": ("head_dim=None",),
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
    except Exception:  # noqa: BLE001  # of any kind
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
    if made is None or (plain_name(name) in NEEDING_WIDTH and says.get("head_dim") is None):  # or attention raises
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

    assert {name for name in turning if not reads_flat(name)} == {*TEXT_WITHIN}


@pytest.mark.parametrize("name", [*TEXT_WITHIN, *PARTS_WITHIN])
def test_of_a_flat_file_it_is_told_where_its_class_reads_the_text(name: str) -> None:
    flat_file = {"model_type": name, "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 7e4}
    (told,) = [finding for finding in config.read(flat_file).every_finding if finding.name == "no-section"]

    assert told.key == PARTS_WITHIN.get(name, "text_config")
