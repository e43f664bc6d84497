"""What the classes of transformers raise an error at: nulls, and mappings of another shape than their code reads."""

from collections.abc import Iterator
from dataclasses import replace

from refimpl.configuration import readers, spellings
from refimpl.configuration.defaults import SHARING_ALWAYS, SIZED
from refimpl.configuration.families import Family, has_class, is_known, plain_name
from refimpl.configuration.findings import Notes
from refimpl.configuration.layers import entries
from refimpl.configuration.sections import Section

ORIGINAL = spellings.ORIGINAL_LENGTH
WITHOUT = "be given: without it transformers raises an error for this model type"
#: Rope types that read the original length.
OF_LENGTH = ("llama3", "longrope", "yarn")
#: Names of rope types that other code knows, and most classes of transformers don't.
UNKNOWN = frozenset({*spellings.ALIASES, "axial", "mrope", "ntk", "xdrope", "yarn_log"})


def without_refused(section: Section, model_type: str, own: Family, notes: Notes) -> Section:
    """Return a section without nulls at which the class of a model type raises an error, and warn of these and of mappings."""
    if not (own.turns or own.windowless) or own.grid is not None:
        return section
    section = _without_nulls(section, model_type, own, notes)
    section = _without_length_beside(section, own, notes) if own.nests and is_known(model_type) else section
    return _with_mappings(section, model_type, own, notes) if own.mapped else section


def _without_nulls(section: Section, model_type: str, own: Family, notes: Notes) -> Section:
    nulls = [key for key, value in section.values.items() if value is None or (key in spellings.ROPE and value == {})]
    nulls = [key for key in nulls if _refuses_null(key, section, model_type, own)]
    for key in nulls:
        notes.find("warning", "refused-null", section.name(key), section.values[key], _instead(key, section))
    return section.without(nulls)


def _without_length_beside(section: Section, own: Family, notes: Notes) -> Section:
    """Return a section without an original length beside its mapping, where the class reads the one within it alone."""
    if not _reads_length(section, own):
        return section
    for key, value in section.given((ORIGINAL,)):
        rule = "stand within the mapping, where alone transformers reads it for this model type"
        notes.find("warning", "unread-length", key, value, rule)
    return section.without((ORIGINAL,))


def _reads_length(section: Section, own: Family) -> bool:
    """Whether any rope type of a section reads the original length."""
    return any(each in OF_LENGTH for mapping in _mappings(section, own) for each in _types(mapping))


def _instead(key: str, section: Section) -> str:
    """Say what a null must be."""
    longest = section.given(spellings.MAX_LENGTH)
    other = f", and other code takes {longest[0][0]} ({longest[0][1]})" if longest and key == ORIGINAL else ""
    empty = ", and at an empty mapping" if key in spellings.ROPE else ""
    return f"be given a value, or left out: transformers raises an error at null{empty}{other}"


def _refuses_null(key: str, section: Section, model_type: str, own: Family) -> bool:
    """Whether a class raises an error where a key beside the mapping is null."""
    name = plain_name(model_type)
    if key in spellings.ROPE and any(value for _, value in section.given(spellings.ROPE)):
        return False
    if key == ORIGINAL and not (own.nests and is_known(model_type)) and _reads_length(section, own):
        return True
    sized = key in SIZED and is_known(model_type) and name not in SIZED[key]
    beside, listed = readers.NULLS_WITHOUT.get(key, ("", ()))
    if name in listed and not section.get(beside):
        return True
    return name in readers.NULLS.get(key, ()) or (sized and (own.latent is not None or key not in spellings.OF_LATENT))


def _with_mappings(section: Section, model_type: str, own: Family, notes: Notes) -> Section:
    """Return a section without nulls within its mappings; of these, and of a mapping that the class doesn't take, it is warned."""
    if own.needs_width and not section.given(spellings.HEAD_DIM):
        notes.find("warning", "asked-key", section.name("head_dim"), None, WITHOUT)
    for key in (key for key in spellings.ROPE if section.below(key) and key not in own.unread):
        mapping = section.below(key) or Section({})
        if entries(mapping.values) and not own.nests:
            rule = f"be flat: for {model_type} transformers 5.23 raises an error at one that is nested by kinds, or turns by its usual base"
            notes.find("warning", "not-flat", ".".join(mapping.path), mapping.values, rule)
        for each in _nested(mapping):
            if has_class(model_type):
                _verify_type(each, model_type, own, notes)
        section = replace(section, values={**section.values, key: _within(section, mapping, model_type, own, notes)})
    return section


def _verify_type(mapping: Section, model_type: str, own: Family, notes: Notes) -> None:
    """Warn of the name of a rope type that the class doesn't know, or at which it raises an error without a length within."""
    for key, value in mapping.given(("rope_type",) if "rope_type" in mapping.values else ("type",)):
        if value == "su" and own.longrope_by_yarn:
            if ORIGINAL not in mapping.values:
                rule = "be given here too, or the type be longrope: beside su transformers 5.23 raises an error without it, 4.57 doesn't"
                notes.find("warning", "asked-key", mapping.name(ORIGINAL), None, rule)
        elif isinstance(value, str) and value in UNKNOWN and value not in own.types and not (own.nested and key.endswith(".type")):
            instead = spellings.ALIASES.get(value, "default" if value == "mrope" else f"one of {', '.join(readers.ROPE_TYPES)}")
            rule = f"be {instead}: at this name transformers 5.23 raises an error for {model_type}"
            notes.find("warning", "refused-type", key, value, rule)


def _within(section: Section, mapping: Section, model_type: str, own: Family, notes: Notes) -> dict[str, object]:
    """Return what a mapping says without nulls that are refused, and without what isn't read of a nested one."""
    values: dict[str, object] = dict(mapping.values)
    for each in _nested(mapping):
        refused = [key for key in _refused(each, model_type, own) if key in each.values and each.values[key] is None]
        for key in refused:
            notes.find("warning", "refused-null", each.name(key), None, _instead(key, section))
        unread = ["truncate"] if own.nests and is_known(model_type) else []
        for key, value in each.given(unread):
            if value is False:
                rule = "be left out, or true: transformers 5.23 doesn't read it where each kind of layers has a mapping"
                notes.find("warning", "ignored-key", key, value, rule)
        if each.path == mapping.path:
            values = dict(each.without([*refused, *unread]).values)
        else:
            values[each.path[-1]] = each.without([*refused, *unread]).values
    return values


def _refused(mapping: Section, model_type: str, own: Family) -> list[str]:
    """Return the keys of a mapping at whose null the class raises an error."""
    types = _types(mapping)
    copied = own.base_outside or own.one_base_flat  # beside which the class puts what it has itself
    shares = not own.whole and (own.latent is None or plain_name(model_type) in SHARING_ALWAYS)
    part = not copied and (shares or any(named != "default" for named in types))
    length = own.original is None and any(named in OF_LENGTH for named in types)
    named = {"partial_rotary_factor": part, ORIGINAL: length, "factor": "proportional" in types and has_class(model_type)}
    return [key for key, refused in named.items() if refused]


def _mappings(section: Section, own: Family) -> list[Section]:
    """Return the mappings of a section, or that of the class where there is none."""
    found = [each for key in spellings.ROPE if key not in own.unread and (each := section.below(key))]
    return [each for mapping in found or [Section(own.rope)] for each in _nested(mapping)]


def _nested(mapping: Section) -> Iterator[Section]:
    """Yield the mappings of kinds within a mapping, or the mapping where it is flat."""
    inside = [each for kind in entries(mapping.values) if (each := mapping.below(kind))]
    yield from inside or [mapping]


def _types(mapping: Section) -> list[object]:
    return [value for _, value in mapping.given(("rope_type", "type"))]
