"""Reading a published configuration: what each kind of layers does, every decision with its key, and what is wrong."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from refimpl.configuration import images, indexers, readers, scalings, spellings, temperatures
from refimpl.configuration.bases import base
from refimpl.configuration.families import Family, Grid, family, is_known, plain_name, turns_whole
from refimpl.configuration.findings import GRIDS, LADDERS, ORDERS, Decision, Kind, Notes, Reading, Rotation, shared
from refimpl.configuration.layers import FULL, SLIDING, Layer, count, entries, listed
from refimpl.configuration.sections import Section, agreed, is_number, language, near_miss, verify_keys
from refimpl.configuration.widths import Width, heads, width
from refimpl.errors import SpecificationError
from refimpl.schemes import mrope

BOTH = "https://github.com/sgl-project/sglang/pull/26187"
#: Keys of what posenc doesn't judge, and what they say.
UNJUDGED = {
    "qk_scale_factor": "queries of every layer are multiplied by it before they turn; posenc doesn't judge it",
}
ONE_BASE = "https://github.com/lablup/mlxcel/issues/1340"
TEXT_ALONE = "read as rope, which it is on text alone"
AXES = "each pair turns by one of several axes of the position, which is rope on text alone"


def read(configuration: Mapping[str, Any]) -> Reading:
    """Return what a ``config.json`` says about positions; what is wrong with it is in the findings, and raises nothing."""
    if not isinstance(configuration, Mapping):
        message = f"configuration must be a mapping, got {type(configuration).__name__}"
        raise SpecificationError(message)
    notes = Notes()
    section = language(configuration, notes)
    model_type = str(section.get("model_type") or configuration.get("model_type") or "")
    own = settled(section, family(model_type), notes)
    if own.dense_turn and (section.get("first_k_dense_replace") or "dense" in (section.get("mlp_layer_types") or ())):
        own = replace(own, unturned=(), variant="dense")
    verify_keys(section, notes)
    if other := other_positions(section, model_type, own, notes):
        key, value = other
        notes.decide(key, value, f"{key} is {value}: nothing turns")
        return Reading(model_type, (Kind("every layer", None, None, tuple(notes.decisions), ()),), tuple(notes.findings))
    verify_known(section, model_type, notes)
    verify_picks(section, own, notes)
    verify_attention_config(section, notes)
    images.verify(configuration, own, notes)
    section, taken = by_default(section, own, notes)
    rope = mapping(section, notes)
    section, rope = only_nested(section, rope, own, notes)
    verify_sections(rope, model_type, own, notes)
    verify_bases(section, notes)
    tell_chunks(section, notes)
    section, rope = read_by(section, rope, model_type, own, notes)
    tell_unjudged(section, own, notes)
    found = listed(section, count(section, notes), own, notes)
    if rope is not None and entries(rope.values):
        verify_nested(section, rope, found, notes)
    owning = indexers.owners(section, sum(len(indices or ()) for indices in found.values()) or None, own, notes)
    before = tuple(notes.decisions)
    kinds = tuple(kind(layer, indices, section, rope, own, owning, before) for layer, indices in found.items())
    kinds = tuple(replace(each, decisions=tuple(map(assumed, each.decisions))) for each in kinds) if taken else kinds
    if not any(each.level == "error" for kind_of in kinds for each in kind_of.findings):
        verify_read(section, rope, kinds, notes)
    longest = longest_of(section, notes)
    if wrong := tuple(each for each in notes.findings if each.level == "error"):  # of the whole, so of every layer that turns
        kinds = tuple(replace(each, rotation=None, findings=(*wrong, *each.findings)) if each.rotation else each for each in kinds)
    return Reading(model_type, kinds, tuple(notes.findings), longest)


def assumed(decision: Decision) -> Decision:
    """Return a decision as what is assumed, if it was read off the mapping that a model type has where none is given."""
    return replace(decision, assumed=True) if spellings.ROPE[0] in decision.key.split(".") else decision


def settled(section: Section, own: Family, notes: Notes) -> Family:
    """Return what a model type says of a model in which single keys decide whether layers turn."""
    hidden = section.get("hidden_size")
    if own.asked and section.get(own.asked[0]) != own.asked[1]:
        key, wanted = own.asked
        note = notes.assume if section.get(key) is None else notes.decide
        note(section.name(key), section.get(key), f"nothing turns: layers of this model type do where it is {wanted!r}")
        return replace(own, turns=False)
    if own.biased and (bias := own.biased.get(hidden if isinstance(hidden, int) else 0)) is None:
        rule = f"be {' or '.join(map(str, own.biased))}: by it code of this model type turns or not, and layers are read as turning"
        notes.find("warning", "unknown-size", section.name("hidden_size"), hidden, rule)
    elif own.biased and bias:
        notes.decide(section.name("hidden_size"), hidden, f"nothing turns: models of this size have {bias}")
        return replace(own, turns=False)
    if own.windowless and section.values.get("sliding_window", own) is None:
        turn = own.windowless == "turn"
        says = "null: every layer turns, whatever its kind" if turn else "null: no layer turns, whatever its kind"
        notes.decide(section.name("sliding_window"), None, says)
        return replace(own, unturned=(), pattern=None) if turn else replace(own, turns=False)
    return own


def by_default(section: Section, own: Family, notes: Notes) -> tuple[Section, bool]:
    """Return a section with the mapping that a model type has where none is given, and whether that was taken."""
    if not own.rope or section.given(spellings.ROPE):
        return section, False
    says = f"{dict(own.rope)}, as the class of this model type in transformers has it where neither this nor rope_scaling is given"
    notes.assume(section.name(spellings.ROPE[0]), dict(own.rope), says)
    if any("rope_theta" in each for each in (own.rope, *entries(own.rope).values())):
        for key, value in section.given(spellings.BASE):
            rule = "stand in rope_parameters: transformers takes what the class of this model type has, where that isn't given"
            notes.find("warning", "unread-base", key, value, rule)
        section = _without(section, spellings.BASE)
    return replace(section, values={**section.values, spellings.ROPE[0]: own.rope}), True


def only_nested(section: Section, rope: Section | None, own: Family, notes: Notes) -> tuple[Section, Section | None]:
    """Return the section and the mapping without a flat one under the new name, where the type's code reads a nested one alone."""
    if not own.nested or rope is None or rope.path[-1] != spellings.ROPE[0] or entries(rope.values):
        return section, rope
    rule = "be nested by kinds of layers: of a flat mapping of this name transformers reads nothing for this model type, or raises an error"
    notes.find("warning", "not-nested", ".".join(rope.path), rope.values, rule)
    return _without(section, spellings.ROPE), None


def verify_picks(section: Section, own: Family, notes: Notes) -> None:
    """Warn of a key that may say which layers have attention, and that isn't read for this model type."""
    if not own.turns or section.given(spellings.LAYER_TYPES):
        return
    read_ones = spellings.READ - {*spellings.PICKED, *spellings.PICKS} | {own.picks}
    for key, value in section.given(section.values):
        name = key.rpartition(".")[2]
        if name not in read_ones and value and isinstance(value, list | str | int) and spellings.PICKING.search(name):
            rule = "be said by layer_types: it may name layers without attention, and isn't read for this model type"
            notes.find("warning", "unread-layers", key, value, rule)


def verify_attention_config(section: Section, notes: Notes) -> None:
    """Warn of rotary keys in a mapping of attention's own, where transformers drops them."""
    inside = section.below(spellings.ATTENTION_CONFIG)
    rule = "stand beside that mapping: transformers drops it there, and only the model's own code reads it"
    for key, value in inside.given(spellings.OF_ATTENTION) if inside and inside.get("rope") is not False else ():
        notes.find("warning", "unread-mapping", key, value, rule)


def tell_unjudged(section: Section, own: Family, notes: Notes) -> None:
    """Tell what code does besides turning queries and keys."""
    if (values := section.get("rotary_value")) is True:
        says = "values turn as queries and keys do, and outputs stay (partial_rope.attend_turned, outputs=kept)"
        notes.decide(section.name("rotary_value"), values, says)
    if own.values_kept:
        notes.assume("values", "turned", "values turn as queries and keys do, and outputs stay (partial_rope.attend_turned, outputs=kept)")
    if own.values_turn:
        notes.assume("values", "turned", "values turn as keys do, and outputs back by the query's position (partial_rope.attend_turned)")
    for key, value in section.given(UNJUDGED):
        notes.decide(key, value, UNJUDGED[key.rpartition(".")[2]])


#: Numbers of axes in words.
NUMBERS = {2: "two", 3: "three"}
#: Keys that say which layers turn.
UNTURNED = ("no_rope_layers", "no_rope_layer_interval")
#: Keys, one of which a configuration has if its model turns and doesn't leave all to its type.
ROTARY = (*spellings.BASE, *spellings.ROPE, *spellings.FRACTION, *spellings.ROTARY_DIM, "rope_ratio", "qk_rope_head_dim")


def other_positions(section: Section, model_type: str, own: Family, notes: Notes) -> tuple[str, Any] | None:
    """Return the key that says that positions come in by something else than rotation; of a model that turns it is left over."""
    word, key = section.get("position_embedding_type"), section.name("position_embedding_type")
    if alibi := next((pair for pair in section.given(spellings.ALIBI) if pair[1] is True), None):
        return _biased(alibi, section, model_type, own, notes)
    if section.get(own.switch) is False:
        return section.name(own.switch), False
    if not isinstance(word, str) or word not in spellings.OTHER_POSITIONS or own.asked:
        return None
    if is_known(model_type) and own.turns:
        notes.decide(key, word, f"{word} is left over: this model type turns")
    elif section.given(ROTARY):
        notes.find("error", "two-positions", key, word, f"be rotary beside {section.given(ROTARY)[0][0]}")
    else:
        return key, word
    return None


def _biased(key: tuple[str, Any], section: Section, model_type: str, own: Family, notes: Notes) -> tuple[str, Any] | None:
    """Return the key that says that a bias stands in the place of a rotation, where the type's code reads it."""
    if not own.turns or own.alibi or not (is_known(model_type) or section.given(ROTARY)):
        return key if own.turns or not is_known(model_type) else None
    if is_known(model_type):
        notes.find("warning", "unread-key", *key, f"be left out: transformers reads it for falcon, not for {model_type}")
    else:
        notes.find("error", "two-positions", *key, f"be false beside {section.given(ROTARY)[0][0]}, or that be left out")
    return None


def longest_of(section: Section, notes: Notes) -> int | None:
    """Return how many positions a model has; what is no number of them is an error."""
    for key, value in section.given(spellings.MAX_LENGTH):
        if type(value) is int and value > 0:
            return value
        notes.find("error", "bad-length", key, value, "be a number of positions")
    return None


def verify_sections(rope: Section | None, model_type: str, own: Family, notes: Notes) -> None:
    """Warn of sections that the code of a model type doesn't read."""
    if rope is not None and is_known(model_type) and not own.axes_order:
        for key, value in rope.given(("mrope_section",)):
            rule = f"be left out: transformers reads it for model types with images only, not for {model_type}"
            notes.find("warning", "unread-sections", key, value, rule)


def read_by(section: Section, rope: Section | None, model_type: str, own: Family, notes: Notes) -> tuple[Section, Section | None]:
    """Return the section and the mapping without keys that the code of a model type doesn't read; each that says anything is warned of."""
    if not is_known(model_type):
        for key, value in section.given(spellings.UNREAD_WIDTHS):
            notes.find("warning", "unread-width", key, value, "be said by head_dim: posenc doesn't read it")
        return section, rope
    for name, left, unsaid, rule in _unread(rope, model_type, own):
        beside = rope.given(left) if rope else []
        for key, value in (*section.given(left), *beside):
            if value not in unsaid:
                notes.find("warning", name, key, value, f"be left out: {rule}, not for {model_type}")
        section, rope = _without(section, left), rope and _without(rope, left)
    for key, value in section.given(own.unread):
        named = "unread-base" if key.rpartition(".")[2] in spellings.BASE else readers.UNREAD_PART
        notes.find("warning", named, key, value, f"be left out: transformers reads it for most types, not for {model_type}")
    return _without(section, own.unread), rope


def _unread(rope: Section | None, model_type: str, own: Family) -> Iterator[tuple[str, Collection[str], tuple[Any, ...], str]]:
    """Yield keys that the code of a model type doesn't read: the warning's name, the keys, values that say nothing, and who reads them."""
    if own.without_every is None:
        yield "unread-layers", UNTURNED, ([],), "transformers reads it for llama4 and smollm3"
    types = [value for _, value in rope.given(("rope_type", "type"))] if rope else []
    if turns_whole(model_type) and all(named == "default" for named in types):
        yield readers.UNREAD_PART, spellings.PART, (1,), "transformers reads it for types that turn a part of a head"
    if own.base_fixed:
        yield "unread-base", spellings.BASE, (10_000,), "transformers reads it for most types"
    for warning, table, unsaid in readers.TABLES:
        for key, readable in table.items():
            if own.turns and plain_name(model_type) not in readable:
                yield warning, (key,), unsaid or (own.layout == "interleaved",), _readers(readable)
    if not own.temperature:
        yield "unread-key", (temperatures.SWITCH,), (False,), "transformers reads it for llama4"
    if not own.values_asked:
        yield "unread-key", ("rotary_value",), (False, None), "transformers reads it for roformer"
    if not own.doubles:
        yield "ignored-key", (temperatures.LOGARITHM,), (False,), "code of Qwen's first models reads it"


def _readers(types: Collection[str]) -> str:
    return f"it is read for {', '.join(types) or 'types that posenc does not know'}"


def _without(section: Section, keys: Collection[str]) -> Section:
    """Return a section without some keys."""
    return replace(section, values={key: value for key, value in section.values.items() if key not in keys})


def verify_read(section: Section, rope: Section | None, kinds: tuple[Kind, ...], notes: Notes) -> None:
    """Warn of bases that no kind of layers takes, of keys of a scaling outside of it, and of a length that is less than the original."""
    named = {decision.key for kind in kinds for decision in kind.decisions if not decision.assumed}
    bases = [key for keys in spellings.BASE_OF_KIND.values() for key in keys]
    listed_bases = spellings.BASE if section.given(("layer_rope_theta",)) else ()
    for key, value in section.given((*bases, "rope_ratio", *listed_bases)):
        if key not in named:
            notes.find("warning", "unread-base", key, value, "be left out: no layer has this base")
    for key, value in section.given(spellings.WITHIN):
        place = ".".join(rope.path) if rope else spellings.ROPE[0]
        notes.find("warning", "outside-scaling", key, value, f"stand in {place}, where code reads it")
    original = (*(rope.given((spellings.ORIGINAL_LENGTH,)) if rope else ()), *section.given((spellings.ORIGINAL_LENGTH,)))
    for key, value in section.given(spellings.MAX_LENGTH[:1]):
        if original and is_number(value) and is_number(original[0][1]) and value < original[0][1]:
            notes.find("warning", "shortened", key, value, f"be at least {original[0][0]} ({original[0][1]:g}), which a scaling lengthens")


def verify_known(section: Section, model_type: str, notes: Notes) -> None:
    """Warn of a model type that isn't in the tables: it may turn in its own way, or not at all."""
    if is_known(model_type):
        return
    if section.given(ROTARY) or section.get("position_embedding_type") in spellings.ROTATION:
        rule = "be a model type that posenc knows: layout, defaults and which layers turn are assumed as most have them"
        notes.find("warning", "unknown-model-type", section.name("model_type"), model_type or None, rule)
    else:
        rule = f"be one that posenc knows, or a key such as {spellings.BASE[0]} must say that its layers turn"
        notes.find("error", "no-rotary-key", section.name("model_type"), model_type or None, rule)


def verify_bases(section: Section, notes: Notes) -> None:
    """Warn where the layers of full attention have the base of those that slide: a converter wrote one over the other."""
    local, rest = section.get("rope_local_base_freq"), section.get("rope_theta")
    if local is not None and local == rest:
        notes.find("warning", "equal-bases", section.name("rope_theta"), rest, "be another base than rope_local_base_freq", ONE_BASE)


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
    if len(found) == 2 and found[0][1] != found[1][1]:
        notes.find("error", "two-scalings", found[1][0], found[1][1], f"be what {found[0][0]} is, beside it", BOTH)
    return section.below(found[0][0].rsplit(".", 1)[-1]) if found else None


def verify_nested(section: Section, rope: Section, found: Mapping[Layer, object], notes: Notes) -> None:
    """Warn of what nobody reads in a mapping that is nested by the kinds of layers."""
    names = {layer.kind for layer in found}
    if any(indices is None for indices in found.values()):
        notes.find("warning", "no-layer-types", section.name("layer_types"), None, "say which layers are of each kind")
        names = {*spellings.WITH_ATTENTION}
    bases = [value.get("rope_theta") for value in entries(rope.values).values()]
    for key, value in rope.values.items():
        if isinstance(value, Mapping) and key not in names:
            close = next((name for name in sorted(names) if name.startswith(key)), "") or near_miss(key, names)
            hint = f" (did you mean {close}?)" if close else ""
            notes.find("warning", "unused-kind", rope.name(key), value, f"be one of the kinds of layers ({', '.join(sorted(names))}){hint}")
        elif not isinstance(value, Mapping) and value is not None:
            notes.find("warning", "beside-nested", rope.name(key), value, "stand within the kind of layers that it is for")
    for key, value in section.given(spellings.BASE):
        if not isinstance(value, list) and value not in bases and None not in bases:
            notes.find("warning", "outside-nested", key, value, f"be a base that {'.'.join(rope.path)} has: those count")


def kind(
    layer: Layer, indices: tuple[int, ...] | None, section: Section, rope: Section | None, own: Family,
    owning: frozenset[int] | None, before: tuple[Any, ...],
) -> Kind:
    """Return what layers of a kind do."""
    notes = Notes(list(before))
    turns = layer.turns and layer.kind not in spellings.WITHOUT_ATTENTION
    close = near_miss(layer.kind, spellings.WITH_ATTENTION, cutoff=0.9)
    if turns and (not attends(layer.kind, rope) or (close and layer.kind not in spellings.WITH_ATTENTION)):
        hint = f" (did you mean {close}?)" if close else ""
        rule = f"name kinds that posenc knows, such as {FULL}: these layers are read as attention{hint}"
        notes.find("warning", "unknown-kind", section.name("layer_types"), layer.kind, rule)
    if turns and rope is not None and layer.kind in rope.values and rope.values[layer.kind] is None:
        notes.decide(rope.name(layer.kind), None, "null: these layers don't turn")
        turns = False
    if turns:
        rotation = _rotation(layer, section, rope, own, notes)
        indexers.tell(layer, indices, owning, section, own, notes, rotation=rotation, turns=True)
        if rotation is not None and own.direction == "negative":
            notes.assume("direction", own.direction, "pairs turn against the usual direction, as in this model type")
            rotation = replace(rotation, direction=own.direction)
        if any(each.level == "error" for each in notes.findings):
            rotation = None
        temperature = temperatures.of_layer(section, of_kind(layer, rope, Notes())[0], own, notes, rests=False)
        return Kind(layer.kind, indices, rotation, notes.decided, tuple(notes.findings), temperature=temperature)
    attending = layer.kind not in spellings.WITHOUT_ATTENTION
    if not attending:
        notes.assume(layer.kind, None, "these layers have no attention")
    elif not own.turns or layer.kind in own.unturned:
        notes.assume("model_type", None, "these layers don't turn in this model type")
    elif layer.base is not None:
        notes.decide(*layer.base, "these layers don't turn")
    if not attending:
        return Kind(layer.kind, indices, None, notes.decided, tuple(notes.findings))
    indexers.tell(layer, indices, owning, section, own, notes, rotation=None, turns=False)
    own_width, temperature = heads(section, layer, own, Notes()), temperatures.of_layer(section, rope, own, notes, rests=True)
    name, found = f"{layer.kind} without rotation", tuple(notes.findings)
    return Kind(name, indices, None, notes.decided, found, rests=True, head_dim=own_width, temperature=temperature)


def attends(name: str, rope: Section | None) -> bool:
    """Whether the name of a kind says that its layers have attention, or the mapping has a rotation for it."""
    known = name.endswith("attention") or name == "every layer" or name in spellings.WITH_ATTENTION
    return known or (rope is not None and name in rope.values)


def of_kind(layer: Layer, rope: Section | None, notes: Notes) -> tuple[Section | None, bool]:
    """Return the mapping that counts for a kind, and whether it is nested."""
    if rope is None or not entries(rope.values):
        return rope, False
    if inside := rope.below(layer.kind):
        return inside, True
    others = [name for name in entries(rope.values) if name not in spellings.WITH_ATTENTION]
    close = next((name for name in others if layer.kind.startswith(name)), "") or near_miss(layer.kind, others)
    hint = f" (did you mean it by {close}?)" if close else ""
    notes.find("error", "missing-kind", rope.name(layer.kind), None, f"be given for these layers{hint}")
    return None, True


def is_plain(layer: Layer, section: Section, rope: Section | None, own: Family) -> bool:
    """Whether a flat scaling leaves a kind alone."""
    only = section.get("yarn_only_types") or (rope.get("yarn_only_types") if rope else None)
    if isinstance(only, list):
        return layer.kind not in only
    local = layer.kind == SLIDING and section.get("rope_local_base_freq") is not None
    return local or layer.kind in own.plain


def _rotation(layer: Layer, section: Section, rope: Section | None, own: Family, notes: Notes) -> Rotation | None:
    inside, nested = of_kind(layer, rope, notes)
    found_base = base(section, inside, layer, own, notes, nested=nested)
    found_width = width(section, inside, layer, own, notes)
    scaling = inside
    if inside is not None and not nested and is_plain(layer, section, rope, own):
        scaling = None
        notes.assume(inside.path[-1], "default", f"{inside.path[-1]} leaves these layers alone")
    name = scalings.rope_type(scaling, own, notes)
    if name is None or found_base is None or found_width is None:
        return None
    return _scaled(name, found_base, found_width, section, scaling, own, notes)


def _scaled(
    name: str, found_base: float, found: Width, section: Section, scaling: Section | None, own: Family, notes: Notes
) -> Rotation | None:
    """Return the rotation of a rope type; an empty mapping is that of a configuration without one."""
    rope = scaling or Section({}, (*section.path, spellings.ROPE[0]))
    name = scalings.with_doublings(name, section, own, notes)
    scalings.verify_keys(name, rope, notes)
    common: dict[str, Any] = {"head_dim": len(found.channels), "base": found_base}
    if name == "proportional":
        common |= {"head_dim": found.head_dim, "turned_pairs": len(found.channels) // 2}
        found = Width(found.head_dim, range(found.head_dim))
    chosen_layout = layout(section, own, notes)
    if own.variant:
        notes.find("missing", f"no-{own.variant}", section.name("model_type"), section.get("model_type"), scalings.WITHOUT[own.variant])
        return Rotation(found.head_dim, found.channels, chosen_layout, own.variant, None, common)
    if own.grid is not None and own.grid.order:
        return _on_grid(own.grid, name, section, chosen_layout, found, common, rope, notes)
    axes, order = sections(section, rope, found, own, notes, plain=name in ("default", "ntk_alpha"))
    if name in scalings.WITHOUT:
        _unhad(name, section, rope, notes)
        return Rotation(found.head_dim, found.channels, chosen_layout, name, None, common, sections=axes)
    rope = scalings.with_factor(name, section, rope, notes)
    given = scalings.parameters(name, section, rope, notes)
    lists = scalings.factors(rope, len(found.channels) // 2, notes) if name == "longrope" else None
    multiplied = scalings.attention(name, section, rope, own, notes)
    if name == "yarn":
        scalings.verify_ratio(section, rope, notes)
        if given is not None:
            scalings.verify_band(section, rope, len(found.channels), found_base, given, notes)
    softmax = {} if name == "default" else scalings.softmax(section, rope, found.head_dim, notes)
    if multiplied is None:
        return None
    operation = f"{scalings.RULES[name].scheme}.frequencies" if given is not None else None
    settled = {**common, **(given or {})}
    return Rotation(found.head_dim, found.channels, chosen_layout, name, operation, settled, lists, multiplied, softmax, axes, order)


def _on_grid(
    grid: Grid, name: str, section: Section, chosen_layout: str, found: Width, common: Mapping[str, Any], rope: Section, notes: Notes
) -> Rotation | None:
    """Return the rotation of an encoder of images, whose axes share the head equally."""
    if name != "axial":
        key, value = rope.given(("rope_type", "type"))[0]
        notes.find("error", "not-axial", key, value, "be axial, or left out: the code of this model type refuses any other")
    each, rest = divmod(len(found.channels), grid.axes)
    if rest or each % 2:
        rule = f"be a multiple of {2 * grid.axes}, so that each of {NUMBERS[grid.axes]} axes turns whole pairs"
        notes.find("error", "odd-axes", "head_dim", len(found.channels), rule)
        return None
    notes.assume("order", grid.order, f"the {NUMBERS[grid.axes]} axes of an image share the pairs of a head: {GRIDS[grid.order]}")
    if grid.ladder in LADDERS:
        notes.assume("ladder", grid.ladder, LADDERS[grid.ladder])
    notes.assume("first axis", grid.first, f"the first axis of the positions is the {grid.first}")
    sides = _sides(section, grid.measured, notes) if grid.measured else ()
    laid = {"axes": (each,) * grid.axes, "order": grid.order, "ladder": grid.ladder, **({"sides": sides} if sides else {})}
    return None if sides is None else Rotation(found.head_dim, found.channels, chosen_layout, "axial", None, common, grid=laid)


def _sides(section: Section, usual: tuple[int, int], notes: Notes) -> tuple[int, ...] | None:
    """Return how many patches an image of the configuration's size has on each axis, or note what is no size."""
    image, patch = (_sizes(section, key, size, notes) for key, size in zip(("image_size", "patch_size"), usual, strict=True))
    if image is None or patch is None:
        return None
    sides = tuple(whole // part for whole, part in zip(image, patch, strict=True))
    if 0 in sides:
        rule = f"be at least patch_size ({_by(patch)})"
        notes.find("error", "bad-value", section.name("image_size"), section.get("image_size"), rule)
        return None
    counted = f"an image has {_by(sides)} patches of {_by(patch)}; positions count half patches from its middle"
    tell = notes.decide if "image_size" in section.values else notes.assume
    tell(section.name("image_size"), list(image), f"{counted}; an image of another size has other sides")
    return sides


def _by(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def _sizes(section: Section, key: str, usual: int, notes: Notes) -> tuple[int, ...] | None:
    """Return the height and the width that a key says, which may be one number."""
    value = section.values.get(key, usual)
    sizes = tuple(value) if isinstance(value, list) else (value, value)
    if len(sizes) == 2 and all(type(each) is int and each > 0 for each in sizes):
        return sizes
    notes.find("error", "bad-value", section.name(key), value, "be a number of pixels, or one each for height and width")
    return None


def _unhad(name: str, section: Section, rope: Section, notes: Notes) -> None:
    """Note a rope type that posenc doesn't have."""
    key, value = (rope.given(("rope_type", "type")) or section.given((scalings.GROWING, "model_type")) or [("model_type", None)])[0]
    notes.find("missing", f"no-{name}", key, value, scalings.WITHOUT[name])


def layout(section: Section, own: Family, notes: Notes) -> str:
    """Return which channels are a pair, as the model type has it."""
    switch = section.get("rope_interleave")
    for key, value in section.given(spellings.LAYOUT):
        notes.decide(key, value, "pairs are neighbours" if value else "pairs lie half of the turning channels apart")
        return "interleaved" if value else "half"
    if own.layout == "interleaved_to_half" and switch is False:
        notes.decide(section.name("rope_interleave"), switch, "pairs lie half of the turning channels apart")
        return "half"
    notes.assume("layout", own.layout, f"the layout is {own.layout}, which no key says")
    return own.layout


def sections(section: Section, rope: Section, found: Width, own: Family, notes: Notes, *, plain: bool) -> tuple[tuple[int, ...], str]:
    """Return how many pairs each axis of the positions has, and in which order; none where positions have one axis.

    There is no order where a scaling comes besides that does more than raise the base: posenc has no operation for both.
    """
    pairs = len(found.channels) // 2
    agreed(list(_axes(section, rope)), "two-sections", "the pairs of each axis", notes)
    for key, value in section.given(spellings.SECTION_KEYS):
        notes.find("warning", "sections-outside", key, value, f"stand in {'.'.join(rope.path)}, where transformers reads it")
    for key, value in _axes(section, rope):
        if not isinstance(value, list) or not all(type(each) is int and each >= 0 for each in value):
            notes.find("error", "bad-list", key, value, "be a list of numbers of pairs")
        elif own.axes_order and len(value) != len(own.axes):
            notes.find("error", "wrong-sections", key, value, f"have a number of pairs for each of {', '.join(own.axes)}")
        elif sum(value) != pairs:
            notes.find("error", "wrong-sections", key, value, f"add up to the pairs that turn ({pairs})")
        elif not plain:
            notes.find("missing", "no-mrope", key, value, AXES)
            return tuple(value), ""
        else:
            return _ordered(key, value, rope, own, notes)
    if not list(_axes(section, rope)):
        _verify_on_text(rope, own, notes)
    return (), ""


def _verify_on_text(rope: Section, own: Family, notes: Notes) -> None:
    """Warn of a model for images that doesn't say which pairs follow which axis."""
    for key, value in rope.given(("rope_type", "type")):
        if value == "mrope":
            notes.find("warning", "no-sections", key, value, f"stand beside mrope_section: {TEXT_ALONE}")
            return
    if own.axes_order:
        notes.find("warning", "no-sections", rope.name("mrope_section"), None, f"be given, since this model type turns by it: {TEXT_ALONE}")


def _ordered(key: str, value: list[int], rope: Section, own: Family, notes: Notes) -> tuple[tuple[int, ...], str]:
    """Return sections in the order of the positions, and which pairs follow which axis."""
    switch = rope.get("mrope_interleaved")
    if switch is not None and type(switch) is not bool:
        notes.find("error", "bad-value", rope.name("mrope_interleaved"), switch, "be true or false")
        return (), ""
    for other, beside in rope.given(("interleaved",)):
        if switch is not None and beside != switch:
            notes.find("warning", "two-orders", other, beside, f"be what mrope_interleaved is, beside it ({switch})")
    order = own.axes_order or ("interleaved" if switch else "contiguous")
    if switch is not None and switch != (order == "interleaved"):
        rule = f"be left out: transformers doesn't read it for this model type, whose pairs follow the axes {ORDERS[order]}"
        notes.find("warning", "unread-order", rope.name("mrope_interleaved"), switch, rule)
    axes = (value[-1], *value[:-1]) if order == "first_last" else tuple(value)
    if order == "first_last" and axes[1] != axes[2]:
        notes.find("error", "wrong-sections", key, value, "have as many pairs of the height as of the width, as they take turns")
        return (), ""
    try:
        mrope.axes_of_pairs(axes, order)
    except SpecificationError as error:
        notes.find("error", "wrong-sections", key, value, str(error).removeprefix("sections must ").rpartition(", got ")[0])
        return (), ""
    notes.decide(key, value, f"{shared(axes, order)}: rope on text alone")
    return axes, order


def _axes(section: Section, rope: Section) -> Iterator[tuple[str, Any]]:
    yield from rope.given(spellings.SECTION_KEYS)
    yield from section.given(spellings.SECTION_KEYS)
