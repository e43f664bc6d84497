"""Reading a published configuration: what each kind of layers does, every decision with its key, and what is wrong."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from refimpl.configuration import architectures, images, indexers, parts, refusals, scalings, spellings, temperatures, unread, whole
from refimpl.configuration.bases import base
from refimpl.configuration.families import Family, Grid, family, is_known
from refimpl.configuration.findings import GRIDS, LADDERS, ORDERS, Decision, Kind, Notes, Reading, Rotation, first_ones, shared
from refimpl.configuration.layers import FULL, SLIDING, Layer, count, entries, listed
from refimpl.configuration.sections import Section, agreed, near_miss, verify_keys
from refimpl.configuration.widths import Width, at_rest, divided, width
from refimpl.errors import SpecificationError
from refimpl.schemes import mrope

#: Numbers of axes in words.
NUMBERS = {2: "two", 3: "three"}
TEXT_ALONE = "read as rope, which it is on text alone"
AXES = "each pair turns by one of several axes of the position, which is rope on text alone"


def read(configuration: Mapping[str, Any]) -> Reading:
    """Return what a ``config.json`` says about positions; what is wrong with it is in the findings, and raises nothing."""
    if not isinstance(configuration, Mapping):
        message = f"configuration must be a mapping, got {type(configuration).__name__}"
        raise SpecificationError(message)
    notes = Notes()
    section = parts.of_text(configuration, notes)
    if notes.findings and notes.findings[0].level == "error":  # of a part that is no mapping: nothing more is known
        return Reading("", (Kind("every layer", None, None, (), tuple(notes.findings)),), tuple(notes.findings))
    model_type = str(section.get("model_type") or configuration.get("model_type") or "")
    model_type = architectures.of_code(configuration, section, architectures.of_encoder(section, model_type, notes))
    own = family(model_type)
    section = whole.respelt(section, model_type, own, notes)
    section, own = whole.without_latent(section, whole.settled(section, own, notes), notes)
    verify_keys(section, unread.of_type(section, model_type, own), unread.not_of_type(model_type, own), notes)
    if other := whole.other_positions(section, model_type, own, notes):
        key, value = other
        notes.decide(key, value, f"{key} is {value}: nothing turns")
        return Reading(model_type, (Kind("every layer", None, None, tuple(notes.decisions), ()),), tuple(notes.findings))
    architectures.verify_known(section, model_type, notes)
    whole.verify_left_over(section, own, notes)
    images.verify(configuration, own, notes)
    section = refusals.without_refused(section, model_type, own, notes)
    section, own, taken = with_defaults(section, own, str(configuration.get("model_type")), notes)
    rope = whole.mapping(section, notes)
    whole.verify_resting(section, rope, own, notes)
    section, rope, own = whole.of_flat(section, rope, own, notes)
    rope = whole.verify_sections(rope, model_type, own, notes)
    whole.verify_parts(configuration, section, own, notes)
    whole.tell_chunks(section, notes)
    section, rope = unread.read_by(section, rope, model_type, own, notes)
    whole.verify_bases(section, notes)
    whole.tell_unjudged(section, own, notes)
    found = listed(section, count(section, own, notes), own, notes)
    if rope is not None and entries(rope.values):
        whole.verify_nested(section, rope, found, own, notes)
    owning = indexers.owners(section, sum(len(indices or ()) for indices in found.values()) or None, own, notes)
    kinds = tuple(kind(layer, indices, section, rope, own, owning, tuple(notes.decisions)) for layer, indices in found.items())
    kinds = tuple(replace(each, decisions=tuple(assumed(decision, taken) for decision in each.decisions)) for each in kinds)
    if unknown := tuple(each for each in notes.findings if each.name in architectures.UNKNOWN):  # nobody knows what its sizes mean
        kinds = tuple(replace(each, rotation=None, decisions=(), findings=unknown) for each in kinds)
    unread.verify_outside(section, rope, notes)
    told = {each.key for kind_of in kinds for each in kind_of.findings if each.level == "error"}
    if not told:
        unread.verify_read(section, rope, kinds, own, notes)
    longest = whole.longest_of(section, told, notes)
    every = (*notes.findings, *(each for kind_of in kinds for each in kind_of.findings))
    refused = {each.key for each in every if each.level == "error"}
    found_in_all = first_ones(notes.findings, refused)
    kinds = tuple(replace(each, findings=first_ones(each.findings, refused)) for each in kinds)
    if wrong := tuple(each for each in found_in_all if each.level == "error"):  # of the whole, so of every layer that turns
        kinds = tuple(replace(each, rotation=None, findings=(*wrong, *each.findings)) if each.rotation else each for each in kinds)
    return Reading(model_type, kinds, found_in_all, longest, divided(section))


def with_defaults(section: Section, own: Family, name: str, notes: Notes) -> tuple[Section, Family, tuple[str, ...]]:
    """Return a section and its family with what classes have where keys are missing, and these keys; the name is that of the whole."""
    section, own, filled = parts.with_filled(section, own, name, notes)
    section, of_class = whole.by_default(section, own, notes)
    section, switched = whole.switched_on(section, own)
    return section, own, (*filled, *of_class, *switched)


def assumed(decision: Decision, taken: Collection[str]) -> Decision:
    """Return a decision as what is assumed, if it was read off what a model type has where nothing is given."""
    return decision if set(taken).isdisjoint(decision.key.split(".")) else replace(decision, assumed=True)


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
    if not _rests(layer, own, notes):
        return Kind(layer.kind, indices, None, notes.decided, tuple(notes.findings))
    indexers.tell(layer, indices, owning, section, own, notes, rotation=None, turns=False)
    own_width, temperature = at_rest(section, layer, own), temperatures.of_layer(section, rope, own, notes, rests=True)
    name, found = f"{layer.kind} without rotation", tuple(notes.findings)
    return Kind(name, indices, None, notes.decided, found, rests=True, head_dim=own_width, temperature=temperature)


def _rests(layer: Layer, own: Family, notes: Notes) -> bool:
    """Whether layers that don't turn have attention; note why they don't turn, unless a key of the whole said it."""
    attending = own.attends and layer.kind not in spellings.WITHOUT_ATTENTION
    if not own.attends:
        notes.assume("model_type", None, "layers of this model type have no attention")
    elif not attending:
        notes.assume(layer.kind, None, "these layers have no attention")
    elif (not own.turns and not own.told) or (own.turns and layer.kind in own.unturned):
        notes.assume("model_type", None, "these layers don't turn in this model type")
    elif own.turns and layer.base is not None:
        notes.decide(*layer.base, "these layers don't turn")
    return attending


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
    return local or layer.kind in own.plain or not layer.scaled


def _rotation(layer: Layer, section: Section, rope: Section | None, own: Family, notes: Notes) -> Rotation | None:
    inside, nested = of_kind(layer, rope, notes)
    found_base = base(section, inside, layer, own, notes, nested=nested)
    plain = inside is not None and not nested and is_plain(layer, section, rope, own)
    scaling = None if plain else inside
    found_width = width(*unread.of_scaled(section, inside, scaling, own), layer, own, notes)
    if inside is not None and plain:
        notes.assume(inside.path[-1], "default", f"{inside.path[-1]} leaves these layers alone")
    name = scalings.rope_type(scaling, own, notes)
    if scaling is not None and name is not None:
        scalings.verify_taken(name, section, scaling, own, notes)
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
        shared = len(found.channels) if own.divides_turning(found.channels) else found.head_dim
        common |= {"head_dim": shared, "turned_pairs": len(found.channels) // 2}
        found = Width(found.head_dim, range(found.head_dim - shared, found.head_dim))
    chosen_layout = layout(section, own, notes)
    if own.grid is not None and own.grid.order:
        return _on_grid(own.grid, name, section, chosen_layout, found, common, rope, notes)
    axes, order = sections(section, rope, found, own, notes, plain=name in ("default", "ntk_alpha"))
    if name in scalings.WITHOUT:
        _unhad(name, section, rope, notes)
        return Rotation(found.head_dim, found.channels, chosen_layout, name, None, common, sections=axes)
    rope = scalings.with_factor(name, section, rope, notes)
    given = scalings.parameters(name, section, rope, notes)
    lists = scalings.factors(rope, len(found.channels) // 2, notes) if name == "longrope" else None
    multiplied = scalings.attention(name, section, rope, own, given, notes)
    if name == "yarn":
        scalings.verify_ratio(section, rope, notes)
        if given is not None:
            scalings.verify_band(section, rope, len(found.channels), found_base, given, notes)
    softmax = {} if name == "default" else scalings.softmax(section, rope, found.head_dim, notes)
    if multiplied is None:
        return None
    operation = f"{scalings.RULES[name].scheme}.frequencies" if given is not None and not found.odd else None
    settled = {**common, **(given or {})}
    turned = Rotation(found.head_dim, found.channels, chosen_layout, name, operation, settled, lists, multiplied, softmax, axes, order)
    return _learned(turned, section, rope, notes) if own.learned and operation is not None else turned


def _learned(found: Rotation, section: Section, rope: Section, notes: Notes) -> Rotation:
    """Return a rotation whose frequencies learned exponents change, where posenc has that of its rule."""
    scheme, attention = scalings.LEARNED.get(found.rope_type), found.attention
    if scheme is None or scalings.declared(str(attention.operation)).function(**attention.parameters) != 1.0:
        _unhad("lerope", section, rope, notes)
        return replace(found, rope_type="lerope", operation=None)
    notes.assume("exponents", None, "each frequency is multiplied by e to an exponent that the weights hold, as in this model type")
    return replace(found, operation=f"{scheme}.frequencies")


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
        if plain and (taken := _of_class(own, pairs)):
            axes, order = _ordered("", taken, rope, own, Notes())
            notes.assume(rope.name(spellings.SECTION_KEYS[0]), list(axes), f"{shared(axes, order)}, as in this model type")
            return axes, order
        _verify_on_text(rope, str(section.get("model_type") or ""), own, pairs, notes)
    return (), ""


def _of_class(own: Family, pairs: int) -> list[int]:
    """Return how many pairs follow each axis by the class, none where they don't add up; axes in turns end with the pairs."""
    axes = len(own.sections)
    if own.axes_order != "interleaved":
        return list(own.sections) if sum(own.sections) == pairs else []
    others = [len(range(axis, min(pairs, axes * most), axes)) for axis, most in enumerate(own.sections) if axis]
    return [pairs - sum(others), *others]


def _verify_on_text(rope: Section, model_type: str, own: Family, pairs: int, notes: Notes) -> None:
    """Warn of a model for images that doesn't say which pairs follow which axis."""
    for key, value in rope.given(("rope_type", "type")):
        if value == "mrope" and (own.axes_order or not is_known(model_type)):
            notes.find("warning", "no-sections", key, value, f"stand beside mrope_section: {TEXT_ALONE}")
            return
    if own.axes_order and own.sections:
        does = TEXT_ALONE if _of_class(own, pairs) else f"it raises an error, as {pairs} pairs turn"
        rule = f"be given: transformers takes {list(own.sections)}; {does}"
        mappings = (".".join((*rope.path[:-1], key)) for key in spellings.ROPE)
        notes.find("warning", "no-sections", rope.name("mrope_section"), None, rule, follows=mappings)


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
