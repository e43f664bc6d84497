"""What queries are multiplied by beside the rotation: the temperature of attention, which grows with the logarithm of the position."""

from collections.abc import Iterable
from typing import Any

from refimpl.configuration import spellings
from refimpl.configuration.families import Family
from refimpl.configuration.findings import Notes, Temperature
from refimpl.configuration.scalings import checked, declared, original_length
from refimpl.configuration.sections import Section

SCALE, LOG_SCALE, LEARNED_SCALE = "temperature.scale", "temperature.log_scale", "temperature.learned_scale"
SWITCH, LOGARITHM = "attn_temperature_tuning", "use_logn_attn"


def of_layer(section: Section, rope: Section | None, own: Family, notes: Notes, *, rests: bool) -> Temperature | None:
    """Return what multiplies the queries of layers that turn, or rest; none where nothing does, or a number breaks a rule."""
    if own.temperature:
        return _of_llama_4(section, notes) if rests else None
    if own.learned:
        notes.assume("slopes", None, "queries grow with the logarithm of their position, by numbers that the weights hold for each head")
        return Temperature(LEARNED_SCALE, {})
    slopes = [pair for pair in (rope.given((spellings.SLOPE,)) if rope else ()) if pair[1]]
    if rope is not None and slopes:
        return _made(SCALE, {"floor_scale": original_length(section, rope, Notes()), "attn_scale": slopes[0]}, {"shift": 0}, notes)
    if section.get(LOGARITHM):
        grows = "queries grow with the logarithm of their position beyond the trained length"
        notes.decide(section.name(LOGARITHM), section.get(LOGARITHM), grows)
        return _made(LOG_SCALE, {"original_length": next(iter(section.given(spellings.TRAINED_LENGTH)), None)}, {}, notes)
    return None


def unscaled(others: Iterable[Temperature | None]) -> Temperature:
    """Return what multiplies queries by 1: the steps of other layers, without a slope."""
    steps = [dict(each.parameters) for each in others if each is not None and each.operation == SCALE]
    return Temperature(SCALE, {**(steps[0] if steps else {"floor_scale": 1, "shift": 0}), "attn_scale": 0.0})


def _of_llama_4(section: Section, notes: Notes) -> Temperature | None:
    tuning = section.get(SWITCH)
    if type(tuning) is int:
        rule = f"be {bool(tuning)}: transformers 4.57 takes a number for that, and 5.23 raises an error".lower()
        notes.find("warning", "refused-value", section.name(SWITCH), tuning, rule)
        tuning = bool(tuning)
    if tuning is False:
        return None
    if tuning is not None and not isinstance(tuning, bool):
        notes.find("error", "bad-value", section.name(SWITCH), tuning, "be true or false: it is for layers that don't turn")
        return None
    note = notes.assume if tuning is None else notes.decide
    grows = "queries of layers that don't turn are multiplied by a number that grows with the position"
    note(section.name(SWITCH), tuning, grows + (", as in this model type" if tuning is None else ""))
    given = {key: next(iter(section.given((key,))), None) for key in ("floor_scale", "attn_scale")}
    return _made(SCALE, given, {"shift": 1}, notes)


def _made(operation: str, given: dict[str, tuple[str, Any] | None], fixed: dict[str, Any], notes: Notes) -> Temperature | None:
    """Return an operation with what keys give it, its own default where one gives nothing; none where a number breaks a rule."""
    contract, values = declared(operation).parameters, dict(fixed)
    for name, found in given.items():
        if found is not None:
            values[name] = checked(found, contract[name], notes)
        elif contract[name].required:
            notes.find("error", "missing-key", spellings.TRAINED_LENGTH[0], None, f"be given for {LOGARITHM}")
            return None
        else:
            values[name] = contract[name].default
            notes.assume(name, values[name], f"{name} is {values[name]}, which code takes where it isn't given")
    return None if None in values.values() else Temperature(operation, values)
