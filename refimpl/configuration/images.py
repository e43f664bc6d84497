"""Where tokens of images and videos stand: what a configuration says to the code that counts their positions."""

from collections.abc import Collection, Mapping
from typing import Any

from refimpl.configuration import spellings
from refimpl.configuration.families import Family
from refimpl.configuration.findings import Notes
from refimpl.configuration.sections import Section, is_number, near_miss

#: Where the language model, and the encoder of images beside it, stand together with what makes speech of their text.
THINKER = "thinker_config"
#: What has keys of its own for the same things.
APART = ("talker_config", "code2wav_config", "token2wav_config")
#: How far down a mapping may stand for its keys to be looked at.
DEEPEST = 3
VISION, MERGE, FRAMES = "vision_config", "spatial_merge_size", "temporal_patch_size"
#: What each key of the encoder, or beside it, says of the positions; the value stands in it.
SAYS = {
    MERGE: "of an image or a video {0} x {0} patches are one token, so rows and columns are divided by {0}",
    FRAMES: "{0} frames of a video are one step in time",
    "temporal_merge_size": "{0} steps in time of a video are one",
    "tokens_per_second": "positions of a video follow its time, {0} per second",
    "position_id_per_seconds": "positions of videos and sound follow their time, {0} per second",
    "seconds_per_chunk": "videos and sound take turns every {0} seconds",
}
BESIDE = ("position_id_per_seconds", "seconds_per_chunk")
UNREAD = "be left out: the code of this model type doesn't read it"
#: What the encoder has besides, by names that could be meant.
ENCODER = frozenset({*SAYS, "patch_size", "spatial_patch_size", "image_size"})
#: What the processor calls a key of the encoder.
PROCESSOR = {"merge_size": MERGE}
#: The tokens that stand for a patch; code finds the grids by them.
TOKENS = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")
#: What begins and ends with a token.
BOUNDED = ("vision", "image", "video", "audio")
MARKS = frozenset(
    {
        *TOKENS,
        *("vision_token_id", "audio_token_id", "audio_token_index"),
        *(f"{kind}_{end}_token_id" for kind in BOUNDED for end in ("start", "end")),
        *("user_token_id", "pad_token_id", "eos_token_id", "bos_token_id", "eod_token_id", "im_start_token_id", "im_end_token_id"),
    }
)


def verify(configuration: Mapping[str, Any], own: Family, notes: Notes) -> None:
    """Note what concerns the places of images and videos, where the code of a model type turns by them."""
    if not own.axes_order:
        return
    top = Section(configuration)
    beside = top.below(THINKER) or top
    for section in (top, beside) if beside.path else (top,):
        _verify_tokens(section, notes)
    _read(beside, [key for key in BESIDE if key in own.image_keys], {}, notes)
    given = beside.get(VISION)
    encoder = beside.below(VISION) or Section({}, (*beside.path, VISION))
    if given is not None and not isinstance(given, Mapping):
        notes.find("error", "no-mapping", beside.name(VISION), given, "be a mapping")
    elif given is not None or not str(top.get("model_type")).endswith("_text"):
        within = {MERGE: 2, **{key: value for key, value in own.image_keys.items() if key not in BESIDE}}
        _read(encoder, [MERGE, FRAMES, *within], within, notes)
        _verify_twins(encoder, beside, own, notes)
        _verify_encoder(encoder, {*within, *own.image_twins, FRAMES}, notes)
    _verify_elsewhere(top, beside, encoder, own, notes)


def _read(section: Section, keys: list[str], usual: Mapping[str, int], notes: Notes) -> None:
    """Note what keys say, or what code takes where they say nothing; a null is what code reads, and can't divide by."""
    for key in dict.fromkeys(keys):
        value = section.get(key)
        whole = key != "seconds_per_chunk"
        if key not in section.values:
            if key in usual:
                notes.assume(section.name(key), usual[key], SAYS[key].format(usual[key]))
        elif not is_number(value) or value <= 0 or (whole and not isinstance(value, int)):
            notes.find("error", "bad-value", section.name(key), value, "be a whole number above 0" if whole else "be a number above 0")
        else:
            notes.decide(section.name(key), value, SAYS[key].format(value))


def _verify_twins(encoder: Section, beside: Section, own: Family, notes: Notes) -> None:
    """Warn of a key that vLLM reads in the place of the one that transformers reads, where the two differ."""
    for twin, key in own.image_twins.items():
        counts = own.image_keys[key] if beside.get(key) is None else beside.get(key)
        if encoder.get(twin) not in (None, counts):
            rule = f"be what {beside.name(key)} is ({counts}): vLLM reads this one in its place, transformers doesn't"
            notes.find("warning", "unread-key", encoder.name(twin), encoder.get(twin), rule, follows=[beside.name(key)])


def _verify_encoder(encoder: Section, read: Collection[str], notes: Notes) -> None:
    """Warn of keys of the encoder that the code of the model type doesn't read."""
    for key, value in encoder.values.items():
        if key in SAYS and key not in read and value is not None:
            notes.find("warning", "unread-key", encoder.name(key), value, UNREAD)
        elif key in spellings.SECTION_KEYS and value is not None:
            rule = "stand in the language model's rope_parameters: the encoder's own positions have other axes"
            notes.find("warning", "sections-outside", encoder.name(key), value, rule)
        elif key not in ENCODER and (close := _meant(key, read)):
            notes.find("warning", "misspelt-key", encoder.name(key), value, f"be a key that is read (did you mean {close}?)")


def _meant(key: str, read: Collection[str]) -> str:
    """Return the key of the encoder that another may mean, if code reads it; not one for the least or the most of it."""
    close = PROCESSOR.get(key) or near_miss(key.lower(), (ENCODER - SAYS.keys()).union(read), cutoff=0.8)
    return "" if key in (f"min_{close}", f"max_{close}") else close


def _verify_elsewhere(section: Section, beside: Section, encoder: Section, own: Family, notes: Notes) -> None:
    """Warn of keys that say where tokens stand, in every mapping whose keys this code doesn't read."""
    for key in [key for key in SAYS if key != FRAMES and section.path != encoder.path]:
        place = beside if key in BESIDE else encoder
        if section.get(key) is None or section.path == place.path:
            continue
        if key in {MERGE, *own.image_keys}:
            rule = f"stand in {place.name(key)}, where code reads it"
            notes.find("warning", "outside-vision", section.name(key), section.get(key), rule)
        else:
            notes.find("warning", "unread-key", section.name(key), section.get(key), UNREAD)
    for key in section.values:
        if key not in APART and len(section.path) < DEEPEST and (below := section.below(key)) is not None:
            _verify_elsewhere(below, beside, encoder, own, notes)


def _verify_tokens(section: Section, notes: Notes) -> None:
    """Find tokens that can't tell an image from a video, and warn of misspelt ones."""
    given = [(key, section.get(key)) for key in sorted(MARKS, key=lambda mark: (mark not in TOKENS, mark)) if section.get(key) is not None]
    for place, (key, value) in enumerate(given):
        if key in TOKENS and (type(value) is not int or value < 0):
            notes.find("error", "bad-value", section.name(key), value, "be the number of a token")
        for other, earlier in given[:place]:
            if other in TOKENS and _stands_for(key) != _stands_for(other) and earlier in (value if isinstance(value, list) else [value]):
                rule = f"be another token than {other}: grids are found by it"
                notes.find("error", "equal-tokens", section.name(key), value, rule)
    for start, end in ((f"{kind}_start_token_id", f"{kind}_end_token_id") for kind in BOUNDED):
        if section.get(start) is not None and section.get(start) == section.get(end):
            rule = f"be another token than {start}: it ends what that begins"
            notes.find("error", "equal-tokens", section.name(end), section.get(end), rule)
    for key, value in section.values.items():
        if key not in MARKS and value is not None and (close := near_miss(key.lower(), MARKS, cutoff=0.9)):
            notes.find("warning", "misspelt-key", section.name(key), value, f"be a key that is read (did you mean {close}?)")


def _stands_for(token: str) -> str:
    """Return what a token stands for, which two names may say."""
    return token.removesuffix("_id").removesuffix("_index")
