"""The values that a parameter is drawn from, and which of them agree with each other."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from refimpl.errors import SpecificationError
from refimpl.spec import Parameter

#: Values worth trying, all exact in float32; a parameter that isn't here is drawn from its rule.
TYPICAL: dict[str, tuple[object, ...]] = {
    "alpha": (1.0, 2.0, 0.5),
    "attention_factor": (None, 0.5, 1.0, 1.25),
    "attn_scale": (0.125, 1.0, 0.0, 0.5),
    "axes": ((2, 2), (4, 4), (2, 4), (2, 2, 2), (4, 2, 2), (4, 12), (6,)),
    "base": (10_000.0, 500_000.0, 1_000_000.0, 100.0, 32.0),
    "beta": (32.0, 16.0, 4.0),
    "beta_fast": (32.0, 16.0, 8.0),
    "beta_slow": (1.0, 2.0, 0.5),
    "bits": (4, 8, 3, 21, 40, 62),
    "centre": (0, 9, 512, -3),
    "chunk_size": (8, 6, 3072, 16),
    "clamp_length": (None, 2, 9, 4096),
    "dim": (2, 4, 6, 7, 8, 16),
    "factor": (1.0, 1.5, 4.0, 16.0, 40.0),
    "floor_scale": (8192, 16, 4096, 3, 16_384),
    "group_size": (2, 8, 1, 3),
    "head_dim": (2, 4, 6, 8, 16),
    "heights": ((2, 3), (1, 4), (3, 2), (6, 12), (12, 6)),
    "high_freq_factor": (4.0, 8.0, 32.0),
    "length": (4096, 1_048_577, 4097, 131_072, 300),
    "local_size": (2, 1, 256, 4),
    "low_freq_factor": (1.0, 2.0, 0.5),
    "max_bias": (8.0, 4.0, 16.0),
    "max_distance": (128, 64, 100, 256),
    "long_mscale": (None, 1.0, 1.25),
    "max_length": (4096, 131_072, 8192, 1_048_576),
    "merge": (1, 2, 3),
    "mscale": (None, 1.0, 0.75),
    "mscale_all_dim": (None, 1.0, 0.5),
    "num_buckets": (32, 16, 8, 20),
    "num_heads": (1, 2, 3, 4, 6, 8, 12, 20),
    "offset": (0, 2, 1, 3),
    "original_length": (4096, 2048, 8192, 32_768),
    "power": (1.0, 0.625, 2.0, 0.5),
    "qk_head_dim": (192, 64, 1, 96, 256),
    "rotary_dim": (None, 2, 4, 6, 8),
    "scale": (1.0, 0.5, 2.0),
    "scale_base": (512.0, 1024.0, 8192.0, 262_144.0),
    "seconds": (1.0, 0.5, 1.5),
    "sections": ((1, 1), (2, 1, 1), (1, 1, 1), (4, 2, 2), (2, 3, 3), (1, 2), (2, 2, 2, 2), (3,)),
    "sides": ((), (3, 5), (14, 14), (7, 4, 2)),
    "short_mscale": (None, 1.0, 0.75),
    "slope": (0.125, 0.0625),
    "start_tokens": (0, 4, 1, 256),
    "text": ((3, 2), (1, 4), (2, 1)),
    "times": ((1, 1), (2, 1), (1, 3), (4, 2)),
    "tokens_per_second": (1, 25, 2, 13),
    "top_k": (2, 1, 3, 8),
    "turned_pairs": (1, 2, 3, 4, 8),
    "widths": ((3, 2), (2, 5), (4, 1), (6, 18), (12, 6)),
    "window": (4, 512, 1, 16),
}
#: Parameters whose numbers fill a head, and how many channels each stands for.
FILLING = {"sections": 2, "axes": 1}


def candidates(parameter: Parameter, restriction: object = ..., typical: Mapping[str, tuple[object, ...]] = TYPICAL) -> tuple[object, ...]:
    """Return the values to draw a parameter from: what the restriction lists, else the choices, else typical values that obey the rule.

    ``None`` is a value that a parameter may be restricted to; ``...`` is no restriction.
    """
    if parameter.kind is tuple and isinstance(restriction, list | tuple):
        return tuple(sorted(map(tuple, as_several(restriction)), key=repr))
    if isinstance(restriction, set | frozenset | list | tuple):
        return tuple(sorted(restriction, key=repr))
    if restriction is not ... and not callable(restriction):
        return (restriction,)
    if parameter.choices:
        return parameter.choices
    if parameter.kind is bool:
        return (False, True)
    return tuple(value for value in typical.get(parameter.name) or _generic(parameter) if obeys(parameter, value))


def as_several(restriction: Collection[Any]) -> Collection[Any]:
    """Return the values that a parameter of integers is restricted to: one where integers are listed, else those that are."""
    return [restriction] if all(isinstance(each, int) for each in restriction) else restriction


def obeys(parameter: Parameter, value: object) -> bool:
    """Whether a value obeys the rule of a parameter."""
    try:
        parameter.check(value)
    except SpecificationError:
        return False
    return True


def _generic(parameter: Parameter) -> tuple[object, ...]:
    """Return small values that obey the rule of a parameter without typical ones."""
    rule = parameter.rule
    step = rule.multiple_of if rule else 1
    least = rule.minimum if rule and rule.minimum is not None else 1
    return tuple(parameter.kind(step * math.ceil(least / step) + step * k) for k in range(4))


def agree(drawn: Mapping[str, object]) -> bool:
    """Whether parameters that depend on each other agree (a range beyond its exact part, ends in order, a band, parts in the head)."""
    taken = not (drawn.get("odd") == "error" and _number(drawn, "dim") % 2)
    lying = (_band_lies_in_head, _part_lies_in_head, _parts_fill_head, _sections_have_turns, _axes_have_sides)
    in_grids = (_grids_have_all_sides, _blocks_fill_grids)
    of_frequencies = (_in_order, _rises_in_image, _tiled_over_neighbours, _power_where_all_are_slowed)
    return taken and all(rule(drawn) for rule in (_buckets_agree, *of_frequencies, *lying, *in_grids))


#: The lower and the upper end of a band.
ENDS = (("beta_slow", "beta_fast"), ("alpha", "beta"), ("low_freq_factor", "high_freq_factor"))
#: What is below what.
ORDERED = (*ENDS, ("local_size", "chunk_size"))


def _power_where_all_are_slowed(drawn: Mapping[str, object]) -> bool:
    """Whether a power other than 1 stands beside a fastest pair that is slowed too."""
    return drawn.get("fastest") != "kept" or drawn.get("power", 1.0) == 1.0


def _in_order(drawn: Mapping[str, object]) -> bool:
    ends = [(_number(drawn, low), _number(drawn, high)) for low, high in ORDERED if low in drawn]
    touching = drawn.get("truncate") is True or "low_freq_factor" in drawn
    return all(low < high or (low == high and touching) for low, high in ends)


def _number(drawn: Mapping[str, object], name: str) -> float:
    value = drawn.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _buckets_agree(drawn: Mapping[str, object]) -> bool:
    if "num_buckets" not in drawn:
        return True
    buckets, both, convention = int(_number(drawn, "num_buckets")), drawn["bidirectional"], drawn.get("convention")
    if convention == "deberta":
        return bool(both) and buckets >= 8 and buckets % 4 == 0 and _number(drawn, "max_distance") > buckets // 4 + 1
    if both and (buckets % 2 or buckets < 4):
        return False
    return convention == "clamped" or _number(drawn, "max_distance") > buckets // (4 if both else 2)


def _part_lies_in_head(drawn: Mapping[str, object]) -> bool:
    return max(_number(drawn, "rotary_dim"), 2 * _number(drawn, "turned_pairs")) <= _number(drawn, "head_dim") or "head_dim" not in drawn


def fills(name: str, parts: Iterable[int], width: object) -> bool:
    """Whether the numbers of a parameter fill a head of that width."""
    return FILLING[name] * sum(parts) == width


def filled(restrictions: Mapping[str, object]) -> Mapping[str, object]:
    """Return the widths of the head that declared parts fill: no usual head may have one."""
    for name, channels in FILLING.items():
        parts = restrictions.get(name)
        if isinstance(parts, list | tuple) and parts:
            return {"head_dim": [channels * sum(each) for each in as_several(parts)]}
    return {}


def _parts_fill_head(drawn: Mapping[str, object]) -> bool:
    given = {name: drawn.get(name) for name in FILLING}
    return all(fills(name, parts, drawn.get("head_dim")) for name, parts in given.items() if isinstance(parts, tuple))


def _sections_have_turns(drawn: Mapping[str, object]) -> bool:
    """Whether turns have room for the pairs of every axis."""
    sections = drawn.get("sections")
    if not isinstance(sections, tuple) or drawn.get("order") != "interleaved":
        return True
    last = max((len(sections) * (pairs - 1) + axis for axis, pairs in enumerate(sections) if axis and pairs), default=0)
    return last < sum(sections)


def _grids_have_all_sides(drawn: Mapping[str, object]) -> bool:
    """Whether as many grids have text before them as have each of their sides."""
    return len({len(value) for name in ("text", "times", "heights", "widths") if isinstance(value := drawn.get(name), tuple)}) <= 1


def _blocks_fill_grids(drawn: Mapping[str, object]) -> bool:
    """Whether whole blocks of patches that are merged fill every grid."""
    sides = [side for name in ("heights", "widths") if isinstance(value := drawn.get(name), tuple) for side in value]
    return all(side % int(_number(drawn, "merge") or 1) == 0 for side in sides)


def _axes_have_sides(drawn: Mapping[str, object]) -> bool:
    """Whether every axis has a side, or none."""
    axes, sides = drawn.get("axes"), drawn.get("sides")
    return not (isinstance(axes, tuple) and isinstance(sides, tuple)) or len(sides) in (0, len(axes))


#: Ladders whose frequencies rise from 1 to the base, in an image of given sides; and how often a pair may turn: of 2 pi 20000
#: radians float32 leaves something. LTX-Video has 10000, and pixel frequencies half of an image's pixels.
RISING, HIGHEST_END = ("linear", "exponential"), 20_000.0


def _rises_in_image(drawn: Mapping[str, object]) -> bool:
    """Whether frequencies that rise have sides, and an end that is not too fast."""
    return drawn.get("ladder") not in RISING or (bool(drawn.get("sides")) and _number(drawn, "base") <= HIGHEST_END)


def _tiled_over_neighbours(drawn: Mapping[str, object]) -> bool:
    """Whether frequencies that are tiled stand over pairs of neighbours."""
    return drawn.get("ladder") != "tiled" or drawn.get("layout") == "interleaved"


def _band_lies_in_head(drawn: Mapping[str, object]) -> bool:
    if "beta_fast" not in drawn:
        return True
    width, length, base = (_number(drawn, name) for name in ("head_dim", "original_length", "base"))
    fast, slow = _number(drawn, "beta_fast"), _number(drawn, "beta_slow")
    low, high = (width * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base)) for turns in (fast, slow))
    return high > 0 and low < width - 1
