"""How wide a head is, and which of its channels turn."""

from dataclasses import dataclass, replace
from typing import Any

from refimpl.configuration import spellings
from refimpl.configuration.families import Family
from refimpl.configuration.findings import Notes
from refimpl.configuration.layers import FULL, SLIDING, Layer
from refimpl.configuration.sections import Section, agreed, is_number

TWICE = "https://github.com/vllm-project/vllm/pull/30384"
UNREAD, TURN, IS_THE_WIDTH = "doesn't count", "channels turn", "is the width that turns"
AMONG = "divided among the heads"
#: What a head of latent attention is put together of.
PARTS_OF_LATENT = ("qk_nope_head_dim", "qk_rope_head_dim")
TAKEN = "https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/deepseek_v3/configuration_deepseek_v3.py"
LATENT = "https://github.com/vllm-project/vllm/pull/41185"


@dataclass(frozen=True)
class Width:
    """The channels of a head, and those that turn."""

    head_dim: int
    channels: range
    odd: bool = False
    """Whether frequencies are those of one channel less than turn."""


def width(section: Section, rope: Section | None, layer: Layer, family: Family, notes: Notes) -> Width | None:
    """Return which channels of how many turn; null where the keys don't say it, or contradict each other."""
    section, family = of_layer(section, layer, family)
    if family.refuses_null and section.values.get("head_dim", family) is None:
        takes = "" if family.head_dim is None else f"takes {family.head_dim} where the key is missing, and "
        notes.find("warning", "null-width", section.name("head_dim"), None, f"be a number, or left out: transformers {takes}refuses null")
    latent = section.given(("qk_rope_head_dim",))
    if latent or (family.latent is not None and "qk_rope_head_dim" not in section.values):
        return _latent(section, rope, latent[0] if latent else None, family, notes)
    head_dim = heads(section, layer, family, notes)
    if head_dim is None:
        return None
    own_way = family.grid is not None and not family.grid.order  # nobody knows what a fraction says there
    turning = head_dim if own_way else rotary(section, rope, layer, head_dim, family, notes)
    if turning is None:
        return None
    odd = turning % 2
    first = head_dim - turning if family.trailing else 0
    return Width(head_dim, range(first, first + turning + odd), bool(odd))


def of_layer(section: Section, layer: Layer, family: Family) -> tuple[Section, Family]:
    """Return a section and a family with the widths that single layers, or those of a kind, have of their own."""
    if layer.widths:
        keys = dict(layer.widths)
        spelt = {**section.spelt, **dict.fromkeys(keys, spellings.BY_LAYER)}
        return replace(section, values={**section.values, **keys}, spelt=spelt), family
    if family.sliding_latent is None or layer.kind != SLIDING:
        return section, family
    usual = dict(zip(("swa_qk_nope_head_dim", "swa_head_dim"), family.sliding_latent, strict=True))
    still, head = (value if type(value := section.get(key)) is int else usual[key] for key in usual)
    others = {key: value for key, value in section.values.items() if key not in spellings.WIDTHS_BY_LAYER}
    common = {f"swa_{key}": key for key in spellings.WIDTHS_BY_LAYER}
    return replace(section, values=others).respelt(common), replace(family, latent=(still, head - still))


def whole(pair: tuple[str, Any], notes: Notes, *, even: bool = False, of: str = "channels") -> int | None:
    """Return the number of channels, or of heads, that a key gives, or note that it is none."""
    key, value = pair
    if type(value) is not int or not 1 <= value <= spellings.MOST_CHANNELS or (even and value % 2):
        rule = f"be {'an even' if even else 'a whole'} number of {of}, from {1 + even} to {spellings.MOST_CHANNELS}"
        notes.find("error", "bad-width", key, value, rule)
        return None
    return value


def heads(section: Section, layer: Layer, family: Family, notes: Notes) -> int | None:
    """Return the channels of a head: explicit, or those of the hidden state divided among the heads."""
    section, family = of_layer(section, layer, family)
    own = section.given(("head_dim",)) if layer.widths else section.given(spellings.HEAD_DIM_OF_KIND.get(layer.kind, ()))
    wide = family.full_head_dim if layer.kind == FULL and spellings.BY_LAYER not in section.values else None
    if wide is not None and not own:
        notes.assume("global_head_dim", wide, f"a head of layers of full attention has {wide} channels, as in this model type")
        return wide
    found = agreed(own or section.given(spellings.HEAD_DIM), "two-widths", "the channels of a head", notes)
    if found is not None:
        notes.decide(*found, f"a head has {found[1]} channels{_undivided(section, found[1])}")
        return whole(found, notes)
    if family.head_dim is not None and "head_dim" not in section.values:
        notes.assume("head_dim", family.head_dim, f"a head has {family.head_dim} channels, as in this model type")
        return family.head_dim
    return _divided(section, family, notes)


def at_rest(section: Section, layer: Layer, family: Family) -> int | None:
    """Return the channels of a head that doesn't turn: beside latent attention those of both of its parts."""
    own, own_family = of_layer(section, layer, family)
    if own_family.latent is None and not own.given(PARTS_OF_LATENT):
        return heads(section, layer, family, Notes())
    parts = [own.values.get(key, usual) for key, usual in zip(PARTS_OF_LATENT, own_family.latent or (0, 0), strict=True)]
    return sum(parts) if all(type(part) is int for part in parts) else None


def _divided(section: Section, family: Family, notes: Notes) -> int | None:
    """Return the channels of the hidden state divided among the heads."""
    hidden = section.given(spellings.HIDDEN if family.grid is None else spellings.HIDDEN_OF_IMAGES)[:1]
    number = section.given(spellings.HEADS)[:1]
    if family.sizes is not None and section.path and not hidden and not number:
        whole_width, heads_of_class = family.sizes
        head_dim = whole_width // heads_of_class
        says = f"a head has {head_dim} channels: {whole_width} {AMONG} ({heads_of_class}), as the class in transformers has it"
        notes.assume("head_dim", head_dim, says)
        return head_dim
    if not hidden or not number:
        rule = f"be given, or hidden_size and num_attention_heads{_below(section)}"
        notes.find("error", "no-head-dim", section.name("head_dim"), None, rule)
        return None
    channels, among = whole(hidden[0], notes), whole(number[0], notes, of="heads")
    if channels is None or among is None:
        return None
    wide, twice = (2 * channels, "twice ") if family.twice else (channels, "")
    if wide % among and family.uneven and wide > among:
        rule = f"be a multiple of {number[0][0]} ({among}), or head_dim be given: transformers rounds down"
        notes.find("warning", "uneven-heads", hidden[0][0], channels, rule)
    elif wide % among:
        notes.find("error", "no-head-dim", hidden[0][0], channels, f"be a multiple of {number[0][0]} ({among}), as head_dim isn't given")
        return None
    notes.decide(hidden[0][0], channels, f"a head has {wide // among} channels: {twice}{channels} divided among {among} heads")
    return wide // among


def _below(section: Section) -> str:
    """Say which mapping within has what is missing: another part of the model, to be read as a file of its own."""
    widths = (*spellings.HIDDEN_OF_IMAGES, *spellings.HEAD_DIM)
    parts = [key for key in section.values if (part := section.below(key)) and part.given(widths)]
    return f" ({' and '.join(parts)} can be explained as a file of its own)" if parts else ""


def _undivided(section: Section, head_dim: object) -> str:
    """Say what doesn't count where a head isn't as wide as code finds that divides."""
    among = _shared_out(section)
    return "" if among in (None, head_dim) else f"; {section.given(spellings.HIDDEN)[0][0]} {AMONG} ({among:g}) {UNREAD}"


def _shared_out(section: Section) -> float | None:
    hidden, number = section.given(spellings.HIDDEN)[:1], section.given(spellings.HEADS)[:1]
    if not hidden or not number or not all(type(pair[0][1]) is int and pair[0][1] > 0 for pair in (hidden, number)):
        return None
    return float(hidden[0][1] / number[0][1])


def divided(section: Section) -> int | None:
    """Return how many channels of the hidden state each head would have if code divided, where that leaves any."""
    return int(_shared_out(section) or 0) or None


def rotary(section: Section, rope: Section | None, layer: Layer, head_dim: int, family: Family, notes: Notes) -> int | None:
    """Return how many channels turn: a width or a fraction; both may be given if they agree, and only one counts."""
    given = [layer.fraction] if layer.fraction else (rope.given(("partial_rotary_factor",)) if rope else [])
    fraction = agreed(given + section.given(spellings.FRACTION), "two-fractions", "the fraction", notes)
    direct = agreed(section.given(spellings.ROTARY_DIM), "two-widths", "the channels that turn", notes)
    if fraction is not None and (not is_number(fraction[1]) or not 0 < fraction[1] <= 1):
        notes.find("error", "bad-fraction", *fraction, "be a fraction of the head, above 0 and at most 1")
        return None
    by_fraction = int(head_dim * fraction[1]) if fraction is not None else None
    if direct is not None:
        if family.null_fraction:
            _verify_null(section, rope, spellings.FRACTION, notes)
        return _direct(direct, fraction, by_fraction, head_dim, notes)
    if by_fraction is not None and fraction is not None:
        notes.decide(*fraction, f"{by_fraction} of {head_dim} channels turn")
        return _even(by_fraction, *fraction, head_dim, family, notes)
    if family.projected is not None:
        return _projected(section, head_dim, family.projected, notes)
    assumed = family.rotary_dim or (int(head_dim * family.fraction) if family.fraction else _shared(head_dim, family))
    if assumed is not None:
        _verify_null(section, rope, spellings.ROTARY_DIM if family.rotary_dim else spellings.FRACTION, notes)
        notes.assume("partial_rotary_factor", assumed / head_dim, f"{assumed} of {head_dim} channels turn, as in this model type")
        return _even(assumed, "partial_rotary_factor", None, head_dim, family, notes)
    notes.assume("partial_rotary_factor", 1.0, f"all {head_dim} channels of a head turn")
    return whole(("head_dim", head_dim), notes, even=True)


def _even(turning: int, key: str, value: object, head_dim: int, family: Family, notes: Notes) -> int | None:
    """Return how many channels turn, an odd number only where code of the model type turns one more."""
    if turning % 2 == 0 or not family.rounds:
        return whole((key, turning), notes, even=True)
    says = f"{turning + 1} of {head_dim} channels turn, by frequencies of a width of {turning}, in transformers' code of this model type"
    notes.find("missing", "no-odd-width", key, value, says)
    return turning


def _verify_null(section: Section, rope: Section | None, keys: tuple[str, ...], notes: Notes) -> None:
    """Warn of a share that is there and null: transformers takes the usual one only where the key is missing."""
    for where in (section, *([rope] if rope else [])):
        for key in (key for key in keys if key in where.values and where.values[key] is None):
            rule = "be a number, or left out: transformers takes the usual share only where the key is missing"
            notes.find("warning", "null-fraction", where.name(key), None, rule)


def _projected(section: Section, head_dim: int, least: int, notes: Notes) -> int | None:
    """Return how many channels turn where half of the projection is divided among the heads, at least so many."""
    given = section.given(("projection_dim",))
    channels, among = whole(given[0], notes) if given else 768, section.given(spellings.HEADS)[:1]
    number = whole(among[0], notes, of="heads") if among else None
    if channels is None or number is None:
        return None
    turning = max(channels // (2 * number), least)
    if turning > head_dim or turning % 2:
        rule = f"leave an even number of channels, at most those of a head ({head_dim}), where half of it is divided among {number} heads"
        notes.find("error", "bad-width", section.name("projection_dim"), channels, f"{rule} (at least {least})")
        return None
    says = f"{turning} of {head_dim} channels turn: half of it divided among {number} heads, at least {least}"
    if given:
        notes.decide(*given[0], says)
    else:
        notes.assume("projection_dim", channels, says)
    return turning


def _shared(head_dim: int, family: Family) -> int | None:
    """Return how many channels three axes share equally, in whole pairs; of two axes all must be shared."""
    axes = family.grid.axes if family.grid else 0
    return 2 * axes * (head_dim // (2 * axes)) if axes > 2 else None


def _direct(direct: tuple[str, Any], fraction: tuple[str, Any] | None, by_fraction: int | None, head_dim: int, notes: Notes) -> int | None:
    turning = whole(direct, notes, even=True)
    if turning is None:
        return None
    if turning > head_dim:
        notes.find("error", "too-wide", *direct, f"be at most the channels of a head ({head_dim})")
        return None
    if fraction is not None and by_fraction != turning:
        rule = f"be the width that {fraction[0]} ({fraction[1]:g}) gives too ({by_fraction} of {head_dim})"
        notes.find("error", "two-widths", *direct, rule, TWICE)
        return None
    notes.decide(*direct, f"{turning} of {head_dim} channels turn")
    if fraction is not None:
        notes.decide(*fraction, f"as {direct[0]} says, too")
    return turning


def _latent(section: Section, rope: Section | None, given_width: tuple[str, Any] | None, family: Family, notes: Notes) -> Width | None:
    """Return the widths of latent attention: the head is put together of a part that doesn't turn, and one that does."""
    usual = family.latent or (0, 0)
    latent = given_width or (section.name("qk_rope_head_dim"), usual[1])
    turning = whole(latent, notes, even=True)
    still = section.given(("qk_nope_head_dim",))
    beside = whole(still[0], notes) if still else usual[0]
    if turning is None or beside is None:
        return None
    if not still and beside:
        notes.assume("qk_nope_head_dim", beside, f"{beside} channels of a head don't turn, as in this model type")
    fraction = section.given(spellings.FRACTION) + (rope.given(("partial_rotary_factor",)) if rope else [])
    given = section.get("head_dim")
    head_dim = turning + beside if still or beside else given if family.trailing else turning
    if type(head_dim) is not int or head_dim < turning:
        notes.find("error", "bad-width", section.name("head_dim"), head_dim, f"be at least {latent[0]} ({turning})")
        return None
    if given not in (None, turning):
        notes.decide(section.name("head_dim"), given, f"{UNREAD}: {latent[0]} ({turning}) {IS_THE_WIDTH}")
    taken = section.values.get("head_dim", family.head_dim or turning)
    if family.takes_width and taken != turning:
        takes = "the hidden state divided among the heads" if taken is None else f"{taken}" if given is None else "head_dim"
        left = "" if family.head_dim else "be left out, or "
        rule = f"{left}be {turning}: transformers 5.23 takes {takes} for the width that turns, in place of {latent[0]}"
        notes.find("warning", "taken-width", section.name("head_dim"), given, rule, TAKEN, follows=[latent[0]])
    scaled = rope is not None and any(value not in ("default", "mrope") for _, value in rope.given(("rope_type", "type")))
    possible = [1, turning / head_dim, *([turning / given] if type(given) is int and given > 0 else [])]
    possible = possible[:1] if scaled and not family.shares_whole else possible
    again = ", of which transformers takes a share again beside a scaling" if scaled and not family.shares_whole else ""
    shares = type(given) is int and any(is_number(value) and int(given * value) == turning for _, value in fraction)
    if not shares and not family.takes_width and given not in (None, turning, head_dim, head_dim - turning, section.get("v_head_dim")):
        rule = f"be the channels of a part of a head, or of a whole one ({head_dim}), beside {latent[0]}"
        notes.find("warning", "unread-width", section.name("head_dim"), given, rule, follows=map(section.name, spellings.ROPE))
    for key, value in fraction:
        notes.decide(key, value, f"{UNREAD}: {latent[0]} ({turning}) {IS_THE_WIDTH}")
        if value not in possible:
            notes.find("warning", "unread-fraction", key, value, f"be left out: {latent[0]} ({turning}) {IS_THE_WIDTH}{again}", LATENT)
    says = f"the last {turning} of {head_dim} channels turn"
    if given_width:
        notes.decide(*given_width, says)
    else:
        notes.assume("qk_rope_head_dim", turning, f"{says}, as in this model type")
    return Width(head_dim, range(head_dim - turning, head_dim))
