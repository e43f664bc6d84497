"""Which layers there are, of which kinds, and which of them turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refimpl.configuration import spellings
from refimpl.configuration.families import Family
from refimpl.configuration.findings import Amount, Notes
from refimpl.configuration.sections import Section, agreed

FULL, SLIDING, SPARSE, WINDOWED = "full_attention", "sliding_attention", "minimax_m3_sparse", "window_attention"
LETTERS = {"L": SLIDING, "G": FULL}
PATTERNS = ("sliding_window_pattern", "global_attn_every_n_layers", "full_attention_interval", "layer_group_size")


@dataclass(frozen=True)
class Layer:
    """What layers of one kind have in common; a base, a fraction and a width only where the configuration has one for each layer."""

    kind: str
    turns: bool = True
    base: tuple[str, Any] | None = None
    fraction: tuple[str, Any] | None = None
    scaled: bool = True
    """Whether a flat scaling is for these layers."""
    widths: tuple[tuple[str, Any], ...] = ()
    """What a mapping by layers says of the widths of heads."""


def count(section: Section, family: Family, notes: Notes) -> int | None:
    """Return how many layers there are; of a stack that runs in cycles how many run."""
    found = agreed(section.given(spellings.LAYERS), "two-counts", "the number of layers", notes)
    if found is None:
        return None
    if type(found[1]) is not int or not 1 <= found[1] <= spellings.MOST_LAYERS:
        notes.find("error", "no-count", *found, f"be a whole number of layers, from 1 to {spellings.MOST_LAYERS}")
        return None
    return found[1] * (_runs(section, notes) if family.cycles and section.get(spellings.STACK) is None else 1)


def _runs(section: Section, notes: Notes) -> int:
    """Return how often a stack of layers runs."""
    slow, fast = (value if type(value := section.get(key)) is int else usual for key, usual in spellings.CYCLES.items())
    runs = slow * (fast + 1)
    says = f"a stack has so many layers, and {runs} stacks run: {slow} times one, and {fast} times the other before each"
    notes.decide(*section.given(spellings.LAYERS)[0], says)
    return runs


def each(section: Section, key: str, layers: int | None, notes: Notes) -> Sequence[Any] | None:
    """Return a list with an entry for every layer; one of another length is an error."""
    value = section.get(key)
    if value is None or value == [] or (key in spellings.BASE and not isinstance(value, list)):
        return None
    if not isinstance(value, list):
        notes.find("error", "bad-list", section.name(key), value, "be a list with an entry for each layer")
        return None
    if layers is not None and len(value) != layers:
        rule = f"have an entry for each of the {layers} layers"
        notes.find("error", "wrong-length", section.name(key), Amount(f"{len(value)} entries"), rule)
        return None
    return value


def by_pattern(section: Section, layers: int, family: Family, notes: Notes) -> list[str] | None:
    """Return the kinds that a pattern gives: a word of letters, or every so many layers a full one."""
    for key in PATTERNS:
        pattern, name = section.get(key), section.name(key)
        if isinstance(pattern, str) and pattern and set(pattern) <= {*LETTERS}:
            notes.decide(name, pattern, "the letters repeat over the layers: L slides, G has full attention")
            return [LETTERS[pattern[index % len(pattern)]] for index in range(layers)]
        if type(pattern) is int and pattern > 0:
            other = "linear_attention" if key in ("full_attention_interval", "layer_group_size") else SLIDING
            where = "first" if family.full_first else "last"
            notes.decide(name, pattern, f"the {where} of every {pattern} layers has full attention, the others {other}")
            return _every(pattern, layers, family, other)
        if pattern is not None and pattern is not False:
            notes.find("error", "bad-pattern", name, pattern, "be a number of layers, or a word of the letters L and G")
    if family.pattern is not None:
        says = f"every {family.pattern} layers one has full attention, as in this model type"
        notes.assume("sliding_window_pattern", family.pattern, says)
        return _every(family.pattern, layers, family, SLIDING)
    return None


def _every(pattern: int, layers: int, family: Family, other: str) -> list[str]:
    full = 0 if family.full_first else pattern - 1
    return [FULL if index % pattern == full else other for index in range(layers)]


def kinds(section: Section, layers: int | None, family: Family, notes: Notes) -> Sequence[str] | None:
    """Return the kind of every layer, where the configuration or its model type says it."""
    for key in () if family.picks_alone else spellings.LAYER_TYPES:
        if section.get(key):  # where it is no such list, no pattern stands in its place
            types = each(section, key, layers, notes) or ()
            _verify_pattern(section, section.name(key), types, family, notes)
            words = types and _are_words(section.name(key), types, notes)
            named = [family.labels.get(name, name) for name in types] if words else None
            return _with_last(section, key, named, notes) if named and family.last_full else named
    if ratios := each(section, "compress_ratios", layers, notes):
        notes.decide(section.name("compress_ratios"), ratios, "layers of ratio 0 are main, the others compress")
        return ["compress" if ratio else "main" for ratio in ratios]
    sparse = section.below("sparse_attention_config")
    if sparse and (blocks := each(sparse, "sparse_attention_freq", layers, notes)):
        notes.decide(sparse.name("sparse_attention_freq"), blocks, "0 has full attention, and an indexer picks blocks for the others")
        return [SPARSE if picked else FULL for picked in blocks]
    if hybrid := each(section, "hybrid_layer_pattern", layers, notes):
        notes.decide(section.name("hybrid_layer_pattern"), hybrid, "0 has full attention, 1 slides")
        return [SLIDING if slides else FULL for slides in hybrid]
    if layers is None and family.picks in spellings.LISTED and isinstance(value := section.get(family.picks), list | str):
        layers = len(value)
    return None if layers is None else _without_list(section, layers, family, notes)


def _with_last(section: Section, key: str, types: list[str], notes: Notes) -> list[str]:
    """Return the kinds with full attention in the last layer, where code of the model type has it there whatever is said."""
    if types[-1] != FULL:
        rule = f"be {FULL} in the last layer ({len(types) - 1}): transformers has that there for this model type, whatever is given"
        notes.find("warning", "forced-kind", section.name(key), types[-1], rule)
    return [*types[:-1], FULL]


def _without_list(section: Section, layers: int, family: Family, notes: Notes) -> Sequence[str] | None:
    """Return the kinds of so many layers where no list has one for each."""
    if family.grid is not None and family.grid.windows is not None:
        return by_windows(section, layers, *family.grid.windows, notes)
    if family.period is not None:
        return by_period(section, layers, family.period, family.before, notes)
    if family.numbered and (numbered := by_numbers(section, layers, notes)):
        return numbered
    before = of_dense(section, layers, family, notes)
    found = picked(section, layers, family, notes) or by_pattern(section, layers - len(before), family, notes)
    return by_class(section, layers, family, notes) if found is None else [*before, *found]


def by_period(section: Section, layers: int, usual: tuple[int, int], before: Sequence[str], notes: Notes) -> list[str] | None:
    """Return the kinds where one layer of every period has attention, and the others have none."""
    values = [given if (given := section.get(key)) is not None else each for key, each in zip(spellings.PERIOD, usual, strict=True)]
    period, offset = values
    for key, value, least in zip(spellings.PERIOD, values, (1, 0), strict=True):
        if type(value) is not int or not least <= value <= spellings.MOST_LAYERS or (key == spellings.PERIOD[1] and value >= period):
            rule = f"be below {spellings.PERIOD[0]}" if least == 0 else f"be a number of layers, at most {spellings.MOST_LAYERS}"
            notes.find("error", "bad-pattern", section.name(key), value, rule)
            return None
    given = section.given(spellings.PERIOD)
    behind = f", counted behind the first {len(before)}," if before else ""
    says = f"of every {period} layers{behind} layer {offset} has attention, the others none"
    tell, key, value = (notes.decide, *given[0]) if given else (notes.assume, section.name(spellings.PERIOD[0]), period)
    tell(key, value, says if given else f"{says}, as in this model type")
    with_attention = before[-1] if before else FULL
    rest = (with_attention if index % period == offset else "linear_attention" for index in range(layers - len(before)))
    return [*before, *rest][:layers]


def by_numbers(section: Section, layers: int, notes: Notes) -> list[str] | None:
    """Return the kinds where a mapping of linear attention numbers the layers of both."""
    inside = section.below(spellings.LINEAR_CONFIG) or Section({})
    given = inside.given(spellings.NUMBERED)
    if len(given) < len(spellings.NUMBERED):
        return None
    (key, full), (other, rest) = given
    lists = isinstance(full, list) and isinstance(rest, list)
    if not lists or not all(type(each) is int for each in (*full, *rest)) or sorted((*full, *rest)) != [*range(1, layers + 1)]:
        notes.find("error", "bad-list", key, full, f"number each layer from 1 to {layers} once, together with {other}")
        return None
    notes.decide(key, full, "these layers, counted from 1, have full attention, the others linear attention")
    return [FULL if index + 1 in full else "linear_attention" for index in range(layers)]


def of_dense(section: Section, layers: int, family: Family, notes: Notes) -> list[str]:
    """Return the kinds of the layers before a pattern, whose feed-forward part is dense, where these have a pattern of their own."""
    dense, every = (section.get(key) for key in (spellings.DENSE_LAYERS, spellings.DENSE_PATTERN))
    if not family.dense_turn or not dense:
        return []
    every = 1 if every is None else every
    for key, value, most in ((spellings.DENSE_LAYERS, dense, layers), (spellings.DENSE_PATTERN, every, spellings.MOST_LAYERS)):
        if type(value) is not int or not 0 < value <= most:
            notes.find("error", "bad-pattern", section.name(key), value, f"be a number of layers, at most {most}")
            return []
    which = "each has" if every == 1 else f"the last of every {every} has"
    says = f"so many layers before the pattern have a dense feed-forward part ({dense}); of these {which} full attention"
    notes.decide(section.name(spellings.DENSE_LAYERS), dense, says)
    return _every(every, dense, replace(family, full_first=False), SLIDING)


def dense_ones(section: Section, family: Family, notes: Notes) -> frozenset[int]:
    """Return the layers that turn whatever their kind, since their feed-forward part is dense and all such layers see everything."""
    if not family.dense_turn or section.get(spellings.DENSE_PATTERN) not in (None, 1):
        return frozenset()
    types, dense = section.get(spellings.FEED_FORWARD), section.get(spellings.DENSE_LAYERS)
    if isinstance(types, list):
        found = frozenset(index for index, name in enumerate(types) if name == "dense")
    else:
        found = frozenset(range(dense)) if type(dense) is int else frozenset()
    if found:
        key = spellings.FEED_FORWARD if isinstance(types, list) else spellings.DENSE_LAYERS
        notes.decide(section.name(key), section.get(key), "layers whose feed-forward part is dense turn, whatever their kind")
    return found


def by_class(section: Section, layers: int, family: Family, notes: Notes) -> Sequence[str] | None:
    """Return the kinds that the class of a model type has where no key says any; of a key that is wrong none."""
    others = {*spellings.LAYERS, *spellings.PICKED, *spellings.PICKS} - {family.picks}
    if family.kinds is None or section.given(key for key in spellings.OF_LAYERS if key not in others):
        return None
    types = family.kinds(layers, section.values)
    counts = ", ".join(f"{types.count(kind)} {kind}" for kind in dict.fromkeys(types))
    notes.assume(spellings.LAYER_TYPES[0], counts, f"the kinds of the layers are those of the class in transformers ({counts})")
    return types


def picked(section: Section, layers: int, family: Family, notes: Notes) -> list[str] | None:
    """Return the kinds by the key of a model type that says which layers have attention."""
    name, value = section.name(family.picks), None if family.derived else section.get(family.picks)
    if family.picked and value is None and family.derived in (None, layers):
        these, others = spellings.PICKED[family.picks]
        says = f"layers {', '.join(map(str, family.picked))} are {these}, the others {others}, as in this model type"
        notes.assume(section.name(spellings.LAYER_TYPES[1]) if family.derived else name, family.picked, says)
        return [these if index in family.picked else others for index in range(layers)]
    if not family.picks or value is None:
        return None
    value = list(value) if isinstance(value, str) and family.picks in spellings.LISTED else value
    indices, words = spellings.PICKED.get(family.picks), spellings.PICKS.get(family.picks, {})
    if not isinstance(value, list) or not value:
        rule = "be a list, and not empty"
    elif indices is not None and all(type(index) is int and 0 <= index < layers for index in value):
        these, others = indices
        notes.decide(name, value, f"these layers are {these}, the others {others}")
        return [these if index in value else others for index in range(layers)]
    elif indices is not None:
        rule = f"name layers from 0 to {layers - 1}"
    elif any(isinstance(entry, list | dict) or entry not in words for entry in value):
        rule = f"have at each entry one of {', '.join(map(str, words))}"
    elif family.picks in spellings.LISTED and len(value) != layers:
        rule = f"have an entry for each of the {layers} layers"
    else:
        notes.decide(name, value, ", ".join(f"{word} is {kind}" for word, kind in words.items()))
        return [words[value[index % len(value)]] for index in range(layers)]
    notes.find("error", "bad-list", name, value, rule)
    return None


def by_windows(section: Section, layers: int, usual: int, whole: Sequence[int], notes: Notes) -> list[str] | None:
    """Return which layers of an encoder see windows of an image, and which the whole of it, where places are divided."""
    key = "global_attn_indexes"
    side = usual if section.get("window_size") is None else section.get("window_size")
    seen = whole if section.get(key) is None else section.get(key)
    if type(side) is not int or side < 1:
        notes.find("error", "bad-value", section.name("window_size"), side, "be a number of patches")
        return None
    if not isinstance(seen, Sequence) or not all(type(index) is int and 0 <= index < layers for index in seen):
        notes.find("error", "bad-list", section.name(key), seen, f"be a list of layers, from 0 to {layers - 1}")
        return None
    tell = notes.assume if section.get(key) is None else notes.decide
    says = f"these layers see the whole image, and a patch stands at its place times {side} / the image's width in patches"
    tell(section.name(key), list(seen), f"{says}; in the others it stands at its place in a window of {side} x {side}")
    return [FULL if index in seen else WINDOWED for index in range(layers)]


def _verify_derived(section: Section, types: Sequence[str], family: Family, notes: Notes) -> None:
    """Warn of a list of layers that code makes itself of their kinds, where these say other layers."""
    value = section.get(family.picks)
    made = [index for index, kind in enumerate(types) if kind == spellings.PICKED[family.picks][0]] if family.derived else value
    if value is not None and value != made:
        rule = f"be {made}: code of this model type makes it of {spellings.LAYER_TYPES[1]}, which says where attention is"
        notes.find("warning", "unread-layers", section.name(family.picks), value, rule)


def _verify_pattern(section: Section, key: str, types: Sequence[Any], family: Family, notes: Notes) -> None:
    """Warn of a pattern that says other layers than the list that counts."""
    given = section.given(PATTERNS)
    found = by_pattern(section, len(types), family, Notes()) if given else None
    if found is not None and [name == FULL for name in found] != [name == FULL for name in types]:
        notes.find("warning", "two-patterns", *given[0], f"say the same layers as {key}, which counts", follows=[key])


def _are_words(key: str, types: Sequence[Any], notes: Notes) -> bool:
    wrong = [name for name in types if not isinstance(name, str)]
    if wrong:
        notes.find("error", "bad-kind", key, wrong[0], "name a kind of layers at each entry")
    return not wrong


def turning(section: Section, layers: int, family: Family, notes: Notes) -> Sequence[bool] | None:
    """Return which layers turn, where a list or an interval says so: 1 turns, 0 doesn't, whatever the key's name."""
    if listed := each(section, "no_rope_layers", layers, notes):
        if not all(entry in (0, 1) for entry in listed):
            notes.find("error", "bad-list", section.name("no_rope_layers"), listed, "have 1 for layers that turn, 0 for others")
        notes.decide(section.name("no_rope_layers"), listed, "1 turns and 0 doesn't, in spite of the name")
        _verify_interval(section, listed, notes)
        return [bool(entry) for entry in listed]
    if section.get("no_rope_layers"):  # what is no such list is an error, and no interval stands in its place
        return None
    interval = section.get("no_rope_layer_interval")
    if type(interval) is int and interval > 0:
        notes.decide(section.name("no_rope_layer_interval"), interval, f"the last of every {interval} layers doesn't turn")
    elif interval is not None:
        notes.find("error", "bad-pattern", section.name("no_rope_layer_interval"), interval, "be a number of layers")
        return None
    elif family.without_every is not None:
        interval = family.without_every
        notes.assume("no_rope_layer_interval", interval, f"the last of every {interval} layers doesn't turn, as in this model type")
    else:
        return None
    return [(index + 1) % interval != 0 for index in range(layers)]


def _verify_interval(section: Section, listed: Sequence[Any], notes: Notes) -> None:
    """Warn of an interval that a list beside it contradicts."""
    key, interval = section.name("no_rope_layer_interval"), section.get("no_rope_layer_interval")
    if type(interval) is int and interval > 0 and [(index + 1) % interval != 0 for index in range(len(listed))] != [*map(bool, listed)]:
        counts = section.name("no_rope_layers")
        notes.find("warning", "two-patterns", key, interval, f"say the same layers as {counts}, which counts", follows=[counts])


def listed(section: Section, layers: int | None, family: Family, notes: Notes) -> dict[Layer, tuple[int, ...] | None]:
    """Return the kinds of layers, and which layers are of each; null where nothing says which."""
    types = kinds(section, layers, family, notes)
    layers = layers if layers is not None else len(types) if types else None
    nested = any(entries(value) for _, value in section.given(spellings.ROPE))
    if layers is None or (types is None and nested):
        return {Layer(name, turns=family.turns and name not in family.unturned): None for name in named(section, family)}
    if types is None and ((family.turns and family.unturned) or family.picks):
        does = "turns" if family.turns else "has attention"
        kinds_of = "say which layers have which kind of attention: models of this type have several"
        rule = f"{kinds_of}, and every layer is read as one that {does}"
        key = "layer_types" if family.derived else family.picks or "layer_types"
        notes.find("warning", "no-layer-types", section.name(key), None, rule, follows=map(section.name, spellings.OF_LAYERS))
    if types is not None:
        _verify_derived(section, types, family, notes)
    turns = turning(section, layers, family, notes)
    bases = {key: each(section, key, layers, notes) for key in ("layer_rope_theta", "rope_theta")}
    fractions = each(section, "partial_rotary_factors", layers, notes)
    widths, dense = own_widths(section, layers, notes), dense_ones(section, family, notes)
    scaled = _scaled(section, layers, notes)
    if family.resting is not None:
        turns, bases = _resting(section, layers, family.resting, bases["layer_rope_theta"], notes), {}
    found: dict[Layer, list[int]] = {}
    for index in range(layers):
        kind = types[index] if types else "every layer"
        base = next(((section.name(key), values[index]) for key, values in bases.items() if values), None)
        fraction = (section.name("partial_rotary_factors"), fractions[index]) if fractions else None
        resting = kind in family.unturned and index not in dense
        turned = family.turns and not resting and (turns is None or turns[index]) and (base is None or base[1] != 0)
        own = Layer(kind, turned, base, fraction, scaled is None or index in scaled, widths.get(index, ()))
        found.setdefault(own, []).append(index)
    return {layer: tuple(indices) for layer, indices in found.items()}


def _scaled(section: Section, layers: int, notes: Notes) -> frozenset[int] | None:
    """Return the layers that a scaling is for, where a key names them."""
    key, value = section.name("rope_scaling_layers"), section.get("rope_scaling_layers")
    if value is None or not any(section.given(spellings.ROPE)):
        return None
    if not isinstance(value, list) or not all(type(index) is int and 0 <= index < layers for index in value):
        notes.find("error", "bad-list", key, value, f"name layers from 0 to {layers - 1}")
        return None
    notes.decide(key, value, "these layers are scaled, the others aren't")
    return frozenset(value)


def own_widths(section: Section, layers: int, notes: Notes) -> dict[int, tuple[tuple[str, Any], ...]]:
    """Return the widths that a mapping by layers gives the heads of some; what else it says of positions is warned of."""
    inside = section.below(spellings.BY_LAYER) or Section({})
    found: dict[int, tuple[tuple[str, Any], ...]] = {}
    for key, value in inside.values.items():
        index = int(key) if str(key).isdecimal() else layers
        if index >= layers or not isinstance(value, Mapping):
            notes.find("error", "bad-layer", inside.name(str(key)), value, f"be a mapping for a layer from 0 to {layers - 1}")
            continue
        own = Section(value, (*inside.path, str(key)))
        for name, given in own.given(spellings.UNREAD_BY_LAYER):
            notes.find("warning", "unread-key", name, given, "be left out: of a mapping by layers posenc reads widths of heads alone")
        found[index] = tuple((name, value[name]) for name in spellings.WIDTHS_BY_LAYER if isinstance(value.get(name), int | float | str))
    return found


def _resting(section: Section, layers: int, interval: int, bases: Sequence[Any] | None, notes: Notes) -> list[bool]:
    """Return which layers turn in a type whose code reads of a list of bases only where it has a 0."""
    if bases is None:
        says = f"every {interval} layers, counted from the last, one doesn't turn, as in this model type"
        notes.assume("layer_rope_theta", interval, says)
        return [(layers - 1 - index) % interval != 0 for index in range(layers)]
    notes.decide(section.name("layer_rope_theta"), bases, "layers with 0 don't turn")
    one = (section.below("rope_parameters") or section).get("rope_theta")
    if others := [base for base in bases if base not in (0, one)]:
        rule = f"be 0, or the base of all layers ({one}): code of this model type turns every other layer by that one"
        follows = map(section.name, (*spellings.ROPE, "rope_theta"))
        notes.find("warning", "unread-base", section.name("layer_rope_theta"), others[0], rule, follows=follows)
    return [base != 0 for base in bases]


def named(section: Section, family: Family) -> tuple[str, ...]:
    """Return the kinds that are named, where nothing says which layers are of each."""
    nested = [key for _, value in section.given(spellings.ROPE) for key in entries(value)]
    if nested:
        return tuple(dict.fromkeys(nested))
    local = section.given(spellings.BASE_OF_KIND[SLIDING])
    return (SLIDING, FULL) if local or family.plain == (SLIDING,) else ("every layer",)


def entries(rope: object) -> Mapping[str, Any]:
    """Return the mappings of a nested rope mapping by kind; a flat one has none, nor is a mapping of a rope type a kind."""
    within = rope.items() if isinstance(rope, Mapping) else ()
    return {key: value for key, value in within if isinstance(value, Mapping) and key not in (*spellings.ROPE, *spellings.WITHIN)}
