"""The base of the frequencies."""

import itertools
from typing import Any

from refimpl.configuration import spellings
from refimpl.configuration.families import Family
from refimpl.configuration.findings import Notes
from refimpl.configuration.layers import Layer
from refimpl.configuration.sections import MOST, Section, agreed, is_number

#: What most code takes where no key gives a base.
USUAL = 10_000.0


def base(section: Section, rope: Section | None, layer: Layer, family: Family, notes: Notes, *, nested: bool) -> float | None:
    """Return the base of a kind of layers; two keys that differ are an error, and no key an assumption."""
    _verify_null(section, rope, notes)
    found = agreed(_given(section, rope, layer, family, nested=nested), "two-bases", "the base", notes)
    ratio = section.get("rope_ratio")
    if ratio is not None and found is None:
        found = (section.name("rope_ratio"), USUAL * ratio if is_number(ratio) else ratio)
        notes.decide(found[0], ratio, f"the base is {USUAL:g} times rope_ratio")
    if found is None:
        return _assumed(layer, family, notes)
    key, value = found
    if not is_number(value) or value <= 1:
        notes.find("error", "no-base", key, value, f"be a number above 1, at most {MOST:g}")
        return None
    notes.decide(key, value, f"the base is {value:,.10g}")
    return float(value)


def _verify_null(section: Section, rope: Section | None, notes: Notes) -> None:
    """Warn of a base that is there and null: transformers takes it as it is, and raises, unless a mapping has a base."""
    of_kinds = (*spellings.BASE_OF_KIND["sliding_attention"][:2], *spellings.BASE_OF_KIND["full_attention"])
    keys = (spellings.BASE[0], "rotary_emb_base", *of_kinds)
    for where, key in itertools.product((section, *([rope] if rope else [])), keys):
        counts = key == spellings.BASE[0] and where is section and rope is not None and rope.get(key) is not None
        if key in where.values and where.values[key] is None and not counts:
            notes.find("warning", "null-base", where.name(key), None, "be a number, or left out: with a null transformers raises an error")


def _given(section: Section, rope: Section | None, layer: Layer, family: Family, *, nested: bool) -> list[tuple[str, Any]]:
    if layer.base:
        return [layer.base]
    own = section.given(spellings.BASE_OF_KIND.get(layer.kind, ()))
    attention = section.below(spellings.ATTENTION_CONFIG) if family.base_in_attention else None
    inside = rope.given(("rope_theta",)) if rope else []
    outside = [pair for pair in section.given(spellings.BASE) if not isinstance(pair[1], list)]
    outside += attention.given(spellings.BASE[:1]) if attention else []
    outside += mapped.given(("base",)) if (mapped := section.below(spellings.BASE_MAPPING)) else []
    if nested:
        return inside + own or outside
    if own or layer.kind in family.kind_bases:
        return own or ([] if layer.kind in family.plain else inside)
    return [] if layer.kind in family.plain and family.plain_base is not None else inside + outside


def _assumed(layer: Layer, family: Family, notes: Notes) -> float:
    plain = family.plain_base if layer.kind in family.plain else family.kind_bases.get(layer.kind)
    value = plain or family.base
    says = "as in this model type" if value else "which most code takes; models differ"
    notes.assume("rope_theta", value or USUAL, f"the base is {value or USUAL:,.10g}, {says}")
    return value or USUAL
