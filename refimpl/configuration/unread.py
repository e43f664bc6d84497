"""What the code of a model type reads of a configuration and what it doesn't, with a warning of all that is left over."""

from collections.abc import Collection, Iterator
from typing import Any

from refimpl.configuration import readers, scalings, spellings, temperatures
from refimpl.configuration.families import Family, is_known, plain_name, turns_whole
from refimpl.configuration.findings import Kind, Notes
from refimpl.configuration.layers import FULL, entries
from refimpl.configuration.sections import Section, is_number
from refimpl.configuration.widths import divided

#: Keys that say which layers turn.
UNTURNED = ("no_rope_layers", "no_rope_layer_interval")


def of_type(section: Section, model_type: str, own: Family) -> set[str]:
    """Return keys that only code of this model type reads, or of a type that posenc doesn't know."""
    reads = own.base_mapping or not is_known(model_type)
    mapped = {spellings.BASE_MAPPING} if reads and section.below(spellings.BASE_MAPPING) else set()
    return mapped | ({own.asked[0]} if own.asked else set()) | ({own.base_before} - {""})


def not_of_type(model_type: str, own: Family) -> set[str]:
    """Return keys that code of a known model type doesn't read, though that of others does."""
    if not is_known(model_type):
        return set()
    others = {*spellings.PICKED, *spellings.PICKS, *spellings.OF_ONE} - {own.picks, own.switch, *(own.asked or ())}
    others |= {*(spellings.PERIOD if own.period is None else ()), *(() if own.numbered else (spellings.LINEAR_CONFIG,))}
    indexed = {key for key in spellings.READ if key.startswith("index")} if own.indexer is None else set()
    projected = {"projection_dim"} if own.projected is None else set()
    parts = {*spellings.PART} if turns_whole(model_type) else set()
    sizes = {*_other_sizes(model_type, own), *_unlisted(model_type, own)}
    unread = {key for _, keys, _, _ in _unread(model_type, own) for key in keys}
    return others | indexed | projected | parts | sizes | unread | {*own.unread}


def read_by(section: Section, rope: Section | None, model_type: str, own: Family, notes: Notes) -> tuple[Section, Section | None]:
    """Return the section and the mapping without keys that the code of a model type doesn't read; each that says anything is warned of."""
    if not is_known(model_type):
        _verify_unknown(section, notes)
        return section, rope
    for name, left, unsaid, rule in _unread(model_type, own):
        beside = rope.given(left) if rope else []
        for key, value in (*section.given(left), *beside):
            if value not in unsaid:
                notes.find("warning", name, key, value, f"be left out: {rule}, not for {model_type}")
        section, rope = section.without(left), rope and rope.without(left)
    section = section.without(_listed(section, model_type, notes))
    section = section.without(_verify_sizes(section, model_type, own, notes) + _verify_types(section, model_type, own, notes))
    refused = [key for key, types in readers.REFUSED.items() if plain_name(model_type) in types]
    for key in (key for key in refused if key in section.values):
        rule = f"be left out: the class of {model_type} in transformers works it out, and raises an error where it is given"
        notes.find("warning", "refused-key", section.name(key), section.values[key], rule)
    section = section.without(refused)
    unread = _verify_unread(section, model_type, own, notes)
    section = section.without([key for key in unread if key not in spellings.ROPE])
    _verify_parts_of_whole(section, rope, model_type, notes)
    for key, value in section.given((spellings.RESTS,)):
        if value is own.turns:
            does = "turn" if own.turns else "don't turn"
            notes.find("warning", "unread-key", key, value, f"be left out: transformers doesn't read it, and layers of {model_type} {does}")
    if not own.mapped:
        _verify_unmapped(rope, model_type, own, notes)
        section, rope = section.without(spellings.ROPE), None
    rope = None if rope is not None and rope.path[-1] in own.unread else rope
    if own.base_mapping:
        _verify_mapping_of_base(section, notes)
    return section.without((*unread, *(() if own.base_mapping else (spellings.BASE_MAPPING,)))), rope


def _other_sizes(model_type: str, own: Family) -> dict[str, str]:
    """Return keys of sizes that the class of a model type doesn't read, and those that it reads in their place."""
    name = plain_name(model_type)
    if not own.turns or name in readers.WITHOUT_CLASS:
        return {}
    return {key: counts for key, (counts, types) in readers.SIZES.items() if name not in types}


def _verify_sizes(section: Section, model_type: str, own: Family, notes: Notes) -> list[str]:
    """Return keys of sizes that the class of a model type doesn't read; those that say something else are warned of."""
    unread = _other_sizes(model_type, own)
    for (name, value), counts in ((pair, counts) for key, counts in unread.items() for pair in section.given((key,))):
        if value != section.get(counts):
            rule = f"be said by {counts}: transformers doesn't read it for {model_type}"
            notes.find("warning", readers.UNREAD_SIZES[counts], name, value, rule, follows=[section.name(counts)])
    return [*unread]


def _unlisted(model_type: str, own: Family) -> tuple[str, ...]:
    """Return keys that list the kinds of layers, where the class of a model type reads no such list."""
    reads = not own.turns or own.picks_alone or plain_name(model_type) in (*readers.LISTING, *readers.WITHOUT_CLASS)
    return () if reads else spellings.LAYER_TYPES


def _verify_types(section: Section, model_type: str, own: Family, notes: Notes) -> list[str]:
    """Return keys that list the kinds of layers and that a class doesn't read; warn of all but full attention."""
    unread = _unlisted(model_type, own)
    for key, value in section.given(unread):
        if value and (not isinstance(value, list) or any(kind != FULL for kind in value)):
            rule = f"be left out: transformers reads no kinds of layers for {model_type}, in which all are alike"
            notes.find("warning", "unread-layers", key, value, rule)
    return [*unread]


def _verify_unread(section: Section, model_type: str, own: Family, notes: Notes) -> list[str]:
    """Return keys that most code reads and that of a model type doesn't, but for those that say what counts; warn of the others."""
    agreeing = []
    for keys, named, usual in (
        (spellings.BASE, "unread-base", own.base or spellings.USUAL_BASE),
        (spellings.FRACTION, readers.UNREAD_PART, own.fraction or 1),
        (spellings.HEAD_DIM, "unread-width", divided(section)),
        (spellings.LAYOUT, "unread-layout", own.layout != "half"),
        (spellings.ROPE, "unread-mapping", None),
    ):
        counts = next((value for _, value in section.given(key for key in keys if key not in own.unread)), usual)
        for key, value in section.given(key for key in keys if key in own.unread):
            if value != counts:
                takes = "" if counts is None else f", and takes {counts}"
                notes.find("warning", named, key, value, f"be left out: transformers doesn't read it for {model_type}{takes}")
            else:
                agreeing.append(key.rpartition(".")[2])
    return [key for key in own.unread if key not in agreeing]


def _verify_unknown(section: Section, notes: Notes) -> None:
    """Warn of what posenc doesn't read in a model type that it doesn't know."""
    for key, value in section.given(spellings.UNREAD_WIDTHS):
        notes.find("warning", "unread-width", key, value, "be said by head_dim: posenc doesn't read it")
    for key, value in section.given(spellings.INTERLEAVE):
        if value is True:
            rule = f"be left out: {_readers(readers.LAYOUTS[spellings.INTERLEAVE[0]])}, and pairs are assumed to lie as in most types"
            notes.find("warning", "unread-layout", key, value, rule)
    _verify_mapping_of_base(section, notes)


def _verify_mapping_of_base(section: Section, notes: Notes) -> None:
    """Warn of a rule beside the base in a mapping of its own."""
    mapped = section.below(spellings.BASE_MAPPING)
    for key, value in mapped.given(mapped.values) if mapped else ():
        if key.rpartition(".")[2] != "base" and value != "origin":
            notes.find("warning", "unread-mapping", key, value, "be left out: posenc reads the base of this mapping, and no more")


def _listed(section: Section, model_type: str, notes: Notes) -> list[str]:
    """Return keys of a base that have a list of bases, which is an error where code has none."""
    listed = [key for key in spellings.BASE if isinstance(section.get(key), list)]
    for key in listed:
        rule = f"be one number: code of {model_type} has no list of bases"
        notes.find("error", "no-base", section.name(key), section.get(key), rule)
    return listed


def _verify_parts_of_whole(section: Section, rope: Section | None, model_type: str, notes: Notes) -> None:
    """Warn of a part of a head where code turns whole heads: it isn't read, and refused beside a scaling."""
    if not turns_whole(model_type):
        return
    mappings = [each for kind in entries(rope.values) if (each := rope.below(kind))] if rope else []
    mappings = mappings or [rope or Section({})]
    read = [each for each in mappings if "proportional" in _types(each)]
    scaled = [each for each in mappings if each not in read and any(named not in (*scalings.UNSCALED, "axial") for named in _types(each))]
    for place in (section, *(each for each in mappings if each not in read)):
        refused = place in scaled or (place is section and scaled)
        name = "refused-part" if refused else readers.UNREAD_PART
        why = f"beside a scaling transformers raises an error, since its code of {model_type} turns whole heads"
        why = why if refused else f"transformers reads it for types that turn a part of a head, not for {model_type}"
        for key, value in place.given(spellings.FRACTION if refused else () if place is section and read else spellings.PART):
            if value != 1:
                notes.find("warning", name, key, value, f"be left out: {why}", follows=map(section.name, spellings.ROPE))


def _types(rope: Section) -> list[object]:
    """Return the rope types that a mapping names."""
    return [value for _, value in rope.given(("rope_type", "type"))]


def of_scaled(section: Section, rope: Section | None, scaling: Section | None, own: Family) -> tuple[Section, Section | None]:
    """Return the section and the mapping of a kind without parts of a head, where code turns whole heads and nothing is scaled."""
    if not own.whole or scalings.rope_type(scaling, own, Notes()) not in ("default", "axial"):
        return section, rope
    return section.without(spellings.PART), rope and rope.without(spellings.PART)


def _verify_unmapped(rope: Section | None, model_type: str, own: Family, notes: Notes) -> None:
    """Warn of a mapping that says anything, where the code of a model type reads none."""
    if own.turns and rope is not None and any(value not in ("default", spellings.USUAL_BASE, None) for value in rope.values.values()):
        rule = f"be left out: code of {model_type} reads no such mapping, and nothing is scaled"
        notes.find("warning", "unread-mapping", ".".join(rope.path), rope.values, rule)


def _unread(model_type: str, own: Family) -> Iterator[tuple[str, Collection[str], tuple[Any, ...], str]]:
    """Yield keys that the code of a model type doesn't read: the warning's name, the keys, values that say nothing, and who reads them."""
    if own.without_every is None:
        yield "unread-layers", UNTURNED, ([],), "transformers reads it for llama4 and smollm3"
    if own.base_fixed:
        yield "unread-base", spellings.BASE, (spellings.USUAL_BASE,), "transformers reads it for most types"
    for warning, table, unsaid in readers.TABLES:
        for key, readable in table.items():
            if (own.turns or table is readers.HIDDEN) and plain_name(model_type) not in readable:
                yield warning, (key,), unsaid or (own.layout != "half",), _readers(readable)
    if not own.temperature:
        yield "unread-key", (temperatures.SWITCH,), (False,), "transformers reads it for llama4"
    if not own.values_asked:
        yield "unread-key", ("rotary_value",), (False, None), "transformers reads it for roformer"
    if plain_name(model_type) not in (*readers.GROWING, *readers.WITHOUT_CLASS):
        yield "unread-key", (spellings.SLOPE,), (0, None), _readers(readers.GROWING)
    if not own.doubles:
        yield "ignored-key", (temperatures.LOGARITHM,), (False,), "code of Qwen's first models reads it"


def _readers(types: Collection[str]) -> str:
    return f"it is read for {', '.join(types) or 'types that posenc does not know'}"


def verify_outside(section: Section, rope: Section | None, notes: Notes) -> None:
    """Warn of keys of a scaling outside of it."""
    for key, value in section.given(spellings.WITHIN):
        place = ".".join(rope.path) if rope else spellings.ROPE[0]
        notes.find("warning", "outside-scaling", key, value, f"stand in {place} where a rule is to read it")


def verify_read(section: Section, rope: Section | None, kinds: tuple[Kind, ...], own: Family, notes: Notes) -> None:
    """Warn of bases that no kind of layers takes, and of a length that is less than the original."""
    named = {decision.key for kind in kinds for decision in kind.decisions if not decision.assumed}
    bases = [key for keys in spellings.BASE_OF_KIND.values() for key in keys]
    listed_bases = spellings.BASE if section.given(("layer_rope_theta",)) else ()
    told = {each.key for each in (*notes.findings, *(each for kind in kinds for each in kind.findings))}
    nested = [each.get("rope_theta") for each in entries(rope.values).values()] if rope else []
    used = [kind.rotation.parameters["base"] for kind in kinds if kind.rotation]
    used += nested if used else []
    of_no_layer = [key for key in spellings.BASE if used and section.name(key) not in told and section.get(key) not in used]
    for key, value in section.given(dict.fromkeys((*bases, "rope_ratio", *listed_bases, *of_no_layer))):
        if key not in named and value not in used:
            follows = map(section.name, spellings.OF_LAYERS)
            notes.find("warning", "unread-base", key, value, "be left out: no layer has this base", follows=follows)
    original = (*(rope.given((spellings.ORIGINAL_LENGTH,)) if rope else ()), *section.given((spellings.ORIGINAL_LENGTH,)))
    for key, value in section.given(spellings.MAX_LENGTH[:1]):
        if original and is_number(value) and is_number(original[0][1]) and value < original[0][1]:
            rule = f"be at least {original[0][0]} ({original[0][1]:g}), which a scaling lengthens"
            notes.find("warning", "shortened", key, value, rule, follows=[original[0][0]])
    lengths = [each.rotation.parameters.get("original_length") for each in kinds if each.rotation]
    longest = section.get(spellings.MAX_LENGTH[0])
    for key, value in section.given((spellings.ORIGINAL_LENGTH,)):
        if is_number(value) and is_number(longest) and value < longest and value not in (*lengths, own.original):
            rule = "be left out, or stand beside a scaling that reads it: no layer does"
            notes.find("warning", "unread-length", key, value, rule, follows=map(section.name, spellings.ROPE))
