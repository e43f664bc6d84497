"""xPos a third time: complex numbers, of which one power turns and shrinks a pair at once, with 60 digits."""

import pytest
from second_route import X, Y, golden, members, mp, real, turned, whole

mpf, mpc = mp.mpf, mp.mpc
POSITIONS = (0, 3, 40)


def angles(position: int, sign: int, *, head_dim: int, base: float, scale_base: float, centre: int) -> list[mpc]:
    """Return the angle of every pair, whose imaginary part is what the pair fades by."""
    shares = [mpf(2 * pair) / head_dim for pair in range(head_dim // 2)]
    rates = [mp.log((share + mpf(2) / 5) / (1 + mpf(2) / 5)) / mpf(scale_base) for share in shares]
    return [mpc(position / mpf(base) ** share, -sign * (position - centre) * rate) for share, rate in zip(shares, rates, strict=True)]


def carried(x: tuple[float, ...], sign: int, layout: str, **rule: float) -> tuple[float, ...]:
    """Return one vector at every position."""
    found = (turned(x, members(layout, 4), angles(position, sign, head_dim=8, **rule)) for position in POSITIONS)  # type: ignore[arg-type]
    return tuple(value for vector in found for value in vector)


@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
@pytest.mark.parametrize("rule", [
    {"base": 10_000.0, "scale_base": 512.0, "centre": 0}, {"base": 100.0, "scale_base": 6.3, "centre": 0},
    {"base": 10_000.7, "scale_base": 16.0, "centre": 9}, {"base": 10_000.0, "scale_base": 8.0, "centre": -5},
])  # fmt: skip
def test_one_complex_power_turns_and_fades_a_pair(layout: str, rule: dict[str, float]) -> None:
    shared = {"head_dim": 8, "layout": layout, "direction": "positive", **rule}
    vectors = [real(*(x * len(POSITIONS)), shape=(1, 1, len(POSITIONS), 8)) for x in (X, Y)]
    queries, keys = (carried(x, sign, layout, **rule) for x, sign in ((X, 1), (Y, -1)))
    places = whole(*POSITIONS)
    together = {"q": vectors[0], "k": vectors[1], "query_positions": places, "key_positions": places}

    assert golden("xpos.rotate_query", {"x": vectors[0], "positions": places}, **shared) == queries
    assert golden("xpos.rotate_key", {"x": vectors[1], "positions": places}, **shared) == keys
    assert golden("xpos.rotate_query_key", together, "query", **shared) == queries
    assert golden("xpos.rotate_query_key", together, "key", **shared) == keys
