"""Of models of several parts it is read what their class takes for the part that reads text: its type, and what it fills in."""

import copy
from typing import Any

import pytest

from refimpl import configuration as config
from refimpl.configuration.families import FAMILIES, PLAIN, is_known, plain_name
from refimpl.configuration.parts import ASKING, FILLED, FIXED, USUAL
from refimpl.configuration.readers import OUTSIDE

transformers = pytest.importorskip("transformers", minversion="5.23.0")
pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = tuple(transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES)
SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4}
#: Types of which the part that reads text reads no base beside its mapping.
BESIDE = ("glmasr", "pe_audio", "pe_audio_video", "pe_video")
#: Types whose part that reads text stands under another key, or within another part.
OF_TWO = ("t5gemma", "t5gemma2", "qwen2_5_omni", "qwen3_omni_moe")


def text_of(name: str, **says: Any) -> Any:
    """Return the part that reads text, as the class of the whole takes it."""
    return transformers.CONFIG_MAPPING[name](text_config=copy.deepcopy(says)).text_config


def with_text(*, fixed: bool) -> dict[str, str]:
    """Return the types with a part that reads text, of which either is known, and the model type that it has where nothing is said."""
    found = {}
    for name in NAMES:
        part = (transformers.CONFIG_MAPPING[name].sub_configs or {}).get("text_config")
        if part is None or name == "gemma4_assistant" or fixed is (part.__name__ == "AutoConfig"):
            continue
        usual = part.model_type if fixed else transformers.CONFIG_MAPPING[name]().text_config.model_type
        if is_known(name) or is_known(usual):
            found[name] = usual
    return found


def test_the_tables_have_every_class_with_a_part_that_reads_text() -> None:
    assert with_text(fixed=True) == {name: of_text for name, of_text in FIXED.items() if name not in OF_TWO}
    assert with_text(fixed=False) == {**USUAL, **dict.fromkeys(ASKING, "exaone4")}


def test_the_table_has_every_known_type_that_transformers_has_no_class_for() -> None:
    assert {*OUTSIDE} == {*FAMILIES, *PLAIN} - {plain_name(name) for name in NAMES}


@pytest.mark.parametrize("name", [name for name in FIXED if name not in OF_TWO])
def test_a_type_is_told_of_that_the_class_of_the_whole_does_not_take(name: str) -> None:
    other = {**SIZES, "model_type": "llama", "rope_theta": 7e4}
    assert type(text_of(name, model_type="llama")) is type(text_of(name))
    (told,) = [each for each in config.read({"model_type": name, "text_config": other}).every_finding if each.name == "unread-type"]
    assert told.key == "text_config.model_type"
    for given in ({}, {"model_type": FIXED[name]}):
        reading = config.read({"model_type": name, "text_config": {**other, "model_type": None, **given}})
        assert "unread-type" not in {each.name for each in reading.every_finding}


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("says", [{}, {"num_attention_heads": 8}, {"rope_theta": 7e4}, {"hidden_size": 1024, "num_attention_heads": 16}])
def test_a_part_has_what_the_class_of_the_whole_fills_in(name: str, says: dict[str, Any]) -> None:
    made = text_of(name, **says)
    reading = config.read({"model_type": name, "text_config": says})
    (full,) = [kind.rotation for kind in reading.kinds if kind.name in ("every layer", "full_attention")]

    assert full is not None
    assert full.parameters["head_dim"] == getattr(made, "head_dim", None) or made.hidden_size // made.num_attention_heads
    rope = made.rope_parameters
    assert full.parameters["base"] == rope.get("full_attention", rope)["rope_theta"]
    assert sum(len(kind.layers or ()) for kind in reading.kinds) == made.num_hidden_layers
    assert ("unread-base" in {each.name for each in reading.every_finding}) is (name in BESIDE and "rope_theta" in says)


def test_the_other_classes_fill_in_nothing() -> None:
    filling = set()
    for name in USUAL.keys() - {"fun_asr_nano"}:  # an empty part of that is refused
        made, usual = text_of(name).to_dict(), transformers.CONFIG_MAPPING[USUAL[name]]().to_dict()
        if any(made.get(key) != usual.get(key) for key in ("hidden_size", "num_attention_heads", "rope_parameters", "head_dim")):
            filling.add(name)

    assert filling == {*FILLED}


@pytest.mark.parametrize("name", ["llama", "qwen3", "gemma3_text", "ministral3"])
def test_a_part_is_told_of_that_the_class_does_not_have(name: str) -> None:
    whole = {"model_type": name, **SIZES, "head_dim": 16, "rope_theta": 7e4}
    part = {"model_type": "llama", "hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 8, "rope_theta": 5e5}
    reading = config.read({**whole, "text_config": part})

    assert [each.key for each in reading.findings if each.name == "unread-section"] == ["text_config"]
    assert [kind.rotation for kind in reading.kinds] == [kind.rotation for kind in config.read(whole).kinds]


def test_a_part_without_a_type_that_raises_an_error_is_told() -> None:
    told = config.read({"model_type": "exaone4_5", "text_config": {**SIZES, "rope_theta": 7e4}}).findings
    assert ("asked-key", "text_config.model_type") in [(each.name, each.key) for each in told]
