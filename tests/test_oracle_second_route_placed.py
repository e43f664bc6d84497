"""Rotations of a part, or on several axes, by a second route: 60 digits, complex numbers, and the place of every pair by hand."""

from collections.abc import Iterator
from typing import Any

import pytest
from second_route import X, Y, golden, members, mp, real, turned

from conformance.oracle import Tensor

#: Of the pairs of 8 channels on axes that are 4 wide, by order and layout: members, the axis, and the frequency's number.
EQUAL = {
    ("block", "interleaved"): [(0, 1, 0, 0), (2, 3, 0, 1), (4, 5, 1, 0), (6, 7, 1, 1)],
    ("block", "half"): [(0, 2, 0, 0), (1, 3, 0, 1), (4, 6, 1, 0), (5, 7, 1, 1)],
    ("joined", "interleaved"): [(0, 1, 0, 0), (2, 3, 0, 1), (4, 5, 1, 0), (6, 7, 1, 1)],
    ("joined", "half"): [(0, 4, 0, 0), (1, 5, 0, 1), (2, 6, 1, 0), (3, 7, 1, 1)],
    ("alternating", "interleaved"): [(0, 1, 0, 0), (2, 3, 1, 0), (4, 5, 0, 1), (6, 7, 1, 1)],
    ("alternating", "half"): [(0, 4, 0, 0), (1, 5, 1, 0), (2, 6, 0, 1), (3, 7, 1, 1)],
}
#: The same where the first axis is 2 wide and the second 6.
UNLIKE = {
    ("block", "half"): [(0, 1, 0, 0), (2, 5, 1, 0), (3, 6, 1, 1), (4, 7, 1, 2)],
    ("joined", "half"): [(0, 4, 0, 0), (1, 5, 1, 0), (2, 6, 1, 1), (3, 7, 1, 2)],
    ("alternating", "interleaved"): [(0, 1, 0, 0), (2, 3, 1, 0), (4, 5, 1, 1), (6, 7, 1, 2)],
}
#: The same where axes that are so wide share the ladder of the head: the number is that of the head's frequency.
IN_TURNS = {
    ((4, 4), "joined", "half"): [(0, 4, 0, 0), (1, 5, 0, 2), (2, 6, 1, 1), (3, 7, 1, 3)],
    ((4, 4), "block", "half"): [(0, 2, 0, 0), (1, 3, 0, 2), (4, 6, 1, 1), (5, 7, 1, 3)],
    ((4, 4), "alternating", "interleaved"): [(0, 1, 0, 0), (2, 3, 1, 1), (4, 5, 0, 2), (6, 7, 1, 3)],
    ((2, 6), "joined", "half"): [(0, 4, 0, 0), (1, 5, 1, 1), (2, 6, 1, 2), (3, 7, 1, 3)],
    ((6, 2), "joined", "half"): [(0, 4, 0, 0), (1, 5, 0, 2), (2, 6, 0, 3), (3, 7, 1, 1)],
    ((2, 4, 2), "joined", "interleaved"): [(0, 1, 0, 0), (2, 3, 1, 1), (4, 5, 1, 3), (6, 7, 2, 2)],
}
#: The axes of the four pairs of 8 channels, by sections and order.
FOLLOWED = {
    ((2, 1, 1), "contiguous"): (0, 0, 1, 2),
    ((2, 1, 1), "interleaved"): (0, 1, 2, 0),
    ((2, 1, 1), "first_last"): (1, 2, 0, 0),
    ((1, 1, 2), "contiguous"): (0, 1, 2, 2),
    ((1, 1, 2), "first_last"): (1, 2, 2, 0),
    ((0, 2, 2), "first_last"): (1, 2, 1, 2),
    ((2, 2), "interleaved"): (0, 1, 0, 1),
}
#: How frequencies rise from 1 to 10,000: of each share of the way to the last pair, the power of 10,000 that is reached.
RISING = {"linear": lambda share: mp.log(1 + 9_999 * share) / mp.log(10_000), "exponential": lambda share: share}
POSITIONS, SIDES = (31, 1_057, 260), (14, 37, 3)
REALS = (0.1, -1_057.75)


def cases() -> Iterator[Any]:
    """Yield an operation with its parameters, the axes that its positions have, and of every pair where it is, its axis and exponent."""
    for layout in ("interleaved", "half", "interleaved_to_half"):
        for placement, start in (("first", 0), ("last", 4)):
            given = {"rotary_dim": 4, "placement": placement, "layout": layout}
            yield "partial_rope.rotate", given, 0, members(layout, 2, start), [(0, 0.0), (0, -0.5)]
    for axes, table in (((4, 4), EQUAL), ((2, 6), UNLIKE)):
        for (order, layout), found in table.items():
            pairs = [((first, second),) * 2 for first, second, *_ in found]
            exponents = [(axis, mp.mpf(-2 * number) / axes[axis]) for *_, axis, number in found]
            given = {"axes": axes, "order": order, "layout": layout}
            yield "axial_rope.rotate", {**given, "ladder": "own", "sides": ()}, 2, pairs, exponents
            for ladder, reached in RISING.items():
                last = [max(1, width // 2 - 1) for width in axes]
                rises = [(axis, reached(mp.mpf(number) / last[axis])) for *_, axis, number in found]
                yield "axial_rope.rotate", {**given, "ladder": ladder, "sides": SIDES[:2]}, 2, pairs, rises
    for (axes, order, layout), found in IN_TURNS.items():
        pairs = [((first, second),) * 2 for first, second, *_ in found]
        exponents = [(axis, mp.mpf(-number) / 4) for *_, axis, number in found]
        given = {"axes": axes, "order": order, "layout": layout, "ladder": "in_turns"}
        yield "axial_rope.rotate", {**given, "sides": ()}, len(axes), pairs, exponents
        yield "axial_rope.rotate", {**given, "sides": SIDES[: len(axes)]}, len(axes), pairs, exponents
    for (sections, order), followed in FOLLOWED.items():
        for layout in ("interleaved", "half"):
            given = {"sections": sections, "order": order, "layout": layout}
            exponents = [(axis, mp.mpf(-pair) / 4) for pair, axis in enumerate(followed)]
            yield "mrope.rotate", given, len(sections), members(layout, 4), exponents


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("operation", "given", "axes", "pairs", "exponents"), [*cases()])
def test_every_pair_turns_where_it_is_by_its_own_position(
    operation: str, given: dict[str, Any], axes: int, pairs: list[Any], exponents: list[tuple[int, Any]], sign: int
) -> None:
    positions = Tensor((1, axes), POSITIONS[:axes]) if axes else Tensor((1,), POSITIONS[:1])
    direction = "positive" if sign == 1 else "negative"

    result = golden(
        operation, {"x": real(*X, shape=(1, 1, 1, 8)), "positions": positions}, head_dim=8, base=10_000.0, direction=direction, **given
    )

    scales = [2 * mp.pi / side for side in given.get("sides", ())] or [1] * max(axes, 1)
    angles = [sign * POSITIONS[axis] * scales[axis] * mp.mpf(10_000) ** exponent for axis, exponent in exponents]
    assert result == turned(X, pairs, angles)


#: Where frequencies are tiled over two axes: of each channel, its axis and the frequency's number among those of the axis.
TILED = {
    ((4, 4), "block"): [(0, 0), (0, 1), (0, 0), (0, 1), (1, 0), (1, 1), (1, 0), (1, 1)],
    ((4, 4), "alternating"): [(0, 0), (0, 1), (1, 0), (1, 1), (0, 0), (0, 1), (1, 0), (1, 1)],
    ((2, 6), "joined"): [(0, 0), (0, 0), (1, 0), (1, 1), (1, 2), (1, 0), (1, 1), (1, 2)],
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("sides", [(), (14, 37)])
@pytest.mark.parametrize(("axes", "order"), TILED)
def test_members_of_a_pair_are_parts_of_two_products_where_frequencies_are_tiled(
    axes: tuple[int, int], order: str, sides: tuple[int, ...], sign: int
) -> None:
    direction = "positive" if sign == 1 else "negative"
    inputs = {"x": real(*X, shape=(1, 1, 1, 8)), "positions": Tensor((1, 2), POSITIONS[:2])}
    asked = {"axes": axes, "order": order, "layout": "interleaved", "direction": direction, "ladder": "tiled", "sides": sides}

    result = golden("axial_rope.rotate", inputs, head_dim=8, base=10_000.0, **asked)

    scales = [2 * mp.pi / side for side in sides] or [1, 1]
    for channel, (axis, number) in enumerate(TILED[axes, order]):
        angle = sign * POSITIONS[axis] * scales[axis] * mp.mpf(10_000) ** (mp.mpf(-2 * number) / axes[axis])
        product = mp.mpc(*X[channel - channel % 2 :][:2]) * mp.expj(angle)
        assert result[channel] == float(product.imag if channel % 2 else product.real)


@pytest.mark.parametrize("sides", [(), (14, 37)])
def test_pairs_turn_to_places_between_patches(sides: tuple[int, ...]) -> None:
    given = {"axes": (4, 4), "order": "block", "layout": "half", "ladder": "own", "sides": sides, "direction": "positive"}
    inputs = {"x": real(*X, shape=(1, 1, 1, 8)), "positions": real(*REALS, shape=(1, 2))}

    result = golden("axial_rope.rotate", inputs, head_dim=8, base=10_000.0, **given)

    places = [mp.mpf(place) * (2 * mp.pi / side) for place, side in zip(REALS, sides, strict=True)] if sides else [*map(mp.mpf, REALS)]
    pairs = [((first, second),) * 2 for first, second, *_ in EQUAL["block", "half"]]
    assert result == turned(X, pairs, [place / step for place in places for step in (1, 100)])


#: The axes of the first and of the second members of the four pairs, where sections are doubled.
APART = {(2, 1, 1): ((0, 0, 0, 0), (1, 1, 2, 2)), (1, 1, 2): ((0, 0, 1, 1), (2, 2, 2, 2)), (2, 2): ((0, 0, 0, 0), (1, 1, 1, 1))}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
@pytest.mark.parametrize("sections", APART)
def test_members_of_a_pair_are_parts_of_two_products_where_sections_are_doubled(sections: tuple[int, ...], layout: str, sign: int) -> None:
    count = len(sections)
    given = {"x": real(*X, shape=(1, 1, 1, 8)), "positions": Tensor((1, count), POSITIONS[:count])}
    direction = "positive" if sign == 1 else "negative"

    asked = {"layout": layout, "direction": direction, "sections": sections, "order": "doubled"}
    result = golden("mrope.rotate", given, head_dim=8, base=10_000.0, **asked)

    theta = [sign * mp.mpf(10) ** -pair for pair in range(4)]
    turns = ([POSITIONS[axis] * each for axis, each in zip(axes, theta, strict=True)] for axes in APART[sections])
    first, second = (turned(X, members(layout, 4), each) for each in turns)
    seconds = {written for _, (_, written) in members(layout, 4)}
    assert result == tuple((second if channel in seconds else first)[channel] for channel in range(8))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
def test_every_pair_of_a_head_turns_by_its_own_frequencies_of_both_axes(layout: str, sign: int) -> None:
    frequencies = [0.3125, -1.5, 0.1, 2.0, 1 / 3, 0.0, -0.7, 1e-4, -0.25, 0.9, 0.1, -2.0, 1.0, 0.01, 0.7, 1e-4]
    inputs = {"x": real(*X, *Y, shape=(1, 2, 1, 8)), "positions": Tensor((1, 2), POSITIONS[:2])}

    result = golden(
        "mixed_rope.rotate",
        {**inputs, "frequencies": real(*frequencies, shape=(2, 2, 4))},
        head_dim=8,
        layout=layout,
        direction="positive" if sign == 1 else "negative",
    )

    angles = [sign * mp.fdot(zip(POSITIONS, both, strict=False)) for both in zip(frequencies[:8], frequencies[8:], strict=True)]
    assert result == turned(X, members(layout, 4), angles[:4]) + turned(Y, members(layout, 4), angles[4:])
