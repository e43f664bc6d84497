"""Where tokens of images and videos stand: what a configuration says to the code that counts their positions."""

from collections.abc import Mapping
from typing import Any

from refimpl.configuration.families import Family
from refimpl.configuration.findings import Notes
from refimpl.configuration.sections import Section, is_number, near_miss

#: Where the encoder of images stands: beside the language model, or with it in the part that thinks.
PLACES = ((), ("thinker_config",))
VISION, MERGE = "vision_config", "spatial_merge_size"
#: What each key of the encoder, or beside it, says of the positions; the value stands in it.
SAYS = {
    MERGE: "of an image or a video {0} x {0} patches are one token, so rows and columns are divided by {0}",
    "temporal_merge_size": "{0} steps in time of a video are one",
    "tokens_per_second": "positions of a video follow its time, {0} per second",
    "position_id_per_seconds": "positions of videos and sound follow their time, {0} per second",
    "seconds_per_chunk": "videos and sound take turns every {0} seconds",
}
BESIDE = ("position_id_per_seconds", "seconds_per_chunk")
#: What the encoder has besides, by names that could be meant.
ENCODER = frozenset({*SAYS, "patch_size", "temporal_patch_size", "spatial_patch_size", "image_size"})
#: The tokens that stand for a patch; code finds the grids by them.
TOKENS = ("image_token_id", "video_token_id")
MARKS = frozenset(
    {
        *TOKENS,
        *("vision_token_id", "audio_token_id"),
        *(f"{kind}_{end}_token_id" for kind in ("vision", "image", "video", "audio") for end in ("start", "end")),
        *("image_token_index", "video_token_index", "audio_token_index", "user_token_id", "pad_token_id", "eos_token_id", "bos_token_id"),
    }
)


def verify(configuration: Mapping[str, Any], section: Section, own: Family, notes: Notes) -> None:
    """Note what concerns the places of images and videos, where the code of a model type turns by them."""
    if not own.axes_order:
        return
    every = [found for path in PLACES if (found := _at(configuration, path)) is not None]
    for beside in every:
        _verify_tokens(beside, notes)
        _read(beside, [key for key in BESIDE if key in own.image_keys], {}, notes)
        if beside.get(VISION) is not None and beside.below(VISION) is None:
            notes.find("error", "no-mapping", beside.name(VISION), beside.get(VISION), "be a mapping")
    encoders = [found for beside in every if (found := beside.below(VISION)) is not None]
    for encoder in encoders[:1]:
        within = {MERGE: 2, **{key: value for key, value in own.image_keys.items() if key not in BESIDE}}
        _read(encoder, [MERGE, *within], within, notes)
        _verify_encoder(encoder, within, notes)
    for outside in (*every, *([section] if section.path else [])):
        for key in (MERGE, "temporal_merge_size", "tokens_per_second"):
            if outside.get(key) is not None:
                where = encoders[0].name(key) if encoders else f"{VISION}.{key}"
                notes.find("warning", "outside-vision", outside.name(key), outside.get(key), f"stand in {where}, where code reads it")


def _at(configuration: Mapping[str, Any], path: tuple[str, ...]) -> Section | None:
    found: Section | None = Section(configuration)
    for key in path:
        found = found.below(key) if found else None
    return found


def _read(section: Section, keys: list[str], usual: Mapping[str, int], notes: Notes) -> None:
    """Note what keys say, or what code takes where they say nothing."""
    for key in dict.fromkeys(keys):
        value = section.get(key)
        whole = key != "seconds_per_chunk"
        if value is None and key in usual:
            notes.assume(section.name(key), usual[key], SAYS[key].format(usual[key]))
        elif value is not None and (not is_number(value) or value <= 0 or (whole and not isinstance(value, int))):
            notes.find("error", "bad-value", section.name(key), value, "be a whole number above 0" if whole else "be a number above 0")
        elif value is not None:
            notes.decide(section.name(key), value, SAYS[key].format(value))


def _verify_encoder(encoder: Section, read: Mapping[str, int], notes: Notes) -> None:
    """Warn of keys of the encoder that the code of the model type doesn't read."""
    for key, value in encoder.values.items():
        if key in SAYS and key not in read and value is not None:
            notes.find("warning", "unread-key", encoder.name(key), value, "be left out: the code of this model type doesn't read it")
        elif key not in ENCODER and (close := near_miss(key.lower(), ENCODER, cutoff=0.8)):
            notes.find("warning", "misspelt-key", encoder.name(key), value, f"be a key that is read (did you mean {close}?)")


def _verify_tokens(section: Section, notes: Notes) -> None:
    """Find tokens that can't tell an image from a video, and warn of misspelt ones."""
    given = [(key, section.get(key)) for key in sorted(MARKS) if section.get(key) is not None]
    for key, value in given:
        listed = value if isinstance(value, list) else [value]
        if key in TOKENS and (type(value) is not int or value < 0):
            notes.find("error", "bad-value", section.name(key), value, "be the number of a token")
        for other in TOKENS:
            if key > other and key != other and section.get(other) is not None and section.get(other) in listed:
                rule = f"be another token than {other}: grids are found by it"
                notes.find("error", "equal-tokens", section.name(key), value, rule)
    for key, value in section.values.items():
        if key not in MARKS and value is not None and (close := near_miss(key.lower(), MARKS, cutoff=0.9)):
            notes.find("warning", "misspelt-key", section.name(key), value, f"be a key that is read (did you mean {close}?)")
