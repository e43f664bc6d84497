"""What the classes of transformers raise an error at: nulls, and mappings of another shape than their code reads."""

from collections.abc import Iterator
from dataclasses import replace

from refimpl.configuration import readers, spellings
from refimpl.configuration.defaults import SIZED
from refimpl.configuration.families import Family, is_known, plain_name
from refimpl.configuration.findings import Notes
from refimpl.configuration.layers import entries
from refimpl.configuration.sections import Section

ORIGINAL = spellings.ORIGINAL_LENGTH
WITHOUT = "be given: without it transformers raises an error for this model type"
#: Rope types that read the original length.
OF_LENGTH = ("llama3", "longrope", "yarn")


def without_refused(section: Section, model_type: str, own: Family, notes: Notes) -> Section:
    """Return a section without nulls at which the class of a model type raises an error; each is warned of, and so is a mapping."""
    if not own.turns or own.grid is not None:
        return section
    section = _without_nulls(section, model_type, own, notes)
    return _with_mappings(section, model_type, own, notes) if own.mapped else section


def _without_nulls(section: Section, model_type: str, own: Family, notes: Notes) -> Section:
    nulls = [key for key in section.values if section.values[key] is None and _refuses_null(key, section, model_type, own)]
    for key in nulls:
        notes.find("warning", "refused-null", section.name(key), None, _instead(key, section))
    return section.without(nulls)


def _instead(key: str, section: Section) -> str:
    """Say what a null must be."""
    longest = section.given(spellings.MAX_LENGTH)
    other = f", and other code takes {longest[0][0]} ({longest[0][1]})" if longest and key == ORIGINAL else ""
    return f"be given a value, or left out: transformers raises an error at null{other}"


def _refuses_null(key: str, section: Section, model_type: str, own: Family) -> bool:
    """Whether a class raises an error where a key beside the mapping is null."""
    name = plain_name(model_type)
    if key in spellings.ROPE and section.given(spellings.ROPE):
        return False
    if key == ORIGINAL and any(each in OF_LENGTH for mapping in _mappings(section, own) for each in _types(mapping)):
        return True
    sized = key in SIZED and is_known(model_type) and name not in SIZED[key]
    return name in readers.NULLS.get(key, ()) or (sized and (own.latent is not None or key not in spellings.OF_LATENT))


def _with_mappings(section: Section, model_type: str, own: Family, notes: Notes) -> Section:
    """Return a section without nulls within its mappings; of these, and of a mapping that the class doesn't take, it is warned."""
    if own.needs_width and not section.given(spellings.HEAD_DIM):
        notes.find(
            "warning", "asked-key", section.name("head_dim"), None, WITHOUT
        )
    for key in (key for key in spellings.ROPE if section.below(key)):
        mapping = section.below(key) or Section({})
        if entries(mapping.values) and not own.nests:
            rule = f"be flat: for {model_type} transformers 5.23 raises an error at one that is nested by kinds, or turns by its usual base"
            notes.find("warning", "not-flat", ".".join(mapping.path), mapping.values, rule)
        for each in _nested(mapping):
            _verify_su(each, own, notes)
        section = replace(section, values={**section.values, key: _within(section, mapping, own, notes)})
    return section


def _verify_su(mapping: Section, own: Family, notes: Notes) -> None:
    """Warn of LongRoPE under its old name where the class doesn't know that, or raises an error without a length within."""
    for key, value in mapping.given(("rope_type", "type")):
        if value == "su" and not own.longrope_by_yarn:
            notes.find(
                "warning",
                "refused-type",
                key,
                value,
                "be longrope: for types other than Phi-3 transformers 5.23 raises an error at the old name",
            )
        elif value == "su" and ORIGINAL not in mapping.values:
            rule = f"be given beside su, even where it stands beside {'.'.join(mapping.path)}: without it transformers raises an error"
            notes.find("warning", "asked-key", mapping.name(ORIGINAL), None, rule)
            return


def _within(section: Section, mapping: Section, own: Family, notes: Notes) -> dict[str, object]:
    """Return what a mapping says without nulls that are refused."""
    values = dict(mapping.values)
    for each in _nested(mapping):
        scaled = any(named != "default" for named in _types(each))
        refused = ["partial_rotary_factor"] if scaled or not own.whole else []
        refused += [ORIGINAL] if own.original is None and any(named in OF_LENGTH for named in _types(each)) else []
        nulls = [key for key in refused if key in each.values and each.values[key] is None]
        for key in nulls:
            notes.find("warning", "refused-null", each.name(key), None, _instead(key, section))
        if each.path == mapping.path:
            values = {key: value for key, value in values.items() if key not in nulls}
        elif nulls:
            values[each.path[-1]] = each.without(nulls).values
    return values


def _mappings(section: Section, own: Family) -> list[Section]:
    """Return the mappings of a section, or that of the class where there is none."""
    found = [each for key in spellings.ROPE if (each := section.below(key))]
    return [each for mapping in found or [Section(own.rope)] for each in _nested(mapping)]


def _nested(mapping: Section) -> Iterator[Section]:
    """Yield the mappings of kinds within a mapping, or the mapping where it is flat."""
    inside = [each for kind in entries(mapping.values) if (each := mapping.below(kind))]
    yield from inside or [mapping]


def _types(mapping: Section) -> list[object]:
    return [value for _, value in mapping.given(("rope_type", "type"))]
