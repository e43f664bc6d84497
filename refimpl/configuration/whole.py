"""What a configuration says of the whole model, before its kinds of layers."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from refimpl.configuration import readers, scalings, spellings
from refimpl.configuration.families import FAMILIES, Family, is_known, plain_name
from refimpl.configuration.findings import Notes
from refimpl.configuration.layers import FULL, SLIDING, Layer, entries
from refimpl.configuration.sections import Section, near_miss

BOTH = "https://github.com/sgl-project/sglang/pull/26187"
ONE_BASE = "https://github.com/lablup/mlxcel/issues/1340"
#: Keys of what posenc doesn't judge, and what they say.
UNJUDGED = {
    "qk_scale_factor": "queries of every layer are multiplied by it before they turn; posenc doesn't judge it",
}
#: What is said of rotary keys that transformers has no place for.
AWAY = "be left out, or the model's own code be used, which alone reads it: transformers drops it, wherever it stands"


def respelt(section: Section, model_type: str, own: Family, notes: Notes) -> Section:
    """Return a section with common keys; warn of a type's own where both are given, and the class takes the common one."""
    mapped = own.spelt if plain_name(model_type) in readers.COMMON_FIRST else {}
    left = [key for key, common in mapped.items() if section.get(common) is not None]
    for (name, value), common in ((pair, mapped[key]) for key in left for pair in section.given((key,))):
        if value != section.get(common):
            rule = f"be what {section.name(common)} is, which transformers takes in its place ({section.get(common)})"
            notes.find("warning", "unread-key", name, value, rule)
    return section.without(left).respelt(own.spelt)


def settled(section: Section, own: Family, notes: Notes) -> Family:
    """Return what a model type says of a model in which single keys decide whether layers turn."""
    hidden = section.get("hidden_size")
    if own.asked and section.get(own.asked[0]) != own.asked[1]:
        key, wanted = own.asked
        value = section.get(key)
        if isinstance(value, str) and value.lower() == str(wanted).lower():
            notes.find("warning", "other-letters", section.name(key), value, f"be {wanted!r} in these letters: no layer turns as it is")
        note = notes.assume if value is None else notes.decide
        note(section.name(key), value, f"nothing turns: layers of this model type do where it is {wanted!r}")
        return replace(own, turns=False, told=True)
    if own.biased and (bias := own.biased.get(hidden if isinstance(hidden, int) else 0)) is None:
        rule = f"be {' or '.join(map(str, own.biased))}: by it code of this model type turns or not, and layers are read as turning"
        notes.find("warning", "unknown-size", section.name("hidden_size"), hidden, rule)
    elif own.biased and bias:
        notes.decide(section.name("hidden_size"), hidden, f"nothing turns: models of this size have {bias}")
        return replace(own, turns=False, told=True)
    if own.windowless and section.values.get("sliding_window", own) is None:
        turn = own.windowless == "turn"
        says = f"null: {'every' if turn else 'no'} layer turns, whatever its kind{', but for dense ones' if own.dense_turn else ''}"
        notes.decide(section.name("sliding_window"), None, says)
        if own.dense_turn:
            return replace(own, unturned=(FULL, SLIDING))
        return replace(own, unturned=(), pattern=None) if turn else replace(own, turns=False, told=True)
    return own


def without_latent(section: Section, own: Family, notes: Notes) -> tuple[Section, Family]:
    """Return a section and a family without latent attention, where a key switches it off."""
    if section.get(spellings.LATENT) is not False or not (own.latent or section.given(spellings.OF_LATENT)):
        return section, own
    says = "no latent attention: whole heads turn, as Llama's do (the model's own code reads it, transformers doesn't)"
    notes.decide(section.name(spellings.LATENT), section.get(spellings.LATENT), says)
    return section.without(spellings.OF_LATENT), replace(own, layout="half", latent=None)


def switched_on(section: Section, own: Family) -> tuple[Section, tuple[str, ...]]:
    """Return a section with the keys that a model type's class has switched on where they are missing, and these; without a length none.

    All of them follow the length that a model was trained for.
    """
    known = own.switched_on if section.given(spellings.TRAINED_LENGTH) else ()
    missing = tuple(key for key in known if key not in section.values)
    return replace(section, values={**section.values, **dict.fromkeys(missing, True)}), missing


def by_default(section: Section, own: Family, notes: Notes) -> tuple[Section, tuple[str, ...]]:
    """Return a section with the mapping, or the original length, that a model type has where none is given, and the key of it."""
    if section.get("rope_scaling") == {}:
        section = section.without(("rope_scaling",))
    if own.original is not None:
        section = _without_length_inside(section, own.original, notes)
    if own.original is not None and scales_without_length(section):
        return replace(section, values={**section.values, spellings.ORIGINAL_LENGTH: own.original}), (spellings.ORIGINAL_LENGTH,)
    if not own.rope or section.given(spellings.ROPE):
        return section, ()
    beside = [spellings.ORIGINAL_LENGTH] if section.given((spellings.ORIGINAL_LENGTH,)) else []
    of_class_rope = {key: value for key, value in own.rope.items() if key not in beside}
    says = f"{of_class_rope}, as the class of this model type in transformers has it where neither this nor rope_scaling is given"
    notes.assume(section.name(spellings.ROPE[0]), of_class_rope, says)
    rule = "stand in rope_parameters: transformers takes what the class of this model type has, where that isn't given"
    of_kinds = [key for keys in spellings.BASE_OF_KIND.values() for key in keys]
    fractions = spellings.FRACTION if entries(own.rope) else ()
    for name, keys in (("rope_theta", (*spellings.BASE, *of_kinds)), ("partial_rotary_factor", fractions)):
        of_class = [each[name] for each in (own.rope, *entries(own.rope).values()) if name in each]
        for key, value in section.given(keys if of_class else ()):
            if value not in of_class:
                notes.find("warning", "unread-base" if name == "rope_theta" else readers.UNREAD_PART, key, value, rule)
        section = section.without(keys) if of_class else section
    return replace(section, values={**section.values, spellings.ROPE[0]: of_class_rope}), spellings.ROPE[:1]


def _without_length_inside(section: Section, usual: int, notes: Notes) -> Section:
    """Return a section without an original length in its mapping, where the class reads the one beside that alone, and has a usual one."""
    beside = section.given((spellings.ORIGINAL_LENGTH,))
    for mapping in (each for key in spellings.ROPE if not beside and (each := section.below(key))):
        for key, value in mapping.given((spellings.ORIGINAL_LENGTH,)):
            if value != usual:
                rule = f"stand beside {'.'.join(mapping.path)}, where alone transformers reads it for this model type; it takes {usual}"
                notes.find("warning", "unread-length", key, value, rule)
        section = replace(section, values={**section.values, mapping.path[-1]: mapping.without((spellings.ORIGINAL_LENGTH,)).values})
    return section


def scales_without_length(section: Section) -> bool:
    """Whether a mapping has a scaling, and no key says which length the model was trained for."""
    mappings = [each for key in spellings.ROPE if (each := section.below(key))]
    named = any(value != "default" for each in mappings for _, value in each.given(("rope_type", "type")))
    return named and not any(each.given((spellings.ORIGINAL_LENGTH,)) for each in (section, *mappings))


def verify_mapping(rope: Section | None, own: Family, notes: Notes) -> None:
    """Warn of a mapping at which the type's code raises an error, whatever else it says."""
    if rope is None:
        return
    types = [value for _, value in rope.given(("rope_type", "type"))]
    ways = {
        "flat": (not entries(rope.values), "be nested by kinds of layers"),
        "old name": (rope.path[-1] != spellings.ROPE[0], f"stand in {spellings.ROPE[0]}"),
        "default": (not types or "default" in types, "name a scaling"),
    }
    if rules := [rule for way, (found, rule) in ways.items() if found and way in own.refused]:
        rule = f"{rules[0]}: as it is, transformers raises an error for this model type"
        notes.find("warning", "refused-mapping", ".".join(rope.path), rope.values, rule)


def without_base(section: Section, rope: Section | None, own: Family, notes: Notes) -> Section | None:
    """Return a flat mapping without its base and its fraction, where the type's code reads these beside it alone."""
    if not own.base_outside or rope is None or entries(rope.values):
        return rope
    for named, key, usual in (("unread-base", "rope_theta", own.base), (readers.UNREAD_PART, "partial_rotary_factor", own.fraction)):
        for name, value in rope.given((key,)):
            if value != (usual if section.get(key) is None else section.get(key)):
                notes.find("warning", named, name, value, "stand beside the mapping, where alone transformers reads it for this model type")
    return rope.without(("rope_theta", "partial_rotary_factor"))


def with_one_base(section: Section, rope: Section | None, own: Family, notes: Notes) -> tuple[Section, Family]:
    """Return the section and what a type says without bases of kinds, where its code reads none beside a flat mapping."""
    if not own.one_base_flat or rope is None or entries(rope.values):
        return section, own
    keys = [key for of_kind in spellings.BASE_OF_KIND.values() for key in of_kind]
    for key, value in section.given(keys):
        rule = "be left out: beside a flat mapping transformers turns all layers of this model type by one base"
        notes.find("warning", "unread-base", key, value, rule)
    return section.without(keys), replace(own, kind_bases={})


def of_flat(section: Section, rope: Section | None, own: Family, notes: Notes) -> tuple[Section, Section | None, Family]:
    """Return the section, the mapping and what a type says, as the type's code takes a mapping that is flat."""
    verify_mapping(rope, own, notes)
    section, own = with_one_base(section, rope, own, notes)
    section, rope = only_nested(section, without_base(section, rope, own, notes), own, notes)
    return section, rope, own


def only_nested(section: Section, rope: Section | None, own: Family, notes: Notes) -> tuple[Section, Section | None]:
    """Return the section and the mapping without a flat one under the new name, where the type's code reads a nested one alone."""
    if own.nested and not own.rope and rope is not None and not entries(rope.values):
        rope = _of_rope_type(rope, notes)
    if not own.nested or rope is None or rope.path[-1] != spellings.ROPE[0] or entries(rope.values):
        return section, rope
    if "flat" in own.refused:
        return section.without(spellings.ROPE), None
    rule = "be nested by kinds of layers: of a flat mapping of this name transformers reads nothing for this model type, or raises an error"
    notes.find("warning", "not-nested", ".".join(rope.path), rope.values, rule)
    return section.without(spellings.ROPE), None


def _of_rope_type(rope: Section, notes: Notes) -> Section:
    """Return a flat mapping without its scaling, where the type's code reads `rope_type` alone and it says `type`."""
    given = [] if rope.get("rope_type") is not None else rope.given(("type",))
    for key, value in given:
        if value != "default":
            rule = "stand under rope_type, which transformers 5.23 reads alone for this model type: it scales nothing, where 4.57 scales"
            notes.find("warning", "unread-type", key, value, rule)
    return rope.without(rope.values.keys() - {*spellings.BASE}) if given else rope


def verify_left_over(section: Section, own: Family, notes: Notes) -> None:
    """Warn of keys that the class of a model type, or a version of it, reads in another place or not at all."""
    verify_picks(section, own, notes)
    verify_attention_config(section, own, notes)
    verify_base_before(section, own, notes)


def verify_picks(section: Section, own: Family, notes: Notes) -> None:
    """Warn of a key that may say which layers have attention, and that isn't read for this model type."""
    if own.picks_alone:
        for key, value in section.given(spellings.LAYER_TYPES):
            rule = f"be left out: transformers reads {own.picks} for this model type"
            notes.find("warning", "unread-layers", key, value, rule)
    if not own.turns or section.given(spellings.LAYER_TYPES):
        return
    read_ones = spellings.READ - {*spellings.PICKED, *spellings.PICKS, *spellings.PERIOD} | {own.picks}
    for name, value in section.values.items():
        if name in read_ones or name.startswith("_") or _attends_everywhere(name, value):
            continue
        if value and value is not True and isinstance(value, list | str | int) and spellings.PICKING.search(name):
            types = sorted(each for each, of_type in FAMILIES.items() if of_type.picks == name)
            which = f", but for {', '.join(types)}" if types else ""
            rule = f"be said by layer_types: it may name layers without attention, and isn't read for this model type{which}"
            notes.find("warning", "unread-layers", section.name(name), value, rule)


def _attends_everywhere(name: str, value: Any) -> bool:
    """Whether each entry of a list of words says that a layer has full attention."""
    words = [word for word, kind in spellings.PICKS.get(name, {}).items() if kind == FULL]
    return isinstance(value, list) and all(entry in words for entry in value)


def verify_resting(section: Section, rope: Section | None, own: Family, notes: Notes) -> None:
    """Warn of a scaling, of a base that isn't the usual one, and of a word for rotation, where no layer turns."""
    if own.turns:
        return
    rule = "be left out: no layer of this model turns"
    for key, value in section.given(spellings.BASE):
        if value != spellings.USUAL_BASE:
            notes.find("warning", "unread-base", key, value, rule)
        else:
            notes.decide(key, value, "it isn't read: no layer of this model turns")
    for key, value in section.given(("position_embedding_type",)):
        if value in spellings.ROTATION and not own.told:
            notes.find("warning", "unread-key", key, value, rule)
    if rope is not None and any(value != "default" for _, value in rope.given(("rope_type", "type"))):
        notes.find("warning", "unread-mapping", ".".join(rope.path), rope.values, rule)


def verify_attention_config(section: Section, own: Family, notes: Notes) -> None:
    """Warn of rotary keys in a mapping of attention's own, where transformers drops them."""
    inside = section.below(spellings.ATTENTION_CONFIG)
    read = {spellings.BASE[0]} if own.base_in_attention else set()
    given = inside.given(spellings.OF_ATTENTION) if inside and inside.get("rope") is not False else []
    for key, value in given if own.turns else given[:1]:
        if key.rpartition(".")[2] not in read:
            leads = own.turns and key.rpartition(".")[2] != "rope"
            rule = "stand beside that mapping: transformers drops it there, and only the model's own code reads it" if leads else AWAY
            notes.find("warning", "unread-mapping", key, value, rule)
        elif value != spellings.USUAL_BASE and not _bases(section):
            drops = f"5.23 drops it and turns by base {spellings.USUAL_BASE:,}"
            rule = f"stand in rope_parameters, too: transformers 4.57 reads it here, {drops}"
            notes.find("warning", "unread-mapping", key, value, rule)


def verify_base_before(section: Section, own: Family, notes: Notes) -> None:
    """Warn of a base that transformers 4.57 alone takes, where it is another than 5.23 takes."""
    counts = next(iter(_bases(section)), (section.name(spellings.BASE[0]), own.base or spellings.USUAL_BASE))
    for key, value in section.given((own.base_before,)):
        if value != counts[1]:
            rule = f"be what {counts[0]} is ({counts[1]}): transformers 4.57 takes this one in its place, 5.23 doesn't read it"
            notes.find("warning", "unread-base", key, value, rule)
    for key, value in section.given((own.raised_before,)) if own.turns else ():
        if value is True:
            raised = "transformers 4.57 multiplies it by 8^(d/(d-2)), where heads have d channels, and 5.23 doesn't"
            rule = f"be left out, and {section.name(spellings.BASE[0])} be what is meant: {raised}"
            notes.find("warning", "unread-base", key, value, rule)
    nested = any(entries(value) for _, value in section.given(spellings.ROPE))
    for key, value in section.given(spellings.BASE[:1]) if own.one_base_before and not nested else ():
        for kind, usual in own.kind_bases.items():
            if value != usual:
                place = f"rope_parameters.{kind}"
                rule = f"be {usual:,.10g}, or stand in {place}, too: transformers 5.23 turns these layers by that, 4.57 by this"
                notes.find("warning", "unread-base", key, value, rule)


def _bases(section: Section) -> list[tuple[str, Any]]:
    """Return the bases that stand beside a mapping of attention's own, or in the mapping of the rope type."""
    mappings = [each for key in spellings.ROPE if (each := section.below(key))]
    return [pair for each in (section, *mappings) for pair in each.given(spellings.BASE)]


def tell_unjudged(section: Section, own: Family, notes: Notes) -> None:
    """Tell what code does besides turning queries and keys."""
    if (values := section.get("rotary_value")) is True:
        says = "values turn as queries and keys do, and outputs stay (partial_rope.attend_turned, outputs=kept)"
        notes.decide(section.name("rotary_value"), values, says)
    if own.projected_after and own.turns:
        notes.assume("projection", None, "hidden states turn, head by head, and queries and keys are made of what has turned")
    if own.values_kept:
        notes.assume("values", "turned", "values turn as queries and keys do, and outputs stay (partial_rope.attend_turned, outputs=kept)")
    if own.values_turn:
        notes.assume("values", "turned", "values turn as keys do, and outputs back by the query's position (partial_rope.attend_turned)")
    for key, value in section.given(UNJUDGED):
        notes.decide(key, value, UNJUDGED[key.rpartition(".")[2]])


def other_positions(section: Section, model_type: str, own: Family, notes: Notes) -> tuple[str, Any] | None:
    """Return the key that says that positions come in by something else than rotation; of a model that turns it is left over."""
    word, key = section.get("position_embedding_type"), section.name("position_embedding_type")
    if alibi := next((pair for pair in section.given(spellings.ALIBI) if pair[1] is True), None):
        return _biased(alibi, section, model_type, own, notes)
    if section.get(own.switch) is False:
        return section.name(own.switch), False
    if not isinstance(word, str) or word not in spellings.OTHER_POSITIONS or own.asked:
        return None
    if is_known(model_type) and own.turns and word != spellings.LEFT_OVER:
        notes.find("warning", "unread-key", key, word, f"be left out: transformers doesn't read it for {model_type}, whose layers turn")
    elif is_known(model_type) and own.turns:
        notes.decide(key, word, f"{word} is left over: this model type turns")
    elif section.given(spellings.ROTARY):
        notes.find("error", "two-positions", key, word, f"be rotary beside {section.given(spellings.ROTARY)[0][0]}")
    else:
        return key, word
    return None


def _biased(key: tuple[str, Any], section: Section, model_type: str, own: Family, notes: Notes) -> tuple[str, Any] | None:
    """Return the key that says that a bias stands in the place of a rotation, where the type's code reads it."""
    if not own.turns or own.alibi or not (is_known(model_type) or section.given(spellings.ROTARY)):
        return key if own.turns or not is_known(model_type) else None
    if is_known(model_type):
        notes.find("warning", "unread-key", *key, f"be left out: transformers reads it for falcon, not for {model_type}")
    else:
        notes.find("error", "two-positions", *key, f"be false beside {section.given(spellings.ROTARY)[0][0]}, or that be left out")
    return None


def longest_of(section: Section, told: Collection[str], notes: Notes) -> int | None:
    """Return how many positions a model has; what is no number of them is an error, unless it is told as one."""
    for key, value in section.given(spellings.MAX_LENGTH):
        if type(value) is int and value > 0:
            return value
        if key not in told:
            notes.find("error", "bad-length", key, value, "be a whole number of positions")
    return None


def verify_sections(rope: Section | None, model_type: str, own: Family, notes: Notes) -> Section | None:
    """Return the mapping without sections that the code of a model type doesn't read; they are warned of."""
    if rope is None or not is_known(model_type) or own.axes_order:
        return rope
    for key, value in rope.given(("mrope_section",)):
        rule = f"be left out: transformers reads it for model types with images only, not for {model_type}"
        notes.find("warning", "unread-sections", key, value, rule)
    return rope.without(("mrope_section",))


def verify_bases(section: Section, notes: Notes) -> None:
    """Warn where the layers of full attention have the base of those that slide: a converter wrote one over the other."""
    local, rest = section.get("rope_local_base_freq"), section.get("rope_theta")
    if local is not None and local == rest:
        notes.find("warning", "equal-bases", section.name("rope_theta"), rest, "be another base than rope_local_base_freq", ONE_BASE)


def verify_parts(configuration: Mapping[str, Any], section: Section, own: Family, notes: Notes) -> None:
    """Warn of a base that stands in another part of a model alone, as if the language model read it there."""
    if not own.turns or own.rope or _bases(section):
        return
    told = {*section.path, spellings.ATTENTION_CONFIG, *(each.key for each in notes.findings)}
    for key in (key for key in configuration if key.endswith("_config") and key not in told):
        for name, value in (Section(configuration).below(key) or Section({})).given(spellings.BASE):
            if value != spellings.USUAL_BASE:
                rule = f"stand in {'.'.join(section.path) or 'the language model'}, too, if it is to turn by it: it doesn't read it here"
                notes.find("warning", "outside-section", name, value, rule)


def tell_chunks(section: Section, notes: Notes) -> None:
    """Note that positions are to begin anew in every chunk of a long sequence, which no frequency shows."""
    key, given = section.name(spellings.DUAL_CHUNKS), section.get(spellings.DUAL_CHUNKS)
    if given is None:
        return
    sizes = {name: given.get(name, usual) for name, usual in spellings.CHUNK_SIZES.items()} if isinstance(given, Mapping) else {}
    if not sizes or any(type(size) is not int for size in sizes.values()) or not 0 < sizes["local_size"] < sizes["chunk_size"]:
        notes.find("error", "bad-chunks", key, given, "have a chunk_size and a local_size below it, in tokens")
        return
    chosen = ", ".join(f"{name}={size}" for name, size in sizes.items())
    says = f"beyond position {sizes['chunk_size']} positions begin anew in every chunk, where code reads it: dual_chunk.weights({chosen})"
    notes.decide(key, given, says)


def mapping(section: Section, notes: Notes) -> Section | None:
    """Return the mapping of the rope type, under its new or its old name; two that differ are an error."""
    found = section.given(spellings.ROPE)
    for key, value in found:
        if not isinstance(value, Mapping):
            notes.find("error", "no-mapping", key, value, "be a mapping")
            return None
        for inside in (inside for inside in spellings.ROPE if isinstance(value.get(inside), Mapping)):
            notes.find("error", "nested-mapping", f"{key}.{inside}", value[inside], f"be taken out, so that its keys stand in {key} itself")
            return None
    if len(found) == 2 and found[0][1] != found[1][1]:
        notes.find("error", "two-scalings", found[1][0], found[1][1], f"be what {found[0][0]} is, beside it", BOTH)
    return section.below(found[0][0].rsplit(".", 1)[-1]) if found else None


def verify_nested(section: Section, rope: Section, found: Mapping[Layer, object], own: Family, notes: Notes) -> None:
    """Warn of what nobody reads in a mapping that is nested by the kinds of layers."""
    names = {layer.kind for layer in found}
    if any(indices is None for indices in found.values()):
        rule, follows = "say which layers are of each kind", map(section.name, spellings.OF_LAYERS)
        notes.find("warning", "no-layer-types", section.name("layer_types"), None, rule, follows=follows)
        names = {*spellings.WITH_ATTENTION}
    bases = [value.get("rope_theta") for value in entries(rope.values).values()]
    for key, value in rope.values.items():
        possible = key in {*spellings.WITH_ATTENTION, *own.labels.values()} and isinstance(value, Mapping)
        if key not in names and possible and scalings.EVERY.issuperset(value):
            notes.decide(rope.name(key), value, "no layer is of this kind")
        elif isinstance(value, Mapping) and key not in names:
            free = names - rope.values.keys()
            close = next((name for name in sorted(free) if name.startswith(key)), "") or near_miss(key, free)
            hint = f" (did you mean {close}?)" if close else ""
            rule, told = f"be one of the kinds of layers ({', '.join(sorted(names))}){hint}", [rope.name(close)] if close else []
            notes.find("warning", "unused-kind", rope.name(key), value, rule, follows=told)
        elif not isinstance(value, Mapping) and value is not None:
            notes.find("warning", "beside-nested", rope.name(key), value, "stand within the kind of layers that it is for")
    for key, value in section.given(spellings.BASE):
        if not isinstance(value, list) and value not in bases and None not in bases:
            notes.find("warning", "outside-nested", key, value, f"be a base that {'.'.join(rope.path)} has: those count")
