"""Of which architecture a file is, whether posenc reads it, and whether it is the configuration of a model at all."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from refimpl.configuration import parts, readers, spellings
from refimpl.configuration.families import FAMILIES, family, is_known, plain_name
from refimpl.configuration.findings import Notes
from refimpl.configuration.sections import Section

#: Keys that classes of models of several parts read in the part of the language model alone.
OF_TEXT = (*spellings.BASE, *spellings.ROPE, *spellings.FRACTION, *spellings.HIDDEN, *spellings.HEAD_DIM, *spellings.LAYERS)
#: Errors of files that say nothing of a model's layers.
UNKNOWN = ("no-rotary-key", "other-file", "other-architecture")


def of_encoder(section: Section, model_type: str, notes: Notes) -> str:
    """Return the model type, or that of its encoder of images, where a file of the encoder alone has the name of the whole."""
    names = (f"{model_type}_vision", f"{model_type}_vision_encoder")
    encoder = next((name for name in names if name in FAMILIES and FAMILIES[name].grid is not None), model_type)
    says = section.given(spellings.OF_ENCODERS)
    if encoder == model_type or section.path or not says or section.given(spellings.OF_WHOLES):
        return model_type
    notes.decide("model_type", model_type, f"this is the encoder of images of that model, {encoder}, since {says[0][0]} is given")
    return encoder


def of_code(configuration: Mapping[str, Any], section: Section, model_type: str) -> str:
    """Return the model type, or one that nobody knows where a model's own code turns under a type that doesn't in transformers."""
    own, word = family(model_type), section.get("position_embedding_type")
    if own.turns or not own.attends:
        return model_type
    rotary = bool(section.given(spellings.ROTARY))
    said = isinstance(word, str) and word in spellings.ROTATION and (configuration.get("auto_map") or rotary)
    return f"{model_type} (own code)" if said or (rotary and _of_other_class(section, model_type)) else model_type


def _of_other_class(section: Section, model_type: str) -> bool:
    """Whether classes are named, and none of them by the model type."""
    given = section.get("architectures")
    names = [_plain(each) for each in given if isinstance(each, str)] if isinstance(given, list) else []
    return bool(names) and not any(name.startswith(_plain(plain_name(model_type))) for name in names)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _verify_architecture(section: Section, model_type: str, notes: Notes) -> None:
    """Find a key that only code of another architecture has, whose name the model type is too."""
    keys, says = readers.NAMESAKES.get(model_type, ((), ""))
    for key, value in section.given(keys)[:1]:
        rule = f"be left to another architecture that calls itself {model_type}, which posenc doesn't read: {says}"
        notes.find("error", "other-architecture", key, value, rule)


def verify_known(section: Section, model_type: str, notes: Notes) -> None:
    """Warn of a model type that isn't in the tables: it may turn in its own way, or not at all."""
    _verify_nesting(section, model_type, notes)
    if is_known(model_type):
        _verify_architecture(section, model_type, notes)
        _verify_own_code(section, model_type, notes)
        return
    turns = section.given(spellings.ROTARY)
    named = section.get("model_type") or section.given(spellings.HIDDEN) or (turns and "dim" not in section.values)
    for key, value in section.given(spellings.OF_OTHER_FILES)[:1] if not named else ():
        base = section.get("base_model_name_or_path")
        where = f" ({base})" if key.endswith("peft_type") and base else ""
        rule = f"be left to a file of another kind: this looks like {spellings.OF_OTHER_FILES[key]}{where}"
        notes.find("error", "other-file", key, value, rule)
        return
    if is_known(given := str(section.get("model_type"))):
        rule = "be a type that turns in transformers: layers are read as the model's own code may turn them, as most types do"
        notes.find("warning", "unknown-model-type", section.name("model_type"), given, rule)
    elif turns or section.below(spellings.BASE_MAPPING) or section.get("position_embedding_type") in spellings.ROTATION:
        close = model_type.lower() if is_known(model_type.lower()) else ""
        rule = "be a model type that posenc knows: layout, defaults and which layers turn are assumed as most have them"
        rule += f" (did you mean {close}?)" if close else ""
        notes.find("warning", "unknown-model-type", section.name("model_type"), section.get("model_type") or model_type or None, rule)
    else:
        parts = list(_turning_parts(section))
        each = "it" if len(parts) == 1 else "each"
        rule = f"be one that posenc knows, or a key such as {spellings.BASE[0]} must say that its layers turn"
        if parts:
            rule = f"be one that posenc knows: {' and '.join(parts)} can turn, and {each} can be explained as a file of its own"
        notes.find("error", "no-rotary-key", section.name("model_type"), model_type or None, rule)


def _turning_parts(section: Section) -> Iterator[str]:
    """Yield the mappings below, or one further down, that say how the layers of a part of the model turn."""
    for part in (part for key in section.values if (part := section.below(key))):
        if part.given(spellings.ROTARY) and part.given((*spellings.LAYERS, *spellings.HIDDEN)):
            yield ".".join(part.path)
        elif len(part.path) < 2:
            yield from _turning_parts(part)


def _verify_own_code(section: Section, model_type: str, notes: Notes) -> None:
    """Warn of a file whose code is the model's own, and whose classes have the name of another type than the one that is read."""
    named = section.get("architectures")
    words = re.findall(r"[a-z]+|[0-9]+", plain_name(model_type).lower())
    names = [_plain(each) for each in named if isinstance(each, str)] if isinstance(named, list) else []
    of_type = any(all(word in name for word in words) for name in names) or model_type in readers.OWN_CODE
    if section.get("auto_map") and names and not of_type and family(model_type).turns:
        rule = f"name a class of {model_type}: auto_map says that the model has code of its own, and layers are read as {model_type}'s"
        notes.find("warning", "own-code", section.name("architectures"), named, rule)


def _verify_nesting(section: Section, model_type: str, notes: Notes) -> None:
    """Warn of a language model whose keys stand at the top, where the class of the whole reads none of them."""
    place = parts.WITHIN.get(model_type, "")
    keys = [key for key, _ in section.given(OF_TEXT)]
    if keys and place and not section.path:
        reads = f"at the top transformers 5.23 reads none of these for {model_type}, and takes what its class has"
        notes.find("warning", "no-section", place, None, f"be given, with {', '.join(keys)} in it: {reads}")
